r"""What it will cost to compare transformers, in seconds of one core and in bytes, from their shapes alone.

The rates were measured and are rough: within a factor of a few. They are compared with `--work`.
"""

from __future__ import annotations

from math import comb, inf

from lightning_sym.network.ambient import DEEPEST, require_polynomial, weights_in_a_term
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED

BALL = 4e-8
"""Seconds for a product of two balls of one word inside a matrix product; measured, and rough."""

DIGITS, DIGIT = 6e-8, 7e-10
"""Seconds for a machine number that is cut into digits, and for its product with a ball of one word."""

STREAM = 6e-9
"""Seconds for a product of two numbers of one word while streams are followed, comparisons included."""


def outputs_cost(shape: Architecture, bits: int, *, combined: bool = True) -> float:
    """Of the outputs of a network in numbers of this length.

    Args:
        shape: the network.
        bits: of the numbers.
        combined: matrices are exact, and output projections and values make one; else they are machine numbers.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> outputs_cost(Architecture((64, 64), (8,), 2, heads=8), 128) < 0.1
        True
    """
    shape.require("the cost of outputs", SHAPED)
    projections = 0
    for i, b in enumerate((combined and shape.value_ranks) or ()):
        projections += shape.heads * shape.widths[i] * b * shape.widths[i + 1]
    scores = shape.depth * shape.heads * shape.tokens**2 * (shape.tokens + sum(shape.attention_ranks) // shape.depth)
    words = 1 + bits // 64
    products = shape.parameter_count * (shape.tokens + 4) + projections + scores
    if not combined:
        return float(shape.parameter_count * DIGITS + products * words**1.2 * DIGIT)
    return float(products * words**1.2 * BALL)


def streams_cost(shape: Architecture, bits: int) -> float:
    """Of following the streams of this network and of another one like it, matrix entries of so many bits.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> streams_cost(Architecture((64, 64), (8,), 2, heads=8), 8) < 1
        True
    """
    shape.require("the cost of streams", SHAPED)
    products = 0
    for i, a in enumerate(shape.attention_ranks):
        d, d_out = shape.widths[i : i + 2]
        inner = d * d_out if shape.value_ranks is None else d * shape.value_ranks[i] * d_out
        products += shape.heads * (a * d * d + inner + 4 * d * d * max(d, d_out) // 4 + 100 * d * (d + d_out))
    ends = shape.widths[0] ** 2 * (shape.embed or 0) + shape.widths[-1] ** 2 * (shape.unembed or 0)
    return (products + ends) * (1 + bits / 64) * STREAM


def arrangement_cost(shape: Architecture, bits: int) -> float:
    """Of looking for the earliest layers of all heads: some passes, and each head against each other one.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> arrangement_cost(Architecture((64, 64), (8,), 2, heads=8), 8) < 10
        True
    """
    shape.require("the cost of an arrangement", SHAPED)
    heads = shape.depth * shape.heads
    width = max(shape.widths)
    return 6 * streams_cost(shape, bits) + heads**2 * width**2 * (1 + bits / 64) * STREAM


def streams_memory(shape: Architecture, bits: int, heads: int) -> int:
    """Bytes that so many heads take while streams are followed, with the embeddings: scores, values, forms and images.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> streams_memory(Architecture((64, 64), (8,), 2, heads=8), 8, 8) < 2**24
        True
    """
    shape.require("the memory of streams", SHAPED)
    ends = (shape.embed or 0) * shape.widths[0] + (shape.unembed or 0) * shape.widths[-1]
    return (heads * 4 * max(shape.widths) ** 2 + 2 * ends) * (32 + bits // 4)


TERM = 2e-9
"""Seconds for a product of two terms of polynomials, for each word of a coefficient; measured, and rough."""


def coefficients_cost(shape: Architecture, bits: int) -> float:
    """Of the polynomial map of a network without normalization whose weights have so many bits.

    Each entry of the stream is a polynomial of degree `3^i` behind layer `i`, and of all monomials at most: products of
    two of them are scores, products of these and a third one are what is written.

    Raises:
        BadInput: an option that is no part of a polynomial map.

    Example:
        >>> coefficients_cost(Architecture((2, 2, 2), (1, 1), 2), 8) < 0.1
        True
    """
    require_polynomial(shape, "the cost of coefficients")
    if shape.depth > DEEPEST:
        return inf
    variables, t, products = shape.input_width * shape.tokens + shape.skip, shape.tokens, 0

    def terms(degree: int) -> int:
        return comb(variables + degree - 1, degree)

    for i, a in enumerate(shape.attention_ranks):
        d, d_out, degree = *shape.widths[i : i + 2], 3**i
        linear = t * d * (2 * a + d_out) * terms(degree)
        products += shape.heads * (linear + t**2 * terms(degree) * (a * terms(degree) + d_out * terms(2 * degree)))
    words = 1 + bits * weights_in_a_term(shape) // 64
    return TERM * min(products, 10**100) * words


SAMPLE = 3e-8
"""Seconds for a machine number modulo one prime, and its products with vectors."""

RESIDUE_PRODUCT = 8e-11
"""Seconds for a product of two residues inside a matrix product; measured, on one core."""

_PIECES, _ROWS_AT_ONCE = 5, 2048

_PRIME_BITS = 21


def sampling_cost(shape: Architecture) -> float:
    """Of the residues of all weights modulo one prime.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> sampling_cost(Architecture((64, 64), (8,), 2, heads=8)) < 0.01
        True
    """
    shape.require("the cost of residues", SHAPED)
    return SAMPLE * shape.parameter_count


def graph_cost(shape: Architecture, bits: int) -> float:
    """Of comparing this network with another one like it modulo primes, where a matrix takes stream to stream.

    Args:
        shape: the network.
        bits: of the longest of its weights, as integers times a power of two.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> graph_cost(Architecture((64, 64), (8,), 2, heads=8), 50) < 0.1
        True
    """
    shape.require("the cost of a matrix between streams", SHAPED)
    once, twice = (1 + (many * bits + 16) // _PRIME_BITS for many in (1, 2))
    inner = 2 * shape.heads * sum(a + b for a, b in zip(shape.attention_ranks, _values(shape), strict=True))
    ends = (shape.input_width + shape.output_width) / 2
    return RESIDUE_PRODUCT * max(shape.widths) ** 2 * (once * ends + twice * inner)


def graph_memory(shape: Architecture) -> int:
    """Bytes that the same comparison takes, for this network.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> graph_memory(Architecture((64, 64), (8,), 2, heads=8)) < 2**25
        True
    """
    shape.require("the memory of a matrix between streams", SHAPED)
    width = max(shape.widths)
    inner = max(2 * (a + b) for a, b in zip(shape.attention_ranks, _values(shape), strict=True))
    return 8 * _PIECES * width * (shape.heads * inner + 2 * _ROWS_AT_ONCE) + 160 * width**2


def _values(shape: Architecture) -> tuple[int, ...]:
    return shape.value_ranks or shape.widths[1:]


WEIGHT_RESIDUE = 4.5e-7
"""Seconds for an entry of the weights that becomes a residue and is multiplied with points."""

HEAD, PAIR = 5e-4, 2e-6
"""Seconds for the residues of a head at all points, and for those of a pair of heads."""

FORMAL = 5e-5
"""Seconds for a head of a formal network at three tokens."""


def conditions_cost(shape: Architecture) -> float:
    """Of testing the conditions of a softmax network by residues, besides those for three tokens.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> conditions_cost(Architecture((64, 64), (8,), 2, heads=8)) < 1
        True
    """
    shape.require("the cost of conditions", SHAPED)
    heads = shape.depth * shape.heads
    return WEIGHT_RESIDUE * shape.parameter_count + heads * (HEAD + PAIR * shape.heads)


def three_tokens_cost(shape: Architecture) -> float:
    """Of testing the conditions for three tokens: for each score a formal network up to each layer.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> three_tokens_cost(Architecture((64, 64), (8,), 3, heads=8)) < 1
        True
    """
    shape.require("the cost of conditions for three tokens", SHAPED)
    return FORMAL * shape.depth**2 / 2 * shape.heads * (6 * shape.heads + 8)
