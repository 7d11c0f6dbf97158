"""Maps of no network: what is refused, and that nothing wrong is ever called weights."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from maps_of_weights import has_function, letters

from lightning_sym import (
    Architecture,
    Membership,
    PolynomialMap,
    Recovery,
    VirtualWeights,
    Weights,
    polynomial_map,
    recover,
)
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.exact.number_field import RATIONALS
from lightning_sym.fibers.recovery import network_of
from lightning_sym.network.one_layer import coefficients_from_products, quadratic_monomials
from lightning_sym.varieties import map_recovery, membership, realization, skew_parts
from lightning_sym.varieties.map_coefficients import input_ring


def of_products(forms: list[list[int]], tokens: int = 2) -> PolynomialMap:
    """The map with the binary quadratic forms `b_1`, `b_2` for one output (Proposition A.5)."""
    shape = Architecture((2, 1), (2,), tokens)
    ring = input_ring(shape)
    terms: list[dict[tuple[int, ...], int]] = [{} for _ in range(tokens)]
    for (_, j, exponents), places in coefficients_from_products(2, 1, tokens).items():
        if value := sum(forms[k][n] for k, _, n in places):
            terms[j - 1][exponents] = value
    entries = np.empty((1, tokens), dtype=object)
    entries[0] = [ring.from_terms(each) for each in terms]
    return PolynomialMap(shape, entries, ring, (), ring.names)


def expected(forms: list[list[int]], rank: int) -> bool:
    """By SymPy: a common real linear factor, and a matrix of that rank."""
    x, y = sympy.symbols("x y")
    monomials = [x**2, x * y, y**2]
    one, other = (sympy.Poly(sum(c * m for c, m in zip(f, monomials, strict=True)), x, y) for f in forms)
    common = sympy.gcd(one, other)
    if one.is_zero and other.is_zero:
        return True
    if common.total_degree() == 1:
        return rank == 2
    if common.total_degree() == 0:
        return False
    form = common.as_expr()
    a, b, c = (sympy.Poly(form, x, y).coeff_monomial(m) for m in monomials)
    return bool(b**2 - 4 * a * c >= 0)


FORMS = st.lists(st.integers(-2, 2), min_size=3, max_size=3)


@settings(deadline=None, max_examples=150)
@given(st.lists(FORMS, min_size=2, max_size=2), st.integers(1, 2), st.booleans())
def test_pairs_of_binary_forms(forms: list[list[int]], rank: int, proportional: bool) -> None:
    """Figure 1: one layer, `d = 2`, `d' = 1`, decided by SymPy from the two forms."""
    if proportional:
        forms = [forms[0], [2 * c for c in forms[0]]]
    phi = of_products(forms)
    found = recover(phi, Architecture((2, 1), (rank,), 2))
    assert (found.answer is Membership.WEIGHTS) == expected(forms, rank), found
    if found.answer is Membership.WEIGHTS:
        assert has_function(found, phi.matrix())
    else:
        assert found.answer is Membership.NONE
        assert found.reasons
        # over the complex numbers: a common factor of any kind
        if rank == 2:
            resultant = _resultant(*forms)
            assert found.complex_weights == (resultant == 0)


def _resultant(f: list[int], g: list[int]) -> int:
    return int(sympy.Matrix([[*f, 0], [0, *f], [*g, 0], [0, *g]]).det())


def changed(phi: PolynomialMap, number: int) -> PolynomialMap:
    """One coefficient of a map is another."""
    places = [(k, j, m) for (k, j), entry in np.ndenumerate(phi.entries) for m in entry.monoms()]
    k, j, monomial = places[number % len(places)]
    entries = phi.entries.copy()
    entries[k, j] = entries[k, j] + phi.ring.from_terms({monomial: 7})
    return PolynomialMap(phi.architecture, entries, phi.ring, (), phi.ring.names)


@pytest.mark.parametrize("shape", [((2, 2), (2,), 2), ((3, 1), (2,), 2), ((2, 1), (1,), 3), ((2, 2, 1), (2, 2), 2)])
def test_one_wrong_coefficient(shape: tuple[tuple[int, ...], tuple[int, ...], int]) -> None:
    architecture = Architecture(*shape)
    phi = polynomial_map(architecture, Weights.random(architecture, seed=3, bound=3))
    for number in range(0, 60, 7):
        found = recover(changed(phi, number))
        assert found.answer is Membership.NONE, number
        assert found.reasons or found.difference


def test_one_wrong_coefficient_at_one_token() -> None:
    """A cubic of two letters always has a factor; of degree nine it has not, and nothing wrong is said."""
    architecture = Architecture((2, 1, 2), (2, 2), 1)
    phi = polynomial_map(architecture, Weights.random(architecture, seed=3, bound=3))
    for number in range(12):
        assert recover(changed(phi, number)).answer is Membership.NONE


@pytest.mark.parametrize("widths", [(2, 1), (3, 2)])
def test_random_maps_are_of_no_layer(widths: tuple[int, int]) -> None:
    shape = Architecture(widths, (2,), 2)
    ring = input_ring(shape)
    source = random.Random(0)
    entries = np.empty((widths[1], 2), dtype=object)
    for index in np.ndindex(*entries.shape):
        entries[index] = sum((source.randint(1, 9) * a * b * c for a, b, c in product(ring.generators, repeat=3)))
    found = recover(PolynomialMap(shape, entries, ring, (), ring.names))
    assert found.answer is Membership.NONE
    assert found.difference is not None
    assert found.complex_weights is False


def test_arrays_of_forms_that_are_no_products() -> None:
    """All linear conditions hold; a form has rank three, or the factors do not fit together."""
    shape = Architecture((3, 1), (3,), 2)
    for forms in ([[1, 0, 0, 1, 0, 1], [0] * 6, [0] * 6], [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0] * 6]):
        assert len(quadratic_monomials(3)) == 6
        ring = input_ring(shape)
        terms: list[dict[tuple[int, ...], int]] = [{}, {}]
        for (_, j, exponents), places in coefficients_from_products(3, 1, 2).items():
            if value := sum(forms[k][n] for k, _, n in places):
                terms[j - 1][exponents] = value
        entries = np.empty((1, 2), dtype=object)
        entries[0] = [ring.from_terms(each) for each in terms]
        found = recover(PolynomialMap(shape, entries, ring, (), ring.names))
        assert found.answer is Membership.NONE
        assert any("rank three" in r or "divisible" in r or "must be a_" in r for r in found.reasons)
        assert found.complex_weights is False


# ---- shapes that are too small


def answers(weights: Weights, tokens: int, widths: tuple[int, ...], ranks: tuple[int, ...]) -> Recovery:
    return recover(polynomial_map(weights.architecture(tokens), weights), Architecture(widths, ranks, tokens))


def test_rank_and_width_are_what_is_asked_about() -> None:
    full = network_of(VirtualWeights(([[1, 2], [3, 5]], [[1, 1], [0, 1]]), [[1, 2]]))
    assert answers(full, 2, (2, 2, 1), (2, 2)).answer is Membership.WEIGHTS
    assert answers(full, 2, (2, 4, 1), (3, 2)).answer is Membership.WEIGHTS
    for widths, ranks, word in (((2, 2, 1), (1, 2), "A~1"), ((2, 2, 1), (2, 1), "A~2"), ((2, 1, 1), (2, 2), "span")):
        found = answers(full, 2, widths, ranks)
        assert found.answer is Membership.NONE
        assert any(word in reason for reason in found.reasons)
        assert found.complex_weights is False
    # behind a layer of rank one only the symmetric part counts: a form of rank two needs rank one only
    behind = network_of(VirtualWeights(([[1, 2], [2, 4]], [[0, 2], [0, 0]]), [[1, 2]]))
    assert answers(behind, 2, (2, 2, 1), (1, 1)).answer is Membership.WEIGHTS
    definite = network_of(VirtualWeights(([[1, 2], [2, 4]], [[1, 0], [0, 1]]), [[1, 2]]))
    found = answers(definite, 2, (2, 2, 1), (1, 1))
    assert found.answer is Membership.NONE
    assert found.complex_weights is True
    assert answers(definite, 2, (2, 2, 1), (1, 2)).answer is Membership.WEIGHTS


def test_maps_that_no_rotation_of_the_tokens_leaves_alone() -> None:
    shape = Architecture((1, 1, 1), (1, 1), 2)
    found = recover([["x_1_1^9", "x_1_2^9"]], shape)
    assert found.answer is Membership.NONE
    assert "orthogonal" in found.reasons[0]
    found = recover([["x_1_1^8*x_1_2", "x_1_2^9"]], shape)
    assert "odd in token 1" in found.reasons[0]


def test_a_skew_layer_among_three_is_undecided() -> None:
    three = network_of(VirtualWeights(([[0, 1], [-1, 0]], [[1, 2], [3, 5]], [[1, 1], [0, 1]]), [[1, 2]]))
    found = recover(polynomial_map(three.architecture(2), three))
    assert found.answer is Membership.UNDECIDED
    assert found.complex_weights is None
    assert [str(each) for each in found.tried] == [
        "Theorem 6 of docs/recover.md: it needs one layer, got 3",
        "Proposition 4 and Theorem 5 of docs/recover.md: it needs a map that does not vanish at one token",
        "Proposition 7 of docs/recover.md: it needs two layers, got 3",
    ]
    assert "\ntried       Theorem 6" in str(found)


def of_attention(*attention: list[list[int]]) -> PolynomialMap:
    network = network_of(VirtualWeights(attention, [[1, 2]]))
    return polynomial_map(network.architecture(2), network)


SKEW, PLAIN = [[0, 1], [-1, 0]], [[1, 2], [3, 5]]
ONE_TOKEN = Weights.of({"Q1": [[1, 0]], "K1": [[1, 2]], "V1": [[1, 1]]})
NEEDED = {
    "one layer": of_attention(PLAIN, PLAIN),
    "two tokens or more": polynomial_map(ONE_TOKEN.architecture(1), ONE_TOKEN),
    "a map that does not vanish at one token": of_attention(SKEW, PLAIN),
    "two layers": of_attention(SKEW, PLAIN, PLAIN),
}


@pytest.mark.parametrize("must", NEEDED)
def test_a_row_that_loses_a_hypothesis_is_noticed(must: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says then is false, or it cannot be applied."""
    assert {need.must for row in membership.RECOVERY for need in row.needs} == set(NEEDED)  # type: ignore[attr-defined]
    less = [row._replace(needs=tuple(n for n in row.needs if n.must != must)) for row in membership.RECOVERY]  # type: ignore[attr-defined]
    right = recover(NEEDED[must]).answer
    assert right is not Membership.NONE
    monkeypatch.setattr(membership, "RECOVERY", less)
    try:
        assert recover(NEEDED[must]).answer is not right
    except (BadInput, RuntimeError, ValueError):
        return


def test_what_does_not_fit_is_not_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a map whose parts vanish is the function of no network: other refusals are no answer."""
    skew = network_of(VirtualWeights(([[0, 1], [-1, 0]], [[1, 2], [3, 5]]), [[1, 2]]))
    phi = polynomial_map(skew.architecture(2), skew)
    assert recover(phi).answer is Membership.WEIGHTS
    with monkeypatch.context() as patch:
        patch.setattr(membership, "price_of_reconstruction", lambda *_: 100.0)
        with pytest.raises(TooLarge, match="behind a skew-symmetric one"):
            recover(phi)

    def too_large(_: object) -> None:
        raise TooLarge("it does not fit")

    monkeypatch.setattr(membership, "reconstruct", too_large)
    with pytest.raises(TooLarge, match="does not fit"):
        recover(phi)


def test_forms_that_no_network_has_at_one_token() -> None:
    x, y = letters(2, 1)
    shape = Architecture((2, 2, 1), (2, 2), 1)
    for form, word in (
        (x**9 + x * y**8 + y**9, "distinct roots"),
        (sympy.expand(x**5 * y**2 * (x + y) ** 2), "base-3 digits"),
    ):
        found = recover([[form]], shape)
        assert found.answer is Membership.NONE
        assert any(word in reason for reason in found.reasons)
    rows = [[sympy.expand(x**5 * y**4)], [y**9]]
    found = recover(rows, Architecture((2, 2, 2), (2, 2), 1))
    assert "greatest common divisor" in found.reasons[0]


# ---- mutants of the program


def test_the_check_by_expansion_catches_a_wrong_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skew parts with the wrong sign: never weights."""
    architecture = Architecture((2, 2, 1), (2, 2), 2)
    phi = polynomial_map(architecture, Weights.random(architecture, seed=3, bound=3))
    assert recover(phi).answer is Membership.WEIGHTS
    right = skew_parts.with_skew_parts
    monkeypatch.setattr(
        "lightning_sym.varieties.candidates.with_skew_parts",
        lambda *given: tuple(a.T for a in right(*given)),
    )
    assert recover(phi).answer is not Membership.WEIGHTS


def test_the_last_check_catches_wrong_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    architecture = Architecture((2, 1), (2,), 2)
    phi = polynomial_map(architecture, Weights.random(architecture, seed=3, bound=3))
    right = realization.actual_weights

    def wrong(*given: object) -> object:
        made = right(*given)  # type: ignore[arg-type]
        made["V1"] = made["V1"] * 2
        return made

    monkeypatch.setattr(membership, "actual_weights", wrong)
    with pytest.raises(ProgramError, match="another function"):
        recover(phi)


def test_an_expansion_shows_where_maps_differ() -> None:
    architecture = Architecture((2, 1), (2,), 2)
    weights = Weights.random(architecture, seed=3, bound=3)
    phi = polynomial_map(architecture, weights)
    matrices = {name: RATIONALS.matrix(m) for name, m in weights.named().items()}
    layers = map_recovery.network_layers(matrices)
    assert map_recovery.first_difference(phi, layers, RATIONALS) is None
    wrong = map_recovery.first_difference(changed(phi, 5), layers, RATIONALS)
    assert wrong is not None
    assert int(wrong.given) == int(wrong.found) + 7
