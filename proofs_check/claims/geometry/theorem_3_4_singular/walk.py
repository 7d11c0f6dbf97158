"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lightning_sym import Architecture, certified_dimension
from lightning_sym.exact.rational import rank
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import (
    SIX,
    WEIGHT_ROWS,
    Step,
    function_of,
    jacobian,
    layer_of,
    must,
    one_layer_jacobian,
    rational,
    show,
    table,
    tokens_of,
)


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 3.4, singular points, and Corollary A.4."""
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
        (show(r"\operatorname{rk} J", 5), show(r"\operatorname{rk} J'", 5),
         show(r"\operatorname{rk}\, (J, J')", rank(both))),
    )  # fmt: skip
    a, v = rational([[1, 1], [0, 1]]), rational([[0, 1]])
    must(rank(one_layer_jacobian(a, v)) == 5, "a regular point")
    yield Step(
        "A regular point",
        r"With $A$ of rank two the weights are unique up to rescaling, and the Jacobian has rank $5$. One sheet, no "
        r"crossing.",
        (show("A", a), show("V", v), show(r"\operatorname{rk} J", rank(one_layer_jacobian(a, v)))),
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
        (show(r"\text{span of the tangent vectors}", tangent), show(r"\dim \mathcal M", dimension)),
    )
    yield Step(
        "So it is singular too",
        rf"The tangent vectors span dimension {tangent}, and $\dim \mathcal M = {dimension}$. The point is singular, "
        rf"though its "
        r"ranks are not $(1, 1)$. The theorem holds for $a = 1$ and for $a \ge d$; for $2 \le a < d$ the points with "
        r"$\operatorname{rk} A < a$ have to be added.",
    )
