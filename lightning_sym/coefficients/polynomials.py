r"""The learning coefficient of polynomials at one of their zeros, between two bounds with certificates.

From above weights of coordinates with which every term of every generator has weight 1 or more, at the point or at
zeros that homogeneous generators have as near to it as one likes. From below initial monomials of elements of the
ideal and multipliers. Programs find them; what is proved are sums of fractions
(docs/learning-coefficients-linear-attention.md, section 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.coefficients import coefficient_certificate, terms_document
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.files import number_document
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.composition import StepBudget, StepPrice, composition_price
from lightning_sym.coefficients.coordinates import Coordinates, linear_changes, look_price, straightened
from lightning_sym.coefficients.ideal_elements import IdealElement, Sums, Terms, elements, shortest, terms_of
from lightning_sym.coefficients.newton import best_weights, multiplicity
from lightning_sym.coefficients.newton_faces import FaceProof, Sign, both_signs, by_faces
from lightning_sym.coefficients.polynomial_input import GivenIdeal, ideal_of, point_text
from lightning_sym.errors import BadInput
from lightning_sym.exact.ideals import Exponents, minimal_monomials
from lightning_sym.limits import DEFAULT_MEMORY, Progress, Work
from lightning_sym.network.polynomial_map import PolynomialMap

PROOF = "docs/learning-coefficients-linear-attention.md"

PROVED = {
    (False, False): "Propositions 1 and 2",
    (False, True): "Propositions 1 and 8",
    (True, False): "Propositions 9 and 2",
    (True, True): "Propositions 9 and 8",
}
"""What proves both bounds: whether that from above is by signs, and that from below by faces."""

MOST_ZEROS = 60
"""Zeros near the point that are tried for a smaller bound from above."""

DEFAULT_WORK = 15.0

SUM, MOST_SUMS = 5e-7, 10**7
"""Seconds that a sum of an elimination takes, about, and how many one may have."""

STEP = 1.2e-7
"""Seconds that a step of a linear program takes, about, for each number that it looks at."""

MOST_DEGREE, ORDERS = 3, 6
"""Generators are taken times monomials of at most this degree, and orders that are tried."""


@dataclass(frozen=True)
class _Above:
    """A bound from above: twice the coefficient, in coordinates at a zero."""

    value: Fraction
    coordinates: Coordinates
    weights: tuple[Fraction, ...]
    zero: tuple[int, ...] | None
    signs: tuple[Sign, Sign] | None = None
    """What proves it instead of weights."""

    def document(self) -> Document:
        """Return what a certificate says of it."""
        if self.signs is not None:
            return {"signs": [each.document() for each in self.signs]}
        return {
            "zero": None if self.zero is None else list(self.zero),
            "coordinates": self.coordinates.document(),
            "weights": [number_document(w) for w in self.weights],
        }


@dataclass(frozen=True)
class _Below:
    """A bound from below: twice the coefficient, by elements of the ideal in coordinates."""

    value: Fraction
    coordinates: Coordinates
    order: tuple[int, ...]
    elements: tuple[tuple[IdealElement, Fraction], ...]
    """Those with a positive multiplier."""
    monomials: tuple[Exponents, ...]
    """All elements that are monomials times units."""
    faces: FaceProof | None = None
    """What proves it instead of elements."""

    def document(self) -> Document:
        """Return what a certificate says of it."""
        count = len(self.coordinates.generators)
        if self.faces is not None:
            hidden, size = self.coordinates.hidden, len(self.coordinates.numerators)

            def widened(short: Exponents) -> Exponents:
                own = dict(zip(hidden, short, strict=True))
                return tuple(own.get(i, 0) for i in range(size))

            return {"coordinates": self.coordinates.document(), "fan": self.faces.document(widened)}
        return {
            "coordinates": self.coordinates.document(),
            "order": list(self.order),
            "elements": [
                {
                    "monomial": list(each.monomial),
                    "combination": [terms_document(each.combination.get(k, {})) for k in range(count)],
                    "multiplier": number_document(multiplier),
                }
                for each, multiplier in self.elements
            ],
        }


def _unseen(coordinates: Coordinates) -> dict[int, Terms]:
    """Return the generators that are no variables and not zero."""
    return {k: own for k, g in enumerate(coordinates.generators) if k not in coordinates.seen and (own := terms_of(g))}


def polynomial_coefficient(
    polynomials: PolynomialMap | str | Iterable[Any],
    at: Mapping[str, Any] | None = None,
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> LearningCoefficient:
    r"""Return the learning coefficient of the sum of squares of polynomials, at a point where all of them are zero.

    Args:
        polynomials: SymPy expressions, a text of polynomials with commas between them, or the map of a network with
            letters for weights: then its coefficients in the inputs, less their values at the point.
        at: rational coordinates of the point by name; those that are not given are 0.
        work: seconds after which, by rough estimates, no better bounds are looked for.
        memory: bytes that a step may take; better bounds that need more are not looked for.
        progress: called with stage, steps done and steps in all.

    Returns:
        The bounds of the coefficient, with a certificate for both unless its numbers would be too long.

    Raises:
        BadInput: it is no polynomial with rational coefficients, or one is not zero at the point.
        TooLarge: there are too many variables, polynomials or terms, or `work` or `memory` suffice for no bounds.

    Example:
        >>> found = polynomial_coefficient("x*y, x^2")
        >>> found.value, found.multiplicity
        (Fraction(1, 2), 2)
    """
    require_arguments(polynomial_coefficient, locals())
    allowed = StepBudget(Work(work, progress), memory)
    ideal = ideal_of(polynomials, at or {}, allowed)
    if not ideal.generators:
        return LearningCoefficient(Fraction(0), Fraction(0), 1, f"{PROOF}, section 1: the zero ideal", _about(ideal))
    start = Coordinates.of(ideal.ring, ideal.generators)
    half = allowed.half
    above = _with_signs(start, _best_above(start, half), half)
    below = _best_below(start, above, allowed)
    return LearningCoefficient(
        below.value / 2,
        above.value / 2,
        _multiplicity(above, below),
        f"{PROOF}, {PROVED[above.signs is not None, below.faces is not None]}",
        _about(ideal),
        {"variables": len(ideal.ring.names), "polynomials": len(ideal.generators),
         "rank of the differential": len(below.coordinates.seen)},
        _certificate(ideal, above, below),
    )  # fmt: skip


def _certificate(ideal: GivenIdeal, above: _Above, below: _Below) -> Document | None:
    """Return what proves both bounds, or nothing where a number is too long to be written."""
    try:
        of = {"polynomials": [*map(terms_document, ideal.given)], "point": [*map(number_document, ideal.point)]}
        return coefficient_certificate(of, below.value / 2, above.value / 2, above.document(), below.document())
    except BadInput:
        return None


def _about(ideal: GivenIdeal) -> str:
    what = "mean squared error, for inputs with a density," if ideal.of_a_map else "sum of squares of the polynomials"
    return f"of the {what} at {point_text(ideal)}"


def _best_above(start: Coordinates, allowed: StepBudget) -> _Above:
    """Return the smallest bound from above that is found."""
    allowed.require(program_price(start), "a bound from above")
    plain = best_weights(_monomials(start), len(start.numerators))
    best = _Above(plain.value, start, plain.weights, None)
    for zero, there in _zeros(start, allowed):
        for changed in linear_changes(there, allowed):
            price = look_price(there)
            if not (allowed.allows(StepPrice(2 * price)) and allowed.begins(StepPrice(price), "a bound from above")):
                return best
            settled = straightened(changed, allowed)
            if not allowed.begins(settled.price_of_these(there.generators), "a bound from above"):
                continue
            settled = settled.of_these(there.generators)
            if not allowed.begins(program_price(settled), "a bound from above"):
                return best
            found = best_weights(_monomials(settled), len(start.numerators))
            if found.value < best.value:
                best = _Above(found.value, settled, found.weights, zero)
    return best


def _with_signs(start: Coordinates, best: _Above, allowed: StepBudget) -> _Above:
    """Return the bound 1 where it is better: the zeros of one polynomial with both signs are of codimension one."""
    if best.value <= 1 or len(start.generators) > 1:
        return best
    signs = both_signs(terms_of(start.generators[0]), len(start.numerators), allowed)
    return best if signs is None else _Above(Fraction(1), best.coordinates, best.weights, best.zero, signs)


def program_price(coordinates: Coordinates) -> StepPrice:
    """Return what the program of all terms of the generators takes: about one step for each variable."""
    size, count = len(coordinates.numerators), sum(map(len, coordinates.generators))
    return StepPrice(2e-8 * count**2 + size * STEP * (size * count + 20 * size**2), 16 * size * count)


def _monomials(coordinates: Coordinates) -> list[Exponents]:
    return minimal_monomials(e for g in coordinates.generators for e in terms_of(g))


def _zeros(start: Coordinates, allowed: StepBudget) -> Iterator[tuple[tuple[int, ...] | None, Coordinates]]:
    """Yield the point, and, of homogeneous generators, other zeros: multiples of them are as near as one likes."""
    yield None, start
    if any(len({sum(e) for e in terms_of(g)}) > 1 for g in start.generators):
        return
    ring, size, tried = start.ring, len(start.numerators), 0
    for count in (1, 2):
        for ones in combinations(range(size), count):
            if tried == MOST_ZEROS:
                return
            zero = tuple(int(i in ones) for i in range(size))
            moved = [u + ring.constant(x) for u, x in zip(ring.generators, zero, strict=True)]
            if not allowed.begins(composition_price(start.generators, moved, ring.constant(1)), "other zeros"):
                return
            there = [ring.substituted(g, moved) for g in start.generators]
            if all((0,) * size not in terms_of(g) for g in there):
                tried += 1
                yield zero, Coordinates.of(ring, there)


def _best_below(start: Coordinates, above: _Above, allowed: StepBudget) -> _Below:
    """Return the largest bound from below that is found, until it meets the one from above with a multiplicity."""
    settled = straightened(start, allowed.half)
    can = allowed.begins(settled.price_of_these(start.generators), "a bound from below")
    settled = settled.of_these(start.generators) if can else start
    roads = [settled] if above.zero is not None or above.coordinates == settled else [above.coordinates, settled]
    best = _by_elements(roads, above, allowed)
    for coordinates in roads:
        if best.value == above.value and _multiplicity(above, best) is not None:
            break
        found = _by_faces(coordinates, allowed)
        gains = found is not None and (found.value, _multiplicity(above, found) or 0) > (best.value, 0)
        best = found if found is not None and gains else best
    return best


def _by_faces(coordinates: Coordinates, allowed: StepBudget) -> _Below | None:
    """Return the bound that the faces of the Newton polyhedron prove, if they do."""
    hidden, unseen = coordinates.hidden, _unseen(coordinates)
    few = shortest(unseen)
    short = {k: {tuple(e[i] for i in hidden): c for e, c in terms.items()} for k, terms in few.items()}
    found = by_faces(short, len(hidden), allowed) if short else None
    if found is None:
        return None
    if len(few) < len(unseen) and found.order != 1:
        found = replace(found, order=None)  # with the others the pole may be of less order
    return _Below(len(coordinates.seen) + found.value, coordinates, (), (), (), found)


def _by_elements(roads: Sequence[Coordinates], above: _Above, allowed: StepBudget) -> _Below:
    """Return the largest bound that initial monomials of elements of the ideal prove."""
    best: _Below | None = None
    for coordinates in roads:
        hidden, unseen = coordinates.hidden, shortest(_unseen(coordinates))
        least = 0.0  # sums that the elimination before took
        for degree in range(MOST_DEGREE + 1):
            for order in _orders(above, len(coordinates.numerators)):
                most = min(MOST_SUMS, allowed.work.left / SUM)
                if best is not None and most < least:
                    return best
                sums = Sums(most)
                found = elements(unseen, order, degree, hidden, sums)
                least = most - sums.left
                allowed.work.spend(min(least * SUM, allowed.work.left), "a bound from below")
                bound = _bound_of(found, coordinates, order)
                if best is None or bound.value > best.value:
                    best = bound
                if best.value == above.value:
                    return best
    assert best is not None  # noqa: S101 - the shortest generators themselves are few enough
    return best


def _orders(above: _Above, size: int) -> Iterator[tuple[int, ...]]:
    """Yield orders: by the weights from above, by degree, and others, none with two terms alike but by chance."""
    draw = Random(1)

    def small() -> list[int]:
        return [draw.randrange(1, 1000) for _ in range(size)]

    by_weights = [int(w * 27720) * 100_000 for w in above.weights]
    yield tuple(a + b for a, b in zip(by_weights, small(), strict=True))
    yield tuple(100_000 + b for b in small())
    for _ in range(ORDERS - 2):
        yield tuple(small())


def _bound_of(found: Sequence[IdealElement], coordinates: Coordinates, order: tuple[int, ...]) -> _Below:
    """Return the best bound that these elements give."""
    size = len(order)
    least = {tuple(m) for m in minimal_monomials(each.monomial for each in found)}
    used = [each for each in found if each.monomial in least]
    solution = best_weights([each.monomial for each in used], size)
    pairs = tuple((e, y) for e, y in zip(used, solution.multipliers, strict=True) if y)
    units = [tuple(int(i == j) for j in range(size)) for i in coordinates.seen.values()]
    monomials = tuple(e.monomial for e in found if e.is_monomial)
    return _Below(len(units) + solution.value, coordinates, order, pairs, (*units, *monomials))


def _multiplicity(above: _Above, below: _Below) -> int | None:
    """Return the order of the pole, where monomials in the ideal and monomials of its generators have the same."""
    if below.value != above.value:
        return None
    if below.faces is not None:
        return below.faces.order
    size, inside, outside = len(above.weights), minimal_monomials(below.monomials), _monomials(above.coordinates)
    if above.signs is not None or above.zero is not None or not inside:
        return None
    if best_weights(inside, size).value != above.value:
        return None
    most, least = multiplicity(inside, size), multiplicity(outside, size)
    return most if most == least else None
