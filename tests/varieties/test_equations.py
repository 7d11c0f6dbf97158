"""Equations of the closure: known ideals, other roads to the same numbers, what vanishes and what does not."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction
from math import comb

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym import (
    Architecture,
    BadInput,
    ShapeError,
    TooLarge,
    Weights,
    equations,
    polynomial_map,
    successive_equations,
)
from lightning_sym.exact.rational import rank
from lightning_sym.varieties import equations as equations_module
from lightning_sym.varieties.coordinates import coordinate_system
from lightning_sym.varieties.graded import Grading, require_codes
from lightning_sym.varieties.known_ideal import Equations
from lightning_sym.varieties.normal_weights import smallest_network

KNOWN: list[tuple[tuple[int, int, int, int], dict[int, int], tuple[int, ...]]] = [
    ((2, 1, 2, 2), {4: 1}, (1, 6, 21, 56, 125)),
    ((2, 1, 1, 2), {2: 3}, (1, 6, 18, 40, 75)),
    ((2, 2, 2, 2), {2: 5, 4: 10}, (1, 12, 73, 304, 975)),
    ((3, 1, 2, 2), {3: 30, 4: 90}, (1, 18, 171, 1110, 5400)),
    ((3, 1, 3, 2), {3: 20, 4: 90}, (1, 18, 171, 1120, 5535)),
    ((2, 2, 1, 1), {4: 5}, (1, 8, 36, 120, 325)),
    ((3, 1, 1, 1), {4: 35}, (1, 10, 55, 220, 680)),  # Brill's equations of products of three linear forms
]
"""(d, d', a, t), minimal generators by degree, Hilbert function: computed with Macaulay2 (statements of the field)."""


@pytest.mark.parametrize(("shape", "counts", "values"), KNOWN, ids=lambda v: str(v) if isinstance(v, tuple) else "")
def test_known_ideals(shape: tuple[int, int, int, int], counts: dict[int, int], values: tuple[int, ...]) -> None:
    d, d_out, a, t = shape
    found = equations(Architecture((d, d_out), (a,), t), 4)
    assert found.hilbert_function == values
    assert dict(found.counts) == counts
    assert {degree: len(some) for degree, some in found.terms.items()} == counts
    assert found.complete_to_degree == 4


def test_one_rank_one_layer_is_a_product_of_quadrics_in_degree_two() -> None:
    found = equations(Architecture((3, 1), (1,), 2), 3)
    assert dict(found.counts) == {2: 45, 3: 10}


def test_rank_one_is_a_segre_product() -> None:
    """(2, 1, 1): symmetric products of two forms are all quadrics: forms times vectors, P^2 x P^1 in its span."""
    found = equations(Architecture((2, 1), (1,), 2), 7)
    assert found.hilbert_function == tuple(comb(k + 2, 2) * (k + 1) for k in range(8))
    matrix = sympy.Matrix(2, 3, lambda i, j: sympy.Symbol(f"c_{2 * j + i + 1}"))
    minors = {
        sympy.expand(matrix[0, j] * matrix[1, k] - matrix[0, k] * matrix[1, j]) for j in range(3) for k in range(j)
    }
    assert {abs_sign(p.as_expr()) for p in found.generators[2]} == {abs_sign(m) for m in minors}


def abs_sign(p: sympy.Expr) -> sympy.Expr:
    """The polynomial or its negative, always the same of the two."""
    return min(sympy.expand(p), sympy.expand(-p), key=str)


def test_figure_1_by_a_resultant() -> None:
    """phi = v(x) b(x, y) has the quartic Res_x of its two cofactors: elimination by SymPy, another road."""
    found = equations(Architecture((2, 1), (2,), 2))
    (quartic,) = found.generators[4]
    c = found.symbols
    s = sympy.Symbol("s")
    # coefficients of x_{1,2} and of x_{2,2}: two quadrics in x_1 with the common factor v
    first = c[0] + c[2] * s + c[4] * s**2
    second = c[1] + c[3] * s + c[5] * s**2
    resultant = sympy.expand(sympy.resultant(first, second, s))
    assert abs_sign(quartic.as_expr()) == abs_sign(resultant)
    assert (found.dimension, found.degree, found.is_complete) == (5, 4, True)


def test_the_hypersurface_goes_on_by_its_formula() -> None:
    found = equations(Architecture((2, 1), (2,), 2), 7)
    assert found.hilbert_function == tuple(comb(k + 5, 5) - (comb(k + 1, 5) if k >= 4 else 0) for k in range(8))


def test_coincident_root_locus() -> None:
    found = equations(Architecture((2, 2, 1), (1, 1), 1), 5)
    assert (found.linear_span, found.dimension, found.degree) == (10, 6, 90)
    assert found.hilbert_function == (1, 10, 55, 220, 715, 1988)
    assert dict(found.counts) == {5: 14}


@pytest.mark.parametrize(
    "network",
    [
        Architecture((2, 1), (2,), 1),
        Architecture((1, 1), (1,), 3),
        Architecture((2, 2), (2,), 2, heads=3),
    ],
    ids=str,
)
def test_where_the_closure_is_its_span(network: Architecture) -> None:
    found = equations(network)
    assert found.codimension == 0
    assert found.is_complete
    assert not found.counts
    assert found.degree == 1
    assert found.hilbert_function[-1] == comb(found.linear_span + 3, 4)


def test_ranks_and_tokens_that_add_nothing() -> None:
    """The same ideal for more tokens, larger ranks, and behind a mask, whose functions are others."""
    few = equations(Architecture((2, 2), (2,), 2), 4)
    for network in (
        Architecture((2, 2), (5,), 2),
        Architecture((2, 2), (2,), 4),
        Architecture((2, 2), (2,), 3, causal=True),
        Architecture((2, 2), (2,), 2, value_ranks=(3,)),
    ):
        more = equations(network, 4)
        assert more.terms == few.terms
        assert more.hilbert_function == few.hilbert_function
        assert more.vanishes_at(Weights.random(network, seed=5))


SMALL = [
    Architecture((2, 1), (1,), 2),
    Architecture((2, 2), (2,), 3),
    Architecture((3, 1), (1,), 1),
    Architecture((2, 2), (1,), 2, skip=True),
    Architecture((2, 2), (1,), 2, causal=True, value_ranks=(1,)),
    Architecture((2, 2), (1,), 2, embed=2, unembed=1, skip=True),
    Architecture((3, 1), (1,), 2, heads=2),
    Architecture((2, 1, 1), (1, 1), 2),
]
FOUND: dict[Architecture, Equations] = {}


def found_for(network: Architecture) -> Equations:
    """Computed once for all examples."""
    if network not in FOUND:
        FOUND[network] = equations(network, 2 if network.depth > 1 else 3)
    return FOUND[network]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SMALL), st.integers(0, 10**6))
def test_equations_vanish_at_weights_and_not_beside_them(network: Architecture, seed: int) -> None:
    found = found_for(network)
    weights = Weights.random(network, seed=seed)
    assert found.vanishes_at(weights)
    assert all(value == 0 for some in found.at(weights).values() for value in some)
    generator = random.Random(seed)
    beside = [Fraction(generator.randrange(-(10**6), 10**6)) for _ in found.coordinates]
    values = [sum(c * product(beside, m) for m, c in terms.items()) for some in found.terms.values() for terms in some]
    assert any(values) == bool(found.counts)


def product(values: list[Fraction], places: tuple[int, ...]) -> Fraction:
    """The product of some of the values."""
    result = Fraction(1)
    for i in places:
        result *= values[i]
    return result


def test_coefficients_in_place_of_weights() -> None:
    network = Architecture((2, 1), (2,), 3)
    found, weights = equations(network), Weights.random(network, seed=1)
    coefficients = dict(polynomial_map(network, weights).ring_coefficients())
    assert found.vanishes_at(coefficients)
    place = next(iter(coefficients))
    assert not found.vanishes_at(coefficients | {place: coefficients[place] + 1})  # not in the span
    with pytest.raises(BadInput, match="linear span"):
        found.at(coefficients | {place: coefficients[place] + 1})
    with pytest.raises(BadInput, match="monomial"):
        found.vanishes_at({(1, 1, (1, 1)): 1})


def test_tangent_spaces_of_figure_1() -> None:
    """The quartic is singular where V divides the form: there the tangent space is all of the span."""
    found = equations(Architecture((2, 1), (2,), 2))
    regular = Weights.of({"Q1": [[1, 2], [3, 4]], "K1": [[1, 0], [0, 1]], "V1": [[1, 1]]})
    singular = Weights.of({"Q1": [[1, 2], [0, 0]], "K1": [[1, 3], [0, 0]], "V1": [[2, 5]]})
    assert found.tangent_dimension_bound(regular) == found.dimension == 5
    assert found.tangent_dimension_bound(singular) >= 5
    zero = Weights.of({"Q1": [[0, 0], [0, 0]], "K1": [[1, 3], [0, 0]], "V1": [[2, 5]]})
    assert found.tangent_dimension_bound(zero) == 6
    with pytest.raises(ShapeError):
        found.tangent_dimension_bound(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}))


def test_generic_tangent_spaces_have_the_dimension() -> None:
    for network, degree in ((Architecture((3, 1), (1,), 2), 3), (Architecture((2, 2), (1,), 2, skip=True), 4)):
        found = equations(network, degree)
        assert found.tangent_dimension_bound(Weights.random(network, seed=2)) == found.dimension


def test_jacobians_of_the_generators_have_the_codimension() -> None:
    found = equations(Architecture((2, 2), (2,), 2), 4)
    point = dict(zip(found.symbols, found.system.at(Weights.random(found.architecture, seed=3)), strict=True))
    rows = [
        [p.diff(x).as_expr().subs(point) for x in found.symbols] for some in found.generators.values() for p in some
    ]
    assert rank([[Fraction(int(e.p), int(e.q)) for e in row] for row in rows]) == found.codimension


def test_results_pickle_and_read_back() -> None:
    found = equations(Architecture((2, 1), (1,), 2), 2)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert again == found
    assert again.generators == found.generators
    assert eval(repr(found), {"equations": equations, "Architecture": Architecture}) == found  # noqa: S307
    with pytest.raises(BadInput):
        bool(found)
    assert "c_{" in found._repr_latex_()


def test_each_degree_is_an_answer() -> None:
    degrees = [found.complete_to_degree for found in successive_equations(Architecture((2, 2), (2,), 2), 4)]
    assert degrees == [1, 2, 3, 4]


def test_what_does_not_fit_is_said() -> None:
    found = equations(Architecture((3, 3), (3,), 2), work=0.1)
    assert found.complete_to_degree == 2
    assert found.stopped is not None
    assert "degree 3: exact work must take at most 0.1 s in all" in found.stopped
    found = equations(Architecture((3, 3), (3,), 2), 9, memory=2**27)
    assert found.complete_to_degree < 9
    assert found.stopped is not None
    assert "GiB" in found.stopped


def test_seeds_change_nothing() -> None:
    network = Architecture((2, 2), (1,), 2)
    assert equations(network, 3, seed=0).terms == equations(network, 3, seed=7).terms


def test_a_million_heads_are_refused_before_they_are_listed() -> None:
    with pytest.raises(TooLarge, match="the letters of the polynomial map must fit into"):
        equations(Architecture((2, 2), (1,), 2, heads=10**6))


@pytest.mark.parametrize("skip", [False, True])
def test_too_many_inputs_for_the_codes_are_refused_before_the_coordinates(
    skip: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound for one power of one input is the one that the coordinates themselves would meet."""
    for n, length in ((2, 2 if skip else 4), (4, 4 if skip else 8)):
        shape = smallest_network(Architecture((n, n), (1,), 2, skip=skip))
        grading = Grading(coordinate_system(shape))
        assert grading.length == length
        assert int(grading.weights.max()) >= shape.degree - skip
        require_codes(shape)
    monkeypatch.setattr(equations_module, "coordinate_system", lambda *_, **__: pytest.fail("it was computed"))
    with pytest.raises(TooLarge, match="fit into 64 bits, got degree 1"):
        equations(Architecture((60, 60), (2,), 2, skip=skip))
