"""Matrices over the rationals: NumPy object arrays of flint's `fmpq`, several times faster than `Fraction`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq

from lightning_sym.rings.arrays import ObjectArray


def map_entries(function: Callable[[Any], Any], array: npt.ArrayLike) -> ObjectArray:
    """Apply `function` to every entry; the result is an object array of the same shape.

    Filled one by one, because NumPy would try to unpack entries that look like sequences.
    """
    source = np.asarray(array, dtype=object)
    result = np.empty(source.shape, dtype=object)
    for index, entry in np.ndenumerate(source):
        result[index] = function(entry)
    return result


def _fmpq(number: Any) -> fmpq:
    return fmpq(int(number.numerator), int(number.denominator))


def rational_matrix(array: npt.ArrayLike) -> ObjectArray:
    """The matrix with its integer or rational entries as `fmpq`.

    Example:
        >>> from fractions import Fraction
        >>> half = rational_matrix([[Fraction(1, 2), 1]])
        >>> (half @ half.mT).tolist()
        [[5/4]]
    """
    return map_entries(_fmpq, array)


def to_fractions(array: npt.ArrayLike) -> ObjectArray:
    """Back to the standard library's `Fraction`."""
    return map_entries(lambda x: Fraction(int(x.numerator), int(x.denominator)), array)


def clear_denominators(matrix: ObjectArray) -> ObjectArray:
    """The matrix times the least common denominator of its entries, as Python integers.

    Example:
        >>> clear_denominators(np.array([[Fraction(1, 2), Fraction(2, 3)]])).tolist()
        [[3, 4]]
    """
    common = lcm(*(x.denominator for x in matrix.ravel()))
    return map_entries(lambda x: int(x * common), matrix)
