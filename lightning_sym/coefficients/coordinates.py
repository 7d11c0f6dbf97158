"""Local coordinates at a zero of polynomials: one denominator, the generators in them, and what they show at once.

Coordinates are `x_i = p_i(u) / q(u)` with `p_i(0) = 0`, `q(0)` not 0 and an invertible differential at 0. A generator
of degree `D` is taken times `q^D`, a unit, so that everything is a polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations

from lightning_sym.certificates.coefficients import terms_document
from lightning_sym.certificates.document import Document
from lightning_sym.coefficients.composition import (
    StepBudget,
    StepPrice,
    coefficient_bits,
    composition_price,
    homogeneously,
    reading_price,
    total_degree,
)
from lightning_sym.coefficients.ideal_elements import terms_of
from lightning_sym.exact.rational import rank
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import RationalMatrix

CHANGE = 5e-7
"""Seconds that a look for new coordinates takes, about, for each term, degree and variable."""

LARGEST_POLYNOMIAL, LARGEST_UNIT, LONGEST_NUMBER = 120, 4, 4000
"""Terms of a polynomial in new coordinates, and of a unit, and bits of a number; with more the old ones are kept."""

FACTORED = 60
"""Terms of a generator that is looked at for factors."""

MOST_CHANGES, MOST_CHOICES = 24, 1000
"""Linear changes of coordinates that are tried, and choices of linear factors, also dependent ones, that are seen."""

PRICED = 6
"""Times that all terms are read for the prices of a step."""

SPLIT, RANK, CALL = 2e-6, 5e-7, 1e-4
"""Seconds that factoring takes, about, for each term and variable, a rank for each entry, and either at least."""


@dataclass(frozen=True)
class Coordinates:
    """Coordinates and the generators in them.

    Attributes:
        ring: of the coordinates.
        numerators: `p_i`, one for each variable.
        denominator: `q`.
        generators: `q^D f(p / q)`.
        seen: by generator the coordinate that it is, for those that are one.
    """

    ring: PolynomialRing
    numerators: tuple[Polynomial, ...]
    denominator: Polynomial
    generators: tuple[Polynomial, ...]
    seen: dict[int, int]

    @staticmethod
    def of(ring: PolynomialRing, generators: Sequence[Polynomial]) -> Coordinates:
        """Return the variables themselves."""
        return Coordinates(ring, ring.generators, ring.constant(1), tuple(generators), {})

    @property
    def hidden(self) -> list[int]:
        """The variables that are no generators."""
        return [i for i in range(len(self.numerators)) if i not in self.seen.values()]

    def document(self) -> Document:
        """Return coordinates and which of them are generators, so that one follows from those before it."""
        return {
            "numerators": [terms_document(terms_of(p)) for p in self.numerators],
            "denominator": terms_document(terms_of(self.denominator)),
            "seen": [[k, i] for k, i in self.seen.items()],
        }

    def price_of_change(self, numerators: Sequence[Polynomial], denominator: Polynomial) -> StepPrice:
        """Return what `changed` takes."""
        return composition_price((*self.numerators, self.denominator, *self.generators), numerators, denominator)

    def changed(self, numerators: Sequence[Polynomial], denominator: Polynomial, seen: dict[int, int]) -> Coordinates:
        """Return coordinates of these coordinates."""

        def into(polynomial: Polynomial, degree: int) -> Polynomial:
            return homogeneously(self.ring, polynomial, numerators, denominator, degree)

        top = max((total_degree(p) for p in (*self.numerators, self.denominator)), default=0)
        *tops, low = (into(p, top) for p in (*self.numerators, self.denominator))
        common = reduce(lambda a, b: a.gcd(b), tops, low)
        tops, low = [p // common for p in tops], low // common
        generators = (_without_unit(into(g, total_degree(g)), denominator) for g in self.generators)
        return Coordinates(self.ring, tuple(tops), low, tuple(generators), seen)

    def without_seen(self) -> Coordinates:
        """Return the same, with generators less multiples of those that are coordinates."""
        hidden = set(self.seen.values())
        found = []
        for k, g in enumerate(self.generators):
            terms = {tuple(map(int, e)): c for e, c in g.to_dict().items()}
            kept = {e: c for e, c in terms.items() if not any(x and i in hidden for i, x in enumerate(e))}
            found.append(g if k in self.seen else self.ring.from_terms(kept))
        return Coordinates(self.ring, self.numerators, self.denominator, tuple(found), self.seen)

    def price_of_these(self, polynomials: Sequence[Polynomial]) -> StepPrice:
        """Return what `of_these` takes."""
        unseen = (f for k, f in enumerate(polynomials) if k not in self.seen)
        return composition_price(unseen, self.numerators, self.denominator)

    def of_these(self, polynomials: Sequence[Polynomial]) -> Coordinates:
        """Return the same coordinates, with the generators that a checker computes, less multiples of those seen."""
        found = [
            self.ring.generators[self.seen[k]]
            if k in self.seen
            else homogeneously(self.ring, f, self.numerators, self.denominator, total_degree(f))
            for k, f in enumerate(polynomials)
        ]
        return Coordinates(self.ring, self.numerators, self.denominator, tuple(found), self.seen).without_seen()


def _without_unit(polynomial: Polynomial, unit: Polynomial) -> Polynomial:
    """Return a polynomial without the factors that it has in common with a unit."""
    while len(unit) > 1 and polynomial and len(common := polynomial.gcd(unit)) > 1:
        polynomial //= common
    return polynomial


def straightened(start: Coordinates, allowed: StepBudget) -> Coordinates:
    """Take generators for coordinates, then what variables are multiplied with, while one is linear up to a unit.

    It stops where what is allowed does not suffice for more, also for `of_these` generators of the start.
    """
    found, taken = start, set(start.seen.values())
    while True:
        if not allowed.begins(StepPrice(look_price(found) + PRICED * _reading(found)), "new coordinates"):
            return found
        step = next(_eliminations(found, taken), None)
        if step is None:
            return found
        generator, variable, unit, rest = step
        ring = found.ring
        own = ring.generators[variable]
        numerators = [own - rest if i == variable else unit * u for i, u in enumerate(ring.generators)]
        seen = found.seen if generator is None else found.seen | {generator: variable}
        if not allowed.begins(found.price_of_change(numerators, unit), "new coordinates"):
            return found
        following = found.changed(numerators, unit, seen)
        made = (*following.generators, *following.numerators, following.denominator)
        if max(map(len, made)) > LARGEST_POLYNOMIAL or coefficient_bits(made) > LONGEST_NUMBER:
            return found
        as_coordinate = list(following.generators)
        if generator is not None:
            as_coordinate[generator] = own  # it is this coordinate times a power of the unit
        taken.add(variable)
        settled = Coordinates(ring, following.numerators, following.denominator, tuple(as_coordinate), seen)
        if not allowed.allows(settled.price_of_these(start.generators)):
            return found
        found = settled.without_seen()


def look_price(found: Coordinates) -> float:
    """Return seconds that a look at all generators takes."""
    each = sum(total_degree(g) * len(g) for g in found.generators)
    return CHANGE * len(found.numerators) * each + 2 * _reading(found)


def _reading(found: Coordinates) -> float:
    """Return the seconds to read all polynomials once."""
    return reading_price((*found.numerators, found.denominator, *found.generators), len(found.numerators))


def _eliminations(found: Coordinates, taken: set[int]) -> Iterator[tuple[int | None, int, Polynomial, Polynomial]]:
    """Yield a generator or none, a variable, and the unit and the rest of it, or of a factor."""
    simplest = sorted(range(len(found.generators)), key=lambda k: len(found.generators[k]))
    for k in simplest:
        if k not in found.seen:
            yield from ((k, *parts) for parts in _linear_in(found, found.generators[k], taken))
    for k in simplest:
        if k not in found.seen and 1 < len(found.generators[k]) <= FACTORED:
            for factor in _factors(found, k):
                yield from ((None, *parts) for parts in _linear_in(found, factor, taken))


def _factors(found: Coordinates, number: int) -> Iterator[Polynomial]:
    """Yield what a variable is multiplied with, for those in which a generator is linear."""
    terms = {tuple(map(int, e)): c for e, c in found.generators[number].to_dict().items()}
    for i in range(len(found.numerators)):
        with_it = {(*e[:i], 0, *e[i + 1 :]): c for e, c in terms.items() if e[i] == 1}
        shared = tuple(map(min, zip(*with_it, strict=True)))
        if len(with_it) > 1 and shared not in with_it and all(e[i] < 2 for e in terms):  # no variable times a unit
            yield found.ring.from_terms(with_it)


def _linear_in(
    found: Coordinates, polynomial: Polynomial, taken: set[int]
) -> Iterator[tuple[int, Polynomial, Polynomial]]:
    """Yield the variables in which it is linear up to a unit, and which are not coordinates already."""
    terms = {tuple(map(int, e)): c for e, c in polynomial.to_dict().items()}
    if any(not any(e) for e in terms):
        return
    for i in range(len(found.numerators)):
        unit = {(*e[:i], 0, *e[i + 1 :]): c for e, c in terms.items() if e[i] == 1}
        first = next((c for e, c in unit.items() if not any(e)), None)
        if i not in taken and first is not None and len(unit) <= LARGEST_UNIT and all(e[i] < 2 for e in terms):
            unit = {e: c / first for e, c in unit.items()}  # 1 at the point: powers of it do not grow
            rest = {e: c / first for e, c in terms.items() if not e[i]}
            yield i, found.ring.from_terms(unit), found.ring.from_terms(rest)


def linear_changes(start: Coordinates, allowed: StepBudget) -> Iterator[Coordinates]:
    """Yield the coordinates themselves, and those in which linear factors of generators are coordinates."""
    yield start
    ring, size = start.ring, len(start.ring.names)
    forms: dict[tuple[Fraction, ...], None] = {}
    for generator in start.generators:
        if generator == ring.constant(0) or len(generator) > FACTORED:
            continue
        if not allowed.begins(StepPrice(CALL + SPLIT * len(generator) * size), "linear factors"):
            break
        for factor, _ in (*generator.factor()[1], *_lowest_form(ring, generator).factor()[1]):
            if total_degree(factor) == 1 and len(factor) > 1 and all(any(map(int, e)) for e in factor.to_dict()):
                forms[_row(factor, size)] = None
    rows = list(forms)
    if not rows or not allowed.begins(_rank_price(len(rows), size), "linear factors"):
        return
    units = [tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size)]
    tried = looked = 0
    for count in range(rank(list(map(list, rows))), 0, -1):
        for chosen in combinations(rows, count):
            looked += 1
            if looked > MOST_CHOICES or not allowed.begins(_rank_price(count, size), "new coordinates"):
                return
            if rank(list(map(list, chosen))) < count:
                continue
            if not allowed.begins(StepPrice(size * _rank_price(size, size).seconds), "new coordinates"):
                return
            basis = list(chosen)
            for unit in units:
                basis += [unit] if rank([*map(list, basis), list(unit)]) > len(basis) else []
            back = RationalMatrix.of([list(row) for row in basis]).inverse()
            assert back is not None  # noqa: S101 - the rows are a basis
            numerators = [
                sum((ring.constant(x) * u for x, u in zip(row, ring.generators, strict=True)), ring.constant(0))
                for row in back.fractions()
            ]
            if not allowed.begins(start.price_of_change(numerators, ring.constant(1)), "new coordinates"):
                return
            yield start.changed(numerators, ring.constant(1), {})
            tried += 1
            if tried == MOST_CHANGES:
                return


def _rank_price(rows: int, size: int) -> StepPrice:
    """Return what the rank of so many linear forms takes."""
    return StepPrice(CALL / 10 + RANK * rows * size)


def _lowest_form(ring: PolynomialRing, polynomial: Polynomial) -> Polynomial:
    """Return the terms of the smallest degree."""
    terms = {tuple(map(int, e)): c for e, c in polynomial.to_dict().items()}
    least = min(map(sum, terms))
    return ring.from_terms({e: c for e, c in terms.items() if sum(e) == least})


def _row(form: Polynomial, size: int) -> tuple[Fraction, ...]:
    row = [Fraction(0)] * size
    for exponents, c in form.to_dict().items():
        row[[*map(int, exponents)].index(1)] = Fraction(int(c.p), int(c.q))
    first = next(x for x in row if x)
    return tuple(x / first for x in row)
