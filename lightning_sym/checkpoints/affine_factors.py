"""Maps of checkpoints as factors of a stream over any ring, and constants of that ring."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import Array
from lightning_sym.rings.protocol import constants


def times(weights: Array, x: Any) -> Any:
    """Return `weights @ x`, in the way of the ring of `x`; entries that are no floats are its constants."""
    after = getattr(x, "after", None) if weights.dtype.kind == "f" else None
    return constants(x, np.asarray(weights), "weights") @ x if after is None else after(weights)


def ones(x: Any, rows: int, columns: int) -> Any:
    """Return a matrix of ones over the ring of `x`."""
    return constants(x, np.ones((rows, columns), dtype=int).astype(object), "a transformer")


def in_every_column(column: Array, x: Any) -> Any:
    """Return a matrix with a number for each row of `x`, repeated in as many columns as `x` has."""
    return constants(x, np.asarray(column)[:, None], "a transformer") @ ones(x, 1, x.shape[-1])


def everywhere(number: Fraction, x: Any, rows: int, columns: int) -> Any:
    """Return a rational number at every place."""
    return constants(x, np.full((rows, columns), number, dtype=object), "a transformer")


@dataclass(frozen=True, eq=False)
class Affine:
    """$x \\mapsto W x + b$, a factor from the left as a head's matrices are."""

    weight: Array
    bias: Array | None = None

    def __matmul__(self, x: Any) -> Any:
        y = times(self.weight, x)
        return y if self.bias is None else y + in_every_column(self.bias, y)


@dataclass(frozen=True, eq=False)
class Then:
    """One factor after another one."""

    first: Any
    second: Array

    def __matmul__(self, x: Any) -> Any:
        return times(self.second, self.first @ x)


class Shared:
    """A factor that several heads of a group have: what it was multiplied with last is kept."""

    def __init__(self, part: Any) -> None:
        self.part, self._x, self._product = part, None, None

    def __matmul__(self, x: Any) -> Any:
        if self._x is not x:
            self._x, self._product = x, self.part @ x
        return self._product
