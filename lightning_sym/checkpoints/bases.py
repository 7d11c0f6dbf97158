"""A change of bases, and what it makes of each piece: written once, over any ring.

`of` makes an array of the ring of a stored one, or of the numbers of a change; arrays of a ring know `@ * + -`, indices
and transposes. Which axis of which piece moves, and how, stands in the table (`pieces.py`), so that no piece is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_rings import Ratio
from lightning_sym.checkpoints.pieces import LENGTH, CheckpointPiece
from lightning_sym.errors import BadInput

Turn = Callable[[Any], Any]
"""What makes a ring's array of a stored one."""
Places = npt.NDArray[np.int64]
Bases = Mapping[str, "Basis"]
"""By the kind of a space, what is done to it."""


class Basis(Protocol):
    """What is done to a space."""

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        """A piece's array, over the ring of `of`, with its axis, or its scale, at this place moved."""
        ...


@dataclass(frozen=True, eq=False)
class Order:
    """The place that stood at each new place."""

    order: Any

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        return array[(*(slice(None),) * place, self.order)]


@dataclass(frozen=True, eq=False)
class Matrices:
    """An invertible matrix for each group, `(G, a, a)`, and its inverse."""

    matrices: Any
    inverses: Any

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        found = of(self.matrices) if piece.axes[place].up else of(self.inverses).mT
        found = of_groups(found, self.matrices, piece, place)
        if place == 2:
            return array @ found.mT
        return found @ array if len(piece.axes) > 2 else (found @ array[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class Turns:
    """A number `x + iy` for each group and frequency, `(G, a / 2, 2)`, and the same over `x^2 + y^2`.

    Row `j + i row_{j + a/2}` of what moves up is multiplied by the one, of what moves down by the other.
    """

    turns: Any
    inverses: Any

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        axis = piece.axes[place]
        found = of_groups(of(self.turns if axis.up else self.inverses), self.turns, piece, place)
        half = axis.space.size // 2
        x, y, upper, lower = found[..., 0], found[..., 1], array[:, :half], array[:, half:]
        if len(piece.axes) > 2:
            x, y = x[..., None], y[..., None]
        return np.concatenate([x * upper - y * lower, y * upper + x * lower], axis=1)


@dataclass(frozen=True, eq=False)
class Factors:
    """A number that is not 0, or one for each point of the space that it lies over, and its inverse."""

    factors: Any
    inverses: Any

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        space, exponent = piece.scales[place]
        found = of(self.factors if exponent > 0 else self.inverses)
        if space.over:
            axis = next(place for place, axis in enumerate(piece.axes) if axis.space in space.over)
            found = found.reshape(-1, *[1] * (len(piece.axes) - 1 - axis))
        return array * found


@dataclass(frozen=True, eq=False)
class StreamMap:
    """`x -> c R x`: `R` orthogonal, an order with signs, `R x = signs x[order]`, or a matrix.

    A norm of `c R x`, its epsilon times `c^2`, is `R` times the norm of `x`. With LayerNorm `R` matters on the vectors
    with mean zero only.
    """

    scale: Fraction
    order: Places | None = None
    signs: Any = None
    matrix: Any = None
    exact: bool = False

    @property
    def is_identity(self) -> bool:
        """No coordinate is moved."""
        return self.order is not None and self.signs is None and bool((self.order == np.arange(len(self.order))).all())

    def bases(self) -> Bases:
        """Both of it: `R`, and the length `c` of what is written into the stream."""
        factors = Factors(rational(self.scale), rational(1 / self.scale))
        return {"stream": self} if self.scale == 1 else {"stream": self, LENGTH.kind: factors}

    def move(self, array: Any, piece: CheckpointPiece, place: int, of: Turn) -> Any:
        if not piece.axes[place].sized:
            return self.turned(array, place, len(piece.axes), of)
        if self.matrix is not None:
            raise BadInput(f"{piece.name}: a rotation of the stream must not mix its entries")
        return replace(self, signs=None).turned(array, place, len(piece.axes), of)

    def turned(self, array: Any, place: int, axes: int, of: Turn) -> Any:
        """`R` on the axis at this place of an array that has so many axes."""
        if self.matrix is not None:
            if place < axes - 1:
                return of(self.matrix) @ array
            shape: tuple[int, ...] = np.shape(getattr(array, "entries", array)) or (1,)
            return (array.reshape(-1, shape[-1]) @ of(self.matrix).mT).reshape(*shape)
        if self.order is not None and not (self.order == np.arange(len(self.order))).all():
            array = array[(*(slice(None),) * place, self.order)]
        return array if self.signs is None else array * of(self.signs).reshape(-1, *[1] * (axes - 1 - place))

    def back(self, array: Any, of: Turn) -> Any:
        """Maps that read the stream: `W R^-1`, on the last axis."""
        axes = dimensions(array)
        return self.turned(array, axes - 1, axes, of)

    def along(self, array: Any, of: Turn) -> Any:
        """Vectors of the stream in rows: `c x R^T`."""
        found = self.back(array, of)
        return found if self.scale == 1 else found * of(rational(self.scale))


def dimensions(array: Any) -> int:
    """Axes of an array of any ring; a `Size` has none, and does not mind."""
    array = getattr(array, "entries", array)
    return int(getattr(array, "ndim", 2))


def rational(number: Fraction) -> Ratio:
    """A number as an array of one entry."""
    short = number.numerator < 2**53
    return Ratio(np.array([number.numerator], dtype=np.float64 if short else object), number.denominator)


def of_groups(found: Any, numbers: Any, piece: CheckpointPiece, place: int) -> Any:
    """Of numbers for each group those of each entry of the first axis: a group's belong to all of its heads.

    Raises:
        BadInput: the axis moves by sizes alone, as a gain does, whose entries must not be mixed.
    """
    axis, first = piece.axes[place], piece.axes[0].space
    if axis.sized or not {first, *first.over} & {*axis.space.over}:
        raise BadInput(f"{piece.name}: no change of the {axis.space.kind} basis is known for it")
    count = len(getattr(numbers, "numerators", numbers))
    stacked = first in axis.space.over or count == first.size
    return found if stacked else found[np.arange(first.size) // (first.size // count)]


def moved(piece: CheckpointPiece, array: Any, bases: Bases, of: Turn) -> Any:
    """What a change of bases makes of a piece, over any ring; spaces that are not there stay.

    Raises:
        BadInput: it is not known how the piece moves.

    Example:
        >>> from lightning_sym.checkpoints.pieces import table
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> order = Order(np.array([1, 0, 3, 2]))
        >>> found = moved(table(one.form)["output"], one.block(0).output, {"heads": order}, np.asarray)
        >>> bool((found[0] == one.block(0).output[1]).all())
        True
    """
    for spaces in ([axis.space for axis in piece.axes], [space for space, _ in piece.scales]):
        for place, space in enumerate(spaces):
            if (basis := bases.get(space.kind)) is not None:
                array = basis.move(array, piece, place, of)
    return array
