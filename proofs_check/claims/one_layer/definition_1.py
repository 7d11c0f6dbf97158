r"""Definition 1, Eq. 1-3: one layer of lightning self-attention.

The sum $\sum_j (x_j^\top A x_i)\, V x_j$ over tokens, the matrix form $V X X^\top K^\top Q X$ and the closed form in
virtual weights are one and the same map. It is homogeneous of degree three in $X$ (and $3^l$ for $l$ layers) and
linear in each of $Q$, $K$ and $V$.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, Layer, PolynomialMap, forward, polynomial_map, virtual_weights
from lightning_sym.network.one_layer import one_layer_map
from lightning_sym.network.virtual_weights import closed_form
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import BOARD, INPUT, Step, must, rational, show
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect, expect_equal
from proofs_check.samples import every_network


def sum_form(
    x: ObjectArray, layer: Layer[ObjectArray], zero: Polynomial, attend: tuple[int, int] = (0, 1)
) -> ObjectArray:
    """Return the output by Eq. 1 as it stands: entry by entry, token by token.

    `attend` is the order of the two tokens in the score.
    """
    attention = layer.key.T @ layer.query
    (d, t), d_out = x.shape, layer.value.shape[0]
    result = np.empty((d_out, t), dtype=object)
    for row in range(d_out):
        for i in range(t):
            total = zero
            for j in range(t):
                pair = (x[:, j], x[:, i])
                left, right = pair[attend[0]], pair[attend[1]]
                score = sum((left[k] * attention[k, m] * right[m] for k in range(d) for m in range(d)), zero)
                total = total + score * sum((layer.value[row, k] * x[k, j] for k in range(d)), zero)
            result[row, i] = total
    return result


class SymbolicLayer(NamedTuple):
    """One layer in variables: its map, the ring of the weights, and the matrices `A` and `V` there."""

    phi: PolynomialMap
    ring: PolynomialRing
    attention: ObjectArray
    value: ObjectArray


def symbolic_layer(d: int, d_out: int, tokens: int = 2) -> SymbolicLayer:
    """Return the layer with these widths."""
    phi = one_layer_map(d, d_out, tokens)
    ring = PolynomialRing(phi.weight_names)
    return SymbolicLayer(phi, ring, ring.matrix("A", d, d), ring.matrix("V", d_out, d))


def layers_in(ring: PolynomialRing, shape: Architecture) -> tuple[list[Layer[ObjectArray]], ObjectArray]:
    """Return the layers of a network and its input, in the variables of a ring that has them all."""
    matrices = [ring.matrix(name, *size) for name, size in shape.weight_shapes()]
    layers = [Layer(*matrices[i : i + 3]) for i in range(0, len(matrices), 3)]
    return layers, ring.matrix("x", shape.widths[0], shape.tokens)


def shapes(*, quick: bool) -> Iterator[Architecture]:
    """Return all small shapes, those with `a > d`, `d = 1` and `t = 1` included."""
    top = 2 if quick else 3
    return every_network((1,), range(1, top + 1), range(1, top + 2), range(1, 4))


def three_roads(shape: Architecture, attend: tuple[int, int] = (0, 1)) -> None:
    phi = polynomial_map(shape)
    (layer,), x = layers_in(phi.ring, shape)
    expect(
        np.array_equal(sum_form(x, layer, phi.ring.constant(0), attend), phi.entries),
        f"{shape}: Eq. 1 and Eq. 2 differ",
    )
    expect(
        np.array_equal(closed_form(x, virtual_weights([layer])), phi.entries),
        f"{shape}: Eq. 2 and the closed form differ",
    )
    expect(phi.is_homogeneous(3), f"{shape}: not homogeneous of degree 3")


def word_layers(depth: int) -> list[Layer[Words]]:
    """Return layers of formal matrices: what is shown for them holds for matrices of every shape."""
    return [Layer(*(Words.letter(f"{letter}{i}") for letter in "QKV")) for i in range(1, depth + 1)]


def homogeneous(depth: int, degree: int = 3) -> None:
    layers, x = word_layers(depth), Words.letter("X")
    scaled = forward(Words.scalar("c") @ x, layers)
    expected = Words.scalar("c", degree**depth) @ forward(x, layers)
    expect_equal(str(scaled), str(expected), at=f"{depth} layers, input c X")


def linear_in(slot: str, *, also_in_input: bool = False) -> None:
    """Check phi(s M + M') = s phi(M) + phi(M') for the matrix M in the slot, the others fixed."""
    (layer,), x = word_layers(1), Words.letter("X")
    s, other = Words.scalar("s"), Words.letter("M")

    def phi(matrix: Words) -> Words:
        return forward(x, [layer._replace(**{slot: matrix})])

    def phi_of_input(matrix: Words) -> Words:
        return forward(matrix, [layer])

    function, old = (phi_of_input, x) if also_in_input else (phi, getattr(layer, slot))
    together = function(s @ old + other)
    apart = s @ function(old) + function(other)
    expect_equal(str(together), str(apart), at="the input" if also_in_input else slot)


def walk() -> Iterator[Step]:
    layer = Layer(query=rational([[1, 0], [1, 1]]), key=rational([[1, 1], [0, 1]]), value=rational([[1, 2]]))
    attention = layer.key.T @ layer.query
    yield Step(
        "The weights",
        r"One layer reads tokens of width $d = 2$ and writes numbers ($d' = 1$). Its weights are three matrices. "
        r"Queries and keys are never seen apart: only their product $A = K^\top Q$, the attention matrix, enters.",
        (
            show("Q", layer.query), show("K", layer.key), show("V", layer.value), show(r"A = K^\top Q", attention),
        ),
    )  # fmt: skip
    constants = Layer(*map(BOARD.constants, layer))
    scores = (constants.key @ INPUT).T @ (constants.query @ INPUT)
    yield Step(
        "The input and the scores",
        r"The input has $t = 2$ tokens, one a column. They are letters for now: $x_1 = (x, y)$ and $x_2 = (r, s)$. "
        r"The score $x_j^\top A x_i$ says how much token $i$ looks at token $j$; it stands in row $j$, column $i$.",
        (show("X", INPUT), show(r"X^\top A X", scores)),
    )
    phi = forward(INPUT, [constants])
    yield Step(
        "The function",
        r"Every token sends its value $V x_j$, weighed by the score. In matrices this is $\varphi_W(X) = V X\, X^\top "
        r"A X$. There is no softmax, so the output is a polynomial: two tokens come out.",
        (show("V X", constants.value @ INPUT), show(r"\varphi_1", phi[0, 0]), show(r"\varphi_2", phi[0, 1])),
    )
    must(np.array_equal(sum_form(INPUT, constants, BOARD.constant(0)), phi), "the sum and the matrix form agree")
    pieces = [scores[j, 0] * (constants.value @ INPUT)[0, j] for j in range(2)]
    must(pieces[0] + pieces[1] == phi[0, 0], "the two contributions add up")
    yield Step(
        "The same, token by token",
        r"The definition is a sum, $\sum_j (x_j^\top A x_i)\, V x_j$. For $i = 1$ it has two terms, one a token. Their "
        r"sum is $\varphi_1$ above: Eq. 1 and Eq. 2 are one map.",
        (show(r"(x_1^\top A x_1)\, V x_1", pieces[0]), show(r"(x_2^\top A x_1)\, V x_2", pieces[1])),
    )
    x = rational([[1, 2], [0, 1]])
    value, doubled = forward(x, [layer]), forward(2 * x, [layer])
    must((doubled == 8 * value).all(), "doubling X gives eight times the output")
    yield Step(
        "Three factors of X, one of each weight",
        r"Every term has degree $3$ in the input. Double $X$, and the output grows by $2^3 = 8$.",
        (show("X", x), show(r"\varphi_W(X)", value), show(r"\varphi_W(2X)", doubled)),
    )
    scaled = forward(x, [Layer(2 * layer.query, 3 * layer.key, 5 * layer.value)])
    must((scaled == 30 * value).all(), "the map is linear in each weight")
    yield Step(
        "Trilinear in (Q, K, V)",
        r"Each weight enters exactly once. Take $2Q$, $3K$ and $5V$: the output is $2 \cdot 3 \cdot 5 = 30$ times as "
        r"large.",
        (show(r"\varphi_{(2Q, 3K, 5V)}(X)", scaled),),
    )
    first = Layer(layer.query, layer.key, rational([[1, 1], [0, 1]]))
    once, twice = forward(x, [first, layer]), forward(2 * x, [first, layer])
    must((twice == 512 * once).all(), "two layers have degree nine")
    yield Step(
        "Two layers",
        r"Put a second layer behind the first, and degrees multiply: $3^2 = 9$. Doubling $X$ now gives $2^9 = 512$ "
        r"times.",
        (show(r"\varphi_W(X)", once), show(r"\varphi_W(2X)", twice)),
    )


CLAIM = Claim(
    id="definition-1",
    source="Definitions 1 and 2, Eq. 1-4",
    title="Eq. 1 = Eq. 2 = closed form; homogeneous; trilinear in Q, K, V",
    statement=(
        r"\sum_j (x_j^\top A x_i)\, V x_j = \left(V X X^\top K^\top Q X\right)_i, \quad A = K^\top Q;"
        r"\quad \varphi_W(cX) = c^{3^l} \varphi_W(X); \quad \text{trilinear in } (Q, K, V)"
    ),
    hypotheses=(
        "Lightning attention, one head, no mask, any $t$. The three forms and linearity in $Q$, $K$, $V$ are of "
        "one layer, the degree $3^l$ is of $l$ layers."
    ),
    place=10,
    rests_on=(),
    walk=WalkThrough("What one layer of lightning self-attention computes.", walk, on=own_weights.the_layer),
    parts=(
        Part(
            "three roads to one layer, symbolic weights and inputs",
            Scope.IDENTITY,
            shapes,
            three_roads,
            {"tokens of the score exchanged": partial(three_roads, attend=(1, 0))},
        ),
        Part(
            "homogeneous of degree 3^l, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: range(1, 4 if quick else 6),
            homogeneous,
            {"degree 2^l": partial(homogeneous, degree=2)},
        ),
        Part(
            "linear in each of Q, K, V, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: ("query", "key", "value"),
            linear_in,
            {"linear in the input as well": partial(linear_in, also_in_input=True)},
        ),
    ),
)
