"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.network.attention import forward
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.series import FIRST, SECOND, UNITS, VALUE, exponents, mean_output, network, spelled
from proofs_check.blackboard.step import Shown, Step, identity, layer_of, must, normalized_network, rational, show


def walk() -> Iterator[Step]:
    """Yield the steps of Conjecture 3.10."""
    x = rational([[1, 0], [1, 2]])
    a1, v1 = rational([[1, 0], [1, 1]]), rational([[1, 1], [0, 1]])
    a2, v2 = rational([[0, 1], [1, 2]]), rational([[2, 0], [1, 1]])
    ours = normalized_network(x, (a1, v1), (a2, v2))
    yield Step(
        "Two normalized layers",
        r"The second layer attends to what the first one wrote. Every token becomes an average of values, twice. The "
        r"board takes $S(y) = 1 + y$, so that all numbers are rational.",
        (show("A_1", a1), show("V_1", v1), show("A_2", a2), show("V_2", v2), show("X", x),
         show(r"\varphi(X)", ours)),
    )  # fmt: skip
    g, inverse = rational([[1, 1], [0, 1]]), rational([[1, -1], [0, 1]])
    must((g @ inverse == identity(2)).all(), "the two matrices are inverse to each other")
    moved = (a1, g @ v1), (inverse.T @ a2 @ inverse, v2 @ inverse)
    must((normalized_network(x, *moved) == ours).all(), "the same function at this input")
    must((moved[0][1].T @ moved[1][0] @ moved[0][1] == v1.T @ a2 @ v1).all(), "the same virtual attention matrix")
    must((moved[1][1] @ moved[0][1] == v2 @ v1).all(), "the same virtual value matrix")
    yield Step(
        "What normalization cannot see",
        r"A basis change $G$ between the layers: $V_1$ becomes $G V_1$, and $A_2$, $V_2$ take it back. Other weights, "
        r"the same output. The virtual weights $A_1$, $V_1^\top A_2 V_1$ and $V_2 V_1$ have not moved either.",
        (show("G V_1", moved[0][1]), show(r"G^{-\top} A_2 G^{-1}", moved[1][0]), show("V_2 G^{-1}", moved[1][1]),
         show(r"V_1^\top A_2 V_1", v1.T @ a2 @ v1), show("V_2 V_1", v2 @ v1)),
    )  # fmt: skip
    scaled = [normalized_network(x, (2 * a1, v1 / 2), (a2, v2)), normalized_network(x, (a1, v1), (2 * a2, v2 / 2))]
    must(all((other != ours).any() for other in scaled), "rescaling a layer changes the function")
    bare = [
        forward(x, map(layer_of, *zip(*w, strict=True))) for w in (((a1, v1), (a2, v2)), ((a1, v1), (2 * a2, v2 / 2)))
    ]
    must((bare[0] == bare[1]).all(), "rescaling leaves the lightning network alone")
    yield Step(
        "What it does see",
        r"Rescaling $(A_i, V_i)$ to $(2 A_i, V_i / 2)$ leaves a lightning network alone, at each of its $l$ layers. "
        r"Here both outputs change. That is the whole difference between Eq. 14 and Eq. 16.",
        (show(r"\text{layer 1 rescaled}", scaled[0]), show(r"\text{layer 2 rescaled}", scaled[1])),
    )
    yield from single_point()
    network = Architecture((2, 2, 2), (2, 2), tokens=2, normalization=SOFTMAX)
    found = certified_dimension(network)
    must(found.value == network.parameter_count - 4 - 4 - 4, "only basis changes are invisible")
    yield Step(
        "Count",
        r"Widths $2, 2, 2$ with $a = 2$: all weights, less the basis changes inside queries and keys of both layers "
        r"and between the layers, four dimensions each. A rank of exact derivatives, modulo a prime, is as large. "
        r"So nothing else moves the weights without moving the function, as the theorem says.",
        (show(r"\text{weights}", network.parameter_count), show(r"\text{at most}", found.upper),
         show(r"\text{at least}", found.lower)),
    )  # fmt: skip


def single_point() -> Iterator[Step]:
    """Yield the steps of Theorem 1 of docs/softmax-fibers.md, on two layers."""
    x1, x2 = rational([2, 1]), rational([0, -1])
    m, y, exp = (x1 + x2) / Fraction(2), x1 - x2, SOFTMAX.taylor
    both = [FIRST, SECOND]
    first, second = exponents(FIRST, x1, x2)
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
