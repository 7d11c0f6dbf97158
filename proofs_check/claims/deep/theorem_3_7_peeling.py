r"""Peeling layers off, on exact weights: the proof of Theorem 3 of `docs/every-width.md`, step by step (Theorem 3.7).

The part of the function that is linear in the second token, `L(x, y)`, determines $\tilde A_1$ up to a scalar: for
$B = \tilde A_1$, and for its multiples only, $L(x, y)\, x^\top B x = \phi(x)\, x^\top B y$. Then
$X \mapsto X X^\top \tilde A_1 X$ has an invertible derivative somewhere, so the function of the layers behind is
determined as well, and is peeled in its turn; the function of no layers is $X \mapsto \tilde V X$.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, Weights, virtual_weights
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.derivatives import Dual
from proofs_check.claim import Refutation
from proofs_check.claims.any_width.every_width_kernel import derivative
from proofs_check.expect import spell


class Deep(NamedTuple):
    """Exact virtual weights of a deep network, and the seed of the inputs."""

    weights: VirtualWeights
    seed: int


def deep_weights(quick: bool) -> Iterator[Deep]:
    """Random weights of three layers and four: no width drops before the last, so all ranks are two or more."""
    for (d, depth), seed in product([(2, 3), (3, 3), (2, 4)], range(1 if quick else 5)):
        shape = Architecture((d,) * depth + (1 + seed % 2,), (2 + seed % (d - 1),) * depth, 2)
        random = Weights.random(
            shape,
            seed=seed,
            bound=3,
            attention_matrix_ranks=shape.attention_ranks,
            value_ranks=[d] * (depth - 1) + [1 + seed % 2],
        )
        weights = virtual_weights(random.layers)
        if not all(rank(a) >= 2 and (a + a.T).any() for a in weights.attention):
            raise ProgramError(f"{shape}, seed {seed}: the weights must satisfy the hypotheses")
        yield Deep(weights, seed)


def peeled(instance: Deep, first_rank_one: bool = False, transposed: bool = False) -> None:
    """Refute unless linear algebra finds each attention matrix up to a scalar, and each layer can be peeled off."""
    weights, seed = instance
    *attention, value = (*weights.attention, weights.value)
    if first_rank_one:
        attention[0] = np.outer(*attention[0][:2])
    d = value.shape[1]
    one, generator = np.eye(d, dtype=int).astype(object), np.random.default_rng(seed)
    for i, matrix in enumerate(attention):
        values = [one] * (len(attention) - i - 1) + [value]
        layers = [Layer(a, one, v) for a, v in zip(attention[i:], values, strict=True)]
        inputs = generator.integers(-4, 5, size=(d * d + 4, 2, d, 1)).astype(object)
        found = null_space(np.concatenate([_equations(x, y, layers) for x, y in inputs]))
        stated = (matrix.T if transposed else matrix).ravel()
        if len(found) != 1 or rank(np.array([found[0], stated])) != 1:
            raise Refutation(
                f"A~_{i + 1} of {', '.join(map(spell, attention))}, V~ = {spell(value)}: the part linear in the second"
                f" token leaves {len(found)} dimensions, stated {spell(stated.reshape(d, d))} alone"
            )
        if not any(rank(_differential(matrix, x)) == 2 * d for x in generator.integers(-4, 5, size=(5, d, 2))):
            raise Refutation(f"X X^T A X is not seen to be dominant for A = {spell(matrix)}")


def _equations(x: Any, y: Any, layers: list[Layer]) -> Any:
    """Rows of the linear system in the entries of B, one for each output."""
    output = derivative(Dual(np.hstack([x, 0 * x]), np.hstack([0 * y, y])), layers)
    alone, linear = output.value[:, :1], output.tangent[:, 1:]
    return linear * (x @ x.T).ravel() - alone * (x @ y.T).ravel()


def _differential(matrix: Any, x: Any) -> Any:
    """The derivative of X -> X X^T A X, one row for each direction."""
    d, x = len(matrix), x.astype(object)
    one = np.eye(d, dtype=int).astype(object)
    directions = np.eye(2 * d, dtype=int).astype(object).reshape(-1, d, 2)
    return np.array([derivative(Dual(x, e), [Layer(matrix, one, one)]).tangent.ravel() for e in directions])
