"""Theorem 1 of docs/transformer-fibers.md once more, with fractions alone: forms one by one, ranks column by column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest

from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.claims.transformers.common_streams import TwoLayerBox
from proofs_check.claims.transformers.common_streams.criterion import common_streams, lowest_first
from proofs_check.claims.transformers.made_equal import equal_pairs
from proofs_check.claims.transformers.small_networks import HeadAV, SmallNetwork, as_array, identity

Form = tuple[tuple[Fraction, ...], ...]


def column_basis(*matrices: ObjectArray) -> ObjectArray:
    """Columns that span what the columns of all of them span."""
    rows = np.concatenate(matrices, axis=1).T
    chosen: list[ObjectArray] = []
    for row in rows:
        if len(chosen) == rows.shape[1]:
            break
        if any(row) and rank([r.tolist() for r in (*chosen, row)]) > len(chosen):
            chosen.append(row)
    return np.array(chosen, dtype=object).reshape(len(chosen), rows.shape[1]).T


@dataclass
class Stacked:
    """Two streams, one above the other: columns that span `D` and `L`; for mutants `S = (e + sum C) .. E`."""

    height: int
    differences: ObjectArray
    columns: ObjectArray
    first: ObjectArray

    def block(self, which: int, value: ObjectArray) -> ObjectArray:
        """A matrix on the stream of one of the two, as one on both."""
        result = np.zeros((len(self.first), len(self.first)), dtype=object)
        part = slice(0, self.height) if which == 0 else slice(self.height, None)
        result[part, part] = value
        return result

    def form(self, which: int, head: HeadAV, compared: str) -> Form:
        """The scores that count, of differences of keys: a matrix."""
        if compared == "nowhere":
            return ((Fraction(1),),)
        part = slice(0, self.height) if which == 0 else slice(self.height, None)
        queries = self.columns if compared == "everywhere" else self.first
        found = self.differences[part].T @ as_array(head.attention) @ queries[part]
        return tuple(tuple(map(Fraction, row)) for row in found.tolist())

    def is_skew(self, which: int, head: HeadAV) -> bool:
        """Whether the form is, on `D`."""
        part = slice(0, self.height) if which == 0 else slice(self.height, None)
        found = self.differences[part].T @ as_array(head.attention) @ self.differences[part]
        return not any((found + found.T).ravel())


def opposite(form: Form) -> Form:
    """`-M`."""
    return tuple(tuple(-s for s in row) for row in form)


def plainly(
    one: SmallNetwork,
    other: SmallNetwork,
    *,
    flips_at: int = 2,
    blind_at: int = 2,
    mean_stays: bool = False,
    compared: str = "everywhere",
) -> bool:
    start = np.concatenate([as_array(one.embed), as_array(other.embed)])
    base = column_basis(start)
    at = Stacked(len(one.embed), base, base, start)
    for layers in zip(lowest_first(one), lowest_first(other), strict=True):
        nothing = np.zeros((len(start), len(start)), dtype=object)
        classes: dict[Form, ObjectArray] = {}
        blind: set[Form] = set()
        for which, heads in enumerate(layers):
            for head in heads:
                form, value = at.form(which, head, compared), at.block(which, as_array(head.value))
                if one.tokens == flips_at and (turned := opposite(form)) in classes and turned != form:
                    none = tuple((Fraction(0),) * len(row) for row in form)
                    classes[none] = classes.get(none, nothing) + 2 * value
                    form, value = turned, -value
                classes[form] = classes.get(form, nothing) + value
                if one.tokens == blind_at and at.is_skew(which, head):
                    blind.add(form)
        seen = {form: c for form, c in classes.items() if one.causal or any(map(any, form))}
        moving = [c for form, c in seen.items() if one.causal or form not in blind]
        keep = np.array(identity(len(start)), dtype=object) * int(one.skip)
        total = sum(classes.values(), keep)
        differences = column_basis(*(m @ at.differences for m in (keep, *moving)))
        added = [] if one.causal else [c @ at.differences for c in seen.values()]
        base, first = column_basis(total @ base, *added), total @ at.first
        at = Stacked(at.height, differences, column_basis(first if mean_stays else base, differences), first)
    ends = np.concatenate([as_array(one.unembed), -as_array(other.unembed)], axis=1)
    return not any((ends @ at.columns).ravel())


FAULTS: list[dict[str, int | str]] = [
    {}, {"flips_at": 3}, {"blind_at": 3}, {"mean_stays": True}, {"compared": "at S"}, {"compared": "nowhere"},
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_both_ways_to_the_criterion_agree(fault: dict[str, int | str]) -> None:
    pairs = []
    for tokens, causal, skip in product((2, 3), (False, True), (False, True)):
        pairs += [
            *TwoLayerBox(tokens, causal, skip, 8).pairs(),
            *islice(TwoLayerBox(tokens, causal, skip, 0).pairs(), 0, None, 300),
        ]
    for made in list(equal_pairs(quick=True))[::2]:
        pairs += [(made.one, made.other), (made.one, made.spoiled), (made.other, made.one)]
    found = [common_streams(*pair, **fault) for pair in pairs]  # type: ignore[arg-type]
    assert found == [plainly(*pair, **fault) for pair in pairs]  # type: ignore[arg-type]
    assert {True, False} == set(found)
