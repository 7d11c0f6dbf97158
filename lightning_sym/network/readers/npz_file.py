"""Weights in an archive of NumPy: its headers are read here, in the form in which NumPy writes them, and no other.

NumPy would parse a header as an expression of Python, and take the room it asks for.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from io import BytesIO
from math import prod
from typing import IO

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import (
    LARGEST_ARRAYS,
    LARGEST_FILE,
    LONGEST_FORM,
    MOST_MATRICES,
    Contents,
    require_form,
    require_names,
    shown,
)
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

_BAD_ARCHIVE = (
    ValueError, KeyError, IndexError, EOFError, OverflowError, RuntimeError, NotImplementedError, OSError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What zipfile raises for archives that are damaged, encrypted, or not what their headers say."""

_ITEM = r" *+'(descr|fortran_order|shape)' *+: *+('[^'\\]*+'|True|False|\([0-9, ]*+\)) *+"
_HEADER = re.compile(rf"\{{{_ITEM},{_ITEM},{_ITEM}(?:, *+)?\}}[ \n]*+")
_LONGEST_HEADER = 2**12
_MATRIX_TYPES = re.compile(r"[<>=]?(?:[iu][248]|f[248])|[<>=|]?[iu]1")
_TEXT_TYPES = re.compile(r"[<>=|]?[US][0-9]{1,6}")


def read_npz(content: bytes) -> Contents:
    """Return the matrices of an archive; an entry `form` is a string of JSON.

    Raises:
        FileFormatError: it is not of its documented form.
    """
    if content.count(b"PK\x01\x02") > MOST_MATRICES:  # what the directory has in front of each entry
        raise FileFormatError(f"it must hold at most {MOST_MATRICES:,} matrices")
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return _read_members(archive)
    except _BAD_ARCHIVE as error:
        if isinstance(error, BadInput):
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"it must be an .npz archive of plain arrays: {reason}") from error


def _read_members(archive: zipfile.ZipFile) -> Contents:
    members = archive.infolist()
    # what is stored as it is takes no more than the file does; what is compressed may be a thousand times larger
    packed = [member.file_size for member in members if member.compress_type != zipfile.ZIP_STORED]
    for size, most, how in (
        (sum(packed), LARGEST_FILE, "compressed members"),
        (sum(member.file_size for member in members), LARGEST_ARRAYS, "members"),
    ):
        if size > most:
            raise FileFormatError(f"it must hold {how} of at most {most:,} bytes decompressed, got {size:,}")
    names = [member.filename.removesuffix(".npy") for member in members]
    require_names(name for name in names if name != "form")
    if len(set(names)) != len(names):
        raise FileFormatError(f"names must not repeat, got {shown(_twice(names))} twice")
    result = Contents({}, None)
    for name, member in zip(names, members, strict=True):
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others take gigabytes at once
            raise FileFormatError(f"{name} must be stored or deflated, as NumPy writes it")
        with archive.open(member) as stream:
            if name == "form":
                result = result._replace(form=_form(stream))
            else:
                result.matrices[name] = _matrix(name, stream)
    return result


def _twice(names: list[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _header(name: str, stream: IO[bytes]) -> tuple[str, bool, tuple[int, ...]]:
    """Return the type of an array, whether its columns come first, and its shape."""
    magic = stream.read(8)
    sizes = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4, b"\x93NUMPY\x03\x00": 4}
    if magic not in sizes:
        raise FileFormatError(f"it must be an .npz archive of plain arrays: {name} is none")
    length = int.from_bytes(stream.read(sizes[magic]), "little")
    text = stream.read(length) if length <= _LONGEST_HEADER else b""
    found = _HEADER.fullmatch(text.decode("latin-1"))
    items = dict(zip(found.groups()[::2], found.groups()[1::2], strict=True)) if found else {}
    kind, order, shape = (items.get(key, "") for key in ("descr", "fortran_order", "shape"))
    if not (kind.startswith("'") and order in ("True", "False") and shape.startswith("(")):
        raise FileFormatError(
            f"it must be an .npz archive of plain arrays: the header of {name} is not as NumPy writes it"
        )
    sides = shape[1:-1].split(",")
    if not sides[-1].strip():  # (2,) and ()
        sides.pop()
    if not all(side.strip().isdigit() and len(side.strip()) <= 18 for side in sides):
        raise FileFormatError(f"{name} must have a shape of integers, got {shape[:40]}")
    return kind[1:-1], order == "True", tuple(map(int, sides))


def _matrix(name: str, stream: IO[bytes]) -> npt.NDArray[np.generic]:
    kind, columns_first, shape = _header(name, stream)
    if not _MATRIX_TYPES.fullmatch(kind):
        raise FileFormatError(f"{name} must hold integers or floats, as plain arrays do, got {shown(kind)}")
    if len(shape) != 2 or 0 in shape:
        raise FileFormatError(f"{name} must be a matrix with at least one entry, got shape {shape[:8]}")
    dtype = np.dtype(kind)
    data = _exactly(name, stream, prod(shape) * dtype.itemsize)
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if columns_first else "C")


def _form(stream: IO[bytes]) -> object:
    kind, _, shape = _header("form", stream)
    if not _TEXT_TYPES.fullmatch(kind) or shape != ():
        raise FileFormatError(f"the form must be one string of JSON, got {shown(kind)} of shape {shape[:8]}")
    dtype = np.dtype(kind)
    if dtype.itemsize > 4 * LONGEST_FORM:
        raise FileFormatError(f"the form must have at most {LONGEST_FORM:,} characters")
    text = np.frombuffer(_exactly("form", stream, dtype.itemsize), dtype=dtype)[0] if dtype.itemsize else ""
    try:
        form = parse(text if isinstance(text, bytes) else str(text).encode(), ExactNumbers())
    except FileFormatError as error:
        raise FileFormatError(f"the form: {error}") from error
    return require_form(form)


def _exactly(name: str, stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size + 1)  # to the end, where the sum of the archive is checked
    if len(data) != size:
        more = "more" if len(data) > size else len(data)
        raise FileFormatError(f"it must be an .npz archive of plain arrays: {name} needs {size:,} bytes, has {more}")
    return data
