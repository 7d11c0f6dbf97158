r"""The symmetries of the parametrization: one group action, its proof, its tangent directions.

The group is $\prod_i GL_{a_i} \times \prod_{0<i<l} GL_{d_i} \times (\mathbb{Q}^*)^l$ and acts by

$$ Q_i \mapsto \lambda_i C_i^{-\top} Q_i G_{i-1}^{-1}, \quad K_i \mapsto C_i K_i G_{i-1}^{-1}, \quad
   V_i \mapsto \lambda_i^{-1} G_i V_i G_{i-1}^{-1}, \qquad G_0 = G_l = 1 : $$

basis change inside queries and keys (Lemma 3.1), basis change between layers (Eq. 9, whose scalars are the
rescalings between layers), rescaling inside a layer (Eq. 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.architecture import Architecture
from lightning_sym.attention import attention_layer
from lightning_sym.errors import ProgramError
from lightning_sym.jacobian import random_residues
from lightning_sym.linalg import rank_mod_p
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.words import Words
from lightning_sym.weights import Layer

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LayerSymmetry:
    r"""The part of a group element that one layer sees; every matrix comes with its inverse.

    Attributes:
        query_key: $(C, C^{-1})$, both `a x a`.
        before: $(G_{i-1}, G_{i-1}^{-1})$, both `d x d`.
        after: $(G_i, G_i^{-1})$, both `d' x d'`.
        scale: $(\lambda 1_a, \lambda^{-1} 1_{d'})$: the scalar as the two matrices it acts by.
    """

    query_key: tuple[Any, Any]
    before: tuple[Any, Any]
    after: tuple[Any, Any]
    scale: tuple[Any, Any]

    def act(self, layer: Layer) -> Layer:
        """The weights of the layer after the change, over any ring."""
        c, c_inverse = self.query_key
        _, g_inverse = self.before
        return Layer(
            query=self.scale[0] @ c_inverse.mT @ layer.query @ g_inverse,
            key=c @ layer.key @ g_inverse,
            value=self.scale[1] @ self.after[0] @ layer.value @ g_inverse,
        )


@cache
def verify_identity() -> str:
    r"""Prove that the action leaves every network alone, for matrices of every size.

    Over formal words: a changed layer fed with $G_{i-1} X$ gives $G_i$ times what the old layer gives for $X$.
    Since $G_0 = G_l = 1$, chaining the layers gives $\phi_{g W} = \phi_W$ at every depth.

    Returns:
        The identity that was verified, spelled out.

    Raises:
        ProgramError: it does not hold.
    """
    letter = Words.letter
    c, before, after, scale = letter("C"), letter("G"), letter("H"), Words.scalar("lambda")
    element = LayerSymmetry(
        query_key=(c, c.inverse),
        before=(before, before.inverse),
        after=(after, after.inverse),
        scale=(scale, scale.inverse),
    )
    layer = Layer(letter("Q"), letter("K"), letter("V"))
    x = letter("X")
    changed = attention_layer(before @ x, element.act(layer))
    expected = after @ attention_layer(x, layer)
    if changed != expected:
        raise ProgramError(f"the symmetry is not one: {changed} differs from {expected}")
    return f"layer[gW](G X) = {changed} = H layer[W](X)"


def _still(*sizes: int, p: int) -> tuple[Dual, ...]:
    return tuple(
        Dual(
            PrimeFieldMatrix.of(np.eye(n, dtype=np.int64), p),
            PrimeFieldMatrix.of(np.zeros((n, n), np.int64), p),
        )
        for n in sizes
    )


def _moving(directions: Integers, p: int) -> tuple[Dual, Dual]:
    r"""$(1 + \varepsilon E, 1 - \varepsilon E)$, a batch over the directions $E$."""
    one = PrimeFieldMatrix.of(np.eye(directions.shape[-1], dtype=np.int64), p)
    return Dual(one, PrimeFieldMatrix.of(directions, p)), Dual(one, PrimeFieldMatrix.of(-directions, p))


def _all_directions(n: int) -> Integers:
    return np.eye(n * n, dtype=np.int64).reshape(n * n, n, n)


def _one_parameter_families(architecture: Architecture, p: int) -> Iterator[tuple[int, dict[int, LayerSymmetry]]]:
    """Batches of tangent vectors of the group at 1: how many, and what each layer sees of them."""

    def resting(i: int) -> LayerSymmetry:
        a, d, d_out = architecture.attention_ranks[i], *architecture.widths[i : i + 2]
        c, g, h = _still(a, d, d_out, p=p)
        return LayerSymmetry(query_key=(c, c), before=(g, g), after=(h, h), scale=(c, h))

    depth = architecture.depth
    for i, a in enumerate(architecture.attention_ranks):
        yield a * a, {i: replace(resting(i), query_key=_moving(_all_directions(a), p))}
    for i, d in enumerate(architecture.widths[1:-1]):
        change = _moving(_all_directions(d), p)
        yield d * d, {i: replace(resting(i), after=change), i + 1: replace(resting(i + 1), before=change)}
    for i in range(depth):
        grow, _ = _moving(np.eye(architecture.attention_ranks[i], dtype=np.int64)[None], p)
        _, shrink = _moving(np.eye(architecture.widths[i + 1], dtype=np.int64)[None], p)
        yield 1, {i: replace(resting(i), scale=(grow, shrink))}


def tangent_directions_mod_p(architecture: Architecture, layers: Sequence[Layer], p: int) -> Iterator[PrimeFieldMatrix]:
    r"""Tangent directions, at the weights `layers`, of the orbit through them.

    The derivative of the action at the identity, one row for each basis vector of the Lie algebra, computed by
    running the action itself over dual numbers: $C = 1 + \varepsilon E$, $C^{-1} = 1 - \varepsilon E$.

    Yields:
        Blocks of shape `(directions, parameters)` modulo `p`: the `a_i^2` of each layer, the `d_i^2` between
        layers, one rescaling a layer.
    """
    for count, changes in _one_parameter_families(architecture, p):
        columns = []
        for i, layer in enumerate(layers):
            if i not in changes:
                columns.append(np.zeros((count, sum(w.entries.size for w in layer))))
                continue
            dual = Layer(*(Dual(w, PrimeFieldMatrix(np.zeros_like(w.entries), p)) for w in layer))
            for weight in changes[i].act(dual):
                tangent = weight.tangent.entries
                shape = (count, *tangent.shape[-2:])
                columns.append(np.broadcast_to(tangent, shape).reshape(count, -1))
        yield PrimeFieldMatrix(np.concatenate(columns, axis=1), p)


def symmetry_count(architecture: Architecture) -> int:
    """Dimension of the group: how many tangent directions there are."""
    squares = (n * n for n in (*architecture.attention_ranks, *architecture.widths[1:-1]))
    return sum(squares) + architecture.depth


def orbit_dimension_at(
    architecture: Architecture,
    layers: Sequence[Layer],
    generator: np.random.Generator,
    p: int,
) -> int:
    """A lower bound of the dimension of a generic orbit: the rank modulo `p` of the tangent directions at `layers`.

    Every fiber of the parametrization is a union of orbits, so parameters minus this number is a rigorous *upper*
    bound of the dimension of the neuromanifold. Folding the columns keeps it a lower bound of the orbit.
    """
    verify_identity()
    columns = symmetry_count(architecture) + 16
    fold = None
    if columns < architecture.parameter_count:
        fold = random_residues(generator, (architecture.parameter_count, columns), p)
    blocks = tangent_directions_mod_p(architecture, layers, p)
    folded = (block if fold is None else block @ fold for block in blocks)
    return rank_mod_p(np.concatenate([block.residues() for block in folded]), p)
