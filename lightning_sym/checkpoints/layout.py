"""Where a piece lies in a family's files: which tensor, which of its rows, and how these are turned into a piece.

One table serves both ways: reading cuts pieces out of tensors, writing joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.model import Array, CheckpointForm
from lightning_sym.errors import BadInput


@dataclass(frozen=True)
class Place:
    """A tensor that holds a piece; pieces of one tensor are stacked along `out`, in the order of the table.

    Attributes:
        tensor: its name, `{}` for the layer.
        turned: stored as (in, out).
        interleaved: row `2i + s` of a head is row `s a/2 + i` of the piece.
    """

    tensor: str
    turned: bool = False
    interleaved: bool = False


@dataclass(frozen=True)
class Layout:
    """Where the pieces lie: those at the ends and, `{}` standing for the layer, those of a block."""

    ends: Mapping[str, Place]
    block: Mapping[str, Place]

    def places(self, form: CheckpointForm, parts: frozenset[str]) -> dict[str, Place]:
        """The place of each piece of a network, by names such as `embedding` and `3.query`.

        Args:
            form: of the network.
            parts: the pieces of a block.
        """
        found = {piece: self.ends[piece] for piece in self.ends if piece in end_pieces(form)}
        for layer in range(form.layers):
            for piece, place in self.block.items():
                if piece in parts:
                    found[f"{layer}.{piece}"] = replace(place, tensor=place.tensor.format(layer))
        return found


@dataclass(frozen=True)
class ModelFamily:
    """A family of models: what its configuration means, and where its weights lie.

    Attributes:
        model_type: what `config.json` calls it.
        read: the form that a configuration states, and which pieces a block has.
        write: the configuration that states a form and the pieces of a block.
        layout: the names in folders; where `prefix` stands before all tensors, or before none of them, it is left out.
        prefix: see there.
        ignored: whether a tensor beyond the layout says nothing about the function.
        gguf_keys: by the key of a GGUF file, without the name of its architecture, the key of `config.json`.
        gguf_implied: what a GGUF file of this architecture means without saying so.
        gguf_layout: the names in GGUF files.
    """

    model_type: str
    read: Callable[[Config], tuple[CheckpointForm, frozenset[str]]]
    write: Callable[[CheckpointForm, frozenset[str]], dict[str, Any]]
    layout: Layout
    prefix: str
    ignored: Callable[[str], bool]
    gguf_keys: Mapping[str, str]
    gguf_implied: Mapping[str, Any]
    gguf_layout: Layout


def end_pieces(form: CheckpointForm) -> frozenset[str]:
    """The pieces before and behind the layers that a form has."""
    found = {"embedding", "final_gain"}
    found |= {"positions"} if form.theta is None else set()
    found |= {"final_bias"} if form.norm == "layer" else set()
    return frozenset(found if form.tied else found | {"unembedding"})


def piece_shape(form: CheckpointForm, piece: str) -> tuple[int, ...]:
    """The shape of a piece, named with or without its layer.

    Raises:
        BadInput: there is no such piece.
    """
    d, m, a = form.width, form.inner, form.head_width
    heads = {"query": form.heads, "key": form.groups, "value": form.groups}
    name = piece.rpartition(".")[2]
    if name == "output":
        return form.heads, d, a
    if name.removesuffix("_bias") in heads:
        h = heads[name.removesuffix("_bias")]
        return (h, a) if name.endswith("_bias") else (h, a, d)
    others: dict[str, tuple[int, ...]] = {
        "embedding": (form.vocabulary, d), "unembedding": (form.vocabulary, d), "positions": (form.context, d),
        "gate": (m, d), "up": (m, d), "down": (d, m), "gate_bias": (m,), "up_bias": (m,),
    }  # fmt: skip
    others |= dict.fromkeys((
        "norm1_gain", "norm1_bias", "norm2_gain", "norm2_bias", "final_gain", "final_bias", "output_bias", "down_bias",
    ), (d,))  # fmt: skip
    if name not in others:
        raise BadInput(f"a piece of a checkpoint must be one whose shape is known, got {piece}")
    return others[name]


def matrix_shape(form: CheckpointForm, piece: str) -> tuple[int, ...]:
    """The shape of a piece as one matrix (out, in), or as one vector."""
    shape = piece_shape(form, piece)
    name = piece.rpartition(".")[2]
    if name == "output":
        return shape[1], shape[0] * shape[2]
    if name.endswith("_bias"):
        return (prod(shape),)
    return (shape[0] * shape[1], shape[2]) if len(shape) == 3 else shape


def tensor_shape(form: CheckpointForm, pieces: Iterable[str], turned: bool) -> tuple[int, ...]:
    """The shape of a tensor that holds these pieces, stacked."""
    shapes = [matrix_shape(form, piece) for piece in pieces]
    shape = (sum(each[0] for each in shapes), *shapes[0][1:])
    return shape[::-1] if turned else shape


def by_tensor(places: Mapping[str, Place]) -> dict[str, list[str]]:
    """The pieces that each tensor holds, in their order."""
    found: dict[str, list[str]] = {}
    for piece, place in places.items():
        found.setdefault(place.tensor, []).append(piece)
    return found


def cut(form: CheckpointForm, piece: str, pieces: list[str], place: Place, tensor: Array) -> Array:
    """A piece, out of the tensor that holds it with others."""
    matrix = tensor.T if place.turned else tensor
    first = sum(matrix_shape(form, other)[0] for other in pieces[: pieces.index(piece)])
    rows = matrix[first : first + matrix_shape(form, piece)[0]]
    shape = piece_shape(form, piece)
    if piece.endswith("output"):
        return rows.reshape(shape[1], shape[0], shape[2]).transpose(1, 0, 2)
    if place.interleaved:
        pairs = rows.reshape(shape[0], shape[1] // 2, 2, *shape[2:])
        rows = pairs.swapaxes(1, 2)
    return rows.reshape(shape)


def join(form: CheckpointForm, arrays: Mapping[str, Array], place: Place) -> Array:
    """The tensor that holds these pieces, in this order.

    Raises:
        BadInput: a piece does not have the shape that the form gives it.
    """
    for piece, array in arrays.items():
        if array.shape != piece_shape(form, piece):
            raise BadInput(f"{piece} must have the shape {piece_shape(form, piece)}, got {array.shape}")
    flat = [
        (array.transpose(1, 0, 2) if piece.endswith("output") else array).reshape(matrix_shape(form, piece))
        for piece, array in arrays.items()
    ]
    matrix = flat[0] if len(flat) == 1 else np.concatenate(flat)
    return matrix.T if place.turned else matrix
