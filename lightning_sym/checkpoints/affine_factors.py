"""Maps of checkpoints as factors of a stream over any ring, and constants of that ring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Array
from lightning_sym.rings.protocol import EntryMatrix, Factor, constants, operation


class StreamMatrix(EntryMatrix, Protocol):
    """A matrix over a ring of whose entries there are so many rows and columns: the stream, and what is made of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches first."""
        ...


S = TypeVar("S", bound=StreamMatrix)


def constant(x: S, numbers: npt.NDArray[np.generic], purpose: str = "a transformer") -> S:
    """Return numbers as a matrix over the ring of `x`."""
    return constants(x, numbers, purpose)


def elementary(x: S, function: str, purpose: str) -> S:
    """Return a function that the ring knows, of each entry."""
    found: S = operation(x, "elementary", purpose)(function)
    return found


def times(weights: Array, x: S) -> S:
    """Return `weights @ x`, in the way of the ring of `x`; entries that are no floats are its constants."""
    after: Callable[[Array], S] | None = getattr(x, "after", None) if weights.dtype.kind == "f" else None
    return constant(x, np.asarray(weights), "weights") @ x if after is None else after(weights)


def ones(x: S, rows: int, columns: int) -> S:
    """Return a matrix of ones over the ring of `x`."""
    return constant(x, np.ones((rows, columns), dtype=int).astype(object))


def in_every_column(column: Array, x: S) -> S:
    """Return a matrix with a number for each row of `x`, repeated in as many columns as `x` has."""
    return constant(x, np.asarray(column)[:, None]) @ ones(x, 1, x.shape[-1])


def everywhere(number: Fraction, x: S, rows: int, columns: int) -> S:
    """Return a rational number at every place."""
    return constant(x, np.full((rows, columns), number, dtype=object))


@dataclass(frozen=True, eq=False)
class Affine:
    """$x \\mapsto W x + b$, a factor from the left as a head's matrices are."""

    weight: Array
    bias: Array | None = None

    def __matmul__(self, x: S) -> S:
        y = times(self.weight, x)
        return y if self.bias is None else y + in_every_column(self.bias, y)


@dataclass(frozen=True, eq=False)
class Then(Generic[S]):
    """One factor after another one."""

    first: Factor[S]
    second: Array

    def __matmul__(self, x: S) -> S:
        return times(self.second, self.first @ x)


@dataclass(frozen=True, eq=False)
class RowsOfTwo(Generic[S]):
    """The rows of two factors, one below the other."""

    first: Factor[S]
    second: Factor[S]

    def __matmul__(self, x: S) -> S:
        parts = self.first @ x, self.second @ x
        counts = [part.shape[-2] for part in parts]
        above, below = np.split(np.eye(sum(counts), dtype=int).astype(object), counts[:1], axis=1)
        return constant(x, above, "two factors") @ parts[0] + constant(x, below, "two factors") @ parts[1]


class Shared(Generic[S]):
    """A factor that several heads of a group have: what it was multiplied with last is kept."""

    def __init__(self, part: Factor[S]) -> None:
        self.part = part
        self._last: tuple[S, S] | None = None

    def __matmul__(self, x: S) -> S:
        if self._last is None or self._last[0] is not x:
            self._last = x, self.part @ x
        return self._last[1]
