"""Arithmetic of weights with what their roundings make of every entry: the ring in which a rounding is told.

What a fitted rotation makes of many rows is told by the few entries that are off most. Of all the others it is enough
that they are off by less, and that is seen in float32, with bounds: a sum of `n` products is off by at most
`n u / (1 - n u)` times the product of the lengths, in any order, `u = 2^-24` (Higham, Accuracy and Stability of
Numerical Algorithms, chapter 3), a sum of squares by such a share of itself, and some of the squares are a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_arrays import Numbers, Rounded
from lightning_sym.checkpoints.measured import ALIKE, Fitted, Measured, value_of
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.units import Worst

MANY = 2**18
"""Numbers from which on a fitted rotation of rows is told by the entries that are off most."""

SHARE = 64
"""Of so many entries at most one is looked at by itself; where more may be off most, all of them are computed."""

TOGETHER = 128
"""Products that are added up in float32 before they are added to others, and entries that are looked at together."""


class TurnedRows(Measured):
    """What a fitted rotation makes of rows, over gains perhaps, or what other numbers have more than that.

    Args:
        rows: `(N, d)`.
        by: what they are multiplied with, `(d, d)`.
        lead: the shape of what is made, its turned axis last.
        last: whether that is the last one, else the one before it.
        factors: what it is multiplied with, one by one: `(d,)` if the axis is the last one, or one number.
        second: what has more than that.
    """

    def __init__(
        self, rows: Measured, by: Fitted, lead: tuple[int, ...], factors: tuple[Any, ...] = (),
        second: Measured | None = None, *, last: bool,
    ) -> None:  # fmt: skip
        vars(self).update(rows=rows, by=by, lead=lead, last=last, factors=factors, second=second)

    def __getattr__(self, name: str) -> Any:
        """Return all numbers, or the squares of all units, which are made where they are asked for."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made, name)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.lead if self.last else (*self.lead[:-2], *self.lead[:-3:-1])

    @cached_property
    def _made(self) -> Measured:
        """All of it, with all units."""
        found = _product(self.rows, self.by).reshape(*self.lead)
        for factor in self.factors:
            found = _together(found, factor, np.multiply)
        found = found if self.last else found.swapaxes(-1, -2)
        return found if self.second is None else _less(self.second, found)

    def _as_rows(self, array: Any) -> Any:
        """Return what has this shape as rows along the axis that is turned."""
        return (array if self.last else array.swapaxes(-1, -2)).reshape(-1, self.lead[-1])

    def reshape(self, *shape: int) -> Measured:
        """Return the same numbers in another shape, as rows that are not yet made as long as they stay rows."""
        kept = self.last and self.second is None and -1 not in shape and shape[-1] == self.lead[-1]
        return TurnedRows(self.rows, self.by, shape, self.factors, last=True) if kept else self._made.reshape(*shape)

    def then(self, factor: Any = None, second: Measured | None = None) -> Any:
        """Return this times a gain, or a number, or what an array has more; `None` where all must be made for that."""
        along = factor is None or np.size(factor) == 1 or (self.last and np.shape(factor) == self.lead[-1:])
        factors = self.factors if factor is None else (*self.factors, factor)
        return TurnedRows(self.rows, self.by, self.lead, factors, second, last=self.last) if along else None

    @cached_property
    def _most(self) -> Any:
        """Upper bounds of how many units entries are off, `(N, d)`."""
        rows, squares, width, (matrix, spread, longest) = (
            self.rows.value,
            self.rows.square,
            self.lead[-1],
            self.by.short,
        )
        kind: Any = np.float32
        energies = np.square(rows).sum(axis=1, keepdims=True)
        if squares.sum() < 2.0**-18 * energies.sum():  # float32 tells none of these from its neighbours
            kind, matrix = np.float64, self.by.value.T
        step = TOGETHER if kind is np.float32 else width
        gains = [factor for factor in self.factors if isinstance(factor, Measured)]
        factor, second = reduce(np.multiply, map(value_of, self.factors), np.ones(1)), self._as_rows(self.second)
        rows, off = rows.astype(kind), (second.value / factor).astype(kind)
        there = np.abs(off)
        for some in (slice(start, start + step) for start in range(0, width, step)):
            off -= rows[:, some] @ matrix[:, some].T
        lost = (step + 2 * (width // step) + 16) * float(np.finfo(kind).eps) / 2 * longest
        off = np.abs(off) + (lost * np.sqrt(energies) + 2.0**-126).astype(kind)
        half = slice(0, (width + 1) // 2)
        least = squares[:, half].astype(np.float32) @ spread[:, half].T * np.float32(1 - width * 2.0**-22)
        least -= np.float32(2.0**-120)
        for gain in gains:
            least += np.square(np.maximum(there - off, 0)) * (gain.square / np.square(gain.value)).astype(np.float32)
        least = np.sqrt(np.maximum(least, (second.square / np.square(factor)).astype(np.float32)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(off / least * (1 + 2.0**-16) + 0 * least, nan=np.inf)

    def largest(self, worst: Worst) -> Iterator[tuple[Measured, Any]]:
        """Yield entries, and where they stand, until none of the others is off by more units than the worst one.

        Where too many may be, all of them are yielded.
        """
        rest = np.inf
        while rest > worst.units:
            bound = max(0.75 * rest, worst.units)
            rows, columns = np.nonzero(self._most >= bound)
            rows, columns = (each[np.argsort(-self._most[rows, columns])] for each in (rows, columns))
            if SHARE * len(rows) > self._most.size:
                yield self._made, ...
                return
            for some in (slice(start, start + TOGETHER) for start in range(0, len(rows), TOGETHER)):
                found = self._at(rows[some], columns[some], 0.0)
                near = np.flatnonzero(~(np.abs(found.value) < worst.units * found.units)) + some.start
                if near.size:
                    doubt = self.by.of_rows(self.rows[rows[near]])[np.arange(len(near)), columns[near]]
                    flat = self._as_rows(np.arange(prod(self.lead)).reshape(self.shape))[rows[near], columns[near]]
                    yield self._at(rows[near], columns[near], doubt), np.unravel_index(flat, self.shape)
            rest = float(self._most.max(where=self._most < bound, initial=0.0))

    def _at(self, rows: Any, columns: Any, doubt: Any) -> Measured:
        """Return some entries, with squares of what is off as the rotation is no better known."""
        some, by = self.rows[rows], self.by.value.T[columns]
        square = np.einsum("ij,ij,ij->i", some.square, by, by) + doubt
        found: Any = Measured(np.einsum("ij,ij->i", some.value, by), square)
        for factor in self.factors:
            found = _together(found, factor if np.size(factor) == 1 else factor[columns], np.multiply)
        return _less(self._as_rows(self.second)[rows, columns], found)


def _square(array: object) -> Floats:
    return array.square if isinstance(array, Measured) else np.zeros((1,) * value_of(array).ndim)


class Measuring(Rounded):
    """Floats with units; what is no `Measured` is exact.

    Args:
        fits: parts of a symmetry that were fitted, and how well.
    """

    def __init__(self, fits: Sequence[tuple[object, Fitted | Measured]] = ()) -> None:
        self._fits = fits

    def numbers(self, array: object) -> Any:
        found = next((fit for part, fit in self._fits if part is array), array)
        return found if isinstance(found, Measured | Fitted) else super().numbers(found)

    def inverse(self, matrices: Numbers | Fitted) -> Any:
        return matrices.inverse() if isinstance(matrices, Fitted) else super().inverse(matrices)

    def product(self, first: object, second: object) -> Any:
        for rows, by, last in ((first, second, True), (second, first, False)):
            if isinstance(rows, Measured) and isinstance(by, Fitted) and by.ndim == 2 and prod(rows.shape) >= MANY:
                rows, by = (rows, by) if last else (rows.swapaxes(-1, -2), by.mT)
                return TurnedRows(rows.reshape(-1, rows.shape[-1]), by, rows.shape, last=last)
        return _product(first, second)

    def times(self, first: object, second: object) -> Any:
        later = first.then(second) if isinstance(first, TurnedRows) else None
        return _together(first, second, np.multiply) if later is None else later

    def over(self, first: object, second: object) -> Any:
        if not isinstance(second, Measured):
            return self.times(first, 1 / np.asarray(second))
        inverse = 1 / second.value
        return self.times(first, Measured(inverse, second.square * inverse**4))

    def plus(self, first: object, second: object) -> Any:
        found = value_of(first) + value_of(second)
        if not (isinstance(first, Measured) or isinstance(second, Measured)):
            return found
        return Measured(found, np.broadcast_to(_square(first) + _square(second), found.shape))

    def less(self, second: object, made: object) -> Measured:
        """Return what an array has more than what was made for it: a unit is the larger one of both."""
        both = isinstance(made, TurnedRows) and isinstance(second, Measured)
        return made.then(second=second) if both else _less(second, made)  # type: ignore[attr-defined]

    def common(self, array: Measured, axis: int) -> Measured:
        """Return what the entries along an axis have in common, but for roundings: their mean, without those far off.

        Example:
            >>> Measuring().common(measured(np.array([1.0, 1.25, 0.75, 9.0]), "F32"), 0).value.tolist()
            [1.0]
        """
        middle = np.median(array.value, axis=axis, keepdims=True)
        off = np.abs(array.value - middle)
        near = off <= ALIKE * np.median(off, axis=axis, keepdims=True)
        count = near.sum(axis=axis, keepdims=True)
        value, square = (np.where(near, x, 0.0).sum(axis=axis, keepdims=True) for x in (array.value, array.square))
        share = 1 / np.maximum(count, 1)
        return Measured(
            np.where(count > 0, value * share, middle),
            np.where(count > 0, square * share**2, array.square.max(axis=axis, keepdims=True)),
        )


def _together(first: object, second: object, product: Callable[[Floats, Floats], Floats]) -> Measured | Floats:
    """Return a product of any kind: errors of each side times the other side."""
    values = value_of(first), value_of(second)
    found = np.asarray(product(*values))
    sides = []
    if isinstance(first, Measured):
        sides.append(product(first.square, np.square(values[1])))
    if isinstance(second, Measured):
        sides.append(product(np.square(values[0]), second.square))
    return Measured(found, np.asarray(sum(sides))) if sides else found


def _product(first: object, second: object) -> Any:
    """Return a matrix product, with what is doubtful of a matrix that was fitted."""
    found = _together(first, second, np.matmul)
    doubt = first.of_columns(second) if isinstance(first, Fitted) else None
    doubt = second.of_rows(first) if isinstance(second, Fitted) else doubt
    return found if doubt is None else Measured(value_of(found), doubt + _square(found))


def _less(second: object, made: object) -> Measured:
    """Return what an array has more than what was made for it, all of it."""
    found = np.asarray(value_of(second) - value_of(made))
    return Measured(found, np.broadcast_to(np.maximum(_square(second), _square(made)), found.shape))
