"""The criterion of Theorem 1 of docs/transformer-fibers.md: two streams, one above the other, layer by layer."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.rational import row_echelon
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import RationalCoefficient
from lightning_sym.rings.rationals import RationalMatrix
from proofs_check.claims.transformers.small_networks import HeadAV, Matrix, SmallNetwork, points

Form = tuple[RationalCoefficient | int, ...]
"""The entries of a matrix."""


def column_basis(first: RationalMatrix, *others: RationalMatrix) -> RationalMatrix:
    """Return columns that span what the columns of all of them span."""
    return row_echelon(first.mT.above(*(m.mT for m in others))).rows.mT


@lru_cache(maxsize=2**12)  # networks of a box share their matrices
def on_both(matrix: Matrix, which: int, heights: tuple[int, int]) -> RationalMatrix:
    """Return a matrix on the stream of one of the two, as one on both."""
    before, behind = (0, heights[1]) if which == 0 else (heights[0], 0)
    return RationalMatrix.of(np.pad(np.array(matrix, dtype=object), (before, behind), constant_values=0))


class Stacked(NamedTuple):
    """Two streams, one above the other: columns that span `D` and `L`; for mutants `S = (e + sum C) .. E`."""

    differences: RationalMatrix
    columns: RationalMatrix
    first: RationalMatrix

    def form(self, attention: RationalMatrix, compared: str) -> Form:
        """Return the scores that count, of differences of keys."""
        if compared == "nowhere":
            return (1,)
        queries = self.columns if compared == "everywhere" else self.first
        return (self.differences.mT @ attention @ queries).sort_key()

    def is_skew(self, attention: RationalMatrix) -> bool:
        """Return whether the form is, on `D`."""
        return not self.differences.mT @ (attention + attention.mT) @ self.differences


def opposite(form: Form) -> Form:
    """Return `-M`."""
    return tuple(-x for x in form)


def lowest_first(network: SmallNetwork) -> list[tuple[HeadAV, ...]]:
    """Return the layers; with skips those that write nothing are the identity, and come last."""
    writes = [any(any(map(any, head.value)) for head in heads) or not network.skip for heads in network.layers]
    order = sorted(range(len(writes)), key=lambda i: not writes[i])
    return [network.layers[i] for i in order]


def common_streams(
    one: SmallNetwork,
    other: SmallNetwork,
    *,
    flips_at: int = 2,
    blind_at: int = 2,
    mean_stays: bool = False,
    compared: str = "everywhere",
) -> bool:
    """Return whether Theorem 1 says that the two functions are equal.

    Args:
        one, other: of one form, with the same tokens, mask, skip and number of layers.
        flips_at, blind_at: for how many tokens opposite forms are one class, and skew ones blind; others than two are
            a fault.
        mean_stays: a fault, columns are taken to lie in `S x_1 + D_i`.
        compared: where forms are; faults are `at S`, on `D x S` only, and `nowhere`.
    """
    heights = len(one.embed), len(other.embed)
    start = RationalMatrix.of(one.embed).above(RationalMatrix.of(other.embed))
    nothing, same = RationalMatrix.zero(sum(heights), sum(heights)), RationalMatrix.identity(sum(heights))
    keep = same if one.skip else nothing
    base = column_basis(start)
    at = Stacked(base, base, start)
    for layers in zip(lowest_first(one), lowest_first(other), strict=True):
        classes: dict[Form, RationalMatrix] = {}
        blind: set[Form] = set()
        for which, heads in enumerate(layers):
            for head in heads:
                attention, value = (on_both(m, which, heights) for m in head)
                form = at.form(attention, compared)
                if one.tokens == flips_at and (turned := opposite(form)) in classes and turned != form:
                    none = tuple(0 * x for x in form)
                    classes[none] = classes.get(none, nothing) + value.scaled(2)
                    form, value = turned, -value
                classes[form] = classes.get(form, nothing) + value
                if not one.causal and one.tokens == blind_at and at.is_skew(attention):
                    blind.add(form)
        seen = {form: c for form, c in classes.items() if one.causal or any(form)}
        moving = [c for form, c in seen.items() if one.causal or form not in blind]
        total = sum(classes.values(), keep)
        differences = column_basis(*(m @ at.differences for m in (keep, *moving)))
        added = [] if one.causal else [c @ at.differences for c in seen.values()]
        base, first = column_basis(total @ base, *added), total @ at.first
        at = Stacked(differences, column_basis(first if mean_stays else base, differences), first)
    ends = RationalMatrix.of(one.unembed).mT.above((-RationalMatrix.of(other.unembed)).mT).mT
    return not ends @ at.columns


def inputs_of(network: SmallNetwork, number: int) -> list[ObjectArray]:
    """Return the same for all networks of one input."""
    return points(len(network.embed[0]), network.tokens, number)
