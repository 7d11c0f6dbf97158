"""Where a piece lies in a family's files: which tensor, which of its rows, and how these are turned into a piece.

One table serves both ways: reading cuts pieces out of tensors, writing joins them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.model import Array, CheckpointForm, N
from lightning_sym.checkpoints.piece_table import CheckpointPiece, CheckpointTable
from lightning_sym.checkpoints.pieces import table
from lightning_sym.errors import BadInput


@dataclass(frozen=True)
class Place:
    """A tensor that holds a piece; pieces of one tensor are stacked along `out`, in the order of the table.

    Attributes:
        tensor: its name, `{}` for the layer; with `*` for the expert each has a tensor of its own.
        turned: stored as (in, out).
        interleaved: row `2i + s` of a head is row `s a/2 + i` of the piece.
        by_group: stacked group by group: the queries of a group, its key, its value, then those of the next one.
        less: the tensor is the piece less this number.
        skipped: rows in front of those of the piece, which nothing reads; they are written as zeros.
        stacked: the matrices of all experts are one tensor, the expert its first axis.
        behind: what the tensor is called where it reads latent queries, if that is another name.
    """

    tensor: str
    turned: bool = False
    interleaved: bool = False
    by_group: bool = False
    less: int = 0
    skipped: int = 0
    stacked: bool = False
    behind: str = ""

    def of(self, form: CheckpointForm) -> Place:
        """Return the place in the files of a network of this form."""
        return replace(self, tensor=self.behind) if self.behind and form.query_latent is not None else self

    def names(self, form: CheckpointForm) -> list[str]:
        """Return the tensor, or those of all experts."""
        if "*" not in self.tensor:
            return [self.tensor]
        return [self.tensor.replace("*", str(expert)) for expert in range(form.experts or 1)]


@dataclass(frozen=True)
class Layout:
    """Where the pieces lie: those at the ends and, `{}` standing for the layer, those of a block."""

    ends: Mapping[str, Place]
    block: Mapping[str, Place]

    def changed(self, change: Callable[[str, Place], Place]) -> Layout:
        """Return the layout with a change made to each place, which is told its piece."""
        parts = ({name: change(name, at) for name, at in each.items()} for each in (self.ends, self.block))
        return Layout(*parts)

    def places(self, form: CheckpointForm, parts: frozenset[str]) -> dict[str, Place]:
        """Return the place of each piece of a network, by names such as `embedding` and `3.query`.

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
                    own = place.of(form)
                    found[f"{layer}.{name}"] = replace(own, tensor=own.tensor.format(layer))
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
        gguf_implied: what a GGUF file of this architecture means without saying so, or what makes it of its own keys.
        gguf_layout: the names in GGUF files, if there are any.
        gguf_name: what GGUF files call it, where that is another name.
        also: layouts whose names its pieces have as well, by their names in the table of layouts.
    """

    model_type: str
    read: Callable[[Config], tuple[CheckpointForm, Biases]]
    write: Callable[[CheckpointForm, Biases], dict[str, object]]
    layout: Layout
    biases: Biases = frozenset()
    prefix: str = ""
    ignored: re.Pattern[str] | None = None
    gguf_keys: Mapping[str, str] = field(default_factory=dict)
    gguf_implied: Mapping[str, object] = field(default_factory=dict)
    gguf_layout: Layout | None = None
    gguf_name: str = ""
    also: frozenset[str] = frozenset()

    def own_layouts(self) -> tuple[Layout, ...]:
        """Return the names in folders, and without the prefix that may be left out."""
        if not self.prefix:
            return (self.layout,)
        return self.layout, self.layout.changed(lambda _, at: replace(at, tensor=at.tensor.removeprefix(self.prefix)))

    def parts(self, form: CheckpointForm, biases: Biases) -> frozenset[str]:
        """Return the pieces of a layer: all but biases that are not there."""
        pieces = table(form).layer.values()
        return frozenset(piece.name for piece in pieces if not piece.added_to or piece.added_to in biases)


def tensor_shape(pieces: CheckpointTable, names: Iterable[str], place: Place) -> tuple[int, ...]:
    """Return the shape of a tensor that holds these pieces, stacked."""
    shapes = [pieces[name].matrix_shape for name in names]
    shape = (place.skipped + sum(each[0] for each in shapes), *shapes[0][1:])
    if place.stacked:
        (name,) = names
        experts = pieces["router"].shape[0]
        return (experts, *expert_shape(pieces[name], shape, experts))
    return shape[::-1] if place.turned else shape


def by_experts(piece: CheckpointPiece, matrix: npt.NDArray[N], experts: int) -> npt.NDArray[N]:
    """Return the matrices of all experts, `(E, out, in)`, of the one of all their neurons.

    Example:
        >>> from lightning_sym.checkpoints.pieces import LAYER
        >>> [by_experts(LAYER[name], np.zeros(shape), 3).shape for name, shape in (("up", (6, 5)), ("down", (5, 6)))]
        [(3, 2, 5), (3, 5, 2)]
    """
    return np.stack(np.split(matrix, experts, axis=_neuron_side(piece)))


def expert_shape(piece: CheckpointPiece, shape: tuple[int, ...], experts: int) -> tuple[int, ...]:
    """Return the shape of the matrix of one expert, of that of all of them."""
    return tuple(size // experts if side == _neuron_side(piece) else size for side, size in enumerate(shape))


def _neuron_side(piece: CheckpointPiece) -> int:
    """Return which side of a matrix neurons are: 0 for its rows, 1 for its columns."""
    return int(piece.place("neurons") in piece.columns)


def by_tensor(places: Mapping[str, Place]) -> dict[str, list[str]]:
    """Return the pieces that each tensor holds, in their order."""
    found: dict[str, list[str]] = {}
    for piece, place in places.items():
        found.setdefault(place.tensor, []).append(piece)
    return found


def _parts_of(pieces: CheckpointTable, names: Iterable[str], place: Place) -> tuple[int, list[int]]:
    """Return how many times the pieces of a tensor follow each other in it, and the rows of each that come together.

    Raises:
        BadInput: they are to come group by group and have no groups.
    """
    rows = [pieces[name].matrix_shape[0] for name in names]
    if not place.by_group:
        return 1, rows
    axes = [pieces[name].axes[0].space for name in names]
    counts = {space.size for each in axes for space in (each, *each.over) if space.kind == "groups"}
    if len(counts) != 1 or any(count % min(counts) for count in rows):
        raise BadInput(f"pieces of {place.tensor} must have groups of keys, in which they come together")
    return min(counts), [count // min(counts) for count in rows]


def plus_number(array: Array, number: int) -> Array:
    """Return an array with a number added to each entry, exactly."""
    if not number:
        return array
    ring = Exact()
    return ring.plus(ring.numbers(np.asarray(array)), np.full(1, float(number)))


def cut(pieces: CheckpointTable, name: str, names: list[str], place: Place, tensor: Array) -> Array:
    """Return a piece, out of the tensor that holds it with others."""
    piece = pieces[name]
    if place.stacked:
        tensor = np.concatenate(list(tensor), axis=_neuron_side(piece))
    matrix = (tensor.T if place.turned else tensor)[place.skipped :]
    times, rows = _parts_of(pieces, names, place)
    first = sum(rows[: names.index(name)])
    stacked = matrix.reshape(times, sum(rows), *matrix.shape[1:])
    rows_of = stacked[:, first : first + rows[names.index(name)]].reshape(piece.matrix_shape)
    if place.interleaved:
        count, width = piece.shape[:2]
        rows_of = rows_of.reshape(count, width // 2, 2, *rows_of.shape[1:]).swapaxes(1, 2)
    array = piece.of_matrix(rows_of)
    return plus_number(array, place.less)


def join(pieces: CheckpointTable, arrays: Mapping[str, npt.NDArray[N]], places: Mapping[str, Place]) -> npt.NDArray[N]:
    """Return the tensor that holds these pieces, in this order, each as its place says.

    Raises:
        BadInput: a piece does not have the shape that the form gives it.
    """
    flat, place = [], places[next(iter(arrays))]
    times, rows = _parts_of(pieces, arrays, place)
    for (name, array), count in zip(arrays.items(), rows, strict=True):
        piece = pieces[name]
        if array.shape != piece.shape:
            raise BadInput(f"{name} must have the shape {piece.shape}, got {array.shape}")
        matrix = piece.as_matrix(array)
        if places[name].interleaved:
            heads, width = piece.shape[:2]
            mixed = matrix.reshape(heads, 2, width // 2, *matrix.shape[1:]).swapaxes(1, 2)
            matrix = mixed.reshape(matrix.shape)
        flat.append(matrix.reshape(times, count, *matrix.shape[1:]))
    stacked = flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)
    matrix = stacked.reshape(-1, *stacked.shape[2:])
    if place.skipped:
        matrix = np.concatenate([np.zeros_like(matrix[:1]).repeat(place.skipped, axis=0), matrix])
    if place.stacked:
        return by_experts(piece, matrix, pieces["router"].shape[0])
    return matrix.T if place.turned else matrix


def split_axis(tensor: str, shape: tuple[int, ...], parts: list[tuple[int, ...]]) -> int | None:
    """Return the axis along which tensor-parallel shards split a tensor; `None` where they are whole copies.

    Raises:
        BadInput: parts of these shapes do not make up the tensor.

    Example:
        >>> split_axis("a", (4, 6), [(4, 3), (4, 3)])
        1
    """
    if all(part == shape for part in parts):
        return None
    for axis, size in enumerate(shape):
        wanted = (*shape[:axis], size // len(parts), *shape[axis + 1 :])
        if size % len(parts) == 0 and all(part == wanted for part in parts):
            return axis
    found = " and ".join(str(list(part)) for part in parts[:2])
    raise BadInput(f"shards of {tensor} must be equal parts of {list(shape)}, got {found}")


def shards_joined(pieces: CheckpointTable, names: list[str], place: Place, parts: list[Array]) -> Array:
    """Return the tensor of which tensor-parallel shards hold parts; stacked pieces are split one by one.

    Raises:
        BadInput: copies differ, or the parts do not make up the tensor.
    """
    shape = tensor_shape(pieces, names, place)
    axis = split_axis(place.tensor, shape, [part.shape for part in parts])
    if axis is None:
        if any(part.tobytes() != parts[0].tobytes() for part in parts):
            raise BadInput(f"{place.tensor} must be the same in all shards, which are whole copies")
        return parts[0]
    if axis != (len(shape) - 1 if place.turned else 0) or place.by_group or len(names) == 1:
        return np.concatenate(parts, axis=axis)
    ends = np.cumsum([pieces[name].matrix_shape[0] // len(parts) for name in names])[:-1]
    split = [np.split(part, ends, axis=axis) for part in parts]
    return np.concatenate([each[number] for number in range(len(names)) for each in split], axis=axis)
