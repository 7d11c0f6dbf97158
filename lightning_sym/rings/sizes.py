r"""A ring of sizes: straight-line code that runs over it says what it will take over another ring, before it begins.

A matrix is its shape and the length of its entries, and nothing else is known of it; each operation is entered in a
`Price`, at the rates of the ring that the work will be done in. So the price of a forward pass, of virtual weights, of
gradients is that very code over sizes, and no formula repeats what it multiplies. Ranks and solutions of linear
systems are operations with a price: that of an elimination that meets no zero. Code that branches on ranks has no sizes
before it runs, and keeps a bound.

Matrices of polynomials have a degree besides: an entry has as many terms as there are monomials of it.
"""

from __future__ import annotations

from collections import defaultdict
from math import comb

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.rates import RATES

LARGEST = 10**100
"""More operations and longer numbers than this are not told apart: floats end at 10^308."""

LARGE = 2**12
"""Entries of a matrix of floats from which on products by BLAS are faster than those by flint."""


class Price:
    """What was done over sizes, and the seconds that it takes at the rates of a ring.

    Args:
        ring: whose rates.
        variables: of the polynomials, if entries are polynomials.
        series: how many coefficients they have, if entries are power series.

    Example:
        >>> price = Price("rationals")
        >>> product = Sizes((2, 3), price, bits=8) @ Sizes((3, 4), price, bits=8)
        >>> product.shape, product.bits, price.done["product"], 0 < price.seconds < 1
        ((2, 4), 18, 24, True)
    """

    def __init__(self, ring: str, *, variables: int = 0, series: int = 0) -> None:
        self.ring, self.rates = ring, RATES[ring]
        self.variables, self.series = variables, series
        self._done: defaultdict[str, int] = defaultdict(int)
        self._units: defaultdict[str, float] = defaultdict(float)

    @property
    def done(self) -> dict[str, int]:
        """How often each operation was done, by its name in `Rates`."""
        return {what: count for what, count in self._done.items() if count}

    @property
    def units(self) -> dict[str, float]:
        """The same, longer numbers counted as often as they take longer."""
        return {what: units for what, units in self._units.items() if units}

    @property
    def seconds(self) -> float:
        """What all that was done takes."""
        rates = self.rates
        return float(sum(units * getattr(rates, what) for what, units in self._units.items()))

    def repeated(self, times: int, *, at_once: bool = False) -> Price:
        """Count all that was done so many times; matrices at once are as many operations as one."""
        for what in self._done:
            if not (at_once and what == "call"):
                self._done[what] *= times
                self._units[what] *= times
        return self

    def add(self, other: Price, times: int = 1) -> None:
        """Count all that was done elsewhere, so many times."""
        for what, count in other._done.items():
            self._done[what] += count * times
            self._units[what] += other._units[what] * times

    def empty(self) -> Price:
        """Return a price at the same rates, nothing done."""
        return Price(self.ring, variables=self.variables, series=self.series)

    def terms(self, degree: int) -> int:
        """Return how many terms an entry of a degree may have: a number has one, a polynomial as many as there are
        monomials, and a series its coefficients.
        """
        if not degree:
            return 1
        return self.series or comb(self.variables + degree - 1, degree)

    def pairs(self, degree: int, other: int) -> int:
        """Return how many products of terms a product of two entries takes; a series is cut off."""
        if self.series and degree and other:
            return self.series * (self.series + 1) // 2
        return self.terms(degree) * self.terms(other)

    def enter(self, what: str, count: int, words: float = 1.0) -> None:
        """Count operations of one kind, each so many times as long as one of one word."""
        count = count if count < LARGEST else LARGEST
        self._done[what] += count
        self._units[what] += count * words

    def multiplied(self, count: int, bits: int, more_bits: int) -> None:
        """Count products of two numbers."""
        words = (1 + bits // 64) * (1 + more_bits // 64)
        self.enter("product", count, 1.0 if words == 1 else float(words) ** self.rates.power)

    def read(self, count: int, bits: int) -> None:
        """Count entries that become numbers of Python's."""
        self.enter("read", count, 1 + bits / 640)

    def lowest(self, count: int, bits: int) -> None:
        """Count fractions whose denominators are made common, or which are brought to lowest terms."""
        if bits:
            self.enter("lowest", count, float(bits / 64) ** 1.5)


class Sizes:
    """A matrix of which only the shape and the length of the entries are known.

    Args:
        shape: rows and columns.
        price: where operations are entered.
        bits: of an entry, denominators of its row cleared.
        lowest: of numerator and denominator together in lowest terms; 0 for integers, and over all rings but the
            rationals.
        degree: of the polynomials that are the entries.
        most: its rank is no larger; that of a product is no larger than those of its factors.
    """

    __slots__ = ("bits", "degree", "lowest", "most", "price", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        price: Price,
        *,
        bits: int = 1,
        lowest: int = 0,
        degree: int = 0,
        most: int | None = None,
    ) -> None:
        self.shape, self.price, self.degree = shape, price, degree
        self.most = min(shape) if most is None else min(*shape, most)
        self.bits = bits if bits < LARGEST else LARGEST
        self.lowest = lowest if lowest < LARGEST else LARGEST

    def _made(self, shape: tuple[int, ...], bits: int, lowest: int, degree: int, most: int | None = None) -> Sizes:
        """Return a new matrix, its entries counted."""
        price = self.price
        if not price.rates.grows:
            bits, lowest = self.bits, 0
        price.enter("call", 1)
        price.enter("entry", shape[0] * shape[1], 1 + bits / 64)
        return Sizes(shape, price, bits=bits, lowest=lowest, degree=degree, most=most)

    def __matmul__(self, other: Sizes) -> Sizes:
        (rows, inner), columns, price = self.shape, other.shape[1], self.price
        pairs = price.pairs(self.degree, other.degree) if self.degree or other.degree else 1
        price.multiplied(rows * inner * columns * pairs, self.bits, other.bits)
        bits, lowest = self.bits + other.bits + inner.bit_length(), self.lowest + other.lowest
        if lowest:
            price.lowest(rows * inner, self.lowest)
            price.lowest(inner * columns, other.lowest)
            price.lowest(rows * columns, lowest)
        return self._made((rows, columns), bits, lowest, self.degree + other.degree, min(self.most, other.most))

    def __add__(self, other: Sizes) -> Sizes:
        bits, lowest = max(self.bits, other.bits) + 1, max(self.lowest, other.lowest)
        return self._made(self.shape, bits, lowest, max(self.degree, other.degree), self.most + other.most)

    def __neg__(self) -> Sizes:
        return self._made(self.shape, self.bits, self.lowest, self.degree, self.most)

    def __mul__(self, other: Sizes) -> Sizes:
        """Return the product entry by entry: no library has one for rationals, they are Python's numbers meanwhile."""
        shape = max(self.shape[0], other.shape[0]), max(self.shape[1], other.shape[1])
        pairs = self.price.pairs(self.degree, other.degree)
        self.price.multiplied(shape[0] * shape[1] * pairs, self.bits, other.bits)
        self.price.read(shape[0] * shape[1], self.bits)
        return self._made(shape, self.bits + other.bits, self.lowest + other.lowest, self.degree + other.degree)

    @property
    def mT(self) -> Sizes:  # noqa: N802 - the array standard's name for the matrix transpose
        return Sizes(
            self.shape[::-1], self.price, bits=self.bits, lowest=self.lowest, degree=self.degree, most=self.most
        )

    def like(self, numbers: npt.ArrayLike) -> Sizes:
        """Return the sizes of constants, which are short where lengths matter."""
        return Sizes(np.shape(numbers), self.price, bits=1 if self.price.rates.grows else self.bits)

    def evaluate(self, _normalization: object) -> Sizes:
        """Return a normalization of every entry."""
        self.price.enter("function", self.shape[0] * self.shape[1] * self.price.pairs(self.degree, self.degree))
        return self._made(self.shape, self.bits, self.lowest, self.degree)

    def apply(self, _taylor: object) -> Sizes:
        """Return the same, by its Taylor series."""
        return self.evaluate(None)

    def reciprocal(self, _inverses: object) -> Sizes:
        """Return one over every entry."""
        return self.evaluate(None)

    def after(self, floats: npt.NDArray[np.generic] | Sizes) -> Sizes:
        """Return machine numbers times this matrix, by the digits of both."""
        price, (rows, columns) = self.price, floats.shape
        price.enter("digits", rows * columns)
        price.enter("cut", (rows + columns) * self.shape[1])
        price.enter("by_digits", rows * columns * self.shape[1], float(1 + self.bits // 64))
        return self._made((rows, self.shape[1]), self.bits, 0, self.degree)

    def read(self) -> None:
        """Count entries that become numbers of Python's, are compared and printed."""
        price, count = self.price, self.shape[0] * self.shape[1]
        price.read(count, self.bits)
        price.lowest(count, self.lowest)

    def rank(self, most: int | None = None) -> int:
        """Count an elimination; return the largest rank that there can be.

        Modulo one prime it is enough where the rank is full; where it falls short more primes are needed the longer
        entries are, and sizes do not know which it will be.
        """
        rows, columns = self.shape
        least = self.most if most is None else min(self.most, most)
        words = float((1 + self.bits // 64) ** 2) ** self.price.rates.power if self.price.rates.grows else 1.0
        self.price.enter("call", 1)
        self.price.enter("reduced", rows * columns, 1 + self.bits / 64)
        self.price.enter("eliminated", rows * columns * min(rows, columns), words)
        return least

    def spanned(self, *others: Sizes) -> Sizes:
        """Count a reduced basis of the span of this one, which is reduced, and of more columns; return the largest.

        By Cramer's rule its entries are as long as the longest new columns together, as many as the rank may grow;
        of what is reduced all minors are as long as the entries.
        """
        rows, columns = self.shape[0], sum(each.shape[1] for each in (self, *others))
        size, long, bits = self.most, self.bits, max(each.bits for each in (self, *others))
        for other in sorted(others, key=lambda each: -each.bits):
            more = min(other.most, rows - size)
            size, long = size + more, long + more * other.bits
        Sizes((size, size), self.price, bits=long) @ Sizes((size, rows + columns), self.price, bits=bits)
        found = Sizes((rows, size), self.price, bits=long)
        found.read()
        return found

    def solved(self, columns: int) -> Sizes:
        """Count the solution of a linear system with this matrix and so many right sides; return its size.

        By Cramer's rule its entries are as long as all rows together.
        """
        rows, unknowns = self.shape
        words = 1 + rows * self.bits / 64 if self.price.rates.grows else 1.0
        self.price.enter("solved", rows * unknowns * (min(rows, unknowns) + columns), words)
        return self._made((unknowns, columns), rows * self.bits, 2 * rows * self.bits, 0)
