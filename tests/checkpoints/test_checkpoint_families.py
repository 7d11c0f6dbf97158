"""Every family beside the library that writes its files, under its symmetries, and without each of its features."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_checkpoints import IDS, KEPT, TOKENS, small_checkpoints, spelled
from plain_checkpoints import logits as plain_logits
from test_reading_checkpoints import assert_equal

from lightning_sym import (
    BadInput,
    apply,
    circuits,
    compare_fingerprints,
    compare_logits,
    fingerprint,
    logits,
    open_checkpoint,
    same_checkpoints,
    save_checkpoint,
)
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import CheckpointForm, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import FEATURES
from lightning_sym.rings.rotary import RotaryScaling

CHECKPOINTS = dict(small_checkpoints())
FILE = Path(__file__).parent / "transformers_logits.json"
THEIRS: dict[str, list[list[float]]] = json.loads(FILE.read_text(encoding="utf-8"))
"""Logits that `transformers` computes in float64 (`scripts/compare_with_transformers.py` writes them)."""


def test_all_of_them_were_compared() -> None:
    assert list(THEIRS) == list(CHECKPOINTS)
    assert spelled(THEIRS) == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("label", CHECKPOINTS)
def test_logits_are_those_of_the_library(label: str) -> None:
    """In balls, and in the plain forward pass of the tests, which both know nothing of the library."""
    one = CHECKPOINTS[label]
    theirs = np.array(THEIRS[label])
    for found in (logits(one, IDS.tolist()).middle.T, plain_logits(one, IDS)):
        assert np.abs(found[TOKENS][:, :KEPT] - theirs).max() < 1e-12 * np.abs(theirs).max()


@pytest.mark.parametrize("label", CHECKPOINTS)
def test_what_is_read_is_what_was_written(label: str, tmp_path: Path) -> None:
    one = CHECKPOINTS[label]
    save_checkpoint(one, tmp_path)
    assert_equal(one, open_checkpoint(tmp_path))


@pytest.mark.parametrize("label", CHECKPOINTS)
def test_every_symmetry_is_found_and_written_down(label: str) -> None:
    one = CHECKPOINTS[label]
    two = apply(random_symmetry(one, seed=3), one)
    assert compare_logits(one, two, [3, 1, 4, 1, 5, 9]).bound < Fraction(1, 10**10)
    found = same_checkpoints(one, two)
    assert (found.answer, found.residuals) == (CheckpointAnswer.SAME, ())
    assert found.symmetry is not None
    again = apply(found.symmetry, one)
    assert again.form == replace(two.form, family=again.form.family)
    for made, wanted in ((again.ends(), two.ends()), (again.block(1), two.block(1))):
        assert all(np.array_equal(getattr(made, name), array) for name, array in wanted.present())


OTHERS: dict[str, Any] = {
    "scaling": RotaryScaling("linear", Fraction(2)), "window": 3, "local": (0,), "unturned": (0,),
    "score_width": Fraction(5), "embedding_square": Fraction(7), "residual": Fraction(3, 4),
    "logit_divisor": Fraction(3), "score_cap": Fraction(3), "logit_cap": Fraction(5),
    "rotary_width": 2, "parallel": True, "local_theta": Fraction(77), "chosen": 1, "normed_choice": True,
}  # fmt: skip
"""By feature that is a part of the form and no weight, another value."""


def test_every_feature_is_tried() -> None:
    weights = {"gated", "head_norms", "norms_behind", "bare", "experts", "latent", "query_latent", "value_width"}
    assert OTHERS.keys() | weights == FEATURES.keys()
    assert FEATURES.keys() == {field.name for field in fields(CheckpointForm) if field.default is None}


@pytest.mark.parametrize("name", OTHERS)
def test_a_feature_that_differs_is_seen(name: str) -> None:
    """Logits move, as in the plain forward pass; and `same` says neither same nor rounding."""
    label = {"local": "mistral, a window", "local_theta": "gemma3_text, windows"}.get(name, "granite")
    label = "qwen3_moe" if name in ("chosen", "normed_choice") else label
    one = CHECKPOINTS[label]
    for value in (OTHERS[name], None) if name != "chosen" else (1, 3):
        changes: dict[str, Any] = {name: value}
        form = replace(one.form, **changes)
        if form == one.form:
            continue
        other = replace(one, form=form)
        moved = np.abs(plain_logits(other, IDS) - plain_logits(one, IDS)).max()
        assert moved > 1e-4
        assert np.abs(logits(other, IDS.tolist()).middle.T - plain_logits(other, IDS)).max() < 1e-11
        found = same_checkpoints(one, other, ids=IDS.tolist())
        assert found.answer is CheckpointAnswer.DIFFERENT, name


def test_gains_on_queries_and_keys_are_no_option() -> None:
    """Without the norms the gains are no pieces; without the gains the norms have none; and turns are refused."""
    one = CHECKPOINTS["qwen3"]
    bare = replace(one, form=replace(one.form, head_norms=None))
    lost = replace(one, blocks=tuple(replace(block, key_norm_gain=None) for block in one.blocks))
    for wrong, said in ((bare, "query_norm_gain"), (lost, "missing is key_norm_gain")):
        for call in (lambda wrong=wrong: logits(wrong, [1]), lambda wrong=wrong: same_checkpoints(wrong, wrong)):
            with pytest.raises(BadInput, match=said):
                call()
    none = LayerSymmetry()
    factors = np.ones((2, 6))
    for wrong_factors in (factors * 2, factors * [1, 2, 1, 1, 1, 1], 0 * factors):
        with pytest.raises(BadInput, match="gain_factors must be c and 1/c up to signs, c the same for both rows"):
            apply(Symmetry((LayerSymmetry(gain_factors=wrong_factors), none)), one)
    with pytest.raises(BadInput, match=r"turns must be 1, 0 or -1, 0 where queries and keys have gains"):
        apply(Symmetry((LayerSymmetry(turns=np.ones((2, 3, 2))), none)), one)
    with pytest.raises(BadInput, match=r"0.gain_factors: this network has no gains on queries and keys of heads"):
        apply(Symmetry((LayerSymmetry(gain_factors=factors), none)), CHECKPOINTS["llama"])


def test_gains_that_change_places_are_seen() -> None:
    one = CHECKPOINTS["qwen3"]
    blocks = tuple(replace(b, query_norm_gain=b.key_norm_gain, key_norm_gain=b.query_norm_gain) for b in one.blocks)
    assert same_checkpoints(one, replace(one, blocks=blocks)).answer is CheckpointAnswer.DIFFERENT


def in_other_words(one: MadeCheckpoint, family: str) -> MadeCheckpoint:
    return replace(one, form=replace(one.form, family=family))


def test_relatives_are_compared_with_each_other() -> None:
    """The family is a name: what counts is the form, and biases that are absent are zeros."""
    llama = CHECKPOINTS["phi3"]
    for family in ("llama", "mistral", "qwen2", "phi3"):
        assert same_checkpoints(llama, in_other_words(llama, family)).answer is CheckpointAnswer.SAME
    assert llama.form == replace(CHECKPOINTS["mistral"].form, family="phi3")


def test_a_bias_that_is_absent_is_zero() -> None:
    """Qwen2 with biases of zeros is Llama without any, in disguise too; with others it is not."""
    qwen = CHECKPOINTS["qwen2"]
    names = [name for name, _ in qwen.block(0).present() if name.endswith("_bias")]
    assert names == ["query_bias", "key_bias", "value_bias"]
    none: dict[str, Any] = dict.fromkeys(names)
    zeros: dict[str, Any] = {name: np.zeros_like(getattr(qwen.block(0), name)) for name in names}
    llama = in_other_words(replace(qwen, blocks=tuple(replace(block, **none) for block in qwen.blocks)), "llama")
    still = replace(qwen, blocks=tuple(replace(block, **zeros) for block in qwen.blocks))
    moved = apply(random_symmetry(still, seed=5), still)
    for pair in ((llama, still), (still, llama), (llama, moved), (moved, llama)):
        found = same_checkpoints(*pair)
        assert (found.answer, found.residuals) == (CheckpointAnswer.SAME, ())
        assert found.symmetry is not None
        again = apply(found.symmetry, pair[0]).block(1)
        for name, array in pair[1].block(1).present():
            made = getattr(again, name)
            assert (array == 0).all() if made is None else np.array_equal(made, array), name
    for pair in ((llama, qwen), (qwen, llama), (still, qwen)):
        assert same_checkpoints(*pair).answer is CheckpointAnswer.DIFFERENT


def test_what_features_take_away_is_refused() -> None:
    """With caps key biases are seen; beside scaled embeddings positions take nothing up."""
    gpt2 = CHECKPOINTS["gpt2"]
    none, form = LayerSymmetry(), gpt2.form
    for changes, symmetry, said in (
        ({"score_cap": Fraction(3)}, Symmetry((LayerSymmetry(key_bias=np.ones((4, 6))), none)), "with caps on scores"),
        ({"embedding_square": Fraction(2)}, Symmetry((none, none), moved=np.ones(24)), "embeddings are scaled here"),
    ):
        other: Any = replace(form, **changes)  # type: ignore[arg-type]
        assert np.abs(plain_logits(apply(symmetry, gpt2), IDS) - plain_logits(gpt2, IDS)).max() < 1e-9
        with pytest.raises(BadInput, match=said):
            apply(symmetry, replace(gpt2, form=other))


def test_what_is_no_symmetry_of_a_family_is_refused() -> None:
    """Each of these moves the logits, or is not proved: by its name, and what must be true."""
    none, d = LayerSymmetry(), 24
    neurons = np.ones(CHECKPOINTS["opt"].form.inner)
    for label, layer, said in (
        ("opt", LayerSymmetry(ups=-neurons), "ups must be positive in front of relu"),
        ("gpt2", LayerSymmetry(ups=neurons), "a gated MLP may be scaled, or one in front of ReLU"),
        ("gpt_neox", LayerSymmetry(queries=np.ones((4, 6, 6))), r"0: queries must have shape \(4, 4, 4\)"),
        ("gpt_neox", LayerSymmetry(turns=np.ones((4, 3, 2))), r"0: turns must have shape \(4, 1, 2\)"),
        ("gpt_neox, in sequence", LayerSymmetry(attention_bias=np.ones(d)), "attention and MLP are not side by side"),
        ("llama", LayerSymmetry(behind1=np.ones(d)), "no norms behind attention and MLPs"),
        ("gemma2", LayerSymmetry(behind1=2 * np.ones(d)), "behind1 must be 1 or -1"),
        ("gemma3_text", LayerSymmetry(key_bias=np.ones((2, 0))), "the function depends on key biases"),
        ("olmo2", LayerSymmetry(gain1=np.ones(d)), "no norms in front of attention and MLPs"),
        ("olmo2", LayerSymmetry(turns=np.ones((2, 3, 2))), "turns must be 1, 0 or -1, 0"),
        ("olmo2", LayerSymmetry(gain_factors=np.ones((2, 6))), "no gains on queries and keys of heads"),
        ("olmo2", LayerSymmetry(row_factors=2 * np.ones((2, 3, 6))), "row_factors must be c and 1/c up to signs"),
        ("qwen3", LayerSymmetry(row_factors=np.ones((2, 3, 6))), "no gains for each row of queries and keys"),
        ("llama", LayerSymmetry(router_shift=np.ones(d)), "this network has no experts"),
        ("mixtral", LayerSymmetry(neurons=np.roll(np.arange(24), 1)), "must keep the neurons of an expert together"),
        ("mixtral", LayerSymmetry(neurons=np.full(24, -1)), "neurons must be a permutation of 0..23"),
        ("smollm3", LayerSymmetry(queries=np.ones((2, 6, 6))), "0.queries: with rotary positions"),
    ):
        with pytest.raises(BadInput, match=said):
            apply(Symmetry((layer, none)), CHECKPOINTS[label])
    turned = Symmetry((none, none), rotation=np.eye(d))
    with pytest.raises(BadInput, match="rotation: norms behind attention and MLPs allow orders and signs"):
        apply(turned, CHECKPOINTS["gemma2"])


OF_FEATURES = ["gpt_neox", "opt", "gemma2", "gemma3_text", "qwen3", "smollm3", "olmo2", "mixtral", "qwen3_moe"]


@pytest.mark.parametrize("label", OF_FEATURES)
def test_fingerprints_and_heads_know_it(label: str) -> None:
    """A copy in disguise has the same numbers and the same key; one number moved is seen."""
    one = CHECKPOINTS[label]
    two = apply(random_symmetry(one, seed=6), one)
    prints = [fingerprint(each) for each in (one, two)]
    assert not compare_fingerprints(*prints).different
    assert prints[0].key == prints[1].key
    block = one.block(1)
    moved = replace(block, query=np.where(block.query == block.query.max(), 9.0, block.query))
    other = replace(one, blocks=(one.block(0), moved))
    assert compare_fingerprints(prints[0], fingerprint(other)).different
    tables = [circuits(each, conditions=False) for each in (one, replace(two, form=one.form))]
    assert [head.qk.rank for head in tables[0].heads] == [tables[0].heads[0].qk.rank] * 8
    assert tables[0].absent == tables[1].absent


def test_a_layer_without_rotary_positions_that_fits_badly_is_no_crash() -> None:
    """Several query heads share a key there; one wrong number, behind a symmetry, is another function."""
    one = CHECKPOINTS["smollm3"]
    key = np.array(one.block(1).key, dtype=np.float64)
    key[0, 0, 0] *= -2
    wrong = replace(one, blocks=(one.block(0), replace(one.block(1), key=key)))
    for two in (wrong, apply(random_symmetry(wrong, seed=8), wrong)):
        assert same_checkpoints(one, two).answer is CheckpointAnswer.DIFFERENT
