"""Reduced echelon form over the rationals: the one basis of a row space that does not depend on how it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import fmpq_mat, nmod_mat

from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix

_WIDE = 6
"""So many times as many columns as rows, from which on residues are faster than elimination over the integers."""


class RowEchelon(NamedTuple):
    """A reduced echelon form without its zero rows.

    Attributes:
        rows: `r x n`, `r` the rank; the columns `pivots` are the identity matrix.
        pivots: increasing.
    """

    rows: RationalMatrix
    pivots: tuple[int, ...]


def row_echelon(matrix: RationalMatrix) -> RowEchelon:
    """Return the reduced echelon form; `matrix` is its columns `pivots` times `rows`.

    Example:
        >>> found = row_echelon(RationalMatrix.of([[0, 2, 4], [0, 1, 2]]))
        >>> found.rows.fractions().tolist(), found.pivots
        ([[Fraction(0, 1), Fraction(1, 1), Fraction(2, 1)]], (1,))
    """
    rows, columns = matrix.shape
    return (_by_residues(matrix) if columns > _WIDE * rows > 0 else None) or _by_elimination(matrix)


def _by_elimination(matrix: RationalMatrix) -> RowEchelon:
    echelon, rank = matrix.flint.rref()
    columns, entries = matrix.shape[1], echelon.entries()[: rank * matrix.shape[1]]
    return RowEchelon(RationalMatrix(fmpq_mat(rank, columns, entries)), leading(entries, columns))


def leading(entries: Sequence[object], columns: int) -> tuple[int, ...]:
    """Return by row the place of its first entry that is not zero."""
    rows = (entries[i : i + columns] for i in range(0, len(entries), max(columns, 1)))
    return tuple(next(j for j, x in enumerate(row) if x != 0) for row in rows)


def independent_columns(matrix: RationalMatrix) -> tuple[int, ...]:
    """Return columns that are independent modulo a prime, so over the rationals; most often as many as the rank."""
    rows, columns = matrix.shape
    if not rows or not columns:
        return ()
    echelon, rank = nmod_mat(matrix.flint.numer_denom()[0], PRIMES[0]).rref()
    return leading(echelon.entries()[: rank * columns], columns)


def _by_residues(matrix: RationalMatrix) -> RowEchelon | None:
    """Return rows and pivots guessed modulo a prime, one small system over the rationals, and all of it checked."""
    pivots = independent_columns(matrix)
    if not pivots:
        return None
    chosen = independent_columns(matrix.mT)
    known = matrix if len(chosen) == matrix.shape[0] else matrix.rows(chosen)
    inverse = columns_of(known, pivots).inverse()
    if inverse is None:
        return None
    rows = inverse @ known
    # the columns `pivots` are the identity; the form is reduced if nothing stands left of a pivot
    if leading(rows.flint.entries(), matrix.shape[1]) != pivots:
        return None
    if len(chosen) < matrix.shape[0] and columns_of(matrix, pivots) @ rows != matrix:
        return None
    return RowEchelon(rows, pivots)


def columns_of(matrix: RationalMatrix, chosen: tuple[int, ...]) -> RationalMatrix:
    """Return some of the columns, in the order named."""
    return matrix.mT.rows(chosen).mT
