"""Tensors and a configuration that were read become a checkpoint: its layout is found, and the two are compared."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lightning_sym.checkpoints.adapter import read_adapter
from lightning_sym.checkpoints.block_types import BLOCK_TYPES
from lightning_sym.checkpoints.folder_files import Tensors
from lightning_sym.checkpoints.gguf_file import BlockTensor
from lightning_sym.checkpoints.joined_tensors import JoinedTensor
from lightning_sym.checkpoints.layout import Biases, Layout, ModelFamily, Place, by_tensor, tensor_shape
from lightning_sym.checkpoints.layouts import LAYOUTS, Files, LayoutRow
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.stored_types import ON_DISK
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import shown


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
    """The layouts that may be those of a checkpoint in such files, the likeliest first."""
    if wanted is None:
        return tuple(row for row in LAYOUTS.values() if row.files is files and row.spellings(family))
    if wanted.files is not files:
        raise FileFormatError(f"the layout {wanted.name} is one of {wanted.files.value}, and these are {files.value}")
    wanted.of(family)
    return (wanted,)


def opened(
    path: Path, form: CheckpointForm, biases: Biases, shards: list[Tensors], held: HeldFiles
) -> StoredCheckpoint:
    """The checkpoint, after its tensors were compared with what the configuration says.

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
    row, layout = _layout_of(form, parts, shards[0].keys(), held)
    places = layout.places(form, parts)
    tensors = shards[0] if len(shards) == 1 else _joined(form, places, shards)
    compared = _compared(form, places, tensors, held.family, layout)
    memory, folder = held.wanted.memory, held.wanted.adapter
    adapter = None if folder is None else read_adapter(folder, form, parts)
    wanted = None if held.wanted.row is None else row.name
    again = partial(held.wanted.again, layout=wanted, adapter=folder)
    return StoredCheckpoint(path, form, places, compared, memory, again, held.numbers, row.name, adapter)


def _layout_of(
    form: CheckpointForm, parts: frozenset[str], names: Collection[str], held: HeldFiles
) -> tuple[LayoutRow, Layout]:
    """The first layout whose tensors are all there, or else the first one of all."""
    first = None
    for row in held.rows:
        for layout in row.of(held.family):
            first = first or (row, layout)
            try:
                places = layout.places(form, parts)
            except BadInput:  # it has no name for a piece
                continue
            if all(place.tensor in names for place in places.values()):
                return row, layout
    if first is None:
        raise FileFormatError(f"there is no layout of {held.family.model_type} in such files")
    return first


def _joined(form: CheckpointForm, places: dict[str, Place], shards: list[Tensors]) -> Tensors:
    """The tensors of which tensor-parallel shards hold parts."""
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
    """The tensors, after they were compared with what the configuration says."""
    held = by_tensor(places)
    if missing := [name for name in held if name not in tensors]:
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
        if name not in held and not family.ignores(name):
            if name != tie:
                raise FileFormatError(f"every tensor must be understood, got {shown(name)}")
            _require_tie(name, tensors, places["embedding"].tensor)
    return tensors


def _require_tie(name: str, tensors: Tensors, embedding: str) -> None:
    """A second copy of tied weights must be one."""
    first, second = tensors[embedding], tensors[name]
    same = (first.kind, first.shape) == (second.kind, second.shape) and np.array_equal(first.read(), second.read())
    if not same:
        raise FileFormatError(f"{name} must be {embedding}, to which the configuration ties it")
