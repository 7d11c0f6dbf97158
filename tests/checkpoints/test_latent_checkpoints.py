"""Checkpoints whose heads read latents: small ones, forged rewritings, what is refused, and mistakes in disguise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded
from mistaken_conversions import in_layers
from plain_checkpoints import logits

from lightning_sym import (
    BadInput,
    apply,
    canonical_checkpoint,
    circuits,
    compare_fingerprints,
    fingerprint,
    open_checkpoint,
    same_checkpoints,
    save_checkpoint,
)
from lightning_sym.checkpoints.circuits import attention_part
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.errors import FileFormatError
from lightning_sym.testing import small_checkpoint

IDS = [3, 1, 4, 1, 5, 9]
NOTHING = LayerSymmetry()


def made(
    latent: int, asked: int | None, plain: int, values: int, turned: int, heads: int, seed: int = 0, **more: Any
) -> MadeCheckpoint:
    sizes: dict[str, Any] = {"kv_lora_rank": latent, "q_lora_rank": asked, "qk_nope_head_dim": plain}
    return small_checkpoint(
        "deepseek_v3", seed, layers=1, heads=heads, head_width=turned, inner=5, config=sizes | {"v_head_dim": values},
        **more,
    )  # fmt: skip


ONE = made(3, 4, 2, 3, 4, 2, stored="BF16")
SMALL = {
    "latents of one number": (1, 1, 1, 2, 4, 1), "one head, one frequency": (2, 2, 1, 1, 2, 2),
    "no latent queries": (2, None, 2, 3, 2, 3), "queries wider than values": (3, 4, 3, 1, 4, 2),
    "values wider than queries": (4, 3, 1, 4, 2, 4), "latents as wide as the stream": (8, 8, 2, 2, 4, 2),
}  # fmt: skip
"""Widths of latents of keys and of queries, of queries, of values and of turned rows, and heads."""


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("sizes", SMALL.values(), ids=SMALL)
def test_small_ones_are_found_again(sizes: tuple[Any, ...], *, tied: bool) -> None:
    one = made(*sizes, tied=tied, stored="BF16")
    two = apply(random_symmetry(one, seed=1), one)
    assert np.abs(logits(one, IDS) - logits(two, IDS)).max() < 1e-9
    found = same_checkpoints(one, two)
    assert (found.answer, found.residuals) == (CheckpointAnswer.SAME, ())
    assert found.symmetry is not None
    again = apply(found.symmetry, one).block(0)
    assert all(np.array_equal(getattr(again, name), array) for name, array in two.block(0).present())
    assert not compare_fingerprints(fingerprint(one), fingerprint(two)).different


def test_a_rotation_that_is_no_fraction_and_roundings_are_rounding() -> None:
    one = made(6, 5, 2, 3, 4, 4, stored="F32")
    random = np.random.default_rng(3)
    turns: dict[str, Any] = {
        name: np.linalg.qr(random.normal(size=(n, n)))[0] for name, n in (("latents", 6), ("query_latents", 5))
    }
    gains: dict[str, Any] = {"gain3": np.ones(6), "gain4": np.ones(5)}
    two = rounded(apply(Symmetry((LayerSymmetry(**turns, **gains),)), one, exact=False), "F32")
    found = same_checkpoints(one, two)
    assert found.answer is CheckpointAnswer.ROUNDING
    assert found.description is not None
    assert {"latent keys and values turned, fitted", "latent queries turned, fitted"} <= {*found.description.layers[0]}
    assert same_checkpoints(one, rounded(two, "BF16")).answer is CheckpointAnswer.ROUNDING


def test_latents_that_the_stream_does_not_fill_are_undecided_and_have_no_one_form() -> None:
    one = made(8, None, 1, 2, 2, 2, stored="BF16")
    two = apply(random_symmetry(one, seed=1), one)
    assert same_checkpoints(one, two, work=1e-9).answer is CheckpointAnswer.UNDECIDED
    assert any("latents: turns, as they are more than" in said for said in canonical_checkpoint(one).left)
    assert not canonical_checkpoint(one, exact=True).left
    assert not compare_fingerprints(fingerprint(one), fingerprint(two)).different


@pytest.mark.parametrize("exact", [False, True])
def test_members_of_an_orbit_have_one_form(*, exact: bool) -> None:
    one = made(6, 5, 2, 3, 4, 4, stored="F32")
    kinds = (
        ["heads", "neurons", "scale"] if exact else ["heads", "values", "queries", "neurons", "ups", "gains", "scale"]
    )
    orders: dict[str, Any] = {
        "latents": np.eye(6)[[2, 0, 1, 5, 4, 3]] * [1, -1, 1, -1, 1, 1],
        "query_latents": -np.eye(5)[::-1],
    }
    two = apply(random_symmetry(one, kinds, seed=2), apply(Symmetry((LayerSymmetry(**orders),)), one))
    first, second = (canonical_checkpoint(each, exact=exact) for each in (one, two))
    assert not first.left
    assert np.abs(logits(first.checkpoint, IDS) - logits(one, IDS)).max() < 1e-9
    for name, array in first.checkpoint.block(0).present():
        other = getattr(second.checkpoint.block(0), name)
        assert np.array_equal(array, other) if exact else np.allclose(array, other, rtol=0, atol=1e-8), name


def scaled(rows: Any, z: complex, k: int) -> Any:
    """Frequency `k` of rows `(n, t, d)` times a number."""
    half, found = rows.shape[1] // 2, np.array(rows, dtype=float)
    number = (rows[:, k] + 1j * rows[:, k + half]) * z
    found[:, k], found[:, k + half] = number.real, number.imag
    return found


SHEAR: Any = np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]])
FORGED: dict[str, Any] = {
    "a frequency of one head's queries, taken back in the key of all": lambda b: {
        "query_turned": np.concatenate([scaled(b.query_turned[:1], 2, 0), b.query_turned[1:]]),
        "key_turned": scaled(b.key_turned, 0.5, 0),
    },
    "a number over itself in place of its conjugate": lambda b: {
        "query_turned": scaled(b.query_turned, 1 + 2j, 1), "key_turned": scaled(b.key_turned, 1 / (1 + 2j), 1),
    },
    "two frequencies exchanged": lambda b: {
        name: getattr(b, name)[:, [1, 0, 3, 2]] for name in ("query_turned", "key_turned")
    },
    "a factor of latents, taken back behind their norm": lambda b: {
        "latent": 2 * b.latent, "key": b.key / 2, "value": b.value / 2,
    },
    "latents in another order in front of their gains alone": lambda b: {
        "latent": b.latent[::-1], "key": b.key[..., ::-1], "value": b.value[..., ::-1],
    },
    "latents sheared": lambda b: {
        name: getattr(b, name) @ np.linalg.inv(SHEAR) if name != "latent" else SHEAR @ b.latent
        for name in ("latent", "key", "value")
    },
    "values' rows of two heads mixed": lambda b: {"value": b.value[::-1], "output": b.output},
    "keys of the two heads exchanged": lambda b: {"key": b.key[::-1]},
    "a gain of the norm of queries' latents": lambda b: {"norm4_gain": b.norm4_gain * [2, 1, 1, 1]},
}  # fmt: skip


@pytest.mark.parametrize("which", FORGED)
def test_what_looks_like_a_symmetry_and_is_none_is_different(which: str) -> None:
    """Written by hand outside of the group; `same` says so, from either side and in disguise."""
    two = in_layers(ONE, FORGED[which])
    assert np.abs(logits(two, IDS) - logits(ONE, IDS)).max() > 1e-5
    hidden = apply(random_symmetry(two, seed=4), two)
    for pair in ((ONE, two), (two, ONE), (ONE, hidden)):
        found = same_checkpoints(*pair, ids=IDS, work=1e-9)
        assert found.answer is CheckpointAnswer.DIFFERENT


TURN = np.array([[3, -4, 0], [4, 3, 0], [0, 0, 5]], dtype=object) / Fraction(5)
REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"latents": 2 * np.eye(3)}, "a rotation must be orthogonal"),
    ({"latents": SHEAR, "gain3": np.ones(3)}, "a rotation must be orthogonal"),
    ({"latents": TURN}, "the rotation must not mix different gains of layer 0: norm 3; give the gain to be had by it"),
    ({"query_latents": np.eye(3)}, r"query_latents must have shape \(4, 4\)"),
    ({"gain3": np.zeros(3)}, "the gain of layer 0: norm 3 to be had must not be 0 anywhere"),
    ({"shared_turns": np.zeros((1, 2, 2))}, "shared_turns must not be 0, 0 for any frequency"),
    ({"shared_turns": np.ones((2, 2, 2))}, r"shared_turns must have shape \(1, 2, 2\)"),
    ({"turns": np.ones((2, 2, 2))}, "heads have their turned key in common here, and no biases; see shared_turns"),
    ({"key_bias": np.ones((2, 2))}, "heads have their turned key in common here, and no biases"),
    ({"value_bias": np.ones((2, 3))}, "heads have their turned key in common here, and no biases"),
    ({"values": np.ones((2, 2, 2))}, r"values must have shape \(2, 3, 3\)"),
)


@pytest.mark.parametrize(("parts", "said"), REFUSED)
def test_what_is_no_symmetry_is_refused_in_one_line(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        apply(Symmetry((LayerSymmetry(**parts),)), ONE).block(0)


def test_parts_of_latents_belong_to_latents() -> None:
    for one, parts, said in (
        (small_checkpoint("llama", layers=1), LayerSymmetry(latents=np.eye(3)), "has no latent keys and values"),
        (made(3, None, 2, 3, 4, 2), LayerSymmetry(query_latents=np.eye(3)), "this network has no latent queries"),
    ):
        with pytest.raises(BadInput, match=said):
            apply(Symmetry((parts,)), one)


FORMS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"norm": "layer"}, "not beside LayerNorm"),
    ({"head_norms": "head"}, "not beside gains on queries and keys"),
    ({"norms_behind": True}, "not beside norms behind attention and MLPs"),
    ({"groups": 1}, "or heads that share keys"),
    ({"theta": None}, "no rotary positions"),
    ({"rotary_width": 3}, "an odd number of turned rows"),
    ({"latent": None}, "not beside other keys and values"),
)


@pytest.mark.parametrize(("changes", "said"), FORMS)
def test_what_is_not_proved_beside_latents_is_refused_by_feature(changes: dict[str, Any], said: str) -> None:
    other = replace(ONE, form=replace(ONE.form, **changes))
    for ask in (lambda: same_checkpoints(ONE, other), lambda: fingerprint(other), lambda: circuits(other)):
        with pytest.raises(BadInput, match=said):
            ask()


CONFIGS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"first_k_dense_replace": 1}, "at least num_hidden_layers, 2, as experts beside shared ones are not read, got 1"),
    ({"first_k_dense_replace": None}, "as experts beside shared ones are not read, got 3"),
    ({"attention_bias": True}, "attention_bias must be false or absent"),
    ({"num_key_value_heads": 2}, "num_key_value_heads must be num_attention_heads with latent keys and values"),
    ({"rope_interleave": False}, "rope_interleave must be true or absent"),
    ({"qk_rope_head_dim": 3, "head_dim": 3}, "qk_rope_head_dim must be even for rotary positions"),
    ({"head_dim": 6}, "head_dim must be 4 or absent"),
    ({"qk_head_dim": 4}, "qk_head_dim must be 6 or absent"),
    (
        {"rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 16, "mscale": 1}},
        "mscale must be null or absent",
    ),
    ({"kv_lora_rank": 0}, "kv_lora_rank must be an integer between 1"),
)


@pytest.mark.parametrize(("changes", "said"), CONFIGS)
def test_configurations_that_mean_another_function_are_refused(changes: dict[str, Any], said: str) -> None:
    layers = 5 if changes == {"first_k_dense_replace": None} else 2
    one = small_checkpoint("deepseek_v3", layers=layers)
    family = FAMILIES["deepseek_v3"]
    stated = dict(family.write(one.form, frozenset()))
    assert family.read(Config(stated))[0] == one.form
    with pytest.raises(FileFormatError, match=said):
        family.read(Config(stated | changes))


def test_a_configuration_with_experts_is_refused_by_feature(tmp_path: Path) -> None:
    one = small_checkpoint("deepseek_v2")
    save_checkpoint(one, tmp_path)
    file = tmp_path / "config.json"
    file.write_text(file.read_text().replace('"first_k_dense_replace": 2', '"first_k_dense_replace": 0'))
    with pytest.raises(FileFormatError, match="as experts beside shared ones are not read, got 0"):
        open_checkpoint(tmp_path)


def test_the_norms_of_latents_have_an_epsilon_of_their_own() -> None:
    """The stream times two has four times the epsilon; that of latents stays, as what they read has its length."""
    two = apply(Symmetry((NOTHING,), scale=Fraction(2)), ONE)
    assert two.form.epsilon == 4 * ONE.form.epsilon
    assert np.abs(logits(two, IDS) - logits(ONE, IDS)).max() < 1e-12
    assert (two.block(0).latent == ONE.blocks[0].latent).all()  # type: ignore[union-attr]


def test_the_table_of_heads_reads_through_latents() -> None:
    """Ranks are those of the products with the map into latents; the theorems of attention alone do not know it."""
    one = made(1, None, 2, 3, 4, 2, stored="BF16")
    found = circuits(one)
    assert [(str(head.qk.rank), str(head.ov.rank)) for head in found.heads] == [("1", "1")] * 2
    assert found.conditions is None
    assert "latent keys and values" in found.absent
    with pytest.raises(BadInput, match="must read the stream alone, got latent keys and values"):
        attention_part(one)
    two = apply(random_symmetry(one, ["values", "queries", "gains", "stream"], seed=1), one)
    for head, other in zip(found.heads, circuits(two).heads, strict=True):
        assert abs(head.qk.frobenius[0] - other.qk.frobenius[0]) < 1e-9
        assert abs(head.ov.frobenius[0] - other.ov.frobenius[0]) < 1e-9
