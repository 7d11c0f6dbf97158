"""From residues modulo several primes back to rational vectors; what comes back is a guess, to be checked.

The linear map that takes columns to columns, guessed from residues: whoever takes it proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, lcm
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.elimination import reduced_echelon_mod_p
from lightning_sym.exact.modular import small_fraction
from lightning_sym.rings.arrays import Plain
from lightning_sym.rings.limbs import Limbs
from lightning_sym.rings.prime_field import PRIMES


def rational_vector(residues: Sequence[npt.NDArray[np.number]], primes: Sequence[int]) -> tuple[int, ...] | None:
    """Return a primitive integer vector, a multiple of the rational one with these residues; None if none is small.

    Numerators and denominators are at most the root of half the product of the primes: there is at most one such
    rational number. That the vector is the one that is looked for must be checked by other means.

    Args:
        residues: the vector modulo each prime.
        primes: different ones.

    Example:
        >>> rational_vector([np.array([1, 3, 5])], [7]) is None       # 3 is 1 / 5, and 5 is too large for 7
        True
        >>> rational_vector([np.array([1, 51, 2])], [101])            # 1, 1/2, 2
        (2, 1, 4)
    """
    modulus, values = 1, [0] * len(residues[0])
    for vector, p in zip(residues, primes, strict=True):
        inverse = pow(modulus, -1, p)
        values = [v + modulus * ((int(r) - v) * inverse % p) for v, r in zip(values, vector, strict=True)]
        modulus *= p
    bound, common = isqrt(modulus // 2), 1
    numerators, denominators = [], []
    for value in values:
        scaled = value * common % modulus  # denominators repeat: with those that are known most are integers
        if min(scaled, modulus - scaled) <= bound // common:
            numerators.append(scaled if scaled <= modulus // 2 else scaled - modulus)
            denominators.append(common)
            continue
        top, bottom = small_fraction(value, modulus, bound)
        if bottom == 0:
            return None
        numerators.append(top)
        denominators.append(bottom)
        common = lcm(common, bottom)
        if common > bound:
            return None
    integers = [n * (common // d) for n, d in zip(numerators, denominators, strict=True)]
    divisor = int(np.gcd.reduce(np.array(integers, dtype=object))) or 1
    sign = next((1 if x > 0 else -1 for x in integers if x), 1)
    return tuple(sign * x // divisor for x in integers)


MOST_COLUMNS = 4000
"""Columns that are looked at: elimination modulo a prime takes no more."""

_MORE = 16
"""Columns beyond as many as rows, most often enough to determine the map."""


class LinearMap(NamedTuple):
    """A rational matrix.

    Attributes:
        numerators: integers, `d' x d`, of Python's own.
        denominator: positive, of all.
    """

    numerators: npt.NDArray[np.object_]
    denominator: int


def guessed_map(columns: Plain, images: Plain) -> LinearMap | None:
    """Return the only matrix with small entries that takes some of the columns to their images, modulo four primes.

    Args:
        columns: machine numbers, `d x n`.
        images: of the columns, `d' x n`.

    Returns:
        A guess; `None` where the columns that are looked at have a smaller rank than `d`, or there is no such matrix.

    Example:
        >>> guessed_map(np.array([[1, 0, 1], [1, 2, 3]]), np.array([[0.5, 0, 0.5], [1, 2, 3]]))
        LinearMap(numerators=array([[1, 0],
               [0, 2]], dtype=object), denominator=2)
    """
    d, n = columns.shape
    for count in sorted({min(n, d + _MORE, MOST_COLUMNS), min(n, MOST_COLUMNS)}):
        if count < d:
            return None
        both = [Limbs.of(matrix[:, :count]) for matrix in (columns, images)]
        found: list[npt.NDArray[np.int64]] = []
        for p in PRIMES:
            form, echelon = reduced_echelon_mod_p(np.vstack([limbs.residues(p) for limbs in both]).T, p)
            if echelon.rank > d:  # what is written here is no function of the columns
                return None
            if echelon.pivot_columns.tolist() != list(range(d)):
                break
            found.append(np.mod(form[:, d:].T.astype(np.int64), p))
        else:
            return _lifted(found)
    return None


def _lifted(residues: list[npt.NDArray[np.int64]]) -> LinearMap | None:
    """Return the rational matrix with these residues, most often with few entries other than zero."""
    places = np.nonzero(np.any(residues, axis=0))
    # the number 1 says what the vector is a multiple of
    numbers = rational_vector([np.append(1, residue[places]) for residue in residues], PRIMES)
    if numbers is None:
        return None
    numerators = np.full(residues[0].shape, 0, dtype=object)
    numerators[places] = numbers[1:]
    return LinearMap(numerators, numbers[0])
