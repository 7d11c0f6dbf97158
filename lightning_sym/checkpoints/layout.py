"""Where a piece lies in a family's files: which tensor, which of its rows, and how these are turned into a piece.

One table serves both ways: reading cuts pieces out of tensors, writing joins them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.model import Array, CheckpointForm
from lightning_sym.checkpoints.pieces import CheckpointTable, table
from lightning_sym.errors import BadInput


@dataclass(frozen=True)
class Place:
    """A tensor that holds a piece; pieces of one tensor are stacked along `out`, in the order of the table.

    Attributes:
        tensor: its name, `{}` for the layer.
        turned: stored as (in, out).
        interleaved: row `2i + s` of a head is row `s a/2 + i` of the piece.
        less: the tensor is the piece less this number.
    """

    tensor: str
    turned: bool = False
    interleaved: bool = False
    less: int = 0


@dataclass(frozen=True)
class Layout:
    """Where the pieces lie: those at the ends and, `{}` standing for the layer, those of a block."""

    ends: Mapping[str, Place]
    block: Mapping[str, Place]

    def places(self, form: CheckpointForm, parts: frozenset[str]) -> dict[str, Place]:
        """The place of each piece of a network, by names such as `embedding` and `3.query`.

        Args:
            form: of the network.
            parts: the pieces of a layer.

        Raises:
            BadInput: a piece has no place.
        """
        ends = table(form).ends
        if lost := sorted((ends.keys() - self.ends.keys()) | (parts - self.block.keys())):
            raise BadInput(f"every piece must have a place in the files of {form.family}, none is known of {lost[0]}")
        found = {name: place for name, place in self.ends.items() if name in ends}
        for layer in range(form.layers):
            for name, place in self.block.items():
                if name in parts:
                    found[f"{layer}.{name}"] = replace(place, tensor=place.tensor.format(layer))
        return found


Biases = frozenset[str]
"""The maps and norms that have one, such as `query`."""


@dataclass(frozen=True)
class ModelFamily:
    """A family of models: what its configuration means, and where its weights lie.

    Attributes:
        model_type: what `config.json` calls it.
        read: the form that a configuration states, and which maps and norms have a bias.
        write: the configuration that states both.
        layout: the names in folders; where `prefix` stands before all tensors, or before none of them, it is left out.
        biases: those that a model has whose configuration says nothing.
        prefix: see there.
        ignored: the names of tensors beyond the layout that say nothing about the function.
        gguf_keys: by the key of a GGUF file, without the name of its architecture, the key of `config.json`.
        gguf_implied: what a GGUF file of this architecture means without saying so.
        gguf_layout: the names in GGUF files, if there are any.
    """

    model_type: str
    read: Callable[[Config], tuple[CheckpointForm, Biases]]
    write: Callable[[CheckpointForm, Biases], dict[str, Any]]
    layout: Layout
    biases: Biases = frozenset()
    prefix: str = ""
    ignored: re.Pattern[str] | None = None
    gguf_keys: Mapping[str, str] = field(default_factory=dict)
    gguf_implied: Mapping[str, Any] = field(default_factory=dict)
    gguf_layout: Layout | None = None

    def ignores(self, tensor: str) -> bool:
        """Whether a tensor beyond the layout says nothing about the function."""
        return self.ignored is not None and self.ignored.fullmatch(tensor) is not None

    def parts(self, form: CheckpointForm, biases: Biases) -> frozenset[str]:
        """The pieces of a layer: all but biases that are not there, and gates where there are none."""
        pieces = table(form).layer.values()
        there = {piece.name for piece in pieces if not piece.added_to or piece.added_to in biases}
        return frozenset(there if form.has_gate else there - {"gate", "gate_bias"})


def tensor_shape(pieces: CheckpointTable, names: Iterable[str], place: Place) -> tuple[int, ...]:
    """The shape of a tensor that holds these pieces, stacked."""
    shapes = [pieces[name].matrix_shape for name in names]
    shape = (sum(each[0] for each in shapes), *shapes[0][1:])
    return shape[::-1] if place.turned else shape


def by_tensor(places: Mapping[str, Place]) -> dict[str, list[str]]:
    """The pieces that each tensor holds, in their order."""
    found: dict[str, list[str]] = {}
    for piece, place in places.items():
        found.setdefault(place.tensor, []).append(piece)
    return found


def cut(pieces: CheckpointTable, name: str, names: list[str], place: Place, tensor: Array) -> Array:
    """A piece, out of the tensor that holds it with others."""
    matrix = tensor.T if place.turned else tensor
    first = sum(pieces[other].matrix_shape[0] for other in names[: names.index(name)])
    piece = pieces[name]
    rows = matrix[first : first + piece.matrix_shape[0]]
    if place.interleaved:
        count, width = piece.shape[:2]
        rows = rows.reshape(count, width // 2, 2, *rows.shape[1:]).swapaxes(1, 2)
    array = piece.of_matrix(rows)
    return Exact().plus(np.asarray(array, dtype=np.float64), np.full(1, float(place.less))) if place.less else array


def join(pieces: CheckpointTable, arrays: Mapping[str, Array], place: Place) -> Array:
    """The tensor that holds these pieces, in this order.

    Raises:
        BadInput: a piece does not have the shape that the form gives it.
    """
    for name, array in arrays.items():
        if array.shape != pieces[name].shape:
            raise BadInput(f"{name} must have the shape {pieces[name].shape}, got {array.shape}")
    stored = arrays
    if place.less:
        stored = {
            n: Exact().plus(Exact().numbers(array), np.full(1, -float(place.less))) for n, array in arrays.items()
        }
    flat = [pieces[name].as_matrix(array) for name, array in stored.items()]
    matrix = flat[0] if len(flat) == 1 else np.concatenate(flat)
    return matrix.T if place.turned else matrix
