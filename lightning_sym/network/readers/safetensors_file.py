"""Weights in a safetensors file."""

from __future__ import annotations

import numpy as np

from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import LONGEST_FORM, Contents, require_form, require_names, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.network.readers.safetensors_header import header_length, read_entries, refuse
from lightning_sym.rings.dyadic import Plain

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
