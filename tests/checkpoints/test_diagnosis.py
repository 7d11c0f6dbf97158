"""What explains that two checkpoints differ: each known mistake is named, alone and behind rewritings, and no other."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from command import run
from made_mistakes import MADE, applies, overflowing
from mistaken_conversions import MISTAKES, head_not_turned, in_memory

from lightning_sym import open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints import explained_places, layer_looked
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.explaining import at_odds
from lightning_sym.checkpoints.mistaken_scenes import Change
from lightning_sym.checkpoints.mistakes import ROWS
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.testing import small_checkpoint

DIFFERENT, SAME = CheckpointAnswer.DIFFERENT, CheckpointAnswer.SAME
MODEL = in_memory(open_checkpoint(Path(__file__).parents[2] / "examples" / "checkpoints" / "model"))
FAMILIES = ("gpt2", "llama", "mistral", "qwen2")


def mistakes(found: CheckpointComparison) -> list[str]:
    return [each.mistake for each in found.explained]


def base(family: str, mistake: str, tied: bool = False, seed: int = 5) -> MadeCheckpoint:
    one = small_checkpoint(family, seed, tied=tied, biases=family == "llama")
    return overflowing(one) if mistake == "f16-overflow" else one


REPLAY = {
    "rows of queries and keys interleaved": "rotary-rows",
    "values turned, their bias forgotten": "bias-not-turned",
    "gate and up exchanged": "gate-up-exchanged",
    "norms exchanged": "norms-exchanged",
    "one added to all gains": "gain-plus-one",
    "one taken from the final gain": "gain-minus-one",
    "outputs transposed": "transposed-square",
    "fused queries, keys and values in another order": "qkv-layout",
    "stream turned, unembedding not": "head-not-turned",
    "scale of the queries folded": "scale-one-side",
    "epsilon of another configuration": "epsilon",
}
"""Eleven mistakes of people, and what each of them is."""


@pytest.mark.parametrize("name", MISTAKES)
def test_the_cause_of_each_replay(name: str) -> None:
    second = MISTAKES[name](MODEL)
    same_checkpoints(MODEL, MODEL)  # what is imported late is no work of the answer
    start = time.process_time()
    found = same_checkpoints(MODEL, second)
    assert time.process_time() - start < 5  # no measurement: 0.02 to 0.2 on one machine
    assert found.answer is DIFFERENT
    assert mistakes(found) == [REPLAY[name]]


@pytest.mark.parametrize("mistake", MADE)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_mistake_alone(family: str, mistake: str) -> None:
    for tied in (False, True):
        one = base(family, mistake, tied)
        if not applies(mistake, one):
            continue
        two = MADE[mistake](one, np.random.default_rng(3))
        found = same_checkpoints(one, two)
        assert found.answer is DIFFERENT
        assert mistakes(found) == [mistake], str(found)


def changed_pieces(one: MadeCheckpoint, two: MadeCheckpoint) -> set[str]:
    """The tensors that are others, with a star for the number of their layer where they are in several."""
    found: dict[str, list[str]] = {}
    for layer in (None, *range(one.form.layers)):
        sides: list[dict[str, Any]] = [
            dict((each.outer if layer is None else each.blocks[layer]).present()) for each in (one, two)
        ]
        for name in sides[0]:
            if not np.array_equal(sides[0][name], sides[1][name]):
                found.setdefault(name, []).append(name if layer is None else f"{layer}.{name}")
    return {f"*.{name}" if len(pieces) > 1 else pieces[0] for name, pieces in found.items()}


@pytest.mark.parametrize("mistake", [name for name in MADE if name not in ("epsilon", "rope-theta")])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_tensors_are_those_that_were_changed(family: str, mistake: str) -> None:
    one = base(family, mistake)
    if applies(mistake, one):
        two = MADE[mistake](one, np.random.default_rng(4))
        (told,) = same_checkpoints(one, two).explained
        assert {*told.tensors} == changed_pieces(one, two)


HIDDEN = ("rotary-rows", "rotary-rows-k", "qkv-layout", "gate-up-exchanged", "norms-exchanged", "gain-plus-one",
          "layers-exchanged", "transposed-square", "vocabulary-permuted", "epsilon", "rope-theta")  # fmt: skip


KINDS = (("heads", "neurons"), ("values", "queries", "ups"), ("stream", "heads"))


@pytest.mark.parametrize("mistake", HIDDEN)
@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_a_mistake_behind_a_rewriting(family: str, mistake: str) -> None:
    """Each behind another kind; `scripts/attack_diagnosis.py` takes all kinds of all families."""
    kinds = KINDS[(HIDDEN.index(mistake) + len(family)) % len(KINDS)]
    one = base(family, mistake)
    if applies(mistake, one):
        right = rounded(apply(random_symmetry(one, kinds, 3), one), "F32")
        found = same_checkpoints(one, MADE[mistake](right, np.random.default_rng(3)))
        assert mistakes(found) == [mistake], str(found)


PAIRS = [
    ("rotary-rows", "gate-up-exchanged"), ("gain-plus-one", "rotary-rows-k"), ("epsilon", "transposed-square"),
    ("scale-one-side", "norms-exchanged"), ("lora-unmerged", "gain-minus-one"), ("rope-theta", "qkv-layout"),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_two_mistakes(pair: tuple[str, str]) -> None:
    one = base("qwen2", "")
    two = one
    for mistake in pair:
        two = MADE[mistake](two, np.random.default_rng(3))
    found = same_checkpoints(one, two)
    assert {*mistakes(found)} == {*pair}, str(found)


def test_an_update_of_one_row_is_no_adapter() -> None:
    """Its rank is one, and roundings change the other rows."""
    one = small_checkpoint("llama", 7)
    query = np.array(one.blocks[0].query)
    query[1, 2] *= 2
    two = rounded(changed(one, 0, query=query), "F16")
    found = same_checkpoints(one, two)
    assert found.answer is DIFFERENT
    assert "lora-unmerged" not in mistakes(found)


@pytest.mark.parametrize("name", ["up", "query", "output", "norm1_gain", "embedding"])
def test_nothing_explains_other_numbers(name: str) -> None:
    one = small_checkpoint("llama", 2)
    random = np.random.default_rng(0)
    layer = None if name == "embedding" else 1
    array = np.array(getattr(one.outer if layer is None else one.blocks[layer], name), dtype=np.float32)
    noise = (array + 0.1 * random.standard_normal(array.shape)).astype(np.float32)
    single = array.copy()
    single.flat[3] += 1
    for wrong in (noise, single):
        found = same_checkpoints(one, changed(one, layer, **{name: wrong}))
        assert found.answer is DIFFERENT
        assert found.explained == ()


def test_what_is_wrong_beside_a_mistake_is_not_explained() -> None:
    """Each mistake with one number more that is wrong: it must not be said that the mistake is the difference."""
    for mistake, make in MADE.items():
        one = base("qwen2", mistake)
        if not applies(mistake, one):
            continue
        two = make(one, np.random.default_rng(3))
        down = np.array(two.blocks[1].down)
        down[2, 3] += 0.25
        assert same_checkpoints(one, changed(two, 1, down=down)).explained == (), mistake


def test_whether_it_was_checked_exactly_or_up_to_rounding() -> None:
    one = small_checkpoint("llama", stored="BF16")
    exact = MADE["gate-up-exchanged"](one, np.random.default_rng(0))
    assert [each.detail["checked"] for each in same_checkpoints(one, exact).explained] == ["exactly"]
    plus = rounded(MADE["gain-plus-one"](one, np.random.default_rng(0)), "BF16")
    assert [each.detail["checked"] for each in same_checkpoints(one, plus).explained] == ["rounding"]


def test_blocks_and_ranks_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = small_checkpoint("llama", heads=8, groups=2, head_width=8)
    two = MADE["rotary-rows-k"](one, np.random.default_rng(0))
    for name, each in (("one", one), ("two", two)):
        save_checkpoint(replace(each, type_stored="F32"), tmp_path / name, "F32")
    code, out, _ = run(capsys, "same", str(tmp_path / "one"), str(tmp_path / "two"))
    assert code == 1
    said = "explained    rotary-rows-k at model.layers.*.self_attn.k_proj.weight (8 blocks, should be 2)"
    assert said in out
    code, out, _ = run(capsys, "same", str(tmp_path / "one"), str(tmp_path / "two"), "--json")
    told = json.loads(out)
    assert [*told][-8:] == [
        "tried", "explained", "reduced", "distances", "picture", "ids_moved", "theorem", "proof",
    ]  # fmt: skip
    assert told["schema"] == "lightning-sym/same-checkpoints/2"
    detail = {"blocks": 8, "should_be": 2, "checked": "exactly"}
    tensors = ["model.layers.*.self_attn.k_proj.weight"]
    assert told["explained"] == [{"mistake": "rotary-rows-k", "tensors": tensors, "layers": [0, 1], "detail": detail}]
    (update,) = same_checkpoints(one, MADE["lora-unmerged"](one, np.random.default_rng(0))).explained
    assert update.detail["rank"] == 2
    assert "cannot be told apart" in str(update.detail["note"])


def test_the_head_that_was_not_turned_is_the_tensor() -> None:
    (told,) = same_checkpoints(MODEL, head_not_turned(MODEL)).explained
    assert (told.mistake, told.tensors, told.layers) == ("head-not-turned", ("unembedding",), ())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [True, False])
def test_a_padded_vocabulary(family: str, tied: bool) -> None:
    one = small_checkpoint(family, 3, tied=tied)
    more = replace(one, form=replace(one.form, vocabulary=48))
    ends = {name: getattr(one.outer, name) for name in ("embedding", "unembedding")}
    rows = {name: np.vstack([array, 0 * array[:8]]) for name, array in ends.items() if array is not None}
    two = replace(more, outer=replace(one.outer, **rows))
    for pair in ((one, two), (two, one)):
        found = same_checkpoints(*pair)
        assert found.answer is DIFFERENT
        assert mistakes(found) == ["vocabulary-padded"]
        assert {*found.explained[0].tensors} == {*rows} == {each.piece for each in found.unexplained}
        assert "token ids" in str(found)
    wrong = changed(two, 1, down=np.flip(two.blocks[1].down, 0))
    assert mistakes(same_checkpoints(one, wrong)) == []
    swapped = MADE["norms-exchanged"](two, np.random.default_rng(0))
    assert mistakes(same_checkpoints(one, swapped)) == ["vocabulary-padded", "norms-exchanged"]


def test_what_was_not_moved_is_not_told_with_what_makes_it_say_nothing() -> None:
    def change(mistake: str, piece: str, **detail: str) -> Change:
        return Change(mistake, (piece,), None, None, detail)

    still = change("scale-one-side", "value", not_moved_by="values")
    assert at_odds((change("lora-unmerged", "output"), still)), "a fitted symmetry leaves an update of any form"
    assert at_odds((change("gain-plus-one", "value"), still)), "it is replaced, whatever it was"
    assert not at_odds((change("gain-plus-one", "norm1_gain"), still))
    assert not at_odds((change("lora-unmerged", "output"), change("gain-plus-one", "norm1_gain")))


def test_a_search_without_work_says_so() -> None:
    two = MADE["gate-up-exchanged"](MODEL, np.random.default_rng(0))
    found = same_checkpoints(MODEL, two, work=1e-6)
    assert found.answer is DIFFERENT
    assert found.explained == ()
    assert any("known mistakes: the search was ended" in each for each in found.tried)


def test_a_search_that_finds_nothing_ends_with_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """More work tries more fits of a layer, and the work that there is anyway a few dozens: a pair takes no second."""
    one = base("qwen2", "")
    down = np.array(MADE["rotary-rows"](one, np.random.default_rng(3)).blocks[1].down)
    down[2, 3] += 0.25
    two = changed(MADE["rotary-rows"](one, np.random.default_rng(3)), 1, down=down)
    calls: list[int] = []
    asked = layer_looked.layer_off

    def counted(*given: Any) -> frozenset[str]:
        calls.append(1)
        return asked(*given)

    monkeypatch.setattr(explained_places, "layer_off", counted)
    counts = []
    for work in (3.0, 60.0):
        calls.clear()
        assert same_checkpoints(one, two, work=work).explained == ()
        counts.append(len(calls))
    assert 0 < counts[0] < counts[1] <= 3 * explained_places.TRIALS


def test_equal_ones_need_no_explanation() -> None:
    assert same_checkpoints(MODEL, MODEL).explained == ()
    right = rounded(apply(random_symmetry(MODEL, ("heads", "stream"), 1), MODEL), "F32")
    assert same_checkpoints(MODEL, right).explained == ()


@pytest.mark.parametrize("row", [row for row in ROWS if row in MADE and row != "scale-one-side"])
def test_a_row_that_is_not_asked_explains_nothing(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the table is what names its mistake: without it another one is named, or none.

    A scale is told by what a symmetry left out as well.
    """
    one = base("qwen2", row)
    two = MADE[row](one, np.random.default_rng(3))
    none: Any = lambda scene: iter(())  # noqa: E731
    monkeypatch.setitem(ROWS, row, none)
    assert mistakes(same_checkpoints(one, two)) != [row]
