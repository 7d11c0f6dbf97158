"""Fingerprints of copies in disguise meet, those of changed weights are apart, and bounds hold what they must."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from changed_checkpoints import moved, places
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_transformer import logits

from lightning_sym import compare_fingerprints, fingerprint
from lightning_sym.checkpoints.bounded import Balls, Near, eigenvalues, gram, near, singular_values
from lightning_sym.checkpoints.fingerprint_comparison import can_be_matched
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.testing import small_checkpoint

FAMILIES = ("gpt2", "llama", "qwen2")


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(FAMILIES), st.integers(0, 10**6), st.booleans(), st.booleans(),
    st.lists(st.lists(st.sampled_from(KINDS), unique=True, min_size=1), min_size=1, max_size=2),
)  # fmt: skip
def test_copies_in_disguise_meet(family: str, seed: int, tied: bool, uniform: bool, kinds: list[list[str]]) -> None:
    one = small_checkpoint(family, seed % 5, stored="F16", tied=tied)
    if uniform:
        one = replace(one, outer=replace(one.outer, final_gain=np.full(one.form.width, 0.5)))
    two: Checkpoint = one
    for number, chosen in enumerate(kinds):
        two = apply(random_symmetry(two, chosen, seed + number), two)
    found = compare_fingerprints(fingerprint(one), fingerprint(two))
    assert not found.different, found
    assert found.distance is not None
    assert found.distance < 1e-11


def configured(one: MadeCheckpoint) -> MadeCheckpoint:
    """Untied, groups written out, a neuron more that writes nothing."""
    share = one.form.heads // one.form.groups
    width = one.form.width
    row = np.ones((1, width))
    blocks = []
    for block in one.blocks:
        parts: dict[str, Any] = {
            "up": np.concatenate([block.up, row]),
            "down": np.concatenate([block.down, 0 * row.T], 1),
        }
        if block.gate is not None:
            parts["gate"] = np.concatenate([block.gate, row])
        if block.up_bias is not None:
            parts["up_bias"] = np.append(block.up_bias, 3.0)
        for name in ("key", "value", "key_bias", "value_bias"):
            if (array := getattr(block, name)) is not None:
                parts[name] = np.repeat(array, share, axis=0)
        blocks.append(replace(block, **parts))
    form = replace(one.form, groups=one.form.heads, inner=one.form.inner + 1, tied=False)
    return MadeCheckpoint(form, replace(one.outer, unembedding=one.outer.embedding), tuple(blocks))


@pytest.mark.parametrize("family", FAMILIES)
def test_configurations_do_not_count(family: str) -> None:
    one = small_checkpoint(family, tied=True, stored="F64")
    two = configured(one)
    assert np.abs(logits(one, [1, 2, 3]) - logits(two, [1, 2, 3])).max() < 1e-12
    found = compare_fingerprints(fingerprint(one), fingerprint(two))
    assert not found.different, found


PIECES = ["query", "key", "value", "output", "up", "down", "norm1_gain", "norm2_gain"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("piece", [*PIECES, "gate", "query_bias", "key_bias", "value_bias", "up_bias", "down_bias"])
def test_a_changed_weight_is_apart_and_named(family: str, piece: str) -> None:
    one = small_checkpoint(family, stored="F64", tied=False)
    array = getattr(one.block(1), piece)
    invisible = array is None or (family == "gpt2" and piece == "key_bias")
    if array is None:
        return
    moved = array.copy()
    moved.flat[0] += 1e-6
    two = replace(one, blocks=(one.blocks[0], replace(one.blocks[1], **{piece: moved})))
    found = compare_fingerprints(fingerprint(one), fingerprint(two))
    assert found.different is not invisible
    assert all(place.startswith("layer 1,") for place in found.apart)


@pytest.mark.parametrize("piece", ["embedding", "positions", "final_gain", "final_bias", "unembedding"])
def test_changed_ends_are_apart(piece: str) -> None:
    one = small_checkpoint("gpt2", stored="F64", tied=False)
    moved = getattr(one.outer, piece).copy()
    moved.flat[0] += 1e-6
    two = replace(one, outer=replace(one.outer, **{piece: moved}))
    assert compare_fingerprints(fingerprint(one), fingerprint(two)).different


def test_a_rounded_copy_is_apart_by_little() -> None:
    one = small_checkpoint("llama", stored="F32")
    two = apply(random_symmetry(one, seed=1), one)

    def rounded(pieces: Any) -> Any:
        return replace(pieces, **{n: x.astype(np.float16).astype(np.float64) for n, x in pieces.present()})

    copy = MadeCheckpoint(two.form, rounded(two.ends()), tuple(rounded(two.block(i)) for i in range(2)))
    found = compare_fingerprints(fingerprint(one), fingerprint(copy))
    other = compare_fingerprints(fingerprint(one), fingerprint(small_checkpoint("llama", seed=1)))
    assert found.different
    assert other.different
    assert found.distance is not None
    assert other.distance is not None
    assert found.distance < 0.003 < 0.05 < other.distance


def test_other_networks_are_different() -> None:
    found = compare_fingerprints(*(fingerprint(small_checkpoint(name)) for name in ("gpt2", "llama")))
    assert found.different
    assert found.distance is None
    assert "norm layer and rms" in found.apart


def test_what_is_refused() -> None:
    one = small_checkpoint("llama")
    with pytest.raises(BadInput, match="epsilon of the norms must be positive"):
        fingerprint(replace(one, form=replace(one.form, epsilon=Fraction(0))))
    with pytest.raises(TooLarge, match="a fingerprint, beside the files, must fit"):
        fingerprint(one, memory=1000)
    with pytest.raises(BadInput, match="of a size up to 1e"):
        fingerprint(
            replace(
                one, blocks=(replace(one.blocks[0], query=one.blocks[0].query.astype(float) * 1e200), one.blocks[1])
            )
        )
    with pytest.raises(BadInput, match="different"):
        bool(compare_fingerprints(fingerprint(one), fingerprint(one)))


def held(found: Balls, exact: list[Any]) -> bool:
    return all(
        mpmath.mpf(float(low)) <= x <= mpmath.mpf(float(high))
        for low, high, x in zip(found.lower(), found.upper(), exact, strict=True)
    )


FLOATS_ALONE: list[bool] = []


@pytest.mark.parametrize("spread", [0, 3, 9])
@pytest.mark.parametrize("seed", range(4))
def test_singular_values_are_held(seed: int, spread: int) -> None:
    random = np.random.default_rng(seed)
    scale = 10.0 ** -random.integers(0, spread + 1, size=3)
    left, right = random.standard_normal((6, 3)) * scale, random.standard_normal((3, 5))
    found = singular_values(near(left), near(right))
    with mpmath.workdps(60):
        product = mpmath.matrix(left.tolist()) * mpmath.matrix(right.tolist())
        exact = sorted(
            (mpmath.sqrt(abs(x)) for x in mpmath.eigsy(product.T * product, eigvals_only=True)), reverse=True
        )
        assert held(found, exact[:3])
        FLOATS_ALONE.append(held(Balls(found.middle, 0 * found.radius + 1e-300), exact[:3]))
    assert found.radius.max() < 1e-13 * found.middle[0]
    gram = eigenvalues(near(right @ right.T))
    with mpmath.workdps(60):
        exact = sorted(mpmath.eigsy(mpmath.matrix((right @ right.T).tolist()), eigvals_only=True), reverse=True)
        assert held(gram, exact)


def test_floats_alone_do_not_hold_them() -> None:
    test_singular_values_are_held(0, 0)
    test_singular_values_are_held(2, 3)
    assert not all(FLOATS_ALONE)


def test_errors_of_the_factors_count() -> None:
    left, right = np.array([[3.0], [4.0]]), np.array([[2.0, 0.0]])
    plain = singular_values(near(left), near(right))
    off = singular_values(Near(left, np.asarray(0.1)), near(right))
    assert off.radius[0] >= plain.radius[0] + 0.2


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=4, max_size=4))
def test_matching_is_that_of_all_orders(rows: list[list[bool]]) -> None:
    from itertools import permutations

    fits = np.array(rows)
    assert can_be_matched(fits) == any(all(fits[i, p[i]] for i in range(4)) for p in permutations(range(4)))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_identical_is_said_of_equal_bytes_alone(family: str) -> None:
    one = small_checkpoint(family, layers=1, vocabulary=8, context=4, biases=True, stored="F16")
    mine = fingerprint(one)
    assert compare_fingerprints(mine, fingerprint(replace(one, name="copy"))).identical
    others = [moved(one, *place) for place in places(one, 1)]
    others.append(replace(one, form=replace(one.form, epsilon=one.form.epsilon * 2)))
    others.append(replace(one, outer=replace(one.outer, embedding=one.outer.embedding.astype(np.float64))))
    assert not any(compare_fingerprints(mine, fingerprint(other)).identical for other in others)


def test_a_longer_context_is_another_network_with_learned_positions_only() -> None:
    one = small_checkpoint("llama", layers=1)
    longer = replace(one, form=replace(one.form, context=2 * one.form.context))
    found = compare_fingerprints(fingerprint(one), fingerprint(longer))
    assert (found.different, found.identical) == (False, False)
    pair = (fingerprint(small_checkpoint("gpt2", layers=1, context=size)) for size in (8, 16))
    assert compare_fingerprints(*pair).different


def test_a_sum_of_squares_is_within_its_bound_and_counts_each_addition() -> None:
    random, worst = np.random.default_rng(0), Fraction(0)
    for _ in range(20):
        parts = [random.standard_normal((2, 3)) * 10.0 ** random.integers(-3, 3) for _ in range(6)]
        found = gram(map(near, parts))
        exactly = sum(part.T @ part for part in (np.vectorize(Fraction, otypes=[object])(each) for each in parts))
        off = sum(x**2 for x in (np.vectorize(Fraction, otypes=[object])(found.value) - exactly).ravel())
        assert off <= Fraction(float(found.error)) ** 2
        worst = max(worst, off / Fraction(float(found.error)) ** 2)
    assert worst > Fraction(1, 10**3)
    assert gram([near(parts[0])]).error == (near(parts[0]).mT @ near(parts[0])).error
