"""Elementary divisors of matrices of power series modulo a prime, from their first coefficients."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import pivots_mod_p, rank_mod_p, row_basis_mod_p
from lightning_sym.rings.prime_field import PRIMES, matmul_mod
from proofs_check.claim import Undecided

P = PRIMES[0]
Residues = npt.NDArray[np.int64]
"""From 0 on."""


def rank(rows: Residues) -> int:
    """Return the rank of a matrix modulo the prime."""
    return rank_mod_p(_centred(rows), P)


def elementary_divisors(rows: Residues) -> Counter[int]:
    """Return how often each power of `t` is an elementary divisor of a matrix of series, `(rows, columns, powers)`.

    Powers of `t` are divided off one by one: the minor of a largest rank of the coefficients of `t^k` is `t^k` times an
    invertible matrix of series, with which its rows clear the others, and lose no precision by it. Those that are 0 up
    to the known order are not counted.

    Raises:
        Undecided: pivots are missing.

    Example:
        >>> t, one = [0, 1, 0], [1, 0, 0]
        >>> elementary_divisors(np.array([[t, one], [t, one]])), elementary_divisors(np.array([[t, one], [t, t]]))
        (Counter({0: 1}), Counter({0: 1, 1: 1}))
    """
    left, found = rows % P, Counter[int]()
    for power in range(rows.shape[2]):
        while left[:, :, power].any():  # once more only where a rank fell short
            chosen, columns = pivots_mod_p(left[:, :, power], P)
            if not chosen:
                raise Undecided("no pivot was found in a matrix that is not zero")
            pivots = left[chosen][:, :, power:].transpose(2, 0, 1)
            rest = np.delete(left, chosen, axis=0)[:, :, power:].transpose(2, 0, 1)
            quotients = _series_product(rest[:, :, columns], _series_inverse(pivots[:, :, columns]))
            left = np.zeros((rest.shape[1], *rows.shape[1:]), dtype=np.int64)
            left[:, :, power:] = (rest - _series_product(quotients, pivots)).transpose(1, 2, 0) % P
            found[power] += len(chosen)
    return found


def _times(x: Residues, y: Residues) -> Residues:
    return np.asarray(matmul_mod(_centred(x), _centred(y), P), dtype=np.int64) % P


def _centred(x: Residues) -> npt.NDArray[np.float64]:
    return np.where(x > P // 2, x - P, x).astype(np.float64)


def _series_product(x: Residues, y: Residues) -> Residues:
    """Multiply two series of matrices, powers of the letter first."""
    found = np.zeros((len(x), x.shape[1], y.shape[2]), dtype=np.int64)
    for k, coefficient in enumerate(x):
        found[k:] = (found[k:] + _times(coefficient, y[: len(x) - k])) % P
    return found


def _series_inverse(x: Residues) -> Residues:
    """Return the inverse of a series of matrices whose constant term is invertible."""
    first = inverse_matrix(x[0])
    found = [first]
    for n in range(1, len(x)):
        total = np.sum([_times(x[k], found[n - k]) for k in range(1, n + 1)], axis=0) % P
        found.append(-_times(first, total) % P)
    return np.stack(found)


def inverse_matrix(matrix: Residues) -> Residues:
    """Return the inverse modulo the prime, by elimination."""
    return row_basis_mod_p(np.concatenate([matrix % P, np.eye(len(matrix), dtype=np.int64)], axis=1), P)[
        :, len(matrix) :
    ]
