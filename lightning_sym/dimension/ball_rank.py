r"""A second road to the lower bound: the network's true function at real inputs, in ball arithmetic.

Nothing is shared with the first road but the forward pass: no prime, no Taylor series along $X = \varepsilon Z$; the
`exp` of softmax is the real one.

**What is proved.** Take rational weights $W$ and real inputs $X_1, \dots, X_N$. Every entry of the Jacobian of
$W \mapsto (\phi_W(X_1), \dots, \phi_W(X_N))$ at $W$ lies in its ball. If the determinant of a minor, computed from
these balls, is a ball without zero, then the minor is not zero and the Jacobian at $W$ has at least that rank. The
minor is an analytic function of the weights, so it is not zero on a dense open set of them either: the generic rank,
which is the dimension of the neuromanifold, is at least the size of the minor.

**What is not.** A determinant whose ball contains zero says nothing. So this road gives lower bounds only, and they
are compared with `dimension`'s, which it never sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import KNOWN, network_output
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import Balls, certified_rank, nonzero_minor, precision

_BYTES_AN_ENTRY = 600
"""A ball with its derivative, the parts it was made of, and the copies that elimination works on."""

_AT_ONCE = 2**16
"""Entries of what one forward pass computes on the way, for all inputs and directions together; a few megabytes."""


@dataclass(frozen=True)
class BallRank:
    """A lower bound of the dimension by a minor that is certainly not zero.

    Attributes:
        architecture: the network.
        lower: the size of the minor.
        inputs: at how many inputs the network was differentiated.
        bits: the precision.
        seed: picked weights and inputs.
    """

    architecture: Architecture
    lower: int
    inputs: int
    bits: int
    seed: int


def _dyadic(generator: np.random.Generator, shape: tuple[int, ...]) -> ObjectArray:
    """Random numbers `k / 16` between -2 and 2: small, because scores are exponents."""
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = Fraction(int(generator.integers(-32, 33)), 16)
    return result


def ball_jacobian(architecture: Architecture, *, seed: int = 0, inputs: int | None = None) -> ObjectArray:
    """The Jacobian of all outputs at some inputs, entries balls: `inputs * output_width * tokens x parameters`.

    Args:
        architecture: the network, lightning or normalized with a function that balls know.
        seed: picks weights and inputs, rational numbers `k / 16`.
        inputs: how many inputs; by default enough for three times as many rows as parameters.

    Raises:
        BadInput: the seed is negative, or there is no input.

    Example:
        >>> ball_jacobian(Architecture((1, 1), (1,), 2), inputs=3).shape
        (6, 3)
    """
    architecture.require("the Jacobian in balls", KNOWN)
    rows_each = architecture.output_width * architecture.tokens
    count = 3 * architecture.parameter_count // rows_each + 1 if inputs is None else inputs
    if seed < 0 or count < 1:
        raise BadInput(f"the seed must not be negative and inputs must be positive, got {seed} and {count}")
    generator = np.random.default_rng(seed)
    weights = [_dyadic(generator, shape) for _, shape in architecture.weight_shapes()]
    # one input a batch, as inputs side by side would attend to each other; and many directions at once
    source = Balls.of([[_dyadic(generator, (architecture.input_width, architecture.tokens))] for _ in range(count)])
    still = [Balls.of(weight) for weight in weights]
    widest = max(architecture.tokens, *(max(weight.shape) for weight in weights))
    columns = []
    for place, weight in enumerate(weights):
        step = max(1, _AT_ONCE // (widest * max(count * widest, weight.size)))
        for start in range(0, weight.size, step):
            directions = np.eye(min(step, weight.size - start), weight.size, start, dtype=int)
            moves = Balls.of(weight, directions.reshape(-1, *weight.shape))
            derivatives = network_output(
                source, architecture, [*still[:place], moves, *still[place + 1 :]]
            ).derivative()
            columns.append(derivatives.swapaxes(0, 1).reshape(len(directions), -1))
    return np.concatenate(columns).T


def ball_rank(
    architecture: Architecture,
    *,
    seed: int = 0,
    bits: int = 128,
    inputs: int | None = None,
    claimed: int | None = None,
    memory: int = DEFAULT_MEMORY,
) -> BallRank:
    """A lower bound of the dimension, certified in ball arithmetic.

    Args:
        architecture: the network.
        seed: picks the point.
        bits: precision; too little of it certifies less, never anything false.
        inputs: how many inputs, by default enough for three times as many rows as parameters.
        claimed: only this rank is tried, and `lower` is 0 where it is not certified; by default the largest rank for
            which a minor is found.
        memory: bytes that the Jacobian may take, by an estimate made before anything is computed.

    Raises:
        TooLarge: the estimate exceeds `memory`.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> network = Architecture((2, 2), (1,), 2, normalization=SOFTMAX)
        >>> ball_rank(network).lower, ball_rank(network, claimed=8).lower
        (7, 0)
    """
    parameters = architecture.parameter_count
    rows_each = architecture.output_width * architecture.tokens
    count = 3 * parameters // rows_each + 1 if inputs is None else inputs
    needed = _BYTES_AN_ENTRY * count * rows_each * parameters
    require_memory(needed, memory, f"the Jacobian in balls ({count:,} inputs, {parameters:,} parameters)")
    with precision(bits):
        jacobian = ball_jacobian(architecture, seed=seed, inputs=count)
        if claimed is None:
            lower = certified_rank(jacobian)
        else:
            lower = claimed if nonzero_minor(jacobian, claimed) is not None else 0
    return BallRank(architecture, lower, count, bits, seed)
