"""Arithmetic of weights: rounded to float64, or exact over the rationals.

Exact arrays are float64 wherever every entry of a result is a float64, which is proved as it is computed; else they
hold `Fraction`, which is slow and bounded. So what stands in a file as float16, bfloat16 or float32 stays a fast array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product as pairs
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.rings.rationals import RationalMatrix, as_fraction

Numbers = npt.NDArray[Any]
"""float64 entries, or `Fraction`; with units (`measured.py`) arrays of their own, which NumPy moves and joins alike."""

_Floats = npt.NDArray[np.float64]
BITS = 53
"""Of the significand of a float64."""
SAFE = 2.0**300
"""Numbers up to this size, and not below its inverse, are multiplied without overflow and underflow."""
LARGEST = 2 * 10**7
"""Operations on fractions that one step may take."""


class Rounded:
    """float64; all arrays broadcast."""

    def numbers(self, array: object) -> Numbers:
        """Return an array in this arithmetic.

        Raises:
            BadInput: a number is beyond all floats.
        """
        try:
            return np.asarray(array, dtype=np.float64)
        except OverflowError:
            raise BadInput(
                "every number must be below 2^1024 in absolute value to be rounded, got a larger one"
            ) from None

    def product(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the matrix product of the last two axes."""
        return np.asarray(first @ second)

    def times(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the product entry by entry."""
        return np.asarray(first * second)

    def over(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the quotient entry by entry."""
        return np.asarray(first / second)

    def plus(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the sum."""
        return np.asarray(first + second)

    def inverse(self, matrices: Numbers) -> Numbers:
        """Return the inverses of square matrices.

        Raises:
            BadInput: one is singular.
        """
        try:
            return np.asarray(np.linalg.inv(matrices))
        except np.linalg.LinAlgError:
            raise BadInput("every matrix of a gauge must be invertible, got a singular one") from None


class Exact:
    """The same over the rationals.

    Args:
        largest: operations on fractions that one step may take; without it `LARGEST`.

    Example:
        >>> third = Exact().over(np.array([1.0, 3.0]), np.array([3.0]))
        >>> third.tolist(), Exact().times(third, np.array([3.0])).tolist()
        ([Fraction(1, 3), Fraction(1, 1)], [1.0, 3.0])
    """

    def __init__(self, largest: int | None = None) -> None:
        self.largest = LARGEST if largest is None else largest

    def numbers(self, array: object) -> Numbers:
        given = np.asarray(array)
        if given.dtype.kind == "f":
            return np.asarray(given, dtype=np.float64)
        held = [Fraction(x) if isinstance(x, float) else x for x in given.ravel().tolist()]  # a float is a fraction
        return narrow(np.array(held, dtype=object).reshape(given.shape))

    def product(self, first: Numbers, second: Numbers) -> Numbers:
        if _are_floats(first, second):
            if (found := exact_product(first, second)) is not None:
                return found
        elif (found := _over_one_denominator(first, second)) is not None:
            return found
        return _slowly(first, second, lambda a, b: a @ b, self.largest, first.shape[-1])

    def times(self, first: Numbers, second: Numbers) -> Numbers:
        if _are_floats(first, second):
            found = first * second
            if _safe(first) and _safe(second) and not _product_error(first, second, found).any():
                return np.asarray(found)
        return _slowly(first, second, lambda a, b: a * b, self.largest)

    def over(self, first: Numbers, second: Numbers) -> Numbers:
        if _are_floats(first, second):
            with np.errstate(divide="ignore", invalid="ignore"):
                found = first / second
            if _safe(first) and _safe(second) and _safe(found):
                back = found * second
                if (back == first).all() and not _product_error(found, second, back).any():
                    return np.asarray(found)
        return _slowly(first, second, lambda a, b: a / b, self.largest)

    def plus(self, first: Numbers, second: Numbers) -> Numbers:
        if _are_floats(first, second):
            total, error = _two_sum(first, second)
            if np.isfinite(total).all() and not error.any():
                return total
        return _slowly(first, second, lambda a, b: a + b, self.largest)

    def inverse(self, matrices: Numbers) -> Numbers:
        if not _rational(matrices):
            return _by_elimination(matrices)
        found = [RationalMatrix.of(matrix).inverse() for matrix in matrices]
        if any(matrix is None for matrix in found):
            raise BadInput("every matrix of a gauge must be invertible, got a singular one")
        inverses = [matrix.fractions() for matrix in found if matrix is not None]
        return narrow(np.array(inverses, dtype=object).reshape(matrices.shape))


Arithmetic = Rounded | Exact
"""What rewritings do with weights."""


def to_objects(array: Numbers) -> Numbers:
    """Return the array with fractions in place of floats; other entries stay as they are."""
    if array.dtype == object:
        return array
    return np.array([Fraction(x) for x in array.ravel().tolist()], dtype=object).reshape(array.shape)


def narrow(array: Numbers) -> Numbers:
    """Return float64 in place of rational numbers if all of them are floats, other entries as they are.

    Example:
        >>> narrow(np.array([Fraction(1, 2), 3], dtype=object)), narrow(np.array([Fraction(1, 3)], dtype=object))
        (array([0.5, 3. ]), array([Fraction(1, 3)], dtype=object))
    """
    if array.dtype != object or not _rational(array):
        return array
    fractions = [as_fraction(x) for x in array.ravel()]
    try:
        floats = [float(x) for x in fractions]
    except OverflowError:
        floats = []
    if floats == fractions:
        return np.array(floats, dtype=np.float64).reshape(array.shape)
    return np.array(fractions, dtype=object).reshape(array.shape)


def exact_product(first: _Floats, second: _Floats) -> _Floats | None:
    """Return the matrix product of two arrays of floats if its entries are floats; `None` if not, or not seen.

    Rows on the left and columns on the right are cut into pieces of so few bits that all sums in their products are
    exact in any order; the products are added without error (Shewchuk's expansions).

    Example:
        >>> exact_product(np.array([[2.0**40, 1.0]]), np.array([[2.0**12], [1.0]]))
        array([[4.50359963e+15]])
        >>> exact_product(np.array([[2.0**40, 1.0]]), np.array([[2.0**20], [1.0]])) is None
        True
    """
    expansion = product_expansion(first, second)
    if expansion is None or len(expansion) == 1:
        return None if expansion is None else expansion[0]
    total = np.asarray(sum(expansion))
    return None if any(rest.any() for rest in grown(expansion, -total)) else total


def product_expansion(first: _Floats, second: _Floats) -> list[_Floats] | None:
    """Return arrays that add up to the matrix product, without error; `None` if numbers are too large or many."""
    inner = first.shape[-1]
    room = BITS - max(inner - 1, 0).bit_length()
    if not (_safe(first) and _safe(second)) or room < 8:
        return None
    spans = _span(first, -1), _span(second, -2)
    if sum(spans) <= room:
        return [np.asarray(first @ second)]
    short = min(min(spans) + 1, room // 2)
    sizes = (short, room - short) if spans[0] <= spans[1] else (room - short, short)
    expansion: list[_Floats] = []
    for left, right in pairs(_pieces(first, -1, sizes[0]), _pieces(second, -2, sizes[1])):
        expansion = grown(expansion, left @ right)
    return expansion


def times_float(expansion: list[_Floats], factor: float) -> list[_Floats]:
    """Return arrays that add up to a multiple of a sum, without error, of numbers that `product_expansion` takes.

    Example:
        >>> times_float([np.array([3.0])], 0.5)
        [array([1.5])]
    """
    found = []
    for part in expansion:
        product = part * factor
        error = _product_error(part, np.asarray(factor), product)
        found += [product] if not error.any() else [error, product]
    return found


def _rational(array: Numbers) -> bool:
    return array.dtype != object or all(hasattr(x, "denominator") for x in array.ravel())


def _are_floats(*arrays: Numbers) -> bool:
    return all(array.dtype == np.float64 for array in arrays)


def _safe(array: _Floats) -> bool:
    sizes = np.abs(array)
    return bool(((sizes < SAFE) & ((sizes > 1 / SAFE) | (sizes == 0))).all())


def _slowly(
    first: Numbers, second: Numbers, operation: Callable[[Numbers, Numbers], Numbers], largest: int, inner: int = 1
) -> Numbers:
    """Return an operation on fractions."""
    if inner > 1:
        sets = max(math.prod(np.broadcast_shapes(first.shape[:-2], second.shape[:-2])), 1)
        count = inner * sets * first.shape[-2] * second.shape[-1]
    else:
        count = math.prod(np.broadcast_shapes(first.shape, second.shape))
    if count > largest:
        raise TooLarge(
            f"an exact rewriting whose numbers are no floats of 64 bits must take at most {largest:,} operations on "
            f"fractions a step, got {count:,}"
        )
    try:
        return narrow(np.asarray(operation(to_objects(first), to_objects(second)), dtype=object))
    except ZeroDivisionError:
        raise BadInput("an exact rewriting must not divide by zero: a gain, or a scaling, is 0") from None


def _over_one_denominator(first: Numbers, second: Numbers) -> Numbers | None:
    """Return the product where one side holds fractions over a small denominator: of integers, then divided."""
    if not (_rational(first) and _rational(second)):
        return None
    bottom = 1
    sides = []
    for side in (first, second):
        if side.dtype == object:
            own = math.lcm(*(int(x.denominator) for x in side.ravel()))
            side = narrow(side * own)
            bottom *= own
        sides.append(side)
    if bottom >> BITS or not _are_floats(*sides):
        return None
    found = exact_product(sides[0], sides[1])
    return None if found is None else Exact().over(found, np.array([float(bottom)]))


def _by_elimination(matrices: Numbers) -> Numbers:
    """Return the inverses over any field, such as rational functions."""
    stacked = []
    for matrix in matrices:
        size = len(matrix)
        one = matrix[0, 0] ** 0
        work = np.concatenate([matrix, np.where(np.eye(size, dtype=bool), one, one - one)], axis=1)
        for column in range(size):
            pivot = next((row for row in range(column, size) if work[row, column] != 0), None)
            if pivot is None:
                raise BadInput("every matrix of a gauge must be invertible, got a singular one")
            work[[column, pivot]] = work[[pivot, column]]
            work[column] = work[column] / work[column, column]
            for row in range(size):
                if row != column:
                    work[row] = work[row] - work[column] * work[row, column]
        stacked.append(work[:, size:])
    return np.array(stacked, dtype=object)


def _two_sum(first: _Floats, second: _Floats) -> tuple[_Floats, _Floats]:
    """Return the rounded sum, and what it lacks (Knuth)."""
    total = np.asarray(first + second)
    part = total - first
    return total, np.asarray((first - (total - part)) + (second - part))


def _product_error(first: _Floats, second: _Floats, found: _Floats) -> _Floats:
    """Return what the rounded product lacks (Dekker, Veltkamp)."""
    (a, b), (c, d) = _halves(first), _halves(second)
    return np.asarray(b * d - (((found - a * c) - b * c) - a * d))


def _halves(array: _Floats) -> tuple[_Floats, _Floats]:
    scaled = 134217729.0 * array
    high = scaled - (scaled - array)
    return high, array - high


def _exponents(array: _Floats, axis: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return along an axis exponents of a power of two above all sizes, and of the lowest bit.

    For zeros the two are equal.
    """
    mantissa, exponent = np.frexp(array)
    top = np.ldexp(mantissa, BITS).astype(np.int64)
    low = np.frexp((top & -top).astype(np.float64))[1] - 1 + exponent - BITS
    high = np.where(top == 0, -(2**20), exponent).max(axis=axis, keepdims=True, initial=-(2**20))
    least = np.where(top == 0, 2**20, low).min(axis=axis, keepdims=True, initial=2**20)
    return high.astype(np.int64), np.where(high == -(2**20), high, least).astype(np.int64)


def _span(array: _Floats, axis: int) -> int:
    """Return bits that the numbers of a row (or column) take over its lowest one, the most of any."""
    high, low = _exponents(array, axis)
    return int((high - low).max(initial=0))


def _pieces(array: _Floats, axis: int, size: int) -> list[_Floats]:
    """Return arrays that add up to this one, each of at most `size` bits along the axis."""
    pieces = []
    while array.any():
        high, _ = _exponents(array, axis)
        step = np.ldexp(1.0, np.maximum(high - size + 1, -1000).astype(np.int32))
        piece = np.rint(array / step) * step
        pieces.append(piece)
        array = array - piece
    return pieces or [array]


def grown(expansion: list[_Floats], more: _Floats) -> list[_Floats]:
    """Return an expansion, smallest parts first, with one number more: no bit is lost, parts do not overlap."""
    found = []
    for part in expansion:
        more, rest = _two_sum(more, part)
        if rest.any():
            found.append(rest)
    return [*found, more]
