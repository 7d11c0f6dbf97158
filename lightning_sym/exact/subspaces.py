r"""Subspaces of $\mathbb{Q}^n$ that grow, exactly: a reduced basis, and what lies outside."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import fmpq, fmpq_mat, fmpz_mat, nmod_mat

from lightning_sym.exact.modular import small_fraction
from lightning_sym.exact.rational import columns_of, independent_columns, leading, row_echelon
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix, as_fraction

LARGE = 64
"""Rows from which on a reduced basis is guessed modulo a prime, and then proved."""

_PRIME = 2**61 - 1

_SMALL = 2**24
"""Numerators and denominators that a guess has at most: with much larger ones any residue would be a fraction."""


class _OtherRows(NamedTuple):
    """The rows of a reduced basis that are not those of the identity; often they have few entries."""

    places: tuple[int, ...]
    matrix: RationalMatrix
    few: tuple[tuple[int, fmpq] | None, ...] | None

    @classmethod
    def of(cls, basis: RationalMatrix, pivots: Sequence[int]) -> _OtherRows:
        known = set(pivots)
        places = tuple(i for i in range(basis.shape[0]) if i not in known)
        matrix = basis.rows(places)
        entries = [[(j, x) for j, x in enumerate(row) if x != 0] for row in matrix.flint.tolist()]
        few = tuple(row[0] if row else None for row in entries) if all(len(row) <= 1 for row in entries) else None
        return cls(places, matrix, few)

    def times(self, vectors: RationalMatrix) -> RationalMatrix:
        """Return the product; one entry a row at most only picks and scales rows."""
        if self.few is None:
            return self.matrix @ vectors
        columns, rows = vectors.shape[1], vectors.flint.tolist()
        result: list[fmpq] = []
        for entry in self.few:
            if entry is None:
                result += [fmpq(0)] * columns
            else:
                result += rows[entry[0]] if entry[1] == 1 else [entry[1] * x for x in rows[entry[0]]]
        return RationalMatrix(fmpq_mat(len(self.places), columns, result))


def _guessed(matrices: Sequence[RationalMatrix]) -> Subspace | None:
    """Return the span of columns by a reduced basis with small entries; `None` where no such basis could be proved.

    The reduced basis of the residues modulo a prime, read as small fractions, is a reduced basis again. If all columns
    lie in its span the rank is at most its dimension; and this is the rank modulo the prime, which is at most the rank:
    the two spaces are equal.
    """
    cleared = [matrix.flint.numer_denom()[0] for matrix in matrices]
    rows = [row for block in cleared for row in block.transpose().tolist()]
    echelon, rank = nmod_mat(fmpz_mat(rows), _PRIME).rref()
    if not rank:
        return None
    found, columns = list[fmpq](), len(rows[0])
    for residue in map(int, echelon.entries()[: rank * columns]):
        top, bottom = (residue, 1) if residue < 2 else small_fraction(residue, _PRIME, _SMALL)
        if not bottom:
            return None
        found.append(fmpq(top, bottom))
    space = Subspace(RationalMatrix(fmpq_mat(rank, columns, found).transpose()), leading(found, columns))
    return space if all(map(space.contains, matrices)) else None


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

    __slots__ = ("_others", "basis", "pivots")

    def __init__(self, basis: RationalMatrix, pivots: tuple[int, ...]) -> None:
        self.basis = basis
        self.pivots = pivots
        self._others: _OtherRows | None = None

    @classmethod
    def zero(cls, ambient: int) -> Subspace:
        """Return the space that is only zero."""
        return cls(RationalMatrix(fmpq_mat(ambient, 0)), ())

    @classmethod
    def spanned(cls, *matrices: RationalMatrix) -> Subspace:
        """Return the span of the columns of matrices with equally many rows, one matrix at least."""
        return cls.zero(matrices[0].shape[0]).extended(*matrices)

    @property
    def dimension(self) -> int:
        """Number of basis vectors."""
        return len(self.pivots)

    def outside(self, vectors: RationalMatrix) -> RationalMatrix:
        """Return the columns less their parts in this space: zero for those that lie in it, and for no others."""
        if not self.pivots:
            return vectors
        rows, rest = vectors.shape[0], self._rest(vectors).flint.tolist()
        result = [[fmpq(0)] * vectors.shape[1]] * rows
        for place, row in zip(self._other_rows().places, rest, strict=True):
            result[place] = row
        return RationalMatrix(fmpq_mat(rows, vectors.shape[1], [x for row in result for x in row]))

    def contains(self, vectors: RationalMatrix) -> bool:
        """Return whether all columns lie in this space."""
        return not (self._rest(vectors) if self.pivots else vectors)

    def _other_rows(self) -> _OtherRows:
        if self._others is None:
            self._others = _OtherRows.of(self.basis, self.pivots)
        return self._others

    def _rest(self, vectors: RationalMatrix) -> RationalMatrix:
        """Return the rows of the columns less their parts in this space where they may be other than zero."""
        others = self._other_rows()
        return vectors.rows(others.places) - others.times(vectors.rows(self.pivots))

    def extended(self, *matrices: RationalMatrix) -> Subspace:
        """Return the span of this space and more columns; this very object where they lie in it."""
        size = self.basis.shape[0]
        if self.dimension == size:
            return self
        more = [matrix for matrix in matrices if not self.contains(matrix)]
        if not more:
            return self
        if size >= LARGE and (guessed := _guessed([self.basis, *more])) is not None:
            return guessed
        rows = self.basis.mT.above(*(self.outside(matrix).mT for matrix in more))
        if len(independent_columns(rows)) == size:  # all of the space
            return Subspace(RationalMatrix.identity(size), tuple(range(size)))
        found = row_echelon(rows)
        return Subspace(found.rows.mT, found.pivots)

    def orthogonal(self) -> RationalMatrix:
        """Return columns that span all that is orthogonal to this space, read off its reduced basis.

        Example:
            >>> Subspace.spanned(RationalMatrix.of([[1], [2]])).orthogonal().fractions().T.tolist()
            [[Fraction(-2, 1), Fraction(1, 1)]]
        """
        size, others = self.basis.shape[0], self._other_rows()
        found = fmpq_mat(size, len(others.places))
        for column, (place, row) in enumerate(zip(others.places, others.matrix.flint.tolist(), strict=True)):
            found[place, column] = 1
            for pivot, entry in zip(self.pivots, row, strict=True):
                found[pivot, column] = -entry
        return RationalMatrix(found)

    def within(self, *matrices: RationalMatrix) -> Subspace:
        """Return the span of columns that all lie in this space; this very object where they span it.

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
        if rows and nmod_mat(fmpz_mat(rows), PRIMES[0]).rank() == self.dimension:
            return self
        return Subspace.zero(self.basis.shape[0]).extended(*matrices)  # no columns span zero


def in_a_basis(matrices: Sequence[RationalMatrix]) -> list[dict[int, Fraction]]:
    """Return the coordinates of matrices of one shape in a basis of their span: those independent of all before.

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
    echelon, members = row_echelon(few)
    rows = echelon.flint.tolist()
    return [
        {member: as_fraction(row[j]) for member, row in zip(members, rows, strict=True) if row[j] != 0}
        for j in range(len(matrices))
    ]


def left_factor(known: RationalMatrix, wanted: RationalMatrix) -> RationalMatrix | None:
    """Return the `X` with `X known = wanted`; `None` unless there is exactly one.

    Example:
        >>> found = left_factor(RationalMatrix.of([[0, 2, 0]]), RationalMatrix.of([[0, 3, 0]]))
        >>> found.fractions().tolist(), left_factor(RationalMatrix.of([[0, 2]]), RationalMatrix.of([[1, 2]]))
        ([[Fraction(3, 2)]], None)
    """
    size = known.shape[0]
    guessed = _guessed([known.above(wanted)]) if known.shape[1] >= LARGE else None
    if guessed is not None and guessed.pivots == tuple(range(size)):
        return guessed.basis.rows(range(size, size + wanted.shape[0]))
    chosen = independent_columns(known)
    if len(chosen) < size:  # modulo a prime, which may divide every minor
        chosen = row_echelon(known).pivots
    inverse = columns_of(known, chosen).inverse() if len(chosen) == size else None
    found = None if inverse is None else columns_of(wanted, chosen) @ inverse
    return found if found is not None and found @ known == wanted else None


def intertwiner(
    known: RationalMatrix, wanted: RationalMatrix, into: RationalMatrix, turned: RationalMatrix
) -> RationalMatrix | None:
    """Return the invertible `C` with `C known = wanted` and `C^T into = turned`; `None` unless one determines it.

    Where one determines it, the other is not asked: who applies `C` sees whether it holds too.

    Example:
        >>> one, two = RationalMatrix.of([[1, 2]]), RationalMatrix.of([[2, 4]])
        >>> intertwiner(RationalMatrix.of([[0, 0]]), two, two, one).fractions().tolist()
        [[Fraction(1, 2)]]
    """
    found = left_factor(known, wanted)
    if found is None and (other := left_factor(into, turned)) is not None:
        found = other.mT
    return found if found is not None and found.rank() == known.shape[0] == wanted.shape[0] else None
