"""Coefficients of networks: exact pairs against both bounds, theorems against each other, generic weights, values."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest
from random_networks import Rows, degenerate_layer, degenerate_network

from lightning_sym import (
    SOFTMAX,
    Architecture,
    NetworkForm,
    Weights,
    certified_dimension,
    learning_coefficient,
    transform,
)
from lightning_sym.ask import failing
from lightning_sym.coefficients.at_weights import THEOREMS
from lightning_sym.coefficients.lightning_layer import Proved
from lightning_sym.coefficients.reduced_rank import LocalPair
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.coefficients.two_bounds import two_bounds
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import Work
from lightning_sym.rings.normalization import Normalization

SOFT = NetworkForm(SOFTMAX)
I2: Rows = [[1, 0], [0, 1]]
E11: Rows = [[1, 0], [0, 0]]
ZERO: Rows = [[0, 0], [0, 0]]

LAYERS: list[tuple[int, Rows, Rows, Rows, str, int, str]] = [
    (2, I2, [[1, 2], [0, 1]], [[1, 2], [-1, 1]], "7/2", 1, "Theorem 6, case 1"),
    (2, [[1, 2]], [[1, 0]], [[1, 0], [2, 0]], "11/4", 1, "Theorem 6, case 2"),
    (2, [[1, 2], [0, 0]], [[1, 0], [3, 1]], [[1, 0]], "9/4", 1, "Theorem 6, case 2"),
    (2, [[1, 2, -1], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]], [[1, 0, 0], [2, 0, 0]], "11/2", 2, "Theorem 6, case 2"),
    (3, ZERO, E11, [[1, 2]], "3/2", 1, "Theorem 6, case 3"),
    (2, [[0, 0]], [[0, 0]], ZERO, "1", 2, "Theorem 6, case 3"),
    (2, [[1, 0]], [[0, 1]], ZERO, "2", 1, "Theorem 6, case 3"),
    (2, [[2]], [[3]], [[5]], "1/2", 1, "Theorem 6, case 1"),
    (2, [[0]], [[0]], [[0]], "1/2", 3, "Theorem 6, case 3"),
    (1, I2, [[1, 2], [0, 1]], [[1, 2], [-1, 1]], "3", 1, "Theorem 8, case 1"),
    (1, [[0, 0]], [[0, 0]], [[1, 2]], "1", 2, "Theorem 8, case 2"),
    (1, ZERO, ZERO, [[1, 2]], "3/2", 2, "Theorem 8, case 2"),
    (1, [[0, 1], [-1, 0]], I2, [[1, 2]], "3/2", 1, "Theorem 8, case 2"),
    (1, [[0, 1]], [[1, 0]], [[1, 0]], "7/4", 1, "Theorem 8, case 3"),
    (1, [[1, 0]], [[1, 0]], [[1, 0]], "3/2", 1, "Theorem 8, case 4"),
    (1, [[1, 0]], [[-2, 0]], [[1, 0], [3, 0]], "5/2", 1, "Theorem 8, case 4"),
    (1, E11, I2, [[1, 0]], "5/3", 1, "Theorem 8, case 4"),
    (1, [[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]], "5/2", 1, "Theorem 8, case 4"),
    (1, [[2]], [[3]], [[5]], "1/2", 1, "Theorem 8, case 1"),
]  # fmt: skip


@pytest.mark.parametrize(("tokens", "query", "key", "value", "coefficient", "order", "proof"), LAYERS)
def test_layers(tokens: int, query: Rows, key: Rows, value: Rows, coefficient: str, order: int, proof: str) -> None:
    found = learning_coefficient(Weights.of({"Q1": query, "K1": key, "V1": value}), tokens)
    assert (str(found.value), found.multiplicity, found.certified) == (coefficient, order, True)
    assert found.lower == found.upper == found.value
    assert found.proof == f"docs/learning-coefficients.md, {proof}"


def test_masks_and_skip_connections_change_nothing_with_two_tokens() -> None:
    for _, query, key, value, coefficient, order, _ in [row for row in LAYERS if row[0] > 1 and len(row[3]) == 2]:
        weights = Weights.of({"Q1": query, "K1": key, "V1": value})
        for form in (NetworkForm(causal=True), NetworkForm(skip=len(query[0]) == 2)):
            found = learning_coefficient(weights.with_form(form), 2)
            assert (str(found.value), found.multiplicity) == (coefficient, order)


def proved(question: AtWeights) -> list[Proved]:
    """What all theorems prove, not only the first one."""
    rows = [row for row in THEOREMS if row.about(question) and failing(question, row.needs) is None]
    return [found for row in rows if (found := row.prove(question)) is not None]


@pytest.mark.parametrize("make", [degenerate_network, degenerate_layer])
def test_no_exact_pair_is_outside_of_the_bounds_and_theorems_agree(
    make: Callable[[random.Random], tuple[Weights, int]],
) -> None:
    source, seen = random.Random(7), Counter[str]()
    for _ in range(60):
        weights, tokens = make(source)
        question = AtWeights(weights, weights.architecture(tokens), Work(), 0)
        found, bounds = proved(question), two_bounds(question, counted=False)
        assert bounds.lower <= two_bounds(question).lower <= two_bounds(question).upper <= bounds.upper, weights
        assert len({each.pair for each in found}) <= 1, weights
        for each in found:
            assert bounds.lower <= each.pair.value <= bounds.upper, (weights, each, bounds)
            assert not bounds.certified or each.pair == LocalPair(bounds.lower), (weights, each, bounds)
        seen["proved"] += bool(found)
        seen["twice"] += len(found) > 1
        seen["met"] += bounds.certified and bool(found)
        seen["open"] += not found and not bounds.certified
    assert min(seen["proved"], seen["twice"], seen["met"]) >= 5, seen
    assert seen["open"] < 45, seen


def test_at_generic_weights_it_is_half_of_the_dimension() -> None:
    for seed, shape in enumerate(
        [
            Architecture((3, 2), (2,), 2),
            Architecture((3, 2), (2,), 1),
            Architecture((2, 2, 2), (1, 2), 2),
            Architecture((2, 2), (1,), 2, heads=2),
            Architecture((2, 2), (1,), 2, value_ranks=(1,), embed=3, unembed=2),
            Architecture((3, 3), (2,), 3, SOFTMAX, heads=3, skip=True, causal=True),
            Architecture((2, 2, 2), (1, 2), 2, SOFTMAX, skip=True, embed=3, unembed=3),
            Architecture((2, 2, 2), (1, 2), 2, SOFTMAX, heads=2, value_ranks=(1, 1)),
        ]
    ):
        found = learning_coefficient(Weights.random(shape, seed=seed, bound=1000), shape.tokens)
        assert (found.value, found.multiplicity) == (Fraction(certified_dimension(shape).value or 0, 2), 1), shape


def heads(*matrices: dict[str, Rows], form: NetworkForm = SOFT) -> Weights:
    """One layer of these heads."""
    named = {f"{letter}1.{h}": rows for h, head in enumerate(matrices, start=1) for letter, rows in head.items()}
    return Weights.of(named, form)


HEAD: dict[str, Rows] = {"Q": [[2, 1]], "K": [[1, 3]], "V": [[1, 2]], "O": [[1], [-1]]}


def test_a_zero_head_shows_no_scores() -> None:
    found = learning_coefficient(heads(HEAD, {"Q": [[-1, 1]], "K": [[2, 1]], "V": [[1, -1]], "O": [[0], [0]]}), 3)
    assert (str(found.value), found.multiplicity, found.proof[-9:]) == ("4", 1, "Theorem 9")
    idle = heads(HEAD, {"Q": [[-1, 1]], "K": [[2, 1]], "V": [[0, 0]], "O": [[0], [0]]})
    assert (str(learning_coefficient(idle, 3).value), learning_coefficient(idle, 3).multiplicity) == ("4", 2)


def test_heads_that_attend_alike_show_the_sum_of_their_values() -> None:
    found = learning_coefficient(heads(HEAD, HEAD | {"V": [[2, -1]], "O": [[1], [2]]}), 3)
    assert (str(found.value), found.multiplicity, found.ranks["rk O V1.1+1.2"]) == ("5", 1, 2)


def test_independent_values_are_not_enough() -> None:
    """Two heads that attend alike and write in one direction: the third order in which they differ counts."""
    found = learning_coefficient(
        heads(HEAD | {"V": [[1, 0]], "O": [[1], [0]]}, HEAD | {"V": [[0, 1]], "O": [[1], [0]]}), 3
    )
    assert found.value is None
    assert found.lower <= Fraction(19, 4) <= found.upper
    assert "values of the heads 1.1, 1.2, which attend alike, are not seen to be apart" in found.tried[0].why


def test_two_tokens_do_not_see_opposite_scores_apart() -> None:
    opposite = heads(HEAD, HEAD | {"K": [[-1, -3]]})
    assert learning_coefficient(opposite, 3).value == 6
    found = learning_coefficient(opposite, 2)
    assert found.value is None
    assert "1.1, 1.2, which attend alike" in found.tried[0].why
    apart = heads(HEAD, HEAD | {"K": [[-1, -3]], "V": [[2, -1]], "O": [[1], [2]]})
    assert str(learning_coefficient(apart, 2).value) == "6"
    third = {"Q": [[0, 0]], "K": [[1, 1]], "V": [[1, 3]], "O": [[3], [1]]}
    assert "opposite scores" in learning_coefficient(heads(*_heads_of(apart), third), 2).tried[0].why


def _heads_of(weights: Weights) -> list[dict[str, Rows]]:
    """The heads of one layer as they were given."""
    named, letters = weights.named(), "QKVO"
    return [{c: named[f"{c}1.{h}"].tolist() for c in letters} for h in range(1, weights.architecture(1).heads + 1)]


def test_one_token_shows_the_sum_of_all_values() -> None:
    found = learning_coefficient(heads(HEAD, HEAD | {"V": [[0, 0]], "O": [[0], [0]]}), 1)
    # a product of 2 x 2 and 2 x 2 of ranks 1, 1, 1
    assert (str(found.value), found.multiplicity) == ("2", 2)


def test_a_dead_layer_hides_all_others() -> None:
    two = {"Q1": [[1]], "K1": [[1]], "V1": [[0]], "Q2": [[3]], "K2": [[1]], "V2": [[2]]}
    assert learning_coefficient(Weights.of(two, SOFT), 2).value == Fraction(1, 2)
    found = learning_coefficient(Weights.of(two | {"V2": [[0]]}, SOFT), 2)
    assert (str(found.value), found.multiplicity) == ("1/2", 2), "the product of both values"


def test_symmetries_do_not_change_it() -> None:
    weights = Weights.random(Architecture((2, 2, 2), (1, 2), 2, SOFTMAX, embed=3, unembed=2), seed=4)
    moved = transform(weights, query_key={2: [[1, 2], [0, 3]]}, between={0: [[1, 1], [0, 2]], 1: [[2, 1], [1, 1]]})
    one, other = learning_coefficient(weights, 2), learning_coefficient(moved, 2)
    assert (one.value, one.multiplicity, one.ranks) == (other.value, other.multiplicity, other.ranks)


def test_a_wide_layer_is_quick() -> None:
    shape = Architecture((64, 64), (64,), 2)
    weights = Weights.random(shape, seed=0, attention_matrix_ranks=[20], value_ranks=[1])
    found = learning_coefficient(weights, 2, work=5)
    assert found.certified
    assert found.ranks["rk K^T Q"] == 20


def test_what_is_refused() -> None:
    weights = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})
    with pytest.raises(BadInput, match="lightning attention or normalized by softmax"):
        learning_coefficient(weights.with_form(NetworkForm(Normalization("other", lambda k: Fraction(1)))), 2)
    with pytest.raises(BadInput, match="tokens"):
        learning_coefficient(weights, 0)
    with pytest.raises(TooLarge, match="exact ranks of the weights"):
        learning_coefficient(weights, 2, work=1e-12)
    with pytest.raises(TooLarge, match="circuits"):
        learning_coefficient(weights, 2, memory=1)
