"""What a network's own code will take, by running it over sizes: outputs, gradients, virtual weights, coefficients.

Only shapes and lengths are needed, so nothing large is made. The rates are those of `rings.rates`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.network.ambient import DEEPEST, require_polynomial, weights_in_a_term
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, run
from lightning_sym.network.virtual_weights import virtual_weights
from lightning_sym.network.weights import Layer
from lightning_sym.rings.ball_matrices import LARGE
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.sizes import LARGEST, Price, Sizes

KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options that the forward pass carries out, whatever the ring."""

Bits = Mapping[str, int]
"""Bits of the entries of a matrix, by its name."""


def weights_over_sizes(
    architecture: Architecture, price: Price, bits: int | Bits = 1, fractions: int | Bits = 0
) -> list[Sizes]:
    """The weights of a network as sizes, in canonical order.

    Args:
        architecture: the network.
        price: where operations are entered.
        bits: of the entries of all matrices, or of each by its name.
        fractions: bits of numerators and denominators together, the same way; none if all are integers.

    Example:
        >>> [m.shape for m in weights_over_sizes(Architecture((3, 2), (1,), 2), Price("rationals"), 8)]
        [(1, 3), (1, 3), (2, 3)]
    """
    architecture.require("the price of a network", KNOWN)

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
    """The size of an output, the forward pass over sizes entered in the price.

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
    sizes = weights_over_sizes(architecture, price, bits, fractions)
    weights: Sequence[Any] = [_Later((m,)) for m in sizes] if machine_numbers else sizes
    x = _input(architecture, price, input_bits, input_bits if fractions else 0)
    result: Sizes = run(x, architecture, weights, _form(architecture))
    return result


class _Later(NamedTuple):
    """A product of matrices of machine numbers, multiplied with balls factor by factor, as `LaterBalls` are."""

    factors: tuple[Sizes, ...]

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, _Later):
            return _Later((*self.factors, *other.factors))
        for factor in reversed(self.factors):
            other = other.after(factor) if factor.shape[0] * factor.shape[1] >= LARGE else factor @ other
        return other


def _form(architecture: Architecture) -> Form:
    """Return what layers do besides multiplying, as `form_of` does for matrices: here no mask is made, of any size."""
    architecture.require("the price of a network", KNOWN)
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


def price_of_virtual_weights(architecture: Architecture, bits: Bits, fractions: int | Bits = 0) -> Price:
    """What the virtual weights of a plain network and their ranks take.

    Example:
        >>> price = price_of_virtual_weights(Architecture((2, 1), (1,), 1), {"Q1": 2, "K1": 1, "V1": 3})
        >>> price.done["product"], price.seconds < 0.001
        (4, True)
    """
    architecture.require_plain("virtual weights")
    price = Price("rationals")
    sizes = weights_over_sizes(architecture, price, bits, fractions)
    found = virtual_weights([Layer(*sizes[i : i + 3]) for i in range(0, len(sizes), 3)])
    for matrix in (*found.attention, found.value):
        matrix.rank()
    return price


@lru_cache(maxsize=256)
def price_of_jacobian(architecture: Architecture, rows: int, order: int | None = None) -> Price:
    """What so many rows of a Jacobian modulo a prime and their rank take: gradients over sizes, an elimination.

    Args:
        architecture: the network.
        rows: of the Jacobian, each a gradient of the outputs for an input of its own.
        order: of Taylor series, for a normalization; `None` without them.

    Example:
        >>> price_of_jacobian(Architecture((64, 64), (8,), 2), 100).seconds < 10
        True
    """
    price = Price("residues", series=0 if order is None else (order + 1) // 2)
    recorded = [Recorded(matrix) for matrix in weights_over_sizes(architecture, price)]
    x = Recorded(_input(architecture, price), constant=True)
    output = run(x, architecture, recorded, _form(architecture))
    gradients([output], [Sizes(output.shape, price, degree=output.value.degree)], recorded)
    price.enter("row", 1)
    price.repeated(rows, at_once=True)
    Sizes((rows, architecture.parameter_count), price).rank()
    return price


def price_of_coefficients(architecture: Architecture, bits: int) -> Price:
    """What the polynomial map of a network whose weights have so many bits takes: the forward pass over polynomials.

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
