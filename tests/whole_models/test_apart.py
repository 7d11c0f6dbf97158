"""Models that the theorem says are different, and what it must not say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run

from lightning_sym import (
    CheckpointAnswer,
    LayerSymmetry,
    Symmetry,
    apply,
    same_checkpoints,
    save_checkpoint,
    symmetries_of,
)
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.apart import apart_by_theorem, told_by_theorem

SMALL: dict[str, Any] = {"heads": 2, "head_width": 4, "inner": 5, "vocabulary": 12}
MODELS = {
    "llama": small_checkpoint("llama", seed=3, tied=False, **SMALL),
    "biases": small_checkpoint("llama", seed=4, tied=False, biases=True, **SMALL),
    "gpt2": small_checkpoint("gpt2", seed=3, tied=False, **SMALL),
    "tied": small_checkpoint("gpt2", seed=5, tied=True, **SMALL),
    "qwen3": small_checkpoint("qwen3", seed=3, tied=False, **SMALL),
    "smollm3": small_checkpoint("smollm3", seed=3, tied=True, **SMALL),
}


def moved(one: MadeCheckpoint, where: int | None, name: str) -> MadeCheckpoint:
    """With another number in one piece."""
    part = one.outer if where is None else one.blocks[where]
    array = np.array(getattr(part, name))
    array.reshape(-1)[-1] += 0.5
    if where is None:
        return replace(one, outer=replace(one.outer, **{name: array}))
    blocks = list(one.blocks)
    blocks[where] = replace(blocks[where], **{name: array})
    return replace(one, blocks=tuple(blocks))


@pytest.mark.parametrize("name", MODELS)
def test_rewritings_are_not_told_apart(name: str) -> None:
    one = MODELS[name]
    for seed in (1, 2):
        two = apply(random_symmetry(one, seed=seed), one)
        assert apart_by_theorem(one, two) is None
        assert apart_by_theorem(two, one) is None


THREES = np.full(8, 3.0)

UNSEEN = {"llama": set(), "biases": set(), "gpt2": {"key_bias"}, "tied": {"key_bias"}, "qwen3": set(), "smollm3": set()}
"""Without rotary positions biases of keys are free."""


@pytest.mark.parametrize("name", MODELS)
def test_each_piece_is_seen_behind_a_rewriting(name: str) -> None:
    one = MODELS[name]
    two = apply(random_symmetry(one, seed=1), one)
    for piece, _ in one.blocks[1].present():
        found = apart_by_theorem(two, moved(one, 1, piece))
        assert (found is None) is (piece in UNSEEN[name]), piece
        assert found is None or found.layer == 1, piece
    for piece, _ in one.outer.present():
        found = apart_by_theorem(two, moved(one, None, piece))
        assert found is not None, piece
        assert found.layer is None, piece


def test_what_is_special_is_seen_among_fractions_too() -> None:
    """An exact rewriting holds some pieces as floats, and others as fractions."""
    block = MODELS["biases"].blocks[0]
    query, bias = np.array(block.query), np.array(block.query_bias)
    query[0, 0], bias[0, 0] = 0, 0
    one = replace(MODELS["biases"], blocks=(replace(block, query=query, query_bias=bias), MODELS["biases"].blocks[1]))
    made = apply(Symmetry((LayerSymmetry(gain1=THREES), LayerSymmetry())), one)
    assert apart_by_theorem(one, made) is None
    assert "query of a rank below the head's width" in {special.what for special in symmetries_of(made).special}


def test_without_signs_layers_are_compared_together() -> None:
    one = MODELS["llama"]
    exchanged = replace(one, blocks=one.blocks[::-1])
    turned = replace(one, blocks=(replace(one.blocks[0], gate=-np.asarray(one.blocks[0].gate)), one.blocks[1]))
    for other in (exchanged, turned):
        assert apart_by_theorem(one, other) is not None
        assert apart_by_theorem(one, other, work=1e-9) is None
    found = apart_by_theorem(one, moved(one, 1, "gate"), work=1e-9)
    assert found is not None
    assert "Steps 1 to 4" in found.proof


def test_without_signs_one_vector_added_to_all_positions_is_not_told() -> None:
    """That positions agree, and not their differences alone, is Step 7, which needs (C3)."""
    one = MODELS["gpt2"]
    added = replace(
        one, outer=replace(one.outer, positions=np.asarray(one.outer.positions) + np.arange(one.form.width))
    )
    found = apart_by_theorem(one, added)
    assert found is not None
    assert found.what == "positions 0"
    assert apart_by_theorem(one, added, work=1e-9) is None
    last = apart_by_theorem(one, moved(one, None, "positions"), work=1e-9)
    assert last is not None
    assert last.what.startswith("positions")


def quarter_turned(one: MadeCheckpoint, groups: list[int], *, gains: bool = True) -> MadeCheckpoint:
    """With rows of queries and keys of the first frequency turned in some groups, and their gains exchanged."""
    block = one.blocks[0]
    half = one.form.head_width // 2
    parts = {name: np.array(getattr(block, name)) for name in ("query", "key", "query_norm_gain", "key_norm_gain")}
    for name in ("query", "key"):
        rows = parts[name][groups]
        rows[:, [0, half]] = rows[:, [half, 0]] * np.array([[-1], [1]])
        parts[name][groups] = rows
        if gains:
            parts[f"{name}_norm_gain"][[0, half]] = parts[f"{name}_norm_gain"][[half, 0]]
    return replace(one, blocks=(replace(block, **parts), *one.blocks[1:]))


def test_behind_norms_of_queries_quarter_turns_are_made_in_all_groups_at_once() -> None:
    one = small_checkpoint("qwen3", seed=3, tied=False, groups=2, **SMALL)
    assert apart_by_theorem(one, quarter_turned(one, [0, 1])) is None
    assert same_checkpoints(one, quarter_turned(one, [0, 1])).answer is not CheckpointAnswer.DIFFERENT
    for other in (quarter_turned(one, [0]), quarter_turned(one, [0, 1], gains=False)):
        found = apart_by_theorem(one, other)
        assert found is not None
        assert "Theorem 2" in found.proof
    query = np.array(one.blocks[0].query)
    query[0] *= 2
    assert apart_by_theorem(one, replace(one, blocks=(replace(one.blocks[0], query=query), one.blocks[1]))) is not None


@pytest.mark.parametrize("family", ["olmo2", "gpt_neox", "opt"])
def test_of_other_networks_the_ends_are_compared(family: str) -> None:
    one = small_checkpoint(family, seed=3, **SMALL)
    two = apply(random_symmetry(one, seed=1), one)
    assert apart_by_theorem(one, two) is None
    found = apart_by_theorem(two, moved(one, None, "embedding"))
    assert found is not None
    assert "Step 1" in found.proof
    assert apart_by_theorem(two, moved(one, 1, "query")) is None  # no theorem is about these


def test_what_embeddings_gain_and_positions_lose_is_not_told_by_the_ends() -> None:
    one = small_checkpoint("opt", seed=3, tied=False, **SMALL)
    ends, vector = one.outer, np.arange(8) / 4
    two = replace(
        one, outer=replace(ends, embedding=ends.embedding + vector, positions=np.asarray(ends.positions) - vector)
    )
    assert same_checkpoints(one, two).answer is CheckpointAnswer.SAME
    assert apart_by_theorem(one, two) is None


def test_nothing_is_said_where_no_condition_holds_or_no_theorem() -> None:
    one = MODELS["llama"]
    no_gates = replace(one, blocks=tuple(replace(b, gate=0 * np.asarray(b.gate)) for b in one.blocks))
    assert apart_by_theorem(no_gates, moved(no_gates, 1, "query")) is None
    assert apart_by_theorem(no_gates, one) is not None  # the other side has the conditions
    other = small_checkpoint("opt", **SMALL)
    assert apart_by_theorem(other, moved(other, 1, "query")) is None
    assert apart_by_theorem(one, MODELS["biases"]) is not None
    assert apart_by_theorem(one, small_checkpoint("llama", tied=False, **SMALL | {"inner": 6})) is None


def test_with_gelu_layers_are_compared_together() -> None:
    one = small_checkpoint("llama", seed=3, tied=False, config={"hidden_act": "gelu"}, **SMALL)
    assert apart_by_theorem(one, apply(random_symmetry(one, seed=1), one)) is None
    assert apart_by_theorem(one, replace(one, blocks=one.blocks[::-1])) is None
    found = apart_by_theorem(one, moved(one, 1, "gate"))
    assert found is not None
    assert "Steps 1 to 4" in found.proof


@pytest.fixture(scope="module")
def last_position() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    """Two models whose difference stands behind all prompts that are tried."""
    one = small_checkpoint("gpt2", seed=3, tied=False, context=300, **SMALL)
    return one, moved(one, None, "positions")


def test_undecided_becomes_different(last_position: tuple[MadeCheckpoint, MadeCheckpoint]) -> None:
    compared = same_checkpoints(*last_position)
    assert compared.answer is CheckpointAnswer.UNDECIDED
    found = told_by_theorem(compared, *last_position)
    assert found.answer is CheckpointAnswer.DIFFERENT
    assert found.theorem is not None
    assert found.theorem.what == "positions 299"
    one = last_position[0]
    assert told_by_theorem(same_checkpoints(one, one), one, one).answer is CheckpointAnswer.SAME


def test_a_theorem_that_does_not_apply_is_tried() -> None:
    one, two = (small_checkpoint("mixtral", seed=seed, tied=False) for seed in (1, 2))
    needs = "it needs parts that it is proved for, got experts"
    tried = told_by_theorem(same_checkpoints(one, two), one, two).tried
    assert tried[-1] == f"Corollary 3 of docs/whole-models.md: of the first model, {needs}"
    one, two = (small_checkpoint(family, tied=False) for family in ("llama", "gpt2"))
    tried = told_by_theorem(same_checkpoints(one, two), one, two).tried
    assert tried[-1].startswith("Corollary 3 of docs/whole-models.md: it needs two models of one form")


def test_the_command_asks_it_unless_ids_are_given(
    last_position: tuple[MadeCheckpoint, MadeCheckpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two")]
    for checkpoint, path in zip(last_position, paths, strict=True):
        save_checkpoint(checkpoint, path)
    code, out, _ = run(capsys, "same", *paths)
    assert code == 1
    assert "real combinations of token embeddings" in out
    told = json.loads(run(capsys, "same", *paths, "--json")[1])
    assert (told["answer"], told["theorem"]["layer"], told["logits"]["apart"]) == ("different", None, None)
    code, out, _ = run(capsys, "same", *paths, "--ids", "1,2", "--json")
    assert code == 3
    assert json.loads(out)["theorem"] is None


def test_both_numbers_of_neurons_and_width_are_named() -> None:
    found = symmetries_of(small_checkpoint("gemma3_text", heads=2, head_width=4, inner=5, vocabulary=12, tied=False))
    assert str(found.not_covered).endswith("where norms stand behind, got 5 neurons, width 8")
