r"""Ranks over GF(p) of matrices of some hundred rows, without elimination: a few products, and one continued fraction.

Elimination takes a step of the interpreter for each pivot. Here a matrix is multiplied by fixed matrices of random
numbers from both sides, to a square one, `M`, and the sequence $s_k = u M^{k+1} w$ is made of a few powers of `M`. The
Hankel matrix $H_m = (s_{i+j})_{i,j<m}$ is the product of the rows $u M^i$, of `M` and of the columns $M^j w$, so where
it is invertible the rank of `M` is at least `m`: a rigorous bound, whatever the random numbers are. With random numbers
the largest such `m` is the rank but for one matrix in a million (Wiedemann 1986; Kaltofen and Saunders 1991).

Which $H_m$ are invertible the continued fraction of $\sum_k s_k x^{-k-1}$ says. Let $P/Q$ be a convergent, reduced,
$m = \deg Q$. It agrees with the series in its first $2m$ terms at least, so $H_m$ is the Hankel matrix of $P/Q$. If a
vector `c` is in its kernel, then $c(x) P / Q$ has no terms in $x^{-1}, \dots, x^{-m}$. A proper fraction with the
denominator $Q$ that is not zero has one, so $Q$ divides $c P$, hence $c$, whose degree is less than `m`: $c = 0$.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from flint import fmpz_mat, nmod_mat, nmod_poly

from lightning_sym.rings.arrays import two_axes
from lightning_sym.rings.prime_field import MORE_PRIMES, PrimeFieldMatrix, matmul_mod
from lightning_sym.threads import threads_of_our_own

LARGEST = 200
"""Rows of the square matrix up to which this is faster than elimination."""

_SMALL = 16
"""Rows up to which flint's elimination is faster, the copy into its own matrix included."""

_BLAS_ALONE = 2**18
"""Multiplications of a product from which OpenBLAS may start threads: on a busy machine these wait for each other."""

_DOUBLINGS = 3
"""So often is the matrix squared: half as many products with vectors each time, which cost less than a square soon."""


@cache
def _random_numbers(power: int) -> npt.NDArray[np.float64]:
    """Return `2 ** power` random residues, centred for every one of the primes; always the same."""
    half = min(MORE_PRIMES) // 2
    numbers = np.random.default_rng(power).integers(-half, half + 1, size=1 << power).astype(np.float64)
    numbers.flags.writeable = False
    return numbers


def rank_at_least(matrix: PrimeFieldMatrix, most: int | None = None) -> int:
    """Return a lower bound of the rank over GF(p), nearly always the smaller one of the rank and `most`.

    Args:
        matrix: two axes; not empty.
        most: no more is asked for; the less, the faster.

    Raises:
        ShapeError: the matrix has not two axes.

    Example:
        >>> rank_at_least(PrimeFieldMatrix.of(np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]]), 4194301))
        2
    """
    rows, columns = two_axes(matrix.entries)
    n = min(rows, columns) if most is None else min(rows, columns, most)
    if n < 1:
        return 0
    if n * rows * columns > _BLAS_ALONE:
        with threads_of_our_own():
            return _rank_bound(matrix, n)
    return _rank_bound(matrix, n)


def _rank_bound(matrix: PrimeFieldMatrix, n: int) -> int:
    """Return the bound, at most `n`."""
    (rows, columns), p = matrix.entries.shape, matrix.prime
    left, right = n * rows, n * columns
    numbers = _random_numbers((left + right + 2 * n - 1).bit_length())
    square = matrix.entries
    if rows > n:
        square = matmul_mod(numbers[:left].reshape(n, rows), square, p)
    square = matmul_mod(square, numbers[left : left + right].reshape(columns, n), p)
    if n <= _SMALL:
        return int(nmod_mat(fmpz_mat(square.astype(np.int64).tolist()), p).rank())
    ends = numbers[left + right :]
    return _most_invertible_hankel(_sequence(square, ends[:n], ends[n : 2 * n], p), n, p)


def _sequence(m: npt.NDArray[np.float64], u: npt.NDArray[np.float64], w: npt.NDArray[np.float64], p: int) -> list[int]:
    r"""Return the residues $u M^{k+1} w$ for $k < 2n - 1$."""
    n = len(m)
    rows, power = u[None], m
    for _ in range(_DOUBLINGS):
        rows = np.concatenate((rows, matmul_mod(rows, power, p)))
        power = matmul_mod(power, power, p)
    columns = np.empty((-(-(2 * n - 1) // len(rows)), n))
    columns[0] = w = matmul_mod(m, w, p)
    for j in range(1, len(columns)):
        columns[j] = w = matmul_mod(power, w, p)
    found = matmul_mod(columns, rows.T, p).astype(np.int64) % p
    result: list[int] = found.ravel()[: 2 * n - 1].tolist()
    return result


def _most_invertible_hankel(sequence: list[int], n: int, p: int) -> int:
    """Return the largest `m <= n` with an invertible Hankel matrix, `m x m`, of the `2n - 1` terms."""
    before, rest = nmod_poly([0] * (2 * n - 1) + [1], p), nmod_poly(sequence[::-1], p)
    found = 0
    while (degree := rest.degree()) >= n - 1:
        found = 2 * n - 1 - degree
        before, rest = rest, before % rest
        if not rest:
            break
    return found
