"""Arithmetic of weights with what their roundings make of every entry: the ring in which a rounding is told.

What a fitted rotation makes of many rows is told by the few entries that are off most. Of all the others it is enough
that they are off by less, and that is seen in float32, with bounds: a sum of `n` products is off by at most
`n u / (1 - n u)` times the product of the lengths, in any order, `u = 2^-24` (Higham, Accuracy and Stability of
Numerical Algorithms, chapter 3), a sum of squares by such a share of itself, and some of the squares are a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_arrays import Exact, Numbers, Rounded
from lightning_sym.checkpoints.measured import ALIKE, Fitted, Measured, less, square_of, value_of
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.units import Worst

MANY = 2**18
"""Numbers from which on a fitted rotation of rows is told by the entries that are off most."""

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
        return self.lead if self.last else (*self.lead[:-2], *self.lead[:-3:-1])

    @cached_property
    def _made(self) -> Measured:
        """All of it, with all units."""
        found = reduce(Measuring().times, self.factors, _product(self.rows, self.by).reshape(*self.lead))
        found = found if self.last else found.swapaxes(-1, -2)
        return found if self.second is None else less(self.second, found)

    def _as_rows(self, array: Any) -> Any:
        """Return what has this shape as rows along the axis that is turned."""
        return (array if self.last else array.swapaxes(-1, -2)).reshape(-1, self.lead[-1])

    def reshape(self, *shape: int) -> Measured:
        """Return the same numbers in another shape, as rows that are not yet made as long as they stay rows."""
        if self.last and self.second is None and -1 not in shape and shape[-1] == self.lead[-1]:
            return TurnedRows(self.rows, self.by, shape, self.factors, last=True)
        return self._made.reshape(*shape)

    def then(self, factor: Any = None, second: object = None) -> Measured:
        """Return this times a gain, or a number, or what an array has more; all of it is made where that is needed."""
        along = factor is None or np.size(factor) == 1 or (self.last and np.shape(factor) == self.lead[-1:])
        factors = self.factors if factor is None else (*self.factors, factor)
        if along and self.second is None and (second is None or isinstance(second, Measured)):
            return TurnedRows(self.rows, self.by, self.lead, factors, second, last=self.last)
        return less(second, self._made) if factor is None else Measuring().times(self._made, factor)

    @cached_property
    def _most(self) -> Any:
        """Upper bounds of how many units entries are off, `(N, d)`."""
        (matrix, spread, longest), rows, width = self.by.short, self.rows.value, self.lead[-1]
        energies = np.square(rows).sum(axis=1, keepdims=True)
        closely = "closely" in vars(self.by) or self.rows.square.sum() < 2.0**-18 * energies.sum()
        kind, step, part = ("f8", width, width) if closely else ("f4", TOGETHER, width // 2)
        factor, second = reduce(np.multiply, map(value_of, self.factors), np.ones(1)), self._as_rows(self.second)
        rows, off = rows.astype(kind), (second.value / factor).astype(kind)
        there = np.abs(off)
        for some in (slice(start, start + step) for start in range(0, width, step)):
            off -= rows[:, some] @ (self.by.value.T if closely else matrix)[:, some].T
        lost = (step + 2 * (width // step) + 16) * float(np.finfo(kind).eps) / 2 * longest * np.sqrt(energies)
        off = np.abs(off) + (lost + 2.0**-126).astype(kind)
        some, sure = slice(0, part), np.float32(1 - width * 2.0**-22)
        least = self.rows.square[:, some].astype("f4") @ spread[:, some].T * sure - np.float32(2.0**-120)
        for gain in (each for each in self.factors if isinstance(each, Measured)):
            least += np.square(np.maximum(there - off, 0)) * (gain.square / np.square(gain.value)).astype(np.float32)
        least = np.sqrt(np.maximum(least, (second.square / np.square(factor)).astype(np.float32)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(off / least * (1 + 2.0**-16) + 0 * least, nan=np.inf)

    def largest(self, worst: Worst) -> Iterator[tuple[Measured, Any]]:
        """Yield entries, and where they stand, until none of the others is off by more units than the worst one.

        Where too many may be, all of them are yielded.
        """
        if not worst.units:
            yield from self._looked(worst, np.argpartition(self._most, -8, axis=None)[-8:])
        some = np.flatnonzero(self._most >= worst.units)
        if 64 * len(some) > self._most.size and self._most.dtype == np.float32:  # bounds of float64 are nearer
            self.by.__dict__["closely"] = True
            del self.__dict__["_most"]
            some = np.flatnonzero(self._most >= worst.units)
        if 64 * len(some) > self._most.size:
            yield self._made, ...
        else:
            yield from self._looked(worst, some[np.argsort(-self._most.ravel()[some])])

    def _looked(self, worst: Worst, some: Any) -> Iterator[tuple[Measured, Any]]:
        """Yield those of some entries, in an order, that are off by more units than the worst one."""
        for start in range(0, len(some), TOGETHER):
            rows, columns = np.divmod(some[start : start + TOGETHER], self.lead[-1])
            found = self._at(rows, columns, 0.0)
            near = ~(np.abs(found.value) < worst.units * found.units)
            rows, columns = rows[near], columns[near]
            doubt = self.by.of_rows(self.rows[rows])[np.arange(len(rows)), columns]
            places = self._as_rows(np.arange(self._most.size).reshape(self.shape))[rows, columns]
            yield self._at(rows, columns, doubt), np.unravel_index(places, self.shape)

    def _at(self, rows: Any, columns: Any, doubt: Any) -> Measured:
        """Return some entries, with squares of what is off as the rotation is no better known."""
        some, by = self.rows[rows], self.by.value.T[columns]
        square = np.einsum("ij,ij,ij->i", some.square, by, by) + doubt
        found: Any = Measured(np.einsum("ij,ij->i", some.value, by), square)
        for factor in self.factors:
            found = Measuring().times(found, factor if np.size(factor) == 1 else factor[columns])
        return less(self._as_rows(self.second)[rows, columns], found)


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
            if isinstance(rows, Measured) and isinstance(by, Fitted) and by.ndim == 2 and rows.value.size >= MANY:
                rows, by = (rows, by) if last else (rows.swapaxes(-1, -2), by.mT)
                return TurnedRows(rows.reshape(-1, rows.shape[-1]), by, rows.shape, last=last)
        return _product(first, second)

    def times(self, first: object, second: object) -> Any:
        return first.then(second) if isinstance(first, TurnedRows) else _together(first, second, np.multiply)

    def over(self, first: object, second: object) -> Any:
        if not isinstance(second, Measured):
            return self.times(first, 1 / np.asarray(second))
        inverse = 1 / second.value
        return self.times(first, Measured(inverse, second.square * inverse**4))

    def plus(self, first: object, second: object) -> Any:
        found = value_of(first) + value_of(second)
        if not (isinstance(first, Measured) or isinstance(second, Measured)):
            return found
        return Measured(found, np.broadcast_to(square_of(first) + square_of(second), found.shape))

    def less(self, second: object, made: object) -> Measured:
        """Return what an array has more than what was made for it: a unit is the larger one of both."""
        return made.then(second=second) if isinstance(made, TurnedRows) else less(second, made)

    def common(self, array: Measured, axis: int) -> Measured:
        """Return what the entries along an axis have in common, but for roundings: their mean, without those far off.

        Example:
            >>> from lightning_sym.checkpoints.measured import measured
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


Ring = Measuring | Exact
"""In which two checkpoints are compared."""


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
    doubt = first.of_rows(value_of(second).mT).mT if isinstance(first, Fitted) else None
    doubt = second.of_rows(first) if isinstance(second, Fitted) else doubt
    return found if doubt is None else Measured(value_of(found), doubt + square_of(found))
