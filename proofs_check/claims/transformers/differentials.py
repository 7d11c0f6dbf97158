"""The differential of weights -> function at given weights: its rank from both sides, balls below, an orbit above."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lightning_sym import SOFTMAX
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import DualBalls, precision, rank_of_balls
from lightning_sym.rings.protocol import normalized
from proofs_check.claim import ProvedBounds
from proofs_check.claims.transformers.small_networks import (
    BITS,
    Matrix,
    SmallNetwork,
    as_array,
    matrices_of,
    points,
    with_matrices,
)


@dataclass(frozen=True)
class Moving:
    """A matrix of weights, and directions in which it moves, one a batch."""

    matrix: Matrix
    directions: Any


def _lift(matrix: ObjectArray) -> DualBalls:
    if matrix.ndim:
        return DualBalls.of(matrix)
    moving: Moving = matrix.item()
    return DualBalls.of(as_array(moving.matrix), moving.directions)


def moving_entries(network: SmallNetwork, *, ends: bool) -> tuple[SmallNetwork, int]:
    """All weights move, one in each batch, and how many; `E` and `U` do not if not `ends`."""
    matrices = matrices_of(network)
    places = range(len(matrices)) if ends else range(1, len(matrices) - 1)
    sizes = [as_array(matrices[i]).size for i in places]
    each = np.split(np.eye(sum(sizes), dtype=int), np.cumsum(sizes)[:-1], axis=1)
    moving: list[Any] = list(matrices)
    for i, directions in zip(places, each, strict=True):
        moving[i] = Moving(matrices[i], directions.reshape(-1, *as_array(matrices[i]).shape))
    return with_matrices(network, moving), sum(sizes)


def orbit(network: SmallNetwork, ends: bool) -> tuple[int, list[list[Any]]]:
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


def rank_of_differential(network: SmallNetwork, *, ends: bool) -> tuple[int, int, ProvedBounds]:
    """The number of weights, of directions of basis changes, and bounds of the rank at these very weights.

    The kernel contains the tangent space of the orbit, so the number of weights minus its rank is an upper bound.
    """
    mask = network.attended.astype(int).astype(object)
    moving, weights = moving_entries(network, ends=ends)
    group, vectors = orbit(network, ends)
    outputs = len(network.unembed) * network.tokens
    inputs = points(len(network.embed[0]), network.tokens, 3 * weights // (2 * outputs) + 2)
    with precision(BITS):
        pattern = partial(normalized, normalization=SOFTMAX, mask=mask)
        output = moving.run(
            DualBalls.of(np.array(inputs)[:, None]), _lift, pattern
        )  # one input a batch, all directions
        lower = rank_of_balls(np.concatenate(output.derivative().reshape(len(inputs), weights, -1), axis=1).T)
    upper = weights - (rank(vectors) if vectors else 0)
    return weights, group, ProvedBounds(lower, upper)
