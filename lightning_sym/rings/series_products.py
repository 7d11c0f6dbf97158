r"""Products of power series over GF(p) on plain arrays: what `power_series` computes with.

The coefficients $M_0, M_1, \dots$ of a matrix of series lie along the last axis: `... x rows x columns x terms`,
centred residues. A product of two matrices of series is then one matrix product with a block Toeplitz matrix.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lightning_sym.rings.prime_field import EXACT_PRODUCTS, matmul_mod, reduce_mod

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
