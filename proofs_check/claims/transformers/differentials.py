"""The differential of weights -> function at given weights: its rank from both sides, balls below, an orbit above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from lightning_sym import SOFTMAX
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import DualBalls, precision, rank_of_balls
from lightning_sym.rings.protocol import normalized
from proofs_check.claims.transformers.small_networks import BITS, Head, Matrix, Network, as_array, as_rows, points
from proofs_check.expect import Bounds


@dataclass(frozen=True)
class Entry:
    """A number that moves with speed one."""

    value: Fraction


def matrices_of(network: Network) -> list[Matrix]:
    """`E`, the `A` and `V` of all heads, `U`."""
    inside = [matrix for heads in network.layers for head in heads for matrix in head]
    return [network.embed, *inside, network.unembed]


def with_matrices(network: Network, matrices: list[Matrix]) -> Network:
    """The same form, other weights."""
    source = iter(matrices[1:-1])
    layers = tuple(tuple(Head(next(source), next(source)) for _ in heads) for heads in network.layers)
    return network._replace(embed=matrices[0], layers=layers, unembed=matrices[-1])


def _lift(matrix: ObjectArray) -> DualBalls:
    def split(entry: Any) -> tuple[Any, int]:
        return (entry.value, 1) if isinstance(entry, Entry) else (entry, 0)

    parts = [[split(entry) for entry in row] for row in matrix]
    return DualBalls.of([[p[0] for p in row] for row in parts], [[p[1] for p in row] for row in parts])


def moving_one_entry(network: Network, ends: bool) -> Iterator[Network]:
    """One for each weight; `E` and `U` do not move if not `ends`."""
    matrices = matrices_of(network)
    for number in range(len(matrices)) if ends else range(1, len(matrices) - 1):
        for index in np.ndindex(*as_array(matrices[number]).shape):
            moved = as_array(matrices[number])
            moved[index] = Entry(Fraction(matrices[number][index[0]][index[1]]))
            yield with_matrices(network, [*matrices[:number], as_rows(moved), *matrices[number + 1 :]])


def orbit(network: Network, ends: bool) -> tuple[int, list[list[Any]]]:
    """The number of directions in which bases of the stream change, and the tangent vectors.

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


def rank_of_differential(network: Network, ends: bool) -> tuple[int, int, Bounds]:
    """The number of weights, of directions of basis changes, and bounds of the rank at these very weights.

    The kernel contains the tangent space of the orbit, so the number of weights minus its rank is an upper bound.
    """
    mask = network.attended.astype(int).astype(object)
    directions = list(moving_one_entry(network, ends))
    group, vectors = orbit(network, ends)
    outputs = len(network.unembed) * network.tokens
    inputs = points(len(network.embed[0]), network.tokens, 3 * len(directions) // (2 * outputs) + 2)
    with precision(BITS):
        pattern = partial(normalized, normalization=SOFTMAX, mask=mask)
        columns = [
            np.concatenate([n.run(DualBalls.of(x), _lift, pattern).derivative().ravel() for x in inputs])
            for n in directions
        ]
        lower = rank_of_balls(np.stack(columns, axis=1))
    upper = len(directions) - (rank(vectors) if vectors else 0)
    return len(directions), group, Bounds(lower, upper)
