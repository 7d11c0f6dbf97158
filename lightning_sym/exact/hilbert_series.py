"""Dimension and degree of homogeneous ideals, from the leading monomials of a Groebner basis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flint import fmpq_mpoly

from lightning_sym.errors import BadInput
from lightning_sym.exact.ideals import groebner_basis
from lightning_sym.rings.polynomials import PolynomialRing

Exponents = tuple[int, ...]


class IdealSize(NamedTuple):
    """Of the zeros of a homogeneous ideal, as a cone: Krull dimension and degree of the quotient ring."""

    dimension: int
    degree: int


def hilbert_numerator(monomials: Iterable[Exponents]) -> list[int]:
    r"""The polynomial $N$ with Hilbert series $N(z) / (1 - z)^n$ of a monomial ideal, its coefficients from degree 0.

    Splits by a variable: $N_I = N_{I + (x)} + z\, N_{I : x}$ (Bayer and Stillman).

    Example:
        >>> hilbert_numerator([(2, 0), (1, 1)])
        [1, 0, -2, 1]
    """
    minimal = _minimal(monomials)
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


def _minimal(monomials: Iterable[Exponents]) -> list[Exponents]:
    """Those that no other one divides."""
    kept: list[Exponents] = []
    for monomial in sorted(set(monomials), key=sum):
        if not any(all(k <= e for k, e in zip(other, monomial, strict=True)) for other in kept):
            kept.append(monomial)
    return kept


def _plus(a: Sequence[int], b: Sequence[int], shift: int, factor: int) -> list[int]:
    """`a + factor * z^shift * b`."""
    result = [*a, *[0] * (len(b) + shift - len(a))]
    for i, value in enumerate(b):
        result[i + shift] += factor * value
    return result


def size_of_ideal(ring: PolynomialRing, generators: Sequence[fmpq_mpoly]) -> IdealSize:
    """Dimension and degree of the zeros of homogeneous polynomials, multiplicities of components counted.

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
