"""The fields that a network is followed over, by the few operations on matrices that this takes: GF(p) and Q.

Over sizes the same code says what it will take over Q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.modular import null_space_of_echelon, rank_mod_p, row_basis_mod_p
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues, reduce_mod
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes

M = TypeVar("M", bound=Any)
S = TypeVar("S", bound=Any)
"""Matrices over a field, and spaces of columns over it."""


@dataclass(frozen=True)
class Field(Generic[M, S]):
    """A field: what is done with matrices over it besides sums and products.

    Attributes:
        of: the matrix of an array of rational numbers; a `ValueError` where a prime divides a denominator.
        entries: the array of a matrix: fractions, or residues.
        rank: of a matrix; or a number, if the rank is larger.
        stacked: matrices one above the other.
        identity: the identity matrix of a size: columns that stand for all vectors.
        no_columns: the zero space in so many coordinates. Spaces are spanned by columns; they have a reduced `basis`,
            a `dimension`, can be `extended`, and have `orthogonal` columns.
    """

    of: Callable[[npt.NDArray[Any]], M]
    entries: Callable[[M], npt.NDArray[Any]]
    rank: Callable[[M, int], int]
    stacked: Callable[[Sequence[M]], M]
    identity: Callable[[int], M]
    no_columns: Callable[[int], S]


Q = Field[RationalMatrix, Subspace](
    RationalMatrix.of,
    RationalMatrix.fractions,
    RationalMatrix.rank,
    lambda matrices: matrices[0].above(*matrices[1:]),
    RationalMatrix.identity,
    Subspace.zero,
)
"""The rational numbers, exactly."""


@dataclass(frozen=True, eq=False)
class ResidueSpace:
    """A space of columns over GF(p).

    Attributes:
        rows: the reduced basis, one vector a row.
        prime: `p`.
    """

    rows: Residues
    prime: int

    @property
    def basis(self) -> PrimeFieldMatrix:
        """The basis as columns."""
        return PrimeFieldMatrix(reduce_mod(self.rows.T.astype(np.float64), self.prime), self.prime)

    @property
    def dimension(self) -> int:
        """Number of basis vectors."""
        return len(self.rows)

    def extended(self, *matrices: PrimeFieldMatrix) -> ResidueSpace:
        """Return the span of this space and more columns; this very object where it is everything."""
        size = self.rows.shape[1]
        if self.dimension == size:
            return self
        rows = np.concatenate([self.rows, *(matrix.entries.T for matrix in matrices)])
        if len(rows) == size and (rows == (one := np.eye(size, dtype=np.int64))).all():  # without an elimination
            return ResidueSpace(one, self.prime)
        return ResidueSpace(row_basis_mod_p(rows.astype(np.int64), self.prime), self.prime)

    def orthogonal(self) -> PrimeFieldMatrix:
        """Return columns that span all that is orthogonal to this space."""
        return PrimeFieldMatrix.of(null_space_of_echelon(self.rows, self.prime).T, self.prime)


@cache
def prime_field(p: int) -> Field[PrimeFieldMatrix, ResidueSpace]:
    """Return the residues modulo a prime: what is independent there is independent over the rationals.

    Example:
        >>> field = prime_field(4194301)
        >>> space = field.no_columns(2).extended(field.of(np.array([[1], [2]])))
        >>> space.basis.residues().T.tolist(), field.rank(space.basis, 2)
        ([[1, 2]], 1)
    """
    return Field(
        PrimeFieldMatrix.of(np.array([[1]]), p).like,
        PrimeFieldMatrix.residues,
        lambda matrix, most: min(rank_mod_p(matrix.entries, p), most),
        lambda matrices: PrimeFieldMatrix(np.concatenate([matrix.entries for matrix in matrices]), p),
        lambda size: PrimeFieldMatrix(np.eye(size), p),
        lambda rows: ResidueSpace(np.zeros((0, rows), dtype=np.int64), p),
    )


@dataclass(frozen=True, eq=False)
class SizedSpace:
    """A space of which only the dimension is known: the largest that it can have.

    Attributes:
        basis: its size.
    """

    basis: Sizes

    @property
    def dimension(self) -> int:
        """Number of basis vectors."""
        return self.basis.shape[1]

    def extended(self, *matrices: Sizes) -> SizedSpace:
        """Return the span of this space and more columns, what it takes counted; this very object if it is all."""
        if self.dimension == self.basis.shape[0]:
            return self
        return SizedSpace(self.basis.spanned(*matrices))

    def orthogonal(self) -> Sizes:
        """Return the size of columns that span all that is orthogonal: they are read off the basis."""
        rows, columns = self.basis.shape
        found = Sizes((rows, rows - columns), self.basis.price, bits=self.basis.bits)
        found.read()
        return found


def sizes_field(price: Price) -> Field[Sizes, SizedSpace]:
    """Return the field of sizes: what is done over it is entered in the price.

    Example:
        >>> price = Price("rationals")
        >>> space = sizes_field(price).no_columns(3).extended(Sizes((3, 2), price, bits=64))
        >>> space.dimension, space.orthogonal().shape, 0 < price.seconds < 0.001
        (2, (3, 1), True)
    """
    return Field(
        lambda matrix: Sizes(np.shape(matrix), price),
        lambda matrix: np.zeros(matrix.shape),
        Sizes.rank,
        lambda matrices: Sizes(
            (sum(m.shape[0] for m in matrices), matrices[0].shape[1]), price, bits=max(m.bits for m in matrices)
        ),
        lambda size: Sizes((size, size), price),
        lambda rows: SizedSpace(Sizes((rows, 0), price)),
    )
