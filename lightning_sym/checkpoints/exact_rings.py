"""Exact rational numbers that a fit guesses, as arrays: integers over denominators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ratio:
    """A matrix of rational numbers: integers below 2^53 as float64, over one denominator.

    Where nothing is added, as where each neuron has a scale, each entry may have a denominator of its own, and integers
    may be of any length, as objects.
    """

    numerators: Any
    denominator: Any

    @property
    def floats(self) -> Floats:
        """The nearest floats."""
        return np.asarray(self.numerators / self.denominator, dtype=np.float64)

    @property
    def mT(self) -> Ratio:  # noqa: N802
        return Ratio(self.numerators.mT, self.denominator.mT if np.ndim(self.denominator) else self.denominator)

    def reshape(self, *shape: int) -> Ratio:
        """The same numbers in another shape, each over its own denominator."""
        return Ratio(self.numerators.reshape(*shape), self.denominator.reshape(*shape))

    @property
    def is_dyadic(self) -> bool:
        """All denominators are powers of two."""
        return bool(np.all(self.denominator & (self.denominator - 1) == 0))
