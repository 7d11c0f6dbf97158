"""Which files of a folder hold its tensors: safetensors, or torch files; whole, or tensor-parallel shards of each.

Safetensors files are read and written here, one or several with an index: headers at once, numbers when asked for.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lightning_sym.checkpoints.stored_types import FileTensor, MappedFile, Numbers, StoredTensor, WrittenTensor
from lightning_sym.checkpoints.torch_file import read_torch_file
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import read_whole, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.network.readers.safetensors_file import header_length, read_entries, refuse

LARGEST_HEADER, LARGEST_CONFIG = 2**24, 2**22
"""Bytes of a header, and of an index; and of a configuration."""

MOST_FILES, MOST_TENSORS = 1000, 50_000


def read_safetensors_file(path: Path) -> dict[str, StoredTensor]:
    """Return where the tensors of one file lie.

    Raises:
        FileFormatError: it is not of its documented form; nothing may overlap, and nothing be left over.
    """
    file = MappedFile(path)
    begin = 8 + header_length(file.bytes(0, min(8, file.size)), file.size)
    if begin > LARGEST_HEADER:
        refuse(f"its header must have at most {LARGEST_HEADER:,} bytes, got {begin:,}")
    entries, _ = read_entries(file.bytes(8, begin), file.size - begin)
    return {name: FileTensor(at.shape, at.kind, file, begin + at.start) for name, at in entries.items()}


def read_sharded(
    folder: Path,
    index: Path,
    ending: str = ".safetensors",
    read: Callable[[Path], dict[str, StoredTensor]] = read_safetensors_file,
) -> dict[str, StoredTensor]:
    """Return where the tensors lie that an index names, each in the file that it names.

    Args:
        folder: that holds all.
        index: the file that names the others.
        ending: of their names.
        read: where the tensors of one file lie.

    Raises:
        FileFormatError: a file is missing or bad, or is not what the index says.
    """
    with within(index.name):
        document = parse(read_whole(index, LARGEST_HEADER), ExactNumbers())
    files = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not files or not all(isinstance(name, str) for name in files.values()):
        raise FileFormatError(f'{index.name}: there must be an object "weight_map" of names of files')
    shards = list(dict.fromkeys(files.values()))
    for name in shards:
        if not name.endswith(ending) or any(mark in name for mark in "/\\\0") or len(name) > 200:
            raise FileFormatError(f"{index.name}: files must be {ending} in the folder itself, got {shown(name)}")
    if len(shards) > MOST_FILES:
        raise FileFormatError(f"{index.name}: there must be at most {MOST_FILES:,} files, got {len(shards):,}")
    if missing := [name for name in shards if not (folder / name).exists()]:
        more = f" and {len(missing) - 1} more" * (len(missing) > 1)
        raise FileFormatError(f"{index.name}: all its files must be there, missing are {shown(missing[0])}{more}")
    found: dict[str, StoredTensor] = {}
    for shard in shards:
        with within(shard):
            here = read(folder / shard)
        for name, tensor in here.items():
            if files.get(name) != shard:
                raise FileFormatError(f"{shard}: {shown(name)} must be in the file that {index.name} names")
            found[name] = tensor
        if len(found) > MOST_TENSORS:
            raise FileFormatError(f"there must be at most {MOST_TENSORS:,} tensors, got {len(found):,} and more")
    for name in files:
        if name not in found:
            raise FileFormatError(f"{shown(name)} must be in the file that {index.name} names")
    return found


WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def in_files(tensors: Sequence[WrittenTensor], most: int | None) -> dict[str, list[WrittenTensor]]:
    """Return the tensors of each file, in their order, by the names that the `transformers` library gives to files.

    Args:
        tensors: all of them.
        most: bytes of tensors in a file, which one tensor alone may exceed; `None`: all are in one.

    Example:
        >>> two = [WrittenTensor(name, "F32", (2,)) for name in "ab"]
        >>> list(in_files(two, None)), list(in_files(two, 8))
        (['model.safetensors'], ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'])
    """
    files: list[list[WrittenTensor]] = [[]]
    size = 0
    for tensor in tensors:
        if most is not None and files[-1] and size + tensor.bytes > most:
            files.append([])
            size = 0
        files[-1].append(tensor)
        size += tensor.bytes
    if len(files) == 1:
        return {WEIGHTS: files[0]}
    return {f"model-{number:05}-of-{len(files):05}.safetensors": each for number, each in enumerate(files, 1)}


def index_of(files: dict[str, list[WrittenTensor]]) -> str:
    """Return the index of several files, in JSON: which tensor is in which."""
    total = sum(tensor.bytes for each in files.values() for tensor in each)
    named = {tensor.name: name for name, each in files.items() for tensor in each}
    return json.dumps({"metadata": {"total_size": total}, "weight_map": dict(sorted(named.items()))}, indent=2) + "\n"


def write_safetensors(stream: BinaryIO, tensors: Sequence[WrittenTensor], numbers: Numbers, program: str) -> None:
    """Write one file.

    Args:
        stream: where to.
        tensors: those of the file.
        numbers: of each in turn; those of no more are taken than there are tensors.
        program: for which it is written, as such files say it, such as `pt`.
    """
    header: dict[str, object] = {"__metadata__": {"format": program}}
    end = 0
    for tensor in tensors:
        begin, end = end, end + tensor.bytes
        header[tensor.name] = {"dtype": tensor.kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    for _ in tensors:
        for rows in next(numbers):
            stream.write(rows.tobytes())


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


def read_keys(path: Path) -> dict[str, object]:
    """Return the keys of a configuration.

    Raises:
        FileFormatError: it is no JSON object.
    """
    with within(path.name):
        values = parse(read_whole(path, LARGEST_CONFIG), ExactNumbers())
        if not isinstance(values, dict):
            raise FileFormatError("it must hold one JSON object")
        return values


def folder_tensors(folder: Path) -> list[Tensors]:
    """Return the tensors of a folder with a `config.json`: whole ones, or those of each tensor-parallel shard.

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
    """Return the tensors of each `consolidated.*.pth`, or of `consolidated.safetensors`.

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
    """Return the tensors of one shard of Megatron; what stands in `model` is it."""
    for name, read in _RANK_FILES.items():
        if os.path.lexists(folder / name):
            with within(f"{folder.name}/{name}"):
                found = read(folder / name)
                return {key.removeprefix("model."): tensor for key, tensor in found.items()}
    raise FileFormatError(f"{folder.name}: there must be {' or '.join(_RANK_FILES)} in it")


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """Return the names that are numbered from 0, all of them there.

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
