"""What rows of known mistakes are asked about, and what they answer: a layer or the ends of two checkpoints, changes.

Rows follow the axes of the table of pieces (`pieces.py`), so that they hold for whatever family is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.explanation import Detail
from lightning_sym.checkpoints.measured import Measured, less, measured
from lightning_sym.checkpoints.model import Array, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import table

Arrays = Mapping[str, Array]
NOTHING: Detail = MappingProxyType({})
Map = Callable[[Arrays], dict[str, Array]]


@dataclass(frozen=True, eq=False)
class Change:
    """One way of making a mistake.

    Attributes:
        mistake: its identifier.
        pieces: those that it changes.
        made: what it makes of these pieces, from all that are there; `None` where it can only be undone.
        undone: its inverse; `None` where there is none.
        detail: what there is to say of it.
        hidden: it only moves entries, so that another mistake may stand behind it.
        fits: a symmetry is not fitted well before it is undone.
        squares: of units of what it makes, by piece, where it has numbers that were fitted.
        told: the pieces that the mistake was made in, where what it changes is seen in others.
    """

    mistake: str
    pieces: tuple[str, ...]
    made: Map | None
    undone: Map | None
    detail: Detail
    hidden: bool = False
    fits: bool = False
    squares: Mapping[str, Floats] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    @property
    def counted(self) -> frozenset[str]:
        """What it counts as: a factor for each index explains more than it says, and is two mistakes."""
        return frozenset((self.mistake, *(f"{self.mistake} by {word}" for word in self.detail if word == "factors_by")))


def each_by(
    mistake: str,
    names: tuple[str, ...],
    maps: Iterable[Callable[[Array], Array] | None],
    detail: Detail = NOTHING,
    *,
    fits: bool = False,
    squares: Mapping[str, Floats] | None = None,
) -> Change:
    """Return the change of each piece by itself: `maps` are a function of one array, and its inverse, or `None`."""
    made, undone = (function and partial(_each, function, names) for function in maps)
    return Change(mistake, names, made, undone, detail, fits=fits, squares=squares or {})


def _each(function: Callable[[Array], Array], names: tuple[str, ...], arrays: Arrays) -> dict[str, Array]:
    return {name: function(arrays[name]) for name in names}


def exchanged(mistake: str, pairs: list[tuple[str, str]]) -> Change:
    """Return the change in which the pieces of each pair take each other's place."""
    moved = partial(_exchanged, pairs)
    return Change(mistake, tuple(name for pair in pairs for name in pair), moved, moved, {}, hidden=True)


def _exchanged(pairs: list[tuple[str, str]], arrays: Arrays) -> dict[str, Array]:
    return {name: arrays[other] for x, y in pairs for name, other in ((x, y), (y, x))}


@dataclass(frozen=True, eq=False)
class Scene:
    """A layer, or the ends, of both checkpoints.

    Attributes:
        form: of the first.
        first, second: the pieces that are there.
        off: those that are to be explained.
        limit: units up to which a difference counts as rounding.
        stored: by piece, the type whose units those are.
        squares: of units of the first, by piece, where it was computed and these are more than its own.
    """

    form: CheckpointForm
    first: Arrays
    second: Arrays
    off: frozenset[str]
    limit: float
    stored: Mapping[str, str]
    squares: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def pieces(self) -> dict[str, CheckpointPiece]:
        """What is known of the pieces that are there."""
        known = table(self.form)
        return {name: known[name] for name in self.first}

    def left(self, name: str, made: Array, some: slice = slice(None)) -> Measured:
        """Return what a piece of the second, or some rows of it, has more than what was made for it, in units."""
        stored = self.stored[name]
        left = less(measured(self.second[name][some], stored), measured(made[some], stored))
        more = np.broadcast_to(self.squares.get(name, 0.0), np.shape(made))[some]
        return Measured(left.value, np.maximum(left.square, more))

    def explains(self, name: str, made: Array) -> bool:
        """Return whether that is rounding."""
        there = name in self.second and np.shape(self.second[name]) == np.shape(made)
        return there and not any(self.left(name, made, some).beyond(self.limit).any() for some in slices(made))


Row = Callable[[Scene], Iterator[Change]]


def with_bias(scene: Scene, name: str) -> tuple[str, ...]:
    """Return a map and its bias, as far as they are there."""
    return tuple(each for each in (name, f"{name}_bias") if each in scene.first)


def wide(array: npt.ArrayLike) -> Floats:
    """Return an array in float64, in which numbers of all narrower types are exact."""
    return np.asarray(array, dtype=np.float64)


def gains_of(scene: Scene, *kinds: str) -> list[str]:
    """Return the gains on some spaces, without any on the stream."""
    return [
        name
        for kind in kinds or ("stream",)
        for name, piece in scene.pieces.items()
        if not piece.added_to and not piece.columns and piece.axes[-1].sized and piece.axes[-1].space.kind == kind
    ]


def all_and_each(names: list[str]) -> list[tuple[str, ...]]:
    """Return all names together, and each alone."""
    return [tuple(names), *((name,) for name in names)] if len(names) > 1 else [(name,) for name in names]
