r"""Coordinates of the linear span of the functions of a network, and their values.

A function of the network is known by the coefficients of its last output token (Proposition 1 of `docs/equations.md`).
The coefficients that are not linear combinations of those before them are the coordinates `c_1, c_2, ...`; each is a
weight vector of the torus that acts (Proposition 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import ShapeError
from lightning_sym.limits import DEFAULT_MEMORY, Work, require_memory
from lightning_sym.network.ambient import DEEPEST
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.prices import output_over_sizes
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.input_polynomials import InputPolynomial, constants, terms_of, variables
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, entry_names
from lightning_sym.rings.prime_field import random_residues
from lightning_sym.rings.rates import RATES
from lightning_sym.rings.rationals import as_fraction, map_entries
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.coefficient_relations import Key, combined, given_coefficients, relations_of
from lightning_sym.varieties.normal_weights import is_tied, normal_weights, smallest_network


@dataclass(frozen=True)
class Coordinate:
    """A coefficient of the function, of output `row` of the last token (both counted from 1).

    Attributes:
        name: `c_1`, `c_2`, ...
        row: which coordinate of the output token.
        token: which output token: the last one.
        exponents: of the inputs `x_1_1, x_1_2, ...`, row by row, of the network that was asked for.
        weight: by how much the torus scales it: the degrees in the coordinates of the inputs, then a 1 at its row; of
            a stream that is both input and output, the degrees less that 1.
    """

    name: str
    row: int
    token: int
    exponents: tuple[int, ...]
    weight: tuple[int, ...]

    def monomial(self) -> str:
        """Return the monomial in the inputs, as `x_1_1^2*x_2_2`."""
        tokens = self.token
        powers = [(divmod(i, tokens), e) for i, e in enumerate(self.exponents) if e]
        return "*".join(f"x_{k + 1}_{j + 1}" + (f"^{e}" if e > 1 else "") for (k, j), e in powers)

    def __str__(self) -> str:
        return f"{self.name} = coefficient of {self.monomial()} in output {self.row} of token {self.token}"


@dataclass(frozen=True, repr=False)
class CoordinateSystem:
    """All coordinates of a network.

    Attributes:
        architecture: the network that was asked for.
        network: the smallest one with the same functions.
        coordinates: of the linear span, a basis of its dual.
        keys: the coordinates as coefficients of `network`.
        combinations: every coefficient that is not zero on all functions, in the coordinates (by their places).
        forms: the coordinates as polynomials in the letters of the normal weights.
    """

    architecture: Architecture
    network: Architecture
    coordinates: tuple[Coordinate, ...]
    keys: tuple[Key, ...]
    combinations: Mapping[Key, Mapping[int, Fraction]]
    forms: tuple[Polynomial, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"coordinate_system({self.architecture!r})"

    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Return the parts of a torus weight that are permuted: inputs, and outputs unless they are the same stream."""
        inputs = self.network.input_width
        return ((0, inputs),) if is_tied(self.network) else ((0, inputs), (inputs, inputs + self.network.output_width))

    def permuted(self, order: tuple[int, ...]) -> npt.NDArray[np.int64] | None:
        """Return where each coordinate goes when place `i` of the weights goes to `order[i]`.

        `None` if one does not go to a coordinate.
        """
        inputs, tokens = self.network.input_width, self.network.tokens
        tied = is_tied(self.network)
        places = self._places
        result = np.empty(len(self), dtype=np.int64)
        for i, (row, exponents) in enumerate(self.keys):
            moved = [0] * len(exponents)
            for k in range(inputs):
                moved[order[k] * tokens : (order[k] + 1) * tokens] = exponents[k * tokens : (k + 1) * tokens]
            key = (order[row] if tied else order[inputs + row] - inputs, tuple(moved))
            if key not in places:
                combination = self.combinations.get(key, {})
                if list(combination.values()) != [1]:
                    return None
                (result[i],) = combination
            else:
                result[i] = places[key]
        return result

    @cached_property
    def _places(self) -> dict[Key, int]:
        return {key: i for i, key in enumerate(self.keys)}

    @property
    def is_cone(self) -> bool:
        """Whether the closure is a cone: no coordinate is constant."""
        return not is_tied(self.architecture)

    @property
    def constant(self) -> int:
        """The place of the coordinate that is constantly 1: of a stream that is both input and output."""
        return next(i for i, (_, exponents) in enumerate(self.keys) if sum(exponents) == 1)

    def of_coefficients(self, coefficients: Mapping[tuple[int, int, tuple[int, ...]], object]) -> list[Fraction] | None:
        """Return the coordinates of a map with these coefficients; None unless it lies in the linear span.

        Args:
            coefficients: by row and token of the output, from 1, and exponents of all inputs; those that are missing
                are zero.

        Raises:
            BadInput: a coefficient is no exact number, or its place is none.
        """
        shape = self.architecture
        outputs, length = (shape.output_width, shape.tokens), shape.input_width * shape.tokens
        given = {place: c for place, c in given_coefficients(coefficients, outputs, length).items() if c}
        values = [given.get((c.row, c.token, c.exponents), Fraction(0)) for c in self.coordinates]
        expected = {key: number for key, number in combined(self.combinations, values).items() if number}
        if any(expected.get(self._key(k - 1, j - 1, powers), 0) - c for (k, j, powers), c in given.items()):
            return None
        return values if sum(map(self._repetitions, expected)) == len(given) else None

    def _key(self, row: int, token: int, exponents: tuple[int, ...]) -> Key:
        """Return which coefficient of the smallest network is this one of the map asked for (Proposition 1)."""
        few, tokens, width = self.network.tokens, self.architecture.tokens, self.network.input_width
        seen = [i for i in range(tokens) if i != token and any(exponents[i::tokens])]
        if len(seen) >= few or (self.architecture.causal and seen and seen[-1] > token):
            return row, ()  # of none: it is zero on all functions
        columns = [*seen, *(None,) * (few - 1 - len(seen)), token]
        return row, tuple(0 if i is None else exponents[k * tokens + i] for k in range(width) for i in columns)

    def _repetitions(self, key: Key) -> int:
        """Return how many coefficients of the map asked for are this one, if its first tokens are those that it has."""
        few, tokens = self.network.tokens, self.architecture.tokens
        seen = [j for j in range(few - 1) if any(key[1][j::few])]
        if seen != list(range(len(seen))):
            return 0  # the same coefficient with other tokens left out
        return comb(tokens, len(seen) + 1) * (1 if self.architecture.causal else len(seen) + 1)

    def at_random_points(
        self,
        generator: np.random.Generator,
        points: int,
        p: int,
        memory: int = DEFAULT_MEMORY,
        work: Work | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the coordinates at random weights modulo `p`, `coordinates x points`: none in normal form.

        Raises:
            TooLarge: they do not fit into `memory` bytes, or their computation into `work`.
        """
        network, work = self.network, Work() if work is None else work
        size = 8 * points * (2 * len(self.combinations) * network.tokens + network.parameter_count)
        require_memory(size, memory, f"values of the coordinates at {points:,} points")
        inputs = network.input_width * network.tokens
        weights = [
            constants(random_residues(generator, (points, *shape), p).entries, p, inputs, work)
            for _, shape in network.weight_shapes()
        ]
        x = variables(network.input_width, network.tokens, points, p, work)
        output = network_output(x, network, weights)
        values = np.zeros((len(self), points))
        columns = [terms_of(entry) for entry in output[:, -1]]
        for i, (row, exponents) in enumerate(self.keys):
            values[i] = columns[row].get(exponents, 0)
        return values

    def at(self, weights: Weights) -> list[Fraction]:
        """Return the coordinates of the function of exact weights.

        Raises:
            ShapeError: the weights are of another network.
        """
        weights.require_numbers("the coordinates of a function")
        architecture = self.architecture
        if (given := weights.architecture(architecture.tokens)) != architecture:
            raise ShapeError(f"the weights must be of the network {architecture}, got those of {given}")
        tokens = self.network.tokens
        ring = PolynomialRing(entry_names("x", architecture.input_width, tokens))
        x = ring.matrix("x", architecture.input_width, tokens)
        few = replace(architecture, tokens=tokens)
        output = network_output(x, few, [ring.constants(m) for m in weights.numbers().values()])
        columns = [{tuple(map(int, e)): c for e, c in entry.to_dict().items()} for entry in output[:, -1]]
        return [as_fraction(columns[row].get(exponents, 0)) for row, exponents in self.keys]


def coordinate_system(
    architecture: Architecture, *, memory: int = DEFAULT_MEMORY, work: Work | None = None
) -> CoordinateSystem:
    """Return the coordinates of the linear span of the functions of a network.

    Exact: the coefficients are polynomials in the letters of the normal weights, their linear relations are found and
    solved over the rationals.

    Raises:
        BadInput: the network has an option for which this is not proved.
        TooLarge: the coefficients do not fit into `memory` bytes, or their computation into `work`, by estimates made
            before each step.

    Example:
        >>> for c in coordinate_system(Architecture((2, 1), (1,), 1)).coordinates:
        ...     print(c)
        c_1 = coefficient of x_1_1^3 in output 1 of token 1
        c_2 = coefficient of x_1_1^2*x_2_1 in output 1 of token 1
        c_3 = coefficient of x_1_1*x_2_1^2 in output 1 of token 1
        c_4 = coefficient of x_2_1^3 in output 1 of token 1
    """
    network = smallest_network(architecture)
    entries = architecture.input_width * architecture.tokens
    require_memory(
        64 * entries * network.output_width * network.input_width, memory, f"monomials in {entries:,} inputs"
    )
    work = Work() if work is None else work
    coefficients = _coefficients(network, memory, work)
    classes: dict[tuple[int, ...], list[Key]] = {}
    for key in sorted(coefficients, key=lambda key: _order(network, key)):
        classes.setdefault(_weight(network, key), []).append(key)
    keys: list[Key] = []
    relations: dict[Key, dict[Key, Fraction]] = {}
    for members in classes.values():
        for key, combination in relations_of(members, coefficients, memory, work):
            relations[key] = combination
            if combination == {key: 1}:
                keys.append(key)
    require_memory(16 * len(keys) * entries, memory, f"{len(keys):,} monomials in {entries:,} inputs")
    work.spend(RATES["terms"].seconds(entry=len(keys) * entries), f"{len(keys):,} monomials in {entries:,} inputs")
    keys.sort(key=lambda key: (key[0], [-e for e in key[1]]))
    place = {key: i for i, key in enumerate(keys)}
    combinations = {key: {place[k]: c for k, c in parts.items()} for key, parts in relations.items()}
    coordinates = tuple(
        Coordinate(
            f"c_{i + 1}", row + 1, architecture.tokens, _more_tokens(exponents, network.tokens, architecture.tokens),
            _weight(network, (row, exponents)),
        )
        for i, (row, exponents) in enumerate(keys)
    )  # fmt: skip
    forms = tuple(coefficients[key] for key in keys)
    return CoordinateSystem(architecture, network, coordinates, tuple(keys), combinations, forms)


def _coefficients(network: Architecture, memory: int, work: Work) -> dict[Key, Polynomial]:
    """Return the coefficients of the last output token, as polynomials in the letters of the normal weights."""
    require_memory(100 * network.parameter_count, memory, "the weights of the polynomial map")
    require_memory(network.parameter_count**2, memory, "the letters of the polynomial map")  # one has exponents of all
    price = Price("objects")
    output_over_sizes(network, price)  # at ones
    work.spend(price.seconds, "the size of the polynomial map")
    matrices = list(normal_weights(network))
    letters = sorted({e for _, m in matrices for e in m.ravel() if isinstance(e, str)}, key=lambda u: int(u[1:]))
    letters = letters or ["u1"]
    inputs = network.input_width * network.tokens
    terms = _most_terms(network, matrices) if network.depth <= DEEPEST else 10**1000
    require_memory(terms * (16 + 4 * (len(letters) + inputs)), memory, "the coefficients of the polynomial map")
    ring, nothing = PolynomialRing(letters), (0,) * inputs
    known: dict[int | str, InputPolynomial] = {
        0: InputPolynomial({}, work),
        1: InputPolynomial({nothing: ring.constant(1)}, work),
    }
    known |= {u: InputPolynomial({nothing: ring[u]}, work) for u in letters}
    x = np.empty((network.input_width, network.tokens), dtype=object)
    for place, index in enumerate(np.ndindex(x.shape)):
        exponents = tuple(int(i == place) for i in range(inputs))
        x[index] = InputPolynomial({exponents: ring.constant(1)}, work)
    output = network_output(x, network, [map_entries(known.__getitem__, m) for _, m in matrices])
    return {(row, exponents): c for row, entry in enumerate(output[:, -1]) for exponents, c in entry.terms.items()}


def _most_terms(network: Architecture, matrices: list[tuple[str, ObjectArray]]) -> int:
    """Return a bound on terms: the sum of coefficients, positive integers, or monomials of the right degrees.

    The sum is the value at all-ones letters and inputs. An output has degree at most `3^(l-i)` in all matrices of one
    kind in layer `i`.
    """
    letters: dict[str, int] = {}
    for name, matrix in matrices:
        kind = name.partition(".")[0]
        letters[kind] = letters.get(kind, 0) + sum(isinstance(e, str) for e in matrix.ravel())
    inputs = network.input_width * network.tokens
    monomials = network.output_width * network.tokens * comb(inputs + network.degree, network.degree)
    for kind, count in letters.items():
        degree = 1 if kind == "U" else 3 ** (network.depth - int(kind[1:] or 0))
        monomials *= comb(count + degree, degree)
    ones = [map_entries(lambda e: 1 if isinstance(e, str) else e, m) for _, m in matrices]
    x = np.full((network.input_width, network.tokens), 1, dtype=object)
    return min(monomials, int(network_output(x, network, ones).sum()))


def _order(network: Architecture, key: Key) -> tuple[int, int, list[int]]:
    """Return an order's key, coefficients of more different tokens first: they are shorter. Permutations keep it."""
    row, exponents = key
    seen = sum(any(exponents[j :: network.tokens]) for j in range(network.tokens))
    return (-seen, row, [-e for e in exponents])


def _weight(network: Architecture, key: Key) -> tuple[int, ...]:
    row, exponents = key
    t, inputs = network.tokens, network.input_width
    degrees = [sum(exponents[k * t : (k + 1) * t]) for k in range(inputs)]
    if is_tied(network):
        degrees[row] -= 1
        return tuple(degrees)
    return (*degrees, *(int(k == row) for k in range(network.output_width)))


def _more_tokens(exponents: tuple[int, ...], few: int, tokens: int) -> tuple[int, ...]:
    """Return exponents for more tokens: the last token stays the last one."""
    result: list[int] = []
    for start in range(0, len(exponents), few):
        row = exponents[start : start + few]
        result += [*row[:-1], *(0,) * (tokens - few), row[-1]]
    return tuple(result)
