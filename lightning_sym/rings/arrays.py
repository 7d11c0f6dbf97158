"""Arrays of exact numbers: what goes in from outside becomes `Fraction`, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from numbers import Rational

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, ShapeError, TooLarge

ObjectArray = npt.NDArray[np.object_]

Rows = npt.ArrayLike | Sequence[Sequence[object]]
"""What becomes an exact matrix: arrays, and rows of integers, fractions or floats."""


MOST_ENTRIES = 4_000_000
"""Entries of matrices that are held as exact numbers, each of its own, all together."""


def exact_number(value: object, name: str = "a weight") -> Fraction:
    """Return the exact rational value of an integer, a fraction or a float (every finite float is a dyadic rational).

    Raises:
        BadInput: NaN, infinity, or not a number.

    Example:
        >>> exact_number(0.1)
        Fraction(3602879701896397, 36028797018963968)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"{name} must be finite, got {value}")
        return Fraction(value)
    raise BadInput(f"{name} must be an integer, a fraction or a float, got {shown(value)}")


def require_entries(matrices: Mapping[str, Rows]) -> None:
    """Refuse matrices that have too many entries together, before any of them becomes an exact number.

    Raises:
        TooLarge: they have more than `MOST_ENTRIES`.

    Example:
        >>> require_entries({"Q1": np.zeros((2000, 1500)), "K1": np.zeros((2000, 1500))})
        Traceback (most recent call last):
        lightning_sym.errors.TooLarge: all matrices together must have at most 4,000,000 entries, got 6,000,000
    """
    total = count_entries(matrices)
    if total > MOST_ENTRIES:
        raise TooLarge(f"all matrices together must have at most {MOST_ENTRIES:,} entries, got {total:,}")


def count_entries(matrices: Mapping[str, Rows]) -> int:
    """Return entries of all matrices together."""
    return sum(matrix.size if isinstance(matrix, np.ndarray) else _count(matrix) for matrix in matrices.values())


def _count(rows: Rows) -> int:
    """Return entries of a list of rows; what is no list is refused where it becomes a matrix."""
    return sum(len(row) if isinstance(row, (list, tuple)) else 1 for row in rows) if isinstance(rows, list) else 1


def exact_matrix(
    rows: Rows, name: str = "a weight", entry: Callable[[object, str], object] = exact_number
) -> ObjectArray:
    """Return a two-dimensional object array of `Fraction`, not writeable; or of what else `entry` makes of each entry.

    Raises:
        ShapeError: the rows do not form a matrix.
        BadInput: an entry is not a finite number.
    """
    try:
        source = rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object)
    except ValueError as error:
        raise ShapeError(f"{name} must have rows of equal length") from error
    if source.ndim == 1 and source.size and isinstance(source[0], (list, tuple)):
        raise ShapeError(f"{name} must have rows of equal length")
    if source.ndim != 2 or 0 in source.shape:
        raise ShapeError(f"{name} must be a matrix with at least one entry, got shape {source.shape}")
    if source.dtype.kind not in "iufO":  # dates, for one, would pass for integers
        raise BadInput(f"{name} must hold integers, fractions or floats, got an array of {source.dtype}")
    if source.size > MOST_ENTRIES:
        raise TooLarge(f"{name} must have at most {MOST_ENTRIES:,} entries, got {source.size:,}")
    result = np.empty(source.shape, dtype=object)
    for index, value in np.ndenumerate(source):
        if type(value) is Fraction:  # by far the most, and exact already
            result[index] = value
        else:
            result[index] = Fraction(value) if type(value) is int else entry(value, f"{name}{list(index)}")
    result.flags.writeable = False
    return result


def two_axes(matrix: npt.NDArray[np.generic]) -> tuple[int, int]:
    """Return the shape of a matrix.

    Raises:
        ShapeError: there are more axes, or fewer.
    """
    if len(matrix.shape) != 2:
        raise ShapeError(f"a matrix must have two axes, got {len(matrix.shape)}")
    return matrix.shape[0], matrix.shape[1]
