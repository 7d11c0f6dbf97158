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
import numpy.typing as npt

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.exact_arrays import Numbers, Rounded
from lightning_sym.checkpoints.measured import ALIKE, Fitted, Measured, UnitsLater, value_of
from lightning_sym.checkpoints.model import Index
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.units import DIGITS, Worst

MANY = 2**18
"""Numbers from which on a fitted rotation of rows is told by the entries that are off most."""

TOGETHER = 128
"""Columns whose products are added up in float32 before they are added to others, and entries looked at together."""

COARSE = 2.0**-18
"""Squares of units are more than this share of squares of numbers where float32 tells a number from its neighbours."""

SHARE = 64
"""Of so many entries at most one is computed by itself; where more may be off most, all of them are."""

DOUBLE: Any = np.float64
SINGLE: Any = np.float32

SURE = 1 - 2.0**-16
"""What is less by this factor is less, however floats rounded it."""


class TurnedRows(UnitsLater):
    """What a fitted rotation makes of rows, over gains perhaps, or what other numbers have more than that.

    Args:
        rows: `(N, d)`.
        by: what they are multiplied with, `(d, d)`.
        whole: the shape of what is made.
        place: the axis of it that is turned.
        factors: what it is multiplied with, one by one: `(d,)` if the axis is the last one, or one number.
        second: what has more than that.
    """

    def __init__(
        self, rows: Measured, by: Fitted, whole: tuple[int, ...], place: int, factors: tuple[Any, ...] = (),
        second: Measured | None = None,
    ) -> None:  # fmt: skip
        self.__dict__.update(rows=rows, by=by, whole=whole, place=place, factors=factors, second=second)

    rows: Measured
    by: Fitted
    whole: tuple[int, ...]
    place: int
    factors: tuple[Any, ...]
    second: Measured | None

    @classmethod
    def of(cls, array: Measured, by: Fitted, place: int) -> TurnedRows:
        """Return what a rotation makes of an array along its last axis, or, for -2, of the one before it."""
        array, by = (array, by) if place == -1 else (array.swapaxes(-1, -2), by.swapaxes(-1, -2))
        shape = array.shape if place == -1 else (*array.shape[:-2], *array.shape[:-3:-1])
        return cls(array.reshape(-1, array.shape[-1]), by, shape, len(shape) + place)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.whole

    @property
    def value(self) -> Floats:  # type: ignore[override]
        """The numbers."""
        return self._made.value

    @property
    def square(self) -> Floats:
        """The square of the unit of each entry."""
        return self._made.square

    @cached_property
    def _made(self) -> Measured:
        """All of it, with all units."""
        found = self._from_rows(_product(self.rows, self.by))
        found = reduce(lambda made, factor: _together(made, factor, np.multiply), self.factors, found)
        return found if self.second is None else _less(self.second, found)

    def _from_rows(self, rows: Any) -> Any:
        """Return rows in the shape of what is made."""
        if self.place == self.ndim - 1:
            return rows.reshape(*self.whole)
        return rows.reshape(*self.whole[:-2], *self.whole[:-3:-1]).swapaxes(-1, -2)

    def _as_rows(self, array: Any) -> Any:
        """Return what has the shape of what is made as rows, each along the axis that is turned."""
        return (array if self.place == self.ndim - 1 else array.swapaxes(-1, -2)).reshape(-1, self.rows.shape[1])

    def __getitem__(self, index: Index) -> Measured:
        return self._made[index]

    def __neg__(self) -> Measured:
        return -self._made

    def reshape(self, *shape: int) -> Measured:
        """Return the same rows, as long as nothing else was done with them, in another shape."""
        plain = self.second is None and not self.factors and self.place == self.ndim - 1 and shape[-1] == self.whole[-1]
        return TurnedRows(self.rows, self.by, shape, len(shape) - 1) if plain else self._made.reshape(*shape)

    def swapaxes(self, first: int, second: int) -> Measured:
        """Return two axes exchanged."""
        return self._made.swapaxes(first, second)

    def beyond(self, limit: float) -> npt.NDArray[np.bool_]:
        """Return which entries are off 0 by more units: without looking at all of them, where none is."""
        worst = Worst(units=limit)
        for left, _ in self.largest(worst):
            if left.beyond(limit).any():
                return self._made.beyond(limit)
        return np.broadcast_to(np.False_, self.whole)

    def then(self, factor: Any = None, second: Measured | None = None) -> TurnedRows | None:
        """Return this times a gain, or a number, or what an array has more; `None` where all must be made for that."""
        along = self.place == self.ndim - 1 and np.shape(factor) == self.whole[-1:]
        if self.second is not None or not (factor is None or along or np.size(factor) == 1):
            return None
        factors = self.factors if factor is None else (*self.factors, factor)
        return TurnedRows(self.rows, self.by, self.whole, self.place, factors, second)

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats]:
        """Upper bounds of how far entries are off, and lower ones of their units, over the same positive numbers."""
        matrix: Any = self.by.value.T
        rows, width = self.rows.value, self.rows.shape[1]
        size = np.ldexp(1.0, -np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1])
        squares, kind, step = self.rows.square, DOUBLE, width
        if squares.sum() > COARSE * np.square(rows).sum():
            matrix, kind, step = self.by.short[0], SINGLE, TOGETHER
        factor = reduce(np.multiply, map(value_of, self.factors), np.ones(1))
        rows = (rows * size).astype(kind)
        off = (self._as_rows(value_of(self.second)) * size / factor).astype(kind)
        there = np.abs(off)
        for some in (slice(start, start + step) for start in range(0, width, step)):
            off -= rows[:, some] @ matrix[:, some].T
        lost = (step + 2 * (width // step) + 16) * float(np.finfo(kind).eps) / 2 * self.by.longest
        np.abs(off, out=off)
        off += lost * np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
        half = slice(0, (width + 1) // 2)
        least = (squares[:, half] * np.square(size)).astype(np.float32) @ self.by.short[1][:, half].T
        np.maximum(least * np.float32(1 - width * 2.0**-22) - np.float32(2.0**-120), 0, out=least)
        spread = sum(
            (each.square / np.square(each.value) for each in self.factors if isinstance(each, Measured)), np.zeros(1)
        )
        least += np.square(np.maximum(there - off, 0)) * spread.astype(np.float32)
        digits = DIGITS.get(getattr(self.second, "stored", ""), (0, 0))[0] or np.inf
        np.maximum(least, np.square(there * kind(2.0**-digits)), out=least)
        least[~np.isfinite(least)] = 0
        return off, np.sqrt(least, out=least)

    def largest(self, worst: Worst) -> Iterator[tuple[Measured, tuple[Places, ...] | None]]:
        """Yield entries, and where they stand, among which are those that are off most, if by more units than `worst`.

        Where too many may be so, all of them are yielded.
        """
        if not worst.units < np.inf:
            return
        off, least = self._bounds
        if not worst.units:
            likely = (off / np.maximum(least, np.finfo(np.float32).tiny)).argmax(axis=1)
            yield from self._looked(worst, np.arange(len(off)), likely)
        rows, columns = np.nonzero(~(off <= np.float32(worst.units * SURE) * least))
        if SHARE * len(rows) <= off.size:
            yield from self._looked(worst, rows, columns)
        else:
            yield self._made, None

    def _looked(
        self, worst: Worst, rows: Places, columns: Places
    ) -> Iterator[tuple[Measured, tuple[Places, ...] | None]]:
        """Yield those of some entries that may be off by more units than `worst`, what is off most first."""
        parts = [slice(start, start + TOGETHER) for start in range(0, len(rows), TOGETHER)]
        made = [self._at(rows[some], columns[some], doubted=False) for some in parts]
        most = np.concatenate([np.zeros(0), *(np.abs(each.value) / each.units for each in made)])
        most = np.nan_to_num(most, nan=np.inf)
        order = np.argsort(-most)
        for some in (order[start : start + 16] for start in range(0, len(order), 16)):
            if most[some[0]] <= worst.units * SURE:
                return
            lead = np.unravel_index(rows[some], (*self.whole[: self.place], *self.whole[self.place + 1 :]))
            yield self._at(rows[some], columns[some]), (*lead[: self.place], columns[some], *lead[self.place :])

    def _at(self, rows: Places, columns: Places, *, doubted: bool = True) -> Measured:
        """Return some entries; without what is doubtful of the rotation, their units are smaller."""
        some, by = self.rows.value[rows], self.by.value.T[columns]
        square = np.einsum("ij,ij,ij->i", self.rows.square[rows], by, by)
        if doubted:
            square = square + self.by.doubt.squares_off_at(some, columns)
        found: Any = Measured(np.einsum("ij,ij->i", some, by), square)
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
        for rows, by, place in ((first, second, -1), (second, first, -2)):
            if isinstance(rows, Measured) and isinstance(by, Fitted) and by.ndim == 2 and prod(rows.shape) >= MANY:
                return TurnedRows.of(rows, by, place)
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
        later: TurnedRows | None = made.then(second=second) if both else None  # type: ignore[attr-defined]
        return _less(second, made) if later is None else later

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
