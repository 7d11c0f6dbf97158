"""What a transformer of a checkpoint is made of: every weight once, by its name, with the spaces of its axes.

The spaces and axes are those of exact networks (`lightning_sym.network.pieces`). This is the only place that lists
weights: shapes, the matrices of files, what a change of bases does to each of them, what a comparison goes through and
in which units it measures follow from here. A variant of attention, or of MLPs, is another function like those below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import CheckpointForm, N
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.network.pieces import Axis, WeightSpace


@dataclass(frozen=True)
class CheckpointPiece:
    """A weight of a layer, or of what stands before and behind the layers.

    Attributes:
        name: such as `query_bias`.
        axes: of the array, in its order.
        columns: the places of the axes that are columns of the weight as a matrix `(out, in)`; the others are its rows.
        scales: spaces of one number that act on it, with exponents; a space over another one has a number for each
            point of that, such as for each neuron.
        added_to: of a bias, the map or the norm whose outputs it is added to.
    """

    name: str
    axes: tuple[Axis, ...]
    columns: tuple[int, ...] = ()
    scales: tuple[tuple[WeightSpace, int], ...] = ()
    added_to: str = ""

    def __post_init__(self) -> None:
        if not self.axes:
            raise ProgramError(f"a piece of a checkpoint must have axes, {self.name} has none")
        if not {axis.space for axis in self.axes} >= {under for space, _ in self.scales for under in space.over}:
            raise ProgramError(f"{self.name} must have an axis for each space that one of its scales lies over")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its array."""
        return tuple(axis.space.size for axis in self.axes)

    @property
    def rows(self) -> tuple[int, ...]:
        """The places of the axes that are rows of its matrix."""
        return tuple(place for place in range(len(self.axes)) if place not in self.columns)

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """The shape of its matrix `(out, in)`, or of its vector where it has no columns."""
        sides = (self.rows, self.columns) if self.columns else (self.rows,)
        return tuple(prod(self.shape[place] for place in side) for side in sides)

    @property
    def spaces(self) -> tuple[WeightSpace, ...]:
        """Every space that it moves with or against."""
        return (*(axis.space for axis in self.axes), *(space for space, _ in self.scales))

    @property
    def norm(self) -> str:
        """The norm whose gain it takes up: the one whose outputs it reads; empty where it reads none."""
        return next((space.kind for space, exponent in self.scales if space.over and exponent < 0 and self.reads), "")

    @property
    def reads(self) -> bool:
        """Whether it reads the stream."""
        return any(axis.space.kind == "stream" and not axis.up for axis in self.axes)

    def place(self, kind: str) -> int | None:
        """Return which of its axes lives in a space of this kind, if one does."""
        return self._places.get(kind)

    @cached_property
    def _places(self) -> dict[str, int]:
        """By kind of space, the first axis that lives in one."""
        return {axis.space.kind: place for place, axis in reversed([*enumerate(self.axes)])}

    def as_matrix(self, array: npt.NDArray[N]) -> npt.NDArray[N]:
        """Return the array as its matrix, or vector; it may have fewer neurons, or more groups, than the piece."""
        moved = np.transpose(array, (*self.rows, *self.columns))
        return moved.reshape(prod(moved.shape[: len(self.rows)]), -1) if self.columns else moved.reshape(-1)

    def of_matrix(self, matrix: npt.NDArray[N]) -> npt.NDArray[N]:
        """Return the array of a matrix, or vector."""
        order = (*self.rows, *self.columns)
        back = sorted(range(len(order)), key=order.__getitem__)
        return matrix.reshape([self.shape[place] for place in order]).transpose(back)

    def matrix_entry(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return a place in the array as row and column of its matrix, or as the place in its vector."""
        found = []
        for side in (self.rows, self.columns) if self.columns else (self.rows,):
            number = 0
            for place in side:
                number = number * self.shape[place] + index[place]
            found.append(number)
        return tuple(found)


ATTENTION, MLP = "attention", "mlp"
"""The two halves of a layer."""


@dataclass(frozen=True)
class Half:
    """One half of a layer: it reads the stream behind a norm of its own, and adds to it.

    Attributes:
        norm: what the norm is called.
        norms: its gain and its bias.
        maps: all other pieces, each map in front of its bias.
    """

    norm: str
    norms: dict[str, CheckpointPiece]
    maps: dict[str, CheckpointPiece]

    def affine(self) -> Iterator[tuple[CheckpointPiece, CheckpointPiece | None]]:
        """Yield each map with its bias, if it may have one."""
        for name, piece in self.maps.items():
            if not piece.added_to:
                yield piece, self.maps.get(f"{name}_bias")


@dataclass(frozen=True)
class CheckpointTable:
    """All pieces that a network of a form may have, by their names and in their order.

    Attributes:
        ends: those before and behind the layers; every one of them is there.
        halves: those of a layer, by `ATTENTION` and `MLP`; a gate, and biases, may be missing.
    """

    ends: Mapping[str, CheckpointPiece]
    halves: Mapping[str, Half]

    def __post_init__(self) -> None:
        pieces = (*self.ends.values(), *self.layer.values())
        for space in {space for piece in pieces for space in piece.spaces if space.free}:
            if sum(space in piece.spaces for piece in pieces) < 2:
                raise ProgramError(f"the space {space.kind} stands on one piece alone: who else moves with it?")
        for name in (name for name, piece in self.layer.items() if piece.norm):
            if f"{name}_bias" not in self.layer:
                raise ProgramError(f"{name} reads a norm, whose bias needs a bias of {name} to be taken up by")

    @cached_property
    def layer(self) -> Mapping[str, CheckpointPiece]:
        """Those of a layer."""
        return {name: piece for half in self.halves.values() for name, piece in (half.norms | half.maps).items()}

    def names(self) -> set[str]:
        """Return the names of all of them."""
        return {*self.ends, *self.layer}

    def __getitem__(self, name: str) -> CheckpointPiece:
        """Return the piece of a name such as `embedding`, `query` or `3.query`.

        Raises:
            BadInput: there is none.
        """
        short = name.rpartition(".")[2]
        if (piece := self.layer.get(short, self.ends.get(short))) is None:
            raise BadInput(f"a piece of a checkpoint must be one whose axes are known, got {name}")
        return piece


@lru_cache(maxsize=64)
def table(form: CheckpointForm) -> CheckpointTable:
    """Return the pieces of a form.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> table(small_checkpoint("llama").form)["3.key"].shape
        (2, 4, 16)
    """

    def named(pieces: Iterator[CheckpointPiece]) -> dict[str, CheckpointPiece]:
        return {piece.name: piece for piece in pieces}

    halves = {ATTENTION: ("norm1", attention(form)), MLP: ("norm2", mlp(form))}
    return CheckpointTable(
        named(ends(form)),
        {half: Half(name, named(norm(form, name)), named(maps)) for half, (name, maps) in halves.items()},
    )


def stream(form: CheckpointForm, *, up: bool) -> Axis:
    """Return an axis of the residual stream, of what writes into it (`up`) or reads it."""
    return Axis(WeightSpace("stream", (), form.width), up)


LENGTH = WeightSpace("scale", (), 1)
"""The length of the stream: norms do not see it, but for their epsilon."""


def behind(form: CheckpointForm, name: str) -> WeightSpace:
    """Return what rescales the coordinates behind a norm: gain and bias take it, what reads the norm its inverse."""
    return WeightSpace(name, (), 1, over=(stream(form, up=False).space,))


def norm(form: CheckpointForm, name: str) -> Iterator[CheckpointPiece]:
    """Yield the gain of a norm, and its bias; none where layers read the stream as it is."""
    if form.bare:
        return
    scales = ((behind(form, name), 1),)
    yield CheckpointPiece(f"{name}_gain", (stream(form, up=True)._replace(sized=True),), scales=scales)
    yield CheckpointPiece(f"{name}_bias", (stream(form, up=True),), scales=scales, added_to=name)


def signed(form: CheckpointForm, name: str) -> tuple[tuple[WeightSpace, int], ...]:
    """Return what changes signs of what is added to the stream in front of a norm, and of the gain of that norm."""
    return () if form.norms_behind is None else ((behind(form, name), 1),)


def norm_behind(form: CheckpointForm, name: str) -> Iterator[CheckpointPiece]:
    """Yield the gain of a norm behind a half of a layer: what it writes has the length of the stream."""
    if form.norms_behind is not None:
        axes = (stream(form, up=True)._replace(sized=True),)
        yield CheckpointPiece(f"{name}_gain", axes, scales=((LENGTH, 1), *signed(form, name)))


def reader_scale(form: CheckpointForm, name: str) -> tuple[WeightSpace, int]:
    """Return what rescales a map that reads a half's norm; one that reads the stream feels the length of that."""
    return (LENGTH, -1) if form.bare else (behind(form, name), -1)


def affine(
    name: str, axes: tuple[Axis, ...], columns: tuple[int, ...], *scales: tuple[WeightSpace, int]
) -> Iterator[CheckpointPiece]:
    """Yield a map and its bias, which lives where the rows of the map do."""
    both = tuple(each for each in scales if (each[0], -each[1]) not in scales)
    piece = CheckpointPiece(name, axes, columns, both)
    yield piece
    read = {axes[place].space for place in columns}
    kept = tuple(each for each in scales if each != (LENGTH, -1) and not read & {*each[0].over})
    yield CheckpointPiece(f"{name}_bias", tuple(axes[place] for place in piece.rows), (), kept, added_to=name)


def attention(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield the pieces of attention: query heads in groups, each with one set of keys and values."""
    groups = WeightSpace("groups", (), form.groups)
    heads = Axis(WeightSpace("heads", (), form.heads, over=(groups,)), up=True)
    scores = WeightSpace("query-key", (), form.head_width, over=(groups,))
    value = WeightSpace("value-output", (), form.head_width, over=(groups,))
    shared, read, taken = Axis(groups, up=True), stream(form, up=False), reader_scale(form, "norm1")
    grown = () if form.head_norms is None else ((LENGTH, 1),)  # their norm has the same epsilon as the others
    yield from affine("query", (heads, Axis(scores, up=True), read), (2,), taken, *grown)
    yield from affine("key", (shared, Axis(scores, up=False), read), (2,), taken, *grown)
    yield from affine("value", (shared, Axis(value, up=True), read), (2,), taken)
    added = signed(form, "behind1")
    yield from affine("output", (heads, stream(form, up=True), Axis(value, up=False)), (0, 2), (LENGTH, 1), *added)
    of_rows = Axis(scores, up=True, sized=True), Axis(scores, up=False, sized=True)
    if form.head_norms == "head":
        yield CheckpointPiece("query_norm_gain", of_rows[:1])
        yield CheckpointPiece("key_norm_gain", of_rows[1:])
    if form.head_norms == "width":
        yield CheckpointPiece("query_row_gain", (heads, of_rows[0]))
        yield CheckpointPiece("key_row_gain", (shared, of_rows[1]))
    yield from norm_behind(form, "behind1")


def mlp(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield the pieces of an MLP; what a gate multiplies may be rescaled, neuron by neuron."""
    experts = WeightSpace("experts", (), form.experts or 1)
    neurons = WeightSpace("neurons", (), form.inner, over=() if form.experts is None else (experts,))
    ups = WeightSpace("ups", (), 1, over=(neurons,))
    more, less = ([(ups, exponent)] if form.scales_neurons else [] for exponent in (1, -1))
    rows, read, taken = Axis(neurons, up=True), stream(form, up=False), reader_scale(form, "norm2")
    if form.experts is not None:  # their softmax does not see a vector that is added to all rows
        yield from affine("router", (Axis(experts, up=True), read), (1,), taken)
    yield from affine("gate", (rows, read), (1,), taken)
    yield from affine("up", (rows, read), (1,), taken, *more)
    added = signed(form, "behind2")
    yield from affine("down", (stream(form, up=True), Axis(neurons, up=False)), (1,), (LENGTH, 1), *added, *less)
    yield from norm_behind(form, "behind2")


def ends(form: CheckpointForm) -> Iterator[CheckpointPiece]:
    """Yield what stands before and behind the layers; a tied unembedding reads what the embedding writes."""
    ids = Axis(WeightSpace("token ids", (), form.vocabulary, free=False), up=True)
    yield CheckpointPiece("embedding", (ids, stream(form, up=True)), (1,), ((LENGTH, 1),))
    if form.theta is None:
        places = Axis(WeightSpace("positions", (), form.context, free=False), up=True)
        yield CheckpointPiece("positions", (places, stream(form, up=True)), (1,), ((LENGTH, 1),))
    scale = (LENGTH, -1) if form.tied else (behind(form, "final"), 1)
    yield CheckpointPiece("final_gain", (stream(form, up=True)._replace(sized=True),), scales=(scale,))
    if form.norm == "layer":
        yield CheckpointPiece("final_bias", (stream(form, up=True),), scales=(scale,), added_to="final")
    if not form.tied:
        yield CheckpointPiece("unembedding", (ids, stream(form, up=False)), (1,), ((behind(form, "final"), -1),))


SHAPELESS_FORM = CheckpointForm(
    "", 1, 1, 1, 1, 1, 1, 1, 1, "layer", Fraction(1), None, "silu", tied=False, head_norms="head",
    norms_behind=True, experts=1,
)  # fmt: skip


def _of_all_forms() -> CheckpointTable:
    """Return all pieces of all forms: the two kinds of norms of queries and keys exclude each other."""
    found, wide = table(SHAPELESS_FORM), table(replace(SHAPELESS_FORM, head_norms="width"))
    maps = found.halves[ATTENTION].maps
    gains = {name: piece for name, piece in wide.halves[ATTENTION].maps.items() if name not in maps}
    behind = {name: piece for name, piece in maps.items() if name.startswith("behind")}
    half = replace(
        found.halves[ATTENTION], maps={**{n: p for n, p in maps.items() if n not in behind}, **gains, **behind}
    )
    return CheckpointTable(found.ends, {**found.halves, ATTENTION: half})


SHAPELESS = _of_all_forms()
"""All pieces of all forms, for what does not depend on sizes."""
HALVES, LAYER = SHAPELESS.halves, SHAPELESS.layer
OF_HALF = {number: frozenset((*half.norms, *half.maps)) for number, half in enumerate(HALVES.values(), 1)}
"""By the number of its norm, the pieces of a half of a layer."""
