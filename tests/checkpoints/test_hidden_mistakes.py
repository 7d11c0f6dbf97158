"""Mistakes that a fit does not see: in one of two maps that share a basis, in another layer's place, in rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded
from made_mistakes import MADE

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints import explained_places, layer_accounts, layer_looked, mistaken_rows, walk
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.likeness import Likeness
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import MissingExtra
from lightning_sym.testing import small_checkpoint


def compared(family: str, kinds: tuple[str, ...], *mistakes: str, **sizes: Any) -> CheckpointComparison:
    """A checkpoint, and what is left of it behind a rewriting and mistakes."""
    one = small_checkpoint(family, 5, **sizes)
    two = rounded(apply(random_symmetry(one, kinds, 3), one), "F32")
    for name in mistakes:
        two = MADE[name](two, np.random.default_rng(3))
    return same_checkpoints(one, two)


def told(found: CheckpointComparison) -> set[str]:
    return {each.mistake for each in found.explained}


def test_an_update_of_one_map_keeps_its_rank_behind_other_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("values", "queries", "ups")
    found = compared("llama", kinds, "lora-unmerged")
    assert [(each.mistake, each.detail["rank"]) for each in found.explained] == [("lora-unmerged", 2)]
    assert {each.piece for each in found.unexplained} == {"0.query", "0.value", "1.query", "1.value"}
    monkeypatch.setattr(layer_accounts, "ONE_SIDE", ())
    assert told(compared("llama", kinds, "lora-unmerged")) != {"lora-unmerged"}


def test_an_update_is_no_shift_along_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """With LayerNorm a part of it is: which part is told by the bias, as a shift would have moved that."""
    assert told(compared("gpt_neox", ("ones",), "lora-unmerged")) == {"lora-unmerged"}
    less = {name: pieces for name, pieces in walk.CHOICES.items() if not name.startswith("ones")}
    monkeypatch.setattr(layer_accounts, "CHOICES", less)
    assert told(compared("gpt_neox", ("ones",), "lora-unmerged")) != {"lora-unmerged"}


def test_layers_are_exchanged_and_something_else_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    both = ("layers-exchanged", "gate-up-exchanged")
    assert told(compared("llama", ("neurons", "heads"), *both)) == {*both}
    monkeypatch.setattr(explained_places.Places, "_likest", lambda _, layer, blocks, alike: (layer, blocks[0]))
    assert told(compared("llama", ("neurons", "heads"), *both)) != {*both}


def test_layers_are_known_again_with_one_map_less_that_is_off() -> None:
    """A norm's gains and a few neurons may make one map of any."""
    one = small_checkpoint("gpt_neox", 141320, tied=True)
    two = rounded(MADE["layers-exchanged"](one, np.random.default_rng(3)), "BF16")
    assert told(same_checkpoints(one, two)) == {"layers-exchanged"}


def test_layers_of_two_kinds_are_exchanged_behind_what_the_kind_of_each_allows() -> None:
    """Without rotary positions queries and keys have any basis, wherever the layer stands afterwards."""
    assert told(compared("smollm3", ("queries",), "layers-exchanged", layers=4)) == {"layers-exchanged"}


@pytest.mark.parametrize(("family", "kinds"), [("gpt2", ("heads", "biases")), ("gpt_neox", ("biases",))])
def test_a_bias_that_had_moved_is_forgotten(family: str, kinds: tuple[str, ...]) -> None:
    """A part of it, of any size, is in another bias then, which is off; another tensor's fault is not taken for it."""
    found = compared(family, kinds, "bias-forgotten", biases=True)
    assert told(found) == {"bias-forgotten"}
    assert {name.rpartition(".")[2] for each in found.explained for name in each.tensors} == {"value_bias"}
    one = small_checkpoint(family, 5, biases=True)
    two = rounded(apply(random_symmetry(one, kinds, 3), one), "F32")
    blocks = tuple(replace(block, output_bias=np.asarray(block.output_bias) + 1) for block in two.blocks)
    wrong = replace(two, blocks=(replace(blocks[0], down_bias=-np.asarray(blocks[0].down_bias)), *blocks[1:]))
    assert "bias-forgotten" not in told(same_checkpoints(one, wrong))


def test_only_what_is_like_the_other_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = small_checkpoint("llama", 1), small_checkpoint("llama", 2)
    wrong = type(one)(one.form, one.outer, other.blocks, "other")
    calls: list[int] = []
    asked = layer_looked.layer_off

    def counted(*given: Any) -> frozenset[str]:
        calls.append(1)
        return asked(*given)

    monkeypatch.setattr(explained_places, "layer_off", counted)
    assert same_checkpoints(one, wrong).explained == ()
    few = len(calls)
    monkeypatch.setattr(Likeness, "hopeful", lambda *_: True)
    same_checkpoints(one, wrong, work=60.0)
    assert few < 10 < len(calls) - few


def test_ids_are_matched_whatever_was_done_to_the_stream() -> None:
    for family, kinds, tied in (("opt", ("ones",), False), ("phi3", ("scale",), True), ("llama", ("stream",), True)):
        assert told(compared(family, kinds, "vocabulary-permuted", tied=tied)) == {"vocabulary-permuted"}


def test_who_lacks_a_package_is_told_what_was_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: str) -> None:
        raise MissingExtra("matching the token ids of two checkpoints needs the extra `checkpoints`")

    monkeypatch.setattr(mistaken_rows, "FEW", 0)
    monkeypatch.setattr(mistaken_rows, "import_extra", lacking)
    found = compared("llama", ("stream",), "vocabulary-permuted")
    assert found.answer is CheckpointAnswer.DIFFERENT
    assert any("known mistakes were not searched" in each and "`checkpoints`" in each for each in found.tried)


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox"])
def test_a_matrix_that_was_transposed_is_no_update_beside_another_mistake(family: str) -> None:
    """What LayerNorm does not see of the outputs was taken from the rest, which is not the rest transposed."""
    both = ("gain-plus-one", "transposed-square")
    assert told(compared(family, ("scale", "heads"), *both, tied=False)) == {*both}
