"""Polynomials as they are given: text, SymPy, or the map of a network; and the point, as the origin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lightning_sym.arguments import shown
from lightning_sym.coefficients.composition import StepBudget, composition_price
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.readers.exact_json import ExactNumbers
from lightning_sym.rings.expressions import Entry
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.varieties.map_text import parse_polynomial

with lazy_imports(__name__):
    import sympy

Terms = dict[tuple[int, ...], Fraction]

MOST_VARIABLES, MOST_POLYNOMIALS, MOST_TERMS, LARGEST_DEGREE = 60, 300, 3000, 60

_ANY_DEGREE = 10**6


@dataclass(frozen=True)
class GivenIdeal:
    """Polynomials at a point.

    Attributes:
        ring: of the variables.
        given: the polynomials, without those that are zero, in the variables as given.
        generators: the same with the point as the origin, as flint's.
        point: its coordinates, in the order of the variables.
        of_a_map: whether they are coefficients of the map of a network.
    """

    ring: PolynomialRing
    given: tuple[Terms, ...]
    generators: tuple[Polynomial, ...]
    point: tuple[Fraction, ...]
    of_a_map: bool


def ideal_of(
    polynomials: PolynomialMap | str | Iterable[Entry], at: Mapping[str, object], allowed: StepBudget
) -> GivenIdeal:
    """Read polynomials and a point.

    Args:
        polynomials: as text, SymPy's, or the map of a network.
        at: coordinates of the point by name.
        allowed: for making the point the origin.

    Raises:
        BadInput: there is no polynomial, one is none with rational coefficients or is not zero at the point, or the
            point names a variable that is not there.
        TooLarge: there are too many variables, polynomials or terms, a degree is too high, or with the point as the
            origin they are more than is allowed.

    Example:
        >>> from lightning_sym.limits import Work
        >>> ideal_of("x^2 - 1, x*y", {"x": 1}, StepBudget(Work(1), 1000)).generators
        (x^2 + 2*x, x*y + y)
    """
    is_map = isinstance(polynomials, PolynomialMap)
    if isinstance(polynomials, PolynomialMap):
        names, given = _of_map(polynomials)
    elif isinstance(polynomials, str):
        names, given = _of_text(polynomials)
    else:
        names, given = _of_sympy(polynomials)
    unknown = [name for name in at if name not in names]
    if unknown:
        raise BadInput(f"the point must name variables of the polynomials, {', '.join(names)}; got {shown(unknown[0])}")
    _require_small(names, given)
    ring = PolynomialRing(names)
    point = tuple(_rational(at.get(name, 0), name) for name in ring.names)
    moved = [u + ring.constant(x) for u, x in zip(ring.generators, point, strict=True)]
    flints = [ring.from_terms({e: ring.number(c) for e, c in p.items()}) for p in given]
    if any(point):
        price = composition_price(flints, moved, ring.constant(1))
        allowed.require(price, "polynomials with the point as the origin")
        flints = [ring.substituted(p, moved) for p in flints]
    origin = (0,) * len(ring.names)
    values = [Fraction(str(g.to_dict().get(origin, 0))) for g in flints]
    if is_map:
        flints = [g - ring.constant(value) for g, value in zip(flints, values, strict=True)]
        given = [_less(p, value, origin) for p, value in zip(given, values, strict=True)]
    for number, value in enumerate(values, 1):
        if value and not is_map:
            raise BadInput(f"all polynomials must be zero at the point, number {number} is {value}")
    kept = [k for k, g in enumerate(flints) if g != ring.constant(0)]
    return GivenIdeal(ring, tuple(given[k] for k in kept), tuple(flints[k] for k in kept), point, is_map)


def point_text(ideal: GivenIdeal) -> str:
    """Return the point in words."""
    if not any(ideal.point):
        return "the origin"
    return ", ".join(f"{name}={x}" for name, x in zip(ideal.ring.names, ideal.point, strict=True) if x)


def _rational(value: Any, name: str) -> Fraction:
    """Return a coordinate of the point as a fraction; no float stands for a number nearby."""
    try:
        if type(value) is str:
            return Fraction(ExactNumbers().number(value))
        return Fraction(value) if type(value) in (int, Fraction) else Fraction(int(value.p), int(value.q))
    except (AttributeError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{name} must be an integer or a fraction such as 1/2, got {shown(value)}") from error


def _less(polynomial: Terms, value: Fraction, origin: tuple[int, ...]) -> Terms:
    found = polynomial | {origin: polynomial.get(origin, Fraction(0)) - value}
    return {e: c for e, c in found.items() if c}


def _require_small(names: list[str], given: list[Terms]) -> None:
    sizes = [
        ("variables", len(names), MOST_VARIABLES),
        ("polynomials", len(given), MOST_POLYNOMIALS),
        ("terms", sum(map(len, given)), MOST_TERMS),
        ("as their degree", max((sum(e) for p in given for e in p), default=0), LARGEST_DEGREE),
    ]
    for what, size, most in sizes:
        if size > most:
            raise TooLarge(f"polynomials must have at most {most:,} {what}, got {size:,}")


def _of_text(text: str) -> tuple[list[str], list[Terms]]:
    names = sorted(set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text)))
    ring = PolynomialRing(names or ["x"])
    given = []
    for number, part in enumerate(re.split(r"[,\n]", text.strip()), 1):
        polynomial = parse_polynomial(part, ring, _ANY_DEGREE, f"polynomial {number}")
        given.append({tuple(map(int, e)): Fraction(str(c)) for e, c in polynomial.to_dict().items()})
    return list(ring.names), given


def _of_sympy(polynomials: Iterable[Entry]) -> tuple[list[str], list[Terms]]:
    listed = [p.as_expr() if isinstance(p, sympy.Poly) else p for p in polynomials]
    if not listed:
        raise BadInput("there must be a polynomial")
    for p in listed:  # no text: SymPy would run it
        if type(p) not in (int, Fraction) and not isinstance(p, sympy.Expr):
            raise BadInput(f"polynomials must be SymPy expressions, got {shown(p)}")
    expressions = [sympy.sympify(p) for p in listed]
    letters = sorted({s for p in expressions for s in p.free_symbols} or {sympy.Symbol("x")}, key=str)
    given = []
    for p in expressions:
        try:
            terms = sympy.Poly(p, *letters, domain="QQ").terms()
        except (sympy.PolynomialError, sympy.CoercionFailed, TypeError, ValueError, RecursionError) as error:
            raise BadInput(f"a polynomial must have rational coefficients, got {shown(p)}") from error
        given.append({tuple(e): Fraction(int(c.p), int(c.q)) for e, c in terms if c})
    return [str(s) for s in letters], given


def _of_map(phi: PolynomialMap) -> tuple[list[str], list[Terms]]:
    """Return the coefficients of a map in its inputs, as polynomials in the weights."""
    first = len(phi.weight_names)
    if not first:
        raise BadInput("the map must have letters for weights: polynomial_map(architecture)")
    found: dict[tuple[int, tuple[int, ...]], Terms] = {}
    for place, entry in enumerate(phi.entries.ravel()):
        for exponents, c in entry.to_dict().items():
            whole = tuple(map(int, exponents))
            found.setdefault((place, whole[first:]), {})[whole[:first]] = Fraction(str(c))
    return list(phi.weight_names), list(found.values())
