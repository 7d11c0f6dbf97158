r"""Matrices of truncated Taylor series in $\varepsilon$ over the rationals, or over balls of real numbers.

What `power_series` does modulo a prime, for the few series whose coefficients themselves are wanted: over the rationals
they are exact, over balls they enclose the true ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_poly, fmpq_poly

from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import as_ball
from lightning_sym.rings.rationals import RationalNumber, as_fmpq, as_fraction, map_entries


class TaylorMatrix:
    r"""$\sum_{k \le n} \varepsilon^k M_k$ modulo $\varepsilon^{n+1}$, `n` the order.

    Args:
        entries: polynomials of flint's, all over one field.
        order: `n`.

    Example:
        >>> s = TaylorMatrix.of({2: np.array([[2]])}, order=5)
        >>> e = s.apply(lambda k: Fraction(1, [1, 1, 2][k]))        # exp(2 eps^2)
        >>> [str(e.coefficient(k)[0, 0]) for k in range(6)]
        ['1', '0', '2', '0', '2', '0']
    """

    __slots__ = ("entries", "order")

    def __init__(self, entries: ObjectArray, order: int) -> None:
        self.entries, self.order = entries, order

    @classmethod
    def of(cls, coefficients: Mapping[int, npt.ArrayLike], order: int, *, balls: bool = False) -> TaylorMatrix:
        """Return the series with these coefficients, by degrees: rational numbers, with `balls` also balls."""
        arrays = {k: np.asarray(matrix, dtype=object) for k, matrix in coefficients.items()}
        entries = np.empty(next(iter(arrays.values())).shape, dtype=object)
        number = as_ball if balls else as_fmpq
        for index in np.ndindex(*entries.shape):
            row: list[Any] = [number(arrays[k].item(index) if k in arrays else 0) for k in range(max(arrays) + 1)]
            entries[index] = (arb_poly if balls else fmpq_poly)(row)
        return cls(entries, order)._cut()

    @property
    def balls(self) -> bool:
        """Whether coefficients are balls."""
        return isinstance(self.entries.flat[0], arb_poly)

    def number(self, constant: RationalNumber) -> arb | Fraction:
        """Return a rational number as coefficients are given."""
        return as_ball(constant) if self.balls else as_fraction(constant)

    def _cut(self) -> TaylorMatrix:
        return TaylorMatrix(map_entries(lambda p: p.truncate(self.order + 1), self.entries), self.order)

    def coefficient(self, degree: int) -> ObjectArray:
        """Return the coefficient of a degree, at most the order: `Fraction`, or balls."""
        return map_entries(lambda p: p[degree] if isinstance(p, arb_poly) else as_fraction(p[degree]), self.entries)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.entries.shape

    def __matmul__(self, other: TaylorMatrix) -> TaylorMatrix:
        return TaylorMatrix(self.entries @ other.entries, self.order)._cut()

    def __add__(self, other: TaylorMatrix) -> TaylorMatrix:
        return TaylorMatrix(self.entries + other.entries, self.order)

    def __mul__(self, other: TaylorMatrix) -> TaylorMatrix:
        """Return the product entry by entry."""
        return TaylorMatrix(self.entries * other.entries, self.order)._cut()

    @property
    def mT(self) -> TaylorMatrix:  # noqa: N802
        return TaylorMatrix(self.entries.T, self.order)

    def like(self, constants: npt.ArrayLike) -> TaylorMatrix:
        """Return a constant matrix of integers or fractions, over balls also of balls."""
        return TaylorMatrix.of({0: constants}, self.order, balls=self.balls)

    def _put_into(self, taylor: Callable[[int], Fraction]) -> TaylorMatrix:
        """Return a power series put over every entry, entries without constant term; by Horner's rule."""
        most = self.order // max(1, min(map(_valuation, self.entries.flat), default=1))
        ones = np.ones(self.shape, dtype=object)
        result = self.like(ones * taylor(most))
        for k in range(most - 1, -1, -1):
            result = result * self + self.like(ones * taylor(k))
        return result

    def apply(self, taylor: Callable[[int], Fraction]) -> TaylorMatrix:
        """Return `S` of every entry, for series without constant term.

        `taylor(k)` is the `k`-th coefficient of `S`.
        """
        if any(_valuation(p) == 0 for p in self.entries.flat):
            raise ValueError("S can be applied to series without constant term only")
        return self._put_into(taylor)

    def reciprocal(self, inverse_constants: npt.ArrayLike) -> TaylorMatrix:
        """Return `1 / entry`, given the reciprocals of the constant terms, which must be numbers."""
        inverses = self.like(np.broadcast_to(np.asarray(inverse_constants, dtype=object), self.shape))
        scaled = self * inverses
        # the constant term of what is scaled is 1, whatever was rounded
        rest = TaylorMatrix(map_entries(lambda p: -p.right_shift(1).left_shift(1), scaled.entries), self.order)
        return inverses * rest._put_into(lambda _: Fraction(1))


def _valuation(polynomial: Any) -> int:
    """Return the degree of the first coefficient that is not exactly zero; a large one for zero."""
    return next((k for k, c in enumerate(polynomial.coeffs()) if not c == 0), 10**9)  # noqa: SIM201 - balls
