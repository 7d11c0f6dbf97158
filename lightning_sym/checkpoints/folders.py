"""Checkpoints from files: a folder as the `transformers` library writes it, or a GGUF file; one layer at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints import meta_config
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES, of_gguf
from lightning_sym.checkpoints.folder_files import (
    ADAPTER,
    CONFIG,
    PARAMS,
    folder_tensors,
    meta_tensors,
    read_keys,
    within,
)
from lightning_sym.checkpoints.gguf_file import gguf_config, numbers_of_config, read_gguf
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.layouts import Files, layout_row
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.opening import HeldFiles, Wanted, opened, rows_of
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.foreign_features import with_features
from lightning_sym.network.readers.bounds import shown


def open_checkpoint(
    path: str | os.PathLike[str],
    memory: int = DEFAULT_MEMORY,
    layout: str | None = None,
    adapter: str | os.PathLike[str] | None = None,
) -> StoredCheckpoint:
    """Open a checkpoint: what it is is read and compared with its tensors at once, its numbers when asked for.

    Args:
        path: a folder with `config.json` and `model.safetensors`, `pytorch_model.bin`, or shards of either with their
            index; with `params.json` and `consolidated.*.pth`; or a `.gguf` file (the extra `gguf`), or a folder that
            holds one and no configuration. Nothing in a file is executed.
        memory: bytes that a layer, or the embedding with its surroundings, may take once it is read.
        layout: how its pieces are named and ordered, such as `hf` or `megatron`; without it the names show it.
        adapter: the folder of a LoRA adapter as the PEFT library writes it, which is added to the weights.

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
    wanted = Wanted(
        None if layout is None else layout_row(layout),
        memory,
        None if adapter is None else Path(adapter),
        open_checkpoint,
    )
    try:
        if place.is_dir():
            return _open_folder(place, wanted)
        if place.suffix.lower() == ".gguf":
            return _open_gguf(place, place, wanted)
        place.stat()  # of what is not there it is said that it is not
        raise FileFormatError("it must be a folder with config.json and model.safetensors, or a .gguf file")
    except BadInput as error:
        raise type(error)(f"{_printed(place)}: {error}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileFormatError(f"{_printed(place)}: it must be readable: {reason or error}") from error


def _printed(path: Path) -> str:
    return str(path) if str(path).isprintable() else ascii(str(path))[1:-1]


def _family(name: object, what: str, known: Collection[str], values: Mapping[str, object]) -> ModelFamily:
    if not isinstance(name, str) or name not in known:
        raise FileFormatError(f"{what} must be one of {', '.join(known)}, got {shown(name)}{with_features(values)}")
    return FAMILIES[name]


def read_configuration(path: str | os.PathLike[str]) -> tuple[ModelFamily, CheckpointForm, frozenset[str]]:
    """Return the family, form and biases that a configuration states: of a `config.json`, or a folder with one.

    Raises:
        FileFormatError: it is missing or bad, or something in it is not understood; the message names it.
    """
    place = Path(path)
    place = place / CONFIG if place.is_dir() else place
    values = read_keys(place)
    with within(place.name):
        config = Config(values)
        family = _family(config.get("model_type"), "model_type", FAMILIES, values)
        form, biases = family.read(config)
        config.finish()
    return family, form, biases


def _open_folder(folder: Path, wanted: Wanted) -> StoredCheckpoint:
    there = {name for name in (CONFIG, PARAMS, ADAPTER) if os.path.lexists(folder / name)}
    if ADAPTER in there and CONFIG in there:
        raise FileFormatError(f"an adapter must be merged into the weights first, got {ADAPTER}")
    if CONFIG in there:
        return _open_config(folder, wanted)
    if PARAMS in there:
        return _open_meta(folder, wanted)
    files = sorted(name for name in os.listdir(folder) if name.lower().endswith(".gguf"))
    if len(files) == 1:
        return _open_gguf(folder, folder / files[0], wanted)
    if files:
        raise FileFormatError(f"there must be one .gguf file in a folder without config.json, got {len(files)}")
    raise FileFormatError("there must be a config.json in the folder")


def _open_config(folder: Path, wanted: Wanted) -> StoredCheckpoint:
    """Return a folder as the library writes it, whatever its tensors are called."""
    family, form, biases = read_configuration(folder)
    rows = rows_of(wanted.row, Files.FOLDER, family)
    shards = folder_tensors(folder)
    return opened(folder, form, biases, shards, HeldFiles(family, rows, wanted))


def _open_meta(folder: Path, wanted: Wanted) -> StoredCheckpoint:
    """Return a folder as Meta writes it."""
    values, shards = read_keys(folder / PARAMS), meta_tensors(folder)
    family = FAMILIES[meta_config.FAMILY]
    with within(PARAMS):
        shapes = {name: tensor.shape for name, tensor in shards[0].items()}
        config = Config(meta_config.said_by_params(values, shapes, len(shards)))
        form, biases = family.read(config)
        config.finish()
    rows = rows_of(wanted.row, Files.META, family)
    return opened(folder, form, biases, shards, HeldFiles(family, rows, wanted))


def _open_gguf(path: Path, file_path: Path, wanted: Wanted) -> StoredCheckpoint:
    file = read_gguf(file_path)
    known = dict.fromkeys(each.gguf_name or name for name, each in FAMILIES.items() if each.gguf_layout)
    name = file.values.get("general.architecture")
    if (found := of_gguf(file.values)) is None:
        _family(name, "general.architecture", known, {"model_type": name})
    family = FAMILIES[str(found)]
    if file.values.get("general.type", "model") != "model" or file.values.get("split.count", 1) not in (0, 1):
        raise FileFormatError("it must hold a whole model, no adapter and no part of several files")
    rows = rows_of(wanted.row, Files.GGUF, family)
    numbers, shapes = numbers_of_config(family, file.tensors), {name: each.shape for name, each in file.tensors.items()}
    config = Config(gguf_config(family, file.values, shapes) | numbers)
    form, biases = family.read(config)
    config.finish()
    return opened(path, form, biases, [file.tensors], HeldFiles(family, rows, wanted, numbers="F32"))
