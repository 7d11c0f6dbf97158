"""Canonical weights: the same bytes for the same function, others for another; refused where no theorem decides."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command import run
from form_pairs import drawn, drawn_form, matrix, moved, nearly, weights
from hypothesis import given
from hypothesis import strategies as st
from judge_functions import are_the_same

from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    Weights,
    canonical,
    rescale,
    same_function,
    swap,
    transform,
)
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.fibers import canonical as room
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.rationals import RationalMatrix

SEEDS = st.integers(0, 2**32)
EXAMPLES = Path(__file__).parents[2] / "examples"


def generic(rng: Random) -> tuple[NetworkForm, int, dict[str, Any]]:
    """Two layers or three, most heads different: what Corollary 5 and Theorem 11 are about."""
    form = NetworkForm(SOFTMAX, causal=rng.random() < 0.5, skip=rng.random() < 0.7)
    depth, d, heads = rng.randint(2, 3), rng.randint(2, 3), rng.randint(1, 2)
    widths = [d] * (depth + 1) if form.skip else [rng.randint(1, 3) for _ in range(depth + 1)]
    layers = []
    for before, behind in pairwise(widths):
        a, b = rng.randint(1, 2), rng.randint(1, 2)
        layers.append(
            [{"Q": matrix(rng, a, before), "K": matrix(rng, a, before), "V": matrix(rng, b, before),
              "O": matrix(rng, behind, b)} for _ in range(heads)]
        )  # fmt: skip
    ends = {
        "E": matrix(rng, d if form.skip else widths[0], rng.randint(2, 4)),
        "U": matrix(rng, rng.randint(1, 3), widths[-1]),
    }
    return form, rng.choice((2, 3)), ends | {"layers": layers}


def found(network: Weights, tokens: int) -> str | None:
    """The text of the canonical form, or nothing; it is its own canonical form."""
    try:
        result = canonical(network, tokens)
    except BadInput:
        return None
    assert canonical(result.weights, tokens).text == result.text
    return result.text


@given(seed=SEEDS)
def test_the_same_function_has_the_same_bytes(seed: int) -> None:
    rng = Random(seed)
    form, tokens, network = generic(rng)
    if rng.random() < 0.5:
        form, tokens = drawn_form(rng), rng.randint(1, 3)
        form = NetworkForm(SOFTMAX, form.causal, form.skip)
        network = drawn(rng, form)
    other = moved(rng, network, form, tokens)
    assert found(weights(network, form), tokens) == found(weights(other, form), tokens)


def test_other_functions_have_other_bytes() -> None:
    rng, count = Random(5), Counter[bool]()
    for _ in range(80):
        form, tokens, network = generic(rng)
        other = nearly(rng, moved(rng, network, form, tokens))
        texts = [found(weights(w, form), tokens) for w in (network, other)]
        if None in texts:
            continue
        named = (weights(w, form).matrices for w in (network, other))
        sides = ({name: [[str(x) for x in row] for row in m] for name, m in side.items()} for side in named)
        first, second = sides
        same = are_the_same({"form": form.to_json(), "tokens": tokens, "first": first, "second": second})
        assert (texts[0] == texts[1]) is same
        count[bool(same)] += 1
    assert count[False] > 20
    assert count[True] > 0


@pytest.mark.parametrize("tokens", [2, 3])
def test_zero_layers_pass_skew_ones_under_a_mask_at_two_tokens(tokens: int) -> None:
    skew: Any = {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[1, 2], [0, 1]]}
    zero: Any = {"Q2": [[0, 0]], "K2": [[1, 1]], "V2": [[1, 0], [0, 1]]}
    form = NetworkForm(SOFTMAX, causal=True)
    first = Weights.of(skew | zero, form)
    second = Weights.of({"Q1": [[0, 0]], "K1": [[1, 1]], "V1": [[1, 0], [0, 1]], "Q2": [[0, 2], [-2, 0]],
                         "K2": [[1, 0], [0, 1]], "V2": [[1, 2], [0, 1]]}, form)  # fmt: skip
    assert (canonical(first, tokens).hash == canonical(second, tokens).hash) is (tokens == 2)


def test_the_last_layer_may_change_the_width() -> None:
    """Without skip connections: from three to two to one, and three outputs."""
    network = Weights.random(Architecture((3, 2, 1), (2, 2), 2, SOFTMAX, heads=2, unembed=3), seed=3, bound=3)
    known = canonical(network, 2)
    assert known.weights.architecture(2).widths == (3, 2, 1)
    assert same_function(network, known.weights, 2).answer is Answer.SAME
    assert canonical(known.weights, 2).hash == known.hash


def test_what_stands_behind_a_blind_layer_is_gone() -> None:
    first = Weights.random(Architecture((2, 2, 2, 2), (2, 2, 2), 3, normalization=SOFTMAX), seed=3)
    blind = Weights.of(first.named() | {"Q2": 0 * first["Q2"]}, first.form)
    result = canonical(blind, 3)
    assert result.weights.architecture(3).depth == 2
    assert result.theorem == "Theorem 1 of docs/softmax-fibers.md"


# ---- lightning


@given(seed=SEEDS)
def test_lightning_weights_up_to_rescalings_and_the_exchange(seed: int) -> None:
    first = Weights.random(Architecture((2, 3, 2), (2, 2), 2), seed=seed % 1000, denominator=3)
    second = transform(first, query_key={1: [[1, 2], [0, 1]]}, between={1: [[1, 1, 0], [0, 2, 0], [1, 0, 1]]})
    assert canonical(first).hash == canonical(rescale(second, layer=1, by=Fraction(2, 3))).hash
    one = Weights.random(Architecture((2, 3), (1,), 2), seed=seed % 1000, attention_matrix_ranks=[1], value_ranks=[1])
    assert canonical(one).hash == canonical(swap(one)).hash


def test_lightning_weights_that_no_theorem_decides_are_refused() -> None:
    thin = Weights.random(Architecture((8, 8, 8), (1, 2), 2), seed=1)
    with pytest.raises(BadInput, match=r"describes all of the fiber: Theorem 3\.7: it needs"):
        canonical(thin)
    with pytest.raises(BadInput, match=r"Theorem 3 of docs/deep-lightning\.md: \(D'\), layer 1 is not known to hold"):
        canonical(Weights.random(Architecture((2, 2, 2), (1, 1), 2, heads=1, embed=2), seed=1))


# ---- mutants, and the command


def test_a_wrong_form_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out is compared with what went in."""
    first = Weights.random(Architecture((2, 2, 2), (2, 2), 3, normalization=SOFTMAX, causal=True), seed=3)
    monkeypatch.setattr(room, "_zeros_late", lambda attention: attention[:1])
    with pytest.raises(ProgramError, match="is not known to be the same function"):
        canonical(first, 2)


def test_the_order_of_heads_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Architecture((3, 3, 3), (2, 2), 3, normalization=SOFTMAX, heads=2, value_ranks=(2, 2), skip=True)
    first = Weights.random(shape, seed=4)
    named = first.named()
    swapped = {f"{n[:-1]}{3 - int(n[-1])}" if n[1:2] == "1" else n: m for n, m in named.items()}
    second = Weights.of({name: swapped[name] for name in named}, first.form)
    assert canonical(first, 3).hash == canonical(second, 3).hash
    monkeypatch.setattr(RationalMatrix, "sort_key", lambda _: ())
    assert canonical(first, 3).hash != canonical(second, 3).hash


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (str(EXAMPLES / f"{name}.json") for name in ("rank_one", "rank_one_swapped"))
    hashes = {run(capsys, "canonical", file, "--hash")[1] for file in (one, other)}
    assert len(hashes) == 1
    target = tmp_path / "canonical.json"
    code, out, err = run(capsys, "canonical", one, "-o", str(target), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["hash"] + "\n" in hashes
    assert run(capsys, "canonical", str(target), "--hash")[1] in hashes
    text = target.read_bytes()
    assert run(capsys, "canonical", other, "-o", str(target))[0] == 0
    assert target.read_bytes() == text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("no_such_file.json",), "no_such_file.json"),
        ((str(EXAMPLES / "rank_one.json"), "--hash", "--json"), "give one of --hash and --json"),
        ((str(EXAMPLES / "rank_one.json"), "-o", "a.txt"), "must be written to .json, .npz or .safetensors"),
        ((str(EXAMPLES / "rank_one.json"), "--skip"), "skip"),
        ((str(EXAMPLES / "generic.json"), "--tokens", "1"), "t = 1"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "canonical", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
