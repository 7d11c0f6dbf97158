"""Matrices over the rationals: NumPy object arrays of flint's `fmpq`, several times faster than `Fraction`;
and matrices of flint's own, which multiply a hundred times faster than these where there are many entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import count
from math import lcm
from numbers import Rational
from typing import Any, NamedTuple, Protocol, SupportsInt, cast

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from lightning_sym.rings.arrays import ObjectArray, Rows, dyadic, is_plain, two_axes


class RationalNumber(Protocol):
    """A rational number of Python's, NumPy's, flint's or SymPy's; whole numbers are rational too."""

    @property
    def numerator(self) -> SupportsInt: ...
    @property
    def denominator(self) -> SupportsInt: ...


def map_entries(function: Callable[[Any], Any], array: Rows) -> ObjectArray:
    """Apply `function` to every entry; the result is an object array of the same shape.

    Put into an array that is there, because NumPy would try to unpack entries that look like sequences.
    """
    source = np.asarray(array, dtype=object)
    result: ObjectArray = np.frompyfunc(function, 1, 1)(source, out=np.empty(source.shape, dtype=object))
    return result


def as_fmpq(number: RationalNumber) -> fmpq:
    """Return a rational number as flint's own.

    Example:
        >>> as_fmpq(Fraction(1, 2))
        1/2
    """
    low = int(number.denominator)
    return fmpq(int(number.numerator)) if low == 1 else fmpq(int(number.numerator), low)


def rational_matrix(array: Rows) -> ObjectArray:
    """Return the matrix with its integer or rational entries as `fmpq`.

    Example:
        >>> from fractions import Fraction
        >>> half = rational_matrix([[Fraction(1, 2), 1]])
        >>> (half @ half.mT).tolist()
        [[5/4]]
    """
    return map_entries(as_fmpq, array)


@Rational.register
class _LowestTerms(NamedTuple):
    """What flint has in lowest terms: from a rational `Fraction` copies these, and looks for no common factor again,
    which takes minutes where both have a million digits."""

    numerator: int
    denominator: int


def as_fraction(number: RationalNumber) -> Fraction:
    """Return a rational number of flint's, which is in lowest terms already, as `Fraction`.

    Example:
        >>> as_fraction(fmpq(-2, 4))
        Fraction(-1, 2)
    """
    top, low = int(number.numerator), int(number.denominator)
    return Fraction(top) if low == 1 else Fraction(cast(Rational, _LowestTerms(top, low)))


def to_fractions(array: Rows) -> ObjectArray:
    """Return the entries as the standard library's `Fraction`."""
    return map_entries(as_fraction, array)


_SHORT = 2048
"""Bits of a common denominator up to which all entries are put over it: one by one they take several times as long."""

_SMALL_RANK = 8
"""Rows or columns up to which flint's own elimination over the integers is the fastest."""

_PRIME_BITS = 61
"""Primes of ranks are above two to this power."""


@cache
def _large_prime(index: int) -> int:
    """Return a prime below 2^62 by its place, the largest first."""
    number = 1 << _PRIME_BITS + 1 if index == 0 else _large_prime(index - 1)
    while True:
        number -= 1
        if fmpz(number).is_prime():
            return number


def _square_bits(numbers: fmpz_mat) -> tuple[list[int], list[int]]:
    """Return bits of the squares of the lengths of all rows, and of all columns, the largest first."""
    squares = [[x * x for x in row] for row in numbers.tolist()]
    by_rows, by_columns = (
        sorted((int(sum(line)).bit_length() for line in lines), reverse=True)
        for lines in (squares, zip(*squares, strict=True))
    )
    return by_rows, by_columns


def _by_rows(matrix: fmpq_mat) -> fmpz_mat:
    """Return an integer matrix, each of whose rows is a multiple of a row of the matrix."""
    numbers, common = matrix.numer_denom()
    if int(common).bit_length() <= _SHORT:
        return numbers
    rows = matrix.tolist()
    scales = [lcm(*(int(x.denominator) for x in row)) for row in rows]
    return fmpz_mat([[(x * scale).numerator for x in row] for row, scale in zip(rows, scales, strict=True)])


def _short_denominator(numbers: Iterable[int | Fraction]) -> int | None:
    """Return the least common denominator, unless it is long."""
    common = 1
    for low in {x.denominator for x in numbers}:
        common = lcm(common, low)
        if common.bit_length() > _SHORT:
            return None
    return common


class RationalMatrix:
    """A matrix over the rationals as flint holds it, for the forward pass and everything that multiplies.

    Example:
        >>> half = RationalMatrix.of([[Fraction(1, 2), 1]])
        >>> (half @ half.mT).fractions().tolist()
        [[Fraction(5, 4)]]
    """

    __slots__ = ("flint",)

    def __init__(self, flint: fmpq_mat) -> None:
        self.flint = flint

    @classmethod
    def of(cls, array: Rows | RationalMatrix) -> RationalMatrix:
        """Return the matrix with these integers or rationals; or with the numbers of an array of integers or floats."""
        if isinstance(array, RationalMatrix):
            return array
        if is_plain(array):
            shape = two_axes(np.asarray(array))
            integers, power = dyadic(np.asarray(array))
            whole = fmpq_mat(fmpz_mat(*shape, integers))
            return cls(whole * fmpq(1, 1 << power) if power else whole)
        source = np.asarray(array, dtype=object)
        rows, columns = two_axes(source)
        numbers = source.ravel().tolist()
        kinds = set(map(type, numbers))
        if kinds <= {int, Fraction} and {x.denominator for x in numbers} <= {1}:
            return cls(fmpq_mat(fmpz_mat(rows, columns, [x.numerator for x in numbers])))
        if kinds <= {int, Fraction} and (common := _short_denominator(numbers)):
            over = [x.numerator * (common // x.denominator) for x in numbers]
            return cls(fmpq_mat(fmpz_mat(rows, columns, over)) / common)
        return cls(fmpq_mat(rows, columns, [as_fmpq(x) for x in numbers]))

    @classmethod
    def zero(cls, rows: int, columns: int) -> RationalMatrix:
        """Return the zero matrix."""
        return cls(fmpq_mat(rows, columns))

    @classmethod
    def identity(cls, size: int) -> RationalMatrix:
        """Return the identity matrix."""
        result = fmpq_mat(size, size)
        for i in range(size):
            result[i, i] = 1
        return cls(result)

    def __matmul__(self, other: RationalMatrix) -> RationalMatrix:
        return RationalMatrix(self.flint * other.flint)

    def __add__(self, other: RationalMatrix) -> RationalMatrix:
        return RationalMatrix(self.flint + other.flint)

    def __sub__(self, other: RationalMatrix) -> RationalMatrix:
        return RationalMatrix(self.flint - other.flint)

    def __neg__(self) -> RationalMatrix:
        return RationalMatrix(-self.flint)

    def __bool__(self) -> bool:
        """Return whether an entry is not zero."""
        return bool(self.flint != fmpq_mat(*self.shape))

    def sort_key(self) -> tuple[fmpq, ...]:
        """Return the entries row by row: what matrices of one shape can be ordered by."""
        return tuple(self.flint.entries())

    def __mul__(self, other: RationalMatrix) -> RationalMatrix:
        """Return the product entry by entry."""
        pairs = zip(self.flint.entries(), other.flint.entries(), strict=True)
        return RationalMatrix(fmpq_mat(*self.shape, [x * y for x, y in pairs]))

    def like(self, constants: Rows) -> RationalMatrix:
        """Return a matrix of integers or fractions."""
        return RationalMatrix.of(constants)

    def inverse(self) -> RationalMatrix | None:
        """Return the inverse of a square matrix; `None` if it is singular.

        Example:
            >>> RationalMatrix.of([[2]]).inverse().fractions().tolist(), RationalMatrix.of([[0]]).inverse()
            ([[Fraction(1, 2)]], None)
        """
        try:
            return RationalMatrix(self.flint.inv())
        except ZeroDivisionError:
            return None

    @property
    def bits(self) -> int:
        """Bits of the longest entry over the common denominator.

        Example:
            >>> RationalMatrix.of([[Fraction(1, 2), -7]]).bits
            4
        """
        numbers = self.flint.numer_denom()[0].entries()
        return max(int(abs(x)).bit_length() for x in (max(numbers), min(numbers))) if numbers else 0

    def rank(self, most: int | None = None) -> int:
        """Return the rank, exact; or `most`, if it is larger.

        Modulo a prime it is a lower bound, most often at once the number of rows or columns or `most`. Where it falls
        short, more primes: a minor is below the product of the lengths of its rows, so it is zero if more of them
        divide it than fit into that, and all larger minors are zero if all ranks are as small.

        Args:
            most: larger ranks do not occur, as the factors of a product show, or do not matter.

        Example:
            >>> RationalMatrix.of([[1, 2], [Fraction(1, 2), 1]]).rank()
            1
        """
        rows, columns = self.shape
        most = min(rows, columns) if most is None else min(most, rows, columns)
        if min(rows, columns) <= _SMALL_RANK:
            return min(int(self.flint.rank()), most)
        numbers = _by_rows(self.flint)
        lengths: tuple[list[int], list[int]] | None = None
        found, known = 0, 0
        for prime in map(_large_prime, count()):
            if (more := int(nmod_mat(numbers, prime).rank())) > found:
                found, known = more, 0
            if found >= most:
                break
            known += _PRIME_BITS
            lengths = lengths or _square_bits(numbers)
            if 2 * known > min(sum(line[: found + 1]) for line in lengths):
                break
        return min(found, most)

    def ratio(self, other: RationalMatrix) -> Fraction | None:
        """Return the number `c`, not 0, with `other = c self`, where this is not 0.

        Example:
            >>> RationalMatrix.of([[0, 2]]).ratio(RationalMatrix.of([[0, 3]]))
            Fraction(3, 2)
        """
        place = next((i for i, x in enumerate(self.flint.entries()) if x != 0), None)
        if place is None or self.shape != other.shape:
            return None
        where = divmod(place, self.shape[1])
        factor = other.flint[where] / self.flint[where]
        return as_fraction(factor) if factor != 0 and self.flint * factor == other.flint else None

    def scaled(self, factor: Fraction | int) -> RationalMatrix:
        """Return the matrix times a number."""
        return RationalMatrix(self.flint * as_fmpq(factor))

    def over_the_integers(self) -> RationalMatrix:
        """Return the matrix times a common denominator of its entries."""
        return RationalMatrix(fmpq_mat(self.flint.numer_denom()[0]))

    def rows(self, chosen: Iterable[int]) -> RationalMatrix:
        """Return some of the rows, in the order named."""
        chosen, columns = list(chosen), self.shape[1]
        if chosen == list(range(self.shape[0])):
            return self
        entries = self.flint.entries()
        picked = [entries[i * columns : (i + 1) * columns] for i in chosen]
        return RationalMatrix(fmpq_mat(len(picked), columns, [x for row in picked for x in row]))

    def apart(self, sizes: Iterable[int]) -> list[RationalMatrix]:
        """Return blocks of so many rows, from the top.

        Example:
            >>> [block.shape for block in RationalMatrix.identity(3).apart([1, 2])]
            [(1, 3), (2, 3)]
        """
        entries, columns, start, found = self.flint.entries(), self.shape[1], 0, []
        for size in sizes:
            found.append(RationalMatrix(fmpq_mat(size, columns, entries[start * columns : (start + size) * columns])))
            start += size
        return found

    def above(self, *others: RationalMatrix) -> RationalMatrix:
        """Return this matrix on top of others with as many columns."""
        every = (self, *others)
        entries = [x for matrix in every for x in matrix.flint.entries()]
        return RationalMatrix(fmpq_mat(sum(matrix.shape[0] for matrix in every), self.shape[1], entries))

    @property
    def mT(self) -> RationalMatrix:  # noqa: N802 - the array standard's name for the matrix transpose
        """The transpose."""
        return RationalMatrix(self.flint.transpose())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RationalMatrix) and bool(self.flint == other.flint)

    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.flint.nrows()), int(self.flint.ncols())

    def fractions(self) -> ObjectArray:
        """Return the entries as `Fraction`."""
        result = np.empty(self.shape[0] * self.shape[1], dtype=object)
        whole, common = self.flint.numer_denom()
        if common == 1:
            result[:] = [Fraction(int(x)) for x in whole.entries()]
        elif (low := int(common)).bit_length() <= _SHORT:
            result[:] = [Fraction(int(x), low) for x in whole.entries()]
        else:
            result[:] = [as_fraction(x) for x in self.flint.entries()]
        return result.reshape(self.shape)
