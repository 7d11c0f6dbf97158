"""Matrices over GF(p), all of a shape, and their numbers: the entries, row by row, are the digits, the first the last.

Example:
    >>> numbers([every_matrix(2, 1, 3)], 3).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


def is_zero(matrices: Integers) -> Truths:
    """Return which matrices of a batch are zero.

    Example:
        >>> is_zero(np.array([[[0, 0]], [[0, 1]]])).tolist()
        [True, False]
    """
    found: Truths = (matrices == 0).all(axis=(1, 2))
    return found


def every_matrix(rows: int, columns: int, p: int) -> Integers:
    """Return all matrices of a shape, as a batch in the order of their numbers.

    Example:
        >>> every_matrix(1, 2, 2).tolist()
        [[[0, 0]], [[1, 0]], [[0, 1]], [[1, 1]]]
    """
    entries = rows * columns
    return (np.arange(p**entries)[:, None] // p ** np.arange(entries) % p).reshape(-1, rows, columns)


def general_linear(n: int, p: int, *, diagonal: bool = False) -> list[tuple[Integers, Integers]]:
    """Return every invertible matrix over GF(p), or every diagonal one, with its inverse.

    Example:
        >>> len(general_linear(2, 2)), len(general_linear(2, 3, diagonal=True))
        (6, 4)
    """
    every, one = every_matrix(n, n, p), np.eye(n, dtype=np.int64)
    pairs = (pair for pair in product(every, repeat=2) if (pair[0] @ pair[1] % p == one).all())
    return [(c, e) for c, e in pairs if not diagonal or (c == c * one).all()]


def numbers(batches: Sequence[Integers], p: int) -> Integers:
    """Return the numbers of tuples of matrices, the digits of the first matrix first; integers count modulo `p`.

    Args:
        batches: one for each member of the tuple, of the same length or of length one.
        p: the prime.

    Example:
        >>> numbers([np.array([[[1, 2]], [[-1, 0]]]), np.array([[[1]]])], 3).tolist()
        [16, 11]
    """
    result = np.zeros(1, dtype=np.int64)
    for batch in reversed(batches):
        entries = batch.reshape(len(batch), -1)
        digits = entries - entries // p * p  # several times faster than NumPy's remainder
        result = result * p ** digits.shape[1] + digits @ p ** np.arange(digits.shape[1])
    return result
