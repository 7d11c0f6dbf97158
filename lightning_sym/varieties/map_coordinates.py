r"""Coordinates of the linear span of a polynomial map of one's own, in place of those of a network.

The torus is found: the scalings of the weights that multiply each coefficient by a character, as far as a few of them
separate coordinates. Where one of them multiplies all coefficients alike the closure is a cone; elsewhere a coordinate
that is constantly 1 stands behind the others, and the equations are those of the projective closure
(`docs/equations.md`, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import mul
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.exact.rational import null_space, rank, solution
from lightning_sym.limits import DEFAULT_MEMORY, Work, require_memory
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_kernel
from lightning_sym.network.symbolic_map import Key
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import as_fraction
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties.coefficient_relations import combined, given_coefficients, relations_of
from lightning_sym.varieties.coordinates import Coordinate

Factor = TypeVar("Factor", PrimeFieldMatrix, Sizes)

MOST_SCALINGS, LARGEST_WEIGHT = 5, 50
"""Scalings that sort coordinates, and by how much one of them may count: codes of weights must fit into 64 bits."""

_EXPONENT_BITS = 8
"""Bits of exponents, and of their differences."""

_ONE: Key = (0, 0, ())
"""In place of a coefficient the constant 1."""


@dataclass(frozen=True)
class MapCoordinate(Coordinate):
    """A coefficient of a map of one's own, or the constant 1 where `row` is 0.

    Attributes:
        inputs: names of the inputs.
    """

    inputs: tuple[str, ...]

    def monomial(self) -> str:
        """Return the monomial in the inputs."""
        powers = [f"{x}^{e}" if e > 1 else x for x, e in zip(self.inputs, self.exponents, strict=True) if e]
        return "*".join(powers) or "1"

    def __str__(self) -> str:
        if not self.row:
            return f"{self.name} = 1"
        place = f"phi_{self.row}_{self.token}"
        return f"{self.name} = coefficient of {self.monomial()} in {place}" if self.inputs else f"{self.name} = {place}"


@dataclass(frozen=True, repr=False)
class MapCoordinates:
    """All coordinates of a map, with what `CoordinateSystem` says of a network.

    Attributes:
        phi: the map.
        coordinates: of the linear span.
        keys: the coordinates as coefficients of `phi`, without the constant.
        combinations: every coefficient that is not zero, in the coordinates (by their places), the constant among them.
        forms: the coordinates as polynomials in the weights.
        is_cone: whether a scaling of the weights multiplies all coefficients alike.
    """

    phi: PolynomialMap
    coordinates: tuple[MapCoordinate, ...]
    keys: tuple[Key, ...]
    combinations: Mapping[Key, Mapping[int, Fraction]]
    forms: tuple[Polynomial, ...]
    is_cone: bool

    network = None
    """There is none."""

    def __len__(self) -> int:
        return len(self.coordinates)

    def __repr__(self) -> str:
        return f"map_coordinates({self.phi!r})"

    @property
    def constant(self) -> int:
        """The place of the coordinate that is constantly 1, where the closure is no cone."""
        return len(self.keys)

    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Return no blocks: no parts of a torus weight are permuted."""
        return ()

    def permuted(self, order: tuple[int, ...]) -> npt.NDArray[np.int64] | None:
        """Return each coordinate's own place; no other order is known to keep the closure."""
        return np.arange(len(self)) if order == tuple(range(len(order))) else None

    def at_random_points(
        self,
        generator: np.random.Generator,
        points: int,
        p: int,
        memory: int = DEFAULT_MEMORY,
        work: Work | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the coordinates at random weights modulo `p`, `coordinates x points`.

        Raises:
            TooLarge: they do not fit into `memory` bytes, or their computation into `work`.
            BadInput: a coefficient has a denominator that is zero modulo `p`.
        """
        letters = len(self.phi.weight_names)
        terms = [_terms_modulo(form, letters, p) for form in self.forms]
        size = 2 * max(len(numbers) for _, numbers in terms) + letters + len(self)
        require_memory(8 * points * size, memory, f"values at {points:,} points")
        if work is not None:
            price = Price("echelons")
            for places, numbers in terms:
                value_of([Sizes((points, len(numbers)), price)] * places.shape[1], Sizes((len(numbers), 1), price))
            work.spend(price.seconds, "values of the coordinates")
        at = np.ones((letters + 1, points))
        at[:letters] = random_residues(generator, (letters, points), p).entries
        found = [
            value_of(factors_of(at, places, points, p), PrimeFieldMatrix.of(numbers[:, None], p)).entries[:, 0]
            for places, numbers in terms
        ]
        return np.mod(found, p)

    def at(self, weights: Any) -> list[Fraction]:
        """Return the coordinates of the function of exact weights, given as `PolynomialMap.at` takes them.

        Raises:
            BadInput: a weight is missing, or is no number.
        """
        found = self.of_coefficients(self.phi.at(weights).coefficients())
        assert found is not None  # noqa: S101 - a function of the map lies in its linear span
        return found

    def of_coefficients(self, coefficients: Mapping[Key, object]) -> list[Fraction] | None:
        """Return the coordinates of a map with these coefficients; None unless it lies in the linear span.

        Args:
            coefficients: as `PolynomialMap.coefficients` gives them; those that are missing are zero.

        Raises:
            BadInput: a coefficient is no exact number, or its place is none.
        """
        rows, columns = self.phi.entries.shape
        given = given_coefficients(coefficients, (rows, columns), len(self.phi.input_names))
        values = [given.get(key, Fraction(0)) for key in self.keys] + [Fraction(1)] * (not self.is_cone)
        sums = combined(self.combinations, values)
        return None if any(sums.get(key, 0) - given.get(key, 0) for key in sums | given) else values


def factors_of(
    values: npt.NDArray[np.float64], rows: npt.NDArray[np.int64], points: int, p: int
) -> list[PrimeFieldMatrix]:
    """Return the factors of monomials, whose places stand in a row each, at first points: `points x monomials` each."""
    columns = np.ascontiguousarray(values[:, :points].T)
    return [PrimeFieldMatrix(columns[:, places], p) for places in rows.T]


def multiplied(factors: Sequence[Factor]) -> Factor:
    """Return the product of matrices entry by entry, over any ring.

    Example:
        >>> price = Price("echelons")
        >>> multiplied([Sizes((5, 2), price)] * 3).shape, price.done["entry"]
        ((5, 2), 20)
    """
    return reduce(mul, factors)


def value_of(factors: Sequence[Factor], numbers: Factor) -> Factor:
    """Return the values of a polynomial at points, over any ring: the factors of its terms, each `points x terms`, and
    their coefficients, a column.
    """
    return multiplied(factors) @ numbers


def _terms_modulo(form: Polynomial, letters: int, p: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the factors of the terms of a polynomial, one term a row, by the places of letters, and the coefficients
    modulo `p`; behind the letters stands 1, for terms of lower degree."""
    terms = form.to_dict()
    places = np.full((len(terms), max(1, int(form.total_degree()))), letters)
    numbers = np.empty(len(terms), dtype=np.int64)
    for k, (exponents, coefficient) in enumerate(terms.items()):
        if not (denominator := int(coefficient.q) % p):
            raise BadInput(f"coefficients must have denominators that are not multiples of {p}, got {coefficient}")
        numbers[k] = int(coefficient.p) * pow(denominator, -1, p) % p
        factors = np.repeat(np.arange(letters), np.array(exponents, dtype=np.int64))
        places[k, : len(factors)] = factors
    return places, numbers


def map_coordinates(phi: PolynomialMap, *, memory: int = DEFAULT_MEMORY, work: Work | None = None) -> MapCoordinates:
    """Return the coordinates of the linear span of a map of one's own.

    Exact: linear relations of the coefficients are solved over the rationals.

    Raises:
        BadInput: the coefficients are numbers, or all zero.
        TooLarge: they do not fit into `memory` bytes, or their computation into `work`.

    Example:
        >>> import sympy
        >>> a, b, x, y = sympy.symbols("a b x y")
        >>> phi = PolynomialMap.of([[(a * x + b * y) ** 2 + a**2 * y**2]], weights=[a, b], inputs=[x, y])
        >>> for c in map_coordinates(phi).coordinates:
        ...     print(c, c.weight)
        c_1 = coefficient of x^2 in phi_1_1 (1,)
        c_2 = coefficient of x*y in phi_1_1 (1,)
        c_3 = coefficient of y^2 in phi_1_1 (1,)
    """
    work = Work() if work is None else work
    if not phi.weight_names:
        raise BadInput("equations must be of a map with symbolic weights, got numbers")
    coefficients: dict[Key, Polynomial] = phi.ring_coefficients()
    if not coefficients:
        raise BadInput("equations must be of a map that is not zero")
    ordered = sorted(coefficients, key=lambda key: (key[0], key[1], [-e for e in key[2]]))
    weights, is_cone = _weights([coefficients[key] for key in ordered], memory, work)
    weight = dict(zip(ordered, weights, strict=True))
    if not is_cone:  # coefficients may differ by a constant
        coefficients[_ONE] = PolynomialRing(phi.weight_names).constant(1)
        weight[_ONE] = (0,) * len(weights[0])
    found = dict(relations_of([_ONE] * (not is_cone) + ordered, coefficients, memory, work))
    keys = [key for key in ordered if found[key] == {key: 1}]
    every = [*keys, _ONE] if not is_cone else keys
    place = {key: i for i, key in enumerate(every)}
    combinations = {key: {place[k]: c for k, c in found[key].items()} for key in ordered}
    coordinates = (
        MapCoordinate(f"c_{i}", key[0], key[1], key[2], weight[key], phi.input_names)
        for i, key in enumerate(every, start=1)
    )
    return MapCoordinates(
        phi, tuple(coordinates), tuple(keys), combinations, tuple(coefficients[key] for key in every), is_cone
    )


def _weights(forms: list[Polynomial], memory: int, work: Work) -> tuple[list[tuple[int, ...]], bool]:
    """Return by how much scalings multiply each coordinate, and whether one of them multiplies all alike."""
    differences: dict[tuple[int, ...], None] = {}
    firsts = []
    for form in forms:
        first, *others = [tuple(map(int, exponents)) for exponents in form.monoms()]
        firsts.append(first)
        differences |= dict.fromkeys(tuple(a - b for a, b in zip(first, other, strict=True)) for other in others)
    letters = len(firsts[0])
    require_memory(64 * letters * (len(differences) + letters), memory, "scalings of the weights")
    stage = "scalings of the weights"
    work.spend(price_of_kernel(len(differences) + 1, letters, _EXPONENT_BITS).seconds, stage)
    rows = np.array([*differences, (0,) * letters], dtype=object)
    scalings = [_whole(vector) for vector in null_space(rows)]
    work.spend(price_of_scalings(len(scalings), len(forms)).seconds, stage)
    table = np.array(firsts, dtype=object) @ np.array(scalings, dtype=object).reshape(-1, letters).T
    ones = np.full((len(forms), 1), Fraction(1), dtype=object)
    is_cone = bool(scalings) and solution(table * Fraction(1), ones) is not None
    kept: list[ObjectArray] = [np.zeros(len(forms), dtype=object)] * (not is_cone)
    kept += [np.ones(len(forms), dtype=object)] * is_cone
    for column in table.T:
        more = [*kept, column]
        counted = more if is_cone else more[1:]
        if (
            len(kept) <= MOST_SCALINGS
            and max(map(abs, column)) <= LARGEST_WEIGHT
            and rank(np.array(counted, dtype=object) * Fraction(1)) == len(counted)  # no combination of those before
        ):
            kept = more
    return [tuple(map(int, row)) for row in np.array(kept).T], is_cone


def price_of_scalings(scalings: int, forms: int) -> Price:
    """Return the price of scalings, each of which must be no combination of those before on the coordinates.

    Example:
        >>> price_of_scalings(2, 5).done["eliminated"]
        25
    """
    price = Price("rationals")
    for before in range(scalings):
        rows = Sizes((min(before, MOST_SCALINGS) + 1, forms), price, bits=_EXPONENT_BITS)
        rows.read()
        rows.rank()
    return price


def _whole(vector: Sequence[Fraction]) -> list[int]:
    """Return a rational vector without denominators."""
    numbers = list(map(as_fraction, vector))
    common = lcm(*(number.denominator for number in numbers))
    if common > 2**20:
        raise TooLarge("scalings of the weights must have short exponents")
    return [int(number * common) for number in numbers]
