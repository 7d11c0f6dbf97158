"""Large tensors that are never in memory as a whole: some of their entries are made where they are computed with.

Numbers of bfloat16 are held as they lie in a file; some of them, or another order of them, are codes again. Rows that
are made of others are held as what makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Array, Index
from lightning_sym.checkpoints.stored_types import from_disk

Codes = npt.NDArray[np.uint16]
A = TypeVar("A")

NOT_FINITE = 0x7F80
"""Bits that are all set in what is infinite or no number."""

CHUNK = 4096
"""Rows that are looked at together."""

NUMBERS = 2**22
"""Numbers of rows that are looked at together."""


class _AsArray(np.lib.mixins.NDArrayOperatorsMixin):
    """What says its shape, and is an array where one is asked for."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """As of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """As of an array."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: object, **kwargs: object) -> object:
        return getattr(ufunc, method)(*(_floats(each) for each in given), **kwargs)

    def __array_function__(
        self, function: Callable[..., object], _: object, given: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        if function in (np.shape, np.ndim, np.size) and not kwargs and len(given) == 1:  # which need no numbers
            return getattr(self, function.__name__)
        return function(*(_floats(each) for each in given), **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("codes", "shape"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


class Coded(_AsArray):
    """An array of float32 that is held in the 16 bits of bfloat16.

    Example:
        >>> three = Coded(np.array([0x3F80, 0xC000, 0], dtype="<u2"))
        >>> (three[:2] + 1).tolist(), np.repeat(three, 2).shape, three.dtype
        ([2.0, -1.0], (6,), dtype('float32'))
    """

    dtype = np.dtype(np.float32)

    def __init__(self, codes: Codes) -> None:
        self.codes, self.shape = codes, codes.shape

    def __getitem__(self, index: Index) -> Coded | Array:
        found = self.codes[index]
        return Coded(found) if found.ndim else from_disk(np.asarray(found), "BF16")[()]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(from_disk(self.codes, "BF16"), dtype=dtype)


class RowsLater(_AsArray):
    """An array whose rows are made where they are asked for, some at a time.

    Example:
        >>> squares = RowsLater((1000, 2), lambda some: np.arange(1000.0)[some, None] ** [1, 2])
        >>> squares[3:5].tolist(), squares.shape, float(squares.max())
        ([[3.0, 9.0], [4.0, 16.0]], (1000, 2), 998001.0)
    """

    def __init__(self, shape: tuple[int, ...], make: Callable[[slice], npt.NDArray[np.generic]]) -> None:
        self.shape, self.make = shape, make

    def __getitem__(self, index: Index) -> npt.NDArray[np.generic]:
        return self.make(index) if isinstance(index, slice) else np.asarray(self)[index]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.generic]:
        return np.asarray(np.concatenate([self.make(some) for some in slices(self)]), dtype=dtype)


class HasShape(Protocol):
    """What is as long as an array: one, or what is read, or made, where it is asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...


def rows_at_once(array: HasShape) -> int:
    """Return how many rows of an array are looked at together: `CHUNK`, or fewer where they are long.

    Example:
        >>> rows_at_once(np.zeros((10, 16))), rows_at_once(np.zeros((1, 2**13)))
        (4096, 512)
    """
    return max(1, min(CHUNK, NUMBERS // max(prod(array.shape[1:]), 1)))


def slices(array: HasShape, axis: int = 0) -> Iterator[slice]:
    """Yield the rows of an array, or its places along another axis, as many in each slice as are looked at together."""
    count = array.shape[axis]
    step = rows_at_once(array) if axis == 0 else max(1, NUMBERS * count // max(array.size, 1))
    yield from (slice(start, start + step) for start in range(0, count, step))


def along(axis: int, some: A) -> tuple[slice | A, ...]:
    """Return the index of some places along an axis, all of those before it."""
    return (*(slice(None),) * axis, some)


def are_equal(first: Array, second: Array) -> bool:
    """Return whether two arrays have the same entries, of which some rows are looked at together."""
    return first.shape == second.shape and all(np.array_equal(first[some], second[some]) for some in slices(second))


def _floats(given: object) -> object:
    """Return codes, and rows that are made later, as numbers, also in a list; all else as it is."""
    if isinstance(given, list | tuple):
        return type(given)(map(_floats, given))
    return np.asarray(given) if isinstance(given, _AsArray) else given
