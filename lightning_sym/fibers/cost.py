r"""What exact work on the weights of a plain network will cost, in seconds of one core, from sizes and lengths alone.

A product of an `m x k` and a `k x n` matrix takes `m k n` products of numbers, and each result is then made a number
of its own. The rates were measured with flint and are rough: within a factor of a few.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import Any

import numpy.typing as npt

from lightning_sym.network.weights import Weights
from lightning_sym.rings.dyadic import dyadic_sizes, is_plain

PRODUCT = 1.5e-9
"""Seconds for a product of two words of 64 bits inside a matrix product."""

ENTRY = 1e-6
"""Seconds for an entry that becomes a number of its own and is compared."""

ENTRY_WORD = 1e-7
"""Seconds more for each of its words."""

LOWEST_TERMS = 8e-9
"""Seconds for an entry of a product that is brought to lowest terms, by the power 1.5 of the words of its numerator and
denominator together: all that counts where numbers are long."""

USES = 3.5
"""How often an entry of the virtual weights is brought to lowest terms: made twice, and its ranks and comparisons."""

Held = npt.NDArray[Any]
Bits = dict[str, int]
"""Bits of the entries of a matrix, by its name, once the denominators of a row are cleared."""


def _common_bits(denominators: Iterable[int]) -> int:
    """Of the common denominator, 0 if it is 1; where it is very long, an upper bound."""
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
    """Bits of each row, its denominators cleared, and of the denominator over that of the whole matrix, times two,
    with the longest numerator; 0 if all are integers."""
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


def fraction_bits(weights: Weights) -> Bits:
    """Bits of a numerator and the denominator over that of a whole matrix, by its name; none if all are integers.

    Products mix the rows of a matrix, and the next layer cubes what comes of it.

    Example:
        >>> fraction_bits(Weights.of({"Q1": [[0.5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        {'Q1': 5, 'K1': 1, 'V1': 1}
        >>> fraction_bits(Weights.of({"Q1": [[5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        {}
    """
    weights.require_numbers("how long numbers are")
    sizes = {name: _sizes(matrix) for name, matrix in weights.all_held.items()}
    if not any(both for _, both in sizes.values()):
        return {}
    return {name: both or max(rows) for name, (rows, both) in sizes.items()}


def entry_bits(weights: Weights) -> Bits:
    """How long the numbers of each matrix are.

    Example:
        >>> entry_bits(Weights.of({"Q1": [[0.5, 7]], "K1": [[1, 0]], "V1": [[1, 0]]}))
        {'Q1': 4, 'K1': 1, 'V1': 1}
    """
    weights.require_numbers("how long numbers are")
    return {name: max(_sizes(matrix)[0]) for name, matrix in weights.all_held.items()}


def product_cost(m: int, k: int, n: int, bits: int, more_bits: int) -> float:
    """Of an `m x k` by a `k x n` matrix."""
    words = (1 + bits // 64) * (1 + more_bits // 64)
    return float(m * k * n * words**0.8 * PRODUCT)


def entries_cost(m: int, n: int, bits: int) -> float:
    """Of a matrix made of numbers of their own."""
    return m * n * (ENTRY + ENTRY_WORD * (bits / 64))


def _lowest_terms_cost(entries: int, bits: int) -> float:
    """Of entries of a product with so many bits above and below the line, and of all that is done with them later."""
    return float(USES * entries * LOWEST_TERMS * (bits / 64) ** 1.5)


def virtual_weights_cost(weights: Weights, bits: Bits, fractions: Bits) -> float:
    """Of the virtual weights, of their ranks, and of a comparison with others; `fractions` as `fraction_bits` gives.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> virtual_weights_cost(w, entry_bits(w), fraction_bits(w)) < 0.001
        True
    """
    total, product_bits, product_fraction = 0.0, 0, 0
    shape = weights.architecture(1)
    d_0 = shape.widths[0]
    for i, a in enumerate(shape.attention_ranks, start=1):
        d, d_out = shape.widths[i - 1 : i + 1]
        q, k, v = (bits[f"{c}{i}"] for c in "QKV")
        for rows, own in ((a, q), (a, k), (d_out, v)):
            total += product_cost(rows, d, d_0, own, product_bits) if i > 1 else 0.0
            total += entries_cost(rows, d, own)
        grown = q + k + 2 * product_bits + (a * d * d).bit_length()
        total += product_cost(d_0, a, d_0, q + product_bits, k + product_bits)
        # the rank, by an elimination modulo primes or exact
        total += product_cost(d_0, d_0, d_0, grown, grown) + entries_cost(d_0, d_0, grown)
        product_bits += v + d.bit_length()
        if fractions:
            q, k, v = (fractions[f"{c}{i}"] for c in "QKV")
            for rows, own in ((a, q), (a, k), (d_out, v)):
                total += _lowest_terms_cost(rows * d_0, own + product_fraction) if i > 1 else 0.0
            total += _lowest_terms_cost(d_0 * d_0, q + k + 2 * product_fraction)
            product_fraction += v
    return total + entries_cost(shape.widths[-1], d_0, product_bits)


def solving_cost(weights: Weights, bits: Bits) -> float:
    """Of the linear systems, layer by layer, for a group element that leads to weights with numbers of this length.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> solving_cost(w, entry_bits(w)) < 0.001
        True
    """
    shape, total = weights.architecture(1), 0.0
    for i, a in enumerate(shape.attention_ranks, start=1):
        d, d_out = shape.widths[i - 1 : i + 1]
        for rows, letter in ((a, "K"), (a, "Q"), (d_out, "V")):
            own = bits[f"{letter}{i}"]
            total += 1.5 * product_cost(d, max(d, rows), 2 * rows, own, own) + 4 * entries_cost(rows, d + rows, own)
    return total


def evaluation_cost(weights: Weights, bits: Bits, fractions: Bits, tokens: int, bound: int) -> float:
    """Of one exact evaluation at integers up to `bound`; `fractions` as `fraction_bits` gives them.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> evaluation_cost(w, entry_bits(w), fraction_bits(w), 2, 3) < 0.001
        True
    """
    shape, x = weights.architecture(tokens), bound.bit_length()
    y = x
    total = entries_cost(shape.widths[0], tokens, x)
    for i, a in enumerate(shape.attention_ranks, start=1):
        d, d_out = shape.widths[i - 1 : i + 1]
        q, k, v = (bits[f"{c}{i}"] + x + d.bit_length() for c in "QKV")
        for rows, longer in ((a, q), (a, k), (d_out, v)):
            total += product_cost(rows, d, tokens, longer - x, x) + entries_cost(rows, d, longer - x)
        scores = q + k + a.bit_length()
        total += product_cost(tokens, a, tokens, q, k) + product_cost(d_out, tokens, tokens, v, scores)
        x = v + scores + tokens.bit_length()
        if fractions:
            y = 3 * y + sum(fractions[f"{c}{i}"] for c in "QKV")
            total += tokens * (2 * a + 2 * d_out + tokens) * LOWEST_TERMS * (y / 64) ** 1.5
    return total + entries_cost(shape.widths[-1], tokens, x)
