"""Weights with more symmetries than are listed: section 3 of docs/checkpoints.md, and what fingerprints say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from naive_transformer import logits

from lightning_sym import apply, compare_fingerprints, fingerprint, same_checkpoints, symmetries_of
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

TOKENS = [2, 7, 1, 8]


def with_block(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(one, blocks=(replace(one.blocks[0], **pieces), *one.blocks[1:]))


def pair(one: MadeCheckpoint, factors: dict[str, int], columns: tuple[int, int] = (1, 1)) -> MadeCheckpoint:
    """Neuron 1 reads `factors` times what neuron 0 reads; both write multiples of one column."""
    block = one.blocks[0]
    parts = {name: getattr(block, name).copy() for name in (*factors, "down")}
    for name, factor in factors.items():
        parts[name][1] = factor * parts[name][0]
    column = parts["down"][:, 0].copy()
    parts["down"][:, 0], parts["down"][:, 1] = columns[0] * column, columns[1] * column
    return with_block(one, **parts)


def same_logits(one: MadeCheckpoint, two: MadeCheckpoint) -> bool:
    return bool(np.abs(logits(one, TOKENS) - logits(two, TOKENS)).max() < 1e-12)


def test_equal_neurons_share_their_columns() -> None:
    one = pair(small_checkpoint("llama", stored="F64"), {"gate": 1, "up": 1}, (1, 3))
    down = one.blocks[0].down.copy()
    down[:, :2] = down[:, [1, 0]]
    two = with_block(one, down=down)
    moved = down.copy()
    moved[:, 0], moved[:, 1] = 2 * moved[:, 1], 2 * moved[:, 1]
    three = with_block(one, down=moved)
    assert same_logits(one, two)
    assert same_logits(one, three)
    assert compare_fingerprints(fingerprint(one), fingerprint(three)).different, (
        "the list of symmetries is not complete"
    )


def test_neurons_without_gate_turned_over() -> None:
    one = pair(small_checkpoint("gpt2", stored="F64"), {"up": -1})
    block = one.blocks[0]
    assert block.up_bias is not None
    assert block.down_bias is not None
    up, bias = block.up.copy(), block.up_bias.copy()
    up[:2], bias[:2] = -up[:2], -bias[:2]
    down_bias = block.down_bias + block.down[:, 0] * block.up_bias[:2].sum()
    two = with_block(one, up=up, up_bias=bias, down_bias=down_bias)
    assert same_logits(one, two)
    assert not same_logits(one, with_block(one, up=up, up_bias=bias)), "without the bias it is another function"


def test_gated_neurons_exchange_their_inputs() -> None:
    one = pair(small_checkpoint("llama", stored="F64"), {"gate": -1, "up": -1})
    block = one.blocks[0]
    assert block.gate is not None
    gate, up = block.gate.copy(), block.up.copy()
    gate[:2], up[:2] = block.up[:2], block.gate[:2]
    assert same_logits(one, with_block(one, gate=gate, up=up))
    plain = small_checkpoint("llama", stored="F64")
    assert plain.blocks[0].gate is not None
    gate, up = plain.blocks[0].gate.copy(), plain.blocks[0].up.copy()
    gate[:2], up[:2] = up[:2].copy(), gate[:2].copy()
    assert not same_logits(plain, with_block(plain, gate=gate, up=up))


@pytest.mark.parametrize("chosen", [2, 3])
def test_experts_with_equal_rows_of_the_router_keep_their_order(chosen: int) -> None:
    """Programs read the one of lower number, wherever the scores of two are equal: here at every input."""
    config = {"num_local_experts": 3, "num_experts_per_tok": chosen}
    one = small_checkpoint("mixtral", 4, inner=4, stored="F64", config=config)
    block = one.blocks[0]
    router, gain = np.array(block.router), np.array(block.norm2_gain)
    router[1], gain[3] = router[0], 0
    router[1, 3] += 1  # which is not read
    one = with_block(one, router=router, norm2_gain=gain)
    order = np.roll(np.arange(12), 4)
    swapped = {name: getattr(block, name)[order] for name in ("gate", "up")}
    two = with_block(one, router=np.roll(router, 1, axis=0), down=block.down[:, order], **swapped)
    asked = Symmetry((LayerSymmetry(neurons=order), LayerSymmetry()))
    answer = same_checkpoints(one, two).answer
    if chosen == 3:  # all of them are read
        assert answer is CheckpointAnswer.SAME
        assert np.array_equal(apply(asked, one).block(0).up, two.blocks[0].up)
        return
    assert answer not in (CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING)
    with pytest.raises(BadInput, match="keep experts in their order where two have equal rows of the router"):
        apply(asked, one).block(0)
    inside = np.concatenate([[1, 0, 3, 2], np.arange(4, 12)])
    kept = apply(Symmetry((LayerSymmetry(neurons=inside), LayerSymmetry())), one)
    assert same_checkpoints(one, kept).answer is CheckpointAnswer.SAME


def test_gains_of_the_whole_width_are_listed_and_nothing_is_cited_that_is_not_about_them() -> None:
    found = symmetries_of(small_checkpoint("olmo2", tied=False))
    (row,) = [row for row in found.groups if row.space == "query-key"]
    assert (row.dimension, row.proof) == (8, "docs/checkpoints.md, Proposition 19")
    assert (found.complete, found.functions) == (False, None)
