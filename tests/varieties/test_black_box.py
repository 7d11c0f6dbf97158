"""Weights of softmax networks from their answers alone: exact, in balls, and what is wrong is found out."""

from __future__ import annotations

import dataclasses
import operator
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from softmax_boxes import box, lying, network, networks, rounded

import lightning_sym.varieties.black_box as black_box
import lightning_sym.varieties.black_box_arithmetic as arithmetic
import lightning_sym.varieties.query_plan as query_plans
from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    BadInput,
    Membership,
    SoftmaxRecovery,
    TooLarge,
    Weights,
    query_plan,
    recover_from_answers,
    same_function,
)
from lightning_sym.varieties.decimals import decimal
from lightning_sym.varieties.query_plan import Nodes
from lightning_sym.varieties.two_tokens import Line, two_token_form

SKEW, ZERO, ONE = [[0, 1], [-1, 0]], [[0, 0], [0, 0]], [[1, 0], [0, 1]]
HIDDEN = network([[[1, 2], [0, -1]], [[Fraction(1, 2), -1], [3, 2]]], [[1, 2]])


def ask_about(hidden: Weights, tokens: int, ask: Any = None, **said: Any) -> SoftmaxRecovery:
    bounds = {"bound": 3, "denominators": 3} | said
    plan = query_plan(hidden.architecture(tokens), **bounds)
    return recover_from_answers(ask or box(hidden), plan)


@settings(max_examples=25, deadline=None)
@given(networks(denominators=3), st.integers(2, 4))
def test_exact_weights_with_bounded_denominators(hidden: Weights, tokens: int) -> None:
    plan = query_plan(hidden.architecture(tokens), bound=3, denominators=3)
    found = recover_from_answers(box(hidden), plan)
    assert found.queries <= plan.queries
    if found.answer is Membership.UNDECIDED:
        assert "skew" in found.reasons[0]
        assert tokens > 2
        return
    assert found.answer is Membership.WEIGHTS
    assert found.weights is not None
    assert same_function(hidden, found.weights, tokens=tokens).answer is Answer.SAME


@settings(max_examples=15, deadline=None)
@given(networks(denominators=3), st.integers(2, 4))
def test_balls_contain_the_true_weights(hidden: Weights, tokens: int) -> None:
    plan = query_plan(hidden.architecture(tokens), bound=3, digits=150)
    found = recover_from_answers(box(hidden), plan)
    named = hidden.named()
    true = [*(named[f"Q{i + 1}"] for i in range(len(found.attention))), named[f"V{len(named) // 3}"]]
    assert found.answer is not Membership.NONE
    assert found.radius is not None
    for middle, exact in zip((*found.attention, found.value), true, strict=True):
        assert all(abs(m - e) <= found.radius for m, e in zip(np.ravel(middle), np.ravel(exact), strict=True))
    if found.answer is Membership.WEIGHTS:
        assert found.radius < Fraction(1, 10**9)
        assert found.weights is None


@pytest.mark.parametrize("kind", range(3))
def test_errors_of_nearly_one_in_the_last_digit_do_no_harm(kind: int) -> None:
    """All up, all down, or as a drawing says: the answers may be as wrong as they are allowed to be."""
    draw, exact = random.Random(kind), box(HIDDEN)

    def shaken(x: Any, digits: int) -> list[list[str]]:
        units = [49, -49, draw.choice([49, -49])]
        moved = [[Fraction(n) + Fraction(units[kind], 100 * 10**digits) for n in r] for r in exact(x, digits + 9)]
        return [[decimal(n, digits) for n in row] for row in moved]

    found = ask_about(HIDDEN, 2, shaken)
    assert found.weights is not None
    assert same_function(HIDDEN, found.weights).answer is Answer.SAME


def test_three_layers() -> None:
    hidden = network([[[1, 2], [0, -1]], [[1, -1], [1, 2]], [[2, 0], [-3, 1]]], [[1, -2]])
    found = ask_about(hidden, 2, denominators=1)
    assert found.weights is not None
    assert same_function(hidden, found.weights).answer is Answer.SAME


@pytest.mark.parametrize(
    ("attention", "tokens", "known"),
    [([SKEW, ONE], 2, 1), ([ZERO, ONE], 3, 1), ([ONE, SKEW], 3, 2), ([ONE, ZERO], 2, 2)],
)
def test_up_to_the_first_blind_layer(attention: Any, tokens: int, known: int) -> None:
    hidden = network(attention, [[1, 2]])
    found = ask_about(hidden, tokens)
    assert found.answer is Membership.WEIGHTS
    assert len(found.attention) == known
    assert found.weights is not None
    assert same_function(hidden, found.weights, tokens=tokens).answer is Answer.SAME
    in_balls = ask_about(hidden, tokens, denominators=None, digits=120)  # no ball says that something is zero
    assert in_balls.answer is (Membership.WEIGHTS if known == 2 else Membership.UNDECIDED)


def test_what_two_distinct_tokens_do_not_show() -> None:
    assert ask_about(network([SKEW, ONE], [[1, 2]]), 3).answer is Membership.UNDECIDED
    zero = network([ONE, ONE], [[0, 0]])
    assert "V~ = 0" in ask_about(zero, 2).determined
    assert ask_about(zero, 2, denominators=None, digits=50).answer is Membership.UNDECIDED
    assert ask_about(HIDDEN, 2, denominators=None, digits=15).answer is Membership.UNDECIDED


@pytest.mark.parametrize("power", [400, 4000])
def test_no_bound_of_the_values_is_needed(power: int) -> None:
    """Digits behind the point count, so balls need as many bits more as a large `V~` has before it."""

    def steep(x: Any, digits: int) -> list[list[str]]:
        with mpmath.workprec(4 * (digits + power) + 99):
            key = [mpmath.mpf(n.numerator) / n.denominator for n in x[0]]
            seen = [[mpmath.exp(2 * k * q) for k in key] for q in key]
            out = [mpmath.mpf(10) ** power * sum(map(operator.mul, w, key)) / sum(w) for w in seen]
            return [[decimal(Fraction(int(mpmath.nint(y * 10**digits)), 10**digits), digits) for y in out]]

    shape = Architecture((1, 1), (1,), 2, SOFTMAX)
    found = recover_from_answers(steep, query_plan(shape, bound=3, denominators=1))
    assert found.answer is Membership.WEIGHTS
    assert (found.attention[0].item(), found.value.item()) == (2, 10**power)
    enclosed = recover_from_answers(steep, query_plan(shape, bound=3, digits=40))
    assert enclosed.radius is not None
    assert enclosed.radius < Fraction(1, 10**9)
    assert abs(enclosed.attention[0].item() - 2) <= enclosed.radius


# ---- black boxes that are not what they are said to be


@pytest.mark.parametrize("question", [0, 1, 2, 9, 17, 26, 27, 28])
@pytest.mark.parametrize("units", [3, -3, 10**20])
def test_a_lie_in_one_digit_is_found_out(question: int, units: int) -> None:
    assert query_plan(HIDDEN.architecture(2), bound=3, denominators=3).queries == 29
    assert ask_about(HIDDEN, 2, lying(box(HIDDEN), question, units=units)).answer is Membership.NONE
    other = lying(box(HIDDEN), question, token=1, units=units)
    assert ask_about(HIDDEN, 2, other).answer is Membership.NONE


def test_other_networks_are_found_out() -> None:
    assert ask_about(HIDDEN, 2, box(HIDDEN, causal=True)).answer is Membership.NONE
    assert ask_about(HIDDEN, 2, bound=1).answer is Membership.NONE
    assert ask_about(HIDDEN, 2, denominators=1).answer is Membership.NONE
    assert ask_about(HIDDEN, 3, lambda x, n: [[rounded(mpmath.mpf(1), n)] * 3]).answer is Membership.NONE
    three = network([ONE, ONE, ONE], [[1, 2]])
    assert ask_about(HIDDEN, 2, box(three)).answer is Membership.NONE
    shape = Architecture((2, 1, 1), (2, 2), 2, SOFTMAX)
    found = recover_from_answers(box(HIDDEN), query_plan(shape, bound=3, denominators=3))
    assert found.answer is Membership.NONE
    assert "must span at most 1" in found.reasons[0]
    assert ask_about(HIDDEN, 2, box(HIDDEN, causal=True), denominators=None, digits=99).answer is Membership.NONE


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([["0.5", "0.5"]], "digits behind the point"), ([["0.5"]], "rows of 2"), ("0.5 0.5", "rows of 2"),
        (None, "rows of 2"), ([["x", "x"]], "decimal numbers"), ([["nan", "inf"]], "decimal numbers"),
        ([[0.5, 0.5]], "decimal numbers"), ([["1" * 400_000] * 2], "decimal numbers"), ([["1e-9999999"] * 2], "dec"),
        ([["0.1e-999999"] * 2], "digits"),
    ],
)  # fmt: skip
def test_answers_that_are_none(answer: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        ask_about(HIDDEN, 2, lambda x, n: answer)
    assert "\n" not in str(caught.value)


def test_plans_are_bounded() -> None:
    with pytest.raises(TooLarge, match="at most 100,000 questions"):
        query_plan(Architecture((400, 400), (1,), 2, SOFTMAX), bound=1, denominators=1)
    shape = Architecture((2, 1), (2,), 2, SOFTMAX)
    for said, message in (
        ({"bound": 1}, "denominators"), ({"bound": 0, "digits": 9}, "positive"), ({"bound": 1, "digits": 0}, "digits"),
        ({"bound": float("nan"), "digits": 9}, "finite"), ({"bound": 1, "denominators": 1001}, "at most 1000"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            query_plan(shape, **said)
    with pytest.raises(BadInput, match="softmax"):
        query_plan(Architecture((2, 1), (2,), 2), bound=1, digits=9)
    with pytest.raises(TooLarge, match="comparing"):
        recover_from_answers(box(HIDDEN), query_plan(HIDDEN.architecture(2), bound=3, denominators=3), work=1e-9)


def test_plans_that_cannot_be() -> None:
    """Made by hand, a plan is looked at as well: with too few nodes coefficients would seem to be zero."""
    shape = Architecture((2, 2, 1), (2, 2), 2, SOFTMAX)
    plan = query_plan(shape, bound=3, denominators=3)
    for changes, message in (
        ({"nodes": (Nodes(2, 1), Nodes(2, 1))}, "nodes of layer 2"), ({"nodes": plan.nodes[:1]}, "for 2 layers"),
        ({"bound": Fraction(0)}, "positive"), ({"bound": "3"}, "a fraction"), ({"digits": 0}, "digits"),
        ({"architecture": dataclasses.replace(shape, causal=True)}, "causal"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            dataclasses.replace(plan, **changes)
    for narrow in (Architecture((2, 1, 1), (2, 2), 2, SOFTMAX), Architecture((2, 1), (1,), 2, SOFTMAX)):
        with pytest.raises(BadInput, match="at least the width 2 of the input"):
            query_plan(narrow, bound=3, digits=50)
        assert query_plan(narrow, bound=3, denominators=2).queries
    with pytest.raises(TooLarge, match="this bound takes"):
        query_plan(Architecture((1,) * 5, (1,) * 4, 2, SOFTMAX), bound=10**5000, denominators=4)


# ---- the bound of Lemma 8 and the nodes, against coefficients computed exactly


@pytest.mark.parametrize("signs", range(8))
@pytest.mark.parametrize(("tokens", "depth"), [(2, 1), (3, 2), (2, 3), (5, 2)])
def test_coefficients_obey_the_bound(tokens: int, depth: int, signs: int) -> None:
    bound, order, d = Fraction(3), 41, 2
    sign = [1 - 2 * (signs >> k & 1) for k in range(3)]
    shape = Architecture((d,) * (depth + 1), (d,) * depth, tokens, SOFTMAX)
    plan = query_plan(shape, bound=bound, digits=50)
    longest = tokens * query_plans.longest_direction(shape)
    y = (Fraction(longest), Fraction(longest * sign[0]))
    line = Line((Fraction(0), Fraction(1)), y, tokens, order)
    worst = np.array([[bound, bound * sign[1]], [bound * sign[2], bound]], dtype=object)
    for _ in range(depth):
        line.attend(worst, two_token_form(SOFTMAX, tokens))
    for n in range(1, order // 2 + 1):
        assert abs(line.sigma(2 * n)) <= query_plans.LARGEST / plan.radius_squared**n


def test_multipliers_give_coefficients_of_polynomials() -> None:
    nodes = query_plans.Nodes(5, 2)
    for wanted in range(1, 6):
        values = [sum(Fraction(n) * Fraction(j, 100) ** (2 * n) for n in range(1, 6)) for j in range(1, 6)]
        row = query_plans.multipliers(nodes, wanted)
        assert sum(c * v for c, v in zip(row, values, strict=True)) == wanted


# ---- mutants


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "multipliers in another order": (black_box, "multipliers", lambda n, w: query_plans.multipliers(n, w)[::-1]),
    "known layers forgotten": (Line, "sigma", lambda self, degree: Fraction(0)),
    "the square of r": (Line, "leading", lambda self, layers, old=Line.leading: old(self, layers) ** 2),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_find_no_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutant)
    assert ask_about(HIDDEN, 3).answer is not Membership.WEIGHTS


def test_without_the_terms_left_out_balls_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bound they contain the weights, without it they do not: it is needed."""
    hidden = network([[[3, -3], [3, 3]]], [[1, 2]])
    nodes = (query_plans.Nodes(2, 3),)  # so few that what is left out is larger than the errors of the answers
    plan = query_plans.QueryPlan(hidden.architecture(2), Fraction(4), None, 60, nodes)

    def contains(found: SoftmaxRecovery) -> bool:
        assert found.radius is not None
        pairs = zip(np.ravel(found.attention[0]), np.ravel(hidden["Q1"]), strict=True)
        return all(abs(m - e) <= found.radius for m, e in pairs)

    assert contains(recover_from_answers(box(hidden), plan))
    monkeypatch.setattr(black_box, "left_out", lambda *rest: Fraction(0))
    monkeypatch.setattr(arithmetic.BallArithmetic, "disagrees", lambda *rest: None)
    assert not contains(recover_from_answers(box(hidden), plan))
