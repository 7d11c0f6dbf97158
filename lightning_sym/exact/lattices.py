"""Bases of rational vector spaces in short integer vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpz_mat

from lightning_sym.exact.modular import null_space_mod_p

_SMALL_PRIMES = (2, 3, 5, 7)


def short_basis(vectors: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Short integer vectors that span the same space over the rationals, primitive, the shortest ones first.

    The lattice of the vectors is made larger as long as a combination is divisible by 2, 3, 5 or 7, and reduced.

    Args:
        vectors: independent, of the same length.

    Example:
        >>> short_basis([(1, 1, 0), (1, 3, 2)])     # their difference is twice the first one of these
        [(0, 1, 1), (1, 1, 0)]
    """
    rows = [list(map(int, vector)) for vector in vectors]
    for p in _SMALL_PRIMES:
        while True:
            table = np.array([[entry % p for entry in row] for row in rows], dtype=np.int64)
            left = null_space_mod_p(table.T, p)
            if not len(left):
                break
            for combination in left:  # of a reduced kernel: the last entry that is not zero is 1, and of this row only
                last = int(np.flatnonzero(combination)[-1])
                signed = [int(c) - p * (int(c) > p // 2) for c in combination[: last + 1]]
                rows[last] = [
                    sum(c * row[j] for c, row in zip(signed, rows, strict=False) if c) // p
                    for j in range(len(rows[last]))
                ]
    reduced = fmpz_mat(rows).lll().tolist()
    found = [tuple(int(entry) for entry in row) for row in reduced]
    found = [row if next(e for e in row if e) > 0 else tuple(-e for e in row) for row in found]
    return sorted(found, key=lambda row: (max(map(abs, row)), sum(map(bool, row)), row))
