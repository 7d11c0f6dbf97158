r"""Lemma 3.6, Eq. 10 and 11: the recursion for a deep network in virtual weights.

With $S_i = X^\top \tilde A_i X$, $B_0 = I$ and $B_i = B_{i-1} B_{i-1}^\top S_i B_{i-1}$, the output of layer $i$ is
$X_i = P_i X B_i$ for every $i$, not only the last: $\varphi_W(X) = \tilde V X B_l$. On the way (A.5): the scores of
layer $i + 1$ are $X_i^\top A_{i+1} X_i = B_i^\top S_{i+1} B_i$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, Weights, forward, virtual_weights
from lightning_sym.network.attention import attention_layer
from lightning_sym.network.virtual_weights import closed_form, recursive_form, unrolled_factors
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from lightning_sym.rings.protocol import RingMatrix
from lightning_sym.rings.rationals import rational_matrix
from proofs_check.blackboard.step import Shown, ShownMatrix, Step, layer_of, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect
from proofs_check.claims.deep.equation_9 import A1, A2, V1, V2, shown_virtual
from proofs_check.claims.one_layer.definition_1 import layers_in, word_layers
from proofs_check.samples import every_network

M = TypeVar("M", bound=RingMatrix)
Recursion = Callable[[M, M], M]


def step(b: M, s: M) -> M:
    """Return B_i from B_(i-1) and S_i, by Eq. 10."""
    return b @ b.mT @ s @ b


def at_every_layer(
    x: M, layers: Sequence[Layer[M]], one: M, same: Callable[[M, M], bool], next_b: Recursion[M]
) -> None:
    """Run layer by layer and compare, over any ring; `one` is the `t x t` identity."""
    output, b, product_of_values = x, one, None
    attention = virtual_weights(layers).attention
    for i, layer in enumerate(layers, start=1):
        s = x.mT @ attention[i - 1] @ x
        expect(
            same((layer.key @ output).mT @ (layer.query @ output), b.mT @ s @ b),
            f"layer {i} of {len(layers)}: the scores differ from B^T S B",
        )
        output, b = attention_layer(output, layer), next_b(b, s)
        product_of_values = layer.value if product_of_values is None else layer.value @ product_of_values
        expect(same(output, product_of_values @ x @ b), f"layer {i} of {len(layers)}: the output differs from P X B")
        expect(
            same(output, recursive_form(x, virtual_weights(layers[:i]))),
            f"layer {i} of {len(layers)}: the output differs from the library's recursive form",
        )


def every_shape(depth: int, next_b: Recursion[Words] = step) -> None:
    same = Words.__eq__
    at_every_layer(Words.letter("X"), word_layers(depth), Words.identity(), same, next_b)


def symbolic_shapes(*, quick: bool) -> Iterator[Architecture]:
    yield from every_network((1,), (1, 2), (1, 2, 3), (1, 2, 3))

    def small(network: Architecture) -> bool:  # one token or few variables are cheap; the rest is for the full run
        variables = sum(network.widths) + sum(network.attention_ranks) + 2 * network.tokens
        return variables <= (10 if quick else 13)

    yield from every_network((2,), (1, 2), (1, 2), (1, 2), small)


def symbolic(shape: Architecture, next_b: Recursion[ObjectArray] = step) -> None:
    sizes = {**dict(shape.weight_shapes()), "x": (shape.widths[0], shape.tokens)}
    ring = PolynomialRing([n for name, size in sizes.items() for n in entry_names(name, *size)])
    layers, x = layers_in(ring, shape)
    at_every_layer(x, layers, ring.constants(np.eye(shape.tokens, dtype=int)), np.array_equal, next_b)


def rational_instances(*, quick: bool) -> Iterator[tuple[Architecture, int]]:
    shapes = [
        Architecture((2, 3, 2), (2, 2), 2),
        Architecture((3, 1, 2, 2), (1, 2, 3), 3),
        Architecture((1, 2, 1, 2), (2, 2, 2), 1),
        Architecture((2, 2, 3, 2, 1), (2, 1, 2, 2), 2),
        Architecture((2, 3, 1, 2, 3), (1, 3, 2, 2), 3),
    ]
    return product(shapes, range(1 if quick else 5))


def exact_weights(shape: Architecture, seed: int) -> tuple[list[Layer[ObjectArray]], ObjectArray]:
    """Return random layers, and an input."""
    weights = Weights.random(shape, seed=seed, bound=3, denominator=2)
    x = np.random.default_rng(seed).integers(-3, 4, size=(shape.widths[0], shape.tokens))
    return [Layer(*map(rational_matrix, layer)) for layer in weights.layers], rational_matrix(x)


def at_exact_weights(instance: tuple[Architecture, int], next_b: Recursion[ObjectArray] = step) -> None:
    layers, x = exact_weights(*instance)
    at_every_layer(x, layers, rational_matrix(np.eye(x.shape[1], dtype=int)), np.array_equal, next_b)


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "transpose left out": partial(check, next_b=lambda b, s: b @ b @ s @ b),
        "last factor transposed": partial(check, next_b=lambda b, s: b @ b.mT @ s @ b.mT),
    }


def walk() -> Iterator[Step]:
    x = Words.letter("X")
    layers = word_layers(2)
    raw = str(forward(x, layers))
    yield Step(
        "Two layers, multiplied out",
        r"Take letters for the matrices and let the network run. The second layer meets the output of the first three "
        r"times, so its weights sit between copies of the first layer's.",
        (Shown(r"\varphi", _words(raw)),),
    )
    formal = VirtualWeights((Words.letter("A1"), Words.letter("A2")), Words.letter("V"))
    closed, recursive = closed_form(x, formal), recursive_form(x, formal)
    must(closed == recursive, "the two forms agree for two layers")
    must(closed_form(x, virtual_weights(layers)) == forward(x, layers), "the closed form is the network")
    yield Step(
        "Group it",
        r"Every $V_1$ stands beside an $X$ or an $A_2$. Write $\tilde A_1 = A_1$, $\tilde A_2 = V_1^\top A_2 V_1$, "
        r"$\tilde V = V_2 V_1$ and $S_k = X^\top \tilde A_k X$, a $t \times t$ matrix of scores. The long word becomes "
        r"short.",
        (Shown(r"\varphi", r"\tilde V X\, " + _scores(2)),),
    )
    yield Step(
        "The recursion",
        r"In general $B_1 = S_1$ and $B_i = B_{i-1} B_{i-1}^\top S_i B_{i-1}$. Each step takes three copies of the "
        r"last and puts one new score between them. Unrolled:",
        tuple(Shown(f"B_{depth}", _scores(depth)) for depth in (1, 2, 3)),
    )
    factors = unrolled_factors(3)
    digits = [int(np.base_repr(n, 3)) for n in range(1, len(factors) + 1)]
    numbers = rational(
        [list(range(1, len(factors) + 1)), digits, [k for k, _ in factors], [int(t) for _, t in factors]]
    )
    yield Step(
        "Which factor stands where",
        rf"$B_3$ has $(3^3 - 1)/2 = {len(factors)}$ factors. Number them and write the numbers $n$ in base three. "
        r"$k$ is one more than the number of zeros at the end. The last digit that is not zero: $1$ means "
        r"$S_k$, $2$ means transposed.",
        (Shown("", ShownMatrix(tuple(map(tuple, numbers)), ("n", r"\text{base 3}", "k", r"\text{transposed}"))),),
    )
    weights = [layer_of(A1, V1), layer_of(A2, V2)]
    virtual = virtual_weights(weights)
    inputs = rational([[1, 0], [1, 1]])
    scores = [inputs.T @ a @ inputs for a in virtual.attention]
    b2 = scores[0] @ scores[0].T @ scores[1] @ scores[0]
    output = virtual.value @ inputs @ b2
    must((output == forward(inputs, weights)).all(), "the closed form gives the network's output")
    yield Step(
        "With numbers",
        r"A network and an input. First its virtual weights, then the scores.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2), *shown_virtual(virtual), show("X", inputs),
         show("S_1", scores[0]), show("S_2", scores[1])),
    )  # fmt: skip
    yield Step(
        "Both ways",
        r"Multiply $\tilde V X \cdot S_1 S_1^\top S_2 S_1$, then run the two layers one after the other. The same "
        r"numbers.",
        (show("B_2", b2), show(r"\tilde V X B_2", output), show(r"\varphi_W(X)", forward(inputs, weights))),
    )


def _scores(depth: int) -> str:
    return " ".join(rf"S_{k}^\top" if transposed else f"S_{k}" for k, transposed in unrolled_factors(depth))


def _words(text: str) -> str:
    r"""Return a formal word in LaTeX: `K1^T` becomes `K_1^\top`."""
    spelled = []
    for letter in text.split():
        name, _, mark = letter.partition("^")
        index = f"_{name[1:]}" if name[1:] else ""
        spelled.append(name[0] + index + (r"^\top" if mark else ""))
    return " ".join(spelled)


CLAIM = Claim(
    id="lemma-3.6",
    source="Lemma 3.6, Eq. 10, 11",
    title="X_i = P_i X B_i with B_i = B_(i-1) B_(i-1)^T S_i B_(i-1)",
    statement=(
        r"S_i = X^\top \tilde A_i X,\ B_0 = I,\ B_i = B_{i-1} B_{i-1}^\top S_i B_{i-1} \;\Rightarrow\;"
        r" X_i = P_i X B_i\ (1 \le i \le l),\quad \varphi_W(X) = \tilde V X B_l"
    ),
    hypotheses=(
        "Lightning attention, one head, no mask, every $t$ and all widths. It is shown for some numbers of layers, "
        "with matrices of every shape; induction over layers gives the rest."
    ),
    place=110,
    rests_on=("definition-1",),
    walk=WalkThrough(r"A deep network in one line: the recursion for $B_l$.", walk),
    parts=(
        Part(
            "at every layer, matrices of every shape, by depth",
            Scope.IDENTITY,
            lambda quick: range(1, 5 if quick else 7),
            every_shape,
            _mutants(every_shape),
        ),
        Part(
            "at every layer, symbolic weights and inputs, up to two layers",
            Scope.IDENTITY,
            symbolic_shapes,
            symbolic,
            _mutants(symbolic),
        ),
        Part(
            "at every layer, exact random weights, up to four layers",
            Scope.INSTANCES,
            rational_instances,
            at_exact_weights,
            _mutants(at_exact_weights),
        ),
    ),
)
