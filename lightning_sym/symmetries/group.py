r"""The symmetries of the parametrization: one group action, its proof, its tangent directions.

On the networks of the paper the group is $\prod_i GL_{a_i} \times \prod_{0<i<l} GL_{d_i} \times (\mathbb{Q}^*)^l$.
It acts by

$$ Q_i \mapsto \lambda_i C_i^{-\top} Q_i G_{i-1}^{-1}, \quad K_i \mapsto C_i K_i G_{i-1}^{-1}, \quad
   V_i \mapsto \lambda_i^{-1} G_i V_i G_{i-1}^{-1}, \qquad G_0 = G_l = 1 : $$

basis change inside queries and keys (Lemma 3.1), basis change between layers (Eq. 9, whose scalars are the
rescalings between layers), rescaling inside a layer (Eq. 13). With several heads each has its own $C$ and $\lambda$; an
output projection adds $V \mapsto B V$, $O \mapsto O B^{-1}$; an embedding frees $G_0$, an unembedding $G_l$; skip
connections make all $G_i$ one; normalized scores leave no room for the $\lambda$.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import ProgramError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import LIGHTNING, Form, attention_layer
from lightning_sym.network.weights import Layer
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.prime_field import PrimeFieldMatrix

Integers = npt.NDArray[np.int64]
Pair = tuple[Any, Any]


@dataclass(frozen=True)
class LayerSymmetry:
    r"""The part of a group element that one head sees; every matrix comes with its inverse, `None` is the identity.

    Attributes:
        query_key: $(C, C^{-1})$, both `a x a`.
        before: $(G_{i-1}, G_{i-1}^{-1})$, both `d x d`.
        after: $(G_i, G_i^{-1})$, both `d' x d'`, or `b x b` in front of an output projection.
        scale: $(\lambda 1, \lambda^{-1} 1)$: the scalar as the two matrices it acts by, on queries and on values.
    """

    query_key: Pair | None = None
    before: Pair | None = None
    after: Pair | None = None
    scale: Pair | None = None

    def act(self, layer: Layer) -> Layer:
        """The weights after the change, over any ring."""
        query, key, value = layer
        if self.query_key is not None:
            query, key = self.query_key[1].mT @ query, self.query_key[0] @ key
        if self.after is not None:
            value = self.after[0] @ value
        if self.scale is not None:
            query, value = self.scale[0] @ query, self.scale[1] @ value
        if self.before is not None:
            inverse = self.before[1]
            query, key, value = query @ inverse, key @ inverse, value @ inverse
        return Layer(query, key, value)


@cache
def verify_identity() -> str:
    r"""Prove that the action leaves every network alone, for matrices of every size.

    Over formal words: a changed layer fed with $G_{i-1} X$ gives $G_i$ times what the old layer gives for $X$. With
    $G_0 = G_l = 1$, or taken back by embedding and unembedding, chaining the layers gives $\phi_{g W} = \phi_W$ at
    every depth. A normalized or masked pattern is a letter named by the scores it is made of: equal scores, equal
    patterns, whatever the pattern is.

    Returns:
        The identity for the networks of the paper, spelled out.

    Raises:
        ProgramError: it does not hold.
    """

    def opaque(scores: Words) -> Words:
        return Words.letter(f"pattern({scores})")

    letter, x = Words.letter, Words.letter("X")
    for form in (LIGHTNING, Form(opaque), Form(skip=True), Form(opaque, skip=True)):
        before = letter("G")
        after = before if form.skip else letter("H")
        old, new = [], []
        for number in "12":
            c, b, scale = letter(f"C{number}"), letter(f"B{number}"), Words.scalar(f"lambda{number}")
            head = Layer(letter(f"Q{number}"), letter(f"K{number}"), letter(f"V{number}"))
            element = LayerSymmetry(
                query_key=(c, c.inverse),
                before=(before, before.inverse),
                after=(b, b.inverse),
                scale=(scale, scale.inverse) if form.pattern is not opaque else None,
            )
            changed, projection = element.act(head), letter(f"O{number}")
            old.append(head._replace(value=projection @ head.value))
            new.append(changed._replace(value=(after @ projection @ b.inverse) @ changed.value))
        found, expected = attention_layer(before @ x, new, form), after @ attention_layer(x, old, form)
        if found != expected:
            raise ProgramError(f"the symmetry is not one: {found} differs from {expected}")
    plain = Layer(letter("Q"), letter("K"), letter("V"))
    c, g, h, scale = letter("C"), letter("G"), letter("H"), Words.scalar("lambda")
    one = LayerSymmetry((c, c.inverse), (g, g.inverse), (h, h.inverse), (scale, scale.inverse))
    found, expected = attention_layer(g @ x, one.act(plain)), h @ attention_layer(x, plain)
    if found != expected:
        raise ProgramError(f"the symmetry is not one: {found} differs from {expected}")
    return f"layer[gW](G X) = {found} = H layer[W](X)"


def _moving(directions: Integers, p: int) -> Pair:
    r"""$(1 + \varepsilon E, 1 - \varepsilon E)$, a batch over the directions $E$."""
    one = PrimeFieldMatrix.of(np.eye(directions.shape[-1], dtype=np.int64), p)
    return Dual(one, PrimeFieldMatrix.of(directions, p)), Dual(one, PrimeFieldMatrix.of(-directions, p))


def _all_directions(n: int) -> Integers:
    return np.eye(n * n, dtype=np.int64).reshape(n * n, n, n)


def head_name(architecture: Architecture, layer: int, head: int) -> str:
    """What stands behind the letter in the names of a head's matrices, `layer` and `head` from 0."""
    return architecture.head_name(layer + 1, head + 1)


@dataclass(frozen=True)
class Tangents:
    """A batch of tangent vectors of the group at 1: what each head and each other matrix sees of them.

    Attributes:
        count: how many.
        heads: by layer and head, both from 0.
        left: by name, what a matrix is multiplied with from the left.
        right: by name, what a matrix is multiplied with from the right.
    """

    count: int
    heads: dict[tuple[int, int], LayerSymmetry]
    left: dict[str, Any] = field(default_factory=dict)
    right: dict[str, Any] = field(default_factory=dict)


ANY = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which `verify_identity` proves the action: any pattern that depends on the scores alone."""


def query_key(architecture: Architecture, p: int) -> Iterator[Tangents]:
    """Basis changes inside queries and keys, head by head (Lemma 3.1)."""
    architecture.require("the symmetry query-key", ANY)
    for i, a in enumerate(architecture.attention_ranks):
        for h in range(architecture.heads):
            yield Tangents(a * a, {(i, h): LayerSymmetry(query_key=_moving(_all_directions(a), p))})


def value_output(architecture: Architecture, p: int) -> Iterator[Tangents]:
    """Basis changes between values and output projections, head by head."""
    architecture.require("the symmetry value-output", ANY)
    for i, b in enumerate(architecture.value_ranks or ()):
        change = _moving(_all_directions(b), p)
        for h in range(architecture.heads):
            name = "O" + head_name(architecture, i, h)
            yield Tangents(b * b, {(i, h): LayerSymmetry(after=change)}, right={name: change[1]})


def stream(architecture: Architecture, p: int) -> Iterator[Tangents]:
    """Basis changes between layers (Eq. 9), where skip connections make them all one."""
    architecture.require("the symmetry stream", ANY)
    depth, heads = architecture.depth, range(architecture.heads)
    free_ends = (architecture.embed is not None, architecture.unembed is not None)
    if architecture.skip:
        places = [range(depth + 1)] if all(free_ends) else []
    else:
        first, last = (0 if free_ends[0] else 1), (depth if free_ends[1] else depth - 1)
        places = [range(i, i + 1) for i in range(first, last + 1)]
    for group in places:
        change = _moving(_all_directions(architecture.widths[group[0]]), p)
        by_head: dict[tuple[int, int], LayerSymmetry] = {}
        left: dict[str, Any] = {}
        right: dict[str, Any] = {}
        for i, h in ((i, h) for i in range(depth) for h in heads):
            before = change if i in group else None
            after = change if i + 1 in group else None
            if after is not None and architecture.value_ranks is not None:
                left["O" + head_name(architecture, i, h)], after = after[0], None
            if before is not None or after is not None:
                by_head[i, h] = LayerSymmetry(before=before, after=after)
        if 0 in group:
            left["E"] = change[0]
        if depth in group and free_ends[1]:
            right["U"] = change[1]
        yield Tangents(architecture.widths[group[0]] ** 2, by_head, left, right)


def scale(architecture: Architecture, p: int) -> Iterator[Tangents]:
    """Rescalings of scores against values, head by head (Eq. 13), of lightning networks."""
    architecture.require("the symmetry scale", ANY - {"normalization"})
    for i, a in enumerate(architecture.attention_ranks):
        rows = architecture.widths[i + 1] if architecture.value_ranks is None else architecture.value_ranks[i]
        grow, _ = _moving(np.eye(a, dtype=np.int64)[None], p)
        _, shrink = _moving(np.eye(rows, dtype=np.int64)[None], p)
        for h in range(architecture.heads):
            yield Tangents(1, {(i, h): LayerSymmetry(scale=(grow, shrink))})


def tangent_directions(
    architecture: Architecture, weights: Sequence[PrimeFieldMatrix], batches: Iterable[Tangents], p: int
) -> Iterator[PrimeFieldMatrix]:
    r"""Tangent directions, at the given weights, of the orbit through them.

    The derivative of the action at the identity, one row for each basis vector of the Lie algebra, computed by
    running the action itself over dual numbers: $C = 1 + \varepsilon E$, $C^{-1} = 1 - \varepsilon E$.

    Args:
        architecture: the shape.
        weights: in canonical order.
        batches: tangent vectors of the group.
        p: the prime.

    Yields:
        Blocks of shape `(directions, parameters)` modulo `p`.
    """
    architecture.require("the symmetry group", ANY)
    still: dict[str, Dual] = {}
    starts, stop = dict[str, int](), 0
    for (name, shape), matrix in zip(architecture.weight_shapes(), weights, strict=True):
        still[name], starts[name] = Dual(matrix), stop
        stop += shape[0] * shape[1]
    for batch in batches:
        changed: dict[str, Dual] = {}
        for (i, h), element in batch.heads.items():
            triple = [letter + head_name(architecture, i, h) for letter in "QKV"]
            changed |= dict(zip(triple, element.act(Layer(*(still[n] for n in triple))), strict=True))
        for name, matrix in batch.left.items():
            changed[name] = matrix @ changed.get(name, still[name])
        for name, matrix in batch.right.items():
            changed[name] = changed.get(name, still[name]) @ matrix
        rows = np.zeros((batch.count, stop))
        for name, dual in changed.items():
            if dual.tangent is not None:
                tangent = dual.tangent.entries
                size = tangent.shape[-2] * tangent.shape[-1]
                rows[:, starts[name] : starts[name] + size] = tangent.reshape(-1, size)
        yield PrimeFieldMatrix(rows, p)
