r"""One softmax layer with the exponentials as variables, exactly and modulo a prime.

With integer weights the exponential of a score $x_j^\top m x_k$ is a monomial in the exponentials of the products
$x_{j \alpha} x_{k \beta}$ of two coordinates. These are different monomials without constant terms, so their
exponentials are algebraically independent over the rational functions (the first case of Ax's theorem): two layers are
one function exactly if they are one rational function in coordinates and variables
$z_{j \alpha, k \beta} = z_{k \beta, j \alpha}$. So different residues at one point prove two functions; an identity of
polynomials proves one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations_with_replacement, product

import numpy as np

from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from proofs_check.claims.transformers.small_networks import (
    Matrix,
    Number,
    P,
    SmallNetwork,
    as_array,
    as_rows,
    side_by_side,
)

Coordinate = tuple[int, int]
Pair = tuple[Coordinate, Coordinate]


def seen_form(network: SmallNetwork, attention: Matrix) -> Matrix:
    """Return `E^T A E`."""
    return _product(tuple(zip(*network.embed, strict=True)), attention, network.embed)


def seen_value(network: SmallNetwork, value: Matrix) -> Matrix:
    """Return `U V E`."""
    return _product(network.unembed, value, network.embed)


@lru_cache(maxsize=2**12)  # networks of a box share their matrices
def _product(left: Matrix, middle: Matrix, right: Matrix) -> Matrix:
    return as_rows(as_array(left) @ as_array(middle) @ as_array(right))


def exponents(form: Matrix, j: int, k: int) -> dict[Pair, int]:
    """Return those of the variables in `exp(x_j^T m x_k)`."""
    found: dict[Pair, int] = {}
    for (a, row), b in product(enumerate(form), range(len(form))):
        first, second = sorted(((j, a), (k, b)))
        found[first, second] = found.get((first, second), 0) + int(row[b])
    return found


class ResiduePoint:
    """Coordinates and variables at residues modulo `P`."""

    def __init__(self, width: int, network: SmallNetwork, seed: int) -> None:
        source, t = random.Random(seed), network.tokens
        self.x = np.array([[source.randrange(P) for _ in range(t)] for _ in range(width)])
        coordinates = list(product(range(t), range(width)))
        self.z = {pair: source.randrange(1, P) for pair in combinations_with_replacement(coordinates, 2)}
        self.mask = network.attended
        self.patterns: dict[Matrix, PrimeFieldMatrix] = {}

    def pattern(self, form: Matrix) -> PrimeFieldMatrix:
        """Return the pattern of a head, by its `E^T A E`."""
        if form not in self.patterns:
            t = len(self.mask)
            raw = [[0] * t for _ in range(t)]
            for j, k in product(range(t), repeat=2):
                if self.mask[j, k]:
                    raw[j][k] = 1
                    for pair, power in exponents(form, j, k).items():
                        raw[j][k] = raw[j][k] * pow(self.z[pair], power, P) % P
            sums = [pow(sum(row[k] for row in raw), -1, P) for k in range(t)]
            entries = np.array([[row[k] * sums[k] % P for k in range(t)] for row in raw])
            self.patterns[form] = PrimeFieldMatrix.of(entries, P)
        return self.patterns[form]

    def outputs(self, networks: Sequence[SmallNetwork]) -> list[tuple[int, ...]]:
        """Return the outputs of networks of one layer and one form."""
        heads = [
            [self.pattern(seen_form(network, head.attention)).entries for head in network.layers[0]]
            for network in networks
        ]
        patterns = (PrimeFieldMatrix(np.stack(each), P) for each in zip(*heads, strict=True))
        x = PrimeFieldMatrix.of(self.x, P)
        found = side_by_side(networks).run(x, x.like, lambda scores: next(patterns)).residues()
        return list(map(tuple, found.reshape(len(networks), -1).tolist()))


@cache
def ring_of(width: int, tokens: int) -> tuple[PolynomialRing, dict[Pair, int]]:
    """Return coordinates first, then the variables; and where these stand."""
    coordinates = list(product(range(tokens), range(width)))
    pairs = list(combinations_with_replacement(coordinates, 2))
    names = [f"x{j}_{a}" for j, a in coordinates] + [f"z{j}_{a}_{k}_{b}" for (j, a), (k, b) in pairs]
    return PolynomialRing(names), {pair: len(coordinates) + i for i, pair in enumerate(pairs)}


class ExactLayer:
    """Outputs of one layer as pairs of polynomials, numerator and denominator, by entry."""

    def __init__(self, network: SmallNetwork) -> None:
        self.network, (heads,) = network, network.layers
        self.width = len(network.embed[0])
        self.ring, self.place = ring_of(self.width, network.tokens)
        self.heads = [(seen_form(network, h.attention), as_array(seen_value(network, h.value))) for h in heads]
        skip = as_array(network.unembed) @ as_array(network.embed) * int(network.skip)
        self.skip = skip

    def token(self, row: Iterable[Number], k: int) -> Polynomial:
        """Return a linear form in the coordinates of a token."""
        names = (self.ring[f"x{k}_{a}"] * int(c) for a, c in enumerate(row))
        return sum(names, self.ring.constant(0))

    def weights(self, form: Matrix, k: int) -> list[Polynomial]:
        """Return the weights of all keys that query `k` sees, up to a common factor, as polynomials."""
        keys = range(k + 1 if self.network.causal else self.network.tokens)
        powers = [exponents(form, j, k) for j in keys]
        least = {pair: min(p.get(pair, 0) for p in powers) for pair in {pair for p in powers for pair in p}}
        found = []
        for p in powers:
            exponent = [0] * len(self.ring.names)
            for pair, low in least.items():
                exponent[self.place[pair]] = p.get(pair, 0) - low
            found.append(self.ring.from_terms({tuple(exponent): 1}))
        return found

    @cached_property
    def entries(self) -> list[tuple[Polynomial, Polynomial]]:
        """By output row and query."""
        return list(self._entries())

    def _entries(self) -> Iterator[tuple[Polynomial, Polynomial]]:
        for row, k in product(range(len(self.skip)), range(self.network.tokens)):
            top, below = self.token(self.skip[row], k), self.ring.constant(1)
            for form, value in self.heads:
                weights = self.weights(form, k)
                total = sum(weights, self.ring.constant(0))
                part = sum((w * self.token(value[row], j) for j, w in enumerate(weights)), self.ring.constant(0))
                top, below = top * total + part * below, below * total
            yield top, below

    def same_as(self, other: ExactLayer) -> bool:
        """Return whether both are one rational function, by cross multiplication."""
        pairs = zip(self.entries, other.entries, strict=True)
        return all(a * d == c * b for (a, b), (c, d) in pairs)
