"""What a network's own code will take, by running it over sizes: outputs, gradients, virtual weights, coefficients.

Only shapes and lengths are needed, so nothing large is made. The rates are those of `rings.rates`.

What a sweep backwards through a network takes: memory, and how many inputs go through at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from lightning_sym.network.ambient import DEEPEST, require_polynomial, weights_in_a_term
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, run
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.virtual_weights import virtual_weights
from lightning_sym.network.weights import Layer
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.power_series import product_bytes
from lightning_sym.rings.protocol import M
from lightning_sym.rings.sizes import LARGE, LARGEST, Price, Sizes

_BATCH_BYTES = 8 * 2**20
"""Of gradients, in each thread; half of it takes a third longer."""

_SWEEP_BYTES = 128 * 2**20
"""What a sweep may record: of more inputs at once than this holds the interpreter's work is a small part anyway."""

_NODE_BYTES = 2000
"""A recorded operation besides its entries: objects, closures, headers of arrays."""

_LARGEST_ORDER = 10**9
"""For estimates: no series this long fits anywhere, and degrees of deep networks have thousands of digits."""


def sweep_bytes(architecture: Architecture, order: int | None) -> tuple[int, int]:
    r"""Return the memory that one sweep needs: a part that is fixed, and a part for each input of its batch.

    Counts what the recorded operations keep. A series of degree `order` has $n = \lceil order / 2 \rceil$ coefficients
    that are not zero, all of them in one array.

    Example:
        >>> sweep_bytes(Architecture((2, 2), (1,), 2), None)
        (16000, 576)
    """
    architecture.require("an estimate of memory", SHAPED)
    n = 1 if order is None else (min(order, _LARGEST_ORDER) + 1) // 2
    t = architecture.tokens
    squares = 2 + architecture.causal + (0 if order is None else 3)
    nodes = entries = 0
    for i, a in enumerate(architecture.attention_ranks):
        d_out = architecture.widths[i + 1]
        inside = d_out if architecture.value_ranks is None else architecture.value_ranks[i]
        nodes += architecture.heads * (8 if order is None else 20)
        entries += n * architecture.heads * (squares * t * t + t * (3 * a + inside + 2 * d_out))
    temporaries, fixed = 4 * t * t, _NODE_BYTES * nodes
    if order is not None:
        largest = max(t, *architecture.widths, *architecture.attention_ranks)
        temporaries = n * t * (8 * t + 4 * largest + 5 * architecture.output_width)
        fixed += 2 * product_bytes(largest, t, n)
    # every recorded value once; of the gradients only those not yet passed on
    return fixed, 8 * (entries + entries // 4 + temporaries + 3 * architecture.parameter_count)


def inputs_at_once(parameters: int, each: int) -> int:
    """Return how many inputs are swept at once, each of which takes so many bytes.

    Example:
        >>> inputs_at_once(10**9, 2**20), inputs_at_once(64, 2**20)
        (1, 128)
    """
    return max(1, min(_BATCH_BYTES // (8 * parameters), _SWEEP_BYTES // each))


MOST_HEADS, MOST_LAYERS = 4, 1000
"""More heads than these are not walked through one by one, nor are more layers."""

Bits = Mapping[str, int]
"""Bits of the entries of a matrix, by its name."""


def weights_over_sizes(
    architecture: Architecture, price: Price, bits: int | Bits = 1, fractions: int | Bits = 0
) -> list[Sizes]:
    """Return the weights of a network as sizes, in canonical order.

    Args:
        architecture: the network.
        price: where operations are entered.
        bits: of the entries of all matrices, or of each by its name.
        fractions: bits of numerators and denominators together, the same way; none if all are integers.

    Example:
        >>> [m.shape for m in weights_over_sizes(Architecture((3, 2), (1,), 2), Price("rationals"), 8)]
        [(1, 3), (1, 3), (2, 3)]
    """
    architecture.require("the price of a network", SHAPED)

    def length(of: int | Bits, name: str) -> int:
        return of if isinstance(of, int) else of.get(name, 0)

    return [
        Sizes(shape, price, bits=length(bits, name), lowest=length(fractions, name))
        for name, shape in architecture.weight_shapes()
    ]


def output_over_sizes(
    architecture: Architecture,
    price: Price,
    bits: int | Bits = 1,
    input_bits: int = 1,
    fractions: int | Bits = 0,
    *,
    machine_numbers: bool = False,
) -> Sizes:
    """Return the size of an output, the forward pass over sizes entered in the price.

    Where entries are polynomials or series, those of the input have degree one, and weights are numbers.

    Args:
        architecture: the network.
        price: where operations are entered.
        bits: of the weights, of all or by name.
        input_bits: of the entries of the input.
        fractions: as for `weights_over_sizes`.
        machine_numbers: weights stay machine numbers, which are multiplied with balls by their digits.

    Example:
        >>> price = Price("balls")
        >>> output_over_sizes(Architecture((64, 32), (8,), 2, heads=8), price, 128, 128).shape, price.seconds < 0.1
        ((32, 2), True)
    """
    if isinstance(bits, int) and (parts := fewer_in_its_place(architecture)):
        if architecture.depth > MOST_LAYERS and price.rates.grows:  # longer from layer to layer, by a power
            price.enter("product", LARGEST)
            return Sizes((architecture.output_width, architecture.tokens), price, bits=LARGEST, lowest=LARGEST)
        for fewer, times in parts:
            part = price.empty()
            found = output_over_sizes(fewer, part, bits, input_bits, fractions, machine_numbers=machine_numbers)
            price.add(part, times)
        longer = architecture.heads.bit_length() if price.rates.grows else 0
        return Sizes(found.shape, price, bits=found.bits + longer, lowest=found.lowest, degree=found.degree)
    sizes = weights_over_sizes(architecture, price, bits, fractions)
    weights: Sequence[Any] = [_LaterProduct((m,)) for m in sizes] if machine_numbers else sizes
    x = _input(architecture, price, input_bits, input_bits if fractions else 0)
    return cast(Sizes, run(x, architecture, weights, _form(architecture)))


def fewer_in_its_place(architecture: Architecture) -> tuple[tuple[Architecture, int], ...]:
    """Return networks with few heads and layers, and how often to count each, in place of one with many; else nothing.

    A head, or a layer of the same widths, takes what one takes that is added to it. Very deep networks are counted as
    if all layers were as wide as the widest one.
    """
    architecture.require("the price of a network", SHAPED)
    if (depth := architecture.depth) > MOST_LAYERS:
        width, rank, values = max(architecture.widths), max(architecture.attention_ranks), architecture.value_ranks

        def layers(n: int) -> Architecture:
            ranks = None if values is None else (max(values),) * n
            return replace(architecture, widths=(width,) * (n + 1), attention_ranks=(rank,) * n, value_ranks=ranks)

        return (layers(1), 2 - depth), (layers(2), depth - 1)
    if (heads := architecture.heads) > MOST_HEADS:
        return tuple((replace(architecture, heads=n), times) for n, times in ((1, 2 - heads), (2, heads - 1)))
    return ()


L = TypeVar("L", "_LaterProduct", Sizes)


class _LaterProduct(NamedTuple):
    """A product of matrices of machine numbers, multiplied with balls factor by factor, as `LaterBalls` are."""

    factors: tuple[Sizes, ...]

    def __matmul__(self, other: L) -> L:
        if isinstance(other, _LaterProduct):
            return _LaterProduct((*self.factors, *other.factors))
        for factor in reversed(self.factors):
            other = other.after(factor) if factor.shape[0] * factor.shape[1] >= LARGE else factor @ other
        return other


def _form(architecture: Architecture) -> Form[M]:
    """Return what layers do besides multiplying, as `form_of` does for matrices: here no mask is made, of any size."""
    architecture.require("the price of a network", SHAPED)
    tokens, normalization = architecture.tokens, architecture.normalization
    ones, mask = (np.broadcast_to(1, (rows, tokens)) for rows in (1, tokens))  # one number, whatever the shape

    def pattern(scores: Any) -> Any:
        found = scores
        if normalization is not None:
            found = found.evaluate(normalization) if hasattr(found, "evaluate") else found.apply(normalization.taylor)
        if architecture.causal and (tokens > 1 or normalization is None):
            found = found * found.like(mask)
        if normalization is None:
            return found
        return found * (found.like(ones.T) @ (found.like(ones) @ found).reciprocal(ones))

    plain = normalization is None and not architecture.causal
    return Form(skip=architecture.skip) if plain else Form(pattern, architecture.skip)


def _input(architecture: Architecture, price: Price, bits: int = 1, lowest: int = 0) -> Sizes:
    """Return the size of an input: where entries are polynomials or series, each has degree one."""
    shape, degree = (architecture.input_width, architecture.tokens), int(bool(price.variables or price.series))
    return Sizes(shape, price, bits=bits, lowest=lowest, degree=degree)


def price_of_virtual_weights(
    architecture: Architecture, bits: Bits, fractions: int | Bits = 0, *, ring: str = "rationals"
) -> Price:
    """Return what the virtual weights of a plain network and their ranks take, over the rationals or residues.

    Example:
        >>> price = price_of_virtual_weights(Architecture((2, 1), (1,), 1), {"Q1": 2, "K1": 1, "V1": 3})
        >>> price.done["product"], price.seconds < 0.001
        (4, True)
    """
    architecture.require_plain("virtual weights")
    price = Price(ring)
    sizes = weights_over_sizes(architecture, price, bits, fractions)
    for matrix in sizes:
        matrix.read()  # as it comes, made of numbers of Python's
    found = virtual_weights([Layer(*sizes[i : i + 3]) for i in range(0, len(sizes), 3)])
    for matrix in (*found.attention, found.value):
        matrix.rank()
    return price


@lru_cache(maxsize=256)
def price_of_jacobian(architecture: Architecture, rows: int, order: int | None = None) -> Price:
    """Return what so many rows of a Jacobian modulo a prime and their rank take: gradients over sizes, an elimination.

    Args:
        architecture: the network.
        rows: of the Jacobian, each a gradient of the outputs for an input of its own.
        order: of Taylor series, for a normalization; `None` without them.

    Example:
        >>> price_of_jacobian(Architecture((64, 64), (8,), 2), 100).seconds < 10
        True
    """
    price = _price_of_gradients(architecture, 0 if order is None else (order + 1) // 2)
    price.enter("row", 1)
    price.repeated(rows, at_once=True)
    Sizes((rows, architecture.parameter_count), price).rank()
    return price


def _price_of_gradients(architecture: Architecture, series: int) -> Price:
    """Return what the gradient of one output by all weights takes, over residues or series of them."""
    price = Price("residues", series=series)
    if parts := fewer_in_its_place(architecture):
        for fewer, times in parts:
            price.add(_price_of_gradients(fewer, series), times)
        return price
    recorded = [Recorded(matrix) for matrix in weights_over_sizes(architecture, price)]
    x = Recorded(_input(architecture, price), constant=True)
    output = run(x, architecture, recorded, _form(architecture))
    gradients([output], [Sizes(output.shape, price, degree=output.value.degree)], recorded)
    return price


def price_of_coefficients(architecture: Architecture, bits: int) -> Price:
    """Return what the polynomial map of a network with weights of so many bits takes: the pass over polynomials.

    Each entry of the stream has all monomials of its degree at most, `3^i` behind layer `i`.

    Raises:
        BadInput: an option that is no part of a polynomial map.

    Example:
        >>> price_of_coefficients(Architecture((2, 2, 2), (1, 1), 2), 8).seconds < 0.1
        True
    """
    require_polynomial(architecture, "the price of coefficients")
    # with skip connections any degree up to the largest: as many monomials as with one more variable
    variables = architecture.input_width * architecture.tokens + architecture.skip
    price = Price("polynomials", variables=variables)
    if architecture.depth > DEEPEST:
        price.enter("product", LARGEST)
    else:
        longest = bits * weights_in_a_term(architecture)
        output_over_sizes(architecture, price, longest, longest)
    return price


def price_of_comparison(terms: int, letters: int) -> Price:
    """Return the price of the terms of polynomials that are compared, exponent by exponent.

    Example:
        >>> price_of_comparison(100, 3).done
        {'read': 100, 'entry': 300}
    """
    price = Price("terms")
    price.enter("read", terms)
    price.enter("entry", terms * letters)
    return price


def price_of_kernel(rows: int, columns: int, bits: int) -> Price:
    """Return the price of a kernel over the rationals: entries are read, reduced to echelon form, and read off.

    Example:
        >>> price_of_kernel(4, 3, 2).done["eliminated"]
        36
    """
    price = Price("rationals")
    matrix = Sizes((rows, columns), price, bits=bits)
    matrix.read()
    Sizes((columns, matrix.rank()), price, bits=bits).read()
    return price
