"""The shape of the set of functions: closed, bounded by critical values, crossing itself."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import Architecture, certified_dimension
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from proofs_check.blackboard.resultant import S, _fraction, determinant, discriminant, general_coefficients, sylvester
from proofs_check.blackboard.step import (
    BOARD,
    SIX,
    Matrix,
    Number,
    Polynomial,
    Shown,
    Step,
    entry_labels,
    function_of,
    jacobian,
    layer_of,
    must,
    one_layer_jacobian,
    quadratic_forms,
    rational,
    show,
    six_coefficients,
    table,
    tokens_of,
)

WEIGHT_ROWS = [*entry_labels("a", 2, 2), "v_1", "v_2"]


def closed() -> Iterator[Step]:
    """Theorem 3.4, first part; Corollary A.1."""
    value = rational([[1, 1]])
    ring = PolynomialRing([*entry_names("a", 2, 2), *entry_names("v", 1, 2)])
    a, v = ring.matrix("a", 2, 2), ring.matrix("v", 1, 2)
    products = general_coefficients(a, v)
    sample = rational([[1, 3], [2, 5]])
    numbers = [_fraction(p(*map(int, [*sample.ravel(), *value.ravel()]))) for p in products.ravel()]
    must(
        numbers == six_coefficients(quadratic_forms(function_of(layer_of(sample, value)))[0]),
        "these are the coefficients of the function",
    )
    yield Step(
        "The question",
        r"Let a sequence of functions $\varphi_n$ converge. Is the limit the function of a layer again? The weights "
        r"could run away on the journey.",
    )
    first, last = [(rational([[n, 0], [0, 1]]), value / n) for n in (1, 100)]
    yield Step(
        "Weights that run away",
        r"Take $A_n = \operatorname{diag}(n, 1)$ and $V_n = (1/n, 1/n)$. $A_n$ grows without end, $V_n$ goes to zero. "
        r"The function does neither: at $n = 100$ it is almost that of the limit.",
        (
            show("A_{100}", last[0]), show("V_{100}", last[1]),
            show(r"\varphi_1 \text{ at } n = 1", function_of(layer_of(*first))[0, 0]),
            show(r"\varphi_1 \text{ at } n = 100", function_of(layer_of(*last))[0, 0]),
        ),
    )  # fmt: skip
    tamed = last[0] / 100, last[1] * 100
    must(np.array_equal(function_of(layer_of(*tamed)), function_of(layer_of(*last))), "rescaling changes nothing")
    limit = rational([[1, 0], [0, 0]]), value
    yield Step(
        "Call them back",
        r"Rescaling is free: $(A_n / n,\, n V_n)$ has the same function. These weights stay bounded and have a limit, "
        r"$A = \operatorname{diag}(1, 0)$, $V = (1, 1)$. Its function is the limit of the functions. Nothing is lost.",
        (
            show(r"A_{100} / 100", tamed[0]), show(r"100\, V_{100}", tamed[1]), show("A", limit[0]),
            show("V", limit[1]),
            show(r"\varphi_1", function_of(layer_of(*limit))[0, 0]),
        ),
    )  # fmt: skip
    yield Step(
        "What could go wrong",
        r"Rescale so that $A$ and $V$ both have length one, and put the remaining factor in front. If that factor ran "
        r"away while the function of the unit weights went to zero, a limit could be missed. So the question is: can "
        r"$\varphi$ be zero although $A \ne 0$ and $V \ne 0$?",
    )
    yield Step(
        "No base points",
        r"The coefficients of $\varphi$ are products of linear forms (call them lines), column of $A$ times row "
        r"of $V$. A product of two lines "
        r"that are not zero is not zero. In letters, for $d = 2$: let $v_1 \ne 0$. The first entries force $a_{11} = "
        r"a_{12} = 0$, then the second ones $a_{21} = a_{22} = 0$. The same from the other end if $v_2 \ne 0$. So no "
        r"unit weights give zero, and the limit is never missed: $\mathcal M$ is closed.",
        (show(r"\text{coefficients, row } k \text{ from column } k", products, ring),),
    )


def boundary() -> Iterator[Step]:
    """Theorem 3.4, the boundary; Corollary A.6."""
    h, q = rational([[1], [0]]), rational([[1], [2]])
    attention, value = h @ q.T, h.T
    forms = quadratic_forms(function_of(layer_of(attention, value)))[0]
    yield Step(
        "A layer whose two lines coincide",
        r"Take $A = h\, q^\top$ and $V = h^\top$, with the same $h$. The function is known from the pair of forms $(f, "
        r"g)$ that token two contributes. Both are multiples of a double line.",
        (
            show("h", h), show("q", q), show("A", attention), show("V", value), show("f", forms[0]),
            show("g", forms[1]),
        ),
    )  # fmt: skip
    rows: list[tuple[Number, ...]] = []
    for epsilon in (Fraction(1), Fraction(1, 10), Fraction(1, 100)):
        near = forms[0] + BOARD.constant(epsilon) * S * S
        pair = [near * BOARD.constant(c) for c in q.ravel()]
        must(determinant(sylvester(six_coefficients(pair))) == 0, "the pair lies in the Zariski closure")
        must(discriminant(near) < 0, "the form has no real line")
        rows.append((*(Polynomial.of(BOARD, form) for form in pair), discriminant(near)))
    labels = (r"\varepsilon = 1", r"\varepsilon = \tfrac{1}{10}", r"\varepsilon = \tfrac{1}{100}")
    nearby = Matrix(tuple(rows), labels, (r"f_\varepsilon", r"g_\varepsilon", r"\text{discriminant}"))
    yield Step(
        "Nearby pairs that are no layer",
        r"Replace $r^2$ by $r^2 + \varepsilon s^2$, for $\varepsilon = 1, \tfrac{1}{10}, \tfrac{1}{100}$. The two "
        r"forms still have a common factor, so the pair satisfies the equation of $\mathcal M$ (the resultant is $0$). "
        r"But the discriminant is negative: the lines are $r \pm i \sqrt{\varepsilon}\, s$, and no real $V$ is among "
        r"them. The pair is in the Zariski closure and not in $\mathcal M$.",
        (Shown("", nearby),),
    )
    yield Step(
        "The limit",
        r"Let $\varepsilon$ go to zero. The coefficients converge to those of our layer. It lies in $\mathcal M$ and "
        r"is a limit of points outside: a boundary point.",
        (show(r"f_0", forms[0]), show(r"g_0", forms[1])),
    )
    w = rational([[1], [1]])
    crossing = quadratic_forms(function_of(layer_of(attention, w.T)))[0]
    must(discriminant(crossing[0]) > 0, "two real lines")
    yield Step(
        "Two different lines: no boundary",
        r"Now $A = h\, q^\top$ and $V = w^\top$ with another $w$. The common factor has two real lines, and its "
        r"discriminant is positive. A pair outside $\mathcal M$ that satisfies the equation shares two complex lines, "
        r"so both forms are multiples of one form of negative discriminant. The discriminant is continuous: no such "
        r"pair is near.",
        (show("V", w.T), show("f", crossing[0]), show(r"\text{discriminant}", discriminant(crossing[0]))),
    )
    full = rational([[1, 1], [0, 1]])
    last = quadratic_forms(function_of(layer_of(full, value)))[0]
    must(last[0].gcd(last[1]).total_degree() == 1, "one common line")
    yield Step(
        "Rank two: no boundary either",
        r"If $A$ has rank two, $f$ and $g$ share one line only. A single common line cannot turn complex: its "
        r"conjugate would be common too. Nearby pairs with a common factor share a real line, and are layers.",
        (show("A", full), show("f", last[0]), show("g", last[1]), show(r"\gcd(f, g)", last[0].gcd(last[1]))),
    )


def critical() -> Iterator[Step]:
    """Lemma A.3."""
    h, q, w = rational([[1], [1]]), rational([[1], [2]]), rational([[1], [-1]])
    attention = h @ q.T
    usual = one_layer_jacobian(attention, w.T)
    must(rank(usual) == 5, "rank five at different lines")
    yield Step(
        "A point that is not critical",
        r"At almost all weights the Jacobian of $(A, V) \mapsto \varphi$ has rank $5$ (for $d = 2$, $d' = 1$). It "
        r"still does at $A = h\, q^\top$, $V = w^\top$, if $h$ and $w$ are different lines.",
        (show("A", attention), show("V", w.T), table("J", usual, WEIGHT_ROWS, SIX),
         show(r"\operatorname{rk} J", Fraction(rank(usual)))),
    )  # fmt: skip
    matrix = one_layer_jacobian(attention, h.T)
    must(rank(matrix) == 4, "rank four at equal lines")
    yield Step(
        "Let the lines coincide",
        rf"Now $V = h^\top$. The rank falls to ${rank(matrix)}$: this is a critical point.",
        (show("V", h.T), table("J", matrix, WEIGHT_ROWS, SIX), show(r"\operatorname{rk} J", Fraction(rank(matrix)))),
    )
    u = rational([[1], [0]])
    direction = np.concatenate([(u @ q.T).ravel(), -u.ravel()])
    must(not (direction @ matrix).any(), "this direction is lost")
    rescaling = np.concatenate([attention.ravel(), -h.ravel()])
    must(len(null_space(matrix.T)) == 2 and rank([direction, rescaling]) == 2, "the kernel is spanned by the two")
    yield Step(
        "Which direction is lost",
        r"Besides the rescaling a second direction does nothing: turn the $h$ in $A$ one way and the $h$ in $V$ the "
        r"other way, $\dot A = u\, q^\top$, $\dot V = -u^\top$. The product of the lines $(h + s u)(h - s u) = h^2 - "
        r"s^2 u^2$ does not move to first order. This is the swap of Theorem 3.2 at the place where both weights "
        r"become one.",
        (show("u", u), show(r"\dot A", u @ q.T), show(r"\dot V", -u.T)),
    )


def singular() -> Iterator[Step]:
    """Theorem 3.4, singular points; Corollary A.4."""
    p, q, w = rational([[1], [0]]), rational([[1], [1]]), rational([[0], [1]])
    here, there = (p @ q.T, w.T), (w @ q.T, p.T)
    phi = function_of(layer_of(*here))
    must(np.array_equal(phi, function_of(layer_of(*there))), "both weights have the same function")
    yield Step(
        "One function, two weights",
        r"Take $A = p\, q^\top$, $V = w^\top$, and swap $p$ and $w$. Both weights have the same function (Theorem "
        r"3.2).",
        (
            show("A", here[0]),
            show("V", here[1]),
            show("A'", there[0]),
            show("V'", there[1]),
            show(r"\varphi_1", phi[0, 0]),
        ),
    )
    first, second = one_layer_jacobian(*here), one_layer_jacobian(*there)
    must(rank(first) == rank(second) == 5, "both sheets have dimension five")
    yield Step(
        "Two sheets",
        r"Move the weights a little, first around $(A, V)$, then around $(A', V')$. Each sweeps out a sheet of "
        r"$\mathcal M$ "
        rf"through the same function. The rows of each Jacobian span its tangent space, of dimension {rank(first)}.",
        (table("J", first, WEIGHT_ROWS, SIX), table("J'", second, WEIGHT_ROWS, SIX)),
    )
    both = np.concatenate([first, second])
    must(rank(both) == 6, "together they span more")
    yield Step(
        "They cross",
        rf"Put all rows together: they span dimension {rank(both)}. But $\dim \mathcal M = 5$, and at a smooth point "
        rf"the tangent "
        r"space has that dimension. Two sheets cross here, and the point is singular.",
        (show(r"\operatorname{rk} J", Fraction(5)), show(r"\operatorname{rk} J'", Fraction(5)),
         show(r"\operatorname{rk}\, (J, J')", Fraction(rank(both)))),
    )  # fmt: skip
    a, v = rational([[1, 1], [0, 1]]), rational([[0, 1]])
    must(rank(one_layer_jacobian(a, v)) == 5, "a regular point")
    yield Step(
        "A regular point",
        r"With $A$ of rank two the weights are unique up to rescaling, and the Jacobian has rank $5$. One sheet, no "
        r"crossing.",
        (show("A", a), show("V", v), show(r"\operatorname{rk} J", Fraction(rank(one_layer_jacobian(a, v))))),
    )
    ring = PolynomialRing(["x_1", "y_1", "z_1", "x_2", "y_2", "z_2"])
    tokens = tokens_of(ring)
    attention = rational([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    value = rational([[1, 0, 0], [0, 1, 0]])
    all_directions, _ = jacobian([layer_of(attention, value)], [(0, "query"), (0, "value")], tokens, ring)
    tangent = rank(all_directions)
    dimension = certified_dimension(Architecture((3, 2), (2,), 2)).value or 0
    must(tangent > dimension, "the tangent space is too large")
    must((rank(attention), rank(value)) == (1, 2), "the ranks are 1 and 2")
    yield Step(
        "A point the theorem overlooks",
        r"Now $d = 3$, $d' = 2$ and $a = 2$: queries and keys narrower than the tokens. Let $A$ have rank $1$ and $V$ "
        r"rank $2$. This is not the rank pair $(1, 1)$, so by the printed theorem the point should be regular.",
        (show("A", attention), show("V", value)),
    )
    yield Step(
        "Its tangent directions",
        r"Since $A$ has rank $1$, one more rank is free. So $A + s\, u v^\top$ has rank at most $2$ for every $u$, $v$ "
        r"and $s$: a line inside $\mathcal M$. Such $u v^\top$ span all matrices, so every direction of $A$ is "
        r"tangent, not only those along the matrices of rank one. With the six of $V$ that is fifteen directions.",
        (show(r"\text{span of the tangent vectors}", Fraction(tangent)), show(r"\dim \mathcal M", Fraction(dimension))),
    )
    yield Step(
        "So it is singular too",
        rf"The tangent vectors span dimension {tangent}, and $\dim \mathcal M = {dimension}$. The point is singular, "
        rf"though its "
        r"ranks are not $(1, 1)$. The theorem holds for $a = 1$ and for $a \ge d$; for $2 \le a < d$ the points with "
        r"$\operatorname{rk} A < a$ have to be added.",
    )
