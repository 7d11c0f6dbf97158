"""One forward pass, every ring: they agree with each other and with an independent sum over plain numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import SHAPES, architectures, integer_input, plain_forward
from sympy import QQ
from sympy.polys.rings import ring as sympy_ring

from lightning_sym import Architecture, Layer, Weights, forward, polynomial_map, virtual_weights
from lightning_sym.network.ambient import count_terms_at_most
from lightning_sym.network.jacobian import weight_gradients
from lightning_sym.network.virtual_weights import closed_form, recursive_form
from lightning_sym.rings.derivatives import Dual, Recorded
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import map_entries, rational_matrix, to_fractions
from proofs_check.claims.one_layer.definition_1 import sum_form


@pytest.mark.parametrize("name", SHAPES)
def test_every_ring_gives_the_same_values(name: str) -> None:
    shape = SHAPES[name]
    weights = Weights.random(shape, seed=3, bound=4, denominator=3)
    x = integer_input(shape, seed=1)
    expected = plain_forward(x.tolist(), [Layer(*(m.tolist() for m in layer)) for layer in weights.layers])

    fractions = forward(map_entries(Fraction, x), weights.layers)
    assert fractions.tolist() == expected

    rational = [Layer(*map(rational_matrix, layer)) for layer in weights.layers]
    assert to_fractions(forward(rational_matrix(x), rational)).tolist() == expected

    _, *generators = sympy_ring("u", QQ)
    (u,) = generators
    over_sympy = [Layer(*(map_entries(lambda w: u * QQ(w.numerator, w.denominator), m) for m in layer))
                  for layer in weights.layers]  # fmt: skip
    values = forward(map_entries(lambda v: u.ring(QQ(int(v))), x), over_sympy)
    assert map_entries(lambda v: Fraction(int(v.evaluate(u, 1).numerator), int(v.evaluate(u, 1).denominator)),
                       values).tolist() == expected  # fmt: skip

    for p in PRIMES[:2]:
        modular = [Layer(*(PrimeFieldMatrix.of(_residues(m, p), p) for m in layer)) for layer in weights.layers]
        found = forward(PrimeFieldMatrix.of(x.astype(np.int64), p), modular).residues()
        assert found.tolist() == _residues(np.array(expected, dtype=object), p).tolist()


def _residues(matrix: np.ndarray, p: int) -> np.ndarray:
    residue = np.vectorize(lambda v: v.numerator * pow(v.denominator, -1, p) % p, otypes=[np.int64])
    residues: np.ndarray = residue(matrix)
    return residues


@pytest.mark.parametrize("name", [n for n, s in SHAPES.items() if count_terms_at_most(s) < 20_000])
def test_polynomials_evaluate_to_the_values(name: str) -> None:
    shape = SHAPES[name]
    weights = Weights.random(shape, seed=5, bound=3, denominator=2)
    x = integer_input(shape, seed=2, bound=3)
    phi = polynomial_map(shape)
    numbers = [w for m in weights.named().values() for w in m.ravel()] + [Fraction(v) for v in x.ravel()]

    def value(entry: object) -> Fraction:
        total = Fraction(0)
        for exponents, coefficient in entry.to_dict().items():  # type: ignore[attr-defined]
            term = Fraction(int(coefficient.p), int(coefficient.q))
            for number, exponent in zip(numbers, exponents, strict=True):
                term *= number ** int(exponent)
            total += term
        return total

    assert map_entries(value, phi.entries).tolist() == forward(map_entries(Fraction, x), weights.layers).tolist()


@given(architectures(), st.integers(0, 5))
def test_three_roads_agree_on_exact_weights(shape: Architecture, seed: int) -> None:
    weights = Weights.random(shape, seed=seed, bound=3, denominator=2)
    layers = [Layer(*map(rational_matrix, layer)) for layer in weights.layers]
    x = rational_matrix(integer_input(shape, seed))
    expected = forward(x, layers)
    by_sums = x
    for layer in layers:
        by_sums = sum_form(by_sums, layer, rational_matrix([[0]])[0, 0])
    virtual = virtual_weights(layers)
    assert np.array_equal(by_sums, expected)
    assert np.array_equal(closed_form(x, virtual), expected)
    assert np.array_equal(recursive_form(x, virtual), expected)


@given(architectures(max_depth=2), st.integers(0, 3))
def test_homogeneous_of_degree_three_to_the_depth(shape: Architecture, seed: int) -> None:
    layers = Weights.random(shape, seed=seed, bound=3).layers
    x = map_entries(Fraction, integer_input(shape, seed))
    assert np.array_equal(forward(x * 2, layers), forward(x, layers) * 2**shape.degree)


@given(architectures(max_depth=3), st.integers(0, 3))
def test_forward_and_reverse_derivatives_agree(shape: Architecture, seed: int) -> None:
    """Along a random direction: the dual numbers against the gradient, and both against a difference quotient."""
    weights, direction = (Weights.random(shape, seed=s, bound=3) for s in (seed, seed + 1))
    x = map_entries(Fraction, integer_input(shape, seed, bound=2))
    functional = map_entries(
        Fraction, integer_input(Architecture(shape.widths[::-1], shape.attention_ranks, shape.tokens), seed)
    )

    zero = x * 0
    moving = [
        Layer(*(Dual(w, v) for w, v in zip(a, b, strict=True)))
        for a, b in zip(weights.layers, direction.layers, strict=True)
    ]
    tangent = (forward(Dual(x, zero), moving).tangent * functional).sum()

    gradients = weight_gradients(weights.layers, x, functional)
    directions = [m for layer in direction.layers for m in layer]
    assert tangent == sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))

    # the value is a polynomial in the step, of degree 3 * (number of layers' weights); fit it exactly
    degree = 3 * (shape.degree - 1) // 2
    if degree <= 12:
        steps = [Fraction(s) for s in range(degree + 1)]
        values = []
        for s in steps:
            moved = [Layer(*(w + s * v for w, v in zip(a, b, strict=True)))
                     for a, b in zip(weights.layers, direction.layers, strict=True)]  # fmt: skip
            values.append((forward(x, moved) * functional).sum())
        assert tangent == _derivative_at_zero(steps, values)


def _derivative_at_zero(points: list[Fraction], values: list[Fraction]) -> Fraction:
    """Of the interpolating polynomial, by Newton's divided differences."""
    table = list(values)
    coefficients = [table[0]]
    for order in range(1, len(points)):
        table = [(table[i + 1] - table[i]) / (points[i + order] - points[i]) for i in range(len(table) - 1)]
        coefficients.append(table[0])
    total, product, slope = Fraction(0), Fraction(1), Fraction(0)
    for i, c in enumerate(coefficients):
        total += c * slope
        slope = slope * (0 - points[i]) + product
        product *= 0 - points[i]
    return total


def test_recorded_values_are_the_plain_ones() -> None:
    shape = SHAPES["two layers"]
    layers = Weights.random(shape, seed=1).layers
    x = integer_input(shape, seed=1)
    recorded = forward(Recorded(x), [Layer(*map(Recorded, layer)) for layer in layers])
    assert np.array_equal(recorded.value, forward(x, layers))
