r"""What exact work on the weights of a plain network will cost, in seconds of one core, from sizes and lengths alone.

Products and evaluations are the network's own code over sizes (`network.prices`); here is how long its numbers are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import lcm
from typing import Any

import numpy.typing as npt

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.prices import output_over_sizes, price_of_virtual_weights, weights_over_sizes
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import dyadic_sizes, is_plain
from lightning_sym.rings.sizes import Price, Sizes

Held = npt.NDArray[Any]
Bits = dict[str, int]
"""Bits of the entries of a matrix, by its name, once the denominators of a row are cleared."""

Lengths = tuple[tuple[str, int], ...]
"""The same, for what is kept: a network is asked about many times, and others of its shape."""


def _kept(bits: Bits) -> Lengths:
    """Return lengths in whole bytes: numbers of about the same length have one price."""
    return tuple((name, length + -length % 8) for name, length in bits.items())


def _common_bits(denominators: Iterable[int]) -> int:
    """Return the bits of the common denominator, 0 if it is 1; where it is very long, an upper bound."""
    own, common, more = 0, 1, 0
    for denominator in denominators:
        own = max(own, denominator.bit_length())
        if common % denominator == 0:
            continue
        if common.bit_length() <= 16 * own + 4096:
            common = lcm(common, denominator)
        else:  # a longer one takes longer to find than to estimate
            more += denominator.bit_length()
    return common.bit_length() + more - 1


def _sizes(matrix: Held) -> tuple[list[int], int]:
    """Return bits of each row, its denominators cleared, and of the denominator over that of the whole matrix, times
    two, with the longest numerator; 0 if all are integers.
    """
    if is_plain(matrix):
        numerators, denominators = dyadic_sizes(matrix)
        both = int(numerators.max()) + 2 * int(denominators.max()) if denominators.any() else 0
        return (numerators + denominators).tolist(), both
    rows, longest = [], 0
    every: set[int] = set()
    for row in matrix.tolist():
        top, lows = max(abs(x.numerator) for x in row).bit_length(), {x.denominator for x in row}
        rows.append(top + _common_bits(lows))
        longest, every = max(longest, top), every | lows
    return rows, longest + 2 * _common_bits(every) if every != {1} else 0


def number_bits(weights: Weights) -> tuple[Bits, Bits]:
    """Return how long the numbers of each matrix are, as `entry_bits`; and bits of a numerator and the denominator over
    that of a whole matrix, none if all are integers.

    Products mix the rows of a matrix, and the next layer cubes what comes of it.

    Example:
        >>> number_bits(Weights.of({"Q1": [[0.5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        ({'Q1': 4, 'K1': 1, 'V1': 1}, {'Q1': 5, 'K1': 1, 'V1': 1})
        >>> number_bits(Weights.of({"Q1": [[5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        ({'Q1': 3, 'K1': 1, 'V1': 1}, {})
    """
    weights.require_numbers("how long numbers are")
    bits, fractions, are_fractions = Bits(), Bits(), False
    for name, matrix in weights.all_held.items():
        rows, both = _sizes(matrix)
        bits[name] = max(rows)
        fractions[name], are_fractions = both or bits[name], are_fractions or both > 0
    return bits, fractions if are_fractions else {}


def entry_bits(weights: Weights) -> Bits:
    """Return bits of the longest entry of each matrix, the denominators of a row cleared.

    Example:
        >>> entry_bits(Weights.of({"Q1": [[0.5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        {'Q1': 4, 'K1': 1, 'V1': 1}
    """
    return number_bits(weights)[0]


def product_cost(m: int, k: int, n: int, bits: int, more_bits: int) -> float:
    """Return seconds for a product of an `m x k` by a `k x n` matrix.

    Example:
        >>> product_cost(10, 10, 10, 8, 8) < 0.001
        True
    """
    price = Price("rationals")
    Sizes((m, k), price, bits=bits) @ Sizes((k, n), price, bits=more_bits)
    return price.seconds


def entries_cost(m: int, n: int, bits: int) -> float:
    """Return seconds for a matrix of numbers of their own that are compared.

    Example:
        >>> entries_cost(10, 10, 64) < 0.001
        True
    """
    price = Price("rationals")
    Sizes((m, n), price, bits=bits).read()
    return price.seconds


def virtual_weights_cost(weights: Weights, bits: Bits, fractions: Bits) -> float:
    """Return seconds for the virtual weights, their ranks, and a comparison; lengths as `number_bits` gives them.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> virtual_weights_cost(w, *number_bits(w)) < 0.001
        True
    """
    return _of_virtual_weights(weights.architecture(1), _kept(bits), _kept(fractions))


def virtual_residues_cost(weights: Weights) -> float:
    """Return seconds for the same modulo a prime.

    Example:
        >>> virtual_residues_cost(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})) < 0.001
        True
    """
    weights.require_numbers("how long numbers are")
    return _of_virtual_weights(weights.architecture(1), (), (), "residues")


@lru_cache(maxsize=256)
def _of_virtual_weights(shape: Architecture, bits: Lengths, fractions: Lengths, ring: str = "rationals") -> float:
    return price_of_virtual_weights(shape, dict(bits), dict(fractions), ring=ring).seconds


def solving_cost(weights: Weights, bits: Bits) -> float:
    """Return seconds for the linear systems, layer by layer, for a group element that leads to weights this long.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> solving_cost(w, entry_bits(w)) < 0.001
        True
    """
    return _of_solving(weights.architecture(1), _kept(bits))


@lru_cache(maxsize=256)
def _of_solving(shape: Architecture, bits: Lengths) -> float:
    price = Price("rationals")
    for matrix in weights_over_sizes(shape, price, dict(bits)):
        matrix.mT.solved(matrix.shape[0])
        for _ in range(4):  # the matrix, the system that is made of it, its solution, and what solves for the next one
            matrix.read()
    return price.seconds


def evaluation_cost(weights: Weights, bits: Bits, fractions: Bits, tokens: int, bound: int) -> float:
    """Return seconds for one exact evaluation at integers up to `bound`; lengths as `number_bits` gives them.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> evaluation_cost(w, *number_bits(w), 2, 3) < 0.001
        True
    """
    shape, lengths = weights.architecture(tokens), (_kept(bits), _kept(fractions))
    return _of_evaluation(shape, *lengths, bound.bit_length())


@lru_cache(maxsize=256)
def _of_evaluation(shape: Architecture, bits: Lengths, fractions: Lengths, input_bits: int) -> float:
    price = Price("rationals")
    output_over_sizes(shape, price, dict(bits), input_bits, dict(fractions)).read()
    return price.seconds
