"""Weights in a safetensors file: eight bytes with the length of a header in JSON, the header, the numbers."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import LONGEST_FORM, Contents, require_form, require_names, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

_TYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
        "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BF16": "<u2",
    }.items()
}  # fmt: skip


def read_safetensors(content: bytes) -> Contents:
    """The matrices of a safetensors file; `form` among its metadata is a string of JSON.

    Raises:
        FileFormatError: it is not of its documented form.
    """
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        _refuse(f"it has {len(content):,} bytes, its header would have {length:,}")
    text, data = content[8 : 8 + length], memoryview(content)[8 + length :]
    try:
        header = parse(text, ExactNumbers())
    except FileFormatError as error:
        _refuse(f"its header: {error}")
    if not text.startswith(b"{") or not isinstance(header, dict):
        _refuse("its header is no JSON object")
    form = _form(header.pop("__metadata__", None))
    require_names(header)
    entries = {name: _entry(name, about) for name, about in header.items()}
    end = 0
    for _, _, start, stop in sorted(entries.values(), key=lambda entry: entry[2:]):
        if start != end:  # two matrices share no bytes, and each byte has an owner
            _refuse(f"a matrix begins at byte {start:,}, the one before it ends at {end:,}")
        end = stop
    if end != len(data):
        _refuse(f"its matrices have {end:,} bytes, the file has {len(data):,}")
    matrices = {}
    for name, (kind, shape, start, stop) in entries.items():
        matrices[name] = _matrix(kind, shape, data[start:stop])
    return Contents(matrices, form)


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(f"it must be a safetensors file: {reason}")


def _size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**18


def _entry(name: str, about: Any) -> tuple[str, tuple[int, int], int, int]:
    """Type, shape, where it begins and ends."""
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        _refuse(f"{name} must be described by dtype, shape and data_offsets")
    kind, shape, where = about["dtype"], about["shape"], about["data_offsets"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise FileFormatError(f"{name} must hold integers or floats, got {shown(kind)}")
    if not isinstance(shape, list) or len(shape) != 2 or not all(_size(side) and side > 0 for side in shape):
        raise FileFormatError(f"{name} must be a matrix with at least one entry")
    if not isinstance(where, list) or len(where) != 2 or not all(map(_size, where)):
        _refuse(f"the data_offsets of {name} must be two sizes")
    if where[1] - where[0] != prod(shape) * _TYPES[kind].itemsize:
        _refuse(f"{name} must have as many bytes as its shape and type say")
    return kind, (shape[0], shape[1]), where[0], where[1]


def _matrix(kind: str, shape: tuple[int, int], data: memoryview) -> npt.NDArray[Any]:
    plain = np.frombuffer(data, dtype=_TYPES[kind])
    if kind == "BF16":  # the upper half of a float32
        upper = plain.astype(np.uint32) << 16
        upper.flags.writeable = False
        plain = upper.view(np.float32)
    return plain.reshape(shape)


def _form(metadata: Any) -> Any:
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        _refuse("its metadata must be strings by name")
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
