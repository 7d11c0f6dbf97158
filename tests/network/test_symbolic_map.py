"""What SymPy sees of phi: coefficients, Jacobians, ranks with evidence, values, symbols by name, ideals."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym import Architecture, PolynomialMap, Weights, certified_dimension, polynomial_map
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.exact.certified_rank import certified_rank
from lightning_sym.network.generic_rank import FieldSearch, GenericRank, generic_rank_bounds, network_sample
from lightning_sym.network.jacobian_rank import JacobianRank
from lightning_sym.network.one_layer import one_layer_map
from lightning_sym.rings.expressions import to_expressions
from lightning_sym.rings.polynomials import PolynomialRing

FIGURE_1 = Architecture((2, 1), (2,), 2)
NETWORKS = {
    "figure 1": FIGURE_1,
    "one token": Architecture((2, 2), (1,), 1),
    "two layers": Architecture((1, 2, 1), (1, 1), 2),
    "skip and heads": Architecture((1, 1), (1,), 2, heads=2, skip=True),
    "transformer": Architecture((1, 1), (1,), 2, None, 2, (1,), True, True, embed=2, unembed=1),
}
RING = PolynomialRing(["a", "b", "x_1_1", "Q1_1_1"])


@st.composite
def polynomials(draw: st.DrawFn) -> Any:
    exponent = st.integers(0, 3)
    terms = st.dictionaries(st.tuples(*[exponent] * 4), st.fractions(-5, 5, max_denominator=4), max_size=6)
    return RING.from_terms({e: fmpq(c.numerator, c.denominator) for e, c in draw(terms).items() if c})


@given(st.lists(polynomials(), max_size=3))
@settings(deadline=None)
def test_expressions_are_those_that_sympy_makes(given_polynomials: list[Any]) -> None:
    symbols = sympy.symbols(RING.names)
    for polynomial, found in zip(given_polynomials, to_expressions(given_polynomials, symbols), strict=True):
        terms = [
            sympy.Rational(int(c.p), int(c.q)) * sympy.Mul(*(s ** int(k) for s, k in zip(symbols, e, strict=True)))
            for e, c in polynomial.to_dict().items()
        ]
        assert (found, sympy.srepr(found)) == (sympy.Add(*terms), sympy.srepr(sympy.Add(*terms)))


@pytest.mark.parametrize("name", NETWORKS)
def test_coefficients_are_those_that_sympy_reads_off_the_matrix(name: str) -> None:
    phi = polynomial_map(NETWORKS[name])
    inputs = phi.symbols[len(phi.weight_names) :]
    matrix, known = phi.matrix(), phi.coefficients()
    found = {
        (k + 1, j + 1, exponents): value
        for k, j in np.ndindex(*phi.entries.shape)
        for exponents, value in sympy.Poly(matrix[int(k), int(j)], *inputs).as_dict().items()
    }
    assert known == found
    assert matrix.free_symbols == phi.free_symbols
    vector = sympy.Matrix(phi.coefficient_vector())
    keys = [(k + 1, j + 1, e) for k, j in np.ndindex(*phi.entries.shape) for e in phi.monomials()]
    assert list(vector) == [found.get(key, 0) for key in keys]
    assert list(known) == [key for key in keys if key in known]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_jacobian_is_that_of_sympy(name: str) -> None:
    phi = polynomial_map(NETWORKS[name])
    rows = phi.distinct_coefficients()
    assert len(set(rows.values())) == len(rows)
    assert set(rows.values()) == set(phi.coefficients().values())
    assert phi.jacobian() == sympy.Matrix(list(rows.values())).jacobian(phi.weight_symbols)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_rank_at_a_point_and_its_evidence(name: str) -> None:
    phi = polynomial_map(NETWORKS[name])
    keys = list(phi.distinct_coefficients())
    full = sympy.Matrix(list(phi.coefficients().values())).jacobian(phi.weight_symbols)
    everything = list(phi.coefficients())
    for seed in range(3):
        w = Weights.random(phi.architecture, seed=seed, bound=2 * seed, denominator=2)
        numbers = [sympy.Rational(x.numerator, x.denominator) for m in w.named().values() for x in m.ravel()]
        at = full.xreplace(dict(zip(phi.weight_symbols, numbers, strict=True)))
        found = phi.jacobian_rank(w)
        assert isinstance(found, JacobianRank)
        assert found.rank == at.rank()
        rows = [everything.index(key) for key in found.pivot_coefficients]
        columns = [phi.weight_names.index(name) for name in found.pivot_weights]
        if rows:
            minor = at.extract(rows, columns).det()
            assert minor == sympy.Rational(found.minor.numerator, found.minor.denominator) != 0
        assert len(found.kernel) == len(numbers) - found.rank
        for vector in found.kernel:
            assert not any(at * sympy.Matrix([sympy.Rational(x.numerator, x.denominator) for x in vector]))
        assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
        assert eval(repr(found), {"JacobianRank": type(found), "Fraction": Fraction}) == found  # noqa: S307
        assert "\n" not in repr(found)
    assert len(keys) <= len(everything)


def test_the_rank_of_variables_that_are_no_weights_is_taken_of_the_polynomials() -> None:
    phi = one_layer_map(2, 1, 2)
    values = {"A_1_1": 1, "A_1_2": 2, "A_2_1": 0, "A_2_2": 5, "V_1_1": 1, "V_1_2": 3}
    assert phi.jacobian_rank(values).rank == 5
    assert phi.jacobian_rank(dict.fromkeys(values, 0)).rank == 0
    assert phi.generic_rank().rank == 5
    with pytest.raises(BadInput, match="variables are all weights"):
        phi.jacobian_rank(Weights.random(FIGURE_1))


@pytest.mark.parametrize("seed", range(20))
def test_certified_ranks_of_random_matrices(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, columns, r = generator.integers(1, 7, size=3)
    left, right = generator.integers(-3, 4, size=(rows, r)), generator.integers(-3, 4, size=(r, columns))
    matrix = (left @ right).astype(object) * Fraction(1, 3)
    if seed % 3 == 0:
        matrix = matrix * 4194301  # zero modulo the first prime
    found = certified_rank(matrix)
    assert found.rank == sympy.Matrix(matrix.tolist()).applyfunc(sympy.Rational).rank()
    assert found.minor != 0
    assert len(found.kernel) == columns - found.rank
    assert all(not any(matrix @ np.array(vector, dtype=object)) for vector in found.kernel)


@pytest.mark.parametrize("name", [*NETWORKS, "more", "two layers, two tokens"])
def test_generic_ranks_enclose_the_dimension(name: str) -> None:
    more = {
        "more": Architecture((2, 2), (1,), 2, heads=2),
        "two layers, two tokens": Architecture((2, 2, 2), (1, 1), 2),
    }
    shape = (NETWORKS | more)[name]
    found = polynomial_map(shape).generic_rank()
    dimension = certified_dimension(shape).value
    assert dimension is not None
    assert found.lower == dimension <= found.upper
    assert found.rank == dimension or shape.heads > 1
    assert str(found).count("\n") == 2


def test_generic_ranks_of_families() -> None:
    a, b = sympy.symbols("a b")
    for query, expected in (([[a, b]], 2), ([[a + b**2, 1]], 1), ([[a * b, 1]], 1), ([[a - a, 1]], None)):
        w = Weights.of({"Q1": query, "K1": [[1, 2]], "V1": [[1, 1]]})
        phi = polynomial_map(w.architecture(2), w)
        if expected is None:
            with pytest.raises(BadInput, match="must be of a map with symbolic weights"):
                phi.generic_rank()
        else:
            assert phi.generic_rank().rank == expected
    w = Weights.of({"Q1": [[a, b]], "K1": [[0, 0]], "V1": [[1, 1]]})
    assert polynomial_map(w.architecture(2), w).generic_rank().rank == 0


def test_a_field_that_is_none_is_no_upper_bound() -> None:
    """Points of another network suggest fields; those along which a coefficient changes are not counted."""
    phi, other = polynomial_map(FIGURE_1), Architecture((2, 1), (2,), 1)
    generator = np.random.default_rng(0)
    search = FieldSearch(phi.ring, 10, list(phi.entries.ravel()), lambda: network_sample(other, generator))
    honest = FieldSearch(phi.ring, 10, list(phi.entries.ravel()), lambda: network_sample(FIGURE_1, generator))
    assert search.independent(1, 10) <= honest.independent(1, 10) == 5

    def rank_at(point: Any) -> int:
        return phi.jacobian_rank(dict(zip(phi.weight_names, point, strict=True))).rank

    found = generic_rank_bounds(search, phi.weight_names, rank_at, 40)
    assert isinstance(found, GenericRank)
    assert found.lower == 5 <= found.upper


def test_symbols_by_name() -> None:
    phi = polynomial_map(FIGURE_1)
    symbols = phi.free_symbols
    assert symbols["Q1_1_2"] == symbols["q1_1_2"] == symbols["q_1_2"] == symbols["Q_1_2"] == sympy.Symbol("Q1_1_2")
    assert symbols["x_2_1"] == sympy.Symbol("x_2_1")
    assert isinstance(symbols, frozenset)
    assert pickle.loads(pickle.dumps(symbols)) == symbols  # noqa: S301
    deep = polynomial_map(Architecture((1, 1, 1), (1, 1), 1)).free_symbols
    assert deep["q2_1_1"] == sympy.Symbol("Q2_1_1")
    heads = polynomial_map(Architecture((1, 1), (1,), 1, heads=2)).free_symbols
    assert heads["v_2_1_1"] == heads["v1_2_1_1"] == sympy.Symbol("V1_2_1_1")
    for known, wrong in ((deep, "q_1_1"), (symbols, "q_1_3"), (symbols, "y")):
        with pytest.raises(BadInput, match="one of the names that occur, near"):
            known[wrong]


def test_values_for_some_of_the_weights() -> None:
    phi = polynomial_map(FIGURE_1)
    some = phi.at({"Q1": sympy.eye(2), "k_1_1": 1, sympy.Symbol("V1_1_2"): sympy.Rational(1, 2)})
    assert isinstance(some, PolynomialMap)
    assert some.weight_names == ("K1_1_2", "K1_2_1", "K1_2_2", "V1_1_1")
    w = Weights.of({"Q1": [[1, 0], [0, 1]], "K1": [[1, 2], [3, 4]], "V1": [[5, Fraction(1, 2)]]})
    rest = {"K1_1_2": 2, "K1_2_1": 3, "K1_2_2": 4, "V1_1_1": 5}
    assert some.at(rest).matrix() == phi.at(w).matrix() == polynomial_map(FIGURE_1, w).matrix()
    with pytest.raises(TooLarge, match="the map at these weights"):
        phi.at({"Q1": [[sympy.Symbol("a") + sympy.Symbol("b"), 0], [0, 0]]}, memory=100)


ONE = polynomial_map(Architecture((1, 1), (1,), 1), Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}))
REFUSED: dict[str, tuple[Any, str]] = {
    "another shape": (lambda phi: phi.at(Weights.random(Architecture((2, 2), (1,), 2))), "must be of the network"),
    "an unknown matrix": (lambda phi: phi.at({"Q2": [[1]]}), "one of the names that occur"),
    "a matrix of another shape": (lambda phi: phi.at({"Q1": [[1]]}), r"must be of shape \(2, 2\)"),
    "twice": (lambda phi: phi.at({"Q1": sympy.eye(2), "q_1_1": 1}), "two for Q1_1_1"),
    "no mapping": (lambda phi: phi.at([1, 2]), "got list"),
    "a string": (lambda phi: phi.at({"q_1_1": "1"}), "must be an integer, a fraction or a float"),
    "a rank without a weight": (lambda phi: phi.jacobian_rank({"Q1": sympy.eye(2)}), "got none for K1_1_1"),
    "a fiber with letters": (lambda phi: phi.ideal(at={"Q1": sympy.eye(2)}), "got K1_1_1"),
    "a fiber elsewhere": (lambda phi: phi.ideal(at=ONE), "same inputs and outputs"),
    "no such layer": (lambda phi: phi.attention_matrix(2), "got layer 2, head 1"),
    "memory": (lambda phi: phi.jacobian(memory=1000), "in SymPy"),
    "a seed": (lambda phi: phi.generic_rank(seed=-1), "the seed must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_one_line(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(BadInput, match=message) as caught:
        function(polynomial_map(FIGURE_1))
    assert "\n" not in str(caught.value)


def test_numbers_have_no_jacobian() -> None:
    phi = polynomial_map(FIGURE_1, Weights.random(FIGURE_1))
    for function in (phi.jacobian, phi.ideal, phi.generic_rank):
        with pytest.raises(BadInput, match="symbolic weights, got numbers"):
            function()
    with pytest.raises((BadInput, ShapeError)):
        phi.at({"q_1_1": 1})


def test_the_paper_s_letters() -> None:
    phi = polynomial_map(FIGURE_1)
    attention = phi.attention_matrix()
    q, k = (sympy.Matrix(2, 2, [phi.free_symbols[f"{c}_{i}_{j}"] for i in (1, 2) for j in (1, 2)]) for c in "qk")
    assert attention == k.T * q
    assert attention.shape == (2, 2)


def test_elimination_of_the_graph_gives_the_equations() -> None:
    """One token, one output, d = 1 and two letters: c1 = a^2, c2 = ab, c3 = b^2 have c2^2 = c1 c3."""
    a, b = sympy.symbols("a b")
    w = Weights.of({"Q1": [[a, b]], "K1": [[a, b]], "V1": [[1, 0]]})
    ideal = polynomial_map(w.architecture(1), w).ideal()
    assert ideal.weights == (a, b)
    assert [str(c) for c in ideal.coordinates] == ["c_1_1_1", "c_1_1_2", "c_1_1_3"]
    basis = sympy.groebner(ideal.generators, *ideal.symbols, order="lex")
    (equation,) = [g for g in basis.exprs if not g.free_symbols & {a, b}]
    c1, c2, c3 = ideal.coordinates
    assert sympy.expand(equation.subs({c1: a**2, c2: 2 * a * b, c3: b**2})) == 0
    assert sympy.Poly(equation, *ideal.coordinates).total_degree() == 2
    names = dict(vars(sympy)) | {"PolynomialIdeal": type(ideal)} | {s.name: s for s in ideal.symbols}
    assert eval(repr(ideal), names) == ideal  # noqa: S307
    assert pickle.loads(pickle.dumps(ideal)) == ideal  # noqa: S301
    assert str(ideal).splitlines()[0] == "# ideal of 3 generators in 5 variables over QQ"


def test_the_ideal_of_a_fiber_vanishes_on_the_fiber() -> None:
    phi = polynomial_map(FIGURE_1)
    w = Weights.random(FIGURE_1, seed=3)
    numbers = dict(zip(phi.weight_symbols, (int(x) for m in w.named().values() for x in m.ravel()), strict=True))
    ideal = phi.ideal(at=w)
    assert ideal.generators
    assert not ideal.coordinates
    assert all(g.subs(numbers) == 0 for g in ideal.generators)
    assert phi.ideal(at=polynomial_map(FIGURE_1, w)) == ideal
    moved = {
        s: 2 * v if s.name[0] == "Q" else sympy.Rational(v, 2) if s.name[0] == "K" else v for s, v in numbers.items()
    }
    assert all(g.subs(moved) == 0 for g in ideal.generators)
    assert any(g.subs(numbers | {phi.weight_symbols[0]: 77}) != 0 for g in ideal.generators)
