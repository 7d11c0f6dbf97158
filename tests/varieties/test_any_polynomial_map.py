"""Maps of one's own: secant varieties whose dimensions, degrees and equations others have proved."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import pytest
import sympy

from lightning_sym import Architecture, BadInput, PolynomialMap, ShapeError, equations, polynomial_map, recover
from lightning_sym.network import given_symmetries
from lightning_sym.network.polynomial_map import PolynomialMap as Map
from lightning_sym.varieties import map_coordinates


def veronese(n: int, degree: int, terms: int) -> PolynomialMap:
    """Sums of powers of linear forms in `n + 1` variables."""
    points = [[sympy.Symbol(f"p{i}_{j}") for j in range(n + 1)] for i in range(terms)]
    x = sympy.symbols(f"x:{n + 1}")
    forms = [sum(a * b for a, b in zip(point, x, strict=True)) ** degree for point in points]
    return PolynomialMap.of([[sympy.expand(sum(forms))]], weights=[v for point in points for v in point], inputs=x)


def segre(sizes: tuple[int, ...], terms: int) -> PolynomialMap:
    """Sums of tensors of rank one."""
    letters = [[[sympy.Symbol(f"{'abc'[k]}{i}_{j}") for j in range(n)] for k, n in enumerate(sizes)]
               for i in range(terms)]  # fmt: skip
    entries = [
        sympy.Add(*(sympy.Mul(*(factor[i] for factor, i in zip(term, index, strict=True))) for term in letters))
        for index in product(*map(range, sizes))
    ]
    return PolynomialMap.of([entries], weights=[v for term in letters for factor in term for v in factor])


# Alexander and Hirschowitz: the expected dimension but for quadrics, and four more
DEFECTS = {(2, 4, 5): 14, (3, 4, 9): 34, (4, 4, 14): 69, (4, 3, 7): 34}


@pytest.mark.parametrize(("n", "degree", "terms"), [(1, 3, 2), (2, 2, 2), (3, 2, 3), (2, 3, 3), (2, 4, 5), (4, 3, 7)])
def test_sums_of_powers_have_the_dimension_of_alexander_and_hirschowitz(n: int, degree: int, terms: int) -> None:
    expected = min(terms * (n + 1), comb(n + degree, degree))
    if degree == 2 and terms <= n:
        expected = terms * (n + 1) - terms * (terms - 1) // 2  # symmetric matrices of rank at most `terms`
    found = veronese(n, degree, terms).generic_rank()
    assert found.lower == DEFECTS.get((n, degree, terms), expected)
    # of quadrics the defect comes from rotations, which are linear fields; what others need is not looked for
    assert found.upper == min(terms * (n + 1), comb(n + degree, degree)) if degree > 2 else found.rank == expected


@pytest.mark.parametrize(
    ("make", "arguments", "degree", "known"),
    [
        (veronese, (2, 2, 2), 3, (5, 6, 3, {3: 1})),
        (veronese, (1, 3, 1), 2, (2, 4, None, {2: 3})),
        (segre, ((2, 3), 1), 2, (4, 6, None, {2: 3})),
        (segre, ((3, 3), 2), 3, (8, 9, 3, {3: 1})),
        (segre, ((2, 2, 2), 1), 2, (4, 8, None, {2: 9})),
        (segre, ((2, 2, 2), 2), 2, (8, 8, 1, {})),
    ],
)
def test_equations_of_secant_varieties(
    make: Callable[..., PolynomialMap], arguments: Any, degree: int, known: Any
) -> None:
    found = equations(make(*arguments), degree)
    assert (found.dimension, found.linear_span, found.degree, dict(found.counts)) == known
    assert found.complete_to_degree >= degree
    lower, upper = found.degree_bounds or (0, 0)
    assert lower <= {(1, 3, 1): 3, ((2, 3), 1): 3, ((2, 2, 2), 1): 6}.get(arguments, known[2]) <= upper


NODE = "a**2 - 1", "a**3 - a"


def node() -> PolynomialMap:
    return PolynomialMap.of([list(map(sympy.sympify, NODE))], weights=["a"])


def test_a_curve_that_is_no_cone() -> None:
    found = equations(node(), 3)
    assert [str(g.as_expr()) for g in found.generators[3]] == ["c_1**3 + c_1**2*c_3 - c_2**2*c_3"]
    assert (found.is_cone, found.dimension, found.degree) == (False, 1, 3)
    assert found.vanishes_at({"a": 5})
    assert found.vanishes_at({(1, 1, ()): 0})
    assert not found.vanishes_at({(1, 1, ()): 1})
    assert [found.tangent_dimension_bound({"a": a}) for a in (1, 3)] == [2, 1]
    assert str(found).startswith("map ")


def test_coefficients_that_differ_by_a_constant_are_one_coordinate() -> None:
    a, b = sympy.symbols("a b")
    found = equations(PolynomialMap.of([[a, a + 1, b, a * b, 3]], weights=[a, b]), 2)
    assert (found.linear_span, dict(found.counts)) == (4, {2: 1})
    assert found.vanishes_at({(1, i, ()): v for i, v in enumerate((2, 3, 5, 10, 3), start=1)})
    assert not found.vanishes_at({(1, i, ()): v for i, v in enumerate((2, 4, 5, 10, 3), start=1)})


def test_an_equation_decides_a_dimension_that_ranks_leave_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_sym.network.generic_rank.MOST_UNKNOWNS", 0)
    phi = veronese(2, 2, 2)
    assert phi.generic_rank().rank is None
    assert [equations(phi, degree).dimension for degree in (2, 3)] == [None, 5]


def test_a_map_that_is_taken_for_a_cone_has_wrong_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the constant coordinate is for."""
    right = equations(node(), 3).counts
    true = map_coordinates._weights

    def as_cone(*given: Any) -> Any:
        return true(*given)[0], True

    monkeypatch.setattr(map_coordinates, "_weights", as_cone)
    assert equations(node(), 3).counts != right


def test_a_map_of_a_network_given_by_hand_is_that_of_the_network() -> None:
    network = Architecture((2, 1), (1,), 2)
    phi = polynomial_map(network)
    own = PolynomialMap.of(phi.matrix(), weights=phi.weight_symbols, inputs=phi.symbols[len(phi.weight_names) :])
    assert own.coefficient_vector() == phi.coefficient_vector()
    assert own.jacobian() == phi.jacobian()
    assert own.generic_rank().rank == phi.generic_rank().rank == 4
    mine, theirs = equations(own, 2), equations(network, 2)
    assert (mine.hilbert_function, mine.counts) == (theirs.hilbert_function, theirs.counts)
    assert own.ideal().generators == phi.ideal().generators
    at = {name: i - 2 for i, name in enumerate(phi.weight_names)}
    assert str(own.jacobian_rank(at)) == str(phi.jacobian_rank(at))
    assert own.at(at).coefficients() == phi.at(at).coefficients()
    assert mine.degree_bounds == (3, 3**3)


U, W, X = sympy.symbols("u1:3"), sympy.symbols("w1:3"), sympy.Symbol("x", real=True)


def products() -> PolynomialMap:
    return PolynomialMap.of([[sum(u * w for u, w in zip(U, W, strict=True)) * X]], weights=[*U, *W], inputs=[X])


def test_what_gradient_flow_keeps_because_of_a_group() -> None:
    general = [{U[i]: U[j], W[j]: -W[i]} for i in range(2) for j in range(2)]
    found = products().conserved(general)
    assert found.count == 3
    for quantity in found.quantities:
        # along the gradient of the product, by hand
        flow = sum(quantity.diff(u) * w + quantity.diff(w) * u for u, w in zip(U, W, strict=True))
        assert sympy.expand(flow) == 0
    torus = products().conserved(general[::3])
    assert (torus.lower, torus.upper, len(torus.quantities)) == (2, 3, 2)
    skew = products().conserved([sympy.Matrix(4, 4, [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0])])
    assert (skew.quantities, skew.lower) == ((), 0)


def test_a_moment_of_no_symmetry_would_be_told_without_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="must keep every coefficient"):
        products().conserved([{U[0]: U[0]}])
    monkeypatch.setattr(given_symmetries, "_require_kept", lambda *_: None)
    assert products().conserved([{U[0]: U[0]}]).quantities == (U[0] ** 2,)  # false: it grows along the flow


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: PolynomialMap.of([[U[0]]], weights=[U[0], "u1"]), "different letters, got u1 twice"),
        (lambda: PolynomialMap.of([[U[0] * X]], weights=[U[0]]), "listed as weights or inputs, got x"),
        (lambda: PolynomialMap.of([[1 / U[0]]], weights=U), "polynomial in letters"),
        (lambda: PolynomialMap.of([], weights=U), "at least one entry"),
        (lambda: PolynomialMap.of([[1]], weights=3), "weights must be a list"),  # type: ignore[arg-type]
        (lambda: PolynomialMap.of([[1]], weights=["a b"]), "ASCII letters"),
        (lambda: PolynomialMap.of([[1]], weights=[sympy.Symbol("a", commutative=False)]), "commuting"),
        (lambda: equations(PolynomialMap.of([[1]], weights=[])), "symbolic weights, got numbers"),
        (lambda: equations(PolynomialMap.of([[0]], weights=["a"])), "not zero"),
        (lambda: equations(polynomial_map(Architecture((1, 1), (1,), 1))), "Architecture of a network"),
        (lambda: equations(node(), 2).architecture, "that of a network here"),
        (lambda: equations(node(), 2).at({"b": 1}), "names that occur"),
        (lambda: equations(node(), 2).at({(0, 3, ()): 1}), "an output and a monomial"),
        (lambda: recover(products().at(dict.fromkeys((*U, *W), 1))), "that of a network here"),
        (lambda: products().attention_matrix(), "that of a network here"),
        (lambda: products().at({U[0]: sympy.Symbol("x")}), "called like inputs"),
        (lambda: products().conserved([[[1, 2], [3, 4]]]), "4 x 4"),
        (lambda: products().conserved([{U[0]: U[0] ** 2}]), "linear in the weights"),
        (lambda: products().conserved([{X: U[0]}]), "weights of the map"),
        (lambda: products().conserved("ab"), "list of generators"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises((BadInput, ShapeError), match=message):
        ask()


def test_letters_with_assumptions_stay_theirs() -> None:
    phi = products()
    assert phi.matrix()[0].free_symbols == {*U, *W, X}
    assert phi.at({U[0]: 2}).symbols[-1] is X
    assert Map.of([[Fraction(1, 2)]], weights=[]).coefficients() == {(1, 1, ()): sympy.Rational(1, 2)}
    assert "kernel" in phi.to_text("singular")


def test_recovery_reads_any_letters_in_the_order_in_which_they_are_listed() -> None:
    a, b = sympy.symbols("a b")
    shape = Architecture((2, 1), (1,), 1)
    for inputs, text in (([a, b], "2*x_1_1^3 + 4*x_1_1^2*x_2_1"), ([b, a], "2*x_2_1^3 + 4*x_2_1^2*x_1_1")):
        own = PolynomialMap.of([[2 * a**3 + 4 * a**2 * b]], weights=[], inputs=inputs)
        assert recover(own, shape) == recover([[text]], shape)
    with pytest.raises(ShapeError, match="in 2 inputs, listed as"):
        recover(PolynomialMap.of([[a**3]], weights=[], inputs=[a]), shape)


def test_a_large_map_is_printed_cut_and_told_whole() -> None:
    phi = polynomial_map(Architecture((3, 5), (2,), 3))
    lines = str(phi).splitlines()
    assert lines[0] == phi.whole_text().splitlines()[0]
    assert lines[1].endswith(f"... ({len(phi.entries[0, 0]):,} terms)")
    assert lines[-1] == "... 3 more outputs"
    assert len(phi.whole_text().splitlines()) == 16
    small = polynomial_map(Architecture((2, 1), (1,), 1))
    assert str(small) == small.whole_text()
