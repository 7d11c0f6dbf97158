"""Rewritten checkpoints are found again, exactly or up to rounding; what is no rewriting is never called one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from changed_checkpoints import changed, forgotten, moved, places, rounded, wild_symmetry

from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.units import entry_of
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

SAME, ROUNDING = CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING
DIFFERENT = CheckpointAnswer.DIFFERENT
NETWORKS = [(family, tied) for family in ("gpt2", "llama", "qwen2") for tied in (True, False)]
SOME = [("gpt2", False), ("llama", False), ("qwen2", True)]


def small(family: str, tied: bool, seed: int = 0) -> MadeCheckpoint:
    """Numbers of eight bits, so that exact rewritings stay floats."""
    return small_checkpoint(family, seed, tied=tied, stored="BF16")


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), KINDS], ids=lambda kinds: "+".join(kinds[:2]))
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_every_exact_rewriting_is_found(family: str, tied: bool, kinds: tuple[str, ...]) -> None:
    first = small(family, tied)
    second = apply(random_symmetry(first, kinds, seed=5), first)
    found = same_checkpoints(first, second)
    assert found.answer is SAME, str(found)
    assert found.residuals == ()
    assert found.description is not None
    assert found.description.exact


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_products_of_rewritings_are_found_both_ways(family: str, tied: bool, seed: int) -> None:
    first = small(family, tied, seed)
    second = apply(random_symmetry(first, KINDS, seed), first)
    kinds = [kind for kind in KINDS if kind not in ("gains", "scale")]
    third = apply(random_symmetry(second, kinds, seed + 10), second)
    assert same_checkpoints(first, third).answer is SAME
    assert same_checkpoints(third, first).answer is SAME


@pytest.mark.parametrize("stored", ["F32", "BF16"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_what_was_rounded_is_found_by_fitted_numbers(family: str, stored: str) -> None:
    first = small_checkpoint(family, 1, tied=False)
    second = rounded(apply(wild_symmetry(first, 3), first, exact=False), stored)
    for pair in ((first, second), (second, first)):
        found = same_checkpoints(*pair)
        assert found.answer is ROUNDING, str(found)
        assert 0 < found.units < 4
        assert {each.stored for each in found.residuals} == {stored}
        assert found.description is not None
        assert not found.description.exact
        assert found.logits is not None
        assert found.logits.bound < 1


@pytest.mark.parametrize("stored", ["F32", "BF16"])
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_both_may_be_rounded(family: str, tied: bool, stored: str) -> None:
    exact = small_checkpoint(family, 2, tied=tied)
    symmetry = random_symmetry(exact, KINDS, seed=1)
    first, second = rounded(exact, stored), rounded(apply(symmetry, exact, exact=False), stored)
    found = same_checkpoints(first, second)
    assert found.answer is ROUNDING, str(found)


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_wrong_rewritings_are_different(family: str) -> None:
    first = small_checkpoint(family, 4, tied=False)
    symmetry = wild_symmetry(first, 5)
    second = rounded(apply(symmetry, first, exact=False))
    assert same_checkpoints(first, second).answer is ROUNDING
    for name, wrong in forgotten(first, second, symmetry):
        found = same_checkpoints(first, wrong)
        assert found.answer is DIFFERENT, (name, str(found))
        assert found.logits is not None
        assert found.logits.apart is not None
        assert {each.piece[0] for each in found.unexplained} == {"1"}, name


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_an_epsilon_has_to_follow_the_scale(family: str) -> None:
    first = small(family, False)
    second = apply(Symmetry((LayerSymmetry(),) * 2, scale=Fraction(3, 2)), first)
    assert same_checkpoints(first, second).answer is SAME
    kept = replace(rounded(second), form=first.form)
    found = same_checkpoints(first, kept)
    assert found.answer is DIFFERENT
    assert [each.piece for each in found.unexplained] == ["epsilon"]


@pytest.mark.parametrize("rewritten", [False, True])
@pytest.mark.parametrize(("family", "tied"), SOME)
def test_one_weight_moved_by_one_unit_is_located(family: str, tied: bool, rewritten: bool) -> None:
    first = replace(small(family, tied, 3), type_stored="F32")
    kinds = ("heads", "neurons", "stream") if rewritten else ()
    second = rounded(apply(random_symmetry(first, kinds, seed=2), first))
    assert same_checkpoints(first, second).answer is SAME
    for layer, piece, index in places(second, seed=1):
        found = same_checkpoints(first, moved(second, layer, piece, index))
        if piece == "key_bias" and first.form.theta is None:
            assert found.answer is SAME  # softmax does not see it
            continue
        assert found.answer is ROUNDING, (piece, str(found))
        (off,) = found.residuals
        assert off.piece == (piece if layer is None else f"{layer}.{piece}")
        assert off.differing == 1 or piece == "final_bias"
        if off.entry is not None:
            assert off.entry == entry_of(piece, index, first.form)
            assert off.own == pytest.approx(1) or off.own == pytest.approx(0.5)


@pytest.mark.parametrize(("family", "tied"), SOME)
def test_one_weight_far_off_is_the_only_one_blamed(family: str, tied: bool) -> None:
    first = replace(small(family, tied, 3), type_stored="F32")
    for layer, piece, index in places(first, seed=4):
        array = np.array(getattr(first.outer if layer is None else first.blocks[layer], piece))
        array[index] += 1
        found = same_checkpoints(first, changed(first, layer, **{piece: array}))
        if piece == "key_bias" and first.form.theta is None:
            assert found.answer is SAME
            continue
        assert found.answer is DIFFERENT, (piece, str(found))
        assert [each.piece.split(".")[-1] for each in found.unexplained] == [piece]


def test_another_network_is_different() -> None:
    found = same_checkpoints(small("llama", True), small("llama", True, seed=9))
    assert found.answer is DIFFERENT
    assert len(found.unexplained) > 10
    found = same_checkpoints(small("llama", True), small("qwen2", True))
    assert found.answer is DIFFERENT


@pytest.mark.parametrize("what", ["width", "layers", "family"])
def test_networks_of_other_shapes_are_compared_by_logits(what: str) -> None:
    first = small("llama", True)
    others = {
        "width": lambda: small_checkpoint("llama", tied=True, heads=2),
        "layers": lambda: small_checkpoint("llama", tied=True, layers=3),
        "family": lambda: small("gpt2", True),
    }
    second = others[what]()
    found = same_checkpoints(first, second)
    assert found.answer is DIFFERENT
    assert (found.description is None) == (what != "layers")  # of those that both have a symmetry is known
    assert any("no symmetry is known" in line for line in found.tried)


def test_untied_written_out_and_padded() -> None:
    first = small("llama", True)
    untied = replace(
        first, form=replace(first.form, tied=False), outer=replace(first.outer, unembedding=first.outer.embedding)
    )
    assert same_checkpoints(first, untied).answer is SAME
    assert same_checkpoints(untied, first).answer is SAME
    share = first.form.heads // first.form.groups
    blocks = tuple(replace(b, key=b.key.repeat(share, 0), value=b.value.repeat(share, 0)) for b in first.blocks)
    whole = replace(first, form=replace(first.form, groups=first.form.heads), blocks=blocks)
    assert same_checkpoints(first, whole).answer is SAME
    assert same_checkpoints(whole, first).answer is SAME
    twisted = changed(whole, 1, key=whole.blocks[1].key[::-1].copy())
    assert same_checkpoints(first, twisted).answer is DIFFERENT
    blocks = tuple(
        replace(
            b,
            gate=np.vstack([b.gate, np.ones((2, first.form.width))]),  # type: ignore[list-item]
            up=np.vstack([np.ones((2, first.form.width)), b.up])[[*range(2, 26), 0, 1]],
            down=np.hstack([b.down, np.zeros((first.form.width, 2))]),
        )
        for b in first.blocks
    )
    padded = replace(first, form=replace(first.form, inner=26), blocks=blocks)
    assert same_checkpoints(first, padded).answer is SAME
    wrong = changed(padded, 0, down=np.hstack([padded.blocks[0].down[:, :25], np.ones((first.form.width, 1))]))
    assert same_checkpoints(first, wrong).answer is DIFFERENT


def test_a_limit_of_no_units_makes_rounding_unexplained() -> None:
    first = small_checkpoint("llama")
    second = rounded(first, "BF16")
    assert same_checkpoints(first, second).answer is ROUNDING
    assert same_checkpoints(first, second, units=0).answer is DIFFERENT


def test_what_is_asked_must_be_there() -> None:
    one = small("llama", True)
    with pytest.raises(BadInput, match="token id must be an integer of at least 0 and at most 38, got 39"):
        same_checkpoints(one, small_checkpoint("llama", vocabulary=39), ids=[39])
    with pytest.raises(BadInput, match="token id must be an integer of at least 0 and at most 39, got 40"):
        same_checkpoints(one, one, ids=[40])
    with pytest.raises(BadInput, match="at most 16 token ids, got 17"):
        same_checkpoints(one, one, ids=[1] * 17)
    with pytest.raises(BadInput, match="units must be a finite number"):
        same_checkpoints(one, one, units=float("nan"))
    with pytest.raises(BadInput, match="first must be a Checkpoint"):
        same_checkpoints("model", one)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_zeros_are_no_wildcards(family: str) -> None:
    first = small(family, False)
    gain = np.array(first.blocks[0].norm1_gain)
    gain[3] = 0
    without = changed(first, 0, norm1_gain=gain)
    assert same_checkpoints(first, without).answer is DIFFERENT
    assert same_checkpoints(without, first).answer is DIFFERENT
    assert same_checkpoints(without, without).answer is SAME
    for piece in ("down", "value"):
        zero = changed(first, 0, **{piece: np.zeros_like(getattr(first.blocks[0], piece))})
        assert same_checkpoints(zero, zero).answer is SAME
        assert same_checkpoints(first, zero).answer is not SAME
        assert same_checkpoints(zero, first).answer is not SAME
    nothing = changed(first, None, embedding=np.zeros_like(first.outer.embedding))
    assert same_checkpoints(first, nothing).answer is DIFFERENT


def test_answers_travel() -> None:
    found = same_checkpoints(small_checkpoint("llama"), rounded(small_checkpoint("llama"), "BF16"), ids=[1, 2])
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - its own
    assert "\n" not in repr(found)
    assert found.logits is not None
    assert found.logits.prompts == ((1, 2),)
    with pytest.raises(BadInput):
        bool(found)


def test_a_final_bias_behind_a_gain_of_zero_is_compared_as_it_is() -> None:
    """No other gain has that bias behind it: the gain of the second cannot be had, and differs."""
    one = small_checkpoint("gpt_neox", layers=1, heads=2, inner=3, vocabulary=5)
    gain = np.array(one.outer.final_gain)
    gain[0] = 0
    first = changed(one, None, final_gain=gain, final_bias=np.arange(1, 1 + len(gain), dtype=np.float32))
    gain = gain.copy()
    gain[0] = 0.5
    found = same_checkpoints(first, changed(first, None, final_gain=gain), work=0.1)
    assert found.answer is DIFFERENT
    assert [residual.piece for residual in found.residuals] == ["final_gain"]
