"""Many layers: any basis between two of them, and the whole network in one line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, forward, virtual_weights
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.network.pieces import act, pieces, stream
from lightning_sym.network.virtual_weights import closed_form, recursive_form, unrolled_factors
from lightning_sym.rings.matrix_words import Words
from proofs_check.blackboard.step import (
    Matrix,
    Shown,
    Step,
    entry_labels,
    function_of,
    identity,
    layer_of,
    must,
    rational,
    show,
    table,
    unit_directions,
)
from proofs_check.claims.one_layer.definition_1 import word_layers

A1, A2 = rational([[1, 1], [0, 1]]), rational([[1, 0], [1, 2]])
V1, V2 = rational([[1, 1], [0, 1]]), rational([[1, -1]])
C, C_INVERSE = rational([[2, 1], [1, 1]]), rational([[1, -1], [-1, 2]])


def shown_virtual(weights: VirtualWeights) -> list[Shown]:
    """All virtual weights, by name."""
    shown = [show(rf"\tilde A_{i}", m) for i, m in enumerate(weights.attention, start=1)]
    return [*shown, show(r"\tilde V", weights.value)]


def change_between_layers() -> Iterator[Step]:
    """Equation 9."""
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


def generic_fiber() -> Iterator[Step]:
    """Lemma 3.5."""
    yield from change_between_layers()
    new = C @ V1
    inverse = rational([[1, -1], [0, 1]])
    must((V1 @ inverse == identity(2)).all() and (new @ inverse == C).all(), "C can be read off")
    yield Step(
        "Read C off",
        r"Conversely, let two networks have the same virtual weights, and let $V_1$ and $V_1'$ be invertible. Then $C$ "
        r"can only be $V_1' V_1^{-1}$, and with it $A_2'$ and $V_2'$ are known. There is no other freedom.",
        (show("V_1'", new), show("V_1^{-1}", inverse), show("V_1' V_1^{-1}", new @ inverse)),
    )
    rows = [(m.T @ A2 @ V1 + V1.T @ A2 @ m, V2 @ m) for m in unit_directions((2, 2))]
    rows += [(V1.T @ m @ V1, 0 * V2) for m in unit_directions((2, 2))]
    rows += [(0 * A2, m @ V1) for m in unit_directions((1, 2))]
    matrix = np.array([[*a.ravel(), *v.ravel()] for a, v in rows], dtype=object)
    lost = len(null_space(matrix.T))
    must(lost == 4 and rank(matrix) == 6, "four directions are lost")
    yield Step(
        "Count",
        rf"The first layer's $A_1$ is seen as it is. The other ten weights, $v_{{ij}}$ in $V_1$, $a_{{ij}}$ in $A_2$ "
        rf"and $w_j$ in $V_2$, give the six numbers in $\tilde A_2$ and $\tilde V$. The Jacobian of this map has rank "
        rf"{rank(matrix)}, so ${len(rows)} - {rank(matrix)} = {lost}$ directions are lost: exactly the $2^2 = 4$ "
        rf"entries of $C$.",
        (table("J", matrix,
               [*entry_labels("v", 2, 2), *entry_labels("a", 2, 2), "w_1", "w_2"],
               [*entry_labels(r"(\tilde A_2)", 2, 2), r"\tilde v_1", r"\tilde v_2"]),),
    )  # fmt: skip


def closed_formula() -> Iterator[Step]:
    """Lemma 3.6 and Equation 12."""
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
        (Shown("", Matrix(tuple(map(tuple, numbers)), ("n", r"\text{base 3}", "k", r"\text{transposed}"))),),
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
    """A formal word in LaTeX: `K1^T` becomes `K_1^\\top`."""
    spelled = []
    for letter in text.split():
        name, _, mark = letter.partition("^")
        index = f"_{name[1:]}" if name[1:] else ""
        spelled.append(name[0] + index + (r"^\top" if mark else ""))
    return " ".join(spelled)
