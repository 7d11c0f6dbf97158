"""A learning coefficient lambda between two bounds: of polynomials at one of their zeros, or of a model by its sizes.

The statements of docs/learning-coefficients-linear-attention.md are taken as given; all arithmetic is redone, in
fractions: a sum of weights is twice a bound from above, a sum of multipliers twice one from below. Models by their
sizes are in models.py. What stands where is in docs/certificate.md.
"""

import itertools
from fractions import Fraction
from typing import Any

from proofs_check.checker.kinds.coefficient.models import MODEL, proved
from proofs_check.checker.kinds.coefficient.numbers import bits, independent, paid, total
from proofs_check.checker.verify import (
    COUNT,
    INTEGER,
    LONG,
    RATIONAL,
    SOME,
    Later,
    keep,
    need,
    rational,
    scratch,
    spend,
    take,
)

VARIABLES, DEGREES, TERMS = range(1, 257), range(257), 10**5
Polynomial = dict[tuple[int, ...], Fraction]

# ---- polynomials, by their exponents


def polynomial(n: int) -> Any:
    """Return the form of a polynomial in n variables: a list of terms, a coefficient and exponents."""

    def form(value: Any) -> Polynomial:
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
        keep((bits(old + c) - bits(old)) // 7 + 300 * (key not in found))
        found[key] = old + c


def at(f: Polynomial, tops: list[Polynomial], low: Polynomial, n: int) -> Polynomial:
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


# ---- bounds of polynomials


class ZeroPoint:
    """Polynomials at one of their zeros, in coordinates; those that are coordinates by themselves are `seen`."""

    def __init__(self, polynomials: list[Polynomial], point: list[Fraction], data: Any) -> None:
        n, count = len(point), range(len(polynomials))
        form = {"numerators": [polynomial(n), n], "denominator": polynomial(n), "seen": [[COUNT, 2]]}
        tops, low, seen = take(data, "coordinates", form)
        origin, units = (0,) * n, [tuple(int(i == j) for j in range(n)) for i in range(n)]
        need(low.get(origin) and not any(p.get(origin) for p in tops), "coordinates must be 0 at the point")
        linear = [[p.get(unit, Fraction(0)) for unit in units] for p in tops]
        need(independent(linear), "coordinates must have an invertible differential")
        moved = [dict(p) for p in tops]
        for p, x in zip(moved, point, strict=True):
            add(p, {key: c * x for key, c in low.items()})
        self.whole = [at(f, [{k: c for k, c in p.items() if c} for p in moved], low, n) for f in polynomials]
        need(all(origin not in f for f in self.whole), "the polynomials must be 0 at the point")
        self.n, self.seen = n, {i for _, i in seen}
        need(len(self.seen) == len({k for k, _ in seen}) == len(seen), "a coordinate is seen once")
        spend(2 * len(seen) * sum(map(len, self.whole)))
        before: set[int] = set()
        for k, i in seen:  # up to multiples of those before it, which are in the ideal
            own = [key for key in self.whole[k] if not any(key[j] for j in before)] if k in count and i < n else []
            good = own and units[i] in own and all(key[i] for key in own)
            need(good, "a coordinate that is seen must be a generator, up to a unit and coordinates seen before")
            before.add(i)
        self.rest = [{key: c for key, c in f.items() if not any(key[i] for i in self.seen)} for f in self.whole]


def from_above(polynomials: list[Polynomial], point: list[Fraction], data: Any) -> Fraction:
    """Return twice a bound: the sum of weights with which every term has weight 1 or more."""
    n, form = len(point), {"zero": ([rational, len(point)],), "coordinates": object, "weights": [rational, len(point)]}
    zero, coordinates, weights = take(data, "above", form)
    if zero is not None:  # of homogeneous polynomials: multiples of it are as near to the point as one likes
        origin, units = (0,) * n, [tuple(int(i == j) for j in range(n)) for i in range(n)]
        tops: list[Polynomial] = [{unit: Fraction(1), origin: x} for unit, x in zip(units, point, strict=True)]
        here = [at(f, tops, {origin: Fraction(1)}, n) for f in polynomials]
        need(all(len(set(map(sum, f))) <= 1 for f in here), "with another zero the polynomials must be homogeneous")
        point = [x + z for x, z in zip(point, zero, strict=True)]
    there = ZeroPoint(polynomials, point, coordinates)
    need(all(w >= 0 for w in weights), "weights must not be negative")
    spend(n * sum(map(len, there.whole)))
    need(all(weight(weights, key) >= 1 for f in there.whole for key in f), "every term must have weight 1 or more")
    return total(weights)


def from_below(polynomials: list[Polynomial], point: list[Fraction], data: Any) -> Fraction:
    """Return twice a bound: coordinates that are seen, and the sum of multipliers of initial monomials."""
    n, count = len(point), len(polynomials)
    of_element = {"monomial": [DEGREES, n], "combination": [polynomial(n), count], "multiplier": rational}
    form = {"coordinates": object, "order": [range(1, LONG), n], "elements": [of_element]}
    coordinates, order, elements = take(data, "below", form)
    here = ZeroPoint(polynomials, point, coordinates)
    used, found = [Fraction(int(i in here.seen)) for i in range(n)], Fraction(len(here.seen))
    for exponents, combination, multiplier in elements:
        element: Polynomial = {}
        with scratch():
            for a, f in zip(combination, here.rest, strict=True):
                need(not any(key[i] for key in a for i in here.seen), "combinations must be without coordinates seen")
                add(element, times(a, f))
        first = tuple(exponents)
        need(element.get(first), "the monomial of an element must be one of its terms")
        others = (key for key, c in element.items() if c and key != first)
        need(all(weight(order, key) > weight(order, first) for key in others), "the monomial must be the initial one")
        need(multiplier >= 0, "multipliers must not be negative")
        used = [total((u, multiplier * x)) for u, x in zip(used, first, strict=True)]
        found = total((found, multiplier))
    need(all(u <= 1 for u in used), "multipliers must add up to at most 1 for every variable")
    return found


def prove(of: dict[str, Any], lower: Fraction, upper: Fraction, above: Any, below: Any) -> str:
    """Say what a certificate proves of a learning coefficient."""
    take(of, "of", dict)
    if "model" in of:
        low, high, about, theorem = proved(of, above, below)
    else:
        point, given = take(of, "of", {"polynomials": object, "point": [rational]})[::-1]
        need(len(point) in VARIABLES, f"there must be at most {VARIABLES[-1]} variables")
        given = take(given, "polynomials", [polynomial(len(point))])
        low, high = from_below(given, point, below), from_above(given, point, above)
        about, theorem = f"{len(given)} polynomials in {len(point)} variables", "Propositions 1 and 2"
    need(lower == low / 2 and upper == high / 2, f"the bounds must be {low / 2} and {high / 2}")
    claim = f"lambda = {lower}" if lower == upper else f"{lower} <= lambda <= {upper}"
    return f"{claim}, for {about}, by docs/learning-coefficients-linear-attention.md, {theorem}"


TERM = [Later(INTEGER, RATIONAL, [DEGREES]), 2]
ROWS = (
    (
        {
            "of": Later({"polynomials": [[TERM]], "point": [rational, SOME]}, MODEL),
            "lower": rational,
            "upper": rational,
            "above": Later(dict),
            "below": Later(dict),
        },
        prove,
    ),
)
