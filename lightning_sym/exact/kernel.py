"""The compiled kernel of the folder `kernel`, where it is installed: ranks come sooner, and are the same.

Where it is not, or is of another version than this file was written for, everything is done without it; `STATE` says
which. Nothing else asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.threads import threads

VERSION = 1
"""Of the kernel's functions; `VERSION` in kernel.c."""


def _height(size: int) -> int:
    """Return rows of a panel: tall ones leave few passes over what is below them, short ones little work within."""
    return min(512, max(32, min(256, size // 8), size // 32))


def buffer_bytes(rows: int, columns: int) -> int:
    """Return what `rank_of_bytes` takes beside a matrix that it works on in place, at most.

    Example:
        >>> buffer_bytes(8000, 8000) < 8000 * 8000 / 4
        True
    """
    height = _height(min(rows, columns))
    # a panel, its next state, and packed in 16 bits; the window in float32 with the operations, and these packed
    return 4 * (height + 4) * (columns + 32) + 4 * height * (2 * height + 24) + 5 * (height + 16) ** 2


@dataclass(frozen=True)
class Kernel:
    """The functions of a kernel, with one of the instruction sets that it was compiled for and this machine has.

    Example:
        >>> if COMPILED:
        ...     assert COMPILED.rank(np.array([[1, 2], [2, 4]]), 4194301) == 1
    """

    functions: ModuleType
    instruction_set: str

    @property
    def has_fast_bytes(self) -> bool:
        """Whether products of bytes are faster than those of floats: in plain C they are not."""
        return self.instruction_set != "plain"

    def rank(self, matrix: npt.NDArray[np.generic], p: int) -> int:
        """Return the rank modulo an odd prime below 2^22 of a small matrix of integers, as float64 or int64.

        Raises:
            BadInput: it is none: an entry is no integer below 2^52, or the matrix or `p` too large.
        """
        try:
            return int(self.functions.rank(matrix, p, self.instruction_set))
        except (TypeError, ValueError) as error:
            raise BadInput(str(error)) from None

    def rank_of_bytes(
        self,
        matrix: npt.NDArray[np.int8],
        p: int,
        *,
        overwrite: bool = False,
        height: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Return the rank modulo one of `SMALL_PRIMES` of a matrix of int8, on all cores.

        Args:
            matrix: two axes.
            p: the prime.
            overwrite: the matrix may be destroyed, if it is contiguous; otherwise it is copied.
            height: rows of a panel, up to 512.
            progress: called with the number of rows done.

        Raises:
            BadInput: the matrix is not of int8, or the prime or the height another one.
        """
        flags = matrix.flags
        work = matrix if overwrite and flags.c_contiguous and flags.writeable else np.array(matrix, order="C")
        if height is None:
            height = _height(min(work.shape))
        found = 0
        for row in range(0, len(work), max(1, height)):
            if progress is not None:
                progress(row)
            try:
                found += self.functions.eliminate(work, p, row, found, height, threads(), self.instruction_set)
            except (TypeError, ValueError) as error:
                raise BadInput(str(error)) from None
            if found == work.shape[1]:
                break
        return found


def find(name: str = "lightning_sym_kernel") -> tuple[Kernel | None, str]:
    """Return the kernel, and what to say of it: its instruction set, or why there is none.

    Example:
        >>> find("no_such_kernel")
        (None, 'none')
    """
    try:
        functions = importlib.import_module(name)
        if (version := getattr(functions, "VERSION", None)) != VERSION:
            return None, f"not used, it has version {version} where {VERSION} is needed: build it again"
        kernel = Kernel(functions, functions.instruction_sets()[0])
    except Exception as error:  # noqa: BLE001 - compiled for another machine, or no kernel: nothing else may depend on it
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            return None, "none"
        return None, " ".join(f"not used, it cannot be loaded: {type(error).__name__}: {error}".split())
    return kernel, kernel.instruction_set


COMPILED, STATE = find()
