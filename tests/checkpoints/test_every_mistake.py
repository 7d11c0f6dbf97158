"""Every identifier of the table of mistakes is told of a pair that was made so, with the tensors that were changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded
from made_mistakes import MADE, applies, overflowing
from mistaken_conversions import MISTAKES, at_the_ends, in_layers, in_memory

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.mistakes import IDENTIFIERS
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_rotation
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.rings.rotary import RotaryScaling
from lightning_sym.testing import small_checkpoint

Pair = tuple[Checkpoint, Checkpoint]
QWEN = small_checkpoint("qwen2", 5)


def made(mistake: str) -> Callable[[], Pair]:
    def pair() -> Pair:
        one = overflowing(QWEN) if mistake == "f16-overflow" else QWEN
        return one, MADE[mistake](one, np.random.default_rng(3))

    return pair


def of_form(family: str, before: dict[str, Any], after: dict[str, Any]) -> Callable[[], Pair]:
    def pair() -> Pair:
        one = small_checkpoint(family, 5)
        one = replace(one, form=replace(one.form, **before))
        return one, replace(one, form=replace(one.form, **after))

    return pair


def turned() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    """A checkpoint with norms that do nothing, and the same with its stream turned."""
    ones, one = np.ones(16), small_checkpoint("llama", 5, layers=3)
    plain = in_layers(one, lambda _: {"norm1_gain": ones, "norm2_gain": ones})
    plain = at_the_ends(plain, final_gain=ones)
    turn = random_rotation(np.random.default_rng(1), 16, centred=False)
    return plain, rounded(apply(Symmetry((LayerSymmetry(),) * 3, rotation=turn), plain))


def layer_not_turned() -> Pair:
    plain, two = turned()
    return plain, replace(two, blocks=(two.blocks[0], plain.blocks[1], two.blocks[2]))


def head_not_turned() -> Pair:
    plain, two = turned()
    return plain, at_the_ends(two, unembedding=plain.outer.unembedding)


def heads_one_side() -> Pair:
    order = [1, 0, 2, 3]
    return QWEN, in_layers(QWEN, lambda b: {n: getattr(b, n)[order] for n in ("query", "query_bias")})


def qk_norms() -> Pair:
    one = small_checkpoint("qwen3", 5)
    return one, in_layers(one, lambda b: {"query_norm_gain": b.key_norm_gain, "key_norm_gain": b.query_norm_gain})


def scaled_twice() -> Pair:
    one = small_checkpoint("gemma", 5)
    return one, at_the_ends(one, embedding=4 * one.outer.embedding)


def head_count() -> Pair:
    return QWEN, Edited(QWEN, replace(QWEN.form, heads=2, groups=1, head_width=8))


def padded() -> Pair:
    more = {n: np.vstack([getattr(QWEN.outer, n)] * 2)[:48] for n in ("embedding", "unembedding")}
    return QWEN, at_the_ends(replace(QWEN, form=replace(QWEN.form, vocabulary=48)), **more)


def idle(one: MadeCheckpoint, adds: int = 0) -> MadeCheckpoint:
    """One layer more, which adds nothing, or something."""
    last = one.blocks[-1]
    nothing = replace(last, output=adds * last.output, down=adds * last.down)
    return replace(one, blocks=(one.blocks[0], nothing, *one.blocks[1:]), form=replace(one.form, layers=3))


def twice(one: MadeCheckpoint, neuron: int = 3) -> MadeCheckpoint:
    """One neuron more, which is another one, twice as loud, and half of what that one did."""

    def change(block: Any) -> dict[str, Any]:
        down = np.hstack([block.down, block.down[:, neuron : neuron + 1] / 4])
        down[:, neuron] /= 2
        rows = {"gate": block.gate[neuron : neuron + 1], "up": 2 * block.up[neuron : neuron + 1]}
        return {"down": down, **{name: np.vstack([getattr(block, name), row]) for name, row in rows.items()}}

    return replace(in_layers(one, change), form=replace(one.form, inner=one.form.inner + 1))


LINEAR = RotaryScaling("linear", Fraction(2))
CASES: dict[str, Callable[[], Pair]] = {
    **{mistake: made(mistake) for mistake in MADE},
    "bias-not-turned": lambda: (
        MODEL := in_memory(small_checkpoint("qwen2", 1)), MISTAKES["values turned, their bias forgotten"](MODEL)
    ),
    "heads-one-side": heads_one_side,
    "qk-norms-exchanged": qk_norms,
    "head-count": head_count,
    "rope-scaling-dropped": of_form("llama", {"scaling": LINEAR}, {"scaling": None}),
    "rope-scaling-other": of_form("llama", {"scaling": LINEAR}, {"scaling": RotaryScaling("linear", Fraction(3))}),
    "window-dropped": of_form("mistral", {"window": 2}, {"window": None}),
    "window-other": of_form("mistral", {"window": 2}, {"window": 3}),
    "softcap-dropped": of_form("llama", {"score_cap": Fraction(1, 2)}, {"score_cap": None}),
    "multiplier-dropped": of_form("granite", {"residual": Fraction(1, 4)}, {"residual": None}),
    "embed-scale-twice": scaled_twice,
    "head-not-turned": head_not_turned,
    "layer-not-turned": layer_not_turned,
    "layer-missing": lambda: (idle(QWEN, 1), Edited.with_layers(idle(QWEN, 1), (0, 2))),
    "layer-repeated-noop": lambda: (QWEN, idle(QWEN)),
    "neurons-duplicated": lambda: (QWEN, twice(QWEN)),
    "vocabulary-padded": padded,
}  # fmt: skip
"""By identifier, a pair."""

SAME = ("layer-repeated-noop", "neurons-duplicated")
"""Those that change nothing: they are told of what was left out before the comparison."""


def test_every_mistake_is_made() -> None:
    assert CASES.keys() == {*IDENTIFIERS}


@pytest.mark.parametrize("mistake", IDENTIFIERS)
def test_each_is_told_by_its_name(mistake: str) -> None:
    first, second = CASES[mistake]()
    found = same_checkpoints(first, second)
    if mistake in SAME:
        assert found.answer is CheckpointAnswer.SAME
        assert {each.what for each in found.reduced} == {mistake}
    else:
        assert found.answer is CheckpointAnswer.DIFFERENT
        assert [each.mistake for each in found.explained] == [mistake], str(found)


def test_mistakes_of_norms_in_front_are_made_where_these_are() -> None:
    bare = small_checkpoint("olmo2", 5)
    made = [name for name in MADE if applies(name, bare)]
    assert "gain-plus-one" not in made
    assert all(MADE[name](bare, np.random.default_rng(3)) is not bare for name in made)


EXCHANGED = [("gpt2", "qkv-layout"), ("llama", "rotary-rows"), ("mixtral", "norms-exchanged")]


@pytest.mark.parametrize(("family", "mistake"), EXCHANGED)
def test_layers_exchanged_and_another_mistake(family: str, mistake: str) -> None:
    one = small_checkpoint(family, 5, heads=2, inner=8)
    random = np.random.default_rng(3)
    found = same_checkpoints(one, MADE["layers-exchanged"](MADE[mistake](one, random), random))
    assert {each.mistake for each in found.explained} == {"layers-exchanged", mistake}
