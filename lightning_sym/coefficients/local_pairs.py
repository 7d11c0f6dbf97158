r"""Pairs $(\lambda, m)$ of ideals at a point, and how they are put together (docs/learning-coefficients.md, section 1).

The zeta function of a sum of squares in separate variables has these rules: where two ideals are added, the $\lambda$
and the $m - 1$ add; where they are multiplied, the smaller $\lambda$ counts, and on a tie the $m$ add.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lightning_sym.errors import ProgramError


@dataclass(frozen=True)
class LocalPair:
    r"""The pair of an ideal at a point.

    Attributes:
        value: $\lambda$.
        multiplicity: $m$, at least 1.

    Example:
        >>> square, line = LocalPair(Fraction(1, 4)), LocalPair.coordinates(1)
        >>> square + line, line * line
        (LocalPair(value=Fraction(3, 4), multiplicity=1), LocalPair(value=Fraction(1, 2), multiplicity=2))
    """

    value: Fraction
    multiplicity: int = 1

    @classmethod
    def coordinates(cls, count: int) -> LocalPair:
        """Return the pair of the ideal of so many coordinates.

        Example:
            >>> LocalPair.coordinates(3).value
            Fraction(3, 2)
        """
        return cls(Fraction(count, 2))

    def __add__(self, other: LocalPair) -> LocalPair:
        """Return the pair of the sum of two ideals in separate weights."""
        return LocalPair(self.value + other.value, self.multiplicity + other.multiplicity - 1)

    def __mul__(self, other: LocalPair) -> LocalPair:
        """Return the pair of the product of two ideals in separate weights."""
        if self.value == other.value:
            return LocalPair(self.value, self.multiplicity + other.multiplicity)
        return min(self, other, key=lambda pair: pair.value)

    def without(self, directions: int) -> LocalPair:
        """Return the pair on a slice across an orbit of this dimension, whose coordinates are in the ideal.

        Raises:
            ProgramError: there is nothing left that could be seen.

        Example:
            >>> LocalPair.coordinates(4).without(1).value
            Fraction(3, 2)
        """
        if self.value < (rest := Fraction(directions, 2)):
            raise ProgramError(
                f"an orbit of dimension {directions} cannot be seen by an ideal with lambda {self.value}"
            )
        return LocalPair(self.value - rest, self.multiplicity)


NOTHING = LocalPair.coordinates(0)
"""Of the zero ideal, or of a point in a space of no weights."""
