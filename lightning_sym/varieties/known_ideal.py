"""What is known of the ideal of the closure of a network's functions: the answer, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, propositions
from lightning_sym.display import Lines, Result
from lightning_sym.errors import BadInput, no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.ambient import weights_in_a_term
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap, polynomial_map
from lightning_sym.network.weights import Weights
from lightning_sym.rings.expressions import letters_of
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.varieties.coordinates import Coordinate, CoordinateSystem
from lightning_sym.varieties.map_coordinates import MapCoordinates
from lightning_sym.varieties.weight_space import Terms

with lazy_imports(__name__):
    import sympy

    from lightning_sym.varieties import equations_text
    from lightning_sym.varieties import hilbert_polynomial as hilbert

if TYPE_CHECKING:
    from sympy import Poly, Symbol
    from sympy.polys.rings import PolyElement


@dataclass(frozen=True)
class Orbit:
    """An equation and where the permutations of inputs and outputs take the coordinates."""

    terms: Terms
    images: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.images)

    def all_terms(self) -> Iterator[Terms]:
        for image in self.images:
            terms = {tuple(sorted(image[i] for i in monomial)): c for monomial, c in self.terms.items()}
            # the leading term, in graded reverse lexicographic order, is positive
            sign = 1 if terms[min(terms, key=lambda monomial: monomial[::-1])] > 0 else -1
            yield {monomial: sign * c for monomial, c in terms.items()}


@no_truth_value("equations.counts or equations.is_complete")
@dataclass(frozen=True, eq=False, repr=False)
class Equations(Result):
    """What is known of the ideal of M, in the coordinates of its linear span.

    Attributes:
        asked: the network, `architecture`; or the map of one's own.
        system: the coordinates, and every coefficient of a function in them.
        hilbert_function: dimensions of the coordinate ring from degree 0 on; None where the two bounds do not meet.
        counts: how many minimal generators each degree has, where there are any; None where that is not certified.
        dimension: of M, certified; None while undecided.
        degree: of M where it is proved; None elsewhere.
        is_complete: whether it is proved that the equations found generate the ideal.
        stopped: why no further degree was tried; None if the degree asked for was reached.
    """

    asked: Architecture | PolynomialMap
    system: CoordinateSystem | MapCoordinates
    hilbert_function: tuple[int | None, ...]
    counts: Mapping[int, int | None]
    dimension: int | None
    degree: int | None
    is_complete: bool
    stopped: str | None
    _orbits: Mapping[int, tuple[Orbit, ...]]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates of the linear span."""
        return self.system.coordinates

    @property
    def linear_span(self) -> int:
        """Dimension of the linear span of M."""
        return len(self.system)

    @property
    def complete_to_degree(self) -> int:
        """All equations up to this degree follow from those found: the two bounds meet in each degree."""
        values = self.hilbert_function
        return next((k - 1 for k, value in enumerate(values) if value is None), len(values) - 1)

    @property
    def codimension(self) -> int | None:
        """Of the cone over M in its linear span; None while the dimension is undecided."""
        return None if self.dimension is None else self.linear_span - self.dimension - (not self.is_cone)

    @property
    def architecture(self) -> Architecture:
        """The network.

        Raises:
            BadInput: the equations are those of a map of one's own.
        """
        return self.asked if isinstance(self.asked, Architecture) else self.asked.architecture

    @property
    def subject(self) -> tuple[str, str]:
        """What the equations are about: a word, and what it is."""
        if isinstance(self.asked, Architecture):
            return "network", str(self.asked)
        return "map", self.asked.header

    @property
    def is_cone(self) -> bool:
        """Whether M is a cone; if not, one coordinate is the constant 1, and the equations are made homogeneous."""
        return self.system.is_cone

    @property
    def source(self) -> str:
        """Where it is proved: the page, and the propositions that were used."""
        last = hilbert.known_polynomial(self)[0]
        more = [] if last is None else [last.proposition]
        normal = [3] * (self.counts != {} and self.system.network is not None)
        return propositions("docs/equations.md", [*normal, 4, *([5] if self.counts else []), *more])

    @property
    def degree_bounds(self) -> tuple[int, int] | None:
        """Bounds for the degree of M, those of Proposition 8 of the page; None while the dimension is undecided.

        Example:
            >>> from lightning_sym import Architecture, equations
            >>> equations(Architecture((2, 1), (1,), tokens=2), 1).degree_bounds
            (3, 3)
        """
        if self.degree is not None:
            return self.degree, self.degree
        if self.dimension is None or self.codimension is None:
            return None
        powers = self.dimension
        if isinstance(self.asked, Architecture):
            most = weights_in_a_term(self.asked)
            powers -= self.is_cone and not self.asked.skip
        else:
            forms = {int(form.total_degree()) for form in self.system.forms}
            most = max(forms)
            alike = {sum(map(int, exponents)) for form in self.system.forms for exponents in form.monoms()} == {most}
            powers -= alike
        return self.codimension + 1, most**powers

    @property
    def tried(self) -> tuple[FellShort, ...]:
        """Theorems that do not prove the Hilbert polynomial, each with the hypothesis that fails."""
        return hilbert.known_polynomial(self)[1]

    @cached_property
    def hilbert_polynomial(self) -> Poly | None:
        """The Hilbert polynomial of M, in SymPy's `k`, over the rationals; None where it is not proved.

        Proved where M fills its linear span or is a hypersurface there, and for one head of rank one with one
        output (`docs/equations.md`, Propositions 6 and 7). Where M is no cone, it is that of its projective closure.

        Example:
            >>> from lightning_sym import Architecture, equations
            >>> equations(Architecture((2, 1), (1,), tokens=2), 2).hilbert_polynomial.as_expr()
            k**3/2 + 2*k**2 + 5*k/2 + 1
        """
        known, _ = hilbert.known_polynomial(self)
        return None if known is None else known.polynomial()

    @cached_property
    def terms(self) -> Mapping[int, tuple[Terms, ...]]:
        """The generators by degree: integer coefficients by monomial, a sorted tuple of places of coordinates."""
        return {
            degree: tuple(terms for orbit in orbits for terms in orbit.all_terms())
            for degree, orbits in self._orbits.items()
        }

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The coordinates as SymPy symbols."""
        return tuple(sympy.Symbol(c.name) for c in self.coordinates)

    @cached_property
    def generators(self) -> Mapping[int, tuple[Poly, ...]]:
        """The generators by degree, as SymPy polynomials over the integers in `symbols`."""
        return {degree: tuple(map(self.polynomial, some)) for degree, some in self.terms.items()}

    def polynomial(self, terms: Mapping[tuple[int, ...], int]) -> Poly:
        """Return one of `terms` as a SymPy polynomial: there may be very many, and SymPy takes its time."""

        def exponents(monomial: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(np.bincount(monomial, minlength=len(self.system)).tolist())

        return sympy.Poly.from_dict({exponents(m): c for m, c in terms.items()}, *self.symbols, domain=sympy.ZZ)

    def at(self, point: Weights | Mapping[Any, Any]) -> dict[int, list[Any]]:
        """Return the values of the generators, by degree, at a function of the linear span.

        Args:
            point: exact weights of the network, or coefficients as `PolynomialMap.coefficients` gives them. For a map
                of one's own: weights by name, as `PolynomialMap.at` takes them, or such coefficients. With letters in
                them, polynomials with rational coefficients, the values are polynomials in these.

        Raises:
            BadInput: the coefficients are not those of a function of the linear span.
            ShapeError: the weights are of another network.
        """
        require_arguments(Equations.at, locals())
        values = self._coordinates_of(point)
        if values is None:
            raise BadInput("the coefficients must be those of a function of the linear span, got others")
        found = {degree: [_value(terms, values) for terms in some] for degree, some in self.terms.items()}
        return {d: [x if isinstance(x, Fraction) else x.as_expr() for x in some] for d, some in found.items()}

    def vanishes_at(self, point: Weights | Mapping[Any, Any]) -> bool:
        """Return whether a function lies in the linear span and satisfies every equation that was found.

        `False` proves that it does not lie in M. The function of weights always does.

        Raises:
            BadInput: the point is neither weights nor coefficients of outputs.
            ShapeError: the weights are of another network.
        """
        require_arguments(Equations.vanishes_at, locals())
        values = self._coordinates_of(point)
        return values is not None and not any(_value(t, values) for some in self.terms.values() for t in some)

    def _coordinates_of(self, point: Any) -> list[Any] | None:
        point = self._family(point)
        if isinstance(self.system, MapCoordinates):
            by_name = isinstance(point, Mapping) and not all(isinstance(key, tuple) for key in point)
            return self.system.at(point) if by_name else self.system.of_coefficients(point)
        return self.system.at(point) if isinstance(point, Weights) else self.system.of_coefficients(point)

    def _family(self, point: Any) -> Any:
        """Return the coefficients of a point with letters, over the polynomials in these; other points as they are."""
        if isinstance(point, Weights) and point.letters and isinstance(self.asked, Architecture):
            point = polynomial_map(self.asked, point).coefficients()
        elif isinstance(self.system, MapCoordinates) and isinstance(point, Mapping):
            by_name = not all(isinstance(key, tuple) for key in point)
            point = self.system.phi.at(point).coefficients() if by_name else point
        if not isinstance(point, Mapping) or not (letters := letters_of(point.values())):
            return point
        over = sympy.ring(letters, sympy.QQ)[0]
        return {key: over.from_expr(sympy.sympify(value)) for key, value in point.items()}

    def tangent_dimension_bound(self, weights: Weights | Mapping[Any, Any]) -> int:
        """Return an upper bound for the dimension of the tangent space of M at the function of these weights.

        The linear span less the rank, modulo a prime, of the Jacobian of the equations found; where the ideal is
        complete, and the prime is not unlucky, it is the dimension.

        Args:
            weights: of the network; by name, for a map of one's own.

        Raises:
            ShapeError: the weights are of another network.
        """
        require_arguments(Equations.tangent_dimension_bound, locals())
        if not isinstance(self.system, MapCoordinates) and not isinstance(weights, Weights):
            raise BadInput(f"weights must be Weights, got {type(weights).__name__}")
        values = self.system.at(weights)  # type: ignore[arg-type]
        p = next((p for p in PRIMES if all(v.denominator % p for v in values)), None)
        if p is None:
            return self.linear_span - (not self.is_cone)
        residues = [v.numerator * pow(v.denominator, -1, p) % p for v in values]
        everything = [terms for some in self.terms.values() for terms in some]
        jacobian = np.zeros((len(everything) + 1, len(values)), dtype=np.int64)
        for row, terms in zip(jacobian, everything, strict=False):
            for monomial, coefficient in terms.items():
                for place in set(monomial):
                    row[place] = (row[place] + _partial(monomial, place, residues, p) * (coefficient % p)) % p
        if not self.is_cone:  # the constant coordinate does not move
            jacobian[-1, self.system.constant] = 1
        return self.linear_span - rank_mod_p(jacobian, p)

    def to_text(self, form: str) -> str:
        """Return the ring and the ideal, ready to paste into a computer algebra system.

        Args:
            form: `sympy`, `latex`, `macaulay2`, `singular`, `oscar`, `sage` or `json`.

        Raises:
            BadInput: it is none of these.
        """
        return equations_text.in_format(self, form)

    def __repr__(self) -> str:
        return f"equations({self.asked!r}, {len(self.hilbert_function) - 1})"

    def lines(self) -> Lines:
        """Return what is known, by name."""
        return equations_text.answer_lines(self)

    def __str__(self) -> str:
        return equations_text.as_text(self)

    def _latex(self) -> str:
        return equations_text.as_latex(self)


def _value(terms: Terms, values: list[Fraction] | list[PolyElement]) -> Fraction | PolyElement:
    total: Fraction | PolyElement = Fraction(0)
    for monomial, coefficient in terms.items():
        part: Fraction | PolyElement = Fraction(coefficient)
        for i in monomial:
            part *= values[i]
        total += part
    return total


def _partial(monomial: tuple[int, ...], place: int, residues: list[int], p: int) -> int:
    """Return the derivative of a monomial by one coordinate, modulo `p`."""
    result = monomial.count(place)
    rest = list(monomial)
    rest.remove(place)
    for i in rest:
        result = result * residues[i] % p
    return result
