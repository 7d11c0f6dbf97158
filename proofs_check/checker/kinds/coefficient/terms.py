"""Rational numbers, and polynomials by their exponents, whose sums and products say before how much work they are."""

import itertools
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

from proofs_check.checker.verify import BITS, keep, need, rational, scratch, spend, take


def length_of(x: Fraction | int) -> int:
    """Return how long a number is."""
    return x.numerator.bit_length() + x.denominator.bit_length()


def paid(*numbers: Fraction | int) -> None:
    """Say what a sum or a product of these takes, so that neither many numbers nor long ones take forever."""
    long = sum(map(length_of, numbers))
    need(long <= BITS, f"coefficients must have at most {BITS:,} bits")
    spend(20 + long**2 // 2**17)


def total(numbers: Iterable[Fraction | int]) -> Fraction:
    """Return the sum."""
    found = Fraction(0)
    for x in numbers:
        paid(found, x)
        found += x
    return found


def at_most_one(pairs: list[tuple[tuple[int, ...], Fraction]], seen: Collection[int], n: int) -> Fraction:
    """Return the sum of multipliers of exponents that each variable may take, those that are seen being taken once."""
    need(all(y >= 0 for _, y in pairs), "multipliers must not be negative")
    for i in range(n):
        used = total((int(i in seen), *(y * e[i] for e, y in pairs if e[i])))
        need(used <= 1, "multipliers must add up to at most 1 for every variable")
    return total(y for _, y in pairs)


DEGREES, TERMS = range(257), 10**5
Polynomial = dict[tuple[int, ...], Fraction]


def polynomial(n: int) -> Any:
    """Return the form of a polynomial in n variables: a list of terms, a coefficient and exponents."""

    def form(value: object) -> Polynomial:
        found: Polynomial = {}
        for term in take(value, "a polynomial", [object]):
            c, exponents = take(term, "a term", [object, 2])
            key = tuple(take(exponents, "exponents", [DEGREES, n]))
            need(key not in found, "a polynomial must have each monomial once")
            found[key] = rational(c)
        return {key: c for key, c in found.items() if c}

    return form


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return the product."""
    found: Polynomial = {}
    spend(1 + 40 * len(a) * len(b))
    with scratch():
        for (x, c), (y, d) in itertools.product(a.items(), b.items()):
            paid(c, d)
            add(found, {tuple(map(sum, zip(x, y, strict=True))): c * d})
            need(len(found) <= TERMS, f"polynomials must have at most {TERMS:,} terms")
    return {key: c for key, c in found.items() if c}


def add(found: Polynomial, other: Polynomial) -> None:
    """Add another polynomial."""
    for key, c in other.items():
        old = found.get(key, Fraction(0))
        paid(old, c)
        keep((length_of(old + c) - length_of(old)) // 7 + 300 * (key not in found))
        found[key] = old + c


def substituted(f: Polynomial, tops: list[Polynomial], low: Polynomial, n: int) -> Polynomial:
    """Return low^D f(tops / low), where D is the degree of f."""
    degree, found = max(map(sum, f), default=0), dict[tuple[int, ...], Fraction]()
    for key, c in f.items():
        term: Polynomial = {(0,) * n: c}
        for factor, power in zip((*tops, low), (*key, degree - sum(key)), strict=True):
            for _ in range(power):
                term = times(term, factor)
        add(found, term)
    return {key: c for key, c in found.items() if c}


def weight(weights: list[Any], key: tuple[int, ...]) -> Any:
    """Return the weight of a monomial."""
    return total(w * x for w, x in zip(weights, key, strict=True) if x)
