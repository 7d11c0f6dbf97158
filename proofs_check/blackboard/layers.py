"""Layers on the board: their functions, and how these move with the weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.network.attention import Form
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction, map_entries
from proofs_check.blackboard.step import BOARD, INPUT, identity, must, rational


def layer_of(attention: ObjectArray, value: ObjectArray) -> Layer:
    """The layer with attention matrix `A`: queries `A`, keys the identity."""
    return Layer(query=attention, key=identity(len(attention)), value=value)


def function_of(*layers: Layer, x: ObjectArray = INPUT, ring: PolynomialRing = BOARD) -> ObjectArray:
    """The forward pass with these weights on symbolic tokens: a matrix of polynomials, one column a token."""
    result: ObjectArray = forward(x, [Layer(*map(ring.constants, layer)) for layer in layers])
    return result


def coefficients(entries: ObjectArray) -> dict[tuple[int, int, tuple[int, ...]], Fraction]:
    """Non-zero coefficients of a matrix of polynomials by row, column and monomial."""
    return {
        (k, j, tuple(map(int, exponents))): as_fraction(c)
        for (k, j), entry in np.ndenumerate(entries)
        for exponents, c in entry.to_dict().items()
    }


def unit_directions(shape: tuple[int, ...]) -> Iterator[ObjectArray]:
    """The matrices with a single 1."""
    for index in np.ndindex(*shape):
        direction = rational(np.zeros(shape, dtype=int).tolist())
        direction[index] = Fraction(1)
        yield direction


def jacobian(
    layers: Sequence[Layer], vary: Sequence[tuple[int, str]], x: ObjectArray = INPUT, ring: PolynomialRing = BOARD
) -> tuple[ObjectArray, list[tuple[int, int, tuple[int, ...]]]]:
    r"""The exact Jacobian of weights $\mapsto$ coefficients, by the forward pass over dual numbers.

    Args:
        layers: the point.
        vary: the matrices that count as weights, as (layer, "query" or "key" or "value").
        x: the symbolic tokens.
        ring: their ring.

    Returns:
        One row a weight and one column a coefficient, and the coefficients' names (row, column, monomial).
    """
    zero = ring.constant(0)
    derivatives = []
    for number, slot in vary:
        for direction in unit_directions(getattr(layers[number], slot).shape):
            duals = [
                Layer(*(Dual(ring.constants(m), map_entries(lambda _: zero, m)) for m in layer)) for layer in layers
            ]
            moved = Dual(ring.constants(getattr(layers[number], slot)), ring.constants(direction))
            duals[number] = duals[number]._replace(**{slot: moved})
            tangent = forward(Dual(x, map_entries(lambda _: zero, x)), duals).tangent
            derivatives.append(coefficients(tangent))
    names = sorted({name for row in derivatives for name in row}, key=lambda n: (n[0], n[1], [-e for e in n[2]]))
    matrix = rational([[row.get(name, 0) for name in names] for row in derivatives])
    return matrix, names


def normalized_network(x: ObjectArray, *layers: tuple[ObjectArray, ObjectArray], constant: int = 1) -> ObjectArray:
    """The network of normalized layers $(A, V)$, S(y) = constant + y, at a rational input."""

    def pattern(scores: ObjectArray) -> ObjectArray:
        weights = scores + Fraction(constant)
        must(all(weights.sum(axis=0) != 0), "the weights of the tokens do not sum to zero")
        result: ObjectArray = weights / weights.sum(axis=0)
        return result

    result: ObjectArray = forward(x, [layer_of(*layer) for layer in layers], Form(pattern))
    return result
