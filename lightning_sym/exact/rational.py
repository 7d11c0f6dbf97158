"""Exact linear algebra over the rationals, by flint.

Bases of rational vector spaces in short integer vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq_mat, fmpz_mat

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.echelon import row_echelon
from lightning_sym.exact.modular import null_space_mod_p
from lightning_sym.rings.arrays import ObjectArray, Rows, two_axes
from lightning_sym.rings.rationals import RationalMatrix

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
    return matrix[:, j], matrix[i, :] / Fraction(pivot)  # a Fraction: integers would divide to floats  # a Fraction: integers would divide to floats


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
