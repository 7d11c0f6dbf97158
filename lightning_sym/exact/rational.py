"""Exact linear algebra over the rationals, by flint: echelon forms, ranks, kernels, solutions, signs of squares.

A reduced echelon form is the one basis of a row space that does not depend on how it was given. Bases of rational
vector spaces are had in short integer vectors too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from flint import fmpq_mat, fmpz_mat, nmod_mat

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.modular import null_space_mod_p
from lightning_sym.rings.arrays import ObjectArray, Rows, two_axes
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


def leading(entries: list[Any], columns: int) -> tuple[int, ...]:
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


RATE = 5e-11
"""Seconds for a bit of an entry, by the fourth power of the size; measured, and rough."""


class Inertia(NamedTuple):
    """Positive and negative squares of a form over the reals; the rank is their sum."""

    positive: int
    negative: int


def inertia(form: RationalMatrix) -> Inertia:
    """Return how many positive and negative squares a symmetric matrix has.

    All roots of its characteristic polynomial are real, so Descartes' rule counts them.

    Args:
        form: symmetric, with rational entries.

    Example:
        >>> inertia(RationalMatrix.of([[0, 1], [1, 0]])), inertia(RationalMatrix.of([[2, 0], [0, 0]]))
        (Inertia(positive=1, negative=1), Inertia(positive=1, negative=0))
    """
    if not form.shape[0]:
        return Inertia(0, 0)
    # the common denominator is positive, so the integers above it have the same signs
    signs = [int(c > 0) - int(c < 0) for c in form.flint.numer_denom()[0].charpoly().coeffs()]
    turned = [-s if i % 2 else s for i, s in enumerate(signs)]
    return Inertia(_changes(signs), _changes(turned))


def inertia_cost(size: int, bits: int) -> float:
    """Return seconds for a form of this size with entries of so many bits.

    Example:
        >>> inertia_cost(64, 64) < 0.1
        True
    """
    return RATE * float(size) ** 4 * (bits + 8)


def _changes(signs: list[int]) -> int:
    told = [s for s in signs if s]
    return sum(a != b for a, b in pairwise(told))


_SMALL_PRIMES = (2, 3, 5, 7)


def short_basis(vectors: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return short primitive integer vectors that span the same rational space, the shortest ones first.

    The lattice of the vectors is made larger as long as a combination is divisible by 2, 3, 5 or 7, and reduced.

    Args:
        vectors: independent, of the same length.

    Example:
        >>> short_basis([(1, 1, 0), (1, 3, 2)])     # their difference is twice the first one of these
        [(0, 1, 1), (1, 1, 0)]
    """
    rows = [list(map(int, vector)) for vector in vectors]
    for p in _SMALL_PRIMES:
        while True:
            table = np.array([[entry % p for entry in row] for row in rows], dtype=np.int64)
            left = null_space_mod_p(table.T, p)
            if not len(left):
                break
            for combination in left:  # of a reduced kernel: the last entry that is not zero is 1, and of this row only
                last = int(np.flatnonzero(combination)[-1])
                signed = [int(c) - p * (int(c) > p // 2) for c in combination[: last + 1]]
                rows[last] = [
                    sum(c * row[j] for c, row in zip(signed, rows, strict=False) if c) // p
                    for j in range(len(rows[last]))
                ]
    reduced = fmpz_mat(rows).lll().tolist()
    found = [tuple(int(entry) for entry in row) for row in reduced]
    found = [row if next(e for e in row if e) > 0 else tuple(-e for e in row) for row in found]
    return sorted(found, key=lambda row: (max(map(abs, row)), sum(map(bool, row)), row))


def rank(matrix: Rows | RationalMatrix, most: int | None = None) -> int:
    """Return the rank of a matrix of integers or rationals, exact; or `most`, if it is larger.

    Example:
        >>> rank([[1, 2], [2, 4]])
        1
    """
    return RationalMatrix.of(matrix).rank(most)


def rank_one_factors(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray]:
    r"""Return $(p, q)$ with $M = p q^\top$, for a matrix of rank one.

    Raises:
        BadInput: the rank is not one.

    Example:
        >>> p, q = rank_one_factors(np.array([[0, 0], [2, 4]], dtype=object))
        >>> [int(x) for x in p], [int(x) for x in q]
        ([0, 2], [1, 2])
    """
    if (found := rank(matrix)) != 1:
        raise BadInput(f"the matrix must have rank 1, got rank {found}")
    i, j = next(index for index, entry in np.ndenumerate(matrix) if entry != 0)
    pivot: Any = matrix[i, j]
    return matrix[:, j], matrix[i, :] / Fraction(pivot)  # a Fraction: integers would divide to floats


def null_space(matrix: Rows | RationalMatrix) -> list[list[Fraction]]:
    """Return a basis of `{v : matrix v = 0}` over the rationals, from the reduced row echelon form.

    Example:
        >>> null_space([[1, 2, 3]])
        [[Fraction(-2, 1), Fraction(1, 1), Fraction(0, 1)], [Fraction(-3, 1), Fraction(0, 1), Fraction(1, 1)]]
    """
    basis: list[list[Fraction]] = null_columns(RationalMatrix.of(matrix)).mT.fractions().tolist()
    return basis


def null_columns(matrix: RationalMatrix) -> RationalMatrix:
    """Return the same basis as columns, in matrices of flint's.

    Example:
        >>> null_columns(RationalMatrix.of([[1, 2]])).fractions().T.tolist()
        [[Fraction(-2, 1), Fraction(1, 1)]]
    """
    columns = matrix.shape[1]
    echelon, pivots = row_echelon(matrix)
    free = sorted(set(range(columns)) - set(pivots))
    found = fmpq_mat(columns, len(free))
    rows = echelon.flint
    for place, j in enumerate(free):
        found[j, place] = 1
        for row, pivot in enumerate(pivots):
            found[pivot, place] = -rows[row, j]
    return RationalMatrix(found)


def integer_columns(matrix: RationalMatrix) -> RationalMatrix:
    """Return each column times the least common denominator of its entries.

    Example:
        >>> integer_columns(RationalMatrix.of([[Fraction(1, 2)], [Fraction(1, 3)]])).fractions().T.tolist()
        [[Fraction(3, 1), Fraction(2, 1)]]
    """
    rows = matrix.mT.flint.tolist()
    scales = [lcm(*(int(x.denominator) for x in row)) for row in rows]
    found = [x * scale for row, scale in zip(rows, scales, strict=True) for x in row]
    return RationalMatrix(fmpq_mat(matrix.shape[1], matrix.shape[0], found)).mT


def solution(matrix: ObjectArray, right: ObjectArray) -> ObjectArray | None:
    """Return one `X` of `Fraction` with `matrix X = right`, linear in `right`, so of no larger rank; or `None`."""
    columns, count = matrix.shape[1], right.shape[1]
    basis = null_space(np.concatenate([matrix, -right], axis=1))
    solved = [vector[:columns] for vector in basis if any(vector[columns:])]
    return np.array(solved, dtype=object).reshape(count, columns).T if len(solved) == count else None


def unique_solution(matrix: Rows, right: Rows) -> npt.NDArray[np.object_] | None:
    """Return the `X` of `Fraction` with `matrix X = right` over the rationals; `None` unless there is exactly one.

    Example:
        >>> unique_solution([[1, 1], [0, 2], [1, 3]], [[3], [2], [5]]).tolist()
        [[Fraction(2, 1)], [Fraction(1, 1)]]
        >>> unique_solution([[1, 1]], [[3]]) is None        # many
        True
        >>> unique_solution([[1], [1]], [[1], [2]]) is None     # none
        True
    """
    known, wanted = np.asarray(matrix, dtype=object), np.asarray(right, dtype=object)
    unknowns = two_axes(known)[1]
    if known.shape[0] != two_axes(wanted)[0]:
        raise ShapeError(f"both sides must have the same number of rows, got {known.shape[0]} and {wanted.shape[0]}")
    return solution(known, wanted) if rank(known) == unknowns else None
