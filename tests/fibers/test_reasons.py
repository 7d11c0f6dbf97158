"""Reasons: a theorem is cited where its hypotheses hold, by words written out, and no theorem that was only tried."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from command import run
from written_conditions import Written, two_tokens_differ

from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    NetworkForm,
    Normalization,
    Reason,
    Weights,
    classify,
    fiber,
    same_function,
    save_weights,
)
from lightning_sym.dimension.dimension_text import printed_formula
from lightning_sym.dimension.transformers import model_dimension
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.comparison import Comparison
from lightning_sym.network.model_config import Model
from lightning_sym.system.arrangement import arranged, padded
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.normal_circuits import without_uniform_heads
from proofs_check.registry import walk_through

SMALL = Fraction(1, 10**3000)  # no balls see it

# ---- random networks, often with scores that depend on each other


def drawn(source: Random, rows: int, columns: int) -> Any:
    entries = [[Fraction(source.randint(-2, 2)) for _ in range(columns)] for _ in range(rows)]
    return np.array(entries, dtype=object)


def scores(source: Random, d: int, heads: int) -> list[Any]:
    """Multiples of one matrix, equal ones, of rank one with the same keys, skew ones, a zero one, or any."""
    one, free = drawn(source, d, d), [drawn(source, d, d) for _ in range(heads)]
    multiples = [c * one for c in source.sample((1, -1, 2, -2, 3), heads)]
    thin, skew = [np.outer(one[0], m[0]) for m in free], [m - m.T for m in free]
    return source.choice([multiples, [one] * heads, thin, skew, [0 * one, *free[1:]], free])


def pair(seed: int) -> tuple[Weights, Weights, int]:
    """A network, and the same with an entry changed, by so little that most often a theorem has to say so."""
    source = Random(seed)
    d, depth, heads = source.choice((1, 2, 2, 3)), source.choice((1, 2, 2)), source.choice((1, 2, 2, 3))
    named = {name: drawn(source, *size) for name, size in (("E", (d, 1)), ("U", (1, d))) if source.random() < 0.4}
    for i in range(1, depth + 1):
        for h, a in enumerate(scores(source, d, heads), 1):
            place = f"{i}.{h}" if heads > 1 else f"{i}"
            named |= {f"Q{place}": a, f"K{place}": np.eye(d, dtype=int), f"V{place}": drawn(source, d, d)}
    form = NetworkForm(SOFTMAX, causal=source.random() < 0.5, skip=source.random() < 0.6)
    name = source.choice([name for name in named if name[0] != "K"])
    moved = named[name].copy()
    moved[source.randrange(len(moved)), source.randrange(len(moved[0]))] += source.choice((1, SMALL, SMALL))
    return Weights.of(named, form), Weights.of(named | {name: moved}, form), source.choice((1, 2, 3, 3))


def determined(networks: tuple[Weights, Weights], tokens: int, found: Comparison) -> bool:
    """Whether one of two networks, heads merged and moved, fulfils all hypotheses, and what is determined differs."""
    nets = [arranged(NetworkCircuits.of(w), tokens).circuits for w in networks]
    if tokens == 2:
        nets = [without_uniform_heads(net) for net in nets]
    both = padded(nets[0], nets[1])
    assert both is not None
    written = [Written(net, tokens, idle=False) for net in both]
    for one, other in (written, written[::-1]):
        fewer = all(len(a) >= len(b) for a, b in zip(one.layers, other.layers, strict=True))
        if not all(one.layers) or not fewer or one.lacking(found.theorem):
            continue
        if found.reason is Reason.DETERMINED:
            return "Corollary 5" not in found.theorem or all(
                a >= b for a, b in zip(one.widths, other.widths, strict=True)
            )
        return two_tokens_differ(one, other, formal="Proposition 15" not in found.theorem)
    return False


def justified(networks: tuple[Weights, Weights], tokens: int, found: Comparison) -> bool:
    form = networks[0].form
    if found.reason in (Reason.WORDS, Reason.DETERMINED):
        return determined(networks, tokens, found)
    if found.reason is Reason.VISIBLE:
        theorem = f"Theorem {4 if form.causal else 1} of docs/softmax-fibers.md"
        return not form.skip and found.theorem == (theorem if tokens > 1 else "patterns of one token are 1")
    if found.reason is Reason.ONE_LAYER:
        return max(len(arranged(NetworkCircuits.of(w), tokens).circuits.layers) for w in networks) <= 1
    return not found.theorem


def known(weights: Weights, tokens: int, found: Fiber) -> bool:
    """Whether the theorem of a fiber holds for these weights."""
    theorem, one_head = str(found.theorem or ""), weights.architecture(tokens).heads == 1
    if not theorem:
        return not found.complete or tokens == 1
    if "softmax-fibers" in theorem:
        return tokens > 1 and one_head and not weights.form.skip
    written = Written.of(weights, tokens)
    if theorem.startswith("Theorem 8"):
        return tokens > 1 and written.depth == 1
    return not written.lacking(theorem) and ("Theorem 7" not in theorem or tokens == 2)


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_reasons_are_justified(start: int) -> None:
    reasons = set()
    for seed in range(start, start + 20):
        first, second, tokens = pair(seed)
        found = same_function(first, second, tokens)
        assert justified((first, second), tokens, found), (seed, found.because)
        assert known(first, tokens, fiber(first, tokens)), seed
        reasons.add((found.reason, found.theorem))
    assert len(reasons) > 3


def test_a_reason_that_is_not_justified_is_seen() -> None:
    """Mutants: formal scores where they are dependent, and a theorem with more conditions."""
    seeds = range(200)
    dependent = (pair(seed) for seed in seeds if "Proposition 15" in same_function(*pair(seed)).theorem)
    first, second, tokens = next(dependent)
    found = same_function(first, second, tokens)
    for theorem in ("Theorem 4 of docs/transformer-fibers.md", "Corollary 5 of docs/transformer-fibers.md"):
        assert not determined((first, second), tokens, Comparison(Answer.DIFFERENT, found.reason, theorem=theorem))


# ---- what a theorem is not about


@pytest.mark.parametrize("causal", [True, False])
def test_one_token_needs_no_theorem(causal: bool) -> None:
    form = NetworkForm(SOFTMAX, causal=causal)
    w, other = ({"Q1": [[1]], "K1": [[1]], "V1": [[v]]} for v in (2, 3))
    one = fiber(Weights.of(w, form), 1)
    assert (one.source, one.theorem, one.complete) == ("patterns of one token are 1", None, True)
    found = same_function(Weights.of(w, form), Weights.of(other, form), 1)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.VISIBLE)
    assert "docs" not in found.because


LAYER = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}
TWO = LAYER | {"Q1": [[1, 2], [0, 1]], "K1": [[1, 0], [1, 1]], "Q2": [[1, 1], [0, 1]], "K2": [[1, 0], [0, 2]]}
TWO |= {"V2": [[1, 0], [1, 1]]}


@pytest.mark.parametrize(
    ("weights", "form", "tokens", "cited"),
    [
        (LAYER, NetworkForm(), 2, None),
        (LAYER, NetworkForm(causal=True), 1, None),
        (LAYER, NetworkForm(causal=True), 2, "Proposition 3"),
        (LAYER, NetworkForm(skip=True), 1, "Proposition 3"),
        (LAYER | {"E": [[1], [2]]}, NetworkForm(), 2, "Proposition 3"),
        (TWO, NetworkForm(), 2, None),
        (TWO, NetworkForm(causal=True), 2, "Proposition 4"),
    ],
)
def test_other_lightning_networks_cite_what_is_proved_of_them(
    weights: Any, form: NetworkForm, tokens: int, cited: str | None
) -> None:
    found = fiber(Weights.of(weights, form), tokens)
    assert found.complete
    page = "docs/fibers-near-weights.md"
    assert (f"{page}, {cited}" in found.reason) if cited else (page not in found.reason)


def test_what_was_tried_stands_in_no_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = Weights.random(Architecture((5, 5, 5), (1, 2), 2), seed=1)
    found = fiber(weights, 2)
    assert (found.source, found.reason) == ("known symmetries only", "no theorem applies")
    said = "Theorem 3.7: it needs rk A~_i of at least two before the last layer, got rk A~1 = 1"
    assert list(map(str, found.tried)) == [said]
    path = tmp_path / "weights.json"
    save_weights(weights, path)
    _, printed, _ = run(capsys, "fiber", str(path), "--json")
    document = json.loads(printed)
    assert (document["tried"], document["theorem"]) == ([said], None)
    assert "Theorem" not in document["source"] + document["reason"]


def test_printed_formulas_hold_under_all_of_their_hypotheses() -> None:
    assert not printed_formula(Architecture((2, 1), (1,), 2)).applies
    assert all(printed_formula(Architecture(w, (a,), 2)).applies for w, a in (((2, 1), 2), ((2, 2), 1)))
    even = Normalization("1 + y^2", lambda k: Fraction(k in (0, 2)))
    for widths in ((2, 2), (2, 2, 2)):
        ranks = (2,) * (len(widths) - 1)
        assert printed_formula(Architecture(widths, ranks, 2, SOFTMAX)).applies
        assert "S'(0)" in printed_formula(Architecture(widths, ranks, 2, even)).reason


def test_bounds_of_narrow_vocabularies_cite_what_bounds_them() -> None:
    """The inequality of Theorem 12 fails: n + h (2 min(a, f) + min(b, n)) = 4 < 5."""
    found = model_dimension(Model(5, 1, 4, 1, 1, True, {}, value_width=4))
    assert found.value is None
    assert "Proposition 19 of docs/transformers.md" in found.theorem
    assert "Theorem 12" not in found.theorem


def test_one_layer_cites_its_page() -> None:
    point = classify(Weights.of({"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[1, 0]]}))
    assert point.dimension.source == "docs/one-layer.md, Proposition 3"  # Corollary 3.3 asks for a > 1 or d' > 1
    assert any("docs/one-layer.md, section 5" in reason for reason in point.reasons)


def test_undecided_says_only_what_was_seen() -> None:
    """Other depths, no skip connections: no streams are compared. Only the series of S is known: no outputs."""
    form = NetworkForm(Normalization("1 + y", lambda k: Fraction(k < 2)))
    found = same_function(Weights.of(LAYER, form), Weights.of(TWO, form), 2)
    assert (found.answer, found.evaluations) == (Answer.UNDECIDED, 0)
    assert not any(word in found.because for word in ("do not move", "agree"))


@pytest.mark.parametrize(("first", "said"), [([[0, 0], [0, 0]], "up to a power of two"), ([[1, 0], [0, 0]], "visible")])
def test_a_skew_layer_behind_a_zero_one_is_not_said_to_be_visible(first: Any, said: str) -> None:
    """Theorem 4 of docs/softmax-fibers.md at two tokens: a zero layer that passes it makes it another multiple."""
    one = [[1, 0], [0, 1]]
    named = {"Q1": first, "K1": one, "V1": one, "Q2": [[0, 1], [-1, 0]], "K2": one, "V2": one}
    _, steps = walk_through("softmax-fibers", Weights.of(named, NetworkForm(SOFTMAX, causal=True)))
    [words] = [step.prose for step in steps if step.heading == "Layer 2"]
    assert said in words
    assert ("visible." in words) == (said == "visible")
