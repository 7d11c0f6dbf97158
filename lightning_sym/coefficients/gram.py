r"""The learning coefficient of a Gram matrix $M^\top J M$ with an indefinite form $J$, at every $M$.

What one token sees of queries and keys: $2S = K^\top Q + Q^\top K = M^\top J M$, where $M$ has the rows of $Q$ above
those of $K$ and $J$ has signature $(a, a)$ (docs/learning-coefficients.md, Proposition 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lightning_sym.coefficients.local_pairs import LocalPair
from lightning_sym.exact.inertia import Inertia, inertia
from lightning_sym.rings.rationals import RationalMatrix


@dataclass(frozen=True)
class GramRanks:
    r"""Queries and keys, each `inner x width`, as one token sees them.

    Attributes:
        inner: $a$.
        width: $d$.
        stacked: $\rho$, the rank of $Q$ above $K$.
        squares: positive and negative ones of $x^\top (A + A^\top) x$.

    Example:
        >>> GramRanks(1, 2, 0, Inertia(0, 0)).pair
        LocalPair(value=Fraction(1, 1), multiplicity=2)
    """

    inner: int
    width: int
    stacked: int
    squares: Inertia

    @classmethod
    def of(cls, query: RationalMatrix, key: RationalMatrix) -> GramRanks:
        """Return the ranks and squares of given queries and keys."""
        form = key.mT @ query
        return cls(*query.shape, query.above(key).rank(), inertia(form + form.mT))

    @property
    def pair(self) -> LocalPair:
        r"""$\rho d - \rho(\rho - 1)/2$ coordinates, and what is left: $N^\top J' N$ at $N = 0$."""
        seen = self.stacked * self.width - self.stacked * (self.stacked - 1) // 2
        positive, negative = (self.inner - self.stacked + other for other in reversed(self.squares))
        return LocalPair.coordinates(seen) + isotropic_pair(positive, negative, self.width - self.stacked)


def isotropic_pair(positive: int, negative: int, columns: int) -> LocalPair:
    r"""Return the pair of $N^\top J N$ at $N = 0$, $J$ of signature $(p, q)$, $N$ with $n$ columns.

    With $c = p + q$, $k = \min(p, q, n)$ it is $2\lambda = c(n - k)/2 + k(k + 1)/2$, and $m = 2$ if $1 \le p = q \le
    n$, else 1.

    Example:
        >>> isotropic_pair(1, 1, 1), isotropic_pair(2, 0, 1)
        (LocalPair(value=Fraction(1, 2), multiplicity=2), LocalPair(value=Fraction(1, 2), multiplicity=1))
    """
    k = min(positive, negative, columns)
    twice = Fraction((positive + negative) * (columns - k) + k * (k + 1), 2)
    return LocalPair(twice / 2, 2 if 1 <= positive == negative <= columns else 1)
