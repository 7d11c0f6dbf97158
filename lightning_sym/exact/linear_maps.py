"""The linear map that takes columns to columns, guessed from residues: whoever takes it proves it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.elimination import reduced_echelon_mod_p
from lightning_sym.exact.reconstruction import rational_vector
from lightning_sym.rings.dyadic import Plain
from lightning_sym.rings.limbs import Limbs
from lightning_sym.rings.prime_field import PRIMES

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
    """The only matrix with small entries that takes some of the columns to their images, modulo four primes.

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
    """The rational matrix with these residues, most often with few entries other than zero."""
    places = np.nonzero(np.any(residues, axis=0))
    # the number 1 says what the vector is a multiple of
    numbers = rational_vector([np.append(1, residue[places]) for residue in residues], PRIMES)
    if numbers is None:
        return None
    numerators = np.full(residues[0].shape, 0, dtype=object)
    numerators[places] = numbers[1:]
    return LinearMap(numerators, numbers[0])
