"""Reduced echelon form over the rationals: the one basis of a row space that does not depend on how it was given."""

from __future__ import annotations

from typing import NamedTuple

from flint import fmpq_mat

from lightning_sym.rings.rationals import RationalMatrix


class RowEchelon(NamedTuple):
    """A reduced echelon form without its zero rows.

    Attributes:
        rows: `r x n`, `r` the rank; the columns `pivots` are the identity matrix.
        pivots: increasing.
    """

    rows: RationalMatrix
    pivots: tuple[int, ...]


def row_echelon(matrix: RationalMatrix) -> RowEchelon:
    """The reduced echelon form; `matrix` is its columns `pivots` times `rows`.

    Example:
        >>> found = row_echelon(RationalMatrix.of([[0, 2, 4], [0, 1, 2]]))
        >>> found.rows.fractions().tolist(), found.pivots
        ([[Fraction(0, 1), Fraction(1, 1), Fraction(2, 1)]], (1,))
    """
    columns = matrix.shape[1]
    echelon, rank = matrix.flint.rref()
    entries = echelon.entries()
    reduced = [entries[i * columns : (i + 1) * columns] for i in range(rank)]
    pivots = tuple(next(j for j, x in enumerate(row) if x != 0) for row in reduced)
    return RowEchelon(RationalMatrix(fmpq_mat(rank, columns, [x for row in reduced for x in row])), pivots)


def columns_of(matrix: RationalMatrix, chosen: tuple[int, ...]) -> RationalMatrix:
    """Some of the columns, in the order named."""
    return matrix.mT.rows(chosen).mT
