"""Tensors and a configuration become a checkpoint: its layout is found, and the two are compared.

They were read from files, where tensor-parallel shards are put together, or are in memory: a model, its state
dictionary, or arrays by their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.adapter import read_adapter
from lightning_sym.checkpoints.block_types import BLOCK_TYPES
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folder_files import Tensors
from lightning_sym.checkpoints.gguf_file import BlockTensor
from lightning_sym.checkpoints.layout import (
    Biases,
    Layout,
    ModelFamily,
    Place,
    by_tensor,
    shards_joined,
    split_axis,
    tensor_shape,
)
from lightning_sym.checkpoints.layouts import LAYOUTS, Files, LayoutRow, layout_row
from lightning_sym.checkpoints.model import Array, CheckpointForm
from lightning_sym.checkpoints.piece_table import CheckpointTable
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.stored_types import ON_DISK, ArrayTensor, StoredTensor
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.readers.bounds import shown as shown_of_file
from lightning_sym.network.readers.exact_json import ExactNumbers, parse


@dataclass(frozen=True)
class JoinedTensor(StoredTensor):
    """A tensor in parts.

    Attributes:
        pieces: what a piece is.
        names: of the pieces that are stacked in it.
        place: how.
        parts: one of each shard.
    """

    pieces: CheckpointTable
    names: list[str]
    place: Place
    parts: tuple[StoredTensor, ...]

    @classmethod
    def of(
        cls, pieces: CheckpointTable, names: list[str], place: Place, parts: tuple[StoredTensor, ...]
    ) -> JoinedTensor:
        """Return the whole of parts.

        Raises:
            FileFormatError: they are of several types.
            BadInput: they do not make up the tensor.
        """
        kinds = sorted({part.kind for part in parts})
        if len(kinds) > 1:
            raise FileFormatError(f"parts of {place.tensor} must be of one type, got {' and '.join(kinds)}")
        shape = tensor_shape(pieces, names, place)
        split_axis(place.tensor, shape, [part.shape for part in parts])
        return cls(shape, kinds[0], pieces, names, place, parts)

    def read(self) -> Array:
        return shards_joined(self.pieces, self.names, self.place, [part.read() for part in self.parts])


@dataclass(frozen=True)
class Wanted:
    """What is asked for: a layout, bytes that a layer may take, the folder of an adapter; and what opens it again."""

    row: LayoutRow | None
    memory: int
    adapter: Path | None
    again: Callable[..., StoredCheckpoint]


@dataclass(frozen=True)
class HeldFiles:
    """How a checkpoint is held: its family, the layouts that may be its, what is asked for, type of its numbers."""

    family: ModelFamily
    rows: tuple[LayoutRow, ...]
    wanted: Wanted
    numbers: str = "F64"


def rows_of(wanted: LayoutRow | None, files: Files, family: ModelFamily) -> tuple[LayoutRow, ...]:
    """Return the layouts that may be those of a checkpoint in such files, the likeliest first."""
    if wanted is None:
        return tuple(row for row in LAYOUTS.values() if row.files is files)
    if wanted.files is not files:
        raise FileFormatError(f"the layout {wanted.name} is one of {wanted.files.value}, and these are {files.value}")
    wanted.spellings_for(family)
    return (wanted,)


def opened(
    path: Path, form: CheckpointForm, biases: Biases, shards: list[Tensors], held: HeldFiles
) -> StoredCheckpoint:
    """Return the checkpoint, after its tensors were compared with what the configuration says.

    Args:
        path: as it is called.
        form: what the configuration states.
        biases: likewise.
        shards: the tensors, of each shard.
        held: how it is held.

    Raises:
        FileFormatError: a tensor is missing, of another shape or type, or not understood.
        BadInput: an adapter does not fit, or shards do not.
    """
    if len(shards[0]) < form.layers:  # before a list as long as that is made
        raise FileFormatError(f"there must be {form.layers:,} layers, and there are {len(shards[0]):,} tensors")
    parts = held.family.parts(form, biases)
    row, layout, places = _layout_of(form, parts, shards[0].keys(), held)
    tensors = shards[0] if len(shards) == 1 else _joined(form, places, shards)
    compared = _compared(form, places, _gathered(form, places, tensors), held.family, layout)
    memory, folder = held.wanted.memory, held.wanted.adapter
    adapter = None if folder is None else read_adapter(folder, form, parts)
    wanted = None if held.wanted.row is None else row.name
    again = partial(held.wanted.again, layout=wanted, adapter=folder)
    return StoredCheckpoint(path, form, places, compared, memory, again, held.numbers, row.name, adapter)


def _layout_of(
    form: CheckpointForm, parts: frozenset[str], names: Collection[str], held: HeldFiles
) -> tuple[LayoutRow, Layout, dict[str, Place]]:
    """Return the first layout whose tensors are all there, or else the first one of all; and the places in it."""
    first = None
    for row in held.rows:
        for layout in row.spellings(held.family):
            first = first or (row, layout)
            try:
                places = layout.places(form, parts)
            except BadInput:  # it has no name for a piece
                continue
            if all(name in names for place in places.values() for name in place.names(form)):
                return row, layout, places
    if first is None:
        raise FileFormatError(f"there is no layout of {held.family.model_type} in such files")
    return *first, first[1].places(form, parts)


def _gathered(form: CheckpointForm, places: dict[str, Place], tensors: Tensors) -> Tensors:
    """Return the tensors, those of the experts of a layer as one where all of them are there."""
    found = dict(tensors)
    for piece, place in places.items():
        names = place.names(form)
        if names != [place.tensor] and all(name in tensors for name in names):
            parts = tuple(found.pop(name) for name in names)
            found[place.tensor] = JoinedTensor.of(table(form), [piece], place, parts)
    return found


def _joined(form: CheckpointForm, places: dict[str, Place], shards: list[Tensors]) -> Tensors:
    """Return the tensors of which tensor-parallel shards hold parts."""
    for number, shard in enumerate(shards):
        if differ := shard.keys() ^ shards[0].keys():
            raise FileFormatError(f"all shards must hold parts of the same tensors, number {number}: {min(differ)}")
    found: Tensors = {}
    held = by_tensor(places)
    for name in shards[0]:
        parts = tuple(shard[name] for shard in shards)
        if name in held:
            found[name] = JoinedTensor.of(table(form), held[name], places[held[name][0]], parts)
        else:
            found[name] = parts[0]
    return found


def _compared(
    form: CheckpointForm, places: dict[str, Place], tensors: Tensors, family: ModelFamily, layout: Layout
) -> Tensors:
    """Return the tensors, after they were compared with what the configuration says."""
    held = by_tensor(places)
    lost = (places[pieces[0]] for name, pieces in held.items() if name not in tensors)
    if missing := [name for place in lost for name in place.names(form) if name not in tensors]:
        more = f" and {len(missing) - 1} more" * (len(missing) > 1)
        raise FileFormatError(f"all tensors must be there, missing are {missing[0]}{more}")
    for name, pieces in held.items():
        tensor, shape = tensors[name], tensor_shape(table(form), pieces, places[pieces[0]])
        if tensor.shape != shape:
            raise FileFormatError(f"{name} must be of shape {list(shape)}, as configured, got {list(tensor.shape)}")
        if tensor.holds is None:
            known = ", ".join((*ON_DISK, *BLOCK_TYPES) if isinstance(tensor, BlockTensor) else ON_DISK)
            raise FileFormatError(f"{name} must be stored as one of {known}, got {tensor.kind}")
    tie = layout.ends["unembedding"].tensor
    for name in tensors:
        if name not in held and not (family.ignored and family.ignored.fullmatch(name)):
            if name != tie:
                raise FileFormatError(f"every tensor must be understood, got {shown_of_file(name)}")
            _require_tie(name, tensors, places["embedding"].tensor)
    return tensors


def _require_tie(name: str, tensors: Tensors, embedding: str) -> None:
    """Refuse a second copy of tied weights that is another one."""
    first, second = tensors[embedding], tensors[name]
    same = (first.kind, first.shape) == (second.kind, second.shape) and np.array_equal(first.read(), second.read())
    if not same:
        raise FileFormatError(f"{name} must be {embedding}, to which the configuration ties it")


KINDS = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
"""By the name of a type in NumPy or PyTorch, that of the tensor."""
MOST_TENSORS = 50_000


def checkpoint_of(
    weights: object,
    config: object = None,
    *,
    layout: str | None = None,
    name: str = "weights in memory",
    memory: int = DEFAULT_MEMORY,
) -> StoredCheckpoint:
    """Return the checkpoint of what is in memory; its numbers are mostly not copied, and must not change.

    Args:
        weights: arrays by the names of their tensors: of NumPy, or tensors with a method `numpy`, as PyTorch has them;
            or a model with `state_dict()`.
        config: the keys of `config.json`, or an object with `to_dict()`; without it that of the model, `config`.
        layout: how pieces are named and ordered; without it the names show it.
        name: how answers call it.
        memory: bytes that a layer, or the embedding with its surroundings, may take once it is read.

    Raises:
        BadInput: weights or configuration are none, contradict each other, or are not understood.

    Example:
        >>> import tempfile
        >>> from safetensors.numpy import load_file
        >>> from lightning_sym import same_checkpoints, save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> made = small_checkpoint("llama", layers=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(made, folder)
        ...     tensors = load_file(f"{folder}/model.safetensors")
        ...     config = json.loads(Path(folder, "config.json").read_text())
        >>> same_checkpoints(made, checkpoint_of(tensors, config)).answer
        <CheckpointAnswer.SAME: 'same'>
    """
    require_arguments(checkpoint_of, locals())
    require_memory(0, memory, "a layer")
    config = getattr(weights, "config", None) if config is None else config
    state, keys = _given_by(weights, "state_dict"), _given_by(config, "to_dict")
    if not isinstance(state, Mapping) or not 0 < len(state) <= MOST_TENSORS:
        raise BadInput(f"weights must be 1 to {MOST_TENSORS:,} arrays by their names, got {shown(weights)}")
    if not isinstance(keys, Mapping):
        raise BadInput(f"config must be the keys of config.json, got {shown(config)}")
    try:
        tensors: Tensors = {str(key): _tensor(str(key), value) for key, value in state.items()}
        return _opened(tensors, _exact(keys), name, memory, layout)
    except FileFormatError as error:
        raise type(error)(f"{name}: {error}") from error


def _given_by(holder: object, method: str) -> object:
    """Return what a method of an object gives, or, where it has none, the object."""
    given = getattr(holder, method, None)
    return given() if callable(given) else holder


def _opened(
    tensors: Tensors, keys: dict[str, object], name: str, memory: int, layout: str | None = None, adapter: None = None
) -> StoredCheckpoint:
    """Return the checkpoint, here or in another process; arrays in memory have no adapter."""
    config = Config(keys)
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise FileFormatError(f"model_type must be one of {', '.join(FAMILIES)}, got {shown(kind)}")
    form, biases = FAMILIES[kind].read(config)
    config.finish()
    row = None if layout is None else layout_row(layout)
    again: Callable[..., StoredCheckpoint] = partial(_opened, tensors, keys)
    held = HeldFiles(FAMILIES[kind], rows_of(row, Files.FOLDER, FAMILIES[kind]), Wanted(row, memory, None, again))
    return opened(Path(name), form, biases, [tensors], held)


def _exact(keys: Mapping[str, object]) -> dict[str, object]:
    """Return the keys as a file would state them: decimals exactly."""
    try:
        text = json.dumps(dict(keys), default=str, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"config must be what JSON can say: {error}") from error
    found: dict[str, object] = parse(text.encode(), ExactNumbers())
    return found


def _tensor(name: str, value: object) -> ArrayTensor:
    """Return a tensor of an array, or of what gives one; bfloat16 becomes float32, which holds it."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    try:
        for step in ("detach", "cpu", *(["float"] if kind == "bfloat16" else []), "numpy"):
            value = _given_by(value, step)
    except (TypeError, RuntimeError) as error:
        raise BadInput(f"{shown(name)} must be a tensor that NumPy can hold, got {kind}") from error
    if not isinstance(value, np.ndarray):
        raise BadInput(f"weights must be arrays, got {shown(value)} for {shown(name)}")
    if kind not in KINDS:
        return ArrayTensor(value.shape, kind, value)  # refused if it is one of the weights
    array = value.astype(np.float32) if kind == "bfloat16" else np.ascontiguousarray(value)
    return ArrayTensor(array.shape, KINDS[kind], array)
