"""Named shapes that every road is tried on, degenerate ones included, and small strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from lightning_sym import Architecture, Layer
from lightning_sym.rings.arrays import ObjectArray

SHAPES = {
    "one by one": Architecture((1, 1), (1,), 1),
    "one layer": Architecture((2, 3), (2,), 2),
    "one token": Architecture((2, 2), (2,), 1),
    "width one": Architecture((1, 2), (2,), 3),
    "query wider than input": Architecture((2, 2), (4,), 2),
    "two layers": Architecture((2, 2, 2), (1, 2), 2),
    "drop in the middle": Architecture((3, 1, 2), (2, 2), 2),
    "wide in the middle": Architecture((1, 3, 1), (2, 1), 2),
    "three layers": Architecture((2, 1, 2, 1), (1, 2, 1), 1),
}


def architectures(max_depth: int = 3, max_size: int = 3, max_tokens: int = 3) -> st.SearchStrategy[Architecture]:
    """Random small architectures."""
    size = st.integers(1, max_size)
    return st.integers(1, max_depth).flatmap(
        lambda depth: st.builds(
            Architecture,
            st.tuples(*[size] * (depth + 1)),
            st.tuples(*[st.integers(1, max_size + 1)] * depth),
            st.integers(1, max_tokens),
        )
    )


def integer_input(network: Architecture, seed: int, bound: int = 5) -> np.ndarray:
    """A random integer input as an object array of Python integers."""
    generator = np.random.default_rng([network.tokens, seed])
    return generator.integers(-bound, bound + 1, size=(network.widths[0], network.tokens)).astype(object)


def plain_forward(x: list[list[object]], layers: list[Layer[ObjectArray]]) -> list[list[object]]:
    """An independent road: Eq. 1 over plain Python numbers, sums over tokens and coordinates."""
    for query, key, value in layers:
        d, t = len(x), len(x[0])
        q = [[sum(row[k] * x[k][j] for k in range(d)) for j in range(t)] for row in query]
        k_ = [[sum(row[k] * x[k][j] for k in range(d)) for j in range(t)] for row in key]
        v = [[sum(row[k] * x[k][j] for k in range(d)) for j in range(t)] for row in value]
        scores = [[sum(k_[a][j] * q[a][i] for a in range(len(q))) for i in range(t)] for j in range(t)]
        x = [[sum(row[j] * scores[j][i] for j in range(t)) for i in range(t)] for row in v]
    return x
