"""Two tokens in softmax layers: mean and difference, the third order, and a layer behind which nothing is seen."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import SOFTMAX
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.series import mean_output, network, spelled
from proofs_check.blackboard.step import Shown, Step, identity, must, rational, show, table
from proofs_check.normalizers import CUBE, EVEN

FIRST, SECOND, VALUE = rational([[1, 2], [0, 1]]), rational([[1, -1], [2, 0]]), rational([[1, 3]])
UNITS = rational([[1, 0], [0, 1]])


def _exponents(attention: ObjectArray, x1: ObjectArray, x2: ObjectArray) -> list[Fraction]:
    """By query, how much higher token one scores than token two."""
    return [x1 @ attention @ x - x2 @ attention @ x for x in (x1, x2)]


def peeled() -> Iterator[Step]:
    """Theorem 1 of docs/softmax-fibers.md."""
    attention, value = rational([[1, 2], [0, 1]]), rational([[1, 3]])
    skew = rational([[0, 1], [-1, 0]])
    x1, x2 = rational([2, 1]), rational([0, -1])
    m, y = (x1 + x2) / Fraction(2), x1 - x2
    first, second = _exponents(attention, x1, x2)
    a, b = y @ attention @ m, y @ attention @ y
    must([first, second] == [a + b / 2, a - b / 2], "the exponents are a + b / 2 and a - b / 2")
    yield Step(
        "Mean and difference",
        r"Two tokens, $m$ their mean and $y = x_1 - x_2$. Query $k$ gives token one the weight "
        r"$p_k = 1 / (1 + e^{-T_k})$, where $T_k$ is how much higher token one scores. With $a = y^\top A m$ and "
        r"$b = y^\top A y$ the two numbers are $T_1 = a + b/2$ and $T_2 = a - b/2$.",
        (show("m", rational([m.tolist()])), show("y", rational([y.tolist()])), show("A", attention), show("a", a),
         show("b", b), show("T_1", first), show("T_2", second)),
    )  # fmt: skip
    yield Step(
        "The form is kept",
        r"The new tokens are $x_2 + p_k\, y$: averages of the old ones. So behind every layer the difference is a "
        r"multiple of $y$ and the mean is $m$ plus a multiple of $y$. A deep network only moves two numbers. The first "
        r"new difference is $(p_1 - p_2)\, y$, and $p_1 - p_2$ is not zero exactly if $T_1 \ne T_2$: if $b \ne 0$.",
        (show("T_1 - T_2", first - second),),
    )

    def third_order(mean: ObjectArray, difference: ObjectArray) -> Fraction:
        """p = 1/2 + T/4 to first order, so the mean moves by (p_1 + p_2 - 1) / 2 = (T_1 + T_2) / 8 times y."""
        half = difference / Fraction(2)
        term: Fraction = value[0] @ difference * sum(_exponents(attention, mean + half, mean - half)) / 8
        return term

    units = [rational([1, 0]), rational([0, 1])]
    must(third_order(m, y) == (value[0] @ y) * a / 4, "the third order is (V y) a / 4")
    found = rational([[4 * third_order(e, u) / (value[0] @ u) for e in units] for u in units])
    must((found == attention).all(), "A is read off")
    yield Step(
        "What the third order shows",
        r"Near zero $p = \tfrac{1}{2} + \tfrac{1}{4} T$ to first order, so the mean output is $V m$, in degree one, "
        r"and then, in degree three, $\tfrac{1}{4} (V y)(y^\top A_1 m)$. Later layers see tokens that agree up to "
        r"degree three, and add nothing there. $y$ and $m$ are free: for $y, m \in \{e_1, e_2\}$ this is every entry "
        r"of $A_1$.",
        (
            show("V", value),
            show(r"\tfrac{1}{4} (V y)(y^\top A_1 m)", third_order(m, y)),
            show(r"A_1 \text{ recovered}", found),
        ),
    )
    yield Step(
        "Peel off the layer",
        r"$A_1$ is known, so the first layer is a known map, and the rest of the network is asked about its outputs. "
        r"If these fill an open set, the rest is known there, and by analyticity everywhere. To lowest order the new "
        r"difference is $\tfrac{1}{4} q(y)\, y$ with $q(y) = y^\top A_1 y$; the determinant of its derivative is "
        r"$3\, (q/4)^d$, not zero where $q$ is not. Then the next layer gives itself away in the same way, and so on.",
        (show("q(y)", b),),
    )
    hidden = _exponents(skew, x1, x2)
    must(hidden[0] == hidden[1], "a skew matrix gives both queries the same")
    yield Step(
        "A layer that hides the rest",
        r"Let $A_1$ be skew. Then $b = 0$ for every $y$: both queries give the same weights, both new tokens are the "
        r"same, and averages of equal tokens stay what they are. No layer behind is visible. For three tokens a skew "
        r"matrix does not do this; the zero matrix always does.",
        (show("A_1", skew), show("T_1", hidden[0]), show("T_2", hidden[1])),
    )


def single_point() -> Iterator[Step]:
    """Theorem 1 of docs/softmax-fibers.md, on two layers."""
    x1, x2 = rational([2, 1]), rational([0, -1])
    m, y, exp = (x1 + x2) / Fraction(2), x1 - x2, SOFTMAX.taylor
    both = [FIRST, SECOND]
    first, second = _exponents(FIRST, x1, x2)
    a, b = y @ FIRST @ m, y @ FIRST @ y
    must([first, second] == [a + b / 2, a - b / 2], "the exponents are a + b / 2 and a - b / 2")
    yield Step(
        "Mean and difference of two tokens",
        r"So let inner values be $1$: two matrices $A_1$, $A_2$, and $V$ at the end; softmax from now on. Of two "
        r"tokens only the mean $m$ and the difference $y = x_1 - x_2$ are looked at. Query $k$ of layer one gives "
        r"token one the weight $p_k = 1 / (1 + e^{-T_k})$, $T_1 = a + b/2$, $T_2 = a - b/2$, with $a = y^\top A_1 m$, "
        r"$b = y^\top A_1 y$.",
        (show("A_1", FIRST), show("A_2", SECOND), show("V", VALUE), _row("m", m), _row("y", y), show("a", a),
         show("b", b), show("T_1", first), show("T_2", second)),
    )  # fmt: skip
    behind = network(np.array([x1, x2], dtype=object).T, [FIRST], identity(2), exp, 7)
    apart = [[p - q for p, q in zip(*row, strict=True)] for row in behind]
    must(all(p * y[1] == q * y[0] for p, q in zip(*apart, strict=True)), "the difference is a multiple of y")
    r = [p / y[0] for p in apart[0]][1:]
    must(r[2] == b / 4, "the multiple begins with b / 4")
    yield Step(
        "A layer moves two numbers",
        r"New tokens are averages, $x_2 + p_k y$: the difference is again a multiple $r_1 y$ of $y$, the mean is $m$ "
        r"plus a multiple of $y$, and so on behind every layer. At the tokens $\varepsilon x_1$, $\varepsilon x_2$ the "
        r"multiple is $r_1 = p_1 - p_2 = \tfrac{1}{4} b\, \varepsilon^2 + ...$: here it is, from the exact Taylor "
        r"series.",
        (show("r_1", spelled(r)),),
    )
    ours = mean_output(m, y, both, VALUE, exp, 7)
    one_layer = mean_output(m, y, [FIRST, 0 * SECOND], VALUE, exp, 7)
    must(ours[1] == VALUE[0] @ m, "degree one is V m")
    must(ours[:7] == one_layer[:7], "the second layer adds nothing before degree seven")
    must(ours[3] == (VALUE[0] @ y) * a / 4, "degree three is (V y) a / 4")
    yield Step(
        "The mean of the outputs",
        r"Ask the network of two layers for the mean of its two outputs. Degree one is $V m$: so $V$ is known. Degree "
        r"three is $\tfrac{1}{4} (V y)(y^\top A_1 m)$. The second layer sees two tokens that agree up to degree three; "
        r"it adds nothing before degree seven: the second line is without it.",
        (show(r"\text{both layers}", spelled(ours)), show(r"A_2 = 0", spelled(one_layer)),
         show(r"\tfrac{1}{4} (V y)(y^\top A_1 m)", (VALUE[0] @ y) * a / 4)),
    )  # fmt: skip
    found = rational([[4 * mean_output(e, u, both, VALUE, exp, 3)[3] / (VALUE[0] @ u) for e in UNITS] for u in UNITS])
    must((found == FIRST).all(), "A_1 is read off")
    yield Step(
        "What the third order shows",
        r"Mean and difference may be chosen freely. For $y, m \in \{e_1, e_2\}$ divide the coefficient of degree three "
        r"by $\tfrac{1}{4} V y$: every entry of $A_1$. Weights with the same function have the same $V$ and the same "
        r"$A_1$.",
        (show(r"A_1 \text{ read off}", found),),
    )
    gradient = (FIRST + FIRST.T) @ y
    derivative = (b * identity(2) + np.outer(y, gradient)) / Fraction(4)
    determinant = derivative[0, 0] * derivative[1, 1] - derivative[0, 1] * derivative[1, 0]
    must(determinant == 3 * (b / 4) ** 2, "the determinant is 3 (q / 4)^2")
    yield Step(
        "Why the first layer can be peeled off",
        r"It is known now, a map from tokens to tokens. To lowest order it leaves the mean alone, and the difference "
        r"becomes $\tfrac{1}{4} q(y)\, y$, $q(y) = y^\top A_1 y$. Here is the derivative of that at our $y$. Its "
        r"determinant is $3 (q/4)^2$, not zero: the tokens behind layer one fill an open set. There the rest of the "
        r"network is known, so everywhere, since it is analytic. What remains is a network with one layer less: begin "
        r"again.",
        (show("q(y)", b), show(r"\text{derivative}", derivative), show(r"\text{determinant}", determinant)),
    )
    r1 = {u: UNITS[u] @ FIRST @ UNITS[u] / Fraction(4) for u in (0, 1)}
    must(all(r1.values()), "q is not zero at e_1 and e_2")

    def seventh(mean: int, difference: int) -> Fraction:
        pair = UNITS[mean], UNITS[difference]
        with_it, without = (mean_output(*pair, [FIRST, last], VALUE, exp, 7)[7] for last in (SECOND, 0 * SECOND))
        entry: Fraction = 4 * (with_it - without) / (r1[difference] ** 2 * (VALUE[0] @ UNITS[difference]))
        return entry

    again = rational([[seventh(mean, difference) for mean in (0, 1)] for difference in (0, 1)])
    must((again == SECOND).all(), "A_2 is read off")
    yield Step(
        "The second matrix",
        r"Its third order, seen through layer one: the difference is $r_1 y$ now, so it stands in degree seven, as "
        r"$\tfrac{1}{4} r_1^2 (V y)(y^\top A_2 m)$ with $r_1 = \tfrac{1}{4} q(y)$. Take away what the known $A_1$ puts "
        r"there (the same with $A_2 = 0$), divide, and every entry of $A_2$ appears. The fiber is a single point.",
        (show(r"A_2 \text{ read off}", again),),
    )
    skew = rational([[0, 1], [-1, 0]])
    hidden = [network(np.array([x1, x2], dtype=object).T, [skew, last], VALUE, exp, 9) for last in (SECOND, 0 * SECOND)]
    lines = [entry for output in hidden for entry in output.ravel()]
    must(len(set(lines)) == 1, "both outputs are the same, with and without the second layer")
    x3 = rational([1, -2])
    three = [
        network(np.array([x1, x2, x3], dtype=object).T, [skew, last], VALUE, exp, 7)[0, 0]
        for last in (SECOND, 0 * SECOND)
    ]
    must(three[0] != three[1], "three tokens see behind a skew layer")
    yield Step(
        "Where it stops",
        r"Let $A_1$ be skew: $q = 0$, $T_1 = T_2$, both queries give the same weights, and both new tokens are the "
        r"same. All layers behind average equal tokens. Both outputs have the same series, whatever $A_2$ is. Such a "
        r"layer is blind, and so is $A_1 = 0$. Three tokens see behind a skew layer: the last two lines differ.",
        (show("A_1", skew), show(r"\text{with } A_2", spelled(lines[0])), show(r"A_2 = 0", spelled(lines[2])),
         show(r"\text{three tokens}", spelled(three[0])), show(r"\text{the same, } A_2 = 0", spelled(three[1]))),
    )  # fmt: skip


def _row(label: str, vector: ObjectArray) -> Shown:
    return show(label, rational([vector.tolist()]))


def other_normalizers() -> Iterator[Step]:
    """Corollary 5 of docs/softmax-fibers.md."""
    attention, y, m = FIRST, rational([2, 1]), rational([1, 1])
    x1, x2 = m + y / Fraction(2), m - y / Fraction(2)
    cubes = [[(u @ attention @ x) ** 3 for u in (x1, x2)] for x in (x1, x2)]
    phi = sum(first - second for first, second in cubes) / 2
    seen = mean_output(m, y, [attention], VALUE, CUBE.taylor, 7)
    must(not any(seen[2:7]), "nothing before degree seven")
    must(seen[7] == (VALUE[0] @ y) * phi / 4, "degree seven is (V y) Phi / 4")
    yield Step(
        "Another function in place of exp",
        r"If $S$ is injective and analytic, it is monotone, and $S(y) = S(0) (1 + c\, y^k + ...)$ with an odd $k$. "
        r"Take $S(y) = e^{y^3}$: $c = 1$, $k = 3$. The mean of the outputs has $V m$ in degree one and next, in degree "
        r"$2 k + 1$, the number $\tfrac{1}{4} c (V y) F$, $F = \tfrac{1}{2} \sum_q (s_{1q}^k - s_{2q}^k)$ in "
        r"the scores.",
        (show("A", attention), show(r"\text{mean output}", spelled(seen)), show(r"F", phi)),
    )

    def linear(mean: ObjectArray, difference: ObjectArray) -> Fraction:
        """The part of Phi that is linear in the difference: from seven multiples of it, through a polynomial."""
        points = [Fraction(n) for n in range(-3, 4) if n]
        values = {
            s: 4
            * mean_output(mean, s * difference, [attention], VALUE, CUBE.taylor, 7)[7]
            / (s * (VALUE[0] @ difference))
            for s in points
        }
        # Phi is a polynomial of degree five in s without constant term: Phi / s by Lagrange at 0
        total = Fraction(0)
        for s in points:
            weight = Fraction(1)
            for other in points:
                if other != s:
                    weight *= -other / (s - other)
            total += weight * values[s] / s
        return total

    q = {i: UNITS[i] @ attention @ UNITS[i] for i in (0, 1)}
    parts = rational([[linear(UNITS[i], u) for i in (0, 1)] for u in UNITS])
    must(all(parts[i, i] == 3 * q[i] ** 3 for i in (0, 1)), "the diagonal is 3 q^3")
    found = rational([[parts[u, i] / (3 * q[i] ** 2) for i in (0, 1)] for u in (0, 1)])
    must((found == attention).all(), "A is read off")
    yield Step(
        "Read off A",
        r"The part of $F$ that is linear in $y$ is $k\, q(m)^{k-1} y^\top A m$. Here it is for $y, m \in \{e_1, "
        r"e_2\}$, from values of the network alone. On the diagonal stands $k\, q(m)^k$, and a real number has one "
        r"$k$-th root, as $k$ is odd: so $q$ is known. Divide by $k\, q(m)^{k-1}$: every entry of $A$.",
        (show(r"k\, q(m)^{k-1} y^\top A m", parts), show(r"A \text{ read off}", found)),
    )
    pair = [mean_output(m, y, [a], VALUE, EVEN.taylor, 9) for a in (attention, -attention)]
    must(pair[0] == pair[1], "A and -A are the same")
    yield Step(
        "Why k must be odd",
        r"With $S(y) = e^{y^2}$ the sign of a score does not matter: $A$ and $-A$ are the same layer. This $S$ is not "
        r"injective. An $S$ that is injective but not analytic, or not even continuous, is not covered by this proof.",
        (show(r"A", spelled(pair[0])), show(r"-A", spelled(pair[1]))),
    )


def finite_jets() -> Iterator[Step]:
    """Theorem 6 of docs/softmax-fibers.md."""
    y, m, exp = rational([2, 1]), rational([1, 1]), SOFTMAX.taylor
    choices = [0 * SECOND, SECOND, SECOND + identity(2)]
    rows = [mean_output(m, y, [FIRST, last], VALUE, exp, 7) for last in choices]
    must(len({row[:7] for row in rows}) == 1, "the last matrix is not seen below degree seven")
    must(len({row[7] for row in rows}) == 3, "it is seen in degree seven")
    degrees = (1, 3, 5, 7)
    yield Step(
        "Where a layer appears",
        r"Two layers, two tokens $\varepsilon (m + y/2)$ and $\varepsilon (m - y/2)$, the mean of the outputs, for "
        r"three choices of $A_2$. Layer $i$ appears in degree $2 \cdot 3^{i-1} + 1$: $A_1$ in degree 3, $A_2$ in "
        r"degree 7 and not before. So a jet of lower degree does not determine the weights, at any number of tokens.",
        (table(r"\text{coefficients}", rational([[row[n] for n in degrees] for row in rows]),
               ("0", "A_2", "A_2 + 1"), [str(n) for n in degrees]),),
    )  # fmt: skip
    q, vy = y @ FIRST @ y, VALUE[0] @ y
    stated = (q / 4) ** 2 * vy * (y @ SECOND @ m) / 4
    must(rows[1][7] - rows[0][7] == stated, "the difference is r_1^2 (V y)(y^T A_2 m) / 4")
    yield Step(
        "How much",
        r"Layer one makes the difference $r_1 y$ with $r_1 = \tfrac{1}{4} q_1(y) \varepsilon^2 + ...$; in general "
        r"$r_i = \tfrac{1}{4} q_i(y) r_{i-1}^3 + ...$. Layer $i$ adds $\tfrac{1}{4} r_{i-1}^2 (V y)(y^\top A_i m)$ to "
        r"the mean. Where $r_{i-1}$ is not zero this gives $A_i$, one layer after the other.",
        (
            show(r"\tfrac{1}{4} r_1^2 (V y)(y^\top A_2 m)", stated),
            show(r"\text{row two minus row one}", rows[1][7] - rows[0][7]),
        ),
    )

    def cut(n: int) -> Fraction:
        return exp(n) if n <= 3 else Fraction(0)

    other = mean_output(m, y, [FIRST, SECOND], VALUE, cut, 9)
    ours = mean_output(m, y, [FIRST, SECOND], VALUE, exp, 9)
    must(ours[:8] == other[:8] and ours[9] != other[9], "three derivatives decide up to degree seven")
    yield Step(
        "Three derivatives are enough",
        r"Scores are quadratic: degree $7$ of two layers asks for no more than the third derivative of $S$ at zero. "
        r"With $1 + y + y^2/2 + y^3/6$ in place of $e^y$ the series is the same up to degree seven. Nothing else is "
        r"asked of $S$: it need not be analytic, or injective.",
        (show(r"e^y", spelled(ours)), show(r"1 + y + y^2/2 + y^3/6", spelled(other))),
    )
