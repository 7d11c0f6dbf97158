"""Weights in a safetensors file: eight bytes with the length of a header in JSON, which says where each tensor lies."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import LONGEST_FORM, Contents, require_form, require_names, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.rings.arrays import Plain

BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
"""The types, and how many bytes a number takes."""


class TensorEntry(NamedTuple):
    """A tensor: its type, its shape, where it begins and ends behind the header."""

    kind: str
    shape: tuple[int, ...]
    start: int
    stop: int


def header_length(first: bytes, size: int) -> int:
    """Return how long the header is.

    Args:
        first: the first eight bytes.
        size: bytes of the file.

    Raises:
        FileFormatError: it would be longer than the file.
    """
    length = int.from_bytes(first[:8], "little")
    if size < 8 or length > size - 8:
        refuse(f"it has {size:,} bytes, its header would have {length:,}")
    return length


def read_entries(text: bytes, size: int) -> tuple[dict[str, TensorEntry], Any]:
    """Return the tensors by name, and the metadata, `None` where there are none.

    Args:
        text: the header.
        size: bytes behind it, each of which must belong to one tensor.

    Raises:
        FileFormatError: it is not of its documented form.
    """
    try:
        header = parse(text, ExactNumbers())
    except FileFormatError as error:
        refuse(f"its header: {error}")
    if not text.startswith(b"{") or not isinstance(header, dict):
        refuse("its header is no JSON object")
    metadata = header.pop("__metadata__", None)
    entries = {name: _entry(name, about) for name, about in header.items()}
    end = 0
    for _, _, start, stop in sorted(entries.values(), key=lambda entry: entry[2:]):
        if start != end:  # two tensors share no bytes, and each byte has an owner
            refuse(f"a tensor begins at byte {start:,}, the one before it ends at {end:,}")
        end = stop
    if end != size:
        refuse(f"its tensors have {end:,} bytes, the file has {size:,}")
    return entries, metadata


def refuse(reason: str) -> NoReturn:
    """Raise what is wrong with the file."""
    raise FileFormatError(f"it must be a safetensors file: {reason}")


def _size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18


def _entry(name: str, about: Any) -> TensorEntry:
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        refuse(f"{shown(name)} must be described by dtype, shape and data_offsets")
    kind, shape, where = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(kind, str) or kind not in BYTES:
        refuse(f"{shown(name)} must be of a known type, got {shown(kind)}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(map(_size, shape)):
        refuse(f"the shape of {shown(name)} must be at most eight sizes")
    if not isinstance(where, list) or len(where) != 2 or not all(map(_size, where)):
        refuse(f"the data_offsets of {shown(name)} must be two sizes")
    if where[1] - where[0] != prod(shape) * BYTES[kind]:
        refuse(f"{shown(name)} must have as many bytes as its shape and type say")
    return TensorEntry(kind, tuple(shape), where[0], where[1])


_TYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
        "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BF16": "<u2",
    }.items()
}  # fmt: skip


def read_safetensors(content: bytes) -> Contents:
    """Return the matrices of a safetensors file; `form` among its metadata is a string of JSON.

    Raises:
        FileFormatError: it is not of its documented form.
    """
    length = header_length(content, len(content))
    data = memoryview(content)[8 + length :]
    entries, metadata = read_entries(content[8 : 8 + length], len(data))
    form = _form(metadata)
    require_names(entries)
    matrices = {}
    for name, (kind, shape, start, stop) in entries.items():
        if kind not in _TYPES:
            raise FileFormatError(f"{name} must hold integers or floats, got {shown(kind)}")
        if len(shape) != 2 or not all(shape):
            raise FileFormatError(f"{name} must be a matrix with at least one entry")
        matrices[name] = _matrix(kind, shape, data[start:stop])
    return Contents(matrices, form)


def _matrix(kind: str, shape: tuple[int, ...], data: memoryview) -> Plain:
    plain = np.frombuffer(data, dtype=_TYPES[kind])
    if kind == "BF16":  # the upper half of a float32
        upper = plain.astype(np.uint32) << 16
        upper.flags.writeable = False
        plain = upper.view(np.float32)
    return plain.reshape(shape)


def _form(metadata: object) -> object:
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        refuse("its metadata must be strings by name")
    text = metadata.get("form")
    if text is None:
        return None
    if len(text) > LONGEST_FORM:
        raise FileFormatError(f"the form must have at most {LONGEST_FORM:,} characters")
    try:
        form = parse(text.encode("utf-8", "surrogatepass"), ExactNumbers())
    except FileFormatError as error:
        raise FileFormatError(f"the form: {error}") from error
    return require_form(form)
