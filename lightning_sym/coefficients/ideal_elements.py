"""Elements of an ideal of polynomials with known initial monomials, by elimination among multiples of the generators.

An order is a positive integer for each variable: the initial terms are those of the smallest weight. The ideal has at
least the coefficient of any initial monomials of its elements (real at least complex; the complex one is lower
semicontinuous when variables are scaled by powers of `t` and `t` goes to 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import inf
from typing import Any

from lightning_sym.exact.ideals import Exponents
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.rationals import as_fmpq, as_fraction

Terms = dict[Exponents, Fraction]

LONG = 200
"""Bits of a factor with which a sum takes twice as long as with a short one."""

_Row = dict[Exponents, Any]
"""By monomial a number of flint's, which is quicker than a fraction."""

MOST_ROWS, MOST_TERMS = 150, 3000
"""Multiples of the generators among which elements are looked for, and terms of all of them."""


@dataclass(frozen=True)
class IdealElement:
    """An element of the ideal.

    Attributes:
        monomial: its initial one, of smaller weight than all its other terms.
        combination: by generator the polynomial that it is multiplied with.
        is_monomial: whether it is this monomial times a unit.
    """

    monomial: Exponents
    combination: dict[int, Terms]
    is_monomial: bool


def terms_of(polynomial: Polynomial) -> Terms:
    """Return the terms of a polynomial of flint."""
    return {tuple(map(int, e)): Fraction(int(c.p), int(c.q)) for e, c in polynomial.to_dict().items()}


def monomials_of_degree(degree: int, variables: Sequence[int], size: int) -> list[Exponents]:
    """Return all monomials of one degree in some of the variables.

    Example:
        >>> monomials_of_degree(2, [0, 2], 3)
        [(2, 0, 0), (1, 0, 1), (0, 0, 2)]
    """
    found = []
    for choice in combinations_with_replacement(variables, degree):
        exponents = [0] * size
        for i in choice:
            exponents[i] += 1
        found.append(tuple(exponents))
    return found


def shortest(generators: dict[int, Terms]) -> dict[int, Terms]:
    """Return the generators with the fewest terms, as many as elements are looked for among.

    Example:
        >>> list(shortest({0: {(k,): Fraction(1) for k in range(1, MOST_TERMS + 2)}, 1: {(1,): Fraction(1)}}))
        [1]
    """
    kept, count = set[int](), 0
    for k in sorted(generators, key=lambda k: len(generators[k]))[:MOST_ROWS]:
        count += len(generators[k])
        if count > MOST_TERMS:
            break
        kept.add(k)
    return {k: terms for k, terms in generators.items() if k in kept}


class Sums:
    """A count of sums of numbers, longer ones more, and how many there may be.

    Attributes:
        left: how many more.
    """

    def __init__(self, most: float) -> None:
        self.left = most

    def counted(self, numbers: int, factor: Any) -> None:
        """Count as many sums, with multiples by this factor."""
        length = (factor.p.bit_length() + factor.q.bit_length()) / LONG
        self.left -= numbers * (1 + length + length**2 / 25)  # common divisors of long ones take the square


def elements(
    generators: dict[int, Terms],
    order: Sequence[int],
    degree: int,
    variables: Sequence[int],
    sums: Sums | None = None,
) -> list[IdealElement]:
    """Return elements of the ideal with different initial monomials.

    Args:
        generators: by number, not zero.
        order: the weight of each variable.
        degree: generators are taken times monomials up to this degree.
        variables: of these monomials.
        sums: how many there may be; any number if not given.

    Returns:
        The elements; where there would be too many rows, or sums, those among the first ones.

    Example:
        >>> f, g = {(1, 0): Fraction(1), (0, 2): Fraction(1)}, {(1, 1): Fraction(1)}
        >>> [each.monomial for each in elements({0: f, 1: g}, [3, 2], 1, [0, 1])]
        [(1, 0), (1, 1), (2, 0), (2, 1), (0, 3), (1, 2)]
    """
    size = len(order)
    shifts = [m for d in range(degree + 1) for m in monomials_of_degree(d, variables, size)]

    def weight(exponents: Exponents) -> tuple[int, Exponents]:
        return sum(a * b for a, b in zip(exponents, order, strict=True)), exponents

    sums = Sums(inf) if sums is None else sums
    pivots: dict[Exponents, tuple[_Row, _Row]] = {}
    rows = terms = 0
    for shift in shifts:
        for k, generator in generators.items():
            rows, terms = rows + 1, terms + len(generator)
            if rows > MOST_ROWS or terms > MOST_TERMS or sums.left < 0:
                continue
            row = {tuple(a + b for a, b in zip(e, shift, strict=True)): as_fmpq(c) for e, c in generator.items()}
            made = {(k, *shift): as_fmpq(1)}
            while row and sums.left >= 0:
                lead = min(row, key=weight)
                if lead not in pivots:
                    pivots[lead] = row, made
                    break
                _subtract(row, made, lead, pivots[lead], sums)
    found = []
    for lead, (row, made) in pivots.items():
        strict = all(weight(e)[0] > weight(lead)[0] for e in row if e != lead)
        if not strict:
            continue
        row, made = dict(row), dict(made)
        for _ in range(len(pivots)):  # of the other terms as many as can be taken away
            other = next((e for e in row if e != lead and e in pivots and not _divides(lead, e)), None)
            if other is None or sums.left < 0:
                break
            _subtract(row, made, other, pivots[other], sums)
        combination: dict[int, Terms] = {}
        for (k, *by), c in made.items():
            combination.setdefault(k, {})[tuple(by)] = as_fraction(c)
        found.append(IdealElement(lead, combination, all(_divides(lead, e) for e in row)))
    return found


def _divides(first: Exponents, second: Exponents) -> bool:
    return all(a <= b for a, b in zip(first, second, strict=True))


def _subtract(row: _Row, made: _Row, lead: Exponents, pivot: tuple[_Row, _Row], sums: Sums) -> None:
    """Take a multiple of a pivot off a row, so that a term is gone, and off what made the row."""
    factor = row[lead] / pivot[0][lead]
    sums.counted(len(pivot[0]) + len(pivot[1]), factor)
    for target, source in zip((row, made), pivot, strict=True):
        for key, c in source.items():
            value = target[key] - factor * c if key in target else -factor * c
            if value:
                target[key] = value
            else:
                target.pop(key, None)
