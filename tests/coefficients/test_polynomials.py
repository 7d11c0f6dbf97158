"""Bounds of learning coefficients of polynomials: known ones, what must not change them, and linear programs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym import Architecture, BadInput, TooLarge, Weights, polynomial_coefficient, polynomial_map
from lightning_sym.coefficients import coordinates
from lightning_sym.coefficients.composition import StepBudget, StepPrice, coefficient_bits
from lightning_sym.coefficients.newton import best_weights, maximize, multiplicity
from lightning_sym.coefficients.polynomial_input import ideal_of
from lightning_sym.exact import rational
from lightning_sym.limits import Work
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.checker import verify

Half = Fraction(1, 2)


def product_of_matrices(p: int, h: int, n: int) -> str:
    """The entries of a p x h times an h x n matrix."""
    places = product(range(p), range(n))
    return ", ".join(" + ".join(f"f{i}{k}*d{k}{j}" for k in range(h)) for i, j in places)


def by_strata(p: int, h: int, n: int) -> Fraction:
    """Half the codimension of the largest stratum of pairs whose product is zero, by their ranks."""
    ranks = product(range(min(p, h) + 1), range(min(h, n) + 1))

    def dimension(a: int, b: int) -> int:  # F of rank a, then D of rank b in its kernel
        return a * (p + h - a) + b * (h - a + n - b)

    largest = max(dimension(a, b) for a, b in ranks if a + b <= h)
    return Fraction(p * h + h * n - largest, 2)


KNOWN = {
    "x*y, x^2": (Half, 2), "x*y": (Half, 2), "x*y, z": (Fraction(1), 2), "x^2*y^3": (Fraction(1, 6), 1),
    "x^3": (Fraction(1, 6), 1), "x + y^2, x*y": (Fraction(2, 3), 1), "x^2 + 2*x*y + y^2, x*z + y*z": (Half, 2),
    "x + x^2*y + z^2, y*z": (Fraction(1), None), "x": (Half, 1), "x*y*z": (Half, 3), "x + y, x - y": (Fraction(1), 1),
    "x^4 + y^4, x^2*y^2": (Fraction(1, 4), None), "0*x": (Fraction(0), 1), "x*y*z, x^3 + y^3": (Half, None),
}  # fmt: skip


@pytest.mark.parametrize("ideal", KNOWN)
def test_known_ones(ideal: str) -> None:
    value, order = KNOWN[ideal]
    found = polynomial_coefficient(ideal)
    assert found.value == value
    assert order is None or found.multiplicity == order


@pytest.mark.parametrize(
    ("p", "h", "n"), [(1, 1, 2), (2, 1, 2), (1, 2, 2), (2, 2, 1), (3, 2, 1), (2, 2, 2), (3, 2, 2), (3, 2, 3)]
)
def test_products_of_matrices_at_zero(p: int, h: int, n: int) -> None:
    """The codimension of the zeros is known otherwise; it is a bound from above, and here it is reached."""
    found = polynomial_coefficient(product_of_matrices(p, h, n))
    assert found.value == by_strata(p, h, n)


def test_products_of_matrices_at_every_kind_of_point() -> None:
    """2 x 2 times 2 x 2 at pairs of ranks, with the value there taken off: local reduced rank, by another road."""
    ideal = product_of_matrices(2, 2, 2).split(", ")
    for f, d, value in [
        ([1, 0, 0, 1], [0, 0, 0, 0], Fraction(2)), ([1, 0, 0, 0], [0, 0, 0, 1], Fraction(3, 2)),
        ([1, 0, 0, 0], [1, 0, 0, 0], Fraction(2)), ([1, 0, 0, 1], [1, 2, 3, 4], Fraction(2)),
        ([1, 0, 0, 0], [0, 0, 0, 0], Fraction(3, 2)), ([0, 0, 0, 0], [1, 0, 0, 1], Fraction(2)),
    ]:  # fmt: skip
        places = [f"{i}{j}" for i in range(2) for j in range(2)]
        at = {f"f{x}": v for x, v in zip(places, f, strict=True)} | {f"d{x}": v for x, v in zip(places, d, strict=True)}
        entries = [sum(f[2 * i + k] * d[2 * k + j] for k in range(2)) for i in range(2) for j in range(2)]
        found = polynomial_coefficient(", ".join(f"{g} - {c}" for g, c in zip(ideal, entries, strict=True)), at)
        assert found.lower <= value <= found.upper
        assert found.value == value


def test_bounds_need_not_meet() -> None:
    found = polynomial_coefficient("y^2 - 2*x^2*y + x^4 + x^5")  # 7/20, by y - x^2
    assert (found.lower, found.upper, found.value) == (Fraction(1, 4), Fraction(3, 8), None)
    assert found.multiplicity is None
    assert "between 1/4 and 3/8" in str(found)
    with pytest.raises(BadInput, match="certified"):
        bool(found)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_change_of_coordinates_changes_no_true_bound(data: st.DataObject) -> None:
    """Bounds in other coordinates are bounds of the same number: each one below is at most each one above."""
    x, y, z = letters = sympy.symbols("x y z")
    monomials = data.draw(st.lists(st.sampled_from([x * y, x**2, y**3, x * z, y * z, z**2, x**2 * y]), min_size=1))
    numbers = data.draw(st.lists(st.integers(-2, 2), min_size=9, max_size=9))
    matrix = sympy.Matrix(3, 3, numbers)
    if matrix.det() == 0:
        return
    images = dict(zip(letters, matrix * sympy.Matrix(letters), strict=True))
    images[x] += data.draw(st.integers(-2, 2)) * y**2
    plain = polynomial_coefficient(monomials)
    moved = polynomial_coefficient([sympy.expand(m.subs(images, simultaneous=True)) for m in monomials])
    assert plain.certified
    assert moved.lower <= plain.lower <= moved.upper
    if moved.multiplicity:
        assert (moved.value, moved.multiplicity) == (plain.value, plain.multiplicity)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.dictionaries(st.tuples(*[st.integers(0, 3)] * 2), st.integers(-2, 2), max_size=3), max_size=3))
def test_separate_variables_add(terms: list[dict[tuple[int, int], int]]) -> None:
    polynomials = [{e: c for e, c in p.items() if c and any(e)} for p in terms]
    text = [" + ".join(f"{c}*x^{e[0]}*y^{e[1]}" for e, c in p.items()).replace("+ -", "- ") for p in polynomials if p]
    if not text:
        return
    one = polynomial_coefficient(", ".join(text))
    two = polynomial_coefficient(", ".join([*text, *(t.replace("x", "a").replace("y", "b") for t in text)]))
    assert one.lower <= one.upper
    assert two.lower <= 2 * one.upper
    assert 2 * one.lower <= two.upper
    assert verify.check(two.certificate)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3).filter(any), min_size=1, max_size=8))
def test_solutions_of_programs_prove_each_other(columns: list[tuple[int, ...]]) -> None:
    found = maximize(columns, [1, 1, 1])
    assert min(*found.multipliers, *found.weights, Fraction(0)) == 0
    assert sum(found.multipliers) == sum(found.weights) == found.value
    for i in range(3):
        assert sum(y * a[i] for y, a in zip(found.multipliers, columns, strict=True)) <= 1
    assert all(sum(w * x for w, x in zip(found.weights, a, strict=True)) >= 1 for a in columns)


MONOMIALS = [
    [(1, 1)], [(2, 2)], [(2, 1)], [(1, 0), (0, 2)], [(3, 0), (1, 1), (0, 3)], [(3, 1), (1, 3)], [(4, 1), (1, 2)],
]  # fmt: skip


@pytest.mark.parametrize("monomials", MONOMIALS)
def test_multiplicities_of_monomials_are_those_of_sums(monomials: list[tuple[int, int]]) -> None:
    """The sum of 2^-(a+b) where all monomials are at least k, times 2^(2 lambda k), is bounded or grows like k."""

    def mass(k: int) -> float:
        inside = ((a, b) for a in range(3 * k) for b in range(3 * k) if all(a * x + b * y >= k for x, y in monomials))
        return sum(2.0 ** -(a + b) for a, b in inside)

    two, order = best_weights(monomials, 2).value, multiplicity(monomials, 2)
    scaled = [mass(k) * 2.0 ** float(two * k) for k in (24, 48)]
    assert (scaled[1] > 1.5 * scaled[0]) == (order == 2)


def test_the_map_of_a_network() -> None:
    phi = polynomial_map(Architecture((1, 1), (1,), 2))  # V K Q, one number each
    assert polynomial_coefficient(phi).value == Half
    assert polynomial_coefficient(phi).multiplicity == 3
    regular = polynomial_coefficient(phi, dict(zip(phi.weight_names, (1, 2, 3), strict=True)))
    assert (regular.value, regular.multiplicity) == (Half, 1)
    assert regular.about.startswith("of the mean squared error")
    with pytest.raises(BadInput, match="letters for weights"):
        polynomial_coefficient(
            polynomial_map(Architecture((1, 1), (1,), 2), Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}))
        )


def test_a_lightning_layer_at_zero_weights() -> None:
    """Two products of two matrices, of which the larger one is smaller: min(d d' / 2, the pair of K^T Q)."""
    assert polynomial_coefficient(polynomial_map(Architecture((2, 2), (2,), 2))).value == Fraction(3, 2)


def test_little_work_leaves_worse_bounds_that_are_true() -> None:
    ideal = product_of_matrices(2, 2, 2)
    little, much = polynomial_coefficient(ideal, work=0.001), polynomial_coefficient(ideal)
    assert little.lower <= much.lower <= much.upper <= little.upper
    assert little.upper > much.upper
    assert verify.check(little.certificate)
    with pytest.raises(BadInput, match="positive number of seconds"):
        polynomial_coefficient(ideal, work=0)


WRONG = {
    "x + 1": "must be zero at the point, number 1 is 1", "": "must not be empty", "x, , y": "must not be empty",
    "x*(y + 1)": "without brackets", "0.5*x": "integers and fractions", "x^61": "at most 60 as their degree",
    "x^-1": "powers that are integers", "__import__('os')": "a sum of terms",
}  # fmt: skip


@pytest.mark.parametrize("ideal", WRONG)
def test_what_is_no_ideal_is_refused(ideal: str) -> None:
    with pytest.raises(BadInput, match=WRONG[ideal]):
        polynomial_coefficient(ideal)


def test_points_and_sizes_are_refused() -> None:
    x = sympy.Symbol("x")
    for polynomials, at, said in [
        ("x", {"y": 1}, "must name variables of the polynomials, x; got 'y'"),
        ("x", {"x": "1/0"}, "must be an integer or a fraction"),
        ("x", {"x": "1e999999999"}, "must be an integer or a fraction"),
        ("x", {"x": 0.5}, "must be an integer or a fraction"),
        ([sympy.sqrt(2) * x], {}, "rational coefficients"),
        ([sympy.sin(x)], {}, "rational coefficients"),
        ([], {}, "there must be a polynomial"),
    ]:
        with pytest.raises(BadInput, match=said):
            polynomial_coefficient(polynomials, at)  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match="60 variables"):
        polynomial_coefficient(", ".join(f"x{i}" for i in range(61)))


def test_more_generators_than_elements_are_looked_for_among() -> None:
    """Of 153 products of two variables at most 150 are taken: bounds, and no error; too many terms are refused."""
    pairs = ", ".join(f"x{i}*x{j}" for i in range(18) for j in range(i))
    found = polynomial_coefficient(pairs)
    assert found.lower <= Fraction(9, 2) == found.upper
    long = " + ".join(f"{i + j}*x^{i}*y^{j}" for i in range(56) for j in range(56) if 1 < i + j <= 60)
    with pytest.raises(TooLarge, match=r"at most 3,000 terms, got 3,716"):
        polynomial_coefficient(f"{long}, {long} + x^2")


@pytest.mark.parametrize("work", [1e6, 0.02])
def test_dependent_linear_factors_are_not_tried_without_end(work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 forms in two variables and 13 others all choices that come first are dependent: 40 over 15 of them."""
    ring = PolynomialRing([f"x{i}" for i in range(15)])
    u = ring.generators
    forms = [u[0] + ring.constant(k) * u[1] for k in range(1, 41)] + [x + u[0] for x in u[2:]]
    ranks = []

    def counted(rows: list[list[Fraction]]) -> int:
        ranks.append(len(rows))
        return exact(rows)

    exact = rational.rank
    monkeypatch.setattr("lightning_sym.coefficients.coordinates.rank", counted)
    allowed = StepBudget(Work(work), 10**9)
    found = list(coordinates.linear_changes(coordinates.Coordinates.of(ring, forms), allowed))
    assert len(found) == 1
    assert len(ranks) <= coordinates.MOST_CHOICES + 1
    assert allowed.work.spent >= coordinates.CALL / 10 * len(ranks)
    assert len(ranks) == coordinates.MOST_CHOICES + 1 if work > 1 else len(ranks) < 300


def quadrics(count: int, variables: int, terms: int) -> str:
    """Random ones."""
    draw, names = Random(0), [f"x{i}" for i in range(variables)]

    def quadric() -> str:
        return " + ".join(f"{draw.randint(1, 9)}*{draw.choice(names)}*{draw.choice(names)}" for _ in range(terms))

    return ", ".join(quadric() for _ in range(count))


def test_numbers_do_not_grow_in_new_coordinates() -> None:
    """Of 300 quadrics in 12 variables they had 170,000 bits, tripled at each step, and no price knew."""
    allowed = StepBudget(Work(100), 10**9)
    ideal = ideal_of(quadrics(40, 12, 9), {}, allowed)
    settled = coordinates.straightened(coordinates.Coordinates.of(ideal.ring, ideal.generators), allowed)
    assert settled.numerators != settled.ring.generators
    assert coefficient_bits((*settled.generators, *settled.numerators)) < 200


def test_what_is_spent_of_a_half_is_spent_of_the_whole() -> None:
    whole = StepBudget(Work(8), 10**9)
    half = whole.half
    half.require(StepPrice(3.0), "a step")
    assert not half.allows(StepPrice(2.0))
    assert whole.work.spent == 3
    whole.require(StepPrice(4.5), "a step")
    assert not half.begins(StepPrice(0.9), "a step")
