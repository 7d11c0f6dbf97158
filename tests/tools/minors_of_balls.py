"""The rank that a minor of balls proves: for second opinions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from flint import arb_mat

from lightning_sym.rings.arrays import ObjectArray

_SMALLEST_PIVOT = 2.0**-20
"""Of the largest entry: floats tell pivots down to it."""


def _each(function: Callable[..., Any], matrix: ObjectArray) -> ObjectArray:
    """Return the matrix of a function of every entry."""
    found: ObjectArray = np.asarray(np.frompyfunc(function, 1, 1)(matrix), dtype=object)
    return found


def _midpoints(matrix: ObjectArray) -> ObjectArray:
    return _each(lambda ball: ball.mid(), matrix)


def _pivots(matrix: ObjectArray, count: int) -> tuple[list[int], list[int]]:
    """Rows and columns that elimination of the midpoints picks, the largest entry first. It proves nothing.

    Floats pick as long as they tell pivots; what is left behind these is computed with all bits.
    """
    rest = _midpoints(matrix)
    rows, columns = np.arange(rest.shape[0]), np.arange(rest.shape[1])
    chosen: tuple[list[int], list[int]] = [], []
    while len(chosen[0]) < count:
        i, j = _float_pivots(rest, count - len(chosen[0]))
        others, beside = np.delete(np.arange(len(rows)), i), np.delete(np.arange(len(columns)), j)
        for known, picked in zip(chosen, (rows[i], columns[j]), strict=True):
            known.extend(picked.tolist())
        if len(chosen[0]) < count:
            block, right, left = (arb_mat(rest[np.ix_(*at)].tolist()) for at in ((i, j), (i, beside), (others, j)))
            rest = rest[np.ix_(others, beside)]
            with suppress(ZeroDivisionError):  # only where all is zero, or no number
                rest = _midpoints(rest - np.array((left * block.solve(right)).tolist(), dtype=object))
        rows, columns = rows[others], columns[beside]
    return chosen


def _float_pivots(matrix: ObjectArray, most: int) -> tuple[list[int], list[int]]:
    """One pivot at least, and those that are not much smaller than the largest entry."""
    largest = max(map(abs, matrix.ravel()))
    scaled = _each(lambda x: float(x / largest), matrix) if largest > 0 else np.zeros(matrix.shape)
    rest = np.nan_to_num(scaled.astype(np.float64))
    free = np.ones(rest.shape)
    rows: list[int] = []
    columns: list[int] = []
    while len(rows) < most:
        i, j = map(int, np.unravel_index(np.argmax(np.where(free, np.abs(rest), -1)), rest.shape))
        pivot = rest[i, j]
        if rows and abs(pivot) < _SMALLEST_PIVOT:
            break
        rows.append(i)
        columns.append(j)
        if pivot != 0:
            rest = rest - np.outer(rest[:, j] / pivot, rest[i])
        free[i], free[:, j] = 0, 0
    return rows, columns


def _is_not_zero(matrix: ObjectArray, rows: list[int], columns: list[int]) -> bool:
    """Whether the determinant of a minor is a ball without zero; a ball that is no number counts as one with."""
    determinant = arb_mat(matrix[np.ix_(rows, columns)].tolist()).det()
    return bool(determinant.abs_lower() > 0)


def nonzero_minor(matrix: ObjectArray, size: int) -> tuple[list[int], list[int]] | None:
    """Rows and columns of a `size x size` minor that is certainly not zero; `None` if none is found.

    Only the determinant decides, a ball that does not contain zero, however the minor was chosen.

    Example:
        >>> from flint import arb
        >>> singular = np.array([[arb(1), arb(2)], [arb(2), arb(4)]])
        >>> nonzero_minor(singular, 1), nonzero_minor(singular, 2)
        (([1], [1]), None)
    """
    if not 0 < size <= min(matrix.shape):
        return None
    rows, columns = _pivots(matrix, size)
    return (rows, columns) if _is_not_zero(matrix, rows, columns) else None


def rank_of_balls(matrix: ObjectArray) -> int:
    """A lower bound of the rank: the size of the largest minor found that is certainly not zero.

    Example:
        >>> from flint import arb
        >>> rank_of_balls(np.array([[arb(1), arb(2)], [arb(2), arb(4)]]))
        1
    """
    found, most = 0, int(min(matrix.shape))
    rows, columns = _pivots(matrix, most)
    size = most
    while found < most:  # minors beyond the rank are zero: the largest other one by bisection
        if _is_not_zero(matrix, rows[:size], columns[:size]):
            found = size
        else:
            most = size - 1
        size = (found + most + 1) // 2
    return found
