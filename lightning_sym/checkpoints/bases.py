"""A change of bases, and what it makes of each piece: written once, over any ring of weights.

Which axis of which piece moves, and how, stands in the table (`pieces.py`), so that no piece is named. The numbers of a
change are those of the ring (`exact_arrays.py`) that the pieces are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.coded import along
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Numbers
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import LENGTH
from lightning_sym.errors import BadInput

Places = npt.NDArray[np.int64]


class Basis(Protocol):
    """What is done to a space."""

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        """Return a piece's array with its axis, or its scale, at this place moved."""
        ...


Bases = Mapping[str, Basis]
"""By the kind of a space, what is done to it."""


@dataclass(frozen=True, eq=False)
class Matrices:
    """An invertible matrix for each group, `(G, a, a)`, and its inverse."""

    matrices: Numbers
    inverses: Numbers

    @classmethod
    def of(cls, part: object, ring: Arithmetic) -> Matrices:
        """Return those of a part of a symmetry."""
        matrices = ring.numbers(part)
        return cls(matrices, ring.inverse(matrices))

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        up = piece.axes[place].up
        found = for_first_axis(self.matrices if up else self.inverses, piece, place)
        if place == 2:
            return ring.product(array, found.mT if up else found)
        found = found if up else found.mT
        return ring.product(found, array) if len(piece.axes) > 2 else ring.product(found, array[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class Turns:
    """A number `x + iy` for each group and frequency, `(G, a / 2, 2)`, and the same over `x^2 + y^2`.

    Row `j + i row_{j + a/2}` of what moves up is multiplied by the one, of what moves down by the other.
    """

    turns: Numbers
    inverses: Numbers

    @classmethod
    def of(cls, part: object, ring: Arithmetic) -> Turns:
        """Return those of a part of a symmetry."""
        turns = ring.numbers(part)
        squares = ring.times(turns, turns)
        return cls(turns, ring.over(turns, ring.plus(squares[..., :1], squares[..., 1:])))

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        found = for_first_axis(self.turns if piece.axes[place].up else self.inverses, piece, place)
        half = array.shape[place] // 2
        x, y, upper, lower = found[..., 0], found[..., 1], array[:, :half], array[:, half:]
        if len(piece.axes) > 2:
            x, y = x[..., None], y[..., None]
        real = ring.plus(ring.times(x, upper), ring.times(-y, lower))
        parts = real, ring.plus(ring.times(y, upper), ring.times(x, lower))
        return ring.numbers(np.concatenate(parts, axis=1))  # of one half, perhaps, it is floats


@dataclass(frozen=True, eq=False)
class TurnedAndNot:
    """Turns of the rows that rotary positions turn, which are the first, and matrices for the others."""

    turned: int
    turns: Basis | None
    matrices: Basis | None

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        rows = slice(self.turned), slice(self.turned, None)
        parts = [array[along(place, some)] for some in rows]
        both = zip((self.turns, self.matrices), parts, strict=True)
        made = [part if by is None else by.move(part, piece, place, ring) for by, part in both]
        return ring.numbers(np.concatenate(made, axis=place))


@dataclass(frozen=True, eq=False)
class GainFactors:
    """What gains on queries, and on keys, are multiplied with, `(2, a)`; rows move by the signs of these."""

    factors: Numbers
    positive: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, part: object, ring: Arithmetic) -> Self:
        """Return those of a part of a symmetry."""
        return cls(ring.numbers(part), np.asarray(np.asarray(part) > 0, dtype=bool))

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        axis = piece.axes[place]
        side = 0 if axis.up else 1
        if axis.sized:
            return ring.times(array, self.factors[side])
        signs = self.positive[side].reshape(-1, *[1] * (len(piece.axes) - 1 - place))
        return np.where(signs, array, -array)


class RowFactors(GainFactors):
    """What gains of each row of queries and keys are multiplied with, `(G, H/G + 1, a)`; rows move by the signs."""

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        axis = piece.axes[place]
        rows, shape = (slice(None), slice(None, -1) if axis.up else -1), array.shape[: place + 1]
        if self.positive[rows].size != prod(shape):
            raise BadInput(f"{piece.name}: no change of the {axis.space.kind} basis is known for it")
        if axis.sized:
            return ring.times(array, self.factors[rows].reshape(shape))
        signs = self.positive[rows].reshape(*shape, *[1] * (len(piece.axes) - 1 - place))
        return np.where(signs, array, -array)


@dataclass(frozen=True, eq=False)
class SignsBesideGains:
    """Signs of both rows of a frequency in one group, as turns: gains, which all groups may share, stay as they are."""

    signs: Basis
    factors: Basis | None

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        found = array if self.factors is None else self.factors.move(array, piece, place, ring)
        return found if piece.axes[place].sized else self.signs.move(found, piece, place, ring)


@dataclass(frozen=True, eq=False)
class Factors:
    """A number that is not 0, or one for each point of the space that it lies over."""

    factors: Numbers

    @classmethod
    def of(cls, part: object, ring: Arithmetic) -> Factors:
        """Return those of a part of a symmetry."""
        return cls(ring.numbers(part))

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        (space, exponent), found = piece.scales[place], self.factors
        if space.over:
            axis = next(place for place, axis in enumerate(piece.axes) if axis.space in space.over)
            found = found.reshape(-1, *[1] * (len(piece.axes) - 1 - axis))
        return ring.over(array, found) if exponent < 0 else ring.times(array, found)


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

    @classmethod
    def of(cls, part: object, ring: Arithmetic) -> StreamMap:
        """Return that of a part of a symmetry, which turns latents."""
        return cls(Fraction(1), matrix=ring.numbers(part))

    @property
    def is_identity(self) -> bool:
        """No coordinate is moved."""
        return self.order is not None and self.signs is None and bool((self.order == np.arange(len(self.order))).all())

    def bases(self, ring: Arithmetic) -> Bases:
        """Return both of it over a ring: `R`, and the length `c` of what is written into the stream."""
        matrix = None if self.matrix is None else ring.numbers(self.matrix)
        found: dict[str, Basis] = {"stream": replace(self, matrix=matrix)}
        return found if self.scale == 1 else found | {LENGTH.kind: Factors(one_number(self.scale, ring))}

    def move(self, array: Numbers, piece: CheckpointPiece, place: int, ring: Arithmetic) -> Numbers:
        if not piece.axes[place].sized:
            return self.turned(array, place, len(piece.axes), ring)
        if self.matrix is not None:
            raise BadInput(f"{piece.name}: a rotation of the stream must not mix its entries")
        return replace(self, signs=None).turned(array, place, len(piece.axes), ring)

    def turned(self, array: Numbers, place: int, axes: int, ring: Arithmetic) -> Numbers:
        """Return the array with `R` applied to the axis at this place, of as many axes as are said."""
        if self.matrix is not None:
            if place < axes - 1:
                return ring.product(self.matrix, array)
            rows = array.reshape(-1, array.shape[-1])
            return ring.product(rows, self.matrix.mT).reshape(*array.shape)
        if self.order is not None:
            array = array[along(place, self.order)]
        if self.signs is None:
            return array
        signs = getattr(self.signs, "floats", self.signs).reshape(-1, *[1] * (axes - 1 - place))
        return np.where(signs > 0, array, -array)


BasisKind = type[Matrices] | type[Turns] | type[GainFactors] | type[Factors] | type[StreamMap]
GAUGES: tuple[tuple[str, str, BasisKind], ...] = (
    ("value-output", "values", Matrices), ("query-key", "queries", Matrices), ("query-key", "turns", Turns),
    ("query-key", "gain_factors", GainFactors), ("query-key", "row_factors", RowFactors),
    ("ups", "ups", Factors), ("behind1", "behind1", Factors), ("behind2", "behind2", Factors),
    ("latent", "latents", StreamMap), ("query latent", "query_latents", StreamMap), ("rotary", "shared_turns", Turns),
)  # fmt: skip
"""By space, the part of a symmetry that changes its basis."""


def one_number(number: Fraction, ring: Arithmetic) -> Numbers:
    """Return a number as an array of one entry."""
    return ring.numbers(np.array([number], dtype=object))


def for_first_axis(found: Numbers, piece: CheckpointPiece, place: int) -> Numbers:
    """Return for each entry of the first axis the numbers of its group.

    A group's numbers belong to all of its heads; those of a space over nothing are for all.

    Raises:
        BadInput: the axis moves by sizes alone, as a gain does, whose entries must not be mixed.
    """
    axis, first = piece.axes[place], piece.axes[0].space
    if not axis.space.over:
        return found
    if axis.sized or not {first, *first.over} & {*axis.space.over}:
        raise BadInput(f"{piece.name}: no change of the {axis.space.kind} basis is known for it")
    share = first.size // axis.space.over[0].size
    return found if first in axis.space.over or share == 1 else np.repeat(found, share, axis=0)


def moved(piece: CheckpointPiece, array: Numbers, bases: Bases, ring: Arithmetic) -> Numbers:
    """Return what a change of bases makes of a piece, over any ring; spaces that are not there stay.

    Raises:
        BadInput: it is not known how the piece moves.

    Example:
        >>> from lightning_sym.checkpoints.exact_arrays import Exact
        >>> from lightning_sym.checkpoints.pieces import table
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> back = StreamMap(Fraction(1), order=np.arange(16)[::-1])
        >>> found = moved(table(one.form)["query"], one.block(0).query, back.bases(Exact()), Exact())
        >>> bool((found[..., 0] == one.block(0).query[..., -1]).all())
        True
    """
    for spaces in ([axis.space for axis in piece.axes], [space for space, _ in piece.scales]):
        for place, space in enumerate(spaces):
            if (basis := bases.get(space.kind)) is not None:
                array = basis.move(array, piece, place, ring)
    return array


def sets_in_order(order: npt.ArrayLike, sets: int) -> Places:
    """Return the order of equal sets whose members stand together in an order.

    Example:
        >>> sets_in_order(np.array([3, 2, 0, 1]), 2).tolist()
        [1, 0]
    """
    members = np.asarray(order, dtype=np.int64)
    return members[:: len(members) // sets] // (len(members) // sets)
