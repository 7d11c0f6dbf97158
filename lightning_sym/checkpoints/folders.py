"""Checkpoints from files: a folder as the `transformers` library writes it, or a GGUF file; one layer at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.foreign_features import with_features
from lightning_sym.checkpoints.gguf_file import BLOCK_TYPES, BlockTensor, read_gguf
from lightning_sym.checkpoints.layout import ModelFamily, Place, by_tensor, tensor_shape
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.safetensors_files import read_safetensors_file, read_sharded
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.stored_types import ON_DISK, StoredTensor
from lightning_sym.checkpoints.writing import ADAPTER, CONFIG, INDEX, WEIGHTS
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.readers.bounds import read_whole, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

LARGEST_CONFIG = 2**22


def open_checkpoint(path: str | os.PathLike[str], memory: int = DEFAULT_MEMORY) -> StoredCheckpoint:
    """Open a checkpoint: what it is is read and compared with its tensors at once, its numbers when asked for.

    Args:
        path: a folder with `config.json` and `model.safetensors`, or shards and `model.safetensors.index.json`; or a
            `.gguf` file (the extra `gguf`).
        memory: bytes that a layer, or the embedding with its surroundings, may take once it is read.

    Raises:
        FileFormatError: a file is missing or bad, tensors and configuration contradict each other, or something is
            not understood; the message names it.
        MissingExtra: a `.gguf` file without the extra.

    Example:
        >>> import tempfile
        >>> from lightning_sym import save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(small_checkpoint("qwen2", layers=1), folder)
        ...     checkpoint = open_checkpoint(folder)
        ...     checkpoint.form.groups, checkpoint.block(0).key_bias.shape, checkpoint.called("0.key_bias")
        (2, (2, 4), 'model.layers.0.self_attn.k_proj.bias')
    """
    require_arguments(open_checkpoint, locals())
    require_memory(0, memory, "a layer")
    place = Path(path)
    try:
        if place.is_dir():
            return _open_folder(place, memory)
        if place.suffix.lower() == ".gguf":
            return _open_gguf(place, memory)
        place.stat()  # of what is not there it is said that it is not
        raise FileFormatError("it must be a folder with config.json and model.safetensors, or a .gguf file")
    except BadInput as error:
        raise type(error)(f"{_printed(place)}: {error}") from error
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{_printed(place)}: it must be readable: {_reason(error)}") from error


def _printed(path: Path) -> str:
    return str(path) if str(path).isprintable() else ascii(str(path))[1:-1]


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _family(name: Any, what: str, known: Collection[str], values: Mapping[str, Any]) -> ModelFamily:
    if not isinstance(name, str) or name not in known:
        raise FileFormatError(f"{what} must be one of {', '.join(known)}, got {shown(name)}{with_features(values)}")
    return FAMILIES[name]


def _open_folder(folder: Path, memory: int) -> StoredCheckpoint:
    there = {name for name in (CONFIG, WEIGHTS, INDEX, ADAPTER) if os.path.lexists(folder / name)}
    if CONFIG not in there:
        raise FileFormatError("there must be a config.json in the folder")
    if ADAPTER in there:
        raise FileFormatError(f"an adapter must be merged into the weights first, got {ADAPTER}")
    try:
        values = parse(read_whole(folder / CONFIG, LARGEST_CONFIG), ExactNumbers())
        if not isinstance(values, dict):
            raise FileFormatError("it must hold one JSON object")
        config = Config(values)
        family = _family(config.get("model_type"), "model_type", FAMILIES, values)
        form, biases = family.read(config)
        config.finish()
    except BadInput as error:
        raise type(error)(f"{CONFIG}: {error}") from error
    if WEIGHTS in there:
        try:
            tensors = read_safetensors_file(folder / WEIGHTS)
        except BadInput as error:
            raise type(error)(f"{WEIGHTS}: {error}") from error
    elif INDEX in there:
        tensors = read_sharded(folder, folder / INDEX)
    else:
        raise FileFormatError(f"there must be {WEIGHTS} or {INDEX} in the folder; pickled weights are not read")
    if len(tensors) < form.layers:
        raise FileFormatError(f"{CONFIG} has {form.layers:,} layers, and there are {len(tensors):,} tensors")
    places = family.layout.places(form, family.parts(form, biases))
    if family.prefix and not any(name.startswith(family.prefix) for name in tensors):
        places = {p: replace(at, tensor=at.tensor.removeprefix(family.prefix)) for p, at in places.items()}
    return StoredCheckpoint(folder, form, places, _compared(form, places, tensors, family), memory, open_checkpoint)


def _open_gguf(path: Path, memory: int) -> StoredCheckpoint:
    file = read_gguf(path)
    layouts = {name: family.gguf_layout for name, family in FAMILIES.items() if family.gguf_layout is not None}
    name = file.values.get("general.architecture")
    family = _family(name, "general.architecture", layouts, {"model_type": name})
    if file.values.get("general.type", "model") != "model" or file.values.get("split.count", 1) not in (0, 1):
        raise FileFormatError("it must hold a whole model, no adapter and no part of several files")
    unembedding, embedding = (layouts[family.model_type].ends[piece].tensor for piece in ("unembedding", "embedding"))
    said: dict[str, Any] = dict(family.gguf_implied) | {"tie_word_embeddings": unembedding not in file.tensors}
    if embedding in file.tensors and file.tensors[embedding].shape:
        said["vocab_size"] = file.tensors[embedding].shape[0]
    for key, value in file.values.items():
        if key.startswith(f"{name}."):
            short = key.removeprefix(f"{name}.")
            said[family.gguf_keys.get(short, key)] = value
    for key in file.tensors.keys() & family.gguf_keys.keys():  # a tensor that belongs to the configuration
        numbers = file.tensors.pop(key).read().reshape(-1).tolist()
        if not all(map(isfinite, numbers)):
            raise FileFormatError(f"{key} must hold finite numbers")
        said[family.gguf_keys[key]] = tuple(map(Fraction, numbers))
    config = Config(said)
    form, biases = family.read(config)
    config.finish()
    if len(file.tensors) < form.layers:
        raise FileFormatError(f"there must be {form.layers:,} layers, and there are {len(file.tensors):,} tensors")
    places = layouts[family.model_type].places(form, family.parts(form, biases))
    tensors = _compared(form, places, file.tensors, family)
    return StoredCheckpoint(path, form, places, tensors, memory, open_checkpoint, numbers="F32")


def _compared(
    form: CheckpointForm, places: dict[str, Place], tensors: dict[str, StoredTensor], family: ModelFamily
) -> dict[str, StoredTensor]:
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
    tie = family.layout.ends["unembedding"].tensor
    for name in tensors:
        if name not in held and not family.ignores(name):
            if name != tie:
                raise FileFormatError(f"every tensor must be understood, got {shown(name)}")
            _require_tie(name, tensors, places["embedding"].tensor)
    return tensors


def _require_tie(name: str, tensors: dict[str, StoredTensor], embedding: str) -> None:
    """A second copy of tied weights must be one."""
    first, second = tensors[embedding], tensors[name]
    same = (first.kind, first.shape) == (second.kind, second.shape) and np.array_equal(first.read(), second.read())
    if not same:
        raise FileFormatError(f"{name} must be {embedding}, to which the configuration ties it")
