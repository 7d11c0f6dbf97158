"""Exact linear algebra: ranks and null spaces modulo a prime and over the rationals, by flint."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat, nmod_mat

from lightning_sym.errors import ShapeError


def _two_axes(matrix: npt.NDArray[Any]) -> tuple[int, int]:
    if matrix.ndim != 2:
        raise ShapeError(f"a matrix must have two axes, got {matrix.ndim}")
    return matrix.shape[0], matrix.shape[1]


def rank_mod_p(matrix: npt.NDArray[np.int64], p: int) -> int:
    """Rank over GF(p) of an integer matrix: a lower bound for its rank over the rationals, never an upper one.

    Example:
        >>> rank_mod_p(np.array([[1, 2], [3, 1]]), 5), rank_mod_p(np.array([[1, 2], [3, 1]]), 7)
        (1, 2)
    """
    rows, columns = _two_axes(matrix)
    return int(nmod_mat(rows, columns, np.mod(matrix, p).ravel().tolist(), p).rank())


def _rational(matrix: npt.ArrayLike) -> fmpq_mat:
    array = np.asarray(matrix, dtype=object)
    rows, columns = _two_axes(array)
    entries = [fmpq(int(x.numerator), int(x.denominator)) for x in array.ravel()]
    return fmpq_mat(rows, columns, entries)


def rank(matrix: npt.ArrayLike) -> int:
    """Rank of a matrix of integers or rationals, exact.

    Example:
        >>> rank([[1, 2], [2, 4]])
        1
    """
    return int(_rational(matrix).rank())


def null_space(matrix: npt.ArrayLike) -> list[list[Fraction]]:
    """A basis of `{v : matrix v = 0}` over the rationals, from the reduced row echelon form.

    Example:
        >>> null_space([[1, 2, 3]])
        [[Fraction(-2, 1), Fraction(1, 1), Fraction(0, 1)], [Fraction(-3, 1), Fraction(0, 1), Fraction(1, 1)]]
    """
    echelon, pivots_count = _rational(matrix).rref()
    columns = echelon.ncols()
    pivots = [next(j for j in range(columns) if echelon[i, j] != 0) for i in range(pivots_count)]
    basis = []
    for free in (j for j in range(columns) if j not in set(pivots)):
        vector = [Fraction(0)] * columns
        vector[free] = Fraction(1)
        for row, pivot in enumerate(pivots):
            entry = echelon[row, free]
            vector[pivot] = -Fraction(int(entry.p), int(entry.q))
        basis.append(vector)
    return basis
