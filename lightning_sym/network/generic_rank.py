r"""The generic rank of the coefficients' Jacobian, from both sides.

From below by the exact rank at a point. From above by vector fields on the space of weights, polynomial in the weights,
along which no coefficient changes: found modulo a prime from values at points, and then verified as polynomial
identities. Where $r$ of them are independent at one point, the kernel has dimension at least $r$ at every general one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import numpy.typing as npt

from lightning_sym.display import Result, latex_bounds
from lightning_sym.errors import ProgramError
from lightning_sym.exact.modular import null_space_mod_p, pivots_mod_p, rank_mod_p, row_basis_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.prime_field import PRIMES

Sample = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""A point and rows of the Jacobian there, modulo a prime."""

P = PRIMES[0]

MOST_UNKNOWNS = 1200
"""Coefficients of a vector field up to which it is looked for."""

MOST_PRODUCTS = 200_000_000
"""Products of terms up to which fields are verified; a few seconds."""

LARGEST_DEGREE = 3

MOST_EMPTY = 4
"""Points without a derivative after which no more equations are looked for: what is found is verified."""


@dataclass(frozen=True, repr=False, eq=False)
class GenericRank(Result):
    """Bounds for the generic rank: that at all weights but those in the zero set of some polynomial.

    For all weights of a network it is the dimension of its set of functions.

    Attributes:
        lower: the exact rank over the rationals at `point`.
        upper: proved as `reason` says.
        weights: names of the weights.
        point: integers, one for each weight.
        reason: why the rank is nowhere larger than `upper`.
    """

    lower: int
    upper: int
    weights: tuple[str, ...]
    point: tuple[int, ...]
    reason: str

    @property
    def rank(self) -> int | None:
        """The generic rank where both bounds meet, otherwise `None`."""
        return self.lower if self.lower == self.upper else None

    def __str__(self) -> str:
        what = f"{self.lower}, certified" if self.rank is not None else f"undecided, {self.lower} to {self.upper}"
        shown = [f"{name} = {value}" for name, value in zip(self.weights, self.point, strict=True)]
        below = f"at least {self.lower}: the rank over QQ at {', '.join(shown)}"
        return "\n".join((f"generic rank {what}", below, f"at most {self.upper}: {self.reason}"))

    def _latex(self) -> str:
        return latex_bounds(r"\operatorname{rk} J", self.lower, self.upper)


def _lift(residue: int) -> Fraction | None:
    """Return a fraction with a small numerator and denominator that is this residue."""
    for denominator in range(1, 28):
        numerator = residue * denominator % P
        numerator -= P * (numerator > P // 2)
        if abs(numerator) < 100:
            return Fraction(numerator, denominator)
    return None


def network_sample(architecture: Architecture, generator: np.random.Generator) -> Sample:
    """Return random weights of a network, and random combinations of the rows of the Jacobian there.

    Raises:
        BadInput: the network has an option for which the Jacobian is not known.
    """
    found = RandomJacobian(architecture, generator, P)
    point = np.concatenate([matrix.residues().ravel() for matrix in found.weights])
    return point, found.rows(architecture.parameter_count)


def polynomial_sample(derivatives: Sequence[Polynomial], parameters: int, generator: np.random.Generator) -> Sample:
    """Return random weights, and the Jacobian there.

    Args:
        derivatives: flint polynomials in the weights, row by row.
        parameters: how many weights there are.
        generator: source of the weights.
    """
    point = generator.integers(-99, 100, size=parameters)
    values = [derivative(*point.tolist()) for derivative in derivatives]
    rows = [int(value.p) * pow(int(value.q), -1, P) % P for value in values]
    return point % P, np.array(rows, dtype=np.int64).reshape(-1, parameters)


class FieldSearch:
    """Vector fields along which no coefficient changes.

    Args:
        ring: of the map, its variables the weights and then the inputs.
        parameters: how many weights there are.
        entries: outputs of the map.
        sample: gives points and rows of the Jacobian there, modulo `PRIMES[0]`.
    """

    def __init__(
        self, ring: PolynomialRing, parameters: int, entries: Sequence[Polynomial], sample: Callable[[], Sample]
    ) -> None:
        self.ring, self.parameters, self.entries, self.sample = ring, parameters, entries, sample

    def independent(self, degree: int, wanted: int) -> int:
        """Return how many independent verified fields of at most this degree there are, at one point: a lower bound.

        Args:
            degree: of the entries of the fields.
            wanted: how many there can be at most.
        """
        places = range(self.parameters)
        parts = [part for d in range(degree + 1) for part in combinations_with_replacement(places, d)]
        unknowns = self.parameters * len(parts)
        equations = [np.zeros((1, unknowns), dtype=np.int64)]
        empty = 0
        while sum(map(len, equations)) < unknowns + 16 and empty < MOST_EMPTY:
            point, rows = self.sample()
            basis = row_basis_mod_p(rows, P)
            if not len(basis):
                empty += 1
                continue
            values = self._values(parts, point)
            equations.append(np.array([np.multiply.outer(row, values).ravel() % P for row in basis]))
        kernel = null_space_mod_p(np.concatenate(equations), P)
        point, _ = self.sample()
        values = self._values(parts, point)
        fields = kernel.reshape(-1, self.parameters, len(parts))
        directions = np.array([field @ values % P for field in fields]).reshape(-1, self.parameters)
        chosen, _ = pivots_mod_p(directions, P) if len(directions) else ([], [])
        good = [i for i in chosen[:wanted] if self._is_killed(fields[i], parts)]
        return rank_mod_p(directions[good], P) if good else 0

    @staticmethod
    def _values(parts: Sequence[tuple[int, ...]], point: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        found = []
        for places in parts:
            value = 1
            for i in places:
                value = value * int(point[i]) % P
            found.append(value)
        return np.array(found, dtype=np.int64)

    def _is_killed(self, field: npt.NDArray[np.int64], parts: Sequence[tuple[int, ...]]) -> bool:
        """Return whether the derivative of every output along the field is zero, as a polynomial."""
        components: list[tuple[int, Polynomial]] = []
        for i, row in enumerate(field):
            terms = {}
            for place in np.flatnonzero(row):
                number = _lift(int(row[place]))
                if number is None:
                    return False
                exponents = [0] * len(self.ring.names)
                for j in parts[int(place)]:
                    exponents[j] += 1
                terms[tuple(exponents)] = self.ring.number(number)
            if terms:
                components.append((i, self.ring.from_terms(terms)))
        size = sum(len(component) for _, component in components) * sum(map(len, self.entries))
        if size > MOST_PRODUCTS // max(1, self.parameters):
            return False
        zero = self.ring.constant(0)
        for entry in self.entries:
            total = zero
            for i, component in components:
                total += component * entry.derivative(i)
            if total != zero:
                return False
        return True


def generic_rank_bounds(
    search: FieldSearch, names: Sequence[str], rank_at: Callable[[Sequence[int]], int], coefficients: int, seed: int = 0
) -> GenericRank:
    """Return the generic rank of a map from both sides.

    Args:
        search: finds vector fields.
        names: of the weights.
        rank_at: the exact rank at integers.
        coefficients: how many coefficients there are that are not zero.
        seed: picks the points.

    Raises:
        ProgramError: the rank at a point exceeds an upper bound.
    """
    generator = np.random.default_rng(seed)
    points = [tuple(map(int, generator.integers(-20, 21, size=len(names)))) for _ in range(2)]
    lower, point = max(((rank_at(point), point) for point in points), key=lambda found: found[0])
    upper, reason = len(names), f"there are {len(names):,} weights"
    if coefficients < upper:
        upper, reason = coefficients, f"there are {coefficients:,} coefficients that are not zero"
    for degree in _degrees(len(names)):
        if lower >= upper:
            break
        found = search.independent(degree, len(names) - lower)
        if len(names) - found < upper:
            upper = len(names) - found
            reason = (
                f"no coefficient changes along {found} independent vector fields of degree at most {degree} "
                f"on the {len(names)} weights, verified as identities"
            )
    if lower > upper:
        raise ProgramError(f"the rank {lower} at a point exceeds the upper bound {upper}")
    return GenericRank(lower, upper, tuple(names), point, reason)


def _degrees(parameters: int) -> Iterator[int]:
    for degree in range(1, LARGEST_DEGREE + 1):
        # the coefficients of a vector field whose entries have at most this degree
        if parameters * comb(parameters + degree, degree) <= MOST_UNKNOWNS:
            yield degree
