r"""Equations at singular points: $d = 3$, $d' = 2$, $a = 2$, $t \ge 2$, where $\dim \mathcal M = 13$.

Theorem 3.4, as printed, has singular points only at $\operatorname{rk} A = \operatorname{rk} V = 1$; corrected also
at $\operatorname{rk} A < a < d$ (the claim `theorem-3.4-singular`). The tangent space of $\overline{\mathcal M}$ at a
point is bounded

* from above by equations, all up to a degree: each vanishes on $\mathcal M$, so the tangent space lies in the kernel
  of their differentials;
* from below by the tangent vectors of curves in $\mathcal M$: of $A$ of rank at most two (of all $A$, where
  $\operatorname{rk} A = 1$, since $A + s\, u w^\top$ has rank two at most), of $V$, at each point of the fiber.

Both bounds are 14 at $\operatorname{rk} A = 1$, $\operatorname{rk} V = 2$: more than 13, so the point is singular,
which neither the parametrization alone nor the printed statement says. They are 20 where $A = p q^\top$, $V = v
w^\top$ with $p$, $w$ independent: two sheets cross. Where $p = w$ the equations leave 24; the bound from below is 12,
so the tangent dimension itself is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import prod

import numpy as np

from lightning_sym import Architecture, Equations, Weights, certified_dimension, equations, swap
from lightning_sym.exact.rational import rank
from lightning_sym.geometry.layer_function import differential, tangent_directions
from proofs_check.blackboard.step import Step, must, rational, table
from proofs_check.claim import Claim, Part, ProvedBounds, Scope, WalkThrough, expect_equal, expect_value

NETWORK = Architecture((3, 2), (2,), 2)
RANK_TWO, RANK_ONE = ((1, 2, 3), (0, 1, 1)), ((1, 2, 3), (0, 0, 0))
QUERIES = ((2, -1, 1), (1, 0, 3))


@dataclass(frozen=True)
class TangentPoint:
    """Keys and values; queries are the same at all points. `to` is the degree of the equations."""

    kind: str
    keys: tuple[tuple[int, ...], ...]
    values: tuple[tuple[int, ...], ...]
    to: int

    @property
    def weights(self) -> Weights:
        return Weights.of({"Q1": QUERIES, "K1": self.keys, "V1": self.values})


GENERIC, SAME, OTHER = ((1, 0, 2), (0, 1, 1)), ((1, 2, 3), (2, 4, 6)), ((1, 0, 2), (2, 0, 4))
KINDS = (
    ("rk A = 2, rk V = 2", RANK_TWO, GENERIC),
    ("rk A = 2, rk V = 1", RANK_TWO, OTHER),
    ("rk A = 1, rk V = 2", RANK_ONE, GENERIC),
    ("rk A = rk V = 1", RANK_ONE, OTHER),
    ("rk A = 1, rk V = 2", RANK_ONE, ((1, 2, 3), (0, 1, 1))),
)


def points(*, quick: bool) -> Iterator[TangentPoint]:
    for to in (3,) if quick else (3, 4):
        yield from (TangentPoint(*each, to) for each in KINDS[: 4 if to == 3 else 5])


TANGENT_DIMENSIONS = {
    "rk A = 2, rk V = 2": 13, "rk A = 2, rk V = 1": 13, "rk A = 1, rk V = 2": 14, "rk A = rk V = 1": 20,
}  # fmt: skip


@cache
def equations_to(degree: int) -> Equations:
    return equations(NETWORK, degree)


def curves(weights: Weights) -> list[list[Fraction]]:
    """Return tangent vectors of curves in M through the function: one row each."""
    (layer,) = weights.layers
    attention, value = (np.array(m, dtype=object) for m in (layer.key.T @ layer.query, layer.value))
    by_attention, by_value = np.split(differential(attention, value), [9], axis=1)
    inside = tangent_directions(attention, 2)
    return [list(map(Fraction, row)) for row in [*(by_attention @ inside.T).T, *by_value.T]]


def bounds_at(point: TangentPoint) -> ProvedBounds:
    """Return the rank of tangent vectors of curves on all sheets, and the bound by equations."""
    sheets = [point.weights, *([swap(point.weights)] if point.kind == "rk A = rk V = 1" else [])]
    lower = rank([row for weights in sheets for row in curves(weights)])
    return ProvedBounds(lower, equations_to(point.to).tangent_dimension_bound(point.weights))


def tangent_dimension(point: TangentPoint, stated: dict[str, int] = TANGENT_DIMENSIONS) -> None:
    expect_value(bounds_at(point), stated[point.kind], f"{point.kind}, equations to degree {point.to}")


def printed_locus() -> dict[str, int]:
    """Return the dimensions as if rank one alone were singular: 13 elsewhere."""
    return {kind: 20 if kind == "rk A = rk V = 1" else 13 for kind in TANGENT_DIMENSIONS}


def left_by_equations(degree: int, left: int = 24) -> None:
    """Check the kernel of the differentials at `p = w`, rank over the rationals."""
    found = equations_to(degree)
    values = found.system.at(TangentPoint("rk A = rk V = 1, p = w", RANK_ONE, SAME, degree).weights)
    rows = []
    for terms in (terms for some in found.terms.values() for terms in some):
        row: list[Fraction] = [Fraction(0)] * len(values)
        for monomial, coefficient in terms.items():
            for i, place in enumerate(monomial):
                others = monomial[:i] + monomial[i + 1 :]
                row[place] += coefficient * prod((values[k] for k in others), start=Fraction(1))
        rows.append(row)
    expect_equal(len(values) - rank(rows), left, at=f"equations to degree {degree}, at p = w")


def walk() -> Iterator[Step]:
    must(certified_dimension(NETWORK).value == 13, "the dimension is 13")
    found = equations_to(3)
    yield Step(
        "Equations to degree three",
        "One layer, $d = 3$, $d' = 2$, $a = 2$: the functions span 36 dimensions and form a set of dimension 13. "
        "So many equations there are of degree 2 and 3.",
        (table("\\text{equations}", rational([[len(found.terms[2]), len(found.terms[3])]])),),
    )
    rows, names = [], []
    for point in points(quick=True):
        rows.append(list(bounds_at(point)))
        must(len(set(rows[-1])) == 1, "the bounds meet")
        names.append(point.kind.replace("rk", "\\operatorname{rk}"))
    yield Step(
        "Tangent spaces",
        "The tangent space lies in the kernel of the differentials of all equations, and contains the tangent "
        "vectors of curves. "
        "Left the bound by curves, right the one by equations.",
        (table("\\dim T", rational(rows), rows=names, columns=("\\text{curves}", "\\text{equations}")),),
    )
    must(np.all(np.array(rows)[2] == 14), "it is 14")
    yield Step(
        "What this says",
        "Where $A$ loses rank and $V$ does not, the tangent dimension is 14, one more than the dimension of the "
        "set: the point is singular, "
        "although only one weight, up to rescaling, has this function. The printed statement names rank one of "
        "both only.",
    )


CLAIM = Claim(
    id="tangent-spaces",
    source="Theorem 3.4",
    title="d = 3, d' = a = 2: equations confirm the corrected singular locus from the other side",
    statement=(
        r"d = 3,\ d' = a = 2,\ t \ge 2,\ \dim \mathcal M = 13:\quad \dim T \mathcal M = 14 \text{ at }"
        r" \operatorname{rk} A = 1,\ \operatorname{rk} V = 2"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask; Zariski tangent spaces of the closure. One weight of each orbit "
        r"with $\operatorname{rk} A = 1$, $\operatorname{rk} V = 2$ is tried at the full size, which stands for "
        r"all. Of $A = p q^\top$, $V = v p^\top$ the tangent dimension is not claimed."
    ),
    place=430,
    rests_on=("theorem-3.4-singular",),
    walk=WalkThrough("Where the tangent space is larger than the set.", walk),
    parts=(
        Part(
            "tangent spaces: equations from above, curves from below",
            Scope.INSTANCES,
            points,
            tangent_dimension,
            {"the printed locus": partial(tangent_dimension, stated=printed_locus())},
        ),
        Part(
            "where p = w the equations leave 24",
            Scope.INSTANCES,
            lambda quick: (3,) if quick else (3, 4),
            left_by_equations,
            {"they leave 20": partial(left_by_equations, left=20)},
            instance="degree of the equations",
        ),
    ),
)
