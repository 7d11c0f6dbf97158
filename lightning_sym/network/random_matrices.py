"""Seeded random rational matrices, of any rank that is asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lightning_sym.limits import require_integer
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix


class RandomMatrices:
    """A seeded source of matrices with rational entries.

    Args:
        seed: the same seed gives the same matrices.
        bound: numerators lie between `-bound` and `bound`.
        denominator: largest denominator; 1 gives integers.

    Raises:
        BadInput: the seed or the bound is negative, or the denominator is not positive.

    Example:
        >>> from lightning_sym.exact.rational import rank
        >>> rank(RandomMatrices(seed=1).of_rank(3, 4, 2))
        2
    """

    def __init__(self, seed: int = 0, bound: int = 9, denominator: int = 1) -> None:
        for what, number, least in (("seed", seed, 0), ("bound", bound, 0), ("denominator", denominator, 1)):
            require_integer(number, f"the {what}", least, 2**62)
        self._generator = np.random.default_rng(seed)
        self._bound, self._denominator = bound, denominator

    def matrix(self, rows: int, columns: int) -> ObjectArray:
        """Return any matrix of this shape."""
        top = self._generator.integers(-self._bound, self._bound + 1, size=(rows, columns))
        low = self._generator.integers(1, self._denominator + 1, size=(rows, columns))
        result = np.empty((rows, columns), dtype=object)
        for index in np.ndindex(rows, columns):
            result[index] = Fraction(int(top[index]), int(low[index]))
        return result

    def full_rank(self, rows: int, columns: int) -> ObjectArray:
        """Return a triangular block with a non-zero diagonal, its rows or columns shuffled among random ones."""
        tall = rows >= columns
        matrix = self.matrix(rows, columns) if tall else self.matrix(columns, rows)
        size = min(rows, columns)
        where = self._generator.permutation(max(rows, columns))[:size]
        for i, row in enumerate(where):
            matrix[row, i] = matrix[row, i] or Fraction(1)
            matrix[row, i + 1 :] = Fraction(0)
        return matrix if tall else matrix.T

    def of_rank(self, rows: int, columns: int, rank: int) -> ObjectArray:
        """Return a product of two factors that each contain an invertible triangle: the rank is what was asked for."""
        if rank == 0:
            return np.full((rows, columns), Fraction(0), dtype=object)
        return self._product(self.full_rank(rows, rank), columns)

    def _product(self, first: ObjectArray, columns: int) -> ObjectArray:
        """Return a matrix of full column rank times a random one of full row rank."""
        second = self.full_rank(first.shape[1], columns)
        return (RationalMatrix.of(first) @ RationalMatrix.of(second)).fractions()

    def query_and_key(self, rows: int, columns: int, rank: int | None) -> tuple[ObjectArray, ObjectArray]:
        r"""Return `Q` and `K` with $K^\top Q$ of this rank, or any."""
        query, key = self.matrix(rows, columns), self.matrix(rows, columns)
        if rank == 0:
            query = self.of_rank(rows, columns, 0)
        elif rank is not None:  # K^T Q = (r x d)^T (C^T C) (r x d), and C^T C is invertible: C has full column rank
            common = self.full_rank(rows, rank)
            query, key = (self._product(common, columns) for _ in range(2))
        return query, key
