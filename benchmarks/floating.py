r"""The paper's own method, written again: a dimension estimated as the rank of a floating-point Jacobian.

All outputs of ten Gaussian inputs are differentiated by all weights at one Gaussian point; the rank of that matrix,
up to a tolerance on its singular values, is one trial, and the best of five is the estimate. It is neither a lower nor
an upper bound: ten inputs may be too few, and rounding both hides small singular values and makes new ones.

The derivatives are written by hand and share no code with `lightning_sym`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture

INPUTS = 10
TRIALS = 5

Array = npt.NDArray[Any]


def gaussian_point(
    network: Architecture, generator: np.random.Generator, precision: npt.DTypeLike, inputs: int = INPUTS
) -> tuple[list[Array], Array]:
    """Return weights in the order `Q1, K1, V1, Q2, ...` and a batch of inputs, shape `inputs x d_0 x t`."""
    weights = [generator.standard_normal(shape).astype(precision) for _, shape in network.weight_shapes()]
    return weights, generator.standard_normal((inputs, network.widths[0], network.tokens)).astype(precision)


def jacobian(weights: Sequence[Array], x: Array, softmax: bool = False) -> Array:
    r"""Return the derivatives of all outputs of all inputs by all weights, with one sweep backwards.

    Args:
        weights: `Q1, K1, V1, Q2, ...` of a network with one head and nothing added.
        x: inputs, shape `n x d_0 x t`.
        softmax: whether the scores are normalized by softmax.

    Returns:
        Shape `n d_l t x P`: by input and output entry, by weight in the given order, each row by row.

    Example:
        >>> one = np.ones((1, 1))
        >>> jacobian([2 * one, 3 * one, 5 * one], np.array([[[1.0]]])).tolist()      # of Q K V
        [[15.0, 10.0, 6.0]]
    """
    n, _, t = x.shape
    taped = []
    for i in range(0, len(weights), 3):
        q, k, v = (w @ x for w in weights[i : i + 3])
        pattern = k.mT @ q
        if softmax:
            pattern = np.exp(pattern - pattern.max(axis=-2, keepdims=True))
            pattern = pattern / pattern.sum(axis=-2, keepdims=True)
        taped.append((x, q, k, v, pattern))
        x = v @ pattern

    size = x.shape[1] * t
    # axes: input, output entry, coordinate, token
    gradient: Array = np.broadcast_to(np.eye(size, dtype=x.dtype).reshape(size, -1, t), (n, size, x.shape[1], t))
    columns: list[Array] = []
    for i in reversed(range(len(taped))):
        x, q, k, v, pattern = (part[:, None] for part in taped[i])
        query, key, value = weights[3 * i : 3 * i + 3]
        at_v, scores = gradient @ pattern.mT, v.mT @ gradient
        if softmax:
            scores = pattern * (scores - (pattern * scores).sum(axis=-2, keepdims=True))
        at_q, at_k = k @ scores, q @ scores.mT
        columns = [(part @ x.mT).reshape(n * size, -1) for part in (at_q, at_k, at_v)] + columns
        gradient = query.T @ at_q + key.T @ at_k + value.T @ at_v
    return np.concatenate(columns, axis=1)


def trial(network: Architecture, seed: int, precision: npt.DTypeLike = np.float32, inputs: int = INPUTS) -> int | None:
    """Return one floating-point rank; `None` if an entry of the Jacobian is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is an answer here: `None`
        weights, x = gaussian_point(network, np.random.default_rng(seed), precision, inputs)
        matrix = jacobian(weights, x, softmax=network.normalization is not None)
    return int(np.linalg.matrix_rank(matrix)) if np.isfinite(matrix).all() else None


def estimate(network: Architecture, precision: npt.DTypeLike = np.float32, inputs: int = INPUTS) -> int | None:
    """Return the best of five trials; `None` if none of them is finite.

    Example:
        >>> estimate(Architecture((2, 2), (2,), tokens=2), np.float64)
        7
    """
    found = [rank for seed in range(TRIALS) if (rank := trial(network, seed, precision, inputs)) is not None]
    return max(found, default=None)
