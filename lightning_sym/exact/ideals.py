"""Ideals of polynomials over the rationals: Groebner bases by flint, and what is read off them.

Dimension and degree of homogeneous ideals, from the leading monomials of a Groebner basis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm
from typing import NamedTuple

from flint import Ordering, fmpq_mat, fmpq_mpoly, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_mpoly_vec

from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.rational import row_echelon
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import RationalMatrix


def _primitive(polynomial: fmpq_mpoly, context: fmpz_mpoly_ctx) -> fmpz_mpoly:
    """Return the polynomial times the denominators of its coefficients."""
    terms = polynomial.to_dict()
    scale = lcm(*(int(c.q) for c in terms.values()))
    return context.from_dict({exponents: int(c.p) * (scale // int(c.q)) for exponents, c in terms.items()})


def groebner_basis(ring: PolynomialRing, generators: Sequence[fmpq_mpoly]) -> list[fmpq_mpoly]:
    """Return the Groebner basis of the ideal, auto-reduced, in graded reverse lexicographic order, each element monic.

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
    """Return a basis of the span of polynomials, in echelon form: generators of the same ideal, mostly fewer.

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
    r"""Return whether the polynomial vanishes wherever the generators do, over the complex numbers.

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


Exponents = tuple[int, ...]


class IdealSize(NamedTuple):
    """Of the zeros of a homogeneous ideal, as a cone: Krull dimension and degree of the quotient ring."""

    dimension: int
    degree: int


def hilbert_numerator(monomials: Iterable[Exponents]) -> list[int]:
    r"""Return the $N$ with Hilbert series $N(z) / (1 - z)^n$ of a monomial ideal, coefficients from degree 0.

    Splits by a variable: $N_I = N_{I + (x)} + z\, N_{I : x}$ (Bayer and Stillman).

    Example:
        >>> hilbert_numerator([(2, 0), (1, 1)])
        [1, 0, -2, 1]
    """
    minimal = minimal_monomials(monomials)
    if not minimal:
        return [1]
    if not any(minimal[0]):
        return [0]
    counts = [sum(e > 0 for e in column) for column in zip(*minimal, strict=True)]
    if max(counts) == 1:  # coprime: a product of 1 - z^degree
        result = [1]
        for monomial in minimal:
            result = _plus(result, result, sum(monomial), -1)
        return result
    pivot = counts.index(max(counts))
    variable = tuple(int(i == pivot) for i in range(len(counts)))
    quotient = [tuple(e - (i == pivot and e > 0) for i, e in enumerate(m)) for m in minimal]
    return _plus(hilbert_numerator([*minimal, variable]), hilbert_numerator(quotient), 1, 1)


def minimal_monomials(monomials: Iterable[Exponents]) -> list[Exponents]:
    """Return the monomials that no other one divides.

    Example:
        >>> minimal_monomials([(2, 1), (1, 0), (0, 3)])
        [(1, 0), (0, 3)]
    """
    kept: list[Exponents] = []
    for each in sorted(set(monomials), key=sum):
        if not any(all(a <= b for a, b in zip(old, each, strict=True)) for old in kept):
            kept.append(each)
    return kept


def _plus(a: Sequence[int], b: Sequence[int], shift: int, factor: int) -> list[int]:
    """Return the coefficients of `a + factor * z^shift * b`."""
    result = [*a, *[0] * (len(b) + shift - len(a))]
    for i, value in enumerate(b):
        result[i + shift] += factor * value
    return result


def size_of_ideal(ring: PolynomialRing, generators: Sequence[fmpq_mpoly]) -> IdealSize:
    """Return the dimension and degree of the zeros of homogeneous polynomials, multiplicities of components counted.

    Args:
        ring: the ring of the generators.
        generators: homogeneous polynomials of positive degree.

    Raises:
        BadInput: one is not homogeneous, or they have no common zero but the origin or not even that.

    Example:
        >>> ring = PolynomialRing(["a", "b", "c"])
        >>> a, b, c = ring.generators
        >>> size_of_ideal(ring, [a * c - b**2]), size_of_ideal(ring, [a**2, a * b])
        (IdealSize(dimension=2, degree=2), IdealSize(dimension=2, degree=1))
    """
    for polynomial in generators:
        if len({sum(map(int, exponents)) for exponents in polynomial.to_dict()}) > 1:
            raise BadInput(f"generators must be homogeneous, got {polynomial}")
    basis = groebner_basis(ring, generators)
    series = hilbert_numerator([tuple(map(int, element.monomial(0))) for element in basis])
    dimension = len(ring.names)
    if not any(series):
        raise BadInput("the ideal must not contain a constant")
    while sum(series) == 0:  # divide by 1 - z
        total, quotient = 0, []
        for value in series[:-1]:
            total += value
            quotient.append(total)
        series, dimension = quotient, dimension - 1
    return IdealSize(dimension, sum(series))
