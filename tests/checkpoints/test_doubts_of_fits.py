"""What is fitted is as uncertain as roundings make it, and not more, so that nothing hides in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from changed_checkpoints import rounded

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint


def first_block(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(one, blocks=(replace(one.blocks[0], **pieces), *one.blocks[1:]))


def test_a_fitted_turn_that_hardly_turns_explains_what_it_makes_of_small_entries_beside_large_ones() -> None:
    one = small_checkpoint("llama", 3, stored="F32")
    query = one.blocks[0].query.copy()
    query[:, :2, 3] *= 2.0**-20
    one = first_block(one, query=query)
    turns = np.tile([1.3, 1e-6], (one.form.groups, one.form.head_width // 2, 1))
    two = rounded(apply(Symmetry((LayerSymmetry(turns=turns), LayerSymmetry())), one, exact=False))
    assert same_checkpoints(one, two).answer is CheckpointAnswer.ROUNDING


def turn(width: int, *, centred: bool) -> Any:
    """An orthogonal matrix with no nice numbers; centred: ones stay ones."""
    basis = np.random.default_rng(width).standard_normal((width, width))
    basis[:, 0] = 1
    q, _ = np.linalg.qr(basis)
    inner, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((width, width)))
    if centred:
        inner, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((width - 1, width - 1)))
        inner = np.block([[np.ones((1, 1)), np.zeros((1, width - 1))], [np.zeros((width - 1, 1)), inner]])
    return q @ inner @ q.T


def centred_pair() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    """Rows of the embedding are centred and tell nothing of the vector of ones; biases of norms are folded."""
    one = small_checkpoint("gpt2", 5, tied=False, stored="F32")
    parts = {name: getattr(one.outer, name) for name in ("embedding", "positions")}
    flat = {name: (x - x.mean(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32) for name, x in parts.items()}
    one = replace(one, outer=replace(one.outer, **flat))
    zero, ones = np.zeros(one.form.width, np.float32), np.ones(one.form.width, np.float32)
    layer = LayerSymmetry(gain1=ones, bias1=zero, gain2=ones, bias2=zero)
    rotation = turn(one.form.width, centred=True)
    asked = Symmetry((layer, layer), rotation=rotation, final_gain=ones)
    return one, rounded(apply(asked, one, exact=False))


def test_a_rotation_of_centred_rows_is_known_on_ones() -> None:
    one, two = centred_pair()
    assert same_checkpoints(one, two).answer is CheckpointAnswer.ROUNDING
    bias: Any = two.blocks[0].norm2_bias
    other = first_block(two, norm2_bias=(bias + np.float32(0.05)).astype(np.float32))
    assert same_checkpoints(one, other).answer is CheckpointAnswer.DIFFERENT


def test_outputs_tell_a_gauge_where_values_hardly_do() -> None:
    """Two rows of the values are nearly one, beside a bias; the sign of it in one head is turned."""
    one = small_checkpoint("gpt2", 6, stored="F32")
    value = one.blocks[0].value.copy()
    value[:, 0] = value[:, 1] * np.float32(1 + 2.0**-20)
    one = first_block(one, value=value)
    a = one.form.head_width
    gauges = np.eye(a) + 0.3 * np.random.default_rng(1).standard_normal((one.form.groups, a, a))
    two = rounded(apply(Symmetry((LayerSymmetry(values=gauges), LayerSymmetry())), one, exact=False))
    assert same_checkpoints(one, two).answer is CheckpointAnswer.ROUNDING
    before: Any = two.blocks[0].value_bias
    bias = before.copy()
    bias[0] = -bias[0]
    found = same_checkpoints(one, first_block(two, value_bias=bias))
    assert found.answer is CheckpointAnswer.DIFFERENT


def test_a_rotation_is_known_in_a_direction_that_rows_hardly_have() -> None:
    """The others turn, and so does it: an entry of a map that is doubled is told."""
    one = small_checkpoint("llama", 7, tied=False, stored="F16")
    embedding = one.outer.embedding.astype(np.float64)
    embedding[:, 2] *= 2.0**-9
    one = rounded(replace(one, outer=replace(one.outer, embedding=embedding)), "F16")
    rotation = turn(one.form.width, centred=False)
    ones = np.ones(one.form.width, np.float32)
    layer = LayerSymmetry(gain1=ones, gain2=ones)
    asked = Symmetry((layer, layer), rotation=rotation, final_gain=ones)
    two = rounded(apply(asked, one, exact=False), "F16")
    assert same_checkpoints(one, two).answer is CheckpointAnswer.ROUNDING
    up = two.blocks[0].up.copy()
    up[3, 1] *= 2
    assert same_checkpoints(one, first_block(two, up=up)).answer is CheckpointAnswer.DIFFERENT
