"""Small matrices over any commutative ring, of polynomials for example: filled by entries, determinants, minors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names


def array_of(rows: Sequence[Sequence[object]]) -> ObjectArray:
    """Return an object array, filled one by one: NumPy would try to unpack polynomials.

    Example:
        >>> array_of([[(1, 2), (3, 4)]]).shape
        (1, 2)
    """
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, j in np.ndindex(*result.shape):
        result[i, j] = rows[i][j]
    return result


def letters_of(shapes: Mapping[str, tuple[int, int]]) -> tuple[PolynomialRing, list[ObjectArray]]:
    """Return a ring whose variables are the entries of matrices, and these, by their letters and shapes.

    Example:
        >>> ring, (a, v) = letters_of({"a": (2, 2), "v": (1, 2)})
        >>> print((v @ a)[0, 0])
        a_1_1*v_1_1 + a_2_1*v_1_2
    """
    ring = PolynomialRing([name for letter, shape in shapes.items() for name in entry_names(letter, *shape)])
    return ring, [ring.matrix(letter, *shape) for letter, shape in shapes.items()]


def determinant(matrix: ObjectArray) -> Any:
    """Return the determinant by Laplace's expansion, which divides by nothing.

    Example:
        >>> determinant(np.array([[1, 2], [3, 4]], dtype=object))
        -2
    """
    if len(matrix) == 1:
        return matrix[0, 0]
    return sum((-1) ** j * matrix[0, j] * determinant(np.delete(matrix[1:], j, axis=1)) for j in range(len(matrix)))


def minors(matrix: ObjectArray, size: int) -> Iterator[Any]:
    """Yield all minors of a size, row by row.

    Example:
        >>> list(minors(np.array([[1, 2, 3], [4, 5, 6]], dtype=object), 2))
        [-3, -6, -3]
    """
    for rows in combinations(range(matrix.shape[0]), size):
        for columns in combinations(range(matrix.shape[1]), size):
            yield determinant(matrix[np.ix_(rows, columns)])
