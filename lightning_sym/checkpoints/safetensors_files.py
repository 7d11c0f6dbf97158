"""Safetensors files, one or several with an index: their headers are read at once, their numbers when asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lightning_sym.checkpoints.mapped_file import MappedFile
from lightning_sym.checkpoints.stored_types import FileTensor, StoredTensor
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import read_whole, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.network.readers.safetensors_header import header_length, read_entries, refuse

LARGEST_HEADER = 2**24
"""Bytes of a header, and of an index."""

MOST_FILES, MOST_TENSORS = 1000, 50_000


def read_safetensors_file(path: Path) -> dict[str, StoredTensor]:
    """Where the tensors of one file lie.

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
    """Where the tensors lie that an index names, each in the file that it names.

    Args:
        folder: that holds all.
        index: the file that names the others.
        ending: of their names.
        read: where the tensors of one file lie.

    Raises:
        FileFormatError: a file is missing or bad, or is not what the index says.
    """
    try:
        document = parse(read_whole(index, LARGEST_HEADER), ExactNumbers())
    except FileFormatError as error:
        raise FileFormatError(f"{index.name}: {error}") from error
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
        try:
            here = read(folder / shard)
        except BadInput as error:
            raise type(error)(f"{shard}: {error}") from error
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
