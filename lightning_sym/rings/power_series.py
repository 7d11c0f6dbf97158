r"""Matrices of truncated power series in $\varepsilon$, over matrices of any ring that also multiplies entry by entry.

Along $X = \varepsilon Z$ the Taylor coefficients of a normalized network are polynomials in its weights, with
rational coefficients whose denominators involve only the number of tokens, $S(0)$ and the coefficients of $S$. So a
transcendental network is as exact here as a polynomial one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt


class PowerSeries:
    r"""$\sum_k \varepsilon^k M_k$ up to degree `order`; `coefficients` holds the $M_k$ that are not known to be zero.

    Example:
        >>> from lightning_sym.rings.prime_field import PrimeFieldMatrix
        >>> s = PowerSeries({1: PrimeFieldMatrix.of(np.array([[2]]), 4194301)}, order=3)
        >>> e = s.apply(lambda k: Fraction(1, [1, 1, 2, 6][k]))         # exp(2 eps)
        >>> [int(e.coefficients[k].residues()[0, 0]) for k in range(3)]
        [1, 2, 2]
    """

    __slots__ = ("coefficients", "order")

    def __init__(self, coefficients: Mapping[int, Any], order: int) -> None:
        self.coefficients, self.order = dict(coefficients), order

    def _convolve(self, other: PowerSeries, product: Callable[[Any, Any], Any]) -> PowerSeries:
        result: dict[int, Any] = {}
        order = min(self.order, other.order)
        for i, a in self.coefficients.items():
            for j, b in other.coefficients.items():
                if i + j <= order:
                    term = product(a, b)
                    result[i + j] = result[i + j] + term if i + j in result else term
        return PowerSeries(result, order)

    def __matmul__(self, other: PowerSeries) -> PowerSeries:
        return self._convolve(other, lambda a, b: a @ b)

    def __mul__(self, other: PowerSeries) -> PowerSeries:
        """The product entry by entry."""
        return self._convolve(other, lambda a, b: a * b)

    def __add__(self, other: PowerSeries) -> PowerSeries:
        result = dict(self.coefficients)
        for k, b in other.coefficients.items():
            result[k] = result[k] + b if k in result else b
        return PowerSeries(result, min(self.order, other.order))

    @property
    def mT(self) -> PowerSeries:  # noqa: N802
        return PowerSeries({k: m.mT for k, m in self.coefficients.items()}, self.order)

    def like(self, constants: npt.ArrayLike) -> PowerSeries:
        """A constant matrix of integers or fractions."""
        model = next(iter(self.coefficients.values()))
        return PowerSeries({0: model.like(constants)}, self.order)

    def apply(self, taylor: Callable[[int], Fraction], growth: Fraction | None = None) -> PowerSeries:
        """`S` of every entry, for a series without constant term; `taylor(k)` is the `k`-th coefficient of `S`.

        Where `S' = growth S` is known no powers are needed: the coefficients of `e = S(s)` solve `e' = growth s' e`.
        """
        if 0 in self.coefficients:
            raise ValueError("S can be applied to series without constant term only")
        some = next(iter(self.coefficients.values()))
        result = self.like(taylor(0) * np.ones(_shape(some), dtype=object))
        if growth is not None:
            return self._solution(result.coefficients[0], growth)
        power = self
        lowest = min(self.coefficients)
        for k in range(1, self.order // lowest + 1):
            if k > 1:
                power = power * self
            if (c := taylor(k)) != 0:
                result = result + power * self.like(np.array([[c]], dtype=object))
        return result

    def _solution(self, constant: Any, growth: Fraction) -> PowerSeries:
        """`e` with the given constant term and `k e_k = growth * sum_j j s_j e_{k-j}`."""
        result = {0: constant}
        slopes = {j: self._scaled(s, growth * j) for j, s in self.coefficients.items()}
        for k in range(1, self.order + 1):
            terms = [slope * result[k - j] for j, slope in slopes.items() if k - j in result]
            if terms:
                total = terms[0]
                for term in terms[1:]:
                    total = total + term
                result[k] = self._scaled(total, Fraction(1, k))
        return PowerSeries(result, self.order)

    def _scaled(self, matrix: Any, factor: Fraction) -> Any:
        return matrix if factor == 1 else matrix * matrix.like(np.array([[factor]], dtype=object))

    def reciprocal(self, inverse_constants: npt.ArrayLike) -> PowerSeries:
        """`1 / entry` for every entry, given the reciprocals of the constant terms, which must be numbers."""
        first = self.like(inverse_constants)
        minus_first = self.like(-np.asarray(inverse_constants, dtype=object)).coefficients[0]
        result = dict(first.coefficients)
        for n in range(1, self.order + 1):
            terms = [a * result[n - k] for k, a in self.coefficients.items() if 0 < k <= n and n - k in result]
            if terms:
                total = terms[0]
                for term in terms[1:]:
                    total = total + term
                result[n] = minus_first * total
        return PowerSeries(result, self.order)


def _shape(matrix: Any) -> tuple[int, ...]:
    """Rows and columns of a coefficient, whatever it is wrapped in."""
    while hasattr(matrix, "value"):
        matrix = matrix.value
    entries = getattr(matrix, "entries", matrix)
    return tuple(entries.shape[-2:])
