"""The reader's own matrices at the blackboard: the statement as it is for them, whatever it says there.

Claims name these walks. What they ask the program is loaded when it is asked: no check needs it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import lightning_sym
from lightning_sym import BadInput, Layer, Weights
from lightning_sym.display import Result
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import (
    Step,
    entry_labels,
    must,
    number,
    rational,
    show,
    table,
    tokens_of,
    unit_directions,
)

TOKENS = 2
LARGEST = 6
"""Rows and columns of a matrix that can be read from the last bench."""
MOST_TERMS = 60
"""Terms of a polynomial, likewise."""

_BOARD = "what stands on the board"


def _matrices(weights: Weights) -> Step:
    """Return what was brought along."""
    network = weights.architecture(TOKENS)
    shown = [show(_name(name), matrix) for name, matrix in weights.numbers().items()]
    return Step("Your matrices", f"The network: {network}.", tuple(shown))


def _name(name: str) -> str:
    """Return a name such as `Q1.2` in LaTeX."""
    return f"{name[0]}_{{{name[1:]}}}" if len(name) > 1 else name


def _one_layer(weights: Weights, claim: str) -> Layer[ObjectArray]:
    network = weights.architecture(TOKENS)
    if not network.is_plain or network.depth != 1:
        raise BadInput(f"{claim} must be given one layer of lightning attention with one head, got {network}")
    return Layer(*(weights[f"{letter}1"] for letter in "QKV"))


def _answer(heading: str, prose: str, result: Result) -> Step:
    """Return an answer of the program, line by line."""
    lines = tuple((label, str(words)) for label, words in result.lines())
    return Step(heading, prose, answer=lines)


def _random_basis(size: int) -> ObjectArray:
    """Return a matrix with determinant one and some numbers in it."""
    below = rational(np.eye(size, dtype=int) + np.eye(size, k=-1, dtype=int))
    result: ObjectArray = below @ rational(np.eye(size, dtype=int) + np.eye(size, k=1, dtype=int))
    return result


def the_layer(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Definition 1 for these weights."""
    layer = _one_layer(weights, "definition-1")
    attention = layer.key.T @ layer.query
    yield _matrices(weights)
    yield Step(
        "The attention matrix",
        r"Queries and keys are never seen apart: only their product $A = K^\top Q$ enters.",
        (show(r"A = K^\top Q", attention), number("rank of A", rank(attention))),
    )
    d = attention.shape[0]
    ring = PolynomialRing([f"x_{i}_{j}" for j in (1, 2) for i in range(1, d + 1)])
    x = tokens_of(ring, TOKENS)
    phi = lightning_sym.forward(x, [Layer(*map(ring.constants, layer))])
    first = phi[0, 0]
    if len(list(first.to_dict())) <= MOST_TERMS:
        yield Step(
            "The function",
            r"Two tokens go in, column by column: $x_{ij}$ is coordinate $i$ of token $j$. The first number that comes "
            r"out for token one:",
            (show("X", x, ring), show(r"\varphi_{11}", first, ring)),
        )
    point = rational([[(i + 2 * j) % 3 - 1 for j in range(TOKENS)] for i in range(d)])
    value, doubled = lightning_sym.forward(point, [layer]), lightning_sym.forward(2 * point, [layer])
    must((doubled == 8 * value).all(), "doubling X gives eight times the output")
    yield Step(
        "At one input",
        r"Every term has degree $3$: double $X$, and the output grows by $2^3 = 8$.",
        (show("X", point), show(r"\varphi_W(X)", value), show(r"\varphi_W(2X)", doubled)),
    )


def query_and_key(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Lemma 3.1 for these weights."""
    layer = _one_layer(weights, "lemma-3.1")
    key, query = layer.key, layer.query
    attention, (a, d) = key.T @ query, key.shape
    yield _matrices(weights)
    c = _random_basis(a)
    moved = lightning_sym.change_basis(weights, query_key={1: c})
    must((moved["K1"].T @ moved["Q1"] == attention).all(), "the product stays")
    yield Step(
        "Change the basis in between",
        r"Take an invertible $C$, $K' = C K$ and $Q' = C^{-\top} Q$. The product is the same.",
        (show("C", c), show("K'", moved["K1"]), show("Q'", moved["Q1"]), show(r"K'^\top Q' = K^\top Q", attention)),
    )
    rows = [(move.T @ query).ravel() for move in unit_directions(key.shape)]
    rows += [(key.T @ move).ravel() for move in unit_directions(query.shape)]
    found, most = rank(np.array(rows, dtype=object)), min(a, d) * (2 * d - min(a, d))
    words = "as many as generic ones" if found == most else f"fewer than the {most} of generic ones"
    yield Step(
        "Counting directions",
        rf"Move one entry of $K$ or $Q$ at a time, and write down how $A$ moves. Yours have {found} directions: "
        rf"{words}. Ranks: {rank(key)} for $K$, {rank(query)} for $Q$, {rank(attention)} for $A$.",
        (table("J", np.array(rows, dtype=object), entry_labels("k", a, d) + entry_labels("q", a, d)),)
        if max(len(rows), d * d) <= 2 * LARGEST
        else (number("rank of the Jacobian", found),),
    )


def _with_ranks(weights: Weights, claim: str, heading: str, prose: str) -> Iterator[Step]:
    """Yield the matrices, and the attention matrix with the ranks that decide."""
    layer = _one_layer(weights, claim)
    attention = layer.key.T @ layer.query
    yield _matrices(weights)
    ranks = number("rank of A", rank(attention)), number("rank of V", rank(layer.value))
    yield Step(heading, prose, (show("A", attention), *ranks))


def swap(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Theorem 3.2 and its corollaries: all weights with this function."""
    yield from _with_ranks(
        weights, "theorem-3.2", "Which case it is",
        r"The theorem asks for the ranks of $A = K^\top Q$ and $V$: if both are one, two vectors can be exchanged.",
    )  # fmt: skip
    found = lightning_sym.fiber(weights, TOKENS)
    yield _answer("All weights with this function", "What the program knows, and why.", found)
    for count, component in enumerate(found.components, start=1):
        if component.virtual is None or any(each.kind != "scale" for each in component.parameters):
            continue  # of the function zero, where matrices are free, the component says all
        other = component.point(**{each.name: 2 for each in component.parameters})
        must(
            lightning_sym.same_function(weights, other, TOKENS).answer.value == "same",
            "a point of the fiber has this function",
        )
        moved = Layer(*(other[f"{letter}1"] for letter in "QKV"))
        yield Step(
            f"A point of component {count}",
            r"Other matrices. We compared the two functions as polynomials, term by term: they are the same.",
            (show("A'", moved.key.T @ moved.query), show("V'", moved.value)),
        )


def count_dimensions(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Corollaries 3.3 and 3.8: the rank at this point, and the dimension."""
    network = weights.architecture(TOKENS)
    if network.options or network.degree > 9:
        raise BadInput(f"this claim must be given a plain lightning network of at most two layers, got {network}")
    yield _matrices(weights)
    phi = lightning_sym.polynomial_map(network)
    found = phi.jacobian_rank(weights)
    yield Step(
        "The Jacobian at your weights",
        rf"Move one weight at a time, and write down how every coefficient of the polynomials moves: "
        rf"{network.parameter_count} weights. A minor that is not zero and a kernel prove the rank over the rationals.",
        (number("rank of the Jacobian", found.rank), number("weights", network.parameter_count)),
        tuple(("", line) for line in str(found).splitlines()),
    )
    whole = lightning_sym.certified_dimension(network)
    # a smaller rank says nothing of the number of weights with this function
    words = (
        " Your weights reach it."
        if found.rank == whole.value
        else ""
        if whole.value is None
        else " At your weights it is smaller: they are a critical point of the parametrization."
    )
    yield _answer(
        "The dimension of the set of functions", f"At almost all weights the rank is the largest.{words}", whole
    )


def kind_of_point(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Theorem 3.4: whether the point is regular, singular or on the boundary."""
    yield from _with_ranks(
        weights, "theorem-3.4", "What decides",
        r"The ranks of $A$ and $V$, and whether the rows of $V$ meet the columns of $A$.",
    )  # fmt: skip
    yield _answer("The kind of the point", "With the numbers that prove it.", lightning_sym.classify(weights, TOKENS))


def between_layers(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Equation 9 and Theorem 3.7: bases between the layers, and virtual weights."""
    weights.require_numbers(_BOARD)
    network = weights.architecture(TOKENS)
    if not network.is_plain or network.depth < 2:
        raise BadInput(f"this claim must be given a plain lightning network of two layers or more, got {network}")
    yield _matrices(weights)
    size = network.widths[1]
    c = _random_basis(size)
    moved = lightning_sym.change_basis(weights, between={1: c})
    yield Step(
        "Another basis behind the first layer",
        r"The first layer writes in another basis, and the second reads that basis.",
        (show("C", c), *(show(_name(n) + "'", moved[n]) for n in ("V1", "Q2", "K2", "V2"))),
    )
    before, after = lightning_sym.virtual_weights(weights), lightning_sym.virtual_weights(moved)
    same = all((a == b).all() for a, b in zip(before.attention, after.attention, strict=True))
    must(same and (before.value == after.value).all(), "the virtual weights stay")
    shown = [show(rf"\tilde A_{i}", m) for i, m in enumerate(before.attention, start=1)]
    yield Step(
        "Virtual weights",
        r"Pulled back to the input every basis meets its inverse: old and new weights give the same matrices.",
        (*shown, show(r"\tilde V", before.value)),
    )
    x = rational([[(i + 2 * j) % 3 - 1 for j in range(TOKENS)] for i in range(network.widths[0])])
    outputs = [lightning_sym.forward(x, w) for w in (weights, moved)]
    must((outputs[0] == outputs[1]).all(), "the outputs are equal")
    yield Step("At one input", "The same output, exactly.", (show("X", x), show(r"\varphi_W(X)", outputs[0])))
    yield _answer(
        "All weights with this function", "What the program knows, and why.", lightning_sym.fiber(weights, TOKENS)
    )


def softmax_layers(weights: Weights) -> Iterator[Step]:
    """Yield the steps of Conjecture 3.10: softmax, one head a layer."""
    weights.require_numbers(_BOARD)
    network = weights.architecture(TOKENS)
    if not network.is_bare or network.normalization is None:
        raise BadInput(
            f"this claim must be given a softmax network with one head a layer and nothing added, got {network}"
        )
    yield _matrices(weights)
    layers = range(1, network.depth + 1)
    virtual = lightning_sym.virtual_weights([Layer(*(weights[f"{letter}{i}"] for letter in "QKV")) for i in layers])
    for i, attention in enumerate(virtual.attention, start=1):
        # Theorem 4 of docs/softmax-fibers.md: with a causal mask the first token stays, and no layer is blind
        is_skew, zero = bool((attention == -attention.T).all()), not attention.any()
        skew = is_skew and not network.causal
        passed = is_skew and not all(other.any() for other in virtual.attention)
        if not virtual.value.any():
            words = r"not seen: $\tilde V = 0$, the function is zero"
        elif network.causal:
            words = "skew: visible up to a power of two where a zero layer can pass it" if passed else "visible"
            words = "zero: the second token weighs both the same" if zero else words
        else:
            words = "zero: this layer is blind" if zero else "skew: blind, with two tokens" if skew else "visible"
        yield Step(
            f"Layer {i}",
            rf"Pulled back to the input, the attention matrix of layer {i} is {words}.",
            (show(rf"\tilde A_{i}", attention), show(r"\text{its symmetric part, twice}", attention + attention.T)),
        )
        if skew:
            break
    yield _answer(
        "All weights with this function", "What is determined, what is not.", lightning_sym.fiber(weights, TOKENS)
    )


def conditions(weights: Weights) -> Iterator[Step]:
    """Yield the steps for transformers: the conditions of the theorems, for these weights."""
    yield _matrices(weights)
    yield _answer(
        "The conditions", "Which hold for your weights, and why.", lightning_sym.transformer_conditions(weights, 3)
    )
    yield _answer("All weights with this function", "For three tokens.", lightning_sym.fiber(weights, 3))


def require_readable(weights: Weights) -> None:
    """Refuse letters, and matrices that cannot be read from the last bench.

    Raises:
        BadInput: there are letters, or a matrix has too many rows or columns.
    """
    weights.require_numbers(_BOARD)
    for name, matrix in weights.all_held.items():
        if max(matrix.shape) > LARGEST:
            shape = " x ".join(map(str, matrix.shape))
            raise BadInput(f"matrices on the board must have at most {LARGEST} rows and columns, {name} is {shape}")
