"""Random products of symmetries leave the logits alone; what is no symmetry is refused by name or changes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_transformer import logits

from lightning_sym.checkpoints import coded
from lightning_sym.checkpoints.exact_arrays import to_objects
from lightning_sym.checkpoints.model import Block, Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

TOKENS = [3, 1, 4, 1, 5]
FAMILIES = ("gpt2", "llama", "qwen2")


def small(family: str, seed: int = 0, *, tied: bool | None = None, uniform: bool = False) -> MadeCheckpoint:
    one = floats(small_checkpoint(family, seed, stored="F16", tied=tied))
    if not uniform:
        return one
    return replace(one, outer=replace(one.outer, final_gain=np.full(one.form.width, 0.5)))


def far(one: Checkpoint, two: Checkpoint) -> float:
    """The largest difference of logits, as a share of the largest of them."""
    first, second = (logits(c, TOKENS).astype(np.float64) for c in (one, two))
    return float(np.abs(first - second).max() / np.abs(first).max())


def floats(found: Checkpoint) -> MadeCheckpoint:
    """The nearest floats of 64 bits."""

    def rounded(pieces: Any) -> Any:
        return replace(pieces, **{name: array.astype(np.float64) for name, array in pieces.present()})

    blocks = tuple(rounded(found.block(i)) for i in range(found.form.layers))
    return MadeCheckpoint(found.form, rounded(found.ends()), blocks)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(FAMILIES), st.integers(0, 10**6), st.booleans(), st.booleans(),
    st.lists(st.lists(st.sampled_from(KINDS), unique=True, min_size=1), min_size=1, max_size=3),
)  # fmt: skip
def test_products_of_symmetries(family: str, seed: int, tied: bool, uniform: bool, kinds: list[list[str]]) -> None:
    one = small(family, seed % 7, tied=tied, uniform=uniform)
    two: Checkpoint = one
    for number, chosen in enumerate(kinds):
        symmetry = random_symmetry(two, chosen, seed + number)
        exact = apply(symmetry, two)
        rough = apply(symmetry, two, exact=False)
        for (_, first), (_, second) in zip(exact.block(0).present(), rough.block(0).present(), strict=True):
            np.testing.assert_allclose(second, first.astype(np.float64), rtol=1e-9, atol=1e-9)
        two = floats(exact)
    assert far(one, two) < 1e-9


def test_exact_numbers_are_exact() -> None:
    one = small("llama")
    gauge = np.array([[[1, 2, 0, 0], [0, 3, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]] * 2, dtype=object)
    two = apply(Symmetry((LayerSymmetry(values=gauge), LayerSymmetry())), one).block(0)
    old = one.block(0)
    for h in range(4):
        before = to_objects(old.output[h].astype(np.float64)) @ to_objects(old.value[h // 2].astype(np.float64))
        assert (to_objects(two.output[h]) @ to_objects(two.value[h // 2]) == before).all()
    assert two.output.dtype == object, "a third is no float"


def changed(checkpoint: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    """Another first block."""
    return replace(checkpoint, blocks=(replace(checkpoint.blocks[0], **pieces), *checkpoint.blocks[1:]))


def gauge_of(one: MadeCheckpoint, seed: int = 0) -> Any:
    form = one.form
    return np.random.default_rng(seed).standard_normal((form.groups, form.head_width, form.head_width))


def forgotten_bias(family: str) -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small(family)
    two = floats(apply(Symmetry((LayerSymmetry(values=gauge_of(one)), LayerSymmetry())), one, exact=False))
    return one, changed(two, value_bias=one.block(0).value_bias)


def turned_matrices(turns: Any) -> Any:
    """Numbers `x + iy` for each frequency as matrices in the rotate-half layout, `(G, a / 2, 2)` to `(G, a, a)`."""
    groups, half, _ = turns.shape
    found, k = np.zeros((groups, 2 * half, 2 * half)), np.arange(half)
    found[:, k, k] = found[:, k + half, k + half] = turns[..., 0]
    found[:, k, k + half], found[:, k + half, k] = -turns[..., 1], turns[..., 1]
    return found


def turned_keys(factor: Callable[[Any], Any]) -> tuple[MadeCheckpoint, MadeCheckpoint]:
    """Queries by a turn, keys by another one."""
    one = small("llama")
    turns = np.random.default_rng(1).standard_normal((2, 2, 2))
    query = np.repeat(turned_matrices(turns), 2, axis=0) @ one.block(0).query
    return one, changed(one, query=query, key=turned_matrices(factor(turns)) @ one.block(0).key)


def square(turns: Any) -> Any:
    return (turns**2).sum(axis=-1, keepdims=True)


def general_gauge_with_rotary_positions() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("llama")
    gauge = gauge_of(one)
    query = np.repeat(gauge, 2, axis=0) @ one.block(0).query
    return one, changed(one, query=query, key=np.linalg.inv(gauge).swapaxes(1, 2) @ one.block(0).key)


def interleaved() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("llama")
    turns = np.random.default_rng(1).standard_normal((2, 2, 2))
    order = np.array([0, 2, 1, 3])
    query, key = (turned_matrices(t)[:, order][:, :, order] for t in (turns, turns / square(turns)))
    block = one.block(0)
    return one, changed(one, query=np.repeat(query, 2, axis=0) @ block.query, key=key @ block.key)


def wrong_group() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("llama")
    order, block = np.array([0, 2, 1, 3]), one.block(0)
    return one, changed(one, query=block.query[order], output=block.output[:][order])


def kept_epsilon() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("llama")
    layers = (LayerSymmetry(), LayerSymmetry())
    two = floats(apply(Symmetry(layers, scale=Fraction(1, 8)), one))
    return one, replace(two, form=one.form)


def rotation_that_moves_ones() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("gpt2", tied=False)
    width = one.form.width
    layer = LayerSymmetry(gain1=np.ones(width), bias1=np.zeros(width), gain2=np.ones(width), bias2=np.zeros(width))
    v = np.zeros(width)
    v[:4] = 1
    turn = np.eye(width) - np.outer(v, v) / 2
    symmetry = Symmetry((layer, layer), rotation=turn, final_gain=np.ones(width))
    return one, floats(apply(symmetry, one, exact=False))  # floats are not asked


def scaled_gate(piece: str, family: str) -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small(family)
    block = one.block(0)
    return one, changed(one, **{piece: getattr(block, piece) * 2, "down": block.down / 2})


def shifted_readers_of_rms() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("llama")
    block = one.block(0)
    return one, changed(one, up=block.up + 1 / block.norm2_gain)


def other_key_bias() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("qwen2")
    return one, changed(one, key_bias=one.block(0).key_bias + 1)  # type: ignore[operator]


def other_query_bias() -> tuple[MadeCheckpoint, MadeCheckpoint]:
    one = small("gpt2")
    return one, changed(one, query_bias=one.block(0).query_bias + 1)  # type: ignore[operator]


FORBIDDEN: dict[str, Callable[[], tuple[MadeCheckpoint, MadeCheckpoint]]] = {
    "value bias forgotten, GPT-2": lambda: forgotten_bias("gpt2"),
    "value bias forgotten, Qwen2": lambda: forgotten_bias("qwen2"),
    "keys turned back": lambda: turned_keys(lambda t: t * [1, -1] / square(t)),
    "keys turned without the square": lambda: turned_keys(lambda t: t),
    "matrices with rotary positions": general_gauge_with_rotary_positions,
    "interleaved turns": interleaved,
    "query heads of another group": wrong_group,
    "epsilon kept": kept_epsilon,
    "ones moved": rotation_that_moves_ones,
    "gate scaled": lambda: scaled_gate("gate", "llama"),
    "up scaled without gate": lambda: scaled_gate("up", "gpt2"),
    "ones shift with RMSNorm": shifted_readers_of_rms,
    "key bias with rotary positions": other_key_bias,
    "query bias": other_query_bias,
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_forbidden_changes_the_function(name: str) -> None:
    one, two = FORBIDDEN[name]()
    assert far(one, two) > 1e-5


def test_the_same_changes_done_rightly_are_none() -> None:
    one, two = turned_keys(lambda t: t / square(t))
    assert far(one, two) < 1e-12
    one = small("gpt2")
    assert far(one, changed(one, key_bias=one.block(0).key_bias + 1)) < 1e-12  # type: ignore[operator]


E = np.ones
NONE = LayerSymmetry()
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("llama", {"queries": E((2, 4, 4))}, {}, "0.queries: with rotary positions queries and keys allow turns only"),
    ("gpt2", {"turns": E((4, 2, 2))}, {}, "0.turns: turns belong to rotary positions"),
    ("qwen2", {"key_bias": E((2, 4))}, {}, "0.key_bias: with rotary positions the function depends on key biases"),
    ("qwen2", {"value_bias": E((2, 4))}, {}, "outputs have no bias in this network that could take up"),
    ("llama", {"value_bias": E((2, 4))}, {}, "values have no bias"),
    ("gpt2", {"ups": E(24)}, {}, "0.ups: only the up map of a gated MLP"),
    ("llama", {"up_shift": E(24)}, {}, "shifts along the vector of ones need LayerNorm"),
    ("llama", {"bias1": E(16)}, {}, "RMSNorm has no bias"),
    ("gpt2", {"gate_shift": E(24)}, {}, "this MLP has no gate"),
    ("llama", {"heads": np.array([0, 2, 1, 3])}, {}, "heads must keep the heads of a group of keys together"),
    ("llama", {"heads": np.array([0, 1, 1, 3])}, {}, "heads must be a permutation of 0..3"),
    ("llama", {"values": np.zeros((2, 4, 4))}, {}, "invertible"),
    ("llama", {"values": E((4, 4))}, {}, "values must have shape"),
    ("llama", {"turns": np.zeros((2, 2, 2))}, {}, "turns must not be 0, 0"),
    ("llama", {"ups": np.zeros(24)}, {}, "ups must not be 0"),
    ("llama", {"gain1": np.zeros(16)}, {}, "must not be 0 anywhere"),
    ("gpt2", {}, {"final_gain": E(16)}, "tied"),
    ("gpt2", {}, {"moved": E(16)}, "tied"),
    ("gpt2", {}, {"embedding_shift": E(40)}, "the gains of the final norm must be equal"),
    ("llama", {}, {"positions_shift": E(16)}, "shifts along the vector of ones need LayerNorm"),
    ("gpt2", {}, {"signs": np.array([1, -1] * 8)}, "keep the vector of ones"),
    ("llama", {}, {"signs": np.array([2] * 16)}, "signs must be 1 or -1"),
    ("llama", {}, {"scale": Fraction(-1)}, "scale must be positive"),
    ("llama", {}, {"rotation": 2 * np.eye(16)}, "orthogonal"),
    ("llama", {}, {"rotation": np.eye(16), "signs": E(16)}, "got both"),
    ("llama", {}, {"rotation": np.eye(16) - E((16, 16)) / 8}, "must not mix different gains"),
    ("gpt2", {}, {"rotation": np.eye(16) - np.outer(*[np.eye(16)[0] * 2] * 2) / 2}, "keep the vector of ones"),
]


@pytest.mark.parametrize(("family", "layer", "parts", "message"), REFUSED, ids=[case[3][:40] for case in REFUSED])
def test_what_is_no_symmetry_is_refused(
    family: str, layer: dict[str, Any], parts: dict[str, Any], message: str
) -> None:
    one = small(family)
    symmetry = Symmetry((LayerSymmetry(**layer), NONE), **parts)
    with pytest.raises(BadInput, match=re.escape(message)) as caught:
        floats(apply(symmetry, one))
    assert "\n" not in str(caught.value)


def test_as_many_layers_as_the_network() -> None:
    with pytest.raises(BadInput, match="as many layers as the network, 2, got 1"):
        apply(Symmetry((NONE,)), small("llama"))


def test_blocks_are_made_when_they_are_asked_for() -> None:
    asked: list[int] = []

    class Watched(MadeCheckpoint):
        def block(self, layer: int) -> Block:
            asked.append(layer)
            return super().block(layer)

    one = small("llama")
    found = apply(Symmetry((NONE, NONE), scale=Fraction(2)), Watched(one.form, one.outer, one.blocks))
    assert not asked
    found.block(1)
    assert asked == [1]
    assert found.form.epsilon == 4 * one.form.epsilon
    assert found.called("1.query") == "1.query"
    assert found.stored("1.query") == "F64"


def test_rows_that_are_floats_beside_rows_that_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small_checkpoint("llama", layers=1)
    one = replace(one, outer=replace(one.outer, embedding=one.outer.embedding * (np.arange(40) > 0)[:, None]))
    symmetry = Symmetry((LayerSymmetry(),), scale=Fraction(1, 3))
    whole = apply(symmetry, one).ends().embedding
    monkeypatch.setattr(coded, "CHUNK", 1)
    found: Any = apply(symmetry, one).ends().embedding
    assert {type(entry) for entry in found.ravel()} == {Fraction}
    assert (found == whole).all()
