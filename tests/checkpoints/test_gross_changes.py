"""Other functions that a large number beside what was changed must not hide, and numbers that floats do not hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from naive_transformer import logits

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint


def small(family: str = "llama", seed: int = 0, tied: bool = False) -> MadeCheckpoint:
    return small_checkpoint(family, seed, layers=1, inner=12, tied=tied)


def at(array: Any, index: Any, value: Any) -> Any:
    found = np.array(array)
    found[index] = value
    return found


def require_different(one: MadeCheckpoint, two: MadeCheckpoint) -> None:
    """Plain floats see that they are, by far more than roundings."""
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.abs(logits(one, [2, 7, 1]) - logits(two, [2, 7, 1])).max() < 1e-3
    for pair in ((one, two), (two, one)):
        assert same_checkpoints(*pair).answer is CheckpointAnswer.DIFFERENT


@pytest.mark.parametrize(("stored", "large"), [("F32", 1e6), ("BF16", 256)])
@pytest.mark.parametrize("by", [0.5, None])
def test_one_large_gain_hides_no_other_one(stored: str, large: float, by: float | None) -> None:
    one = rounded(small(), stored)
    first = rounded(changed(one, 0, norm1_gain=at(one.blocks[0].norm1_gain, 5, large)), stored)
    gain = first.blocks[0].norm1_gain
    require_different(first, rounded(changed(first, 0, norm1_gain=at(gain, 2, 0 if by is None else 2 + by)), stored))
    first = rounded(changed(one, None, final_gain=at(one.outer.final_gain, 5, large)), stored)
    gain = first.outer.final_gain
    require_different(first, rounded(changed(first, None, final_gain=at(gain, 2, 0 if by is None else 2 + by)), stored))


def test_one_large_bias_of_a_norm_hides_no_other_one() -> None:
    one = rounded(small("gpt2"), "BF16")
    bias = at(one.blocks[0].norm1_bias, 3, 256)
    require_different(changed(one, 0, norm1_bias=bias), changed(one, 0, norm1_bias=at(bias, 5, 2)))


def test_a_column_of_the_unembedding_is_no_gain() -> None:
    one = small()
    column, other = np.asarray(one.outer.unembedding)[:, 3].astype(np.float64), np.random.default_rng(1).normal(size=40)
    rows = at(one.outer.unembedding, (slice(None), 3), (column @ other) / (other @ other) * other)
    require_different(one, changed(one, None, unembedding=rows))


def test_large_weights_behind_a_gain_of_zero_hide_nothing() -> None:
    one = small()
    query = at(one.blocks[0].query, (..., 3), 1e30)
    first = changed(one, 0, norm1_gain=at(one.blocks[0].norm1_gain, 3, 0), query=query)
    require_different(first, changed(first, 0, query=at(query, (..., 4), query[..., 4] + 3)))
    rows = at(one.outer.unembedding, (..., 3), 1e30)
    first = changed(one, None, final_gain=at(one.outer.final_gain, 3, 0), unembedding=rows)
    require_different(first, changed(first, None, unembedding=at(rows, (..., 4), rows[:, 4] + 3)))


def test_large_outputs_of_a_dead_head_and_of_scaled_ones_hide_nothing() -> None:
    one = small()
    block, large = one.blocks[0], np.float32(1e20)
    for value in (at(block.value, 0, 0), at(block.value, 0, block.value[0] / large)):
        output = at(block.output, slice(2), block.output[:2] * large)
        first = changed(one, 0, value=value, output=output)
        require_different(first, changed(first, 0, output=at(output, slice(2, 4), -output[2:])))


def test_large_outputs_of_a_value_that_is_zero_hide_nothing() -> None:
    one = small()
    value, output = at(one.blocks[0].value, (..., 3, slice(None)), 0), at(one.blocks[0].output, (..., 3), 1e20)
    first = changed(one, 0, value=value, output=output)
    require_different(first, changed(first, 0, output=at(output, (..., 2), -output[..., 2])))


def test_a_scaled_neuron_hides_no_other_one() -> None:
    one = small()
    block, large = one.blocks[0], np.float32(1e20)
    down = at(block.down, (..., 0), block.down[:, 0] * large)
    first = changed(one, 0, up=at(block.up, 0, block.up[0] / large), down=down)
    require_different(first, changed(first, 0, down=at(down, (..., 5), -down[:, 5])))


@pytest.mark.parametrize("large", [2.0**8, 2.0**20])
@pytest.mark.parametrize(("gauge", "bias"), [("values", "value_bias"), ("queries", "query_bias")])
def test_a_long_row_of_a_gauge_hides_no_bias(gauge: str, bias: str, large: float) -> None:
    one = rounded(small("gpt2"), "BF16")
    by: Any = {gauge: np.stack([np.diag([large, 1, 1, 1])] * 4)}
    two = rounded(apply(Symmetry((LayerSymmetry(**by),)), one), "BF16")
    assert same_checkpoints(one, two).answer is CheckpointAnswer.SAME
    numbers = getattr(two.blocks[0], bias)
    wrong = changed(two, 0, **{bias: at(numbers, (..., 1), numbers[:, 1] + 2)})
    require_different(one, wrong)


def without_writers(one: MadeCheckpoint) -> MadeCheckpoint:
    return changed(one, 0, output=0 * one.blocks[0].output, down=0 * one.blocks[0].down)


@pytest.mark.parametrize("scale", [Fraction(2**54 + 1, 2**54), Fraction(2**60 + 1, 2**60), Fraction(4194300, 4194301)])
def test_a_scale_that_floats_do_not_hold_is_none(scale: Fraction) -> None:
    one = without_writers(small())
    two = replace(one, form=replace(one.form, epsilon=one.form.epsilon * scale**2))
    assert same_checkpoints(one, two).answer is not CheckpointAnswer.SAME


def test_gains_that_floats_do_not_hold_are_not_compared_in_floats() -> None:
    one = small()
    gain = np.array([Fraction(float(x)) for x in one.blocks[0].norm1_gain], dtype=object)
    assert same_checkpoints(one, changed(one, 0, norm1_gain=gain)).answer is CheckpointAnswer.SAME
    other = at(gain, 2, gain[2] + Fraction(1, 2**80))
    assert same_checkpoints(one, changed(one, 0, norm1_gain=other)).answer is not CheckpointAnswer.SAME


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2"])
def test_rewritings_of_fractions_are_compared(family: str) -> None:
    one = small(family)
    for seed in range(3):
        two, three = (apply(random_symmetry(one, seed=s), one) for s in (seed, seed + 40))
        assert same_checkpoints(one, two).answer is CheckpointAnswer.SAME
        assert same_checkpoints(two, three).answer in (CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("piece", ["query", "value", "output", "down", "up", "norm1_gain"])
@pytest.mark.parametrize("size", [5e-324, 1e200])
def test_numbers_of_any_size_are_compared(family: str, piece: str, size: float) -> None:
    one = small(family, tied=True)
    array = np.asarray(getattr(one.blocks[0], piece), dtype=np.float64)
    far = replace(changed(one, 0, **{piece: at(array, (0,) * array.ndim, size)}), type_stored="F64")
    assert same_checkpoints(far, far).answer is not CheckpointAnswer.DIFFERENT
    found = same_checkpoints(far, one).answer
    assert found in (CheckpointAnswer.DIFFERENT, CheckpointAnswer.UNDECIDED)


def test_epsilons_far_apart() -> None:
    one = small()
    forms = [replace(one.form, epsilon=Fraction(x)) for x in ("1e-299", "1e299")]
    for pair in (forms, forms[::-1]):
        answer = same_checkpoints(*(replace(one, form=form) for form in pair)).answer
        assert answer is CheckpointAnswer.DIFFERENT


def test_every_piece_zeroed_is_seen() -> None:
    one = small("gpt2")
    for name in ("query", "key", "value", "output", "up", "down", "norm1_gain", "norm2_gain"):
        require_different(one, changed(one, 0, **{name: 0 * getattr(one.blocks[0], name)}))
