"""Files of `torch.save` (`.bin`, `.pth`, `.pt`), read and written: tensors alone, and nothing in them is executed.

Such a file is a zip that is not compressed: a pickle that says which tensors there are, and their numbers. The pickle
is read by a machine that knows a handful of names (`pickle_machine.py`); numbers are read where they lie.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from math import prod
from pathlib import Path
from struct import pack
from typing import BinaryIO, NoReturn, TypeGuard
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.pickle_machine import Called, Named, unpickled
from lightning_sym.checkpoints.stored_types import (
    ON_DISK,
    FileTensor,
    MappedFile,
    Numbers,
    StoredTensor,
    WrittenTensor,
    from_disk,
)
from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import shown

MOST_ENTRIES, MOST_VALUES, MOST_AXES = 100_000, 100_000, 8
LARGEST_TABLE, LARGEST_PICKLE, LONGEST_NAME = 2**24, 2**26, 1000
STORAGES = {
    "HalfStorage": ("F16", 2), "BFloat16Storage": ("BF16", 2), "FloatStorage": ("F32", 4), "DoubleStorage": ("F64", 8),
    "LongStorage": ("I64", 8), "IntStorage": ("I32", 4), "ShortStorage": ("I16", 2), "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1), "BoolStorage": ("BOOL", 1),
}  # fmt: skip
"""By its name, the type of a storage and the bytes of a number; those that are no floats hold no weights."""


@dataclass(frozen=True)
class _Storage:
    """Numbers of one type in a row."""

    start: int
    kind: str
    count: int


@dataclass(frozen=True)
class StridedTensor(FileTensor):
    """A tensor that lies in its storage with strides: each entry has a place of its own.

    Attributes:
        strides: numbers from one entry to the next, along each axis.
    """

    strides: tuple[int, ...]

    def read(self) -> Array:
        kind = ON_DISK[self.kind]
        span = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        row = self.file.numbers(self.start, span if prod(self.shape) else 0, kind)
        steps = [stride * kind.itemsize for stride in self.strides]
        laid = np.lib.stride_tricks.as_strided(row, self.shape, steps, writeable=False)
        return from_disk(np.ascontiguousarray(laid), self.kind)


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(f"it must be a zip as torch.save writes it: {reason}")


def read_torch_file(path: Path) -> dict[str, StoredTensor]:
    """Return where the tensors of a file lie, by their names; dictionaries in it give `outer.inner`.

    Raises:
        FileFormatError: it is no such file, asks for code, or holds something that is no tensor.
    """
    file = MappedFile(path)
    if file.bytes(0, min(4, file.size)) != b"PK\x03\x04":
        _refuse("older files, and other pickles, are not read; load and save it again, or as safetensors")
    entries = _entries(path, file)
    pickles = [name for name in entries if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        _refuse(f"it must hold one data.pkl, got {len(pickles)}")
    folder = pickles[0].removesuffix("data.pkl")
    order = entries.get(f"{folder}byteorder")
    if order is not None and file.bytes(*order) != b"little":
        _refuse("numbers must be little-endian")
    start, stop = entries[pickles[0]]
    if stop - start > LARGEST_PICKLE:
        _refuse(f"its data.pkl must have at most {LARGEST_PICKLE:,} bytes, got {stop - start:,}")

    def stored(found: object) -> _Storage:
        if not (isinstance(found, tuple) and len(found) == 5 and found[0] == "storage"):
            _refuse("a persistent id must be that of a storage")
        _, kind, key, _, count = found
        name = f"{folder}data/{key}"
        if not isinstance(kind, Named) or not isinstance(key, str) or not _is_size(count) or name not in entries:
            _refuse(f"the storage {shown(key)} must be there")
        word, width = STORAGES[kind.name.removeprefix("torch.")]
        begin, end = entries[name]
        if end - begin != count * width:
            _refuse(f"the storage {shown(key)} must have {count * width:,} bytes, got {end - begin:,}")
        return _Storage(begin, word, count)

    value = unpickled(file.bytes(start, stop), _names(file), stored)
    found: dict[str, StoredTensor] = {}
    for name, tensor in _flat(value):
        if name in found:
            _refuse(f"names of tensors must not repeat, got {shown(name)} twice")
        found[name] = tensor
    return found


def _is_size(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**48


class _Bounded(FileIO):
    """A file of which nobody reads much at once: a table of contents is short."""

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes.

        Raises:
            FileFormatError: more than a table of contents may have is asked for.
        """
        wanted = os.fstat(self.fileno()).st_size - self.tell() if size is None or size < 0 else size
        if wanted > LARGEST_TABLE:
            _refuse(f"its table of contents must have at most {LARGEST_TABLE:,} bytes")
        return super().read(size) or b""


def _entries(path: Path, file: MappedFile) -> dict[str, tuple[int, int]]:
    """Return where the entries of the zip lie; none may be compressed, and no two share bytes."""
    try:
        with _Bounded(path) as handle, ZipFile(handle) as archive:
            infos = archive.infolist()
    except FileFormatError:
        raise
    except (BadZipFile, ValueError, NotImplementedError, OSError) as error:
        _refuse(str(error) if isinstance(error, BadZipFile) else "its table of contents is damaged")
    if len(infos) > MOST_ENTRIES:
        _refuse(f"it must have at most {MOST_ENTRIES:,} entries, got {len(infos):,}")
    found: dict[str, tuple[int, int]] = {}
    end = 0
    for info in sorted(infos, key=lambda each: each.header_offset):
        name = info.filename
        if info.compress_type != ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
            _refuse(f"{shown(name)} must be neither compressed nor encrypted")
        if name in found:
            _refuse(f"names must not repeat, got {shown(name)} twice")
        if info.header_offset < end:
            _refuse(f"{shown(name)} begins within the entry before it")
        start = info.header_offset + _local_header(file, info)
        end = start + info.file_size
        if end > file.size:
            _refuse(f"{shown(name)} ends behind the file")
        found[name] = (start, end)
    return found


def _local_header(file: MappedFile, info: ZipInfo) -> int:
    """Return the bytes in front of the numbers of an entry."""
    if info.header_offset < 0 or info.header_offset + 30 > file.size:
        _refuse(f"{shown(info.filename)} begins behind the file")
    header = file.bytes(info.header_offset, info.header_offset + 30)
    if header[:4] != b"PK\x03\x04":
        _refuse(f"{shown(info.filename)} does not begin where its table of contents says")
    return 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def _names(file: MappedFile) -> Mapping[str, Called]:
    """Return the names of Python that a pickle of tensors may ask for, and what they stand for."""

    def tensor(arguments: tuple[object, ...]) -> StridedTensor:
        storage, offset, shape, strides = arguments[:4]
        if not isinstance(storage, _Storage) or not _is_size(offset):
            raise TypeError
        if not isinstance(shape, tuple) or not isinstance(strides, tuple) or len(shape) != len(strides):
            raise TypeError
        if len(shape) > MOST_AXES or not all(map(_is_size, (*shape, *strides))):
            _refuse(f"a tensor must have at most {MOST_AXES} axes, and sizes of at least 0")
        _require_places(storage, offset, shape, strides)
        width = next(width for kind, width in STORAGES.values() if kind == storage.kind)
        return StridedTensor(shape, storage.kind, file, storage.start + offset * width, strides)

    def parameter(arguments: tuple[object, ...]) -> StridedTensor:
        if not isinstance(arguments[0], StridedTensor):
            raise TypeError
        return arguments[0]

    def ordered(arguments: tuple[object, ...]) -> dict[object, object]:
        if arguments:
            raise TypeError
        return {}

    return {
        "torch._utils._rebuild_tensor_v2": tensor,
        "torch._utils._rebuild_parameter": parameter,
        "collections.OrderedDict": ordered,
    } | {f"torch.{kind}": _not_called for kind in STORAGES}


def _not_called(arguments: tuple[object, ...]) -> NoReturn:
    raise TypeError


def _require_places(storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Refuse strides that lead out of the storage, or to one place twice."""
    if not prod(shape):
        _refuse("a tensor must have entries")
    reach = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if size > 1):
        if stride < reach:
            _refuse("each entry of a tensor must have a place of its own")
        reach = stride * size
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if last >= storage.count:
        _refuse(f"a tensor must lie in its storage of {storage.count:,} numbers, it reaches number {last:,}")


def _flat(value: object) -> Iterator[tuple[str, StoredTensor]]:
    """Yield every tensor by its name, in order; one dictionary may stand in several."""
    waiting, seen = [("", value)], 0
    while waiting:
        name, here = waiting.pop()
        seen += 1
        if isinstance(here, StridedTensor):
            yield name, here
            continue
        if not isinstance(here, dict):
            _refuse(f"it must be a dictionary of tensors, got {shown(name) if name else 'another value'}")
        if seen + len(waiting) + len(here) > MOST_VALUES:
            _refuse(f"it must hold at most {MOST_VALUES:,} tensors and dictionaries")
        for key, inner in reversed(here.items()):
            if not isinstance(key, str):
                _refuse(f"tensors must have names, got {shown(key)}")
            if len(name) + len(key) > LONGEST_NAME:
                _refuse(f"names of tensors must have at most {LONGEST_NAME} letters")
            waiting.append((f"{name}.{key}" if name else key, inner))


_KINDS = {kind: name for name, (kind, _) in STORAGES.items()}


def write_torch(stream: BinaryIO, tensors: Sequence[WrittenTensor], numbers: Numbers, name: str) -> None:
    """Write one file.

    Args:
        stream: where to.
        tensors: those of the file.
        numbers: of each in turn.
        name: of the folder inside.
    """
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        archive.writestr(f"{name}/data.pkl", pickle_of(tensors))
        archive.writestr(f"{name}/byteorder", b"little")
        for number, _ in enumerate(tensors):
            with archive.open(f"{name}/data/{number}", "w", force_zip64=True) as entry:
                for rows in next(numbers):
                    entry.write(rows.tobytes())
        archive.writestr(f"{name}/version", b"3\n")


def pickle_of(tensors: Sequence[WrittenTensor]) -> bytes:
    """Return the pickle of protocol 2 that says which tensors there are; the storage of each is called by its number.

    Example:
        >>> import pickletools
        >>> [code.name for code, _, _ in pickletools.genops(pickle_of([]))]
        ['PROTO', 'EMPTY_DICT', 'MARK', 'SETITEMS', 'STOP']
    """
    made = [b"\x80\x02}("]
    for number, tensor in enumerate(tensors):
        strides = [prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
        storage = (_text("storage"), _name("torch", _KINDS[tensor.kind]), _text(str(number)), _text("cpu"))
        made += [_text(tensor.name), _name("torch._utils", "_rebuild_tensor_v2"), b"("]
        made += [b"(", *storage, _integer(prod(tensor.shape)), b"tQ", _integer(0)]
        made += [_tuple(tensor.shape), _tuple(strides), b"\x89", _name("collections", "OrderedDict"), b")RtR"]
    return b"".join((*made, b"u."))


def _text(text: str) -> bytes:
    return b"X" + pack("<I", len(text.encode())) + text.encode()


def _name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def _integer(number: int) -> bytes:
    return b"J" + pack("<i", number) if number < 2**31 else b"\x8a\x08" + pack("<q", number)


def _tuple(numbers: Sequence[int]) -> bytes:
    return b"(" + b"".join(map(_integer, numbers)) + b"t"
