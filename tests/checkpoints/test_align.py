"""The nearest member of an orbit: a disguise is seen through, a fine-tune stays as far as it is, the function stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lightning_sym import LayerSymmetry, Symmetry, align, apply, same_checkpoints
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.model import MadeCheckpoint, Pieces
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.testing import small_checkpoint


def trained(checkpoint: MadeCheckpoint, size: float = 0.01) -> MadeCheckpoint:
    """Every number a little otherwise."""
    random = np.random.default_rng(7)

    def moved(pieces: Any) -> Any:
        there = {name: array + size * array.std() * random.standard_normal(array.shape) for name, array in pieces}
        return {name: array.astype(np.float32) for name, array in there.items()}

    def all_of(pieces: Pieces) -> Any:
        return type(pieces)(**vars(pieces) | moved(pieces.present()))

    blocks = tuple(map(all_of, checkpoint.blocks))
    return MadeCheckpoint(checkpoint.form, all_of(checkpoint.outer), blocks, "trained", "F32")


@pytest.mark.parametrize(("family", "tied"), [("gpt2", True), ("llama", False), ("qwen3", True)])
def test_a_fine_tune_is_found_behind_any_disguise(family: str, tied: bool) -> None:
    base = small_checkpoint(family, tied=tied, biases=True, layers=1, inner=12)
    fine = trained(base)
    apart = align(base, fine)
    assert apart.after <= apart.before < 0.02
    hidden = apply(random_symmetry(base, seed=1), base)
    found = align(hidden, fine)
    assert found.before > 0.5
    assert found.after < 1.1 * apart.after
    assert {each.piece for each in found.pieces} == {each.piece for each in apart.pieces}
    assert max(each.after for each in found.pieces) < 0.05
    kinds = ("heads", "neurons")
    moved = align(apply(random_symmetry(base, kinds, seed=1), base), fine, orders=True)
    assert moved.exact
    assert moved.after < 1.001 * align(base, fine, orders=True).after
    assert {part.rpartition(".")[2] for part in moved.symmetry.parts()} <= {*kinds}


def test_the_function_stays() -> None:
    one, other = small_checkpoint("llama", tied=False), small_checkpoint("llama", 1, tied=False)
    found = align(one, other)
    assert found.after < found.before
    assert same_checkpoints(one, found.checkpoint).answer is CheckpointAnswer.ROUNDING
    orders = align(one, other, orders=True)
    assert found.after < orders.after < orders.before
    assert same_checkpoints(one, orders.checkpoint).answer is CheckpointAnswer.SAME


def test_distances_are_those_of_the_arrays() -> None:
    one, other = small_checkpoint("llama"), small_checkpoint("llama", 1)
    found = align(one, other)
    by = {each.piece: each for each in found.pieces}
    mine, made, theirs = (np.asarray(each.block(1).up, dtype=float) for each in (one, found.checkpoint, other))
    lengths = [float(np.linalg.norm(x - theirs) / np.linalg.norm(theirs)) for x in (mine, made)]
    assert np.allclose([by["1.up"].before, by["1.up"].after], lengths)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocabulary": 41}, "both must have the same token ids, got 40 and 41"),
        ({"inner": 25}, "the first must be like the second, inner are 24 and 25"),
        ({"tied": True}, "the first must be like the second, tied are False and True"),
        ({"layers": 3}, "the first must be like the second: no symmetry is known between layers 2 and 3"),
        ({"heads": 8, "head_width": 2, "groups": 2}, "the first must be like the second: no symmetry is known between"),
    ],
    ids=str,
)
def test_what_is_not_alike_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as error:
        align(small_checkpoint("llama", tied=False), small_checkpoint("llama", **{"tied": False} | changes))
    assert str(error.value).startswith(said)


def test_a_piece_of_one_side_alone_is_refused() -> None:
    one = small_checkpoint("qwen2")
    block = one.block(0)
    other = MadeCheckpoint(one.form, one.outer, (type(block)(**vars(block) | {"query_bias": None}), one.block(1)))
    with pytest.raises(BadInput, match=r"^both must have the same pieces, one has no query_bias$"):
        align(other, one)
    assert align(one, Edited.with_ends(one, one.ends())).after == 0


@pytest.mark.parametrize("what", ["align", "canonical"])
def test_what_holds_whole_layers_is_refused_before_the_work(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = small_checkpoint("llama", layers=1, tied=False)
    most = 8 * max(6 * one.form.numbers_of_a_layer, 3 * 2 * one.form.vocabulary * one.form.width)

    def asked(memory: int) -> None:
        if what == "align":
            align(one, one, memory=memory)
        else:
            canonical_checkpoint(one, memory=memory)

    asked(most)
    monkeypatch.setattr(type(one), "ends", None)  # nothing is read any more
    with pytest.raises(TooLarge, match=f"estimated need {most:,} bytes"):
        asked(most - 1)


@pytest.mark.parametrize("biased", [False, True])
def test_what_is_added_to_an_unembedding_along_ones_is_taken_off(*, biased: bool) -> None:
    """Where the final norm has a bias there is no such symmetry, and none is tried."""
    one = small_checkpoint("gpt2", layers=1, tied=False)
    one = replace(one, outer=replace(one.outer, final_bias=np.asarray(one.outer.final_bias) * biased))
    ends, direction = one.outer, 1 / np.asarray(one.outer.final_gain, dtype=np.float64)
    shifted = np.asarray(ends.unembedding) + np.arange(len(ends.embedding))[:, None] * direction
    found = align(replace(one, outer=replace(ends, unembedding=shifted)), one)
    assert (found.after < 1e-12) is not biased
    assert ("unembedding_shift" in found.symmetry.parts()) is not biased


def test_biases_side_by_side_are_brought_in_line() -> None:
    """As a fine-tune has them: what is between both is shared, so that no side takes up all of it."""
    one = small_checkpoint("gpt_neox", layers=1)
    drawn = random_symmetry(one, ["biases"], seed=1).layers
    hidden = apply(Symmetry(tuple(LayerSymmetry(attention_bias=layer.attention_bias) for layer in drawn)), one)
    found = align(hidden, one)
    assert found.before > 0.1
    assert found.after < 1e-12
    assert "0.attention_bias" in found.symmetry.parts()
    block = one.blocks[0]
    off = replace(one, blocks=(replace(block, output_bias=np.asarray(block.output_bias) + 1),))
    made: Any = align(one, off).checkpoint.block(0)
    assert np.allclose(made.output_bias, np.asarray(block.output_bias) + 0.5)
    assert np.allclose(made.down_bias, np.asarray(block.down_bias) - 0.5)


@pytest.mark.parametrize("family", ["gpt_neox", "smollm3"])
def test_key_biases_are_taken_of_rows_that_are_not_turned(family: str) -> None:
    """Those of the others are seen, in layers with rotary positions."""
    one = small_checkpoint(family, layers=2, biases=True)
    drawn = random_symmetry(one, ["biases"], seed=1).layers
    layers = tuple(LayerSymmetry(key_bias=layer.key_bias) for layer in drawn)
    found = align(apply(Symmetry(layers), one), one)
    assert any(part.endswith("key_bias") for part in found.symmetry.parts())
    assert found.after < 1e-12 < found.before
