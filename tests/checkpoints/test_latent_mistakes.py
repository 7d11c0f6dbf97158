"""Known mistakes in checkpoints whose heads read latents, and gains of the norms of latents that are 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded
from made_mistakes import MADE
from mistaken_conversions import in_layers

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint

MISTAKES = {
    "rotary-rows": {"*.query_turned", "*.key_turned"}, "rotary-rows-one-side": {"*.query_turned"},
    "gain-not-folded": {"*.norm1_gain"}, "gain-folded-twice": {"*.gate", "*.up"},
    "transposed-square": {"0.output"}, "scale-one-side": {"*.query", "*.query_turned"},
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("kinds", [(), ("heads", "neurons")])
def test_known_mistakes_are_named(mistake: str, kinds: tuple[str, ...]) -> None:
    sizes: Any = {"v_head_dim": 4} if mistake == "transposed-square" else {}
    one = small_checkpoint("youtu", 5, tied=False, config=sizes)
    right = one if not kinds else rounded(apply(random_symmetry(one, kinds, seed=3), one), "F32")
    found = same_checkpoints(one, MADE[mistake](right, np.random.default_rng(3)))
    assert found.answer is CheckpointAnswer.DIFFERENT
    assert [each.mistake for each in found.explained] == [mistake]
    assert {*found.explained[0].tensors} == MISTAKES[mistake]


def test_a_gain_of_latents_that_was_not_folded_is_named() -> None:
    one = small_checkpoint("youtu", 5)
    found = same_checkpoints(one, in_layers(one, lambda b: {"norm3_gain": np.ones_like(b.norm3_gain)}))
    assert [(each.mistake, each.tensors) for each in found.explained] == [("gain-not-folded", ("*.norm3_gain",))]


def test_gains_of_latents_that_are_zero_are_carried_and_end_nothing() -> None:
    """No other gain becomes 0, so that latents in front of one are ordered and change signs; a turn is not searched."""
    one = small_checkpoint("youtu", 3, layers=1, tied=False, stored="BF16")
    block: Any = one.blocks[0]
    gains = {name: np.where(np.arange(len(old := getattr(block, name))) == 2, 0, old) for name in GAINS}
    zero = replace(one, blocks=(replace(block, **gains),))
    order = np.eye(8)[::-1] * np.resize([1, -1], 8)
    moved = apply(Symmetry((LayerSymmetry(latents=order, query_latents=np.eye(7)[::-1]),)), zero)
    hidden = apply(random_symmetry(zero, ["heads", "neurons", "values", "queries"], seed=1), moved)
    assert same_checkpoints(zero, hidden).answer is CheckpointAnswer.SAME
    sheared = replace(zero, blocks=(replace(zero.blocks[0], latent=block.latent + block.latent[[1] * 8]),))
    for pair in ((zero, sheared), (sheared, hidden), (one, sheared), (one, zero)):
        assert same_checkpoints(*pair, work=1e-9).answer is CheckpointAnswer.DIFFERENT


GAINS = ("norm3_gain", "norm4_gain")
