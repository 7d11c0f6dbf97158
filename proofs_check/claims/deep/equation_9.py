r"""Equation 9: basis changes between layers leave the virtual weights alone.

For $C_i \in GL_{d_i}$ with $C_0 = C_l = I$, replace $V_i$ by $C_i V_i C_{i-1}^{-1}$ and $A_i$ by
$C_{i-1}^{-\top} A_i C_{i-1}^{-1}$. Then $\tilde A_i$ and $\tilde V$ stay what they were, and so does $\varphi_W$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from typing import Protocol

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, Weights, forward, virtual_weights
from lightning_sym.exact.rational import unique_solution
from lightning_sym.network.pieces import pieces, stream
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.protocol import M
from lightning_sym.symmetries.group import act
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import Shown, Step, function_of, identity, layer_of, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect, expect_equal
from proofs_check.claims.one_layer.definition_1 import word_layers

Pair = tuple[M, M]
"""A matrix and its inverse."""


class BasisChange(Protocol):
    """A change of bases, over any ring."""

    def __call__(self, layer: Layer[M], before: Pair[M], after: Pair[M], /) -> Layer[M]: ...


def change_basis(layer: Layer[M], before: Pair[M], after: Pair[M]) -> Layer[M]:
    """Return the layer in other bases (Eq. 9).

    `A = K^T Q` changes as stated when `Q` and `K` are multiplied by the inverse of `before`.
    """
    return Layer(layer.query @ before[1], layer.key @ before[1], after[0] @ layer.value @ before[1])


def not_inverted(layer: Layer[M], before: Pair[M], after: Pair[M]) -> Layer[M]:
    """Return the mutant: A -> C^T A C."""
    return change_basis(layer, before, after)._replace(query=layer.query @ before[0], key=layer.key @ before[0])


def changed_network(layers: Sequence[Layer[M]], pairs: Sequence[Pair[M]], change: BasisChange) -> list[Layer[M]]:
    return [change(layer, pairs[i], pairs[i + 1]) for i, layer in enumerate(layers)]


def every_shape(depth: int, change: BasisChange = change_basis, *, last_free: bool = False) -> None:
    """Check Eq. 9 in formal words.

    The side that is compared has `A` itself as query weights and the identity as key weights.
    """
    one = Words.identity()
    letters = [Words.letter(f"C{i}") for i in range(1, depth + last_free)]
    pairs = [(one, one), *((c, c.inverse) for c in letters), (one, one)][: depth + 1]
    layers = word_layers(depth)
    old, new = virtual_weights(layers), virtual_weights(changed_network(layers, pairs, change))
    for i, (a, b) in enumerate(zip(new.attention, old.attention, strict=True), start=1):
        expect_equal(str(a), str(b), at=f"{depth} layers, A~_{i}")
    expect_equal(str(new.value), str(old.value), at=f"{depth} layers, V~")


def attention_matrix_alone(depth: int, change: BasisChange = change_basis) -> None:
    """Check the same in $A_i$, as printed: the product of the changed `K^T` and `Q` is $C^{-T} A C^{-1}$."""
    c, a = Words.letter("C"), Words.letter("A")
    layer = Layer(query=a, key=Words.identity(), value=Words.letter("V"))
    new = change(layer, (c, c.inverse), (Words.identity(), Words.identity()))
    expect_equal(str(new.key.mT @ new.query), str(c.inverse.mT @ a @ c.inverse), at=f"layer {depth}")


def rational_instances(*, quick: bool) -> Iterator[tuple[Architecture, int]]:
    shapes = [
        Architecture((2, 3, 2), (2, 2), 2),
        Architecture((3, 1, 2, 2), (1, 2, 3), 2),
        Architecture((2, 2, 2, 1), (2, 1, 2), 1),
        Architecture((1, 2, 3, 2, 1), (1, 2, 2, 1), 2),
    ]
    return product(shapes, range(1 if quick else 6))


def random_basis_changes(widths: Sequence[int], seed: int) -> list[Pair[ObjectArray]]:
    """Return invertible rational matrices for the inner widths, the identity at both ends."""
    generator = np.random.default_rng(seed)
    pairs: list[Pair[ObjectArray]] = []
    for i, d in enumerate(widths):
        one = np.eye(d, dtype=int).astype(object)
        c, inverse = one, one if i in (0, len(widths) - 1) else None
        while inverse is None:
            c = generator.integers(-3, 4, size=(d, d)).astype(object)
            inverse = unique_solution(c, one)
        pairs.append((c, inverse))
    return pairs


def at_exact_weights(instance: tuple[Architecture, int], change: BasisChange = change_basis) -> None:
    shape, seed = instance
    weights = Weights.random(shape, seed=seed, bound=4, denominator=2)
    new = changed_network(weights.layers, random_basis_changes(shape.widths, seed), change)
    before, after = virtual_weights(weights.layers), virtual_weights(new)
    x = np.random.default_rng(seed).integers(-3, 4, size=(shape.widths[0], shape.tokens)).astype(object)
    pairs = [
        *zip(before.attention, after.attention, strict=True),
        (before.value, after.value),
        (forward(x, weights.layers), forward(x, new)),
    ]
    expect(
        all((np.array_equal(a, b) for a, b in pairs)), f"{shape}, seed {seed}: the virtual weights or the output change"
    )


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "C^T A C in place of C^-T A C^-1": partial(check, change=not_inverted),
        "C V in place of C_i V C_(i-1)^-1": partial(
            check,
            change=lambda layer, before, after: change_basis(layer, before, after)._replace(
                value=after[0] @ layer.value
            ),
        ),
    }


A1, A2 = rational([[1, 1], [0, 1]]), rational([[1, 0], [1, 2]])
V1, V2 = rational([[1, 1], [0, 1]]), rational([[1, -1]])
C, C_INVERSE = rational([[2, 1], [1, 1]]), rational([[1, -1], [-1, 2]])


def shown_virtual(weights: VirtualWeights) -> list[Shown]:
    """Return all virtual weights, by name."""
    shown = [show(rf"\tilde A_{i}", m) for i, m in enumerate(weights.attention, start=1)]
    return [*shown, show(r"\tilde V", weights.value)]


def walk() -> Iterator[Step]:
    layers = [layer_of(A1, V1), layer_of(A2, V2)]
    yield Step(
        "Two layers",
        r"Two layers with widths $2, 2, 1$. The first writes what the second reads.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2)),
    )
    shape = Architecture((2, 2, 1), (2, 2), tokens=2)
    weights = dict(zip(["Q1", "K1", "V1", "Q2", "K2", "V2"], chain.from_iterable(layers), strict=True))
    changed = act(weights, {stream(shape, 1): (C, C_INVERSE)}, pieces(shape))
    moved = [Layer(*(changed[f"{letter}{i}"] for letter in "QKV")) for i in (1, 2)]
    must((identity(2) == C @ C_INVERSE).all(), "C has this inverse")
    yield Step(
        "Another language between them",
        r"Let the first layer write in another basis, $V_1' = C V_1$, and let the second read that basis: "
        r"$A_2' = C^{-\top} A_2 C^{-1}$, $V_2' = V_2 C^{-1}$. All three matrices are different now.",
        (show("C", C), show("V_1'", moved[0].value), show("A_2'", moved[1].key.T @ moved[1].query),
         show("V_2'", moved[1].value)),
    )  # fmt: skip
    before, after = virtual_weights(layers), virtual_weights(moved)
    must(
        all((a == b).all() for a, b in zip(before.attention, after.attention, strict=True))
        and (before.value == after.value).all(),
        "the virtual weights stay",
    )
    yield Step(
        "Virtual weights",
        r"Pull everything back to the input: $\tilde A_1 = A_1$, $\tilde A_2 = V_1^\top A_2 V_1$, $\tilde V = V_2 "
        r"V_1$. Every $C$ meets its inverse. Old and new weights give the same three matrices.",
        tuple(shown_virtual(after)),
    )
    x = rational([[1, 0], [1, 2]])
    must(np.array_equal(function_of(*layers), function_of(*moved)), "the functions are equal")
    yield Step(
        "The same function",
        r"So the networks have the same function. We compared them as polynomials of degree $9$, term by term. At one "
        r"input:",
        (show("X", x), show(r"\varphi_W(X)", forward(x, layers)), show(r"\varphi_{W'}(X)", forward(x, moved))),
    )


CLAIM = Claim(
    id="equation-9",
    source="Eq. 8, 9",
    title="basis changes between layers leave the virtual weights alone",
    statement=(
        r"V_i \mapsto C_i V_i C_{i-1}^{-1},\quad A_i \mapsto C_{i-1}^{-\top} A_i C_{i-1}^{-1},\quad C_0 = C_l = I"
        r" \;\Rightarrow\; \tilde A_i \mapsto \tilde A_i,\ \tilde V \mapsto \tilde V"
    ),
    hypotheses=(
        "All $C_i$ are invertible. The identity is expanded for some numbers of layers, with matrices of every "
        "shape; for more layers it is the same cancellation."
    ),
    place=90,
    rests_on=("lemma-3.1", "definition-1"),
    walk=WalkThrough("Between two layers any basis will do.", walk, on=own_weights.between_layers),
    parts=(
        Part(
            "virtual weights unchanged, matrices of every shape, by depth",
            Scope.IDENTITY,
            lambda quick: range(1, 6 if quick else 9),
            every_shape,
            _mutants(every_shape) | {"C_l not the identity": partial(every_shape, last_free=True)},
        ),
        Part(
            "Q C^-1 and K C^-1 have the attention matrix C^-T A C^-1, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: (1,),
            attention_matrix_alone,
            {"C^T A C": partial(attention_matrix_alone, change=not_inverted)},
        ),
        Part(
            "virtual weights and outputs unchanged, exact random weights",
            Scope.INSTANCES,
            rational_instances,
            at_exact_weights,
            _mutants(at_exact_weights),
        ),
    ),
)
