r"""Peeling layers off, on exact weights: the proof of Theorem 3 of `docs/every-width.md`, step by step (Theorem 3.7).

The part of the function that is linear in the second token, `L(x, y)`, determines $\tilde A_1$ up to a scalar: for
$B = \tilde A_1$, and for its multiples only, $L(x, y)\, x^\top B x = \phi(x)\, x^\top B y$. Then
$X \mapsto X X^\top \tilde A_1 X$ has an invertible derivative somewhere, so the function of the layers behind is
determined as well, and is peeled in its turn; the function of no layers is $X \mapsto \tilde V X$.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, Layer, ProgramError, VirtualWeights, Weights, virtual_weights
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.rationals import RationalMatrix
from proofs_check.claim import Refutation, expect, spell
from proofs_check.claims.any_width.every_width_kernel import derivative
from proofs_check.finite_matrices import Integers


class Deep(NamedTuple):
    """Exact virtual weights of a deep network, and the seed of the inputs."""

    weights: VirtualWeights
    seed: int


def deep_weights(*, quick: bool) -> Iterator[Deep]:
    """Yield random weights of three layers and four: no width drops before the last, so all ranks are two or more."""
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


def peeled(instance: Deep, *, first_rank_one: bool = False, transposed: bool = False) -> None:
    """Refute unless linear algebra finds each attention matrix up to a scalar, and each layer can be peeled off."""
    weights, seed = instance
    *attention, value = (*weights.attention, weights.value)
    if first_rank_one:
        attention[0] = np.outer(*attention[0][:2])
    d = value.shape[1]
    one, generator = RationalMatrix.identity(d), np.random.default_rng(seed)
    for i, matrix in enumerate(attention):
        values = [one] * (len(attention) - i - 1) + [RationalMatrix.of(value)]
        layers = [Layer(RationalMatrix.of(a), one, v) for a, v in zip(attention[i:], values, strict=True)]
        inputs = generator.integers(-4, 5, size=(d * d + 4, 2, d, 1))
        first, *others = [_equations(x, y, layers) for x, y in inputs]
        found = null_space(first.above(*others))
        stated = (matrix.T if transposed else matrix).ravel()
        if len(found) != 1 or rank(np.array([found[0], stated])) != 1:
            raise Refutation(
                f"A~_{i + 1} of {', '.join(map(spell, attention))}, V~ = {spell(value)}: the part linear in the second"
                f" token leaves {len(found)} dimensions, stated {spell(stated.reshape(d, d))} alone"
            )
        expect(
            any(rank(_differential(matrix, x)) == 2 * d for x in generator.integers(-4, 5, size=(5, d, 2))),
            f"X X^T A X is not seen to be dominant for A = {spell(matrix)}",
        )


def _equations(x: Integers, y: Integers, layers: list[Layer[RationalMatrix]]) -> RationalMatrix:
    """Return rows of the linear system in the entries of B, one for each output."""
    of = RationalMatrix.of
    output = derivative(Dual(of(np.hstack([x, 0 * x])), of(np.hstack([0 * y, y]))), layers)
    alone, linear = output.value @ of([[1], [0]]), output.tangent @ of([[0], [1]])
    rows: RationalMatrix = linear @ of((x @ x.T).reshape(1, -1)) - alone @ of((x @ y.T).reshape(1, -1))
    return rows


def _differential(matrix: ObjectArray, x: Integers) -> RationalMatrix:
    """Return the derivative of X -> X X^T A X, one row for each direction."""
    d, of = len(matrix), RationalMatrix.of
    layer = Layer(of(matrix), RationalMatrix.identity(d), RationalMatrix.identity(d))
    directions = np.eye(2 * d, dtype=np.int64).reshape(-1, d, 2)
    moved = (derivative(Dual(of(x), of(e)), [layer]).tangent for e in directions)
    return of(np.array([tangent.flint.entries() for tangent in moved], dtype=object))
