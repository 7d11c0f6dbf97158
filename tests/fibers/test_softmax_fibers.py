"""Softmax networks: equal visible weights, equal functions, and only then; balls are the second opinion."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_transformers import apart

from lightning_sym import SOFTMAX, Answer, Architecture, NetworkForm, Reason, Weights, same_function
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.fibers import softmax as theorem

FORM = NetworkForm(SOFTMAX)
CAUSAL = NetworkForm(SOFTMAX, causal=True)
SKEW = [[0, 1], [-1, 0]]
Matrix = list[list[int]]


def network(layers: Sequence[tuple[Any, Any]], form: NetworkForm = FORM) -> Weights:
    """Layers `(A, V)`, with `A` as queries and 1 as keys."""
    named: dict[str, Any] = {}
    for i, (a, v) in enumerate(layers, start=1):
        named |= {f"Q{i}": a, f"K{i}": np.eye(len(a), dtype=int).tolist(), f"V{i}": v}
    return Weights.of(named, form)


def small_layers(seed: int, width: int, depth: int) -> list[tuple[Matrix, Matrix]]:
    """Entries in -1, 0, 1; zero and skew attention matrices often."""
    source = random.Random(seed)
    square = [list(row) for row in itertools.product((-1, 0, 1), repeat=width)]

    def matrix() -> Matrix:
        kind = source.random()
        if kind < 0.25:
            return [[0] * width for _ in range(width)]
        if kind < 0.5 and width == 2:
            sign = source.choice((-1, 1))
            return [[0, sign], [-sign, 0]]
        return [list(source.choice(square)) for _ in range(width)]

    return [(matrix(), [list(source.choice(square)) for _ in range(width)]) for _ in range(depth)]


@pytest.mark.parametrize("form", [FORM, CAUSAL], ids=["no mask", "causal"])
@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_balls_agree_with_the_theorem(width: int, tokens: int, form: NetworkForm) -> None:
    counts = {Answer.SAME: 0, Answer.DIFFERENT: 0}
    for seed in range(120):
        first = small_layers(seed, width, 1 + seed % 3)
        second = list(first)
        place = seed % len(second)
        a, v = small_layers(seed + 1000, width, 1)[0]
        second[place] = (a, second[place][1]) if seed % 4 else (second[place][0], v)
        one, other = network(first, form), network(second, form)
        answer = same_function(one, other, tokens).answer
        counts[answer] += 1
        assert apart(one, other, tokens, 12 if answer is Answer.DIFFERENT else 2, seed) == (answer is Answer.DIFFERENT)
    assert min(counts.values()) > 5


def test_a_blind_layer_hides_what_is_behind_it() -> None:
    one = [[1, 0], [0, 1]]
    for blind, tokens, hides in ((SKEW, 2, True), (SKEW, 3, False), ([[0, 0], [0, 0]], 3, True), (one, 2, False)):
        first, second = network([(blind, one), (one, one)]), network([(blind, one), ([[2, 0], [0, 1]], one)])
        result = same_function(first, second, tokens)
        assert (result.answer is Answer.SAME) == hides
        assert result.reason is Reason.VISIBLE
        assert result.differing == (None if hides else "A~2")
        assert apart(first, second, tokens, 10) != hides


def moved_zeros(seed: int) -> tuple[list[tuple[Any, Matrix]], list[tuple[Any, Matrix]]]:
    """Networks of skew, zero and other layers, values 1; the second one with its zero layers elsewhere."""
    source = random.Random(seed)
    one, other = [[1, 0], [0, 1]], [[1, 1], [0, 0]]
    kinds = [source.choice(["skew", "zero", "other"]) for _ in range(3)]
    first = [{"skew": SKEW, "zero": [[0, 0], [0, 0]], "other": other}[kind] for kind in kinds]
    second: list[Any] = first[:]
    source.shuffle(second)
    for number, layer in enumerate(second):
        if source.random() < 0.7:  # what Theorem 4 asks of skew ones, and wrongly of others too
            here = sum(not any(map(any, m)) for m in second[:number])
            power = Fraction(2) ** (sum(not any(map(any, m)) for m in first[: first.index(layer)]) - here)
            second[number] = [[x / power for x in row] for row in layer]
    return [(a, one) for a in first], [(a, one) for a in second]


def test_zero_layers_move_past_skew_ones_under_a_mask_at_two_tokens_only() -> None:
    zero, one = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    twice, four = ([[x * c for x in row] for row in SKEW] for c in (2, 4))
    nets = [network([(a, one) for a in layers], CAUSAL)
            for layers in ((SKEW, zero, zero), (zero, twice, zero), (zero, zero, four))]  # fmt: skip
    for first, second in itertools.combinations(nets, 2):
        assert same_function(first, second, 2).answer is Answer.SAME
        assert not apart(first, second, 2, 5)
        assert same_function(first, second, 3).answer is Answer.DIFFERENT
        assert apart(first, second, 3, 12)


@pytest.mark.parametrize("tokens", [2, 3])
def test_balls_agree_where_zero_layers_move(tokens: int) -> None:
    found = []
    for seed in range(80):
        one, other = (network(layers, CAUSAL) for layers in moved_zeros(seed))
        found.append(same_function(one, other, tokens).answer is Answer.SAME)
        assert found[-1] != apart(one, other, tokens, 2 if found[-1] else 12, seed)
    assert 5 < sum(found) < 75


def test_depths_may_differ() -> None:
    one = [[1, 0], [0, 1]]
    short, long = network([(one, one)]), network([(one, one), (one, one)])
    assert same_function(short, long, 2).differing == "A~2"
    assert apart(short, long, 2, 5)
    zero = [[0, 0], [0, 0]]
    assert same_function(network([(zero, one)]), network([(zero, one), (one, one)]), 2).answer is Answer.SAME
    assert not apart(network([(zero, one)]), network([(zero, one), (one, one)]), 2, 5)


def test_only_virtual_weights_matter() -> None:
    """A basis change inside a layer and one between layers, by hand."""
    first = Weights.of({"Q1": [[1, 2], [0, 3]], "K1": [[2, 1], [1, 1]], "V1": [[1, 1], [0, 2]],
                        "Q2": [[1, 0]], "K2": [[3, 1]], "V2": [[1, 4]]}, FORM)  # fmt: skip
    c, g = np.array([[1, 1], [0, 1]], dtype=object), np.array([[2, 1], [1, 1]], dtype=object)
    inverse_c, inverse_g = np.array([[1, -1], [0, 1]], dtype=object), np.array([[1, -1], [-1, 2]], dtype=object)
    m = first.named()
    second = Weights.of({"Q1": inverse_c.T @ m["Q1"], "K1": c @ m["K1"], "V1": g @ m["V1"], "Q2": m["Q2"] @ inverse_g,
                         "K2": m["K2"] @ inverse_g, "V2": m["V2"] @ inverse_g}, FORM)  # fmt: skip
    assert first != second
    assert same_function(first, second, 3).answer is Answer.SAME
    assert not apart(first, second, 3, 3)


def test_both_values_zero_and_one_token() -> None:
    one, zero = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    assert same_function(network([(one, zero)]), network([(SKEW, zero)]), 2).answer is Answer.SAME
    assert same_function(network([(one, zero)]), network([(one, one)]), 2).differing == "V~"
    assert same_function(network([(one, one)]), network([(SKEW, one)]), 1).answer is Answer.SAME


@given(st.integers(0, 10**6), st.integers(2, 3))
@settings(max_examples=30)
def test_it_is_an_equivalence(seed: int, tokens: int) -> None:
    nets = [network(small_layers(seed + k // 2, 2, 2)) for k in range(3)]
    answers = [[same_function(a, b, tokens).answer for b in nets] for a in nets]
    assert all(answers[i][i] is Answer.SAME for i in range(3))
    assert all(answers[i][j] is answers[j][i] for i in range(3) for j in range(3))


@pytest.mark.parametrize("mutant", ["nothing is blind", "skew is blind at three tokens", "stops one layer early"])
def test_wrong_theorems_are_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = theorem.is_blind
    wrong = {
        "nothing is blind": lambda attention, tokens: False,
        "skew is blind at three tokens": lambda attention, tokens: right(attention, 2),
        "stops one layer early": lambda attention, tokens: True,
    }[mutant]
    monkeypatch.setattr(theorem, "is_blind", wrong)
    with pytest.raises(AssertionError):
        test_a_blind_layer_hides_what_is_behind_it()
    with pytest.raises(AssertionError):
        test_balls_agree_with_the_theorem(2, 2 if mutant == "nothing is blind" else 3, FORM)


def test_a_mask_is_not_no_mask() -> None:
    with pytest.raises(BadInput, match="must be of one form, got softmax and softmax, causal"):
        same_function(network([(SKEW, SKEW)]), network([(SKEW, SKEW)], CAUSAL))


def test_widths_and_work_are_bounded_first() -> None:
    one = network([([[1]], [[1]])])
    with pytest.raises(ShapeError, match="the same input width"):
        same_function(one, network([(SKEW, SKEW)]))
    shape = Architecture((40, 40), (1,), 2, normalization=SOFTMAX)
    with pytest.raises(TooLarge):
        same_function(Weights.random(shape), Weights.random(shape, seed=1), work=1e-9)
