"""Softmax transformers given by their matrices, layers of any numbers of heads, run over balls and over residues.

Matrices as tuples of rows: they are compared, sorted and keys of dictionaries.

Of the differential of weights -> function at given weights the rank is bounded by residues from below, and above by an
orbit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Architecture, Layer
from lightning_sym.dimension.search import series_orders
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.network.attention import Form, attended, attention_layer
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import as_ball, precision
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from proofs_check.claim import ProvedBounds, spell

Number = int | Fraction
M = TypeVar("M", ObjectArray, PrimeFieldMatrix)


Matrix = tuple[tuple[Number, ...], ...]
"""Rows."""


A1: Matrix = ((1, 0), (2, 1))
A2: Matrix = ((0, 1), (1, 1))
V1: Matrix = ((1, 1), (0, 1))
V2: Matrix = ((1, 0), (1, -2))
ONE: Matrix = ((1, 0), (0, 1))
SKEW: Matrix = ((0, 1), (-1, 0))
ZERO: Matrix = ((0, 0), (0, 0))


def as_rows(matrix: object) -> Matrix:
    """Return an array as rows."""
    return tuple(tuple(row) for row in np.asarray(matrix, dtype=object).tolist())


def as_array(matrix: Matrix) -> ObjectArray:
    """Return rows as an array."""
    return np.array(matrix, dtype=object)


def identity(size: int) -> Matrix:
    """Return the identity."""
    return as_rows(np.eye(size, dtype=int))


def zero(size: int) -> Matrix:
    """Return a square zero matrix."""
    return as_rows(np.zeros((size, size), dtype=int))


def times(number: int, matrix: Matrix) -> Matrix:
    """Return a multiple."""
    return as_rows(number * as_array(matrix))


def plus(one: Matrix, other: Matrix) -> Matrix:
    """Return the sum."""
    return as_rows(as_array(one) + as_array(other))


BITS = 250
P = PRIMES[0]


def mask_and_skip(of: Any) -> str:
    """Return both in words, of a network or of a box of them."""
    return f"{'causal' if of.causal else 'no mask'}, {'skip' if of.skip else 'no skip'}"


def _in_balls(matrix: ObjectArray) -> ObjectArray:
    return np.asarray(np.frompyfunc(as_ball, 1, 1)(matrix))


class HeadAV(NamedTuple):
    """`A = K^T Q` and `V`, the output projection included."""

    attention: Matrix
    value: Matrix

    def padded(self, before: int, behind: int) -> HeadAV:
        """Return the head on a wider stream: so many rows and columns of zeros before and behind its matrices."""
        none = ((0,) * (before + len(self.value) + behind),)
        inside = ([(*none[0][:before], *row, *none[0][:behind]) for row in matrix] for matrix in self)
        return HeadAV(*((*none * before, *rows, *none * behind) for rows in inside))

    def __str__(self) -> str:
        return f"(A = {spell(self.attention)}, V = {spell(self.value)})"


class SmallNetwork(NamedTuple):
    """`x -> U X_l`, `X_0 = E x`, `X_i = e X_{i-1} + sum_h V_ih X_{i-1} softmax(X_{i-1}^T A_ih X_{i-1})`."""

    embed: Matrix
    layers: tuple[tuple[HeadAV, ...], ...]
    unembed: Matrix
    tokens: int
    causal: bool
    skip: bool = True

    def __str__(self) -> str:
        layers = "; ".join(" ".join(map(str, heads)) for heads in self.layers)
        return f"{mask_and_skip(self)}, t = {self.tokens}, E = {spell(self.embed)}, {layers}, U = {spell(self.unembed)}"

    @property
    def attended(self) -> npt.NDArray[np.float64]:
        """The mask."""
        return attended(Architecture((1, 1), (1,), self.tokens, causal=self.causal))

    def run(self, x: M, lift: Callable[[ObjectArray], M], pattern: Callable[[M], M]) -> M:
        """Return the output over the ring of `x`."""
        stream = lift(as_array(self.embed)) @ x
        for heads in self.layers:
            one = lift(np.eye(stream.shape[-2], dtype=int).astype(object))
            layer = [Layer(lift(as_array(h.attention)), one, lift(as_array(h.value))) for h in heads]
            stream = attention_layer(stream, layer, Form(pattern, self.skip))
        output: M = lift(as_array(self.unembed)) @ stream
        return output

    def balls(self, x: ObjectArray) -> ObjectArray:
        """Return balls around all entries of the output; inputs may be stacked."""
        with precision(BITS):
            return self.run(_in_balls(x), _in_balls, self.softmax)

    def softmax(self, scores: ObjectArray) -> ObjectArray:
        """Return the pattern of scores in balls, keys in rows."""
        grown = np.frompyfunc(lambda score: score.exp(), 1, 1)(scores) * self.attended.astype(int)
        return np.asarray(grown / grown.sum(axis=-2, keepdims=True))

    def with_any_exponential(self, x: ObjectArray, seed: int) -> npt.NDArray[np.int64]:
        """Return the output modulo `P`, where the exponential is any function `S` with `S(-s) S(s) = 1`."""
        field = PrimeFieldMatrix.of(np.zeros((1, 1), dtype=int), P)
        return self.run(field.like(x), field.like, AnyExponential(self.attended, seed)).residues()


def matrices_of(network: SmallNetwork) -> list[Matrix]:
    """Return `E`, the `A` and `V` of all heads, `U`."""
    inside = [matrix for heads in network.layers for head in heads for matrix in head]
    return [network.embed, *inside, network.unembed]


def with_matrices(network: SmallNetwork, matrices: Sequence[Any]) -> SmallNetwork:
    """Return the same form, other weights."""
    source = iter(matrices[1:-1])
    layers = tuple(tuple(HeadAV(next(source), next(source)) for _ in heads) for heads in network.layers)
    return network._replace(embed=matrices[0], layers=layers, unembed=matrices[-1])


def side_by_side(networks: Sequence[SmallNetwork]) -> SmallNetwork:
    """Return networks of one form as one that is run like it: each matrix is a stack of theirs."""
    return with_matrices(networks[0], list(zip(*map(matrices_of, networks), strict=True)))


class AnyExponential:
    """Softmax modulo `P` with a random function in the place of the exponential.

    Query `k` gives key `j` a share of `S(s_jk - s_kk)`. What is the same for every `S` is the same for softmax.

    Example:
        >>> pattern = AnyExponential(np.ones((2, 2)), seed=1)
        >>> scores = PrimeFieldMatrix.of(np.array([[0, 5], [3, 2]]), P)
        >>> total = pattern(scores) + pattern(scores.like([[-1]]) * scores)
        >>> total.residues().tolist()                      # for two tokens opposite scores have opposite patterns
        [[1, 1], [1, 1]]
    """

    def __init__(self, mask: npt.NDArray[np.float64], seed: int) -> None:
        self.mask, self.seed = mask, seed

    @staticmethod
    @lru_cache(maxsize=2**14)
    def exponential(seed: int, s: int) -> int:
        """Return `S(s)`, drawn from the seed; `S(-s)` is its reciprocal."""
        s %= P
        if s == 0:
            return 1
        drawn = random.Random(f"{seed} {min(s, P - s)}").randrange(1, P)
        return drawn if s <= P - s else pow(drawn, -1, P)

    def __call__(self, scores: PrimeFieldMatrix) -> PrimeFieldMatrix:
        """Return the pattern."""
        residues = scores.residues()
        *_, t = residues.shape
        found = [self.shares(s) for s in residues.reshape(-1, t, t).tolist()]
        return PrimeFieldMatrix.of(np.array(found).reshape(residues.shape), P)

    def shares(self, s: list[list[int]]) -> list[list[int]]:
        """Return those of one input."""
        keys = range(len(s))
        raw = [[self.exponential(self.seed, s[j][k] - s[k][k]) if self.mask[j, k] else 0 for k in keys] for j in keys]
        sums = [pow(sum(row[k] for row in raw), -1, P) for k in keys]
        return [[row[k] * sums[k] % P for k in keys] for row in raw]


def points(width: int, tokens: int, count: int) -> list[ObjectArray]:
    """Return the same inputs for all networks of a shape; small, so that no token's weight is close to zero or one."""
    source = random.Random(7)
    numbers = [Fraction(n, 4) for n in range(-7, 8) if n]
    rows = [[[source.choice(numbers) for _ in range(tokens)] for _ in range(width)] for _ in range(count)]
    return [np.array(x, dtype=object) for x in rows]


def apart(one: SmallNetwork, other: SmallNetwork, inputs: Sequence[ObjectArray]) -> bool:
    """Return whether balls prove that the outputs differ at one of the inputs; most often they do at the first."""
    return any(not may_be_equal(one.balls(x), other.balls(x)) for x in (inputs[0], np.array(inputs[1:])))


def may_be_equal(one: ObjectArray, other: ObjectArray) -> bool:
    """Return whether all balls overlap."""
    return all(a.overlaps(b) for a, b in zip(one.ravel(), other.ravel(), strict=True))


def same_for_any_exponential(one: SmallNetwork, other: SmallNetwork, inputs: Sequence[ObjectArray]) -> bool:
    """Return whether outputs agree modulo `P` at all inputs, for one random function in place of the exponential."""
    x = np.array(inputs)
    return bool((one.with_any_exponential(x, 3) == other.with_any_exponential(x, 3)).all())


def transformer(network: SmallNetwork, *, ends: bool) -> tuple[Architecture, dict[str, Any], list[str]]:
    """Return the network with `Q = A`, `K = 1`, zero heads where a layer has fewer; its weights, and which move."""
    d, depth, heads = len(network.embed), len(network.layers), max(map(len, network.layers))
    shape = Architecture(
        (d,) * (depth + 1), (d,) * depth, network.tokens, SOFTMAX, heads, None, network.skip, network.causal,
        len(network.embed[0]), len(network.unembed),
    )  # fmt: skip
    named, moving = {"E": network.embed, "U": network.unembed}, ["E", "U"] * ends
    for i, layer in enumerate(network.layers, start=1):
        for h in range(heads):
            of = layer[h] if h < len(layer) else HeadAV(zero(d), zero(d))
            query, key, value = (f"{letter}{shape.head_name(i, h + 1)}" for letter in "QKV")
            named |= {query: of.attention, key: identity(d), value: of.value}
            moving += [query, value] * (h < len(layer))
    return shape, named, moving


def orbit(network: SmallNetwork, ends: bool) -> tuple[int, list[list[object]]]:
    """Return the number of directions in which bases of the stream change, and the tangent vectors.

    With skips there is one basis for all layers; `E` and `U`, where they do not move, fix the first and the last one.
    """
    d, depth = len(network.embed), len(network.layers)
    places = range(depth + 1) if ends else range(1, depth)
    together_all = [list(range(depth + 1))] if ends else []
    free = together_all if network.skip else [[i] for i in places]
    vectors = []
    for together in free:
        for index in np.ndindex(d, d):
            g = np.zeros((d, d), dtype=object)
            g[index] = 1
            of = [g if i in together else 0 * g for i in range(depth + 1)]
            parts = [of[0] @ as_array(network.embed)] if ends else []
            for i, heads in enumerate(network.layers):
                for head in heads:
                    a, v = as_array(head.attention), as_array(head.value)
                    parts += [-of[i].T @ a - a @ of[i], of[i + 1] @ v - v @ of[i]]
            parts += [-as_array(network.unembed) @ of[depth]] if ends else []
            vectors.append([entry for part in parts for entry in part.ravel()])
    return len(vectors), vectors


def rank_of_differential(network: SmallNetwork, *, ends: bool) -> tuple[int, int, ProvedBounds]:
    """Return the number of weights, of directions of basis changes, and bounds of the rank at these very weights.

    From below by Taylor series of the outputs modulo a prime, longer ones while that may help. The kernel contains the
    tangent space of the orbit, so the number of weights minus its rank is an upper bound.
    """
    shape, named, moving = transformer(network, ends=ends)
    kept = np.concatenate([np.full(r * c, name in moving) for name, (r, c) in shape.weight_shapes()])
    group, vectors = orbit(network, ends)
    weights, lower = int(kept.sum()), 0
    upper = weights - (rank(vectors) if vectors else 0)
    field = PrimeFieldMatrix.of(np.zeros((1, 1), dtype=int), P)
    at = [field.like(named[name]) for name, _ in shape.weight_shapes()]
    for order in series_orders(shape.depth):
        if lower < upper:
            jacobian = RandomJacobian(shape, np.random.default_rng(order), P, weights=at, order=order)
            lower = max(lower, rank_mod_p(jacobian.rows(weights + 8)[:, kept], P))
    return weights, group, ProvedBounds(lower, upper)
