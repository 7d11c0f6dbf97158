"""Ideals of polynomials over the rationals: Groebner bases by flint, and what is read off them."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from flint import Ordering, fmpq_mat, fmpq_mpoly, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_mpoly_vec

from lightning_sym.errors import ProgramError
from lightning_sym.exact.echelon import row_echelon
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import RationalMatrix


def _primitive(polynomial: fmpq_mpoly, context: fmpz_mpoly_ctx) -> fmpz_mpoly:
    """The polynomial times the denominators of its coefficients."""
    terms = polynomial.to_dict()
    scale = lcm(*(int(c.q) for c in terms.values()))
    return context.from_dict({exponents: int(c.p) * (scale // int(c.q)) for exponents, c in terms.items()})


def groebner_basis(ring: PolynomialRing, generators: Sequence[fmpq_mpoly]) -> list[fmpq_mpoly]:
    """The Groebner basis of the ideal, auto-reduced, in graded reverse lexicographic order, each element monic.

    Args:
        ring: the ring of the generators.
        generators: polynomials of the ring; zeros are allowed.

    Raises:
        ProgramError: what Buchberger's algorithm gave fails Buchberger's criterion.

    Example:
        >>> ring = PolynomialRing(["a", "b"])
        >>> a, b = ring.generators
        >>> groebner_basis(ring, [a + b, a * b])
        [a + b, b^2]
    """
    context = fmpz_mpoly_ctx.get(ring.names, Ordering.degrevlex)
    basis = fmpz_mpoly_vec([_primitive(g, context) for g in generators if not g.is_zero()], context).buchberger_naive()
    if not basis.is_groebner():
        raise ProgramError("the basis is not a Groebner basis")
    reduced = [ring.from_terms(element.to_dict()) for element in basis.autoreduction()]
    return [element / element.leading_coefficient() for element in reduced]


def linear_basis(ring: PolynomialRing, polynomials: Sequence[fmpq_mpoly]) -> list[fmpq_mpoly]:
    """A basis of the linear span of polynomials, in echelon form: generators of the same ideal, as few as that gives.

    Example:
        >>> ring = PolynomialRing(["a", "b"])
        >>> a, b = ring.generators
        >>> linear_basis(ring, [a + b, 2*a + 2*b, a - b, b - a])
        [a, b]
    """
    terms = {frozenset(p.to_dict().items()) for p in polynomials}  # the same one often stands there twice
    monomials = sorted({m for each in terms for m, _ in each}, reverse=True)
    column = {m: j for j, m in enumerate(monomials)}
    rows = fmpq_mat(len(terms), len(monomials))
    for i, each in enumerate(terms):
        for m, c in each:
            rows[i, column[m]] = c
    echelon, _ = row_echelon(RationalMatrix(rows))
    return [
        ring.from_terms({m: c for m, c in zip(monomials, row, strict=True) if c != 0}) for row in echelon.flint.tolist()
    ]


def is_in_radical(ring: PolynomialRing, polynomial: fmpq_mpoly, generators: Sequence[fmpq_mpoly]) -> bool:
    r"""Whether the polynomial vanishes wherever the generators do, over the complex numbers.

    Rabinowitsch's trick: $f \in \sqrt{I}$ exactly if $1 \in I + (1 - z f)$, `z` a new variable.

    Example:
        >>> ring = PolynomialRing(["a", "b"])
        >>> a, b = ring.generators
        >>> is_in_radical(ring, a + b, [a**2, b**3]), is_in_radical(ring, a, [a * b])
        (True, False)
    """
    larger = PolynomialRing([*ring.names, "_z"])
    *_, z = larger.generators

    def lift(p: fmpq_mpoly) -> fmpq_mpoly:
        return larger.from_terms({(*map(int, exponents), 0): c for exponents, c in p.to_dict().items()})

    basis = groebner_basis(larger, [*map(lift, generators), 1 - z * lift(polynomial)])
    return basis == [larger.constant(1)]
