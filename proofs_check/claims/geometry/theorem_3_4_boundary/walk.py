"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from proofs_check.blackboard.step import (
    BOARD,
    Number,
    Polynomial,
    S,
    Shown,
    ShownMatrix,
    Step,
    discriminant,
    function_of,
    layer_of,
    must,
    quadratic_forms,
    rational,
    show,
    six_coefficients,
    sylvester,
)
from proofs_check.ring_matrices import determinant


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 3.4, the boundary, and Corollary A.6."""
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
    nearby = ShownMatrix(tuple(rows), labels, (r"f_\varepsilon", r"g_\varepsilon", r"\text{discriminant}"))
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
