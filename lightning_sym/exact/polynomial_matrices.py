r"""Matrices of polynomials in one variable: at which numbers their rank falls, exactly.

Where the rank is $r$ in general, it falls at the common roots of the minors of size $r$. The determinant of $L M(s) R$
is a combination of them for any integer $L$, $R$, so each such number is a root of it; what else is a root does no
harm, as ranks are computed there. At a root that is not rational they are ranks over the field that it generates, which
are ranks over the rationals once a companion matrix stands in its place.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_poly

from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.rationals import RationalMatrix, as_fmpq, as_fraction

with lazy_imports(__name__):
    import sympy

BOUND = 3
"""Entries of the matrices that minors are combined with."""

COMBINATIONS = 2
"""Combinations of minors whose common factors are taken."""


@dataclass(frozen=True, eq=False)
class PolynomialMatrix:
    """A matrix of polynomials in `s` by its coefficients, the constant one first.

    Example:
        >>> line = PolynomialMatrix.line(RationalMatrix.of([[1, 0], [0, 1]]), RationalMatrix.of([[1, 0], [0, -2]]))
        >>> line.at(Fraction(1, 3)).rank(), line.generic_rank(), [root.rational for root in line.drops(2)]
        (1, 2, [Fraction(1, 3)])
    """

    coefficients: tuple[RationalMatrix, ...]

    @classmethod
    def line(cls, first: RationalMatrix, second: RationalMatrix) -> PolynomialMatrix:
        """Return the line with `first` at 0 and `second` at 1."""
        return cls((first, second - first))

    @property
    def degree(self) -> int:
        """At most this."""
        return len(self.coefficients) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.coefficients[0].shape

    @property
    def mT(self) -> PolynomialMatrix:  # noqa: N802 - the array standard's name for the matrix transpose
        """The transpose."""
        return PolynomialMatrix(tuple(matrix.mT for matrix in self.coefficients))

    def __matmul__(self, other: PolynomialMatrix) -> PolynomialMatrix:
        zero = RationalMatrix.zero(self.shape[0], other.shape[1])
        found = [zero] * (self.degree + other.degree + 1)
        for i, one in enumerate(self.coefficients):
            for j, more in enumerate(other.coefficients):
                found[i + j] = found[i + j] + one @ more
        return PolynomialMatrix(tuple(found))

    def above(self, other: PolynomialMatrix) -> PolynomialMatrix:
        """Return this matrix on top of another one with as many columns."""
        pairs = []
        for i in range(max(self.degree, other.degree) + 1):
            blocks = [
                each.coefficients[i] if i <= each.degree else RationalMatrix.zero(*each.shape) for each in (self, other)
            ]
            pairs.append(blocks[0].above(blocks[1]))
        return PolynomialMatrix(tuple(pairs))

    def at(self, number: Fraction | int) -> RationalMatrix:
        """Return the matrix at a number."""
        total = self.coefficients[-1]
        for matrix in self.coefficients[-2::-1]:
            total = total.scaled(number) + matrix
        return total

    def generic_rank(self) -> int:
        """Return the rank at all numbers but finitely many.

        A minor of size `r + 1` that is zero at more numbers than its degree is zero.
        """
        best, points = 0, 1
        while points:
            best = max(best, max(self.at(n).rank() for n in range(points)))
            needed = 0 if best == min(self.shape) else (best + 1) * self.degree + 1
            points = 0 if needed <= points else needed
        return best

    def drops(self, rank: int) -> list[Root]:
        """Return the numbers between 0 and 1 where the rank may be below this one; all where it is are among them.

        Args:
            rank: at most the rank in general, and at least 1.
        """
        common = fmpq_poly([])
        for seed in range(COMBINATIONS):
            common = common.gcd(self._minors(rank, random.Random(seed)))
            if self.shape == (rank, rank):  # there is one minor
                break
        roots = (Root.of(factor) for factor, _ in common.factor()[1])
        return [root for root in roots if root.intervals]

    def _minors(self, rank: int, source: random.Random) -> fmpq_poly:
        """Return a combination of the minors of this size that is not zero, by interpolation."""
        while True:
            left, right = (self._mixture(rank, size, source) for size in self.shape)
            nodes = range(rank * self.degree + 1)
            values = [(left @ self.at(n) @ right.mT).flint.det() for n in nodes]
            if any(values):
                return _interpolated(values)

    @staticmethod
    def _mixture(rows: int, columns: int, source: random.Random) -> RationalMatrix:
        if rows == columns:
            return RationalMatrix.identity(rows)
        return RationalMatrix.of([[source.randint(-BOUND, BOUND) for _ in range(columns)] for _ in range(rows)])


def _interpolated(values: Sequence[fmpq]) -> fmpq_poly:
    """Return the polynomial with these values at 0, 1, 2, ..., by Newton's differences."""
    steps = list(values)
    for order in range(1, len(steps)):
        for i in range(len(steps) - 1, order - 1, -1):
            steps[i] = (steps[i] - steps[i - 1]) / order
    total = fmpq_poly([steps[-1]])
    for i in range(len(steps) - 2, -1, -1):
        total = total * fmpq_poly([-i, 1]) + fmpq_poly([steps[i]])
    return total


@dataclass(frozen=True, eq=False)
class Root:
    """The real roots between 0 and 1 of a polynomial that is irreducible over the rationals.

    Attributes:
        coefficients: of the monic polynomial, the constant one first.
        intervals: for each root there one with rational ends, in order.

    Example:
        >>> root = Root.of(fmpq_poly([-1, 0, 2]))
        >>> root.polynomial, len(root.intervals), root.rational
        ('s**2 - 1/2', 1, None)
    """

    coefficients: tuple[Fraction, ...]
    intervals: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, polynomial: fmpq_poly) -> Root:
        """Return the real roots between 0 and 1 of an irreducible polynomial."""
        monic = polynomial / polynomial[polynomial.degree()]
        coefficients = tuple(as_fraction(fmpq(monic[i])) for i in range(monic.degree() + 1))
        found = (
            tuple(Fraction(int(end.p), int(end.q)) for end in ends)
            for ends, _ in cls._sympy(coefficients).intervals(inf=0, sup=1, eps=sympy.Rational(1, 1000))
        )
        return cls(coefficients, tuple((low, high) for low, high in found))

    @staticmethod
    def _sympy(coefficients: Sequence[Fraction]) -> sympy.Poly:
        numbers = [sympy.Rational(c.numerator, c.denominator) for c in reversed(coefficients)]
        return sympy.Poly(numbers, sympy.Symbol("s"), domain="QQ")

    @property
    def rational(self) -> Fraction | None:
        """The root, where it is rational."""
        return -self.coefficients[0] if len(self.coefficients) == 2 else None

    @property
    def polynomial(self) -> str:
        """The polynomial, written out."""
        return str(self._sympy(self.coefficients).as_expr())

    @cached_property
    def companion(self) -> RationalMatrix:
        """A matrix with this characteristic polynomial, of size one where the root is rational."""
        size = len(self.coefficients) - 1
        rows = np.zeros((size, size), dtype=object)
        for i in range(1, size):
            rows[i, i - 1] = 1
        rows[:, size - 1] = [-c for c in self.coefficients[:-1]]
        return RationalMatrix.of(rows)

    def powers(self) -> Iterator[RationalMatrix]:
        """Yield the powers of the companion matrix, the identity first."""
        power = RationalMatrix.identity(self.companion.shape[0])
        while True:
            yield power
            power = power @ self.companion


@dataclass(frozen=True, eq=False)
class AtRoot:
    """A matrix of polynomials at the roots of an irreducible polynomial, all alike: their ranks are equal.

    Example:
        >>> numbers = [RationalMatrix.of(rows) for rows in ([[0, 1], [Fraction(1, 2), 0]], [[1, 0], [0, 1]])]
        >>> AtRoot(PolynomialMatrix(tuple(numbers)), Root.of(fmpq_poly([-1, 0, 2]))).rank()
        1
    """

    matrix: PolynomialMatrix
    root: Root

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape

    @property
    def mT(self) -> AtRoot:  # noqa: N802 - the array standard's name for the matrix transpose
        """The transpose."""
        return AtRoot(self.matrix.mT, self.root)

    def __matmul__(self, other: AtRoot) -> AtRoot:
        return AtRoot(self.matrix @ other.matrix, self.root)

    def above(self, other: AtRoot) -> AtRoot:
        """Return this matrix on top of another one with as many columns."""
        return AtRoot(self.matrix.above(other.matrix), self.root)

    def rank(self) -> int:
        """Return the rank over the field that the root generates."""
        (rows, columns), size = self.shape, self.root.companion.shape[0]
        total = fmpq_mat(rows * size, columns * size)
        for matrix, power in zip(self.matrix.coefficients, self.root.powers(), strict=False):
            total += _kronecker(matrix, power)
        return RationalMatrix(total).rank() // size


def _kronecker(first: RationalMatrix, second: RationalMatrix) -> fmpq_mat:
    """Return the matrix with each entry of the first one replaced by this multiple of the second one."""
    entries = np.kron(first.fractions(), second.fractions())
    rows, columns = entries.shape
    return fmpq_mat(rows, columns, [as_fmpq(entry) for entry in entries.ravel().tolist()])
