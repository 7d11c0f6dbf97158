"""One layer in terms of (A, V), and Groebner bases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from sympy.polys.orderings import grevlex

from lightning_sym import Architecture, Weights, ambient_dimension, polynomial_map
from lightning_sym.errors import ShapeError
from lightning_sym.exact.ideals import groebner_basis, is_in_radical, linear_basis
from lightning_sym.exact.rational import rank
from lightning_sym.network.one_layer import (
    attention_layer_weights,
    coefficients_from_products,
    discriminants,
    one_layer_map,
    part_of_degree,
    product_coefficients,
    products_of_linear_forms,
    quadratic_monomials,
    values_at,
)
from lightning_sym.rings.polynomials import PolynomialRing, to_sympy

SHAPES = [(1, 1, 1, 2), (2, 1, 2, 2), (2, 3, 1, 3), (3, 2, 4, 2)]


@pytest.mark.parametrize(("d", "d_out", "a", "t"), SHAPES)
@pytest.mark.parametrize("seed", [0, 1])
def test_products_are_read_off_the_function(d: int, d_out: int, a: int, t: int, seed: int) -> None:
    shape = Architecture((d, d_out), (a,), t)
    weights = Weights.random(shape, seed=seed, denominator=3)
    (layer,) = weights.layers
    stated = products_of_linear_forms(layer.key.T @ layer.query, layer.value)
    found = product_coefficients(polynomial_map(shape, weights))
    assert found.shape == (d, d_out, d * (d + 1) // 2)
    assert [Fraction(int(c.p), int(c.q)) if c else 0 for c in found.ravel()] == stated.ravel().tolist()


@pytest.mark.parametrize(("d", "d_out", "a", "t"), SHAPES)
def test_one_layer_map_is_the_network_with_key_one(d: int, d_out: int, a: int, t: int) -> None:
    weights = Weights.random(Architecture((d, d_out), (a,), t), seed=3)
    (layer,) = weights.layers
    attention = layer.key.T @ layer.query
    values = [int(x) for x in (*attention.ravel(), *layer.value.ravel())]
    network = polynomial_map(Architecture((d, d_out), (a,), t), weights).ring_coefficients()
    symbolic = {key: c(*values) for key, c in one_layer_map(d, d_out, t).ring_coefficients().items()}
    assert {key: c for key, c in symbolic.items() if c} == network
    assert attention_layer_weights(attention, layer.value).key.tolist() == np.eye(d, dtype=int).tolist()


@pytest.mark.parametrize(("d", "d_out", "a", "t"), SHAPES)
def test_the_linear_map_stays_in_the_ambient_space(d: int, d_out: int, a: int, t: int) -> None:
    image = coefficients_from_products(d, d_out, t)
    assert len(image) <= ambient_dimension(Architecture((d, d_out), (a,), t))
    assert all(sum(exponents) == 3 and len(exponents) == d * t for _, _, exponents in image)


def test_one_token_or_two_layers_are_refused() -> None:
    with pytest.raises(ShapeError, match="at least two tokens"):
        product_coefficients(one_layer_map(2, 1, 1))
    with pytest.raises(ShapeError, match="one layer"):
        product_coefficients(polynomial_map(Architecture((1, 1, 1), (1, 1), 2)))


@pytest.mark.parametrize("shapes", [((2, 3), (1, 2)), ((2, 2), (1, 3)), ((2,), (1, 2))])
def test_matrices_that_do_not_fit_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ShapeError, match="A must be d x d"):
        products_of_linear_forms(*(np.ones(shape, dtype=int) for shape in shapes))


def test_discriminants_of_a_product_are_squares() -> None:
    generator = np.random.default_rng(0)
    for d in range(1, 5):
        u, w = generator.integers(-9, 10, size=(2, d))
        (form,) = products_of_linear_forms(np.column_stack([u] * d), w[None])[0]
        stated = [(u[p] * w[q] - u[q] * w[p]) ** 2 for p, q in quadratic_monomials(d) if p < q]
        assert discriminants(form, d) == stated


def test_values_and_parts_of_a_polynomial() -> None:
    ring = PolynomialRing(["a", "b", "x"])
    a, b, x = ring.generators
    polynomial = 3 * a**2 * x - b * x + 5 * a * x**2
    points = np.random.default_rng(1).integers(-4, 5, size=(20, 3))
    assert values_at(polynomial, points).tolist() == [int(polynomial(*map(int, point))) for point in points]
    parts = part_of_degree(polynomial, 1, ring, 1)
    assert list(map(str, parts.values())) == ["3*a^2 - b"]


@pytest.mark.parametrize(
    "ideal",
    [
        lambda a, b, c: [a * b - c, b * c - a, a * c - b],
        lambda a, b, c: [a**2 + b**2 - 1, a - b / 3, c**2],
        lambda a, b, c: [a + b, a - a, 2 * a**2 * c - c**2 / 7],
        lambda a, b, c: [a * b, a * b + 2],
    ],
)
def test_groebner_basis_against_sympy(ideal: object) -> None:
    ring = PolynomialRing(["a", "b", "c"])
    generators = ideal(*ring.generators)  # type: ignore[operator]
    found = {to_sympy(g, ring.names).as_expr() for g in groebner_basis(ring, generators)}
    expressions = [to_sympy(g, ring.names).as_expr() for g in generators]
    assert found == set(sympy.groebner(expressions, *sympy.symbols("a b c"), order=grevlex).exprs)


def test_few_generators_of_the_same_span() -> None:
    ring = PolynomialRing(["a", "b", "c"])
    a, b, c = ring.generators
    monomials = [ring.constant(1), a, b, c, a * b, b**2, a * c**2]
    generator = np.random.default_rng(0)
    for given in range(1, 9):
        drawn = generator.integers(-3, 4, size=(given, 4)) @ generator.integers(-3, 4, size=(4, len(monomials)))
        rows = drawn.astype(object) / Fraction(1 + given)
        polynomials = [
            sum((ring.constant(x) * m for x, m in zip(row, monomials, strict=True)), ring.constant(0)) for row in rows
        ]
        found = linear_basis(ring, [*polynomials, *polynomials, ring.constant(0)])
        by_monomial = [[p.to_dict().get(m.monoms()[0], 0) for m in monomials] for p in found]
        assert len(found) == rank(rows) == rank([*by_monomial, *rows.tolist()])
        few, many = ({str(e) for e in groebner_basis(ring, each)} for each in (found, polynomials))
        assert few == many
    assert linear_basis(ring, [ring.constant(0)]) == linear_basis(ring, []) == []


def test_radical_membership() -> None:
    ring = PolynomialRing(["a", "b"])
    a, b = ring.generators
    assert is_in_radical(ring, a, [a**2 + b**2, b])
    assert not is_in_radical(ring, a, [a**2 + b**2])  # zero over the reals only: the answer is over C
    assert is_in_radical(ring, a, [ring.constant(1)])
    assert not is_in_radical(ring, ring.constant(1), [a])
