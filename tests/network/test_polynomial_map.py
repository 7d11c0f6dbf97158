"""phi as polynomials: coefficients, order, ambient space, refusals."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import sympy
from shapes import SHAPES

from lightning_sym import Architecture, Layer, Weights, ambient_dimension, forward, polynomial_map
from lightning_sym.errors import ShapeError, TooLarge
from lightning_sym.network.ambient import count_terms_at_most

CHEAP = [n for n, s in SHAPES.items() if count_terms_at_most(s) < 20_000]


@pytest.mark.parametrize("name", CHEAP)
def test_shape_degree_and_bounds(name: str) -> None:
    shape = SHAPES[name]
    phi = polynomial_map(shape)
    assert phi.entries.shape == (shape.widths[-1], shape.tokens)
    assert phi.is_homogeneous(shape.degree)
    assert not phi.is_homogeneous(shape.degree + 1)
    assert phi.term_count <= count_terms_at_most(shape)
    ones = [Layer(*(np.ones(size, dtype=object) for size in layer)) for layer in _layer_shapes(shape)]
    values = forward(np.ones((shape.widths[0], shape.tokens), dtype=object), ones)
    assert values.sum() == count_terms_at_most(shape)


def _layer_shapes(shape: Architecture) -> list[list[tuple[int, int]]]:
    sizes = [size for _, size in shape.weight_shapes()]
    return [sizes[i : i + 3] for i in range(0, len(sizes), 3)]


def test_one_number_cubed() -> None:
    w = Weights.of({"Q1": [[2]], "K1": [[3]], "V1": [[5]]})
    phi = polynomial_map(w.architecture(1), w)
    assert str(phi.entries[0, 0]) == "30*x_1_1^3"
    assert phi.ring_coefficient_vector() == [30]


def test_coefficient_vector_in_the_documented_order() -> None:
    """By hand: d = 2, d' = 1, t = 1, A = [[1, 2], [0, 3]], V = [1, -1]: (x^2 + 2xy + 3y^2)(x - y)."""
    w = Weights.of({"Q1": [[1, 2], [0, 3]], "K1": [[1, 0], [0, 1]], "V1": [[1, -1]]})
    phi = polynomial_map(w.architecture(1), w)
    assert list(phi.monomials()) == [(3, 0), (2, 1), (1, 2), (0, 3)]
    assert phi.ring_coefficient_vector() == [1, 1, 1, -3]


def test_coefficient_vector_has_the_ambient_dimension() -> None:
    for shape in (Architecture((2, 1), (1,), 2), Architecture((1, 2, 1), (1, 1), 2)):
        w = Weights.random(shape, seed=1)
        assert len(polynomial_map(shape, w).ring_coefficient_vector()) == ambient_dimension(shape)
    assert ambient_dimension(Architecture((2, 3), (1,), 2)) == 3 * 2 * comb(6, 3)


def test_symbolic_coefficients_specialise_to_numeric_ones() -> None:
    shape = SHAPES["one layer"]
    w = Weights.random(shape, seed=2, denominator=3)
    numbers = [x for m in w.named().values() for x in m.ravel()]
    numeric = polynomial_map(shape, w).ring_coefficients()
    symbolic = polynomial_map(shape).ring_coefficients()
    assert set(numeric) <= set(symbolic)
    for key, polynomial in symbolic.items():
        total = Fraction(0)
        for exponents, c in polynomial.to_dict().items():
            term = Fraction(int(c.p), int(c.q))
            for number, e in zip(numbers, exponents, strict=True):
                term *= number ** int(e)
            total += term
        expected = numeric.get(key)
        assert total == (0 if expected is None else Fraction(int(expected.p), int(expected.q)))


def test_agrees_with_plain_sympy() -> None:
    """The matrix product of SymPy's own symbols, expanded."""
    shape = Architecture((2, 2), (1,), 2)
    phi = polynomial_map(shape)
    matrices = {
        name: sympy.Matrix(*size, lambda i, j, n=name: sympy.Symbol(f"{n}_{i + 1}_{j + 1}"))
        for name, size in [*shape.weight_shapes(), ("x", (2, 2))]
    }
    q, k, v, x = matrices.values()
    expected = (v * x * x.T * k.T * q * x).expand()
    for i in range(2):
        for j in range(2):
            assert sympy.expand(phi.sympy(i + 1, j + 1).as_expr() - expected[i, j]) == 0
    assert phi.matrix().expand() == expected
    assert polynomial_map(Architecture((2, 1), (1,), 3)).matrix().shape == (1, 3)


def test_latex_names_layers_rows_and_columns() -> None:
    text = polynomial_map(Architecture((1, 1, 1), (1, 1), 1)).latex(1, 1)
    assert text.startswith("{q^{(1)}_{1,1}}^{3}")
    assert text.endswith("{x_{1,1}}^{9}")


def test_what_does_not_fit_is_refused_with_the_estimate() -> None:
    with pytest.raises(TooLarge, match=r"must fit into 4 GiB, estimated need .* GiB"):
        polynomial_map(Architecture((9, 9, 9), (9, 9), 9))
    with pytest.raises(TooLarge):
        polynomial_map(Architecture((2,) * 41, (2,) * 40, 2))
    small = Architecture((2, 2), (2,), 2)
    with pytest.raises(TooLarge):
        polynomial_map(small, memory=100)
    with pytest.raises(TooLarge, match="a vector of"):
        polynomial_map(small).ring_coefficient_vector(memory=100)


def test_weights_must_have_the_shape() -> None:
    w = Weights.random(Architecture((2, 2), (1,), 2))
    with pytest.raises(ShapeError, match="the weights must have widths 2,2, ranks 2"):
        polynomial_map(Architecture((2, 2), (2,), 2), w)
