"""Matrices as tuples of rows: they are compared, sorted and keys of dictionaries."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.rings.arrays import ObjectArray

Number = int | Fraction


Matrix = tuple[tuple[Number, ...], ...]
"""Rows."""


def as_rows(matrix: Any) -> Matrix:
    """An array as rows."""
    return tuple(tuple(row) for row in np.asarray(matrix, dtype=object).tolist())


def as_array(matrix: Matrix) -> ObjectArray:
    """Rows as an array."""
    return np.array(matrix, dtype=object)


def identity(size: int) -> Matrix:
    """The identity."""
    return as_rows(np.eye(size, dtype=int))


def zero(size: int) -> Matrix:
    """A square zero matrix."""
    return as_rows(np.zeros((size, size), dtype=int))


def times(number: int, matrix: Matrix) -> Matrix:
    """A multiple."""
    return as_rows(number * as_array(matrix))


def plus(one: Matrix, other: Matrix) -> Matrix:
    """The sum."""
    return as_rows(as_array(one) + as_array(other))
