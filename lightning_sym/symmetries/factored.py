r"""Matrices $M = X^\top Y$ modulo a prime, and how they move with `X` and `Y`: in closed form, by echelon forms.

Let $F = B X$ be the reduced echelon form of `X`, with pivots in the columns `J`. Any matrix is $F^\top$ times its rows
`J`, plus one that is zero in these rows; so with $G = C Y$, pivots `K`, any matrix is a motion $X^\top dY + dX^\top Y$
plus a matrix that is zero in the rows `J` and in the columns `K`. If this one is zero the matrix is a motion; else it
is none, since all motions are zero between the kernels of `X` and `Y`, and it is determined by its values there.

The same holds for $M + M^\top$, with both factors one below the other.
"""

from __future__ import annotations

import numpy as np

from lightning_sym.exact.modular import row_basis_mod_p
from lightning_sym.rings.prime_field import Residues


class EchelonForm:
    """The reduced echelon form of a matrix, `form = steps @ matrix`, without its zero rows.

    Attributes:
        form: one row for each pivot.
        steps: what the matrix is multiplied with.
        relations: a basis of what it may be multiplied with to get zero.
        pivots: columns in which the form is the identity.
        free: the other columns.
        is_full: whether the rank is the smaller side.

    Example:
        >>> found = EchelonForm(np.array([[0, 2, 4], [0, 1, 2]]), 7)
        >>> found.form.tolist(), found.pivots.tolist(), found.free.tolist(), found.is_full
        ([[0, 1, 2]], [1], [0, 2], False)
    """

    def __init__(self, matrix: Residues, p: int) -> None:
        rows, columns = matrix.shape
        both = row_basis_mod_p(np.concatenate([matrix, np.eye(rows, dtype=np.int64)], axis=1), p)
        first = (both != 0).argmax(axis=1)
        rank = int((first < columns).sum())
        self.form, self.steps, self.pivots = both[:rank, :columns], both[:rank, columns:], first[:rank]
        self.relations = both[rank:, columns:]
        self.is_full: bool = rank == min(rows, columns)
        rest = np.ones(columns, dtype=bool)
        rest[self.pivots] = False
        (self.free,) = rest.nonzero()


def _flat(matrices: Residues) -> Residues:
    """Return a row for each matrix, also of none."""
    return matrices.reshape(len(matrices), matrices.shape[1] * matrices.shape[2])


def _units(rows: int, columns: int) -> Residues:
    """Return all matrices of this shape with a single entry 1."""
    return np.eye(rows * columns, dtype=np.int64).reshape(rows * columns, rows, columns)


def _outer(vectors: Residues, columns: int) -> Residues:
    """Return matrices with one of these vectors, the rows, in one of so many columns."""
    count, size = vectors.shape
    result = np.zeros((count, columns, size, columns), dtype=np.int64)
    result[:, range(columns), :, range(columns)] = vectors
    return result.reshape(count * columns, size, columns)


class Product:
    """The motions of $X^T Y$, `X` of shape `a x r`, `Y` of shape `a x f`.

    Motions of the factors are rows of numbers: `dY` and behind it `dX`.

    Attributes:
        matrix: the product.
        is_full: whether both factors have the largest rank of their shapes.
        dimension: of the space of all motions.

    Example:
        >>> one = Product(np.array([[1, 0]]), np.array([[1, 2]]), 7)
        >>> motions, rest = one.split(np.array([[[3, 1], [5, 3]], [[0, 0], [0, 1]]]))
        >>> motions[0].tolist(), rest.tolist(), one.moved(motions)[0].tolist()
        ([3, 1, 0, 5], [[0], [1]], [[3, 1], [5, 3]])
    """

    def __init__(self, left: Residues, right: Residues, p: int) -> None:
        self.left, self.right, self.prime = left, right, p
        self.matrix: Residues = left.T @ right % p
        self._rows, self._columns = EchelonForm(left, p), EchelonForm(right, p)
        self.is_full = self._rows.is_full and self._columns.is_full
        self.dimension = self.matrix.size - len(self._rows.free) * len(self._columns.free)

    def split(self, matrices: Residues) -> tuple[Residues, Residues]:
        """Return motions of the factors that give matrices, `n x r x f`, and what is left, `n x m`.

        What is left is zero if they give the matrix.
        """
        p, rows, columns = self.prime, self._rows, self._columns
        above = matrices[:, rows.pivots]
        rest = (matrices - rows.form.T @ above) % p
        beside = rest[:, :, columns.pivots]
        rest = (rest - beside @ columns.form)[:, rows.free[:, None], columns.free] % p
        return self._motions(above, beside), _flat(rest)

    def _motions(self, above: Residues, beside: Residues) -> Residues:
        """Return motions that give the form of `X` times `above`, plus `beside` times that of `Y`."""
        right, left = self._rows.steps.T @ above, self._columns.steps.T @ beside.mT
        return np.concatenate([_flat(right), _flat(left)], axis=1) % self.prime

    def factors(self, motions: Residues) -> tuple[Residues, Residues]:
        """Return the motions of `Y` and of `X`."""
        size, count = self.right.size, len(motions)
        return motions[:, :size].reshape(count, *self.right.shape), motions[:, size:].reshape(count, *self.left.shape)

    def moved(self, motions: Residues) -> Residues:
        """Return what motions of the factors give, `n x r x f`."""
        right, left = self.factors(motions)
        return (self.left.T @ right + left.mT @ self.right) % self.prime

    def basis(self) -> Residues:
        """Return motions of the factors that give a basis of all motions."""
        (a, f), (b, r) = (len(self._rows.pivots), self.matrix.shape[1]), (len(self._columns.pivots), len(self.matrix))
        free = self._columns.free
        above = _units(a, f).reshape(a, f, a, f)[:, free].reshape(a * len(free), a, f)
        beside = _units(r, b)
        still = np.zeros((len(above), r, b), dtype=np.int64), np.zeros((len(beside), a, f), dtype=np.int64)
        return self._motions(np.concatenate([above, still[1]]), np.concatenate([still[0], beside]))

    def still(self, count: int) -> Residues:
        """Return so many motions that are zero."""
        return np.zeros((count, self.left.size + self.right.size), dtype=np.int64)

    def kernel(self) -> Residues:
        """Return motions of the factors that leave the product in place, a basis."""
        rows, columns = self._rows, self._columns
        # C F_Y and - F_X^T C, with any C; and what `X` or `Y` maps to zero
        units = _units(len(rows.form), len(columns.form))
        changes = _flat(rows.steps.T @ (units @ columns.form)), _flat(-columns.steps.T @ (units.mT @ rows.form))
        above = _flat(_outer(rows.relations, self.right.shape[1]))
        beside = _flat(_outer(columns.relations, self.left.shape[1]))
        still = np.zeros((len(above), self.left.size), np.int64), np.zeros((len(beside), self.right.size), np.int64)
        pairs = changes, (above, still[0]), (still[1], beside)
        return np.concatenate([np.concatenate(pair, axis=1) for pair in pairs]) % self.prime


class SymmetricProduct(Product):
    """The motions of $X^T Y + Y^T X$, both factors of shape `a x f`.

    Example:
        >>> one = SymmetricProduct(np.array([[1, 0, 0]]), np.array([[0, 1, 0]]), 7)
        >>> one.dimension, len(one.basis()), len(one.kernel())
        (5, 5, 1)
    """

    def __init__(self, left: Residues, right: Residues, p: int) -> None:
        self.left, self.right, self.prime = left, right, p
        product = left.T @ right
        self.matrix = (product + product.T) % p
        self._rows = EchelonForm(np.concatenate([left, right]), p)
        self.is_full = self._rows.is_full
        free = len(self._rows.free)
        f = len(self.matrix)
        self.dimension = f * (f + 1) // 2 - free * (free + 1) // 2

    def split(self, matrices: Residues) -> tuple[Residues, Residues]:
        """Return motions of the factors that give symmetric matrices, `n x f x f`, and what is left, `n x m`."""
        p, rows = self.prime, self._rows
        above = matrices[:, rows.pivots]
        half = (p + 1) // 2
        above = (above - half * above[:, :, rows.pivots] % p @ rows.form) % p
        moved = rows.form.T @ above % p
        rest = (matrices - moved - moved.mT) % p
        first, second = np.triu_indices(len(rows.free))
        return self._stacked(above), rest[:, rows.free[first], rows.free[second]]

    def _stacked(self, above: Residues) -> Residues:
        """Return motions that give the form of both factors times `above`, and its transpose."""
        return _flat(self._rows.steps.T @ above % self.prime)

    def moved(self, motions: Residues) -> Residues:
        """Return what motions of the factors give, `n x f x f`."""
        found = super().moved(motions)
        return (found + found.mT) % self.prime

    def kernel(self) -> Residues:
        """Return motions of the factors that leave the symmetric product in place, a basis."""
        first, second = np.triu_indices(len(self._rows.form), 1)
        units = _units(len(self._rows.form), len(self._rows.form))
        n = len(self._rows.form)
        skew = units[first * n + second] - units[second * n + first]
        changes = _flat(self._rows.steps.T @ (skew @ self._rows.form))
        return np.concatenate([changes, _flat(_outer(self._rows.relations, len(self.matrix)))]) % self.prime

    def basis(self) -> Residues:
        """Return motions of the factors that give a basis of all motions: a triangle of those in pivots, all others."""
        a, f = self._rows.form.shape
        place = np.full(f, a)
        place[self._rows.pivots] = np.arange(a)
        kept = place >= np.arange(a)[:, None]
        return self._stacked(_units(a, f)[kept.ravel()])


class FreeMatrix(Product):
    """The motions of a matrix that is no product: all there are."""

    def __init__(self, matrix: Residues, p: int) -> None:
        self.matrix, self.prime = matrix, p
        self.is_full, self.dimension = True, matrix.size

    def split(self, matrices: Residues) -> tuple[Residues, Residues]:
        """Return the matrices as rows, and nothing left."""
        return _flat(matrices) % self.prime, np.zeros((len(matrices), 0), dtype=np.int64)

    def moved(self, motions: Residues) -> Residues:
        """Return the same as matrices."""
        return motions.reshape(len(motions), *self.matrix.shape)

    def still(self, count: int) -> Residues:
        """Return so many motions that are zero."""
        return np.zeros((count, self.matrix.size), dtype=np.int64)

    def basis(self) -> Residues:
        """Return all matrices of this shape with a single entry 1."""
        return np.eye(self.matrix.size, dtype=np.int64)

    def kernel(self) -> Residues:
        """Return no motions: every one changes the matrix."""
        return np.zeros((0, self.matrix.size), dtype=np.int64)
