"""Checkpoints of other depths and configurations beside another mistake; and what is there twice, or in vain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from made_mistakes import MADE
from mistaken_conversions import in_layers
from test_every_mistake import QWEN, idle, twice

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.edited import Edited, does_nothing, reduced
from lightning_sym.checkpoints.overlap import aligned, described
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint

DIFFERENT, SAME, ROUNDING = CheckpointAnswer.DIFFERENT, CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING
DEEP = small_checkpoint("qwen2", 3, layers=3)
LESS = replace(DEEP, blocks=(DEEP.blocks[0], DEEP.blocks[2]), form=replace(DEEP.form, layers=2))
WRONG = MADE["gate-up-exchanged"](LESS, np.random.default_rng(0))


def mistakes(found: CheckpointComparison) -> list[str]:
    return [each.mistake for each in found.explained]


def test_a_missing_layer_beside_another_mistake() -> None:
    for pair, pieces in (((DEEP, WRONG), (0, 1)), ((WRONG, DEEP), (0, 2))):
        found = same_checkpoints(*pair)
        assert found.answer is DIFFERENT
        told = [(each.mistake, each.layers) for each in found.explained]
        assert told == [("layer-missing", (1,)), ("gate-up-exchanged", pieces)]
        assert {each.piece for each in found.unexplained} == {f"{n}.{name}" for n in pieces for name in ("gate", "up")}
        assert any("all but 1 of the" in each for each in found.tried)


def test_a_missing_layer_behind_a_rewriting() -> None:
    two = rounded(apply(random_symmetry(LESS, ("heads", "neurons", "stream"), 1), LESS))
    found = same_checkpoints(DEEP, two)
    assert [(each.mistake, each.layers) for each in found.explained] == [("layer-missing", (1,))]
    assert found.unexplained == ()


def test_what_nothing_explains_beside_a_missing_layer_is_named() -> None:
    down = np.array(LESS.blocks[1].down)
    down[2, 3] += 0.5
    found = same_checkpoints(DEEP, changed(LESS, 1, down=down))
    assert (found.explained, [each.piece for each in found.unexplained]) == ((), ["1.down"])


def test_layers_are_paired_whatever_was_done_to_them() -> None:
    one = small_checkpoint("llama", 3, layers=5)
    two = apply(random_symmetry(one, ("heads", "values", "neurons", "stream", "gains"), 2), one)
    deep, shallow = described(two), described(Edited.with_layers(one, (0, 2, 3)))
    assert aligned(shallow, deep) == (0, 2, 3)


@pytest.mark.parametrize("rows", [("query", "query_bias"), ("output",)])
def test_heads_in_another_order_blame_no_tensor_that_is_as_it_was(rows: tuple[str, ...]) -> None:
    """Within a group, queries in another order are outputs in that order: what changed is told."""
    for layers in ((0,), (0, 1)):
        two = QWEN
        for layer in layers:
            two = changed(two, layer, **{name: getattr(QWEN.blocks[layer], name)[[1, 0, 2, 3]] for name in rows})
        found = same_checkpoints(QWEN, two)
        (told,) = found.explained
        star = "*" if len(layers) > 1 else "0"
        assert (told.mistake, {*told.tensors}) == ("heads-one-side", {f"{star}.{name}" for name in rows})
        assert {each.piece for each in found.unexplained} == {f"{n}.{name}" for n in layers for name in rows}


def test_what_is_left_is_what_the_symmetry_makes() -> None:
    """The witness: of what is left of the first it makes what is left of the second, number by number."""
    one, two = idle(QWEN), apply(random_symmetry(twice(QWEN), ("heads", "neurons", "ups", "stream"), 4), twice(QWEN))
    for pair in ((one, two), (two, one)):
        found = same_checkpoints(*pair)
        assert found.answer is SAME
        assert found.symmetry is not None
        (left, _), (right, _) = (reduced(each) for each in pair)
        made = apply(found.symmetry, left)
        for layer in range(2):
            there = dict(made.block(layer).present())
            assert all(np.array_equal(there[name], array) for name, array in right.block(layer).present())
    assert {each.what for each in found.reduced} == {"neurons-duplicated", "layer-repeated-noop"}


def test_what_is_not_twice_is_not_merged() -> None:
    """A row that is another one in all but one number, a layer with one output, a column that is off."""
    two = twice(QWEN)
    last = two.form.inner - 1
    up, down = (np.array(getattr(two.blocks[0], name)) for name in ("up", "down"))
    up[last, 2] *= 1 + 2**-20
    down[1, last] *= 1.5
    for wrong in ({"up": up}, {"down": down}):
        found = same_checkpoints(QWEN, changed(two, 0, **wrong))
        assert found.answer not in (SAME, ROUNDING)
        assert found.reduced == ()
    nothing = idle(QWEN)
    some = np.array(nothing.blocks[1].output)
    some[0, 1, 2] = 1
    assert does_nothing(nothing.blocks[1])
    assert not does_nothing(replace(nothing.blocks[1], output=some))
    assert same_checkpoints(QWEN, changed(nothing, 1, output=some)).answer is DIFFERENT


def test_neurons_of_gpt2_are_merged_by_their_rows_and_biases() -> None:
    one = small_checkpoint("gpt2", 2, layers=1)

    def change(block: object) -> dict[str, object]:
        down = np.hstack([one.blocks[0].down, one.blocks[0].down[:, :1] / 2])
        down[:, 0] /= 2
        rows = {n: np.concatenate([getattr(block, n), getattr(block, n)[:1]]) for n in ("up", "up_bias")}
        return {"down": down, **rows}

    two = replace(in_layers(one, change), form=replace(one.form, inner=one.form.inner + 1))
    assert same_checkpoints(one, two).answer is SAME
    other = np.array(two.blocks[0].up_bias)
    other[-1] += 1
    assert same_checkpoints(one, changed(two, 0, up_bias=other)).answer is not SAME


def test_a_layer_that_is_missing_or_does_nothing() -> None:
    one = small_checkpoint("qwen2", 3, layers=3)
    less = replace(one, blocks=one.blocks[:1] + one.blocks[2:], form=replace(one.form, layers=2))
    for pair, side in (((one, less), "first"), ((less, one), "second")):
        found = same_checkpoints(*pair)
        (told,) = found.explained
        assert (found.answer, told.mistake, told.layers) == (DIFFERENT, "layer-missing", (1,))
        assert told.detail["in_the"] == side
    idle = replace(one.blocks[1], output=0 * one.blocks[1].output, down=0 * one.blocks[1].down)
    more = replace(one, blocks=(one.blocks[0], idle, one.blocks[2]))
    found = same_checkpoints(less, more)
    assert (found.answer, [(each.what, each.layer) for each in found.reduced]) == (SAME, [("layer-repeated-noop", 1)])
    wrong = MADE["gate-up-exchanged"](more, np.random.default_rng(0))
    assert mistakes(same_checkpoints(less, wrong)) == ["layer-repeated-noop", "gate-up-exchanged"]
    assert mistakes(same_checkpoints(less, small_checkpoint("qwen2", 4, layers=3))) == []


@pytest.mark.parametrize("sides", [1, -1])
def test_the_last_layer_may_be_missing(sides: int) -> None:
    one = small_checkpoint("llama", 3, layers=3)
    less = replace(one, blocks=one.blocks[:2], form=replace(one.form, layers=2))
    found = same_checkpoints(*(one, less)[::sides])
    assert [(each.mistake, each.layers) for each in found.explained] == [("layer-missing", (2,))]
