"""Arrays of exact numbers: what goes in from outside becomes `Fraction`, or is refused.

Large arrays of machine numbers stay what they are: every finite float is an integer over a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt, lcm
from numbers import Rational
from typing import cast

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


def rational_root(square: Fraction) -> Fraction | None:
    """Return the rational root of a number that is not negative; `None` where there is none.

    Example:
        >>> rational_root(Fraction(4, 9)), rational_root(Fraction(2))
        (Fraction(2, 3), None)
    """
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None


def clear_denominators(matrix: ObjectArray) -> ObjectArray:
    """Return the matrix times the least common denominator of its entries, as Python integers.

    Example:
        >>> clear_denominators(np.array([[Fraction(1, 2), Fraction(2, 3)]])).tolist()
        [[3, 4]]
    """
    common = lcm(*{int(x.denominator) for x in matrix.ravel().tolist()})
    whole: ObjectArray = np.frompyfunc(lambda x: int(x.numerator) * (common // int(x.denominator)), 1, 1)(matrix)
    return whole


# ---- machine numbers as exact ones

Plain = npt.NDArray[np.integer | np.floating]
"""An array of integers, or of floats of at most 64 bits."""


def is_plain(array: object) -> bool:
    """Return whether an array holds machine numbers that are exact here.

    Example:
        >>> is_plain(np.array([0.5], dtype=np.float16)), is_plain(np.array([0.5], dtype=object))
        (True, False)
    """
    return isinstance(array, np.ndarray) and array.dtype.kind in "iuf" and array.dtype.itemsize <= 8


def require_finite(array: Plain, name: str) -> None:
    """Refuse NaN and infinity.

    Raises:
        BadInput: with the place of the first one.

    Example:
        >>> require_finite(np.array([[1, np.inf]]), "Q1")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: Q1[0, 1] must be finite, got inf
    """
    for number, row in enumerate(array):  # row by row: no second array of this size
        if not (finite := np.isfinite(row)).all():
            place = int(np.argmin(finite))
            raise BadInput(f"{name}[{number}, {place}] must be finite, got {row[place]}")


def _odd(array: Plain) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return odd integers, or zero, and the powers of two that they are multiplied with, 0 for zero."""
    mantissa, exponent = np.frexp(array.astype(np.float64))
    top = np.ldexp(mantissa, 53).astype(np.int64)
    zeros = np.frexp((top & -top).astype(np.float64))[1] - 1
    zeros[top == 0] = 0
    powers = exponent.astype(np.int64) - 53 + zeros
    powers[top == 0] = 0
    return top >> zeros, powers


def dyadic(array: Plain) -> tuple[list[int], int]:
    """Return the entries, row by row, as integers over one power of two, and its exponent, zero or more.

    Example:
        >>> dyadic(np.array([[0.5, -3.0]], dtype=np.float32)), dyadic(np.array([[7]], dtype=np.int8))
        (([1, -6], 1), ([7], 0))
    """
    if array.dtype.kind in "iu":
        return cast(list[int], array.ravel().tolist()), 0
    top, powers = _odd(array.ravel())
    least = min(int(powers.min(initial=0)), 0)
    shifts = powers - least
    if _longest(top, shifts) < 63:
        return (top << shifts).tolist(), -least
    return [int(x) << int(s) for x, s in zip(top, shifts, strict=True)], -least


def dyadic_bits(array: Plain) -> int:
    """Return bits of the longest of the integers that `dyadic` gives.

    Example:
        >>> dyadic_bits(np.array([[0.5, -3.0]])), dyadic_bits(np.array([[-7]]))
        (3, 3)
    """
    if array.dtype.kind in "iu":
        return max(abs(int(array.max())), abs(int(array.min()))).bit_length()
    longest, least, most = 0, 0, 0
    for row in array:  # row by row: no other array of this size
        top, powers = _odd(row)
        least = min(least, int(powers.min()))
        most = max(most, _longest(top, powers))
        longest = max(longest, most)
    return longest - least


def dyadic_sizes(array: Plain) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each row the bits of its longest numerator, and the exponent of the denominator.

    Numbers are taken in lowest terms.

    Example:
        >>> [sizes.tolist() for sizes in dyadic_sizes(np.array([[0.5, -3.0], [4.0, 0.0]]))]
        [[2, 3], [1, 0]]
    """
    if array.dtype.kind in "iu":
        longest = [max(int(row.max()), -int(row.min())).bit_length() for row in array]
        return np.array(longest), np.zeros(len(array), dtype=np.int64)
    top, powers = _odd(array)
    lengths = np.frexp(np.abs(top).astype(np.float64))[1] + np.maximum(powers, 0)
    lengths[top == 0] = 0
    return lengths.max(axis=1).astype(np.int64), np.maximum(-powers, 0).max(axis=1)


def _longest(top: npt.NDArray[np.int64], shifts: npt.NDArray[np.int64]) -> int:
    lengths = np.frexp(np.abs(top).astype(np.float64))[1] + shifts
    return int(lengths[top != 0].max(initial=0))


def residues_of(array: Plain, p: int) -> npt.NDArray[np.int64]:
    """Return the numbers modulo an odd prime below 2^31.

    Example:
        >>> residues_of(np.array([0.5, -1.0, 3.0]), 7).tolist()
        [4, 6, 3]
    """
    if array.dtype.kind in "iu":
        return np.asarray(array % np.array(p, dtype=array.dtype if array.dtype.itemsize == 8 else np.int64), np.int64)
    top, powers = _odd(array)
    least = int(powers.min(initial=0))
    table = np.array([pow(2, power, p) for power in range(least, int(powers.max(initial=0)) + 1)], dtype=np.int64)
    return top % p * table[powers - least] % p


def residues(array: npt.ArrayLike, p: int) -> npt.NDArray[np.int64]:
    """Return exact numbers modulo a prime.

    Example:
        >>> import fractions
        >>> residues(np.array([0.5, -1.0]), 7).tolist(), residues(np.array([fractions.Fraction(1, 3)]), 7).tolist()
        ([4, 6], [5])
    """
    numbers = np.asarray(array)
    if numbers.dtype == object:
        found = [int(x.numerator) * pow(int(x.denominator), -1, p) % p for x in numbers.ravel()]
        return np.array(found, dtype=np.int64).reshape(numbers.shape)
    return residues_of(numbers, p) % p
