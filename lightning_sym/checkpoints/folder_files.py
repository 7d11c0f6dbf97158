"""Which files of a folder hold its tensors: safetensors, or torch files; whole, or tensor-parallel shards of each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lightning_sym.checkpoints.safetensors_files import INDEX, WEIGHTS, read_safetensors_file, read_sharded
from lightning_sym.checkpoints.stored_types import StoredTensor
from lightning_sym.checkpoints.torch_file import read_torch_file
from lightning_sym.errors import BadInput, FileFormatError

CONFIG, PARAMS, ADAPTER = "config.json", "params.json", "adapter_config.json"
TORCH_WEIGHTS, TORCH_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
MOST_SHARDS = 256

Tensors = dict[str, StoredTensor]
Reader = Callable[[Path], Tensors]

_META = re.compile(r"consolidated\.([0-9]{2})\.pth")
_RANK = re.compile(r"mp_rank_([0-9]{2,3})")
_RANK_FILES: dict[str, Reader] = {WEIGHTS: read_safetensors_file, "model_optim_rng.pt": read_torch_file}


@contextmanager
def within(name: str) -> Iterator[None]:
    """Say of what is refused inside in which file it is."""
    try:
        yield
    except BadInput as error:
        raise type(error)(f"{name}: {error}") from error


def folder_tensors(folder: Path) -> list[Tensors]:
    """The tensors of a folder with a `config.json`: whole ones, or those of each tensor-parallel shard.

    Raises:
        FileFormatError: there are none, or a file is bad.
    """
    for name, read in ((WEIGHTS, read_safetensors_file), (TORCH_WEIGHTS, read_torch_file)):
        index, ending = (INDEX, ".safetensors") if name == WEIGHTS else (TORCH_INDEX, ".bin")
        if os.path.lexists(folder / name):
            with within(name):
                return [read(folder / name)]
        if os.path.lexists(folder / index):
            return [read_sharded(folder, folder / index, ending, read)]
    if found := _numbered(folder, _RANK):
        return [_rank(folder / name) for name in found]
    raise FileFormatError(f"there must be {WEIGHTS}, {INDEX} or {TORCH_WEIGHTS} in the folder")


def meta_tensors(folder: Path) -> list[Tensors]:
    """The tensors of each `consolidated.*.pth`, or of `consolidated.safetensors`.

    Raises:
        FileFormatError: there are none, or a file is bad.
    """
    if os.path.lexists(folder / "consolidated.safetensors"):
        with within("consolidated.safetensors"):
            return [read_safetensors_file(folder / "consolidated.safetensors")]
    found = []
    for name in _numbered(folder, _META):
        with within(name):
            found.append(read_torch_file(folder / name))
    if not found:
        raise FileFormatError("there must be consolidated.00.pth in the folder, and the shards that follow it")
    return found


def _rank(folder: Path) -> Tensors:
    """The tensors of one shard of Megatron; what stands in `model` is it."""
    for name, read in _RANK_FILES.items():
        if os.path.lexists(folder / name):
            with within(f"{folder.name}/{name}"):
                found = read(folder / name)
                return {key.removeprefix("model."): tensor for key, tensor in found.items()}
    raise FileFormatError(f"{folder.name}: there must be {' or '.join(_RANK_FILES)} in it")


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """The names that are numbered from 0, all of them there.

    Raises:
        FileFormatError: a number is missing, or there are too many.
    """
    found = {int(match[1]): match[0] for each in os.listdir(folder) if (match := pattern.fullmatch(each))}
    if found and sorted(found) != list(range(len(found))):
        missing = next(number for number in range(len(found)) if number not in found)
        raise FileFormatError(f"all shards must be there, number {missing} is missing beside {found[max(found)]}")
    if len(found) > MOST_SHARDS:
        raise FileFormatError(f"there must be at most {MOST_SHARDS} shards, got {len(found):,}")
    return [found[number] for number in sorted(found)]
