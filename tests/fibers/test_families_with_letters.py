"""Letters in moves: a component is a family of weights, and what is done to it is done to all its members."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import sympy

from lightning_sym import (
    Architecture,
    BadInput,
    PolynomialMap,
    TooLarge,
    Weights,
    change_basis,
    equations,
    fiber,
    forward,
    load_weights,
    polynomial_map,
    rescale,
    same_function,
    swap,
    transform,
    virtual_weights,
)
from lightning_sym.network.map_differential import FamilyRank, family_rank

LAM, C = sympy.symbols("lam c")
RANK_ONE, TWO_LAYERS = load_weights("examples/rank_one.json"), load_weights("examples/two_layers.json")
X = sympy.Matrix(2, 2, sympy.symbols("y1:5"))


def at(family: Weights, values: dict[Any, Any]) -> Weights:
    """A member."""
    return Weights.of({name: sympy.Matrix(m.tolist()).subs(values) for name, m in family.matrices.items()}, family.form)


FAMILIES: dict[str, tuple[Weights, Callable[[], Weights]]] = {
    "exchanged": (RANK_ONE, lambda: fiber(RANK_ONE).components[1].point(lam=LAM)),
    "two layers": (TWO_LAYERS, lambda: fiber(TWO_LAYERS).components[0].point(
        lam_1=LAM, lam_2=LAM + C, C_1=[[1, C], [0, 1]], G_1=[[C, 1], [0, 1]])),
    "rescaled": (TWO_LAYERS, lambda: rescale(TWO_LAYERS, layer=1, by=LAM)),
    "bases": (TWO_LAYERS, lambda: change_basis(TWO_LAYERS, query_key={2: sympy.Matrix([[1, C], [LAM, 1]])})),
    "moved again": (RANK_ONE, lambda: transform(rescale(RANK_ONE, layer=1, by=LAM), scales={1: C})),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_each_member_of_a_family_has_the_function(name: str) -> None:
    weights, make = FAMILIES[name]
    family = make()
    assert family.letters
    difference = forward(X, family) - forward(X, weights.layers)
    assert difference.applyfunc(sympy.cancel) == sympy.zeros(*difference.shape)
    member = at(family, {LAM: -2, C: 3})
    assert same_function(weights, member).answer.value == "same"
    assert pickle.loads(pickle.dumps(family)) == family  # noqa: S301
    moved = virtual_weights(family)
    numbers = virtual_weights(member)
    assert sympy.Matrix(moved.value.tolist()).subs({LAM: -2, C: 3}) == sympy.Matrix(numbers.value.tolist())


def test_a_component_is_a_family_with_its_domain() -> None:
    ours, other = fiber(RANK_ONE).components
    assert ours.domain == other.domain == ("lam != 0",)
    assert other.at(lam=LAM) == virtual_weights(other.point(lam=LAM))
    numbers = other.point(lam=7)
    assert virtual_weights(at(other.point(lam=LAM), {LAM: 7})) == virtual_weights(numbers)
    square = fiber(Weights.of({"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[1, 0], [0, 1]]}), 1).components[0]
    assert square.domain == ("lam != 0", "S^T = -S")
    assert square.at(lam=LAM, S=[[0, C], [-C, 0]]).attention[0][0, 1] == C


PHI = polynomial_map(Architecture((2, 1), (1,), 2))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: swap(Weights.of({"Q1": [[1, C]], "K1": [[1, 0]], "V1": [[1, 0], [0, C]]})), "rank 1 for most letters"),
        (lambda: polynomial_map(Architecture((2, 1), (1,), 2), rescale(RANK_ONE, layer=1, by=LAM)), "denominators"),
        (lambda: rescale(RANK_ONE, layer=1, by=0 * LAM), "must not be 0"),
        (lambda: rescale(RANK_ONE, layer=1, by=1 / LAM), "polynomial in letters"),
        (lambda: change_basis(TWO_LAYERS, query_key={1: [[C, C], [C, C]]}), "invertible"),
        (lambda: fiber(RANK_ONE).components[1].point(lam=0 * LAM), "must not be 0"),
        (lambda: fiber(Weights.of({"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[1, 0], [0, 1]]}), 1).components[0].point(
            lam=1, S=[[0, C], [-C, 0]]), "scales and bases only, got c"),
        (lambda: fiber(rescale(RANK_ONE, layer=1, by=LAM)), "got the letter lam in Q1"),
    ],
)  # fmt: skip
def test_what_takes_no_letters_says_so(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises((BadInput, TooLarge), match=message):
        ask()


def test_a_rank_with_letters_says_where_it_drops() -> None:
    found = PHI.jacobian_rank({"Q1": [[LAM, C]], "K1": [[1, 0]], "V1": [[1, 0]]})
    assert isinstance(found, FamilyRank)
    assert found.rank == 3
    assert set(found.locus or ()) == {LAM, C}
    for lam, c in ((0, 0), (0, 2), (3, 0), (1, 1)):
        numbers = {"Q1": [[lam, c]], "K1": [[1, 0]], "V1": [[1, 0]]}
        assert (PHI.jacobian_rank(numbers).rank == 3) == ((lam, c) != (0, 0))
    assert "where all of these are zero" in str(found)


@pytest.mark.parametrize(
    ("rows", "rank", "locus"),
    [
        ([[LAM, 1], [1, LAM]], 2, (sympy.factor(LAM**2 - 1),)),
        ([[LAM, LAM**2], [2, 2 * LAM]], 1, (1,)),
        ([[LAM**2, 0], [0, 0]], 1, (LAM,)),
        ([[LAM * 0, 0]], 0, ()),
    ],
)
def test_small_ranks_with_letters(rows: Any, rank: int, locus: Any) -> None:
    found = family_rank(rows, [LAM])
    assert (int(found.__index__()), found.locus) == (rank, locus)


def test_the_exchange_of_a_family() -> None:
    family = Weights.of({"Q1": [[C, 1]], "K1": [[LAM, C + 1]], "V1": [[C, 3 * C]]})
    moved = swap(family)
    assert {"lam", "c"} == {letter.name for letter in moved.letters}
    difference = forward(X, moved) - forward(X, family)
    assert difference.applyfunc(sympy.cancel) == sympy.zeros(1, 2)
    member = swap(at(family, {LAM: 2, C: 5}))
    assert [m.tolist() for m in virtual_weights(at(moved, {LAM: 2, C: 5}).layers)[0]] == [
        m.tolist() for m in virtual_weights(member.layers)[0]
    ]


def test_equations_at_a_family_and_at_coefficients_with_letters() -> None:
    """They vanish at the functions of a family; at other coefficients they are the polynomials that SymPy makes."""
    found = equations(Architecture((2, 1), (1,), 2))
    family = Weights.of({"Q1": [[LAM, 1]], "K1": [[1, C]], "V1": [[1, LAM]]})
    assert found.at(family) == {2: [0, 0, 0]}
    assert found.vanishes_at(family)
    point = polynomial_map(family.architecture(2), family).at({LAM: 2, C: 3}).coefficients()
    own = PolynomialMap.of([[LAM * C, C], [LAM, 1]], weights=[LAM, C])
    ideal = equations(own, 2)
    letters = dict(zip([(1, 1, ()), (1, 2, ()), (2, 1, ())], (LAM, C, LAM + 1), strict=True)) | {(2, 2, ()): 1}
    (value,) = ideal.at(letters)[2]
    assert sympy.expand(value) in {sympy.expand(s * (LAM - C * (LAM + 1))) for s in (1, -1)}
    assert not ideal.vanishes_at(letters)
    assert found.at(point) == {2: [0, 0, 0]}
