"""Theorem 11: words and blocks of three tokens or more, and networks that show what each of its conditions is for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from written_conditions import Written

from lightning_sym import SOFTMAX, Answer, NetworkForm, Weights, canonical, fiber, same_function, transformer_conditions
from lightning_sym.ask import OneOf
from lightning_sym.certificates.fibers import fiber_certificate
from lightning_sym.certificates.files import certificate_text
from lightning_sym.errors import BadInput
from lightning_sym.fibers import determined, hypotheses
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.head_rows import Demand, HeadRows
from lightning_sym.fibers.hypotheses import BEYOND_WORDS, OPPOSITE, SKEW, Hypothesis, places
from lightning_sym.limits import Work
from proofs_check.checker import verify
from proofs_check.checker.verify import Rejected
from proofs_check.claims.transformers.small_networks import (
    HeadAV,
    SmallNetwork,
    as_rows,
    points,
    same_for_any_exponential,
)

Pair = tuple[SmallNetwork, SmallNetwork]
Heads = list[tuple[Any, Any]]


def drawn(size: int, seed: int, count: int = 2) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, (count, size, size)).astype(object)


def residual(embed: Any, layers: list[Heads], *, causal: bool, tokens: int = 3) -> SmallNetwork:
    """Read as it is, of each head the form and the value."""
    heads = tuple(tuple(HeadAV(as_rows(a), as_rows(v)) for a, v in layer) for layer in layers)
    return SmallNetwork(as_rows(embed), heads, as_rows(np.eye(len(embed), dtype=object)), tokens, causal)


def weights(network: SmallNetwork) -> Weights:
    """With as many heads in each layer: those that are missing write nothing."""
    d, most = len(network.embed), max(map(len, network.layers))
    named: dict[str, Any] = {"E": network.embed, "U": network.unembed}
    for i, heads in enumerate(network.layers, 1):
        for h, (a, v) in enumerate([*heads, *[(np.zeros((d, d), int),) * 2] * (most - len(heads))], 1):
            place = f"{i}.{h}" if most > 1 else f"{i}"
            named |= {f"Q{place}": a, f"K{place}": np.eye(d, dtype=int), f"V{place}": v}
    return Weights.of(named, NetworkForm(SOFTMAX, causal=network.causal, skip=network.skip))


# ---- three tokens under a mask, heads with opposite scores


def two_layers_of_opposite_heads() -> Pair:
    """Width 7, one number a token: scores s, -s, 2s, -2s, 3s, -3s below, each head writing to its own direction."""
    e = np.eye(7, dtype=object)
    below = [(c * np.outer(e[0], e[0]), np.outer(e[h], e[0])) for h, c in enumerate((1, -1, 2, -2, 3, -3), 1)]
    away = [e[2 * p + 1] + e[2 * p + 2] - e[0] for p in range(3)]
    moved = sum(np.outer(away[p], away[q]) - np.outer(away[q], away[p]) for p, q in ((0, 1), (1, 2), (2, 0)))
    a, v = drawn(7, 2)
    return residual(e[:, :1], [below, [(a, v)]], causal=True), residual(
        e[:, :1], [below, [(a + moved, v)]], causal=True
    )


def three_layers_of_opposite_heads() -> Pair:
    """Width 9: letters 0, 1, 2 of layer 1 in the first place, 0, +, - of layer 2 in the second."""
    e = np.eye(3, dtype=object)
    on_inputs, one = np.outer(e[0], e[0]), np.eye(3, dtype=object)
    first = [(h * np.kron(on_inputs, one), np.kron(np.outer(e[h], e[0]), one)) for h in (1, 2)]
    b = np.kron(drawn(3, 4, 1)[0], np.outer(e[0], e[0]))
    second = [(s * b, np.kron(np.eye(3, dtype=object), np.outer(e[h], e[0]))) for h, s in ((1, 1), (2, -1))]
    away, turn = e[1] + e[2] - e[0], np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], dtype=object)
    a, v = drawn(9, 5)
    moved = np.kron(turn, np.outer(away, away))
    embed = np.eye(9, dtype=object)[:, :1]
    lower, other = (residual(embed, [first, second, [(m, v)]], causal=True) for m in (a, a + moved))
    return lower, other


# ---- three tokens without a mask, a skew head two layers below


def skew_head_below() -> Pair:
    """Width 8, two numbers a token: letters of layer 1, of layer 2, and the number."""
    e, one = np.eye(2, dtype=object), np.eye(2, dtype=object)
    skew = np.array([[0, 1], [-1, 0]], dtype=object)
    on_inputs, write = np.kron(np.outer(e[0], e[0]), np.outer(e[0], e[0])), np.outer(e[1], e[0])
    first = [(np.kron(on_inputs, skew), np.kron(np.kron(write, one), one))]
    second = [(drawn(8, 6, 1)[0], np.kron(np.kron(one, write), one))]
    a, v = drawn(8, 7)
    d = np.kron(np.array([[0, 1], [1, 1]], dtype=object), np.kron(np.outer(e[0], e[1] - e[0]), skew))
    embed = np.eye(8, dtype=object)[:, :2]
    lower, other = (residual(embed, [first, second, [(m, v)]], causal=False) for m in (a, a + d))
    return lower, other


WITNESSES = [
    (two_layers_of_opposite_heads, OPPOSITE, 1), (three_layers_of_opposite_heads, OPPOSITE, 2),
    (skew_head_below, SKEW, 1),
]  # fmt: skip


@pytest.mark.parametrize(("witness", "hypothesis", "layer"), WITNESSES)
def test_one_function_of_three_tokens_with_other_blocks(
    witness: Callable[[], Pair], hypothesis: Hypothesis, layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said of them; four tokens tell them apart; without the hypothesis the answer would be wrong."""
    one, other = witness()
    inputs = points(len(one.embed[0]), 3, 3)
    assert same_for_any_exponential(one, other, inputs)
    more = [net._replace(tokens=4) for net in (one, other)]
    assert not same_for_any_exponential(more[0], more[1], points(len(one.embed[0]), 4, 3))

    pair = weights(one), weights(other)
    conditions = SoftmaxConditions(pair[0], 3, Work(), idle_heads=False)
    failing = {(each.letter, i) for each, i in places(BEYOND_WORDS, conditions.architecture)
               if conditions.tested(each, i).holds is not True}  # fmt: skip
    assert failing == {(hypothesis.letter, layer)}
    for first, second in (pair, pair[::-1]):
        assert same_function(first, second, 3).answer is Answer.UNDECIDED
        assert same_function(first, second, 4).answer is Answer.DIFFERENT
    with pytest.raises(BadInput, match="needs Corollary 5 or Theorem 11"):
        canonical(pair[0], 3)
    assert canonical(pair[0], 4).hash != canonical(pair[1], 4).hash

    blind = OneOf(tuple((about, tuple(n for n in needs if n is not hypothesis))
                        for about, needs in hypotheses.WORDS_AND_BLOCKS.ways))  # fmt: skip
    rows = tuple(determined._row("Theorem 11", lambda pair: True, blind) for _ in "a")
    monkeypatch.setattr(determined, "APART", rows)
    assert same_function(pair[0], pair[1], 3).answer is Answer.DIFFERENT  # a mutant, and wrong


# ---- what is needed no more


def test_four_tokens_without_mask_ask_for_different_scores_alone() -> None:
    """Skew heads below, and scores that only queries behind different tokens tell apart."""
    one, other = skew_head_below()
    for net in (one, other):
        found = fiber(weights(net), 4)
        assert found.theorem is not None
        assert str(found.theorem) == "Theorem 11 of docs/transformer-fibers.md"
        names = {(c.name, c.layer): c.holds for c in found.conditions}
        assert names["(a')", 1] is False
        assert all(names["(a), words", i] for i in (1, 2, 3))


def test_queries_that_means_do_not_see() -> None:
    """(a*) fails: what the mean of all tokens asks for is the same for both heads of layer 2, as S_1 is singular."""
    e = np.eye(2, dtype=object)
    (a, w), (b, c) = drawn(2, 11), drawn(2, 12)
    same = a + np.array([[5, 0], [3, 0]])
    below = [(b, np.diag([-1, 0])), (c, np.diag([0, 1]))]
    net, turned = (residual(e, [below, heads], causal=False) for heads in ([(a, w), (same, e)], [(same, e), (a, w)]))
    for tokens in (3, 4):
        found = fiber(weights(net), tokens)
        assert str(found.theorem) == "Corollary 5 with Theorem 11 of docs/transformer-fibers.md"
        assert found.total == 4 + 4 * 4  # a basis of the stream, and K, Q of each head
        assert {(c.name, c.layer): c.holds for c in found.conditions}["(a)", 2] is False
        assert is_accepted(fiber_certificate(found, weights(net)))
    assert same_function(weights(net), weights(turned), 4).answer is Answer.SAME
    assert canonical(weights(net), 4).hash == canonical(weights(turned), 4).hash
    under_mask = fiber(weights(net._replace(causal=True)), 4)
    assert under_mask.theorem is None


@pytest.mark.parametrize("seed", range(12))
def test_conditions_as_words_say(seed: int) -> None:
    """Heads that are equal, opposite, skew or transposed, against words multiplied out."""
    rng = np.random.default_rng(seed)
    a, b, v, w = rng.integers(-1, 2, (4, 2, 2)).astype(object)
    others = [a, -a, -a.T, b - b.T, 0 * a, b]
    layers: list[Heads] = [[(a, v), (others[seed % 6], w)], [(b, w), (a, v)], [(b, v), (others[seed // 2 % 6], w)]]
    for causal, tokens in ((True, 3), (True, 4), (False, 3), (False, 4)):
        net = weights(residual(np.eye(2, dtype=object)[:, : 1 + seed % 2], layers, causal=causal, tokens=tokens))
        tests, written = SoftmaxConditions(net, tokens, Work()), Written.of(net, tokens)
        for each, i in places(BEYOND_WORDS, tests.architecture):
            assert tests.tested(each, i).holds is written.holds(each.name, i), (each.name, i)
        theorem = transformer_conditions(net, tokens).theorem
        if theorem is not None:
            assert not written.lacking(str(theorem)), str(theorem)


def test_a_demand_on_two_halves() -> None:
    """A mutant compares each head with itself alone."""
    rows = HeadRows(np.array([[1, 2, 1, 2], [3, 3, -1, -2]]), 4194301)
    assert rows.no_two_opposite().holds is False
    alone = Demand(lambda r: r.none_zero(), HeadRows.zeros)
    assert alone.test(rows).holds is True
    assert HeadRows(np.array([[1, 2, 1, 2], [3, 3, 1, -2]]), 4194301).no_two_opposite().holds is True


def is_accepted(document: Any) -> bool:
    """Whether the checker accepts a certificate."""
    return bool(verify.check(json.loads(certificate_text(document))))


def test_a_certificate_needs_a_whole_list_of_conditions() -> None:
    """Each of those of Theorem 11 taken away, or said of a network where it fails."""
    one, _ = skew_head_below()
    document = fiber_certificate(fiber(weights(one), 4), weights(one))
    assert document["theorem"].endswith("Theorem 11")
    assert is_accepted(document)
    for name in ("a words", "b"):
        less = [c for c in document["conditions"] if (c["name"], c["layer"]) != (name, 2)]
        with pytest.raises(Rejected, match="needs conditions that are not shown"):
            is_accepted(document | {"conditions": less})
    with pytest.raises(Rejected, match="needs conditions that are not shown"):
        is_accepted(document | {"tokens": 3})
    more = [
        *document["conditions"],
        {"name": "s", "layer": 1, "holds": True, "evidence": {"prime": 4194301, "seed": 0}},
    ]
    with pytest.raises(Rejected, match="must show that s of layer 1 holds"):
        is_accepted(document | {"tokens": 3, "conditions": more})
    skew = {"name": "s", "layer": 1, "holds": False, "evidence": {"relation": [1]}}
    failing = document | {"tokens": 3, "theorem": None, "conditions": [skew]}
    assert is_accepted(failing)
    with pytest.raises(Rejected, match="the relation must show that s of layer 1 fails"):
        is_accepted(weights_changed(failing))


def weights_changed(document: Any) -> Any:
    """The head of layer 1 is skew no more."""
    named = {name: [list(row) for row in matrix] for name, matrix in document["weights"].items()}
    named["Q1"][0][0] += 1
    return document | {"weights": named}
