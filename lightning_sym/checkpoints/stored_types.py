"""The types that weights are stored in: exactly into arrays, and back, exactly or rounded to nearest even.

A file is mapped into memory: numbers are read where they lie, when they are asked for.
"""

from __future__ import annotations

import mmap
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.block_types import Grid
from lightning_sym.checkpoints.model import Array, N
from lightning_sym.errors import BadInput, FileFormatError


class MappedFile:
    """A regular file that is not empty; it must not be shortened while it is read, and what notices that says so.

    Raises:
        FileFormatError: it cannot be read, is empty or no regular file.
    """

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would keep us waiting
            try:
                about = os.fstat(handle)
                if not stat.S_ISREG(about.st_mode):
                    raise FileFormatError("it must be a readable regular file")
                if not about.st_size:
                    raise FileFormatError("it must not be empty")
                self._map = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(handle)
        except FileFormatError:
            raise
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise FileFormatError(f"it must be a readable file: {reason or error}") from error
        self.size = len(self._map)

    def bytes(self, start: int, stop: int) -> bytes:
        """Return a copy of some bytes.

        Raises:
            FileFormatError: they are not in the file.
        """
        self._require(start, stop)
        return self._map[start:stop]

    def numbers(self, start: int, count: int, kind: np.dtype[N]) -> npt.NDArray[N]:
        """Return numbers where they lie, not to be written to.

        Raises:
            FileFormatError: they are not in the file.
        """
        self._require(start, start + count * kind.itemsize)
        return np.frombuffer(self._map, dtype=kind, count=count, offset=start)

    def _require(self, start: int, stop: int) -> None:
        if self._map.size() != self.size:
            raise FileFormatError("it must not change while it is read")
        if not 0 <= start <= stop <= self.size:
            raise FileFormatError(f"it has {self.size:,} bytes, and would need {stop:,}")


BITS = np.dtype(np.uint16).newbyteorder("<")
ON_DISK: dict[str, np.dtype[np.floating | np.uint16]] = {
    "F16": np.dtype("<f2"), "BF16": BITS, "F32": np.dtype("<f4"), "F64": np.dtype("<f8"),
}  # fmt: skip
"""The types that are read and written, as NumPy holds them in a file; of bfloat16 it only sees the bits."""


Stored = npt.NDArray[np.floating | np.uint16]
"""Numbers as they lie in a file: floats, or the bits of bfloat16."""


def from_disk(raw: npt.NDArray[Any], kind: str) -> Array:
    """Return stored numbers as floats with these values; bfloat16 is the upper half of float32.

    Example:
        >>> from_disk(np.array([0x3F80, 0xC000], dtype="<u2"), "BF16")
        array([ 1., -2.], dtype=float32)
    """
    if kind == "BF16":
        wide = raw.astype(np.uint32)
        wide <<= 16
        return wide.view(np.float32)
    return raw


def to_disk(array: Array, kind: str, *, rounded: bool = False) -> Stored:
    """Return numbers as they are stored in a type.

    Args:
        array: finite numbers; fractions only where they may be rounded.
        kind: one of `ON_DISK`.
        rounded: whether numbers may change, to the nearest one of the type, of two to the even one.

    Raises:
        BadInput: a number is not finite, would become infinite, or would change although it may not.

    Example:
        >>> from_disk(to_disk(np.array([1.01]), "BF16", rounded=True), "BF16")
        array([1.0078125], dtype=float32)
        >>> to_disk(np.array([1.01]), "BF16")
        Traceback (most recent call last):
        ...
        lightning_sym.errors.BadInput: numbers must be of the type BF16, got 1.01; a stored type rounds them
    """
    if array.dtype == object:
        if not rounded:
            raise BadInput("numbers must be floats to be stored, got fractions; apply(..., exact=False) rounds them")
        array = _of_fractions(array, kind)
    if not np.isfinite(array).all():
        raise BadInput("numbers must be finite to be stored")
    with np.errstate(over="ignore", under="ignore"):
        result = _bfloat16(array) if kind == "BF16" else array.astype(ON_DISK[kind])
    back = from_disk(result, kind)
    if not np.isfinite(back).all():
        worst = array[~np.isfinite(back)].flat[0]
        raise BadInput(f"numbers must be in the range of {kind}, got {worst}")
    if not rounded and not np.array_equal(back, array):
        raise BadInput(
            f"numbers must be of the type {kind}, got {array[back != array].flat[0]}; a stored type rounds them"
        )
    return result


def _of_fractions(array: npt.NDArray[np.generic], kind: str) -> Array:
    """Return float64 numbers that round to a type as the fractions do: they are too long to be ties."""
    flat = [Fraction(number) for number in array.reshape(-1).tolist()]
    try:
        near = np.array([float(number) for number in flat], dtype=np.float64)
    except OverflowError:
        raise BadInput(f"numbers must be in the range of {kind}, got one beyond 1.8e308") from None
    if kind != "F64":
        back = [Fraction(number) for number in near.tolist()]
        beyond = np.array([abs(found) > abs(number) for found, number in zip(back, flat, strict=True)], dtype=bool)
        equal = np.array([found == number for found, number in zip(back, flat, strict=True)], dtype=bool)
        toward_zero = np.where(beyond, np.nextafter(near, 0.0), near)
        near = np.where(equal, near, (toward_zero.view(np.uint64) | 1).view(np.float64))
    return near.reshape(array.shape)


def _bfloat16(array: Array) -> npt.NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16, of two the even one."""
    single = array.astype(np.float32)
    if array.dtype == np.float64:
        # to odd, so that rounding once more is as if it were done once: 24 bits are more than 8 + 2
        toward_zero = np.where(np.abs(single) > np.abs(array), np.nextafter(single, np.float32(0)), single)
        odd = (toward_zero.astype(np.float32).view(np.uint32) | 1).view(np.float32)
        single = np.where(single == array, single, odd)
    bits = single.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@dataclass(frozen=True)
class StoredTensor(ABC):
    """A tensor, in a file or in memory, whose numbers are read when they are asked for.

    Attributes:
        shape: as stored, the last index running fastest.
        kind: the type it is stored in, one that holds weights or any other.
    """

    shape: tuple[int, ...]
    kind: str

    @property
    def holds(self) -> str | None:
        """The smallest of `F16`, `BF16`, `F32`, `F64` with all values of its type; `None`: no type of weights."""
        return self.kind if self.kind in ON_DISK else None

    @property
    def bytes_read(self) -> int:
        """What its numbers take once they are read; of bfloat16 as float32."""
        return prod(self.shape) * (4 if self.holds == "BF16" else ON_DISK[self.holds or "F64"].itemsize)

    @abstractmethod
    def read(self) -> Array:
        """Return its numbers, exactly; of bfloat16 as float32.

        Raises:
            FileFormatError: the file changed meanwhile.
        """

    def grid(self) -> Grid | None:
        """Return the values around those of a quantised tensor's codes; `None` for plain numbers."""
        return None

    def codes(self) -> npt.NDArray[np.uint16] | None:
        """Return the bits of bfloat16 in a file, where they lie; `None` for all else.

        Raises:
            FileFormatError: the file changed meanwhile.
        """
        return None


Numbers = Iterator[Iterable[Stored]]
"""Those of each tensor in turn, as they are stored, some rows after others."""


class WrittenTensor(NamedTuple):
    """A tensor that is to be written: its name, the type it is stored in, and its shape."""

    name: str
    kind: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How many it takes in a file."""
        return prod(self.shape) * ON_DISK[self.kind].itemsize


@dataclass(frozen=True)
class FileTensor(StoredTensor):
    """A tensor that lies in a file, number behind number.

    Attributes:
        file: where.
        start: its first byte.
    """

    file: MappedFile
    start: int

    def read(self) -> Array:
        return from_disk(self._stored(ON_DISK[self.kind]), self.kind).reshape(self.shape)

    def codes(self) -> npt.NDArray[np.uint16] | None:
        return self._stored(BITS).reshape(self.shape) if self.kind == "BF16" else None

    def _stored(self, kind: np.dtype[N]) -> npt.NDArray[N]:
        """Return its numbers as they lie in the file, one behind another."""
        return self.file.numbers(self.start, prod(self.shape), kind)


@dataclass(frozen=True, eq=False)
class ArrayTensor(StoredTensor):
    """A tensor in memory.

    Attributes:
        array: floats with its values; of bfloat16 as float32.
    """

    array: Array

    def read(self) -> Array:
        return self.array
