"""Safetensors files, one or several with an index: their headers are read at once, their numbers when asked for.

Eight bytes with the length of a header in JSON, the header, the numbers.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, NoReturn

from lightning_sym.checkpoints.mapped_file import MappedFile
from lightning_sym.checkpoints.stored_types import StoredTensor
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import read_whole, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

LARGEST_HEADER = 2**24
"""Bytes of a header, and of an index."""

MOST_FILES = 1000

_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip


def read_safetensors_file(path: Path) -> dict[str, StoredTensor]:
    """Where the tensors of one file lie.

    Raises:
        FileFormatError: it is not of its documented form; nothing may overlap, and nothing be left over.
    """
    file = MappedFile(path)
    length = int.from_bytes(file.bytes(0, min(8, file.size)), "little")
    if file.size < 8 or length > file.size - 8:
        _refuse(f"it has {file.size:,} bytes, its header would have {length:,}")
    if length > LARGEST_HEADER:
        _refuse(f"its header must have at most {LARGEST_HEADER:,} bytes, got {length:,}")
    text = file.bytes(8, 8 + length)
    try:
        header = parse(text, ExactNumbers())
    except FileFormatError as error:
        _refuse(f"its header: {error}")
    if not isinstance(header, dict):
        _refuse("its header is no JSON object")
    header.pop("__metadata__", None)
    found, ends = {}, []
    for name, about in header.items():
        kind, shape, start, stop = _entry(name, about)
        found[name] = StoredTensor(file, 8 + length + start, shape, kind)
        ends.append((start, stop))
    end = 0
    for start, stop in sorted(ends):
        if start != end:  # two tensors share no bytes, and each byte has an owner
            _refuse(f"a tensor begins at byte {start:,}, the one before it ends at {end:,}")
        end = stop
    if end != file.size - 8 - length:
        _refuse(f"its tensors have {end:,} bytes, the file has {file.size - 8 - length:,}")
    return found


def read_sharded(folder: Path, index: Path) -> dict[str, StoredTensor]:
    """Where the tensors lie that an index names, each in the file that it names.

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
        if not name.endswith(".safetensors") or any(mark in name for mark in "/\\\0") or len(name) > 200:
            raise FileFormatError(f"{index.name}: files must be .safetensors in the folder itself, got {shown(name)}")
    if len(shards) > MOST_FILES:
        raise FileFormatError(f"{index.name}: there must be at most {MOST_FILES:,} files, got {len(shards):,}")
    if missing := [name for name in shards if not (folder / name).exists()]:
        more = f" and {len(missing) - 1} more" * (len(missing) > 1)
        raise FileFormatError(f"{index.name}: all its files must be there, missing are {shown(missing[0])}{more}")
    found: dict[str, StoredTensor] = {}
    for shard in shards:
        try:
            here = read_safetensors_file(folder / shard)
        except BadInput as error:
            raise type(error)(f"{shard}: {error}") from error
        for name, tensor in here.items():
            if files.get(name) != shard:
                raise FileFormatError(f"{shard}: {shown(name)} must be in the file that {index.name} names")
            found[name] = tensor
    for name in files:
        if name not in found:
            raise FileFormatError(f"{shown(name)} must be in the file that {index.name} names")
    return found


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(f"it must be a safetensors file: {reason}")


def _size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _entry(name: str, about: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Type, shape, where it begins and ends behind the header."""
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        _refuse(f"{shown(name)} must be described by dtype, shape and data_offsets")
    kind, shape, where = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(kind, str) or kind not in _BYTES:
        _refuse(f"{shown(name)} must be of a known type, got {shown(kind)}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(map(_size, shape)):
        _refuse(f"the shape of {shown(name)} must be at most eight sizes")
    if not isinstance(where, list) or len(where) != 2 or not all(map(_size, where)):
        _refuse(f"the data_offsets of {shown(name)} must be two sizes")
    if where[1] - where[0] != prod(shape) * _BYTES[kind]:
        _refuse(f"{shown(name)} must have as many bytes as its shape and type say")
    return kind, tuple(shape), where[0], where[1]
