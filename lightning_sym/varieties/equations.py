r"""The equations of the variety M of a lightning network, degree by degree.

M is the closure of the set of functions of the network, in the space of their coefficients. What is proved, and how, is
in `docs/equations.md`; the linear algebra is in `by_degree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import comb
from typing import NamedTuple

from lightning_sym.arguments import require_arguments
from lightning_sym.dimension.certify import CertifiedDimension, certified_dimension
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_jacobian
from lightning_sym.varieties.by_degree import Ideal
from lightning_sym.varieties.coordinates import CoordinateSystem, coordinate_system
from lightning_sym.varieties.degree import degree_within
from lightning_sym.varieties.graded import require_codes
from lightning_sym.varieties.hilbert_polynomial import is_rank_one_layer, rank_one_value
from lightning_sym.varieties.known_ideal import Equations as Equations
from lightning_sym.varieties.known_ideal import Orbit
from lightning_sym.varieties.map_coordinates import MapCoordinates, map_coordinates
from lightning_sym.varieties.normal_weights import smallest_network

USUAL_DEGREE = 4
"""How far equations are looked for unless more is asked."""

_LONGEST_THEOREM = 5.0
"""Seconds, by an estimate, for the degree: it is told if there is a theorem, and `variety_degree` has more patience."""

_MAP_DIMENSION = 1e-6
"""Seconds for a term and a weight of a map of one's own, for its generic rank; measured, and rough."""

_DIMENSION = 0.01
"""Seconds for the dimension of a network, besides a rank of its Jacobian; measured, and rough."""


def equations(
    architecture: Architecture | PolynomialMap,
    degree: int | None = None,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Equations:
    """Return the equations of M up to a degree, as far as memory and work allow.

    Args:
        architecture: a lightning network; heads, masks, value ranks, skip connections and embeddings are allowed. Or a
            polynomial map of one's own, `PolynomialMap.of`.
        degree: how far; without it to 4, or less where that would take more than `work`.
        seed: picks the points; it may change the evidence, never what is certified.
        memory: bytes that may be taken, by an estimate made before each degree.
        work: seconds that all steps together may take, by rough estimates made before each of them.
        progress: called as `progress(stage, done, total)`.

    Returns:
        The equations up to the last degree that was finished; `stopped` says why there are not more.

    Raises:
        BadInput: the network has normalized attention, or a number is out of range.
        TooLarge: already the coefficients do not fit into memory, or into `work`.

    Example:
        >>> found = equations(Architecture((2, 1), (1,), tokens=2))
        >>> found.linear_span, found.hilbert_function, dict(found.counts)
        (6, (1, 6, 18, 40, 75), {2: 3})
        >>> print(found.generators[2][0].as_expr())
        -c_1*c_4 + c_2*c_3
    """
    require_arguments(equations, locals())
    *_, last = successive_equations(architecture, degree, seed=seed, memory=memory, work=work, progress=progress)
    return last


def successive_equations(
    architecture: Architecture | PolynomialMap,
    degree: int | None = None,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Iterator[Equations]:
    """Yield what `equations` knows after each degree: whoever stops early keeps what is finished.

    Example:
        >>> for found in successive_equations(Architecture((2, 1), (2,), tokens=2), 4):
        ...     print(found.complete_to_degree, dict(found.counts))
        1 {}
        2 {}
        3 {}
        4 {4: 1}
    """
    require_arguments(successive_equations, locals())
    yield from equations_within(architecture, degree, Work(work), seed=seed, memory=memory, progress=progress)


def equations_within(
    architecture: Architecture | PolynomialMap,
    degree: int | None,
    budget: Work,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Iterator[Equations]:
    """Yield what `successive_equations` does, as one of several questions that share a budget."""
    require_integer(seed, "the seed")
    if degree is not None:
        require_integer(degree, "the degree", 1, 1000)
    report = progress or unheard
    if isinstance(architecture, PolynomialMap):
        known = _of_map(architecture, seed, memory, budget, report)
    else:
        known = _of_network(architecture, seed, memory, budget, report)
    ideal = Ideal(known.system, seed, memory, report, budget)
    found = _result(architecture, ideal, known)
    while True:
        if found.is_complete:
            yield _continued(found, degree or USUAL_DEGREE)
            return
        if ideal.degree == degree or (degree is None and ideal.degree >= USUAL_DEGREE and found.codimension != 1):
            yield found
            return
        try:
            plan = ideal.plan()
            budget.require(ideal.seconds(plan), f"degree {ideal.degree + 1}")
        except TooLarge as error:
            yield replace(found, stopped=str(error))
            return
        yield found
        try:
            ideal.advance(plan)
            found = _result(architecture, ideal, known)
        except TooLarge as error:
            yield replace(found, stopped=str(error))
            return


class _Known(NamedTuple):
    """What is known before any equation: coordinates, the dimension from both sides, the degree by a theorem."""

    system: CoordinateSystem | MapCoordinates
    least: int
    most: int | None
    degree: int | None


def _of_network(architecture: Architecture, seed: int, memory: int, budget: Work, report: Progress) -> _Known:
    """Return the closure of a network."""
    architecture.require("the ideal of the closure", LIGHTNING)
    require_codes(smallest_network(architecture))
    report("coordinates", 0, 1)
    system = coordinate_system(architecture, memory=memory, work=budget)
    dimension = _dimension(system.network, seed, memory, budget, report)
    theorem = _degree_by_theorem(architecture, budget)
    return _Known(system, dimension.lower, dimension.upper, theorem)


def _of_map(phi: PolynomialMap, seed: int, memory: int, budget: Work, report: Progress) -> _Known:
    """Return the closure of a map of one's own."""
    if isinstance(phi.shape, Architecture):
        raise BadInput("equations must be asked of the Architecture of a network, or of a map of one's own")
    report("coordinates", 0, 1)
    system = map_coordinates(phi, memory=memory, work=budget)
    budget.spend(_MAP_DIMENSION * phi.term_count * len(phi.weight_names), "the dimension of the map")
    dimension = phi.generic_rank(seed)
    return _Known(system, dimension.lower, dimension.upper, None)


def _result(architecture: Architecture | PolynomialMap, ideal: Ideal, known: _Known) -> Equations:
    """Return what is known of the ideal now."""
    grading, theorem = ideal.grading, known.degree
    values: list[int | None] = [1]
    counts: dict[int, int | None] = {}
    orbits: dict[int, tuple[Orbit, ...]] = {}
    for degree, pieces in enumerate(ideal.pieces[1:], start=1):
        sizes = {code: grading.orbit_size(code) for code in pieces}
        exact = all(piece.is_exact for piece in pieces.values())
        values.append(sum(sizes[code] * piece.rank for code, piece in pieces.items()) if exact else None)
        found = [
            Orbit(terms, tuple(tuple(grading.images(order).tolist()) for order in grading.orbit(code)))
            for code, piece in pieces.items()
            for terms in piece.generators
        ]
        if found or not exact:
            minimal = exact and values[-2] is not None and all(piece.is_minimal for piece in pieces.values())
            counts[degree] = sum(map(len, found)) if minimal else None
            orbits[degree] = tuple(found)
    span = len(ideal.system)
    fills = span - (not ideal.system.is_cone)  # the dimension of a closure without equations
    dimension = known.least if known.least in (known.most, fills - bool(orbits)) else None
    codimension = None if dimension is None else fills - dimension
    if codimension is not None and (codimension < 0 or (codimension == 0 and orbits)):
        raise ProgramError(f"a variety of dimension {dimension} in a span of dimension {span} satisfies equations")
    if (network := ideal.system.network) is not None and is_rank_one_layer(network):
        width = network.input_width
        for degree, value in enumerate(values):
            if value not in (None, rank_one_value(width, degree)):
                raise ProgramError(f"the Hilbert function is {value} in degree {degree}, and another by Proposition 7")
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


def _dimension(network: Architecture, seed: int, memory: int, work: Work, progress: Progress) -> CertifiedDimension:
    """Return the dimension of M, by the smallest network: the others have no other functions, up to repetition."""
    parameters = network.parameter_count
    seconds = _DIMENSION + price_of_jacobian(network, parameters).seconds
    work.spend(seconds, f"the dimension ({parameters:,} parameters)")
    return certified_dimension(network, seed=seed, memory=memory, progress=progress)


def _degree_by_theorem(architecture: Architecture, work: Work) -> int | None:
    """Return the degree of M where a theorem gives it without long work."""
    theorem = Work(min(_LONGEST_THEOREM, work.left))
    try:
        return degree_within(architecture, theorem).degree
    except TooLarge:
        return None
    finally:
        work.spend(theorem.spent, "the degree by a theorem")


def _continued(found: Equations, last: int) -> Equations:
    """Return equations with the Hilbert function of a linear space or a hypersurface up to a degree."""
    values, n = list(found.hilbert_function), found.linear_span
    first = min(found.counts, default=None)
    values += [
        comb(n + k - 1, k) - (comb(n + k - first - 1, k - first) if first and k >= first else 0)
        for k in range(len(values), last + 1)
    ]
    return replace(found, hilbert_function=tuple(values))
