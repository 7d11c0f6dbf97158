"""Files of weights, byte by byte, and what their readers say of them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable

import pytest

from lightning_sym.errors import BadInput

ONE = '"Q1": [[1]], "K1": [[1]], "V1": [[1]]'
HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }"


def npz(*members: tuple[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def npy(header: bytes, data: bytes = bytes(8), version: int = 1) -> bytes:
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def tensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(start: int, stop: int, kind: str = "F64", shape: tuple[int, ...] = (1, 1)) -> dict[str, object]:
    return {"dtype": kind, "shape": list(shape), "data_offsets": [start, stop]}


def refused(read: Callable[[bytes], object], content: bytes) -> str:
    with pytest.raises(BadInput) as refusal:
        read(content)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300
    return str(refusal.value)
