"""What a piece of a checkpoint is: its axes, what rescales it, its matrix; and the table of all pieces of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Block, N
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
        biased: a map may have a bias.
    """

    name: str
    axes: tuple[Axis, ...]
    columns: tuple[int, ...] = ()
    scales: tuple[tuple[WeightSpace, int], ...] = ()
    added_to: str = ""
    biased: bool = True

    def __post_init__(self) -> None:
        if not self.axes:
            raise ProgramError(f"a piece of a checkpoint must have axes, {self.name} has none")
        if not {axis.space for axis in self.axes} >= {under for space, _ in self.scales for under in space.over}:
            raise ProgramError(f"{self.name} must have an axis for each space that one of its scales lies over")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of its array."""
        return tuple(axis.space.size for axis in self.axes)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The places of the axes that are rows of its matrix."""
        return tuple(place for place in range(len(self.axes)) if place not in self.columns)

    @cached_property
    def matrix_shape(self) -> tuple[int, ...]:
        """The shape of its matrix `(out, in)`, or of its vector where it has no columns."""
        sides = (self.rows, self.columns) if self.columns else (self.rows,)
        return tuple(prod(self.shape[place] for place in side) for side in sides)

    @property
    def spaces(self) -> tuple[WeightSpace, ...]:
        """Every space that it moves with or against."""
        return (*(axis.space for axis in self.axes), *(space for space, _ in self.scales))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of the spaces of its axes."""
        return frozenset(self._places)

    @cached_property
    def norm(self) -> str:
        """The norm whose gain it takes up: the one whose outputs it reads; empty where it reads none."""
        return next((space.kind for space, exponent in self.scales if space.over and exponent < 0 and self.reads), "")

    @cached_property
    def reads(self) -> bool:
        """Whether it reads the stream, or latents."""
        return any(axis.space.kind in NORMED and not axis.up for axis in self.axes)

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


NORMED = ("stream", "latent", "query latent")
"""The spaces that norms read."""
ATTENTION, MLP = "attention", "mlp"
"""The two halves of a layer."""
LATENTS = {"norm3": "latent", "norm4": "query latent"}
"""By norm inside of attention, the space that it reads."""


@dataclass(frozen=True)
class Half:
    """One half of a layer: it reads the stream behind a norm of its own, and adds to it; or what reads latents.

    Attributes:
        norm: what the norm is called; it ends in its number.
        norms: its gain and its bias.
        maps: all other pieces, each map in front of its bias.
    """

    norm: str
    norms: dict[str, CheckpointPiece]
    maps: dict[str, CheckpointPiece]

    @cached_property
    def number(self) -> int:
        """The number of its norm."""
        return int(self.norm[-1])

    def norm_of(self, block: Block) -> tuple[Any, Any]:
        """Return gain and bias of the norm in a layer, `None` where there is none."""
        return getattr(block, f"{self.norm}_gain"), getattr(block, f"{self.norm}_bias", None)

    @cached_property
    def affine(self) -> tuple[tuple[CheckpointPiece, CheckpointPiece | None], ...]:
        """Each map with its bias, if it may have one."""
        there = ((piece, self.maps.get(f"{name}_bias")) for name, piece in self.maps.items())
        return tuple(each for each in there if not each[0].added_to)


@dataclass(frozen=True)
class CheckpointTable:
    """All pieces that a network of a form may have, by their names and in their order.

    Attributes:
        ends: those before and behind the layers; every one of them is there.
        halves: those of a layer, by `ATTENTION` and `MLP`, and by the latents that there are; biases may be missing.
    """

    ends: Mapping[str, CheckpointPiece]
    halves: Mapping[str, Half]

    def __post_init__(self) -> None:
        layer = (piece for half in self.halves.values() for piece in (half.norms | half.maps).values())
        pieces = (*self.ends.values(), *layer)
        for space in {space for piece in pieces for space in piece.spaces if space.free}:
            if sum(space in piece.spaces for piece in pieces) < 2:
                raise ProgramError(f"the space {space.kind} stands on one piece alone: who else moves with it?")
        for name in (name for name, piece in self.layer.items() if piece.norm and piece.biased):
            if f"{name}_bias" not in self.layer:
                raise ProgramError(f"{name} reads a norm, whose bias needs a bias of {name} to be taken up by")

    @cached_property
    def layer(self) -> Mapping[str, CheckpointPiece]:
        """Those of a layer; of two of one name the first."""
        found: dict[str, CheckpointPiece] = {}
        for half in self.halves.values():
            found = {**found, **half.norms, **half.maps, **found}
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return frozenset((*self.ends, *self.layer))

    def __getitem__(self, name: str) -> CheckpointPiece:
        """Return the piece of a name such as `embedding`, `query` or `3.query`.

        Raises:
            BadInput: there is none.
        """
        short = name.rpartition(".")[2]
        if (piece := self.layer.get(short, self.ends.get(short))) is None:
            raise BadInput(f"a piece of a checkpoint must be one whose axes are known, got {name}")
        return piece
