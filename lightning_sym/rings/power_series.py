r"""Matrices of truncated power series in $\varepsilon$ over GF(p), all coefficients in one array.

Along $X = \varepsilon Z$ the Taylor coefficients of a normalized network are polynomials in its weights, with
rational coefficients whose denominators involve only the number of tokens, $S(0)$ and the coefficients of $S$. So a
transcendental network is as exact here as a polynomial one. It is odd in $\varepsilon$, and all that is computed on
the way is even or odd: every other coefficient is zero and not stored.

Products are taken on plain arrays: the coefficients $M_0, M_1, \dots$ of a matrix of series lie along the last axis:
`... x rows x columns x terms`, centred residues. A product of two matrices of series is then one matrix product with a
block Toeplitz matrix.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.arrays import Rows
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, PrimeFieldMatrix, matmul_mod, reduce_mod

FloatArray = npt.NDArray[np.float64]

_BLOCK = 32
"""Coefficients of a product that are computed at once: half of a Toeplitz matrix is zero, and blocks leave out most."""

_TOEPLITZ_BYTES = 2**21


def series_first(series: FloatArray) -> FloatArray:
    """Return the series axis first, contiguous: then whole coefficients are multiplied entry by entry at once."""
    return np.ascontiguousarray(series.transpose(-1, *range(series.ndim - 1)))


def series_last(series: FloatArray) -> FloatArray:
    """Return the series axis behind again."""
    return series.transpose(*range(1, series.ndim), 0)


def _toeplitz(b: FloatArray, inner: range, outer: range) -> FloatArray:
    """Return the matrix `T[(s, i), (c, n)] = b[s, c, n - i]`, for `i` in `inner`, `n` in `outer`; 0 outside of `b`."""
    lowest = outer.start - inner.stop + 1
    padded = np.zeros((*b.shape[:-1], len(outer) + len(inner) - 1))
    stored = slice(max(0, lowest), min(b.shape[-1], outer.stop - inner.start))
    padded[..., stored.start - lowest : stored.stop - lowest] = b[..., stored]
    # windows of `padded`, from the last one to the first
    *steps, middle, column, term = padded.strides
    shape = (*b.shape[:-2], len(inner), b.shape[-2], len(outer))
    start, strides = term * (len(inner) - 1), (*steps, middle, -term, column, term)
    windows = np.ndarray(shape, padded.dtype, padded, start, strides)
    return windows.reshape(*b.shape[:-3], b.shape[-3] * len(inner), b.shape[-2] * len(outer))


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of two shapes have together; NumPy takes longer to say it."""
    return one if one == other or not other else other if not one else np.broadcast_shapes(one, other)


def product_bytes(middle: int, columns: int, terms: int) -> int:
    """Return the largest Toeplitz matrices that a matrix product of series holds at a time."""
    return max(_TOEPLITZ_BYTES, 8 * middle * columns * terms * min(terms, _BLOCK))


def matrix_product(a: FloatArray, b: FloatArray, start: int, stop: int, p: int) -> FloatArray:
    r"""Return coefficients `start, ..., stop - 1` of the product of two matrices of series: $\sum_i a_i b_{n-i}$.

    Args:
        a: `... x rows x middle x terms`.
        b: `... x middle x columns x terms`; leading axes are broadcast.
        start: first coefficient wanted.
        stop: one past the last.
        p: the prime.

    Example:
        >>> a = np.array([[[1.0, 2.0]]])                                # 1 + 2 u
        >>> matrix_product(a, a, 0, 3, 4194301).tolist()
        [[[1.0, 4.0, 4.0]]]
    """
    if b.shape[-1] == 1 < a.shape[-1]:
        return matrix_product(b.swapaxes(-3, -2), a.swapaxes(-3, -2), start, stop, p).swapaxes(-3, -2)
    rows, middle, columns = a.shape[-3], a.shape[-2], b.shape[-2]
    leading = _common(a.shape[:-3], b.shape[:-3])
    alike = b.ndim > 3 and a.shape[:-3] in ((), b.shape[:-3])
    if a.shape[-1] == 1:
        flat = b[..., start:stop].reshape(*b.shape[:-3], middle, -1)
        return matmul_mod(a[..., 0], flat, p).reshape(*leading, rows, columns, stop - start)
    result = np.empty((*leading, rows, columns, stop - start))
    for first in range(start, stop, _BLOCK):
        outer = range(first, min(first + _BLOCK, stop))
        inner = range(max(0, first - b.shape[-1] + 1), min(a.shape[-1], outer.stop))
        # of the matrices of a batch so many at once as the cache holds
        bytes_each = 8 * middle * len(inner) * columns * len(outer)
        size, step = (len(b), max(1, _TOEPLITZ_BYTES // bytes_each)) if alike else (1, 1)
        for at in range(0, size, step):
            left, right, target = (m[at : at + step] if alike and m.ndim > 3 else m for m in (a, b, result))
            left = left[..., inner.start : inner.stop]
            flat = left.reshape(*left.shape[:-2], middle * len(inner))
            found = matmul_mod(flat, _toeplitz(right, inner, outer), p)
            part = found.reshape(*target.shape[:-1], len(outer))
            target[..., first - start : first - start + len(outer)] = part
    return result


def entry_product(a: FloatArray, b: FloatArray, start: int, stop: int, p: int) -> FloatArray:
    """Return the same for the product entry by entry, of arrays of shapes that NumPy can broadcast.

    Example:
        >>> entry_product(np.array([1.0, 2.0]), np.array([3.0]), 0, 2, 4194301).tolist()
        [3.0, 6.0]
    """
    if a.shape[-1] > b.shape[-1]:
        a, b = b, a
    return series_last(leading_product(series_first(a), series_first(b), start, stop, p))


def leading_product(a: FloatArray, b: FloatArray, start: int, stop: int, p: int) -> FloatArray:
    """Return the same of arrays with the series axis first, and so is that of the result.

    Example:
        >>> leading_product(np.array([1.0, 2.0]), np.array([3.0]), 0, 2, 4194301).tolist()
        [3.0, 6.0]
    """
    if a.ndim > b.ndim:
        b = b.reshape(len(b), *(1,) * (a.ndim - b.ndim), *b.shape[1:])
    shape = _common(a.shape[1:], b.shape[1:])
    if len(a) == 1 and start == 0 and stop <= len(b):
        return reduce_mod(a * b[:stop], p)
    result = np.zeros((stop - start, *shape))
    for i, factor in enumerate(a):
        if i % EXACT_PRODUCTS == EXACT_PRODUCTS - 1:
            result = reduce_mod(result, p)
        first, last = max(start, i), min(stop, i + len(b))
        if first < last:
            result[first - start : last - start] += factor * b[first - i : last - i]
    return reduce_mod(result, p)


def recurrence(first: FloatArray, slopes: FloatArray, factors: FloatArray, p: int) -> FloatArray:
    r"""Return the series with $r_n = f_n \sum_{k=1}^n s_k r_{n-k}$, entry by entry, the series axis first.

    Args:
        first: $r_0$.
        slopes: $s_0, s_1, \dots$, of which the first is not used; as many coefficients are computed.
        factors: $f_1, f_2, \dots$
        p: the prime.

    Example:
        >>> recurrence(np.ones(1), np.array([[0.0], [2.0], [1.0]]), np.ones((2, 1)), 4194301)[:, 0].tolist()
        [1.0, 2.0, 5.0]
    """
    result, sums = np.empty_like(slopes), np.zeros_like(slopes)
    result[0] = first
    for n in range(1, len(slopes)):
        if n % EXACT_PRODUCTS == 0:
            sums[n:] = reduce_mod(sums[n:], p)
        sums[n:] += slopes[1 : len(slopes) - n + 1] * result[n - 1]
        result[n] = reduce_mod(reduce_mod(sums[n], p) * factors[n - 1], p)
    return result


SeriesProduct = Callable[[FloatArray, FloatArray, int, int, int], FloatArray]

_PRODUCTS: dict[object, SeriesProduct] = {operator.matmul: matrix_product, operator.mul: entry_product}


class PowerSeries:
    r"""$\sum_k \varepsilon^{v + 2k} M_k$ modulo $\varepsilon^{n+1}$, `v` the valuation and `n` the order.

    Args:
        entries: centred residues, `... x rows x columns x terms`: the coefficients $M_0, M_1, \dots$ along the last
            axis, those beyond being zero; a constant has one.
        prime: the modulus.
        valuation: `v`.
        order: `n`.

    Example:
        >>> s = PowerSeries.of({2: PrimeFieldMatrix.of(np.array([[2]]), 4194301)}, order=4)
        >>> e = s.apply(lambda k: Fraction(1, [1, 1, 2][k]))            # exp(2 eps^2)
        >>> [int(e.coefficient(k).residues()[0, 0]) for k in range(5)]
        [1, 0, 2, 0, 2]
    """

    __slots__ = ("entries", "order", "prime", "valuation")

    def __init__(self, entries: FloatArray, prime: int, valuation: int, order: int) -> None:
        self.entries, self.prime, self.valuation, self.order = entries, prime, valuation, order

    @classmethod
    def of(cls, coefficients: Mapping[int, PrimeFieldMatrix], order: int) -> PowerSeries:
        """Return the series with these coefficients, by degrees, which must be all even or all odd."""
        first, prime = min(coefficients), next(iter(coefficients.values())).prime
        if len({degree % 2 for degree in coefficients}) > 1:
            raise ValueError(f"degrees must be all even or all odd, got {sorted(coefficients)}")
        shape = np.broadcast_shapes(*(matrix.entries.shape for matrix in coefficients.values()))
        entries = np.zeros((*shape, (min(max(coefficients), order) - first) // 2 + 1))
        for degree, matrix in coefficients.items():
            if degree <= order:
                entries[..., (degree - first) // 2] = matrix.entries
        return cls(entries, prime, first, order)

    @property
    def terms(self) -> int:
        """How many coefficients are stored."""
        return int(self.entries.shape[-1])

    def coefficient(self, degree: int) -> PrimeFieldMatrix:
        """Return the coefficient of one degree, at most `order`."""
        place, odd = divmod(degree - self.valuation, 2)
        stored = not odd and 0 <= place < self.terms
        return PrimeFieldMatrix(self.entries[..., place] if stored else np.zeros(self.entries.shape[:-1]), self.prime)

    def _times(self, other: PowerSeries, product: SeriesProduct, lowest: int, highest: int) -> PowerSeries:
        """Return the coefficients of a product in these degrees."""
        valuation = self.valuation + other.valuation
        start = max(0, (lowest - valuation + 1) // 2)
        stored = self.terms + other.terms - 1 if self.terms and other.terms else 0
        stop = min(stored, (highest - valuation) // 2 + 1)
        entries = product(self.entries, other.entries, start, max(start, stop), self.prime)
        return PowerSeries(entries, self.prime, valuation + 2 * start, self.order)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, rows and columns."""
        return self.entries.shape[:-1]

    def __matmul__(self, other: PowerSeries) -> PowerSeries:
        return self._times(other, matrix_product, 0, self.order)

    def __mul__(self, other: PowerSeries) -> PowerSeries:
        """Return the product entry by entry."""
        return self._times(other, entry_product, 0, self.order)

    def gradient_part(
        self, product: Callable[[PowerSeries, PowerSeries], PowerSeries], left: PowerSeries, right: PowerSeries
    ) -> PowerSeries:
        """Return `product(left, right)`, a gradient with respect to this series, as far as it can matter.

        A gradient `G` is used for the coefficient of degree `order` of `<G, dM>`, `dM` being of the degrees stored
        here: for a constant, which has one, a single coefficient is wanted.
        """
        highest = self.order - self.valuation
        return left._times(right, _PRODUCTS[product], highest - 2 * (self.terms - 1), highest)

    @staticmethod
    def _aligned(others: Sequence[PowerSeries]) -> tuple[int, list[FloatArray]]:
        """Return the lowest valuation, and the coefficients of each from there on, as many of all."""
        first = min(s.valuation for s in others)
        if any((s.valuation - first) % 2 for s in others):
            raise ValueError("an even and an odd series have no sum here")
        starts = [(s.valuation - first) // 2 for s in others]
        terms = max(start + s.terms for start, s in zip(starts, others, strict=True))
        found = []
        for start, s in zip(starts, others, strict=True):
            entries = s.entries
            if s.terms < terms:
                entries = np.zeros((*s.entries.shape[:-1], terms))
                entries[..., start : start + s.terms] = s.entries
            found.append(entries)
        return first, found

    def __add__(self, other: PowerSeries) -> PowerSeries:
        first, (one, two) = self._aligned([self, other])
        return PowerSeries(reduce_mod(one + two, self.prime), self.prime, first, self.order)

    def stacked(self, matrices: Sequence[PowerSeries]) -> PowerSeries | None:
        """Return matrices one below the other; `None` where that is no matrix, or no batch of them."""
        ends = self.shape[:-2], self.shape[-1]
        if any((m.shape[:-2], m.shape[-1]) != ends or (m.prime, m.order) != (self.prime, self.order) for m in matrices):
            return None
        first, entries = self._aligned(matrices)
        return PowerSeries(np.concatenate(entries, axis=-3), self.prime, first, self.order)

    def part(self, matrices: Sequence[PowerSeries], index: int) -> PowerSeries:
        """Return the rows that stand where one of these matrices would, if they were stacked."""
        start = sum(m.shape[-2] for m in matrices[:index])
        rows = self.entries[..., start : start + matrices[index].shape[-2], :, :]
        return PowerSeries(rows, self.prime, self.valuation, self.order)

    @property
    def mT(self) -> PowerSeries:  # noqa: N802
        return PowerSeries(self.entries.swapaxes(-3, -2), self.prime, self.valuation, self.order)

    def _numbers(self, constants: Rows | Sequence[Fraction]) -> FloatArray:
        return PrimeFieldMatrix(self.entries, self.prime).like(constants).entries

    def like(self, constants: npt.ArrayLike) -> PowerSeries:
        """Return a constant matrix of integers or fractions."""
        return PowerSeries(self._numbers(constants)[..., None], self.prime, 0, self.order)

    def _all_coefficients(self) -> FloatArray:
        """Return those of degrees `0, 2, 4, ...` up to `order`, the series axis first; for even series."""
        result = np.zeros((self.order // 2 + 1, *self.entries.shape[:-1]))
        start = self.valuation // 2
        result[start : start + self.terms] = series_first(self.entries)
        return result

    def apply(self, taylor: Callable[[int], Fraction]) -> PowerSeries:
        """Return `S` of every entry, for an even series without constant term.

        `taylor(k)` is the `k`-th coefficient of `S`.

        By Horner's rule; what is multiplied by a power of the series is wanted up to fewer degrees.
        """
        if self.valuation % 2 or self.valuation < 2:
            raise ValueError("S can be applied to even series without constant term only")
        lowest = self.valuation // 2
        most = self.order // self.valuation
        numbers = self._numbers([taylor(k) for k in range(most + 1)])
        highest = int(max(np.flatnonzero(numbers), default=0))  # few have a degree
        s = series_first(self.entries)
        result = np.full((1, *s.shape[1:]), numbers[highest])
        for k in range(highest - 1, -1, -1):
            stored = min(self.order // 2 - k * lowest, lowest + len(s) + len(result) - 2) + 1
            inner, result = result, np.zeros((stored, *s.shape[1:]))
            result[lowest:] = leading_product(s, inner, 0, stored - lowest, self.prime)
            result[0] = numbers[k]
        return PowerSeries(series_last(result), self.prime, 0, self.order)

    def reciprocal(self, inverse_constants: npt.ArrayLike) -> PowerSeries:
        """Return `1 / entry` of an even series, given reciprocals of the constant terms, which must be numbers."""
        slopes, first = self._all_coefficients(), self._numbers(inverse_constants)
        inverses = np.broadcast_to(-first, (len(slopes) - 1, *first.shape))
        result = recurrence(np.broadcast_to(first, slopes.shape[1:]), slopes, inverses, self.prime)
        return PowerSeries(series_last(result), self.prime, 0, self.order)
