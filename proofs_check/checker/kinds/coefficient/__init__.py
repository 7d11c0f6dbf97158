"""A learning coefficient lambda between two bounds: of polynomials at one of their zeros, or of a model by its sizes.

The statements of docs/learning-coefficients-linear-attention.md are taken as given; all arithmetic is redone, in
fractions: a sum of weights is twice a bound from above, a sum of multipliers twice one from below. Models by their
sizes are in models.py. What stands where is in docs/certificate.md.
"""

from fractions import Fraction
from math import prod

from proofs_check.checker.functions.matrices import unit
from proofs_check.checker.functions.rings import Residues
from proofs_check.checker.kinds.coefficient.models import MODEL, bounds_of_model
from proofs_check.checker.kinds.coefficient.newton import by_faces, tight_at
from proofs_check.checker.kinds.coefficient.terms import (
    DEGREES,
    Polynomial,
    add,
    at_most_one,
    polynomial,
    substituted,
    times,
    total,
    weight,
)
from proofs_check.checker.verify import (
    COUNT,
    INTEGER,
    LONG,
    RATIONAL,
    SOME,
    Echelon,
    Fields,
    Later,
    need,
    pack,
    rational,
    scratch,
    spend,
    take,
)

PROVED = {
    (False, False): "Propositions 1 and 2",
    (False, True): "Propositions 1 and 8",
    (True, False): "Propositions 9 and 2",
    (True, True): "Propositions 9 and 8",
}
VARIABLES, PRIME = range(1, 257), 2**31 - 1


def in_coordinates(
    polynomials: list[Polynomial], point: list[Fraction], tops: list[Polynomial], low: Polynomial
) -> list[Polynomial]:
    """Return polynomials at the point and tops / low, times powers of low, without zeros."""
    shifted = [dict(p) for p in tops]
    for p, x in zip(shifted, point, strict=True):
        add(p, {key: c * x for key, c in low.items()})
    return [substituted(f, [{k: c for k, c in p.items() if c} for p in shifted], low, len(point)) for f in polynomials]


def at_point(polynomials: list[Polynomial], point: list[Fraction]) -> list[Polynomial]:
    """Return polynomials with a point as the origin."""
    n = len(point)
    return in_coordinates(
        polynomials, point, [{tuple(variable): Fraction(1)} for variable in unit(n)], {(0,) * n: Fraction(1)}
    )


class ZeroPoint:
    """Polynomials at one of their zeros, in coordinates; those that are coordinates by themselves are `seen`."""

    def __init__(self, polynomials: list[Polynomial], point: list[Fraction], data: object) -> None:
        n, count = len(point), range(len(polynomials))
        form = {"numerators": [polynomial(n), n], "denominator": polynomial(n), "seen": [[COUNT, 2]]}
        tops, low, seen = take(data, "coordinates", form)
        origin, variables, field, echelon = (0,) * n, [*map(tuple, unit(n))], Residues(PRIME), Echelon(PRIME, n)
        need(low.get(origin) and not any(p.get(origin) for p in tops), "coordinates must be 0 at the point")
        rows = ([field.of(p.get(key, Fraction(0))) for key in variables] for p in tops)
        invertible = all(echelon.add(pack(row)) is None for row in rows)
        need(invertible, "coordinates must have an invertible differential")
        self.whole = in_coordinates(polynomials, point, tops, low)
        need(all(origin not in f for f in self.whole), "the polynomials must be 0 at the point")
        self.n, self.seen = n, {i for _, i in seen}
        need(len(self.seen) == len({k for k, _ in seen}) == len(seen), "a coordinate is seen once")
        spend(2 * len(seen) * sum(map(len, self.whole)))
        before: set[int] = set()
        for k, i in seen:  # up to multiples of those before it, which are in the ideal
            own = [key for key in self.whole[k] if not any(key[j] for j in before)] if k in count and i < n else []
            good = own and variables[i] in own and all(key[i] for key in own)
            need(good, "a coordinate that is seen must be a generator, up to a unit and coordinates seen before")
            before.add(i)
        self.rest = [{key: c for key, c in f.items() if not any(key[i] for i in self.seen)} for f in self.whole]


def from_above(polynomials: list[Polynomial], point: list[Fraction], data: object) -> Fraction:
    """Return twice a bound: the sum of weights with which every term has weight 1 or more."""
    if "signs" in take(data, "above", dict):
        return by_signs(polynomials, point, data)
    n, form = len(point), {"zero": ([rational, len(point)],), "coordinates": object, "weights": [rational, len(point)]}
    zero, coordinates, weights = take(data, "above", form)
    if zero is not None:  # of homogeneous polynomials: multiples of it are as near to the point as one likes
        here = at_point(polynomials, point)
        need(all(len(set(map(sum, f))) <= 1 for f in here), "with another zero the polynomials must be homogeneous")
        point = [x + z for x, z in zip(point, zero, strict=True)]
    there = ZeroPoint(polynomials, point, coordinates)
    need(all(w >= 0 for w in weights), "weights must not be negative")
    spend(n * sum(map(len, there.whole)))
    need(all(weight(weights, key) >= 1 for f in there.whole for key in f), "every term must have weight 1 or more")
    return total(weights)


def by_signs(polynomials: list[Polynomial], point: list[Fraction], data: object) -> Fraction:
    """Return twice a bound of one polynomial that has both signs near the point: the codimension of its zeros, 1."""
    sign = {"weights": [range(1, LONG), len(point)], "point": [range(-1, 2), len(point)]}
    (signs,) = take(data, "above", {"signs": [sign, 2]})
    need(len(polynomials) == 1, "signs must be of one polynomial")
    (f,) = at_point(polynomials, point)
    need(f and (0,) * len(point) not in f, "the polynomial must be 0 at the point, and not zero")
    spend(4 * len(point) * len(f))
    found = []
    for weights, p in signs:
        found.append(total(f[key] * prod(map(pow, p, key)) for key in tight_at(weights, list(f))))
    positive, negative = found
    need(negative < 0 < positive, "terms of smallest weight must be positive at one point, and negative at the other")
    return Fraction(1)


def from_below(polynomials: list[Polynomial], point: list[Fraction], data: object) -> Fraction:
    """Return twice a bound: coordinates that are seen, and the sum of multipliers of initial monomials, or of faces."""
    n, count = len(point), len(polynomials)
    if "fan" in take(data, "below", dict):
        coordinates, fan = take(data, "below", {"coordinates": object, "fan": object})
        here = ZeroPoint(polynomials, point, coordinates)
        return len(here.seen) + by_faces(here.rest, [i for i in range(n) if i not in here.seen], n, fan)
    of_element = {"monomial": [DEGREES, n], "combination": [polynomial(n), count], "multiplier": rational}
    form = {"coordinates": object, "order": [range(1, LONG), n], "elements": [of_element]}
    coordinates, order, elements = take(data, "below", form)
    here = ZeroPoint(polynomials, point, coordinates)
    pairs = list[tuple[tuple[int, ...], Fraction]]()
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
        pairs.append((first, multiplier))
    return len(here.seen) + at_most_one(pairs, here.seen, n)


def prove(of: Fields, lower: Fraction, upper: Fraction, above: Fields, below: Fields) -> str:
    """Say what a certificate proves of a learning coefficient."""
    take(of, "of", dict)
    if "model" in of:
        low, high, about, theorem = bounds_of_model(of, above, below)
    else:
        point, given = take(of, "of", {"polynomials": object, "point": [rational]})[::-1]
        need(len(point) in VARIABLES, f"there must be at most {VARIABLES[-1]} variables")
        given = take(given, "polynomials", [polynomial(len(point))])
        low, high = from_below(given, point, below), from_above(given, point, above)
        about = f"{len(given)} polynomials in {len(point)} variables"
        theorem = PROVED["signs" in above, "fan" in below]
    need(lower == low / 2 and upper == high / 2, f"the bounds must be {low / 2} and {high / 2}")
    claim = f"lambda = {lower}" if lower == upper else f"{lower} <= lambda <= {upper}"
    return f"{claim}, for {about}, by docs/learning-coefficients-linear-attention.md, {theorem}"


POLYNOMIALS = {"polynomials": [[[Later(INTEGER, RATIONAL, [DEGREES]), 2]]], "point": [rational, SOME]}
FORM = {"of": Later(POLYNOMIALS, MODEL), "lower": rational, "upper": rational}
ROWS = ((FORM | {"above": Later(dict), "below": Later(dict)}, prove),)
