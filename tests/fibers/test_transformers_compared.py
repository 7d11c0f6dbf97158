"""Networks with heads, skip connections, masks, embeddings: same by a symmetry, different by balls or a theorem."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Answer, Architecture, NetworkForm, Normalization, Reason, Weights, same_function
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.fibers import same_transformers
from lightning_sym.fibers.transform import transform
from lightning_sym.rings.ball_matrices import DecimalBall
from lightning_sym.system import arrangement, common_streams
from lightning_sym.system.circuits import NetworkCircuits

SHAPE = Architecture((3, 3, 3), (2, 1), 3, heads=2, value_ranks=(2, 3), embed=4, unembed=3, skip=True)
FORMS = [
    NetworkForm(normalization, causal, skip) for normalization in (None, SOFTMAX) for causal in (False, True)
    for skip in (False, True)
]  # fmt: skip
SKIP = NetworkForm(SOFTMAX, skip=True)


def one_by_one(n: int, source: random.Random) -> Any:
    """An invertible integer matrix."""
    result = np.eye(n, dtype=int)
    for _ in range(2 * n if n > 1 else 0):
        i, j = source.sample(range(n), 2)
        result[i] += source.choice((-1, 1)) * result[j]
    return result if n > 1 else 2 * result


def moved(weights: Weights, seed: int) -> Weights:
    shape, source = weights.architecture(1), random.Random(seed)
    heads = [(i, f"{i}.{h}") for i in range(1, shape.depth + 1) for h in range(1, shape.heads + 1)]
    assert shape.value_ranks is not None
    places = [0] if shape.skip else range(shape.depth + 1)
    order = list(range(1, shape.heads + 1))
    return transform(
        weights,
        query_key={name: one_by_one(shape.attention_ranks[i - 1], source) for i, name in heads},
        value_output={name: one_by_one(shape.value_ranks[i - 1], source) for i, name in heads},
        between={i: one_by_one(shape.widths[i], source) for i in places},
        scales={name: Fraction(source.choice((2, -3)), 5) for _, name in heads}
        if shape.normalization is None
        else None,
        heads={i: source.sample(order, len(order)) for i in range(1, shape.depth + 1)},
    )


@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_symmetry_is_found_and_a_changed_entry_is_noticed(form: NetworkForm, tokens: int) -> None:
    shape = replace(SHAPE, normalization=form.normalization, causal=form.causal, skip=form.skip)
    first = Weights.random(shape, seed=3)
    second = moved(first, 4)
    found = same_function(first, second, tokens)
    assert (found.answer, found.reason) == (Answer.SAME, Reason.STREAMS)
    if tokens > 1:
        s = found.symmetry
        assert s is not None
        assert s.between is not None
        assert "applied to the first network it gives the second" in str(found)
        bases = {"query_key": s.query_key, "value_output": s.value_output}
        assert transform(first, between=s.between, **bases, scales=s.scales, heads=s.heads) == second
    changed = second["O2.1"].copy()
    changed[0, 0] += 1
    other = same_function(first, Weights.of(second.named() | {"O2.1": changed}, form), tokens)
    assert other.answer is Answer.DIFFERENT
    assert other.reason is (Reason.INPUT if form.normalization is None else Reason.BALLS)


def network(*layers: list[tuple[Any, Any]], form: NetworkForm = SKIP) -> Weights:
    """Layers of heads `(A, V)`, with keys one."""
    named: dict[str, Any] = {}
    most = max(map(len, layers))
    for i, heads in enumerate(layers, start=1):
        d = len(heads[0][0])
        for h, (a, v) in enumerate(heads + [(np.eye(d), np.zeros((d, d)))] * (most - len(heads)), start=1):
            named |= {f"Q{i}.{h}": a, f"K{i}.{h}": np.eye(d), f"V{i}.{h}": v}
    return Weights.of(named, form)


A, B = np.array([[1, 2], [0, 1]]), np.array([[0, 1], [1, 1]])
V, W = np.array([[1, 0], [2, 1]]), np.array([[0, 1], [-1, 3]])
ZERO = np.zeros((2, 2), dtype=int)
SKEW = np.array([[0, 1], [-1, 0]])
NO_SKIP = NetworkForm(SOFTMAX)


def blind(behind: Any) -> Weights:
    """Skew scores in front: for two tokens all are equal then."""
    return network([(SKEW, V), (2 * SKEW, W)], [(behind, V)], form=NO_SKIP)


@pytest.mark.parametrize(
    ("first", "second", "tokens", "answer"),
    [
        (network([(A, V), (A, W)]), network([(A, V + W)]), 3, Answer.SAME),  # merged
        (network([(A, V), (B, ZERO)]), network([(A, V)]), 3, Answer.SAME),  # missing
        (network([(A, V)], [(B, ZERO)], [(B, W)]), network([(A, V)], [(B, W)]), 2, Answer.SAME),  # an identity layer
        (network([(A, V)], [(B, W)]), network([(B, W)], [(A, V)]), 2, Answer.DIFFERENT),
        (network([(A, V), (B, -V)]), network([(-A, -V), (-B, V)]), 2, Answer.SAME),  # flips
        (network([(A, V), (B, -V)]), network([(-A, -V), (-B, V)]), 3, Answer.DIFFERENT),
        (network([(A, V), (-A, V)]), network([(ZERO, 2 * V)]), 2, Answer.SAME),
        (network([(A, V), (-A, V)]), network([(ZERO, 2 * V)]), 3, Answer.DIFFERENT),
        (blind(A), blind(B), 2, Answer.SAME),
        (blind(A), blind(B), 3, Answer.DIFFERENT),
        (network([(A, V)]), network([(B, V)]), 1, Answer.SAME),  # one token attends to itself
        (network([(A, V)]), network([(B, W)]), 1, Answer.DIFFERENT),
    ],
)  # fmt: skip
def test_what_is_the_same_and_what_is_not(first: Weights, second: Weights, tokens: int, answer: Answer) -> None:
    for pair in ((first, second), (second, first)):
        assert same_function(*pair, tokens).answer is answer


def test_heads_move_to_the_layer_that_they_can_stand_in() -> None:
    a, v = np.zeros((2, 4, 4), dtype=int)
    a[:2, :2], v[2:, :2] = A, V
    b, w = np.zeros((2, 4, 4), dtype=int)
    b[:2, :2], w[2:, :2] = B, W
    late, early = network([(a, v)], [(b, w)]), network([(a, v), (b, w)])
    found = same_function(late, early, 3)
    assert (found.answer, found.reason) == (Answer.SAME, Reason.STREAMS)
    assert found.symmetry is not None
    assert found.symmetry.arranged
    reads = b.copy()
    reads[2, 0] = 1  # now its keys see what the first layer writes
    assert same_function(network([(a, v)], [(reads, w)]), network([(a, v), (reads, w)]), 3).answer is Answer.DIFFERENT


def test_a_mean_that_is_zero_is_followed() -> None:
    """Behind `x - mean` the mean is zero, so heads that attend to all tokens alike add nothing."""
    one, minus = np.eye(2, dtype=int), -np.eye(2, dtype=int)
    front = [(ZERO, minus)]
    assert (
        same_function(network(front, [(ZERO, V), (A, W)]), network(front, [(ZERO, W), (A, W)]), 3).answer is Answer.SAME
    )
    other = network([(ZERO, 2 * minus)], [(ZERO, V), (A, W)])
    assert same_function(other, network([(ZERO, 2 * minus)], [(ZERO, one), (A, W)]), 3).answer is Answer.DIFFERENT
    causal = NetworkForm(SOFTMAX, causal=True, skip=True)
    masked, other = (network(front, [(ZERO, v)], form=causal) for v in (V, W))
    assert same_function(masked, other, 3).answer is Answer.DIFFERENT


def test_a_head_that_nobody_reads_is_left_out() -> None:
    end: dict[str, Any] = {"E": np.eye(2), "U": [[1, 0]]}
    silent = np.array([[0, 0], [1, 2]])  # writes what neither U nor the other layer reads
    narrow, out = np.array([[1, 0], [0, 0]]), np.array([[3, 0], [0, 0]])
    one = Weights.of(network([(A, silent)], [(narrow, out)]).named() | end, SKIP)
    other = Weights.of(network([(narrow, out)]).named() | end, SKIP)
    assert same_function(one, other, 3).answer is Answer.SAME


def test_the_witness_holds_the_outputs() -> None:
    found = same_function(network([(A, V)], [(B, W)]), network([(A, V)], [(B, W + W)]), 2)
    assert found.entry is not None
    assert found.outputs is not None
    one, other = (y[found.entry[0] - 1, found.entry[1] - 1] for y in found.outputs)
    assert isinstance(one, DecimalBall)
    assert not one.meets(other)
    assert "do not meet" in str(found)


def test_one_layer_is_decided_without_an_input() -> None:
    close = Fraction(1, 10**3000)  # balls of 128 bits do not see it
    first, second = network([(A, V)]), network([(A, V + close * np.eye(2, dtype=int))])
    found = same_function(first, second, 2)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.ONE_LAYER)
    moved = V + close * np.eye(2, dtype=int)
    deep = same_function(network([(ZERO, V)], [(B, V)]), network([(ZERO, V)], [(B, moved)]), 2)
    assert (deep.answer, deep.reason) == (Answer.UNDECIDED, Reason.AGREEMENT)
    assert deep.distance is not None
    assert deep.distance < Fraction(1, 10**500)
    assert "outputs are at most 10^-" in str(deep)


def test_a_normalization_that_is_only_a_series() -> None:
    series = NetworkForm(Normalization("1 + y", lambda k: Fraction(int(k < 2))), skip=True)
    first = network([(A, V), (B, W)], form=series)
    assert same_function(first, network([(B, W), (A, V)], form=series), 3).answer is Answer.SAME
    assert same_function(first, network([(B, W), (A, W)], form=series), 3).answer is Answer.UNDECIDED


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "all layers are blind": (common_streams, "_blind", lambda heads, *_: frozenset(range(-1, len(heads)))),
    "all patterns are equal": (common_streams, "_spell", lambda forms, *_: [{0: Fraction(1)} for _ in forms]),
    "nothing is read": (arrangement, "_readings", lambda _, heads: [set() for _ in heads]),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_streams_are_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    asked = [row.prove for row in same_transformers.TRANSFORMERS]
    behind = asked.index(same_transformers._by_few_inputs) + 1  # balls would come first
    monkeypatch.setattr(same_transformers, "TRANSFORMERS", same_transformers.TRANSFORMERS[behind:])
    pairs = [
        (network([(A, V)], [(B, W)], form=form), network([(B, W)], [(A, V)], form=form), tokens)
        for form in (SKIP, NO_SKIP) for tokens in (2, 3)
    ] + [
        (network([(A, V)], [(A, W)], form=form), network([(A, V)], [(B, W)], form=form), 3)
        for form in (SKIP, NO_SKIP)
    ] + [(network([(A, V)], [(B, W)]), network([(A, V), (B, W)]), 3)]  # fmt: skip
    assert any(same_function(*pair).answer is Answer.SAME for pair in pairs)


def test_what_is_refused() -> None:
    one = network([(A, V)])
    with pytest.raises(BadInput, match="of one form, got softmax, skip and softmax"):
        same_function(one, network([(A, V)], form=NO_SKIP))
    with pytest.raises(ShapeError, match="the same input width"):
        same_function(one, network([(np.eye(3), np.eye(3))]))
    with pytest.raises(TooLarge, match="larger work"):
        same_function(one, network([(B, V)]), work=1e-12)


def test_a_mean_that_is_zero_stays_zero() -> None:
    """Heads with A = 0 read the mean of the stream alone, and the first layer makes it 0."""
    form = NetworkForm(SOFTMAX, skip=True)

    def net(last: int) -> NetworkCircuits:
        values = [-1, 0, last]
        weights = {f"{s}{i}": [[v if s == "V" else 0]] for i, v in enumerate(values, start=1) for s in "QKV"}
        return NetworkCircuits.of(Weights.of(weights, form))

    assert common_streams.common_streams(net(1), net(3), 2).same
