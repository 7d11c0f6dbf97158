"""Fewer columns of a Jacobian: some of them only, or random combinations of them. Its rank can only become smaller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, random_residues, reduce_mod

Indices = npt.NDArray[np.int64]

_CACHE_BYTES = 2**19


class Kept(NamedTuple):
    """Entries of one weight matrix whose derivatives are kept.

    Attributes:
        weight: which matrix, in canonical order.
        entries: which of its entries, row by row; a slice where they stand side by side.
        columns: where they stand among all columns that are kept.
    """

    weight: int
    entries: slice | Indices
    columns: slice


def kept_entries(sizes: Sequence[int], keep: Indices | None) -> tuple[Kept, ...]:
    """Return the columns to keep, matrix by matrix; those of which nothing is kept are left out.

    Args:
        sizes: how many entries each matrix has.
        keep: columns in increasing order, counted through all matrices; `None` for all.

    Raises:
        BadInput: they are not in increasing order, or there is no such column.

    Example:
        >>> [(part.weight, part.entries) for part in kept_entries([4, 4, 2], np.array([0, 1, 9]))]
        [(0, slice(0, 2, None)), (2, slice(1, 2, None))]
    """
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    if keep is None:
        return tuple(Kept(i, slice(0, size), slice(starts[i], starts[i + 1])) for i, size in enumerate(sizes))
    if len(keep) and not (keep[0] >= 0 and keep[-1] < starts[-1] and (np.diff(keep) > 0).all()):
        raise BadInput(f"the columns to keep must be different ones of the {starts[-1]:,}, in increasing order")
    places = np.searchsorted(keep, starts).tolist()
    result = []
    for i, (start, first, last) in enumerate(zip(starts, places, places[1:], strict=False)):
        if first < last:
            entries = keep[first:last] - start
            low, high = int(entries[0]), int(entries[-1]) + 1
            together = high - low == last - first
            result.append(Kept(i, slice(low, high) if together else entries, slice(first, last)))
    return tuple(result)


class Fold:
    """Random combinations of columns, fewer than there are: a matrix that needs no memory to speak of.

    Every column goes, times a random number, into one new column of each of two partitions, one in order, which is
    read fast, and one shuffled. One partition is not enough: nine of 326 random networks lost rank by it; by two, four
    of 12,083, which costs another try.

    Args:
        parameters: how many columns there are.
        columns: how many there will be.
        generator: source of partitions and factors.
        p: the prime.
    """

    def __init__(self, parameters: int, columns: int, generator: np.random.Generator, p: int) -> None:
        self.columns, self.prime = columns, p
        self._parts: list[tuple[slice | Indices, npt.NDArray[np.float64]]] = []
        for order in (None, generator.permutation(parameters)):
            factors = random_residues(generator, (parameters,), p).entries
            for start in range(0, parameters, columns):
                part = slice(start, start + columns)
                self._parts.append((part if order is None else order[part], factors[part]))

    def __call__(self, rows: npt.NDArray[np.float64], target: npt.NDArray[np.number]) -> None:
        """Fold centred residues into `target`, of any type that holds them, centred again."""
        height = max(1, _CACHE_BYTES // (8 * rows.shape[1]))  # gathers are several times faster in the cache
        for start in range(0, len(rows), height):
            source = rows[start : start + height]
            result = np.zeros((len(source), self.columns))
            for count, (chosen, factors) in enumerate(self._parts, start=1):
                result[:, : len(factors)] += source[:, chosen] * factors
                if count % EXACT_PRODUCTS == 0:
                    result[:] = reduce_mod(result, self.prime)
            target[start : start + height] = reduce_mod(result, self.prime)
