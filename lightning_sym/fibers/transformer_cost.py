r"""What it will cost to compare transformers, in seconds of one core and in bytes, from their shapes alone.

Outputs and coefficients are the network's own code over sizes (`network.prices`). Following streams, looking for
earlier layers and testing conditions branch on ranks: what is said of these is a bound. All is compared with `--work`.
"""

from __future__ import annotations

from functools import lru_cache

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import output_over_sizes
from lightning_sym.rings.sizes import Price

STREAM = 6e-9
"""Seconds for a product of two numbers of one word while streams are followed, comparisons included."""


@lru_cache(maxsize=256)
def outputs_cost(shape: Architecture, bits: int, *, combined: bool = True) -> float:
    """Return seconds for the outputs of a network in balls of this length.

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
    price = Price("balls")
    output_over_sizes(shape, price, bits, bits, machine_numbers=not combined)
    return price.seconds


@lru_cache(maxsize=256)
def exact_outputs_cost(shape: Architecture, bits: int) -> float:
    """Return seconds for the exact outputs of a lightning network whose weights have so many bits.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> exact_outputs_cost(Architecture((64, 64), (8,), 2, heads=8), 8) < 0.1
        True
    """
    price = Price("rationals")
    output_over_sizes(shape, price, bits, bits, bits).read()
    return price.seconds


def streams_cost(shape: Architecture, bits: int) -> float:
    """Bound the seconds for following the streams of this network and of one like it, entries of so many bits.

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


def tensors_cost(shape: Architecture, bits: int) -> float:
    """Bound the seconds for following the layer tensors of this lightning network and of one like it.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> tensors_cost(Architecture((8, 8), (8,), 2, heads=2), 8) < 1
        True
    """
    shape.require("the cost of layer tensors", SHAPED)
    products = 0
    for d, d_out in zip(shape.widths, shape.widths[1:], strict=False):
        products += d * d * (2 * d * d_out * (shape.heads + min(d_out, 64)) + 1000 * shape.heads)
    return products * (1 + bits / 64) * STREAM


def arrangement_cost(shape: Architecture, bits: int) -> float:
    """Return the cost of looking for the earliest layers of all heads.

    It takes some passes, and each head is compared with each other one.

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
    """Return bytes that heads take while streams are followed, with embeddings: scores, values, forms and images.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> streams_memory(Architecture((64, 64), (8,), 2, heads=8), 8, 8) < 2**24
        True
    """
    shape.require("the memory of streams", SHAPED)
    ends = (shape.embed or 0) * shape.widths[0] + (shape.unembed or 0) * shape.widths[-1]
    return (heads * 4 * max(shape.widths) ** 2 + 2 * ends) * (32 + bits // 4)


SAMPLE = 3e-8
"""Seconds for a machine number modulo one prime, and its products with vectors."""

RESIDUE_PRODUCT = 8e-11
"""Seconds for a product of two residues inside a matrix product; measured, on one core."""

_PIECES, _ROWS_AT_ONCE = 5, 2048

_PRIME_BITS = 21


def sampling_cost(shape: Architecture) -> float:
    """Return the cost of the residues of all weights modulo one prime.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> sampling_cost(Architecture((64, 64), (8,), 2, heads=8)) < 0.01
        True
    """
    shape.require("the cost of residues", SHAPED)
    return SAMPLE * shape.parameter_count


def graph_cost(shape: Architecture, bits: int) -> float:
    """Return the cost of comparing two such networks modulo primes, where a matrix takes stream to stream.

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
    """Return bytes that the same comparison takes, for this network.

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


def conditions_cost(shape: Architecture) -> float:
    """Return the cost of testing the conditions of a softmax network by residues.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> conditions_cost(Architecture((64, 64), (8,), 2, heads=8)) < 1
        True
    """
    shape.require("the cost of conditions", SHAPED)
    heads = shape.depth * shape.heads
    return WEIGHT_RESIDUE * shape.parameter_count + heads * (HEAD + PAIR * shape.heads)
