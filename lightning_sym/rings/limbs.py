"""Matrices of machine numbers modulo many primes: split once into pieces of 21 bits, whose residues are sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.rings.arrays import Plain, is_plain
from lightning_sym.rings.prime_field import reduce_mod

Floats = npt.NDArray[np.float64]

BITS = 21
"""Of a piece: times a centred residue it is below 2^42, and a hundred such products are exact in float64."""


@dataclass(frozen=True, eq=False)
class Limbs:
    r"""A matrix $\sum_j 2^{e_j} X_j$ of machine numbers.

    Attributes:
        pieces: the $X_j$, integers of at most 21 bits as float64, and the $e_j$.
        power: the matrix is an integer matrix times two to this power.
        bound: the integers are below it in absolute value.

    Example:
        >>> half = Limbs.of(np.array([[0.5, -3.0]]))
        >>> half.power, half.bound, half.residues(4194301).tolist()
        (-1, 7, [[-2097150.0, -3.0]])
        >>> np.mod(Limbs.of(np.array([[2**62, 7]])).residues(4194301), 4194301).tolist() == [[2**62 % 4194301, 7]]
        True
    """

    pieces: tuple[tuple[Floats, int], ...]
    power: int
    bound: int

    @classmethod
    def of(cls, matrix: Plain) -> Limbs:
        """Return the pieces of a matrix of finite numbers.

        Raises:
            BadInput: the array holds no machine numbers: others would be rounded.
        """
        if not is_plain(matrix):
            raise BadInput(f"residues must be those of machine numbers, got an array of {np.asarray(matrix).dtype}")
        found = _of_integers(matrix) if matrix.dtype.kind in "iu" else _of_floats(matrix)
        pieces = [(piece, power) for piece, power in found if piece.any()]
        if not pieces:
            return cls(((np.zeros(matrix.shape), 0),), 0, 1)
        last, least = pieces[-1]
        low = int(np.bitwise_or.reduce(np.abs(last).astype(np.int64), axis=None))
        power = least + (low & -low).bit_length() - 1
        largest = int(np.abs(pieces[0][0]).max()) + 1  # what follows the first piece is below one of its units
        shift = pieces[0][1] - power
        return cls(tuple(pieces), power, largest << shift if shift >= 0 else (largest >> -shift) + 1)

    def residues(self, p: int) -> Floats:
        """Return the matrix modulo a prime below 2^22, centred."""
        total: Floats | None = None
        for piece, power in self.pieces:
            factor = pow(2, power, p)
            part = piece * float(factor - p if factor > p // 2 else factor)
            total = part if total is None else np.add(total, part, out=total)
        return reduce_mod(total, p)  # type: ignore[arg-type] # there is a piece


def _of_floats(matrix: Plain) -> list[tuple[Floats, int]]:
    rest, pieces = matrix.astype(np.float64), []
    power = int(np.frexp(np.abs(rest).max(initial=0.0))[1])
    while rest.any():
        power -= BITS
        piece = np.trunc(np.ldexp(rest, -power))
        rest -= np.ldexp(piece, power)  # exact: these are the upper bits of each entry
        pieces.append((piece, power))
    return pieces


def _of_integers(matrix: Plain) -> list[tuple[Floats, int]]:
    sign, rest = np.sign(matrix).astype(np.float64), np.abs(matrix).astype(np.uint64)
    pieces: list[tuple[Floats, int]] = []
    while rest.any():
        pieces.insert(0, (sign * (rest & np.uint64(2**BITS - 1)).astype(np.float64), BITS * len(pieces)))
        rest >>= np.uint64(BITS)
    return pieces
