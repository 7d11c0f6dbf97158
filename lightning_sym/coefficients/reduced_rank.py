r"""The learning coefficient of a product of two matrices at every pair of factors.

The ideal of the entries of $BA - B^* A^*$ at $(B^*, A^*)$, which is reduced rank regression. The least of all factors
of a matrix are the values of Aoyagi and Watanabe (2005); the others are proved in docs/learning-coefficients.md,
Proposition 4.

A pair $(\lambda, m)$ of an ideal at a point is put together from others (docs/learning-coefficients.md, section 1): the
zeta function of a sum of squares in separate variables has these rules: where two ideals are added, the $\lambda$ and
the $m - 1$ add; where they are multiplied, the smaller $\lambda$ counts, and on a tie the $m$ add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from operator import methodcaller
from typing import Protocol, Self, TypeVar

from lightning_sym.errors import ProgramError, ShapeError


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


class Ranked(Protocol):
    """A matrix of exact numbers: rational ones, or polynomials at a root."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def mT(self) -> Self: ...  # noqa: N802 - the array standard's name for the matrix transpose
    def rank(self) -> int: ...
    def above(self, other: Self) -> Self: ...
    def __matmul__(self, other: Self) -> Self: ...


R = TypeVar("R", bound=Ranked)


@dataclass(frozen=True)
class FactorRanks:
    r"""Two factors $B$, `rows x inner`, and $A$, `inner x columns`, by their sizes and ranks.

    Attributes:
        rows, inner, columns: $M$, $H$, $N$.
        left: $\operatorname{rk} B$.
        right: $\operatorname{rk} A$.
        product: $\operatorname{rk} BA$.

    Raises:
        ShapeError: there are no such factors.

    Example:
        >>> FactorRanks(2, 2, 2, left=1, right=1, product=0).pair
        LocalPair(value=Fraction(3, 2), multiplicity=1)
    """

    rows: int
    inner: int
    columns: int
    left: int
    right: int
    product: int

    def __post_init__(self) -> None:
        low = max(0, self.left + self.right - self.inner)
        fits = self.left <= min(self.rows, self.inner) and self.right <= min(self.inner, self.columns)
        if not (fits and low <= self.product <= min(self.left, self.right)):
            raise ShapeError(f"ranks must be those of two factors and their product, got {self}")

    @classmethod
    def of(cls, left: R, right: R, rank: Callable[[R], int] = methodcaller("rank")) -> FactorRanks:
        """Return the ranks of given factors; the product's follows where one has the inner width for rank.

        Example:
            >>> from lightning_sym.rings.rationals import RationalMatrix
            >>> FactorRanks.of(RationalMatrix.of([[1], [2]]), RationalMatrix.of([[0]])).product
            0
        """
        (rows, inner), columns, b, a = left.shape, right.shape[1], rank(left), rank(right)
        return cls(rows, inner, columns, b, a, a + b - inner if inner in (a, b) else rank(left @ right))

    @property
    def differential(self) -> int:
        """The rank of the differential of the product at these factors."""
        return self.rows * self.right + self.left * self.columns - self.left * self.right

    @property
    def pair(self) -> LocalPair:
        r"""The pair of the ideal of $BA - B^* A^*$.

        With $p = M - b$, $n = N - a$, $h = H - a - b + r$ it is $2\lambda = Ma + bN - ab + \min_t [hn + t(p - h - n) +
        t^2]$ over $0 \le t \le \min(h, n)$, and $m$ the number of $t$ where it is smallest, 1 if one of $p$, $h$,
        $n$ is 0.
        """
        b, a = self.left, self.right
        rest, count = least_and_multiplicity(self.rows - b, self.inner - a - b + self.product, self.columns - a)
        return LocalPair(Fraction(self.differential + rest, 2), count)

    @property
    def is_submersion(self) -> bool:
        """Whether the entries of the product are coordinates near these factors."""
        return self.left == self.rows or self.right == self.columns


def least_and_multiplicity(p: int, h: int, n: int) -> tuple[int, int]:
    r"""Return twice $\lambda$, and $m$, of the ideal of $FD$ at 0, $F$ of size `p x h`, $D$ of size `h x n`.

    Example:
        >>> least_and_multiplicity(2, 2, 2), least_and_multiplicity(1, 1, 1), least_and_multiplicity(3, 0, 2)
        ((3, 1), (1, 2), (0, 1))
    """
    if min(p, h, n) == 0:
        return 0, 1
    found = [h * n + t * (p - h - n) + t * t for t in range(min(h, n) + 1)]
    return min(found), found.count(min(found))
