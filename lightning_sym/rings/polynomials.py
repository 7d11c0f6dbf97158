"""Matrices of polynomials: NumPy object arrays of flint's `fmpq_mpoly`, exact and fast; SymPy where people look."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz

from lightning_sym.lazy import lazy_imports
from lightning_sym.rings.arrays import ObjectArray, Rows
from lightning_sym.rings.rationals import RationalNumber, map_entries

with lazy_imports(__name__):
    import sympy

Polynomial = fmpq_mpoly
"""A polynomial with rational coefficients, of flint's: what the entries of the matrices here are."""

RationalCoefficient = fmpq
"""A rational number of flint's: what the coefficients of such a polynomial are."""


def _context(names: tuple[str, ...], ordering: str) -> fmpq_mpoly_ctx:
    return fmpq_mpoly_ctx.get(names, Ordering[ordering])


def _polynomial(context: fmpq_mpoly_ctx, terms: Mapping[tuple[int, ...], fmpq | fmpz | int]) -> fmpq_mpoly:
    return context.from_dict(terms)


def _parts(polynomial: fmpq_mpoly) -> tuple[Callable[..., fmpq_mpoly], tuple[object, ...]]:
    return _polynomial, (polynomial.context(), polynomial.to_dict())


def _context_parts(context: fmpq_mpoly_ctx) -> tuple[Callable[..., fmpq_mpoly_ctx], tuple[object, ...]]:
    return _context, (tuple(context.names()), context.ordering().name)


# flint does not say how its polynomials are copied or sent to another process
copyreg.pickle(fmpq_mpoly, _parts)
copyreg.pickle(fmpq_mpoly_ctx, _context_parts)


class PolynomialRing:
    """Polynomials with rational coefficients in named variables, printed in graded reverse lexicographic order.

    Example:
        >>> ring = PolynomialRing(["a", "x"])
        >>> a, x = ring.generators
        >>> ((a + x) * (a + x)) == a**2 + 2*a*x + x**2
        True
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._context = fmpq_mpoly_ctx.get(self.names, Ordering.degrevlex)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolynomialRing) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"PolynomialRing({list(self.names)!r})"

    @property
    def generators(self) -> tuple[fmpq_mpoly, ...]:
        """The variables."""
        return tuple(self._context.gens())

    @cached_property
    def _by_name(self) -> dict[str, fmpq_mpoly]:
        return dict(zip(self.names, self._context.gens(), strict=True))

    def __getitem__(self, name: str) -> fmpq_mpoly:
        return self._by_name[name]

    def constant(self, number: RationalNumber) -> fmpq_mpoly:
        """Return a rational number as a polynomial."""
        return self._context.constant(fmpq(int(number.numerator), int(number.denominator)))

    def number(self, number: RationalNumber) -> fmpq:
        """Return a rational number as flint's."""
        return fmpq(int(number.numerator), int(number.denominator))

    def substituted(self, polynomial: fmpq_mpoly, images: Sequence[fmpq_mpoly]) -> fmpq_mpoly:
        """Return a polynomial of another ring with these polynomials of this one for its variables."""
        return polynomial.compose(*images, ctx=self._context)

    def constants(self, matrix: Rows) -> ObjectArray:
        """Return a matrix of rational numbers as constant polynomials."""
        return map_entries(self.constant, matrix)

    def matrix(self, prefix: str, rows: int, columns: int) -> ObjectArray:
        """Return the matrix of the variables `prefix_1_1, prefix_1_2, ...`, row by row."""
        result = np.empty((rows, columns), dtype=object)
        for i, j in np.ndindex(rows, columns):
            result[i, j] = self[f"{prefix}_{i + 1}_{j + 1}"]
        return result

    def from_terms(self, terms: Mapping[tuple[int, ...], fmpq | fmpz | int]) -> fmpq_mpoly:
        """Return the polynomial with these coefficients by exponent vector."""
        return self._context.from_dict(terms)


def entry_names(prefix: str, rows: int, columns: int) -> list[str]:
    """Return names of the entries of a matrix of variables, row by row.

    Example:
        >>> entry_names("x", 1, 2)
        ['x_1_1', 'x_1_2']
    """
    return [f"{prefix}_{i}_{j}" for i in range(1, rows + 1) for j in range(1, columns + 1)]


def to_sympy(polynomial: fmpq_mpoly, names: Sequence[str | sympy.Symbol]) -> sympy.polys.rings.PolyElement:
    """Return the same polynomial as an element of a SymPy ring over QQ, its variables by name or as symbols."""
    QQ = sympy.QQ
    ring = sympy.polys.rings.PolyRing(list(names), QQ, sympy.polys.orderings.grevlex)
    terms = {tuple(map(int, exponents)): QQ(int(c.p), int(c.q)) for exponents, c in polynomial.to_dict().items()}
    return ring.from_dict(terms)
