r"""The equations of the variety M of a lightning network, degree by degree.

M is the closure of the set of functions of the network, in the space of their coefficients. What is proved, and how, is
in `docs/equations.md`; the linear algebra is in `by_degree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.display import Lines, Result
from lightning_sym.errors import BadInput, ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.varieties.by_degree import Ideal, Terms
from lightning_sym.varieties.coordinates import Coordinate, CoordinateSystem, coordinate_system
from lightning_sym.varieties.degree import variety_degree
from lightning_sym.varieties.normal_weights import PROVED, is_tied

if TYPE_CHECKING:
    from sympy import Poly, Symbol

USUAL_DEGREE = 4
"""How far equations are looked for unless more is asked."""

_LONGEST_THEOREM = 5.0
"""Seconds, by an estimate, for the degree: it is told if there is a theorem, and `variety_degree` has more patience."""


@dataclass(frozen=True)
class _Orbit:
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


@dataclass(frozen=True, eq=False, repr=False)
class Equations(Result):
    """What is known of the ideal of M, in the coordinates of its linear span.

    Attributes:
        architecture: the network.
        system: the coordinates, and every coefficient of a function in them.
        hilbert_function: dimensions of the coordinate ring from degree 0 on; None where the two bounds do not meet.
        counts: how many minimal generators each degree has, where there are any; None where that is not certified.
        dimension: of M, certified; None while undecided.
        degree: of M where it is proved; None elsewhere.
        is_complete: whether it is proved that the equations found generate the ideal.
        stopped: why no further degree was tried; None if the degree asked for was reached.
    """

    architecture: Architecture
    system: CoordinateSystem
    hilbert_function: tuple[int | None, ...]
    counts: Mapping[int, int | None]
    dimension: int | None
    degree: int | None
    is_complete: bool
    stopped: str | None
    _orbits: Mapping[int, tuple[_Orbit, ...]]

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "equations.counts or equations.is_complete")

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
    def is_cone(self) -> bool:
        """Whether M is a cone; if not, one coordinate is the constant 1, and the equations are made homogeneous."""
        return not is_tied(self.architecture)

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
        import sympy

        return tuple(sympy.Symbol(c.name) for c in self.coordinates)

    @cached_property
    def generators(self) -> Mapping[int, tuple[Poly, ...]]:
        """The generators by degree, as SymPy polynomials over the integers in `symbols`."""
        from sympy import ZZ, Poly

        def exponents(monomial: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(np.bincount(monomial, minlength=len(self.system)).tolist())

        return {
            degree: tuple(
                Poly.from_dict({exponents(m): c for m, c in terms.items()}, *self.symbols, domain=ZZ) for terms in some
            )
            for degree, some in self.terms.items()
        }

    def at(self, point: Weights | Mapping[tuple[int, int, tuple[int, ...]], Any]) -> dict[int, list[Fraction]]:
        """The values of the generators, by degree, at a function of the linear span.

        Args:
            point: exact weights of the network, or coefficients as `PolynomialMap.coefficients` gives them.

        Raises:
            BadInput: the coefficients are not those of a function of the linear span.
            ShapeError: the weights are of another network.
        """
        values = self._coordinates_of(point)
        if values is None:
            raise BadInput("the coefficients must be those of a function of the linear span, got others")
        return {degree: [_value(terms, values) for terms in some] for degree, some in self.terms.items()}

    def vanishes_at(self, point: Weights | Mapping[tuple[int, int, tuple[int, ...]], Any]) -> bool:
        """Whether a function lies in the linear span and satisfies every equation that was found.

        `False` proves that it does not lie in M. The function of weights always does.

        Raises:
            ShapeError: the weights are of another network.
        """
        values = self._coordinates_of(point)
        return values is not None and not any(_value(t, values) for some in self.terms.values() for t in some)

    def _coordinates_of(self, point: Any) -> list[Fraction] | None:
        return self.system.at(point) if isinstance(point, Weights) else self.system.of_coefficients(point)

    def tangent_dimension_bound(self, weights: Weights) -> int:
        """An upper bound for the dimension of the tangent space of M at the function of these weights.

        The linear span less the rank, modulo a prime, of the Jacobian of the equations found; where the ideal is
        complete, and the prime is not unlucky, it is the dimension.

        Raises:
            ShapeError: the weights are of another network.
        """
        values = self.system.at(weights)
        p = next((p for p in PRIMES if all(v.denominator % p for v in values)), None)
        if p is None:
            return self.linear_span - (not self.is_cone)
        residues = [v.numerator * pow(v.denominator, -1, p) % p for v in values]
        everything = [terms for some in self.terms.values() for terms in some]
        jacobian = np.zeros((len(everything) + 1, len(values)), dtype=np.int64)
        for row, terms in zip(jacobian, everything, strict=False):
            for monomial, coefficient in terms.items():
                for place in set(monomial):
                    row[place] = (row[place] + _partial(monomial, place, residues, p) * coefficient) % p
        if not self.is_cone:  # the constant coordinate does not move
            jacobian[-1, self.system.constant] = 1
        return self.linear_span - rank_mod_p(jacobian, p)

    def to_text(self, form: str) -> str:
        """The ring and the ideal, ready to paste into a computer algebra system.

        Args:
            form: `sympy`, `latex`, `macaulay2`, `singular`, `oscar`, `sage` or `json`.

        Raises:
            BadInput: it is none of these.
        """
        from lightning_sym.varieties.equations_text import in_format

        return in_format(self, form)

    def __repr__(self) -> str:
        return f"equations({self.architecture!r}, {len(self.hilbert_function) - 1})"

    def lines(self) -> Lines:
        """What is known, by name."""
        from lightning_sym.varieties.equations_text import answer_lines

        return answer_lines(self)

    def __str__(self) -> str:
        from lightning_sym.varieties.equations_text import as_text

        return as_text(self)

    def _latex(self) -> str:
        from lightning_sym.varieties.equations_text import as_latex

        return as_latex(self)


def _value(terms: Terms, values: list[Fraction]) -> Fraction:
    total = Fraction(0)
    for monomial, coefficient in terms.items():
        part = Fraction(coefficient)
        for i in monomial:
            part *= values[i]
        total += part
    return total


def _partial(monomial: tuple[int, ...], place: int, residues: list[int], p: int) -> int:
    """The derivative of a monomial by one coordinate, modulo `p`."""
    result = monomial.count(place)
    rest = list(monomial)
    rest.remove(place)
    for i in rest:
        result = result * residues[i] % p
    return result


def equations(
    architecture: Architecture,
    degree: int | None = None,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Equations:
    """The equations of M up to a degree, as far as memory and work allow.

    Args:
        architecture: a lightning network; heads, masks, value ranks, skip connections and embeddings are allowed.
        degree: how far; without it to 4, or less where that would take more than `work`.
        seed: picks the points; it may change the evidence, never what is certified.
        memory: bytes that may be taken, by an estimate made before each degree.
        work: seconds that a degree which was not asked for may take, by a rough estimate made before it.
        progress: called as `progress(stage, done, total)`.

    Returns:
        The equations up to the last degree that was finished; `stopped` says why there are not more.

    Raises:
        BadInput: the network has normalized attention, or a number is out of range.
        TooLarge: already the coefficients do not fit into memory.

    Example:
        >>> found = equations(Architecture((2, 1), (1,), tokens=2))
        >>> found.linear_span, found.hilbert_function, dict(found.counts)
        (6, (1, 6, 18, 40, 75), {2: 3})
        >>> print(found.generators[2][0].as_expr())
        c_1*c_4 - c_2*c_3
    """
    *_, last = successive_equations(architecture, degree, seed=seed, memory=memory, work=work, progress=progress)
    return last


def successive_equations(
    architecture: Architecture,
    degree: int | None = None,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Iterator[Equations]:
    """As `equations`, and what is known after each degree: whoever stops early keeps what is finished.

    Example:
        >>> for found in successive_equations(Architecture((2, 1), (2,), tokens=2), 4):
        ...     print(found.complete_to_degree, dict(found.counts))
        1 {}
        2 {}
        3 {}
        4 {4: 1}
    """
    architecture.require("the ideal of the closure", PROVED)
    require_integer(seed, "the seed")
    if degree is not None:
        require_integer(degree, "the degree", 1, 1000)
    if not work > 0:
        raise BadInput(f"work must be a positive number of seconds, got {work}")
    report = progress or (lambda stage, done, total: None)
    report("coordinates", 0, 1)
    system = coordinate_system(architecture, memory=memory)
    dimension = certified_dimension(architecture, seed=seed, memory=memory, progress=progress).value
    theorem = _degree_by_theorem(architecture)
    ideal = Ideal(system, seed, memory, report)
    while True:
        found = _result(architecture, ideal, dimension, theorem)
        if found.is_complete:
            yield _continued(found, degree or USUAL_DEGREE)
            return
        if ideal.degree == degree or (degree is None and ideal.degree >= USUAL_DEGREE and found.codimension != 1):
            yield found
            return
        try:
            plan = ideal.plan()
        except TooLarge as error:
            yield replace(found, stopped=str(error))
            return
        if degree is None and (expected := ideal.seconds(plan)) > work:
            yield replace(found, stopped=f"degree {ideal.degree + 1} would take about {expected:,.0f} s")
            return
        yield found
        try:
            ideal.advance(plan)
        except TooLarge as error:
            yield replace(found, stopped=str(error))
            return


def _result(architecture: Architecture, ideal: Ideal, dimension: int | None, theorem: int | None) -> Equations:
    """What is known now."""
    grading = ideal.grading
    values: list[int | None] = [1]
    counts: dict[int, int | None] = {}
    orbits: dict[int, tuple[_Orbit, ...]] = {}
    for degree, pieces in enumerate(ideal.pieces[1:], start=1):
        sizes = {code: grading.orbit_size(code) for code in pieces}
        exact = all(piece.is_exact for piece in pieces.values())
        values.append(sum(sizes[code] * piece.rank for code, piece in pieces.items()) if exact else None)
        found = [
            _Orbit(terms, tuple(tuple(grading.images(order).tolist()) for order in grading.orbit(code)))
            for code, piece in pieces.items()
            for terms in piece.generators
        ]
        if found or not exact:
            minimal = exact and values[-2] is not None and all(piece.is_minimal for piece in pieces.values())
            counts[degree] = sum(map(len, found)) if minimal else None
            orbits[degree] = tuple(found)
    span = len(ideal.system)
    codimension = None if dimension is None else span - dimension - is_tied(architecture)
    if codimension is not None and (codimension < 0 or (codimension == 0 and orbits)):
        raise ProgramError(f"a variety of dimension {dimension} in a span of dimension {span} satisfies equations")
    # M is irreducible: in codimension one its ideal is generated by one element, the first one that there is
    is_complete = codimension == 0 or (codimension == 1 and list(counts.values())[:1] == [1])
    if is_complete:
        own = max(counts, default=1)
        if theorem not in (None, own):
            raise ProgramError(f"the degree is {own} by an equation, and {theorem} by a theorem")
        theorem = own
    return Equations(
        architecture, ideal.system, tuple(values), counts, dimension, theorem, is_complete, None, orbits
    )  # fmt: skip


def _degree_by_theorem(architecture: Architecture) -> int | None:
    """The degree of M where a theorem gives it without long work."""
    try:
        return variety_degree(architecture, work=_LONGEST_THEOREM).degree
    except TooLarge:
        return None


def _continued(found: Equations, last: int) -> Equations:
    """With the Hilbert function of a linear space or a hypersurface up to a degree."""
    values, n = list(found.hilbert_function), found.linear_span
    first = min(found.counts, default=None)
    values += [
        comb(n + k - 1, k) - (comb(n + k - first - 1, k - first) if first and k >= first else 0)
        for k in range(len(values), last + 1)
    ]
    return replace(found, hilbert_function=tuple(values))
