r"""The rank of a rational matrix with what proves it: an invertible minor from below, a kernel from above."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lightning_sym.exact.elimination import echelon_mod_p
from lightning_sym.exact.rational import null_space, row_echelon
from lightning_sym.rings.arrays import ObjectArray, clear_denominators
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix, as_fraction


@dataclass(frozen=True)
class CertifiedRank:
    """An exact rank over the rationals.

    Attributes:
        rows, columns: of the pivots, in order; the minor there is not zero, so the rank is at least their number.
        minor: its determinant.
        kernel: a basis of the vectors that the matrix maps to zero; there are as many as columns without a pivot, so
            the rank is at most the number of pivots.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    minor: Fraction
    kernel: tuple[tuple[Fraction, ...], ...]

    @property
    def rank(self) -> int:
        """The number of pivots."""
        return len(self.rows)


def certified_rank(matrix: ObjectArray) -> CertifiedRank:
    """Return the exact rank of a matrix of rationals, with its evidence.

    Pivots are found modulo a prime; the kernel of the pivot rows, over the rationals, must be in the kernel of all
    rows. Where it is not the prime was bad, and the pivot rows are those of the matrix over the rationals.

    Args:
        matrix: object array of integers or rationals, two axes.

    Example:
        >>> found = certified_rank(np.array([[0, 0, 0], [1, 2, 3], [2, 4, 7]], dtype=object))
        >>> found.rank, found.rows, found.columns, found.minor, [[str(x) for x in v] for v in found.kernel]
        (2, (1, 2), (0, 2), Fraction(1, 1), [['-2', '1', '0']])
    """
    rows, columns = matrix.shape
    if not rows or not columns:
        return _with_evidence(matrix, [])
    integral = np.array([clear_denominators(row) for row in matrix], dtype=object)
    for p in PRIMES:
        residues = np.array([[x % p for x in row] for row in integral], dtype=np.int64)
        pivot_rows = sorted(map(int, echelon_mod_p(residues, p).pivot_rows))
        found = _with_evidence(matrix, pivot_rows)
        vectors = RationalMatrix.of(np.array(found.kernel, dtype=object).reshape(-1, columns).T)
        if not any(x != 0 for x in (RationalMatrix.of(matrix) @ vectors).flint.entries()):
            return found
    return _with_evidence(matrix, _pivots(matrix.T))


def _with_evidence(matrix: ObjectArray, rows: list[int]) -> CertifiedRank:
    """Return the evidence where the pivot rows are known."""
    chosen = matrix[rows]
    columns = _pivots(chosen)
    minor = as_fraction(RationalMatrix.of(chosen[:, columns]).flint.det())
    return CertifiedRank(tuple(rows), tuple(columns), minor, tuple(map(tuple, null_space(chosen))))


def _pivots(matrix: ObjectArray) -> list[int]:
    return list(row_echelon(RationalMatrix.of(matrix)).pivots)
