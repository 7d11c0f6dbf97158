"""Signs of both rows of a frequency beside gains on queries and keys: which are symmetries, found and written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded
from plain_checkpoints import logits

from lightning_sym import LayerSymmetry, Symmetry, apply, same_checkpoints
from lightning_sym.checkpoints import layer_fit
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.fingerprint import fingerprint
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.nice_numbers import Ratio
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

IDS = np.array([7, 17, 27, 37, 3, 11])
FAMILIES = ["qwen3", "gemma3_text", "olmo2"]


def in_first_layer(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(one, blocks=(replace(one.blocks[0], **pieces), *one.blocks[1:]))


def gains(one: MadeCheckpoint) -> dict[str, Any]:
    return {name: gain for name, gain in one.blocks[0].present() if name.endswith(("_norm_gain", "_row_gain"))}


def apart(one: MadeCheckpoint, other: MadeCheckpoint) -> float:
    return float(np.abs(logits(one, IDS) - logits(other, IDS)).max())


@pytest.mark.parametrize("family", FAMILIES)
def test_gains_that_both_change_signs_need_no_rows_that_do(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, with factors, or those of one frequency; sides of one frequency apart are another function."""
    one = small_checkpoint(family, 3)
    (query, q), (key, k) = gains(one).items()
    pair, row = np.ones(q.shape[-1], dtype=np.float32), np.ones(q.shape[-1], dtype=np.float32)
    pair[[0, len(pair) // 2]] = row[0] = -1
    asked = {
        "all": ({query: -q, key: -k}, CheckpointAnswer.SAME),
        "factors": ({query: -2 * q, key: -k / 2}, CheckpointAnswer.SAME),
        "fractions": ({query: -q * np.float32(1.5), key: -k / np.float32(1.5)}, CheckpointAnswer.ROUNDING),
        "one frequency": ({query: q * pair, key: k * pair}, None),
        "one row": ({query: q * row, key: k * row}, CheckpointAnswer.DIFFERENT),
        "one side": ({query: -q}, CheckpointAnswer.DIFFERENT),
    }
    for name, (pieces, answer) in asked.items():
        two = in_first_layer(one, **pieces)
        found = same_checkpoints(one, two)
        assert answer in (None, found.answer), name
        right = found.answer in (CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING)
        assert right is (apart(one, two) < 1e-5), name
        if found.answer is CheckpointAnswer.SAME:
            assert found.symmetry is not None
            made, wanted = apply(found.symmetry, one).block(0), two.blocks[0]
            assert all(np.array_equal(array, getattr(wanted, piece)) for piece, array in made.present()), name
    none = Ratio(np.array([[[1, 0]]], dtype=object), 1)
    monkeypatch.setattr(layer_fit, "_signs_of_frequencies", lambda *_: none)
    assert same_checkpoints(one, in_first_layer(one, **asked["all"][0])).answer is CheckpointAnswer.UNDECIDED


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_one_group_change_signs_alone(family: str) -> None:
    """Found, of one canonical form and one fingerprint; a quarter turn, which exchanges gains, is refused by name."""
    one = small_checkpoint(family, 3, biases=True)
    signs = np.zeros((one.form.groups, one.form.head_width // 2, 2))
    signs[..., 0] = 1
    signs[0, 1, 0] = -1
    layers = (LayerSymmetry(turns=signs), *[LayerSymmetry()] * (one.form.layers - 1))
    two = rounded(apply(Symmetry(layers), one), "F64")
    assert not np.array_equal(one.blocks[0].key, two.blocks[0].key)
    assert apart(one, two) < 1e-12
    found = same_checkpoints(one, two)
    assert found.answer is CheckpointAnswer.SAME
    assert found.symmetry is not None
    assert found.symmetry.parts() == ("0.turns",)
    for exact in (True, False):
        first, second = (canonical_checkpoint(each, exact=exact).checkpoint.block(0) for each in (one, two))
        assert all(np.allclose(array, getattr(second, name), atol=1e-12) for name, array in first.present())
    assert fingerprint(one).key == fingerprint(two).key
    signs[0, 1] = 0, 1
    with pytest.raises(BadInput, match="turns must be 1, 0 or -1, 0 where queries and keys have gains"):
        apply(Symmetry(layers), one)


def test_features_that_nothing_is_proved_of_together_are_refused() -> None:
    """Factors of gains that two turned rows have apart, and a bias that norms behind see, move logits."""
    one, other = small_checkpoint("qwen3", 3, layers=1), small_checkpoint("gemma3_text", 3, layers=1, biases=True)
    ends, wide = other.blocks[0], np.linspace(-1, 1, other.form.width)
    beside = replace(other, blocks=(replace(ends, down_bias=wide),), form=replace(other.form, parallel=True))
    half, doubled = replace(one, form=replace(one.form, rotary_width=2)), np.array([2.0, 1, 2, 1])
    (query, q), (key, k) = gains(one).items()
    asked: tuple[tuple[MadeCheckpoint, dict[str, Any], str], ...] = (
        (half, {query: q * doubled, key: k / doubled}, "must stand where rotary positions turn all rows"),
        (
            beside,
            {"output_bias": np.asarray(ends.output_bias) + wide, "down_bias": 0 * wide},
            "beside attention and MLP",
        ),
        (replace(other, form=replace(other.form, norm="layer")), {}, "not beside LayerNorm"),
        (replace(one, form=replace(one.form, bare=True, norm="layer")), {}, "or none in front, must .* not beside Lay"),
    )
    for had, pieces, said in asked:
        two = in_first_layer(had, **pieces)
        assert not pieces or apart(had, two) > 0.01
        with pytest.raises(BadInput, match=said):
            same_checkpoints(had, two)
