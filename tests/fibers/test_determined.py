"""Different functions by the conditions that one network fulfils, and by the first tokens of many."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Answer, NetworkForm, Reason, Weights, same_function
from lightning_sym.certificates.files import write_certificate
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import TooLarge
from lightning_sym.fibers import determined
from lightning_sym.fibers.determined import apart_by_theorem, seen_apart
from lightning_sym.limits import Work
from lightning_sym.system.circuits import NetworkCircuits
from proofs_check.checker import verify

A, B = np.array([[[1, 2], [0, 1]], [[2, -1], [1, 1]]])
V, W = np.array([[[1, 1], [0, 2]], [[3, 0], [1, 1]]])
ZERO = np.zeros((2, 2), dtype=int)
CLOSE = Fraction(1, 10**3000) * np.eye(2, dtype=int)  # balls of 128 bits do not see it
MANY = 100_000
MASK, NO_MASK = (NetworkForm(SOFTMAX, causal=causal, skip=True) for causal in (True, False))


def net(*layers: list[tuple[Any, Any]], form: NetworkForm = NO_MASK, **ends: Any) -> Weights:
    """Heads of each layer by their circuits."""
    named: dict[str, Any] = dict(ends)
    for i, heads in enumerate(layers, 1):
        for h, (a, v) in enumerate(heads, 1):
            where = f"{i}.{h}" if len(heads) > 1 else f"{i}"
            named |= {f"Q{where}": a, f"K{where}": np.eye(len(a), dtype=int), f"V{where}": v}
    return Weights.of(named, form)


@pytest.mark.parametrize("form", [MASK, NO_MASK])
@pytest.mark.parametrize("tokens", [2, 3, MANY])
def test_one_entry_moved_by_less_than_balls_see(form: NetworkForm, tokens: int) -> None:
    first = net([(A, V), (B, W)], [(B, V), (A, W)], form=form)
    swapped = net([(B, W), (A, V)], [(A, W), (B, V)], form=form)
    assert same_function(first, swapped, tokens).answer is Answer.SAME
    for moved in (
        net([(B, W), (A, V)], [(A, W + CLOSE), (B, V)], form=form),
        net([(B, W), (A, V)], [(A + CLOSE, W), (B, V)], form=form),
        net([(B + CLOSE, W), (A, V)], [(A, W), (B, V)], form=form),
        net([(B, W), (A, V + CLOSE)], [(A, W), (B, V)], form=form),
    ):
        for pair in ((first, moved), (moved, first)):
            found = same_function(*pair, tokens)
            assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.WORDS)


def test_a_head_less_is_another_function() -> None:
    first, narrow = net([(A, V), (B, CLOSE)], [(B, V), (A, W)]), net([(A, V)], [(B, V)])
    fewer = net([(A, V), (B, ZERO)], [(B, V), (A, W)])
    for other in (fewer, narrow):
        assert same_function(first, other, 3).answer is same_function(other, first, 3).answer is Answer.DIFFERENT


UNSEEN = np.array([[0, 5, 5, -5, -5], [-3, 0, 3, 0, 0], [-3, 3, 0, 0, 0], [3, 0, 0, 0, -3], [3, 0, 0, -3, 0]])


def over_dependent_scores(change: Any) -> tuple[Weights, Weights]:
    """Scores s, -s, 2s, -2s of one input direction, each head writing to its own; then A of layer 2 moves.

    Two tokens do not see `UNSEEN`: the weights that these scores give have relations. Formal scores of two tokens move.
    """
    unit, rng = np.eye(5, dtype=int), np.random.default_rng(1)
    below = [(c * np.outer(unit[0], unit[0]), np.outer(unit[h], unit[0])) for h, c in enumerate((1, -1, 2, -2), 1)]
    (a, v), *above = [tuple(rng.integers(-3, 4, (2, 5, 5)).astype(object)) for _ in range(4)]
    ends = {"E": unit[:, :1], "U": np.array([[1, 2, 3, 4, 5]])}
    first, second = (net(below, [(m, v), *above], form=MASK, **ends) for m in (a, a + change))
    return first, second


def test_dependent_scores_are_not_compared_formally() -> None:
    """Three tokens: the functions differ, but words and the scores of two tokens do not."""
    seen = same_function(*over_dependent_scores(Fraction(1, 10**100) * UNSEEN), 3)
    assert (seen.answer, seen.reason) == (Answer.DIFFERENT, Reason.BALLS)
    hidden = same_function(*over_dependent_scores(Fraction(1, 10**3000) * UNSEEN), 3)
    assert (hidden.answer, hidden.because) == (Answer.UNDECIDED, Reason.AGREEMENT.message)


def test_a_part_of_dependent_scores_is_determined() -> None:
    """What queries behind equal tokens see, (M E xi)^T A S eta."""
    found = same_function(*over_dependent_scores(Fraction(1, 10**3000) * np.eye(5, dtype=int)), 3)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.WORDS)
    assert found.theorem == "Theorem 4 with Proposition 15 of docs/transformer-fibers.md"
    assert f"({found.theorem})" in " ".join(str(found).split())


def test_merged_heads_are_seen_through() -> None:
    """The second has more heads, but not when those with equal scores are one."""
    first = net([(A, V)], [(B, W)])
    second = net([(A, V - W), (A, W)], [(B, W), (B, CLOSE)])
    assert same_function(first, second, 3).reason is Reason.WORDS


def test_without_conditions_nothing_is_said() -> None:
    first, second = net([(ZERO, V)], [(B, V)]), net([(ZERO, V)], [(B, V + CLOSE)])
    assert same_function(first, second, 3).answer is Answer.UNDECIDED


def test_streams_decide_where_words_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determined, "seen_apart", lambda *_, **__: False)
    first, second = net([(A, V)], [(B, W)]), net([(A, V)], [(B, W + CLOSE)])
    found = same_function(first, second, 3)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.DETERMINED)
    assert found.theorem == "Corollary 5 of docs/transformer-fibers.md"


def test_equal_networks_are_never_apart() -> None:
    rng = Random(4)
    for _ in range(40):
        form = rng.choice((MASK, NO_MASK))

        def drawn() -> Any:
            return np.array([[rng.randint(-2, 2) for _ in "ab"] for _ in "ab"])

        layers = [[(drawn(), drawn()) for _ in "ab"] for _ in "ab"]
        base = np.array([[1, rng.randint(-2, 2)], [0, 1]])
        back = np.array([[1, -base[0, 1]], [0, 1]])
        moved = [[(back.T @ a @ back, base @ v @ back) for a, v in reversed(heads)] for heads in layers]
        one = net(*layers, form=form, E=np.eye(2, dtype=int), U=np.eye(2, dtype=int))
        other = net(*moved, form=form, E=base, U=back)
        first, second = NetworkCircuits.of(one), NetworkCircuits.of(other)
        assert not seen_apart(first, second, rng, formal=True)
        for tokens in (2, 3):
            assert apart_by_theorem(None, first, second, tokens, rng, Work())[0] is None
            assert apart_by_theorem(other, second, first, tokens, rng, Work())[0] is None


@pytest.mark.parametrize("form", [MASK, NetworkForm(causal=True, skip=True)])
def test_the_first_tokens_of_many_show_it(form: NetworkForm, tmp_path: Path) -> None:
    """Neither network fulfils conditions; the certificate is of the first tokens too."""
    first, second = net([(ZERO, V)], [(ZERO, W)], form=form), net([(ZERO, V)], [(A, W)], form=form)
    found = same_function(first, second, MANY)
    assert found.answer is Answer.DIFFERENT
    assert found.input is not None
    assert found.prefix == found.input.shape[1] == 8
    assert "inputs are of the first 8 alone" in str(found)
    path = tmp_path / "answer.json"
    write_certificate(str(path), same_certificate(found, first, second, MANY))
    assert verify.main([str(path)]) == 0


def test_agreement_on_the_first_tokens_bounds_nothing() -> None:
    form = NetworkForm(causal=True)  # the heads cancel, which common streams see; two layers move
    first = net([(A, V), (B, W)], form=form)
    second = net([(A, V + CLOSE), (B, W)], form=form)
    found = same_function(first, second, MANY)
    assert found.answer is Answer.DIFFERENT  # exact outputs see it
    assert found.reason is Reason.INPUT
    series = net([(ZERO, V)], [(B, V)], form=MASK), net([(ZERO, V)], [(B, V + CLOSE)], form=MASK)
    found = same_function(*series, MANY)
    assert found.answer is Answer.UNDECIDED
    assert found.error_bound == 1
    assert found.prefix == 8


def test_a_certificate_needs_inputs_that_fit() -> None:
    first, second = net([(A, V)], [(B, V)]), net([(A, V)], [(B, V + V)])
    found = same_function(first, second, MANY)
    assert found.answer is Answer.DIFFERENT
    with pytest.raises(TooLarge, match="100,000 tokens"):
        same_certificate(found, first, second, MANY)


def test_equal_networks_of_many_tokens_do_not_wait_for_inputs() -> None:
    stages = set[str]()
    one: dict[str, Any] = {"Q1": [[1]], "K1": [[1]], "V1": [[Fraction(1, 3)]]}
    first, second = (Weights.of(m, NetworkForm(SOFTMAX, skip=True)) for m in (one, one | {"Q1": [[-1]], "K1": [[-1]]}))
    found = same_function(first, second, 2000, progress=lambda stage, done, total: stages.add(stage))
    assert found.answer is Answer.SAME
    assert not any("outputs" in stage for stage in stages), "seconds each, and in vain"


def test_what_was_tried_says_of_which_network() -> None:
    """Layer 1 of the first network has scores; what has none is what is left of it."""
    none = {"Q": [[0]], "K": [[0]]}

    def stacked(*heads: tuple[dict[str, list[list[int]]], int]) -> Weights:
        named = {f"{k}{i}": m for i, (head, v) in enumerate(heads, 1) for k, m in (head | {"V": [[v]]}).items()}
        return Weights.of(named, NetworkForm(SOFTMAX, causal=True, skip=True))

    idle = {"Q": [[1]], "K": [[1]]}, 0
    found = same_function(stacked(idle, (none, 1), (none, 2)), stacked((none, 2), (none, 1)), 3)
    assert found.answer is Answer.UNDECIDED
    said = [each.why for each in found.tried if each.citation.startswith("Theorem 4")]
    rearranged = "network, its heads rearranged: (a), layer 1 does not hold (the scores of head 1 are zero)"
    assert said == [f"of the first {rearranged}", f"of the second {rearranged}"]
