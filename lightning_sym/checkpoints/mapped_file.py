"""A file of weights, mapped into memory: numbers are read where they lie, when they are asked for."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import FileFormatError


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
        """A copy of some bytes.

        Raises:
            FileFormatError: they are not in the file.
        """
        self._require(start, stop)
        return self._map[start:stop]

    def numbers(self, start: int, count: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        """Numbers where they lie, not to be written to.

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
