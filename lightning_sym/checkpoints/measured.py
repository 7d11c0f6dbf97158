"""Weights with what their roundings make of every entry, and what these make of matrices that are fitted to them.

A stored number is off by about a unit in its last place. Through sums, products and quotients errors of independent
numbers add up like the root of the sum of their squares; that root is the unit of what was computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_arrays import Numbers
from lightning_sym.checkpoints.model import Index, P
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio
from lightning_sym.checkpoints.units import unit_at

ALIKE = 8
"""Roundings are at most so many times as large as the middle one; what is further off is something else."""

CUT = 1e-12
"""Directions in which squares of weights are less, of the largest, are none."""

TINY = 1e-100
"""Above it squares do not vanish."""


class _ArrayParts:
    """Parts that NumPy moves and joins alike, the first of them floats."""

    value: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """As of an array."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, _ArrayParts) else other)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *_: object, **__: object) -> Floats:
        raise TypeError("measured numbers must not be taken for floats, which have no units")

    def __array_function__(
        self, function: Callable[..., object], _: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """Return a function that moves or joins entries, done to every part; where the shape is asked for, to one."""
        if function in (np.shape, np.ndim, np.size):
            return function(self.value)
        parts = ([_parts(each, part.name) for each in args] for part in fields(self))  # type: ignore[arg-type]
        return (Measured if isinstance(self, Measured) else type(self))(*(function(*each, **kwargs) for each in parts))


@dataclass(frozen=True, eq=False)
class Measured(_ArrayParts):
    """An array of floats, and the square of the unit of each entry; NumPy moves and joins both alike.

    Example:
        >>> one = Measured(np.array([3.0, 4.0]), np.array([0.0, 0.25]))
        >>> np.repeat(one[1:], 2).units.tolist()
        [0.5, 0.5]
    """

    value: Floats
    square: Floats

    @property
    def units(self) -> Floats:
        """The unit of each entry."""
        return np.asarray(np.sqrt(self.square))

    def beyond(self, limit: float) -> npt.NDArray[np.bool_]:
        """Return which entries are off 0 by more units, or by what is no number."""
        fine = (np.abs(self.value) <= limit * self.units) & np.isfinite(self.square)
        return np.asarray(~fine & (self.value != 0))

    def __getitem__(self, index: Index) -> Measured:
        return Measured(self.value[index], self.square[index])

    def __neg__(self) -> Measured:
        return Measured(-self.value, self.square)

    def reshape(self, *shape: int) -> Measured:
        """Return the same entries in another shape."""
        return Measured(self.value.reshape(*shape), self.square.reshape(*shape))

    def swapaxes(self, first: int, second: int) -> Measured:
        """Return two axes exchanged."""
        return Measured(self.value.swapaxes(first, second), self.square.swapaxes(first, second))


E = TypeVar("E", Numbers, Measured)
"""Numbers of a ring: exact ones, or measured ones; what is made of the one kind is of that kind."""


@dataclass(frozen=True, eq=False)
class Doubt(_ArrayParts):
    """What roundings make of `g x`, of `g` fitted to `g W = W'` and to `L = L' g`.

    By the first alone row `i` of `g` is off by `e_i W^T (W W^T)^-1`, `e_i` the errors of row `i` of `W'`. With units
    that are products of one number for each row of `W'` and one for each column, an entry of `g x` is off by the root
    of `square_i x^T gram x`. A direction that `W` hardly has is told by `L'`: of that, `shares` remain.

    Attributes:
        value: `(..., a)`, a square for each row of `W'`.
        gram: `(..., a, a)`.
        basis: `(..., a, a)`, `g` transposed times eigenvectors of `W' W'^T`.
        shares: `(..., a + 1, a)`, squares of what is off in each of these directions, for each row by both, and last
            by the first alone.
    """

    value: Floats
    gram: Floats
    basis: Floats
    shares: Floats

    def squares_off(self, rows: Floats) -> Floats:
        """Return squares of what is off in `g x` for each row `x`, `(..., n, a)`."""
        forms = np.maximum(((rows @ self.gram) * rows).sum(axis=-1), 0.0)
        told = np.square(rows @ self.basis) @ self.shares.swapaxes(-1, -2)
        part = np.minimum(told[..., :-1], told[..., -1:]) / np.maximum(told[..., -1:], np.finfo(float).tiny)
        return np.asarray(forms[..., None] * self.value[..., None, :] * part)


@dataclass(frozen=True, eq=False)
class Fitted(_ArrayParts):
    """Square matrices fitted to weights by least squares, and what the roundings of these make of the fit.

    Attributes:
        value: `(..., a, a)`.
        doubt: what is off in products with them.
        other: the same of the inverses.
    """

    value: Floats
    doubt: Doubt
    other: Doubt

    def inverse(self) -> Fitted:
        """Return the inverses, to be transposed before they stand on the left."""
        return Fitted(np.asarray(np.linalg.inv(self.value), np.float64), self.other, self.doubt)

    @cached_property
    def mT(self) -> Fitted:  # noqa: N802
        """The matrices transposed: what they are multiplied with from the one side, they were from the other."""
        return replace(self, value=self.value.swapaxes(-1, -2))

    @cached_property
    def short(self) -> tuple[Any, Any, float]:
        """In float32 the matrix transposed, the squares of its entries, and the length of its longest row."""
        return (
            (matrix := self.value.mT.astype(np.float32)),
            np.square(matrix),
            float(np.linalg.norm(self.value, axis=0).max()),
        )

    def of_rows(self, array: object) -> Floats:
        """Return squares of what is off in `g x` for rows `x`, `(..., n, a)`, or the same from the other side."""
        return self.doubt.squares_off(value_of(array))


@dataclass(frozen=True, eq=False)
class _Side:
    """Rows `(..., n, a)`, matrices that were fitted to what these make of them, and squares of the units of that."""

    rows: Floats
    by: Floats
    square: Floats

    @cached_property
    def image_of_rows(self) -> Floats:
        """What the matrices make of the rows."""
        return np.asarray(self.rows @ self.by)

    @property
    def noise(self) -> Floats:
        """The square of how far a number of both is off, in the middle."""
        return np.asarray(2 * self.square.mean(axis=(-1, -2))[..., None, None])

    @property
    def weight(self) -> Floats:
        """That of the equations in the fit."""
        mean = np.square(self.image_of_rows).mean(axis=(-1, -2))[..., None, None]
        return np.asarray(1 / np.maximum(mean, np.finfo(float).tiny))

    def doubt(self, other: _Side, share: float) -> Doubt:
        """Return what is off in products, where the other side tells the matrices too; the same side: orthogonality."""
        gram, least = self.rows.swapaxes(-1, -2) @ self.rows, np.finfo(float).tiny
        inverse = np.linalg.pinv(gram, rcond=CUT, hermitian=True)
        each = self.square.mean(axis=-1, keepdims=True)
        value = 2 / share * self.square.mean(axis=-2) / np.maximum(each.mean(axis=-2), least)
        (high, basis), *_, (low, across) = [  # once, where both are one
            np.linalg.eigh(each.image_of_rows.swapaxes(-1, -2) @ each.image_of_rows)
            for each in dict.fromkeys((self, other))
        ] * 2
        energies = self.weight * np.maximum(high, 0)[..., None, :], other.weight * np.maximum(low, 0)[..., :, None]
        spoiled = self.weight * self.noise * energies[0] + other.weight * other.noise * energies[1]
        off = spoiled / np.maximum(energies[0] + energies[1], TINY) ** 2
        if other is self:
            off = off * (1 - np.eye(off.shape[-1]))  # a turn moves no direction along itself
        alone = self.noise * self.weight / np.maximum(energies[0], TINY)
        there = high > CUT * high[..., -1:]
        shares = np.concatenate([np.square(across) @ off, alone], axis=-2) * there[..., None, :]
        return Doubt(
            value, inverse @ (self.rows.swapaxes(-1, -2) @ (each * self.rows)) @ inverse, self.by @ basis, shares
        )


def fitted(matrices: object, readers: Measured, writers: Measured | None = None, rows: int = 0) -> Fitted:
    """Return matrices `g`, `(..., a, a)`, with `g` times readers, `(..., a, k)`, writers, `(..., l, a)`, times `g^-1`.

    Both sides were rounded, so that squares of the units of what is made count twice.

    Args:
        matrices: those.
        readers, writers: what they were fitted to; orthogonal ones have no writers.
        rows: how many columns of readers there are in all, where only some are given.
    """
    value = np.asarray(matrices, dtype=np.float64)
    share = max(rows, readers.shape[-1]) / readers.shape[-1]
    given = [(readers.swapaxes(-1, -2), value.swapaxes(-1, -2))]
    given += [] if writers is None else [(writers, np.asarray(np.linalg.inv(value), np.float64))]
    sides = [_Side(side.value, by, side.square @ np.square(by)) for side, by in given]
    doubts = [side.doubt(other, share) for side, other in zip(sides, sides[::-1], strict=True)]
    return Fitted(value, doubts[0], doubts[-1])


def _parts(arguments: object, name: str) -> object:
    """Return an argument of a function with one part of each measured array in its place."""
    if isinstance(arguments, tuple | list):
        return type(arguments)(_parts(each, name) for each in arguments)
    return getattr(arguments, name) if isinstance(arguments, _ArrayParts) else arguments


def measured(array: object, stored: str) -> Measured:
    """Return a stored array, each entry off by about a unit of this type at its own size."""
    value = np.asarray(array, dtype=np.float64)
    return Measured(value, np.square(unit_at(value, stored)))


def measured_pieces(pieces: P, stored: Mapping[str, str]) -> P:
    """Return every piece of a layer or of the ends, each of its own type."""
    return replace(pieces, **{name: measured(array, stored[name]) for name, array in pieces.present()})


def value_of(array: object) -> Floats:
    """Return what floats make of measured, exact or stored numbers."""
    if isinstance(array, _ArrayParts):
        return array.value
    return array.floats if isinstance(array, Ratio) else np.asarray(array, dtype=np.float64)


def square_of(array: object) -> Floats:
    """Return squares of units, zeros where numbers are exact."""
    return array.square if isinstance(array, Measured) else np.zeros((1,) * value_of(array).ndim)


def less(second: object, made: object) -> Measured:
    """Return what an array has more than what was made for it, all of it."""
    found = np.asarray(value_of(second) - value_of(made))
    return Measured(found, np.broadcast_to(np.maximum(square_of(second), square_of(made)), found.shape))
