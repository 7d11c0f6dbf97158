r"""A second road to the rank of a differential: the network's true function at real inputs, in ball arithmetic.

Nothing is shared with the first road but the forward pass: no prime, no Taylor series along $X = \varepsilon Z$; the
`exp` of softmax is the real one.

**What is proved.** Take rational weights $W$ and real inputs $X_1, \dots, X_N$. Every entry of the Jacobian of
$W \mapsto (\phi_W(X_1), \dots, \phi_W(X_N))$ at $W$ lies in its ball. If the determinant of a minor, computed from
these balls, is a ball without zero, then the minor is not zero and the Jacobian at $W$ has at least that rank. The
minor is an analytic function of the weights, so it is not zero on a dense open set of them either: the generic rank,
which is the dimension of the neuromanifold, is at least the size of the minor. A determinant whose ball contains zero
says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from minors_of_balls import nonzero_minor, rank_of_balls

from lightning_sym import Architecture, network_output
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dual_balls import DualBalls

_AT_ONCE = 2**16
"""Entries of what one forward pass computes on the way, for all inputs and directions together; a few megabytes."""


def ball_jacobian(architecture: Architecture, matrices: Sequence[ObjectArray], inputs: Sequence[Any]) -> ObjectArray:
    """The Jacobian of all outputs by all weights, at weights in canonical order: a row for each entry of an output."""
    # one input a batch, as inputs side by side would attend to each other; and many directions at once
    source = DualBalls.of(np.array(inputs)[:, None])
    still = [DualBalls.of(matrix) for matrix in matrices]
    widest = max(architecture.tokens, *(max(matrix.shape) for matrix in matrices))
    columns = []
    for place, matrix in enumerate(matrices):
        step = max(1, _AT_ONCE // (widest * max(len(inputs) * widest, matrix.size)))
        for start in range(0, matrix.size, step):
            directions = np.eye(min(step, matrix.size - start), matrix.size, start, dtype=int)
            moving = DualBalls.of(matrix, directions.reshape(-1, *matrix.shape))
            found = network_output(source, architecture, [*still[:place], moving, *still[place + 1 :]]).derivative()
            columns.append(found.swapaxes(0, 1).reshape(len(directions), -1))
    return np.concatenate(columns).T


def _dyadic(generator: np.random.Generator, shape: tuple[int, ...]) -> ObjectArray:
    """Random numbers `k / 16` between -2 and 2: small, because scores are exponents."""
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = Fraction(int(generator.integers(-32, 33)), 16)
    return result


def ball_rank(architecture: Architecture, *, seed: int = 0, bits: int = 128, claimed: int | None = None) -> int:
    """A lower bound of the dimension at a random point, from three times as many rows as parameters.

    With `claimed` only this rank is tried, and 0 says that it was not shown. Too few bits show less, nothing false.
    """
    rows_each = architecture.output_width * architecture.tokens
    generator = np.random.default_rng(seed)
    weights = [_dyadic(generator, shape) for _, shape in architecture.weight_shapes()]
    shape = (architecture.input_width, architecture.tokens)
    inputs = [_dyadic(generator, shape) for _ in range(3 * architecture.parameter_count // rows_each + 1)]
    with precision(bits):
        jacobian = ball_jacobian(architecture, weights, inputs)
        if claimed is None:
            return rank_of_balls(jacobian)
        return claimed if nonzero_minor(jacobian, claimed) is not None else 0
