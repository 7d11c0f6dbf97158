"""Laws of the hypotheses on softmax networks: what both fields and relations say of one description agrees."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_transformers import changed, drawn, shape

from lightning_sym import Weights
from lightning_sym.ask import Need, OneOf, TheoremPrice, TheoremRow, any_question, ask, failing, paid_by_steps
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.head_rows import INDEPENDENT, NO_SUM_ZERO, NOT_ZERO, HeadRows, different
from lightning_sym.fibers.hypotheses import (
    BEYOND_WORDS,
    DETERMINED,
    HYPOTHESES,
    RANKS,
    SQUARES,
    WORDS_AND_BLOCKS,
    Hypothesis,
    places,
    strongest_theorem,
)
from lightning_sym.fibers.observed_network import NetworkAtPoints, NetworkSpaces
from lightning_sym.limits import Work

PRIME = 4194301


def network(seed: int) -> tuple[Weights, int]:
    """A small network, often with heads that are equal, opposite or idle."""
    source = random.Random(seed)
    tokens, heads = source.choice((2, 3)), source.choice((2, 3))
    widths = source.choice(((2, 2, 2), (2, 2), (1, 1, 1), (1, 1, 1, 1)))
    weights = drawn(
        shape(
            tokens, widths=widths, heads=heads, a=source.choice((1, 2)),
            skip=source.random() < 0.5, causal=source.random() < 0.5, embed=source.choice((None, 1, 3)),
        ),
        seed, bound=1,
    )  # fmt: skip
    sign, layer = source.choice((1, -1, 0)), source.randint(1, weights.architecture(1).depth)
    copied = {
        f"{c}{layer}_2": (sign if c in "QV" else 1) * weights[f"{c}{layer}.1"] for c in source.choice(("QK", "V"))
    }
    return changed(weights, **copied), tokens


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_residues_spaces_and_relations_agree(seed: int) -> None:
    """What residues show is so over the rationals, and what a relation contradicts is not."""
    weights, tokens = network(seed)
    points, spaces = NetworkAtPoints.of(weights, tokens), NetworkSpaces(weights, tokens)
    for hypothesis, i in places(HYPOTHESES, points.shape):
        shown, decided = hypothesis.test(points, i), hypothesis.test(spaces, i)
        refuted = next(iter(hypothesis.refuted_by(spaces, i)), None)
        if shown.holds:
            assert decided.holds is not False, (hypothesis.name, i)
            assert refuted is None, (hypothesis.name, i)
        if decided.holds is False and hypothesis.circuit and hypothesis.forbidden is None:
            assert refuted is not None, (hypothesis.name, i)
        if refuted is not None:
            assert any(refuted)
            assert len(refuted) == len(points.net.layers[i - 1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=1, max_size=4))
def test_a_demand_fails_exactly_where_a_relation_contradicts_it(entries: list[list[int]]) -> None:
    rational = HeadRows(np.array([[Fraction(x) for x in row] for row in entries], dtype=object), None)
    residues = HeadRows(np.array(entries, dtype=np.int64), PRIME)
    for demand in (INDEPENDENT, NOT_ZERO, NO_SUM_ZERO, different(opposites=False, weaker=True),
                   different(opposites=True, weaker=True)):  # fmt: skip
        found = demand.test(rational)
        relation = next(iter(demand.contradicted_by(rational)), None)
        assert found.holds is (relation is None)
        assert demand.test(residues).holds is found.holds  # numbers this small are their own residues
        if relation is not None:
            assert not (np.array(relation, dtype=object) @ rational.entries).any()


def test_rows_of_pairs_count_with_their_heads() -> None:
    rows = np.array([[1, 0], [2, 0], [-3, 0]])
    assert HeadRows(rows, PRIME, pairs=True).no_sum_zero().evidence.startswith("the form of heads 1, 2 is zero")
    assert HeadRows(rows, PRIME).no_sum_zero().evidence.startswith("the sum over heads 1, 2, 3 is zero")


def test_many_heads_are_not_gone_through() -> None:
    rows = HeadRows(np.ones((17, 1), dtype=np.int64), PRIME)
    assert (rows.no_sum_zero().holds, list(rows.sums())) == (None, [])


def test_each_theorem_needs_all_of_its_hypotheses() -> None:
    """A theorem whose row loses a hypothesis would be cited where it may not hold."""
    for row in DETERMINED:
        number = row.citation.split(" of ")[0]
        names = {need.name for need in row.needs if isinstance(need, Hypothesis)}
        ways = {tuple(need.name for need in needs if isinstance(need, Hypothesis))
                for each in row.needs if isinstance(each, OneOf) for _, needs in each.ways}  # fmt: skip
        words, ranks = {"(a)", "(a')", "(b)", "(c)"}, {hypothesis.name for hypothesis in RANKS}
        blocks = {("(a)", "(b), unmasked", "(o)"), ("(a), words", "(b)", "(s)"), ("(a)", "(a')", "(b)")}
        assert (names, ways) == {
            "Corollary 5": (words | ranks, set()),
            "Corollary 5 with Theorem 11": (ranks - {"rank S = d"}, blocks),
            "Theorem 7": (words, set()),
            "Theorem 8": (set(), set()),
            "Theorem 11": (set(), blocks),
        }[number]


@pytest.mark.parametrize(
    ("causal", "tokens", "said"),
    [(True, 3, [True, False, False]), (False, 3, [False, True, True]), (False, 4, [False, True, False])],
)
def test_which_list_of_theorem_11_is_about_which_network(causal: bool, tokens: int, said: list[bool]) -> None:
    """The last one would be wrong for no network, but the first two are about others."""
    network = SoftmaxConditions(drawn(shape(tokens, causal=causal), seed=1), tokens, Work())
    assert [about(network) for about, _ in WORDS_AND_BLOCKS.ways] == said
    names = [(each.letter, i) for each, i in places(BEYOND_WORDS, shape(tokens, widths=(2,) * 4, causal=causal))]
    layers = {"a words": 3, "b unmasked": 3, "o": 2, "s": 1}
    there = ["b unmasked", "o"] if causal else ["a words", "s"]
    assert names == [(name, i) for name in there[: 2 if tokens == 3 else 1] for i in range(1, layers[name] + 1)]


def test_what_fell_short_is_said_with_its_hypothesis() -> None:
    weights = drawn(shape(3, a=2), seed=3, bound=5)
    idle = changed(weights, V2_1=0 * weights["V2.1"])
    theorem, tried = strongest_theorem(SoftmaxConditions(idle, 3, Work()))
    assert theorem is None
    assert [each.citation for each in tried] == [
        f"{name} of docs/transformer-fibers.md"
        for name in ("Corollary 5", "Corollary 5 with Theorem 11", "Theorem 11")
    ]  # fmt: skip
    assert all("(b), layer 2 does not hold" in each.why for each in tried)


def test_hypotheses_behind_the_first_that_fails_are_not_tested() -> None:
    weights = drawn(shape(3, a=2), seed=3, bound=5)
    idle, told = changed(weights, V1_1=0 * weights["V1.1"]), list[str]()
    known = SoftmaxConditions(idle, 3, Work(), progress=lambda stage, done, total: told.append(stage))
    assert failing(known, DETERMINED[0].needs) is not None
    assert "condition (b)" in told
    assert "condition (o)" not in told


def test_a_price_is_paid_refused_or_passed_by() -> None:
    def row(price: float, *, is_needed: bool, **more: Any) -> TheoremRow[Any, str]:
        return TheoremRow("a theorem", any_question, lambda q: TheoremPrice((price,), "work", is_needed), **more)

    proved: dict[str, Any] = {"prove": lambda q: "proved"}
    work = Work(10)
    assert ask(0, [row(4, is_needed=False, **proved)], work)[0] == "proved"
    assert work.left == 6
    found, [short] = ask(0, [row(7, is_needed=False, **proved)], work)
    assert (found, short.why, work.left) == (None, "it takes more exact work than allowed, about 7 s", 6)
    with pytest.raises(TooLarge, match="work: exact work must take at most 10 s"):
        ask(0, [row(7, is_needed=True, **proved)], work)
    needy: TheoremRow[Any, str] = TheoremRow(
        "another",
        any_question,
        paid_by_steps,
        lambda q: "proved",
        needs=(Need("a number above 0", lambda q: q > 0, str),),
    )
    silent: TheoremRow[Any, str] = TheoremRow("", any_question, paid_by_steps, lambda q: None)
    assert [str(each) for each in ask(0, [needy, silent], work)[1]] == ["another: it needs a number above 0, got 0"]


def test_what_a_layer_that_writes_nothing_leaves_is_seen_through_the_skip_connection() -> None:
    weights = drawn(shape(3, widths=(2, 2, 2, 2), a=2), seed=1, bound=5)
    idle = changed(weights, **{f"V1_{h}": 0 * weights[f"V1.{h}"] for h in (1, 2)})
    assert SQUARES.test(NetworkAtPoints.of(idle, 3), 2)[::2] == (True, True)
    assert list(SQUARES.refuted_by(NetworkSpaces(idle, 3), 2)) == []
    assert next(iter(SQUARES.refuted_by(NetworkSpaces(idle, 2), 2))) == (1, 0)
