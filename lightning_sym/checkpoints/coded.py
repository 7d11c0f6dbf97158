"""Numbers of bfloat16 as they lie in a file: they become floats where they are computed with, and not before.

A large tensor is then never in memory as a whole. Some of its entries, or another order of them, are codes again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.stored_types import from_disk

Codes = npt.NDArray[np.uint16]


class Coded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of float32 that is held in the 16 bits of bfloat16.

    Example:
        >>> three = Coded(np.array([0x3F80, 0xC000, 0], dtype="<u2"))
        >>> (three[:2] + 1).tolist(), np.repeat(three, 2).shape, three.dtype
        ([2.0, -1.0], (6,), dtype('float32'))
    """

    dtype = np.dtype(np.float32)

    def __init__(self, codes: Codes) -> None:
        self.codes = codes

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """As of an array."""
        return self.codes.ndim

    @property
    def size(self) -> int:
        """As of an array."""
        return self.codes.size

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        found = self.codes[index]
        return Coded(found) if isinstance(found, np.ndarray) else from_disk(np.asarray(found), "BF16")[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = from_disk(self.codes, "BF16")
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*(_floats(each) for each in given), **kwargs)

    def __array_function__(self, function: Any, _: Any, given: Any, kwargs: Any) -> Any:
        """Codes are repeated; of all other functions the floats are asked."""
        if function is np.repeat:
            return Coded(np.repeat(self.codes, *given[1:], **kwargs))
        return function(*(_floats(each) for each in given), **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "codes":
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def _floats(given: Any) -> Any:
    """Codes as floats, also in a list; all else as it is."""
    if isinstance(given, list | tuple):
        return type(given)(map(_floats, given))
    return np.asarray(given) if isinstance(given, Coded) else given


def first_not_finite(codes: Codes) -> int | None:
    """The place of the first number, counted along the rows, that is infinite or none.

    Example:
        >>> first_not_finite(np.array([[0, 1], [0x7F80, 0]], dtype="<u2"))
        2
    """
    wrong = (codes & 0x7F80) == 0x7F80
    return int(wrong.argmax()) if wrong.any() else None
