"""One form by exact steps: members of an orbit become equal number for number, ties are left and named."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs_of_checkpoints import distance

from lightning_sym import LayerSymmetry, Symmetry, apply, same_checkpoints
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.model import Block, Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

FAMILIES = ("gpt2", "llama", "qwen2", "qwen3", "olmo2", "mixtral", "qwen3_moe", "opt", "gemma2")
SMALL: dict[str, Any] = {"layers": 1, "vocabulary": 24, "inner": 6}


def short(family: str, *, seed: int = 0, **sizes: Any) -> MadeCheckpoint:
    """A checkpoint whose gains of norms in front, and rows of a router, are so short that products are floats."""
    one = small_checkpoint(family, seed=seed, **SMALL, **sizes)
    names = [name for name, _ in one.blocks[0].present() if name in ("norm1_gain", "norm2_gain", "router")]
    parts = {name: np.round(np.asarray(getattr(one.blocks[0], name)) * 64) / 64 for name in names}
    return replace(one, blocks=(replace(one.blocks[0], **parts),))


def in_sets(random: np.random.Generator, sets: int, count: int) -> Any:
    """An order in which sets, as many in each, stay together."""
    share = count // sets
    return np.concatenate([each * share + random.permutation(share) for each in random.permutation(sets)])


def exact_symmetry(checkpoint: Checkpoint, seed: int) -> Symmetry:
    """Orders, signs and powers of two in every part that may have them."""
    form, random = checkpoint.form, np.random.default_rng(seed)
    groups, a, share = form.groups, form.head_width, form.heads // form.groups

    def powers(*shape: int) -> Any:
        return random.choice([-1, 1], shape) * 2.0 ** random.integers(-3, 4, shape)

    def matrices() -> Any:
        return np.stack([np.diag(powers(a))[random.permutation(a)] for _ in range(groups)])

    layers = []
    for _ in range(form.layers):
        parts: dict[str, Any] = {"values": matrices(), "neurons": in_sets(random, form.experts or 1, form.inner)}
        parts["heads"] = in_sets(random, groups, form.heads)
        if form.scales_neurons:
            parts["ups"] = powers(form.inner) if form.has_gate else np.abs(powers(form.inner))
        if form.head_norms is not None:
            rows, name = (share, "row_factors") if form.head_norms == "width" else (1, "gain_factors")
            c = np.tile(2.0 ** random.integers(-3, 4, (groups if rows > 1 else 1, 1, a // 2)), 2)
            made = np.concatenate([*[c] * rows, 1 / c], axis=1)
            made = made * random.choice([-1, 1], made.shape)
            parts[name] = made if form.head_norms == "width" else made[0]
        elif form.theta is None:
            parts["queries"] = matrices()
        else:
            quarters = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])[random.integers(4, size=(groups, a // 2))]
            parts["turns"] = quarters * 2.0 ** random.integers(-3, 4, (groups, a // 2, 1))
        if form.norm == "rms" and not form.bare:
            parts |= {"gain1": powers(form.width), "gain2": powers(form.width)}
        if form.norms_behind:
            parts |= {name: random.choice([-1, 1], form.width) for name in ("behind1", "behind2")}
        if form.experts is not None:
            parts["router_shift"] = random.integers(-4, 5, form.width) / 4
        layers.append(LayerSymmetry(**parts))
    signs = random.choice([-1, 1], form.width) if form.norm == "rms" else np.full(form.width, -1)
    whole = {"order": random.permutation(form.width), "signs": signs, "scale": Fraction(3, 4)}
    return Symmetry(tuple(layers), **whole)  # type: ignore[arg-type]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_members_by_orders_signs_and_powers_have_one_form_number_for_number(family: str, tied: bool) -> None:
    one = short(family, tied=tied, biases="gemma" not in family)
    other = apply(exact_symmetry(one, 1), one)
    forms = [canonical_checkpoint(each, exact=True) for each in (one, other)]
    assert distance(one, other.original) == 0 < distance(one, apply(replaced_scale(exact_symmetry(one, 1)), one))
    assert distance(forms[0].checkpoint, forms[1].checkpoint) == 0
    assert all((form.exact, form.left) == (True, ()) for form in forms)
    assert same_checkpoints(one, forms[0].checkpoint).answer is CheckpointAnswer.SAME


def replaced_scale(symmetry: Symmetry) -> Symmetry:
    """The same without what changes the form."""
    return Symmetry(symmetry.layers, order=symmetry.order, signs=symmetry.signs)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(("olmo2", "mixtral", "qwen3_moe")), st.integers(0, 10**6), st.integers(0, 1))
def test_each_member_has_the_same_bytes(family: str, seed: int, member: int) -> None:
    one = short(family, tied=False, seed=seed % 7)
    other = apply(exact_symmetry(one, seed), one)
    forms = [canonical_checkpoint(each, exact=True) for each in (one, other)[:: 1 - 2 * member]]
    made = [[*each.checkpoint.ends().present(), *each.checkpoint.block(0).present()] for each in forms]
    assert made[0][0][1].tobytes() != one.ends().embedding.tobytes()
    assert [(name, array.tobytes()) for name, array in made[0]] == [(name, array.tobytes()) for name, array in made[1]]


def test_experts_with_one_score_keep_their_order_and_equal_ones_have_no_other() -> None:
    one = small_checkpoint("mixtral", tied=False, **SMALL)
    block = one.blocks[0]
    router = np.array(block.router)
    router[2] = router[1]
    equal = replace(one, blocks=(replace(block, router=router),))
    count = equal.form.inner // len(router)
    orders = [np.asarray(random_symmetry(equal, ["neurons", "ones"], seed).layers[0].neurons) for seed in range(8)]
    assert {tuple(order[::count] // count) for order in orders} == {tuple(range(len(router)))}
    assert len({tuple(order) for order in orders}) > 1
    forms = [
        canonical_checkpoint(apply(random_symmetry(equal, ["neurons"], seed), equal), exact=True) for seed in (0, 1)
    ]
    assert distance(forms[0].checkpoint, forms[1].checkpoint) == 0
    assert forms[0].left == ("layer 0: experts, in their order, as two have equal rows of the router",)
    swapped = np.arange(equal.form.inner).reshape(-1, count)[[0, 2, 1]].reshape(-1)
    with pytest.raises(BadInput, match="neurons must keep experts in their order"):
        apply(Symmetry((LayerSymmetry(neurons=swapped),)), equal).block(0)
    other = replace(equal, blocks=(replace(block, router=router, **neurons_moved(block, swapped)),))
    assert distance(canonical_checkpoint(other, exact=True).checkpoint, forms[0].checkpoint) > 0


def test_groups_with_equal_keys_and_values_are_told_by_their_heads() -> None:
    one = short("llama", tied=False)
    block, share = one.blocks[0], one.form.heads // one.form.groups
    twice = {name: np.stack([getattr(block, name)[0]] * one.form.groups) for name in ("key", "value")}
    equal = replace(one, blocks=(replace(block, **twice),))
    other = np.roll(np.arange(one.form.heads), share)
    pair: list[Checkpoint] = [equal, apply(Symmetry((LayerSymmetry(heads=other),)), equal)]
    forms = [canonical_checkpoint(each, exact=True) for each in pair]
    assert distance(forms[0].checkpoint, forms[1].checkpoint) == 0 < distance(*pair)
    assert forms[0].left == ()


def neurons_moved(block: Block, order: Any) -> dict[str, Any]:
    """What a layer has with its neurons in another order, its router as it was."""
    return {"gate": np.asarray(block.gate)[order], "up": block.up[order], "down": block.down[:, order]}


ZEROS: dict[str, tuple[str, Any]] = {
    "a row of values": ("value", np.s_[0, 1]),
    "a frequency of keys": ("key", np.s_[0, ::2]),
    "a row in front of a gate": ("up", np.s_[3]),
}


@pytest.mark.parametrize("what", ZEROS)
def test_what_exact_numbers_do_not_tell_is_left_and_named(what: str) -> None:
    name, place = ZEROS[what]
    one = small_checkpoint("llama", tied=False, **SMALL)
    array = np.array(getattr(one.blocks[0], name))
    array[place] = 0
    less = replace(one, blocks=(replace(one.blocks[0], **{name: array}),))
    said = "layer 0: signs, or orders, of rows that are zero, or equal up to what may be done to each"
    assert (canonical_checkpoint(one, exact=True).left, canonical_checkpoint(less, exact=True).left) == ((), (said,))
    rows = np.array(one.ends().embedding)
    rows[:, 3] = -rows[:, 5]
    twice = Edited.with_ends(one, replace(one.ends(), embedding=rows))
    assert canonical_checkpoint(twice, exact=True).left[0].startswith("the residual stream: signs, or orders")


@pytest.mark.parametrize(("name", "family"), [("behind1_gain", "gemma2"), ("query_norm_gain", "qwen3")])
def test_signs_of_rows_that_a_gain_of_zero_is_behind_are_left_and_named(name: str, family: str) -> None:
    one = short(family, tied=False)
    gains = np.array(getattr(one.blocks[0], name))
    gains[1] = 0
    less = replace(one, blocks=(replace(one.blocks[0], **{name: gains}),))
    for exact in (False, True):
        said = canonical_checkpoint(less, exact=exact).left
        assert "layer 0: signs of rows that a gain of 0 is behind" in said
        assert not any("gain of 0" in each for each in canonical_checkpoint(one, exact=exact).left)


@pytest.mark.parametrize("exact", [False, True])
def test_the_sign_of_a_stream_whose_rows_were_centred_is_left_and_named(*, exact: bool) -> None:
    one = short("gpt2", tied=True)
    rows = np.round(one.ends().embedding * 64) / 64
    rows[:, 0] -= rows.sum(axis=1)
    centred = replace(one, outer=replace(one.outer, embedding=rows))
    said = "the residual stream: its sign, as the rows of the embedding add up to 0"
    assert said in canonical_checkpoint(centred, exact=exact).left
    assert said not in canonical_checkpoint(one, exact=exact).left


def test_a_zero_has_no_sign_in_what_was_rewritten() -> None:
    one = short("qwen2", tied=False)
    block, rows = one.blocks[0], np.array(one.outer.embedding)
    rows[::2] = 0
    zeros = {name: 0 * getattr(block, name) for name in ("query_bias", "key_bias", "value_bias")}
    less = replace(one, outer=replace(one.outer, embedding=rows), blocks=(replace(block, **zeros),))
    for made in (apply(exact_symmetry(less, 3), less), canonical_checkpoint(less, exact=True).checkpoint):
        numbers = [array for found in (made.ends(), made.block(0)) for _, array in found.present()]
        assert not any(np.signbit(array[array == 0]).any() for array in numbers if array.dtype != object)
