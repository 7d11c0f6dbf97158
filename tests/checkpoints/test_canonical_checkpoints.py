"""One form of an orbit: all members have it, it is a member, and another function has another one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs_of_checkpoints import distance

from lightning_sym import LayerSymmetry, Symmetry, apply, compare_logits, same_checkpoints
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.canonical_ways import balanced, ordered
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.stream_fit import scale_to_one
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.model_symmetries import one_form

FAMILIES = ("gpt2", "llama", "qwen2", "qwen3", "olmo2", "mixtral", "qwen3_moe", "opt", "gemma2")
SMALL: dict[str, Any] = {"layers": 1, "vocabulary": 24, "inner": 6}


@pytest.mark.parametrize("family", [*FAMILIES, "gpt_neox", "gemma3_text"])
def test_each_kind_of_symmetry_is_taken_out(family: str) -> None:
    one = small_checkpoint(family, tied=False, biases="gemma" not in family, **SMALL)
    form = canonical_checkpoint(one)
    seen = 0
    for kind in (*KINDS, None):
        symmetry = random_symmetry(one, KINDS if kind is None else [kind], seed=1)
        if not symmetry.parts():
            continue
        seen += 1
        assert distance(form.checkpoint, canonical_checkpoint(apply(symmetry, one)).checkpoint) < 1e-10, kind
    assert seen >= 8


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_it_is_a_member_and_another_function_has_another_form(family: str) -> None:
    one = small_checkpoint(family, biases=True, tied=False if family == "gpt2" else None, **SMALL)
    form = canonical_checkpoint(one)
    assert form.checkpoint.form.tied is False
    assert same_checkpoints(one, form.checkpoint).answer is CheckpointAnswer.ROUNDING
    assert distance(form.checkpoint, apply(form.symmetry, one, exact=False)) == 0
    again = canonical_checkpoint(form.checkpoint).checkpoint
    assert distance(form.checkpoint, again) < 1e-10
    ends = one.ends()
    rows = np.array(ends.embedding)
    rows[0, 0] += 1
    changed = Edited.with_ends(one, type(ends)(**vars(ends) | {"embedding": rows}))
    assert distance(form.checkpoint, canonical_checkpoint(changed).checkpoint) > 1e-3


@pytest.mark.parametrize("biases", [False, True])
def test_layers_without_rotary_positions_have_matrices_and_free_key_biases(*, biases: bool) -> None:
    one = small_checkpoint("smollm3", vocabulary=24, inner=6, biases=biases)
    forms = [canonical_checkpoint(each) for each in (one, apply(random_symmetry(one, seed=2), one))]
    assert distance(forms[0].checkpoint, forms[1].checkpoint) < 1e-10
    assert forms[0].symmetry.layers[1].queries is not None


def test_one_form_for_each_function_is_said_where_it_is_proved() -> None:
    one = small_checkpoint("llama", layers=1, tied=False)
    assert one_form(canonical_checkpoint(one), one)[0]
    dead = np.array(one.blocks[0].down)
    dead[:, 3] = 0
    less = replace(one, blocks=(replace(one.blocks[0], down=dead),))
    opt, few = small_checkpoint("opt", tied=False), small_checkpoint("llama", vocabulary=3)
    others = {
        "powers of two": (one, True),
        "layer 0, neuron 3": (less, False),
        "SiLU or GELU": (opt, False),
        "quarter turns": (small_checkpoint("qwen3"), False),
        "left as it was": (few, False),
        "biases of the final norm": (small_checkpoint("gpt2", layers=1, tied=False), False),
    }
    for why, (checkpoint, exact) in others.items():
        said = one_form(canonical_checkpoint(checkpoint, exact=exact), checkpoint)
        assert (said[0], why in said[1]) == (False, True), said


def special(**parts: Any) -> MadeCheckpoint:
    """One layer of width 8 without gains, whose stream stays as it is; other numbers in some pieces."""
    one = small_checkpoint("llama", layers=1, heads=2, groups=1, inner=5, vocabulary=12, tied=False)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=12)
    embedding, ones = np.eye(12, 8) * (signs * np.arange(1, 13))[:, None], np.ones(8)
    ends = replace(one.outer, embedding=embedding, final_gain=ones)
    return replace(one, outer=ends, blocks=(replace(one.blocks[0], norm1_gain=ones, norm2_gain=ones, **parts),))


def test_no_one_form_is_said_of_signs_that_cubes_do_not_tell() -> None:
    up = np.array(special().blocks[0].up)
    assert one_form(canonical_checkpoint(special(up=up)), special(up=up))[0]
    up[0] = [1, -1, 2, -2, 3, -3, 0, 0]
    pair: list[Checkpoint] = [special(up=up)]
    pair.append(apply(Symmetry((LayerSymmetry(ups=np.array([-1.0, 1, 1, 1, 1])),)), pair[0]))
    forms = [canonical_checkpoint(each) for each in pair]
    assert distance(forms[0].checkpoint, forms[1].checkpoint) > 1
    assert forms[0].left == ("layer 0: signs, or turns, by which the cubes of a row add up to nothing",)
    assert not one_form(forms[0], pair[0])[0]


def test_no_one_form_is_said_of_signs_of_a_stream_that_cubes_do_not_tell() -> None:
    """With norms behind halves the stream has signs, which columns of the embedding tell."""
    one = small_checkpoint("gemma2", layers=1, seed=3)
    assert one_form(canonical_checkpoint(one), one)[0]
    embedding = np.array(one.outer.embedding)
    embedding[:, 2] = np.repeat([1.0, -1.0, 2.0, -2.0], 10)
    pair: list[Checkpoint] = [replace(one, outer=replace(one.outer, embedding=embedding))]
    signs = np.where(np.arange(16) == 2, -1.0, 1.0)
    pair.append(apply(Symmetry((LayerSymmetry(),), order=np.arange(16), signs=signs), pair[0]))
    forms = [canonical_checkpoint(each) for each in pair]
    assert distance(forms[0].checkpoint, forms[1].checkpoint) > 1
    for form, each in zip(forms, pair, strict=True):
        assert one_form(form, each)[0] is False
        assert "residual stream: signs" in form.left[0]


def test_no_one_form_is_said_of_equal_lengths_that_were_rounded() -> None:
    plane = np.kron(np.eye(2), [[1.0, 2.0], [2.0, -1.0]])
    value = np.hstack([plane, 2 * plane])[None]
    output = np.stack([np.pad(plane, ((0, 4), (0, 0))), 2 * np.pad(plane, ((4, 0), (0, 0)))])
    for seed in range(6):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 8)))[0]
        one = special(value=value @ turn, output=turn @ output)
        form = canonical_checkpoint(one)
        assert form.closest < 1e-15  # 0, or as products are rounded
        assert "as near as roundings" in one_form(form, one)[1]


@pytest.mark.parametrize(("width", "holds"), [(8, True), (6, False)])
def test_biases_of_values_of_which_outputs_see_a_part_have_no_one_form(width: int, *, holds: bool) -> None:
    sizes: dict[str, Any] = {"layers": 1, "heads": 2, "groups": 2, "inner": 5, "vocabulary": 12, "tied": False}
    one = small_checkpoint("qwen2", seed=1, config={"hidden_size": width, "head_dim": 4}, **sizes)
    said = one_form(canonical_checkpoint(one), one)
    assert (said[0], "of values without one of outputs" in said[1]) == (holds, not holds)


def test_what_has_no_form_is_left_and_named() -> None:
    few = small_checkpoint("llama", vocabulary=3, layers=1, tied=False)
    assert canonical_checkpoint(few).left == ("the residual stream: the rows of the embedding do not fill it",)
    one = small_checkpoint("llama", tied=False, **SMALL)
    block = one.block(0)
    blocks = (type(block)(**vars(block) | {"value": block.value * 0}),)
    flat = canonical_checkpoint(type(one)(one.form, one.ends(), blocks))
    assert flat.left == ("layer 0: values and outputs of its heads have not full rank",)
    assert compare_logits(flat.checkpoint.original, flat.checkpoint, [1, 2, 3]).bound < Fraction(1, 10**12)


def test_gains_of_too_many_digits_are_left_and_fractions_refused() -> None:
    one = small_checkpoint("llama", stored="F64", **SMALL)
    left = canonical_checkpoint(one, exact=True).left
    assert left[0] == "gains of the final norm, which times weights are no floats of 64 bits"
    assert left[1] == "layer 0: gains of norm 1, which times weights are no floats of 64 bits"
    thirds = apply(Symmetry((LayerSymmetry(ups=np.full(6, Fraction(1, 3), dtype=object)),)), one)
    with pytest.raises(BadInput, match=r"^an exact form must be made of floats of 64 bits, got fractions in 0\."):
        canonical_checkpoint(thirds, exact=True)


@settings(max_examples=50)
@given(st.fractions(Fraction(1, 10**7), 1, max_denominator=10**7), st.fractions(Fraction(1, 9), 9, max_denominator=60))
def test_epsilons_of_one_class_become_one(epsilon: Fraction, scale: Fraction) -> None:
    made = [each * scale_to_one(each) ** 2 for each in (epsilon, epsilon * scale**2)]
    assert made[0] == made[1]


def test_ordinary_epsilons_stay() -> None:
    assert {scale_to_one(Fraction(1, 10**power)) for power in (5, 6)} == {1}
    assert scale_to_one(Fraction(0)) == 1


def test_rows_in_order_though_they_begin_alike() -> None:
    rows = np.zeros((3, 40))
    rows[0, 39], rows[1, 38] = 1, 1
    assert ordered(rows).tolist() == [2, 0, 1]


def test_balanced_matrices() -> None:
    random = np.random.default_rng(0)
    rows, columns = random.standard_normal((3, 7)), random.standard_normal((8, 3))
    g = balanced(rows, columns)
    assert g is not None
    new, written = g @ rows, columns @ np.linalg.inv(g)
    assert np.allclose(new @ new.T, written.T @ written)
    assert np.allclose(new @ new.T, np.diag(np.diagonal(new @ new.T)))
    assert (np.diff(np.diagonal(new @ new.T)) < 0).all()
    assert ((new**3).sum(axis=1) > 0).all()
    assert balanced(rows, columns * [1, 1, 0]) is None
    assert balanced(rows[:, :2], columns) is None


def test_heads_whose_matrices_are_not_told_are_named() -> None:
    """One group of several, and queries of latents that are fewer than their rows: members of an orbit stay apart."""
    one = small_checkpoint("qwen3", layers=1, stored="BF16")
    output = np.array(one.blocks[0].output)
    output[: len(output) // 2] = 0
    latent = small_checkpoint(
        "deepseek_v3", layers=1, heads=2, config={"qk_nope_head_dim": 3, "q_lora_rank": 1, "kv_lora_rank": 4}
    )
    for had, what, kind in (
        (replace(one, blocks=(replace(one.blocks[0], output=output),)), "values and outputs", "values"),
        (latent, "queries and keys", "queries"),
    ):
        forms = [canonical_checkpoint(each) for each in (had, apply(random_symmetry(had, [kind], seed=1), had))]
        assert distance(forms[0].checkpoint, forms[1].checkpoint) > 0.1
        assert all(form.left == (f"layer 0: {what} of its heads have not full rank",) for form in forms)
