r"""Subspaces of $\mathbb{Q}^n$ that grow, exactly: a reduced basis, and what lies outside."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq_mat, fmpz_mat, nmod_mat

from lightning_sym.exact.echelon import independent_columns, row_echelon
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix, as_fraction


class Subspace:
    """The span of the columns that were put in, by its reduced basis: it depends on the space alone.

    Attributes:
        basis: `n x r`; its rows `pivots` are the identity matrix.
        pivots: one row a basis vector.

    Example:
        >>> space = Subspace.spanned(RationalMatrix.of([[2, 4], [1, 2], [0, 0]]))
        >>> space.dimension, space.basis.fractions().T.tolist()
        (1, [[Fraction(1, 1), Fraction(1, 2), Fraction(0, 1)]])
        >>> space.contains(RationalMatrix.of([[4], [2], [0]])), space.contains(RationalMatrix.of([[4], [2], [1]]))
        (True, False)
    """

    __slots__ = ("basis", "pivots")

    def __init__(self, basis: RationalMatrix, pivots: tuple[int, ...]) -> None:
        self.basis = basis
        self.pivots = pivots

    @classmethod
    def zero(cls, ambient: int) -> Subspace:
        """The space that is only zero."""
        return cls(RationalMatrix(fmpq_mat(ambient, 0)), ())

    @classmethod
    def spanned(cls, *matrices: RationalMatrix) -> Subspace:
        """The span of the columns of matrices with equally many rows, one matrix at least."""
        return cls.zero(matrices[0].shape[0]).extended(*matrices)

    @property
    def dimension(self) -> int:
        """Number of basis vectors."""
        return len(self.pivots)

    def outside(self, vectors: RationalMatrix) -> RationalMatrix:
        """The columns less their parts in this space: zero for those that lie in it, and for no others."""
        return vectors - self.basis @ vectors.rows(self.pivots) if self.pivots else vectors

    def contains(self, vectors: RationalMatrix) -> bool:
        """Whether all columns lie in this space."""
        return not self.outside(vectors)

    def extended(self, *matrices: RationalMatrix) -> Subspace:
        """The span of this space and more columns; this very object where they lie in it."""
        size = self.basis.shape[0]
        if self.dimension == size:
            return self
        more = [rest for matrix in matrices if (rest := self.outside(matrix))]
        if not more:
            return self
        rows = self.basis.mT.above(*(rest.mT for rest in more))
        if len(independent_columns(rows)) == size:  # all of the space
            return Subspace(RationalMatrix.identity(size), tuple(range(size)))
        found = row_echelon(rows)
        return Subspace(found.rows.mT, found.pivots)

    def within(self, *matrices: RationalMatrix) -> Subspace:
        """The span of columns that all lie in this space; this very object where they span it.

        Example:
            >>> plane = Subspace.spanned(RationalMatrix.identity(2))
            >>> plane.within(RationalMatrix.of([[1, 1], [0, 2]])) is plane
            True
            >>> plane.within(RationalMatrix.of([[1, 2], [1, 2]])).dimension
            1
        """
        if not self.dimension:
            return self
        # the rank of coordinates modulo a prime is no larger than theirs
        coordinates = [matrix.rows(self.pivots).flint.numer_denom()[0].transpose().tolist() for matrix in matrices]
        rows = [row for block in coordinates for row in block]
        if not rows or nmod_mat(fmpz_mat(rows), PRIMES[0]).rank() == self.dimension:
            return self
        return Subspace.spanned(*matrices)


def in_a_basis(matrices: Sequence[RationalMatrix]) -> list[dict[int, Fraction]]:
    """The coordinates of matrices of one shape in a basis of their span: those that are independent of all before.

    Returns:
        For each matrix, by the place of a member of the basis in the list, the coordinate if it is not zero.

    Example:
        >>> one, two = RationalMatrix.of([[0, 0]]), RationalMatrix.of([[1, 2]])
        >>> in_a_basis([one, two, two @ RationalMatrix.identity(2), two + two])
        [{}, {1: Fraction(1, 1)}, {1: Fraction(1, 1)}, {1: Fraction(2, 1)}]
    """
    size = max((m.shape[0] * m.shape[1] for m in matrices), default=0)
    if not size:
        return [{} for _ in matrices]
    columns = RationalMatrix(fmpq_mat([m.flint.entries() for m in matrices]).transpose())
    # as many rows as the rank tell all relations
    few = columns.rows(Subspace.spanned(columns).pivots)
    echelon, rank = few.flint.rref()
    rows = echelon.tolist()[:rank]
    members = [next(j for j, x in enumerate(row) if x != 0) for row in rows]
    return [
        {member: as_fraction(row[j]) for member, row in zip(members, rows, strict=True) if row[j] != 0}
        for j in range(len(matrices))
    ]


def left_factor(known: RationalMatrix, wanted: RationalMatrix) -> RationalMatrix | None:
    """The `X` with `X known = wanted`; `None` unless there is exactly one.

    Example:
        >>> found = left_factor(RationalMatrix.of([[0, 2, 0]]), RationalMatrix.of([[0, 3, 0]]))
        >>> found.fractions().tolist(), left_factor(RationalMatrix.of([[0, 2]]), RationalMatrix.of([[1, 2]]))
        ([[Fraction(3, 2)]], None)
    """
    columns = Subspace.spanned(known.mT)
    if columns.dimension < known.shape[0]:
        return None
    # the row space of `known` is known by these columns
    chosen = known.mT.rows(columns.pivots).mT.inverse()
    if chosen is None:
        return None
    found = wanted.mT.rows(columns.pivots).mT @ chosen
    return found if found @ known == wanted else None
