"""Logits of checkpoints in balls: against floats, against flint's own products, and wrong transformers found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import plain_checkpoints
import pytest

from lightning_sym.checkpoints import affine_factors, transformer
from lightning_sym.checkpoints.logits import compare_logits, logits
from lightning_sym.checkpoints.model import Block, CheckpointForm, MadeCheckpoint
from lightning_sym.checkpoints.transformer import last_stream, unembedding
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import precision
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.rings.protocol import normalized
from lightning_sym.testing.checkpoints import small_checkpoint

FAMILIES = ["gpt2", "llama", "mistral", "qwen2"]
PROMPTS = [[3, 1, 4, 1], [5], [9, 2, 6]]


def plain_logits(checkpoint: MadeCheckpoint, prompts: list[list[int]] = PROMPTS) -> Any:
    """In float64, prompt by prompt."""
    return np.concatenate([plain_checkpoints.logits(checkpoint, np.array(prompt)).T for prompt in prompts], axis=1)


class NoShortcut(BallMatrix):
    """Balls that multiply weights as flint does, and nothing of ours."""

    __slots__ = ()

    def after(self, weights: Any) -> BallMatrix:
        return BallMatrix.of(weights.astype(np.float64)) @ self


def slow_logits(checkpoint: MadeCheckpoint, prompts: list[list[int]], bits: int) -> BallMatrix:
    """The same forward pass over flint's own balls."""
    with precision(bits), pytest.MonkeyPatch.context() as patch:
        patch.setattr(BallMatrix, "after", NoShortcut.after)
        x = last_stream(checkpoint, prompts, BallMatrix.of([[1]]))
        rows = BallMatrix.of(unembedding(checkpoint.ends()).astype(np.float64))
        return BallMatrix(rows.flint * x.flint)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stored", ["F16", "BF16", "F32", "F64"])
def test_logits_are_those_of_floats(family: str, stored: Any) -> None:
    checkpoint = small_checkpoint(family, seed=1, stored=stored)
    found = logits(checkpoint, PROMPTS)
    assert found.shape == (40, 8)
    assert found.radius.max() < 1e-14
    assert np.abs(found.middle - plain_logits(checkpoint)).max() < 1e-12


@pytest.mark.parametrize("options", [
    {"family": "llama", "biases": True}, {"family": "llama", "tied": True, "groups": 1},
    {"family": "llama", "head_width": 6}, {"family": "qwen2", "tied": True, "groups": 4},
    {"family": "gpt2", "head_width": 3, "layers": 3}, {"family": "mistral", "heads": 3, "head_width": 2},
], ids=str)  # fmt: skip
def test_other_shapes(options: dict[str, Any]) -> None:
    """Among them widths of heads whose square root is irrational."""
    checkpoint = small_checkpoint(**options, seed=2)
    assert np.abs(logits(checkpoint, PROMPTS).middle - plain_logits(checkpoint)).max() < 1e-12


def test_gelu_is_the_one_with_the_normal_distribution() -> None:
    made = small_checkpoint("gpt2", seed=3)
    checkpoint = replace(made, form=replace(made.form, activation="gelu"))
    found, other = logits(checkpoint, PROMPTS).middle, logits(made, PROMPTS).middle
    assert np.abs(found - plain_logits(checkpoint)).max() < 1e-12
    assert np.abs(found - other).max() > 1e-6


def contains(balls: BallMatrix, fine: BallMatrix) -> bool:
    return all(a.contains(b.mid()) for a, b in zip(balls.flint.entries(), fine.flint.entries(), strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_all_balls_contain_the_value_to_many_digits(family: str) -> None:
    """Balls of floats, and of few bits, contain balls a thousand bits fine that know none of our products."""
    checkpoint = small_checkpoint(family, seed=4)
    fine = slow_logits(checkpoint, PROMPTS, 1000)
    assert (fine.accuracy() or 0) > 800
    for bits in (60, 100, 400):
        with precision(bits):
            x = last_stream(checkpoint, PROMPTS, BallMatrix.of([[1]]))
            found = x.after(unembedding(checkpoint.ends()))
        assert (found.accuracy() or 0) > bits - 45
        assert contains(found, fine)
    floats = last_stream(checkpoint, PROMPTS, MidpointRadius.of([[1]])).after(unembedding(checkpoint.ends()))
    assert floats.radius.max() < 1e-3
    assert contains(floats.balls(), fine)
    assert contains(logits(checkpoint, PROMPTS).balls(), fine)


def test_prompts_do_not_see_each_other() -> None:
    checkpoint = small_checkpoint("llama", seed=5)
    together = logits(checkpoint, PROMPTS).middle
    alone = np.concatenate([logits(checkpoint, prompt).middle for prompt in PROMPTS], axis=1)
    assert np.abs(together - alone).max() < 1e-13


def one_weight_moved(checkpoint: MadeCheckpoint, piece: str) -> MadeCheckpoint:
    """By one unit in the last place."""
    block = checkpoint.blocks[0]
    array = getattr(block, piece).copy()
    array.flat[0] = np.nextafter(array.flat[0], np.array(9, dtype=array.dtype))
    return replace(checkpoint, blocks=(replace(block, **{piece: array}), *checkpoint.blocks[1:]))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("stored", ["F32", "F64"])
def test_one_unit_in_the_last_place_is_seen(family: str, stored: Any) -> None:
    checkpoint = small_checkpoint(family, seed=6, stored=stored)
    for piece in ("down", "output", "query", "norm1_gain"):
        found = compare_logits(checkpoint, one_weight_moved(checkpoint, piece), PROMPTS)
        assert found.apart is not None
        assert not found.apart.first.meets(found.apart.second)
        assert 0 < found.bound < Fraction(1, 10**5 if stored == "F32" else 10**14)


def test_the_bound_and_the_place_are_those_of_floats() -> None:
    first, second = small_checkpoint("qwen2", seed=7), small_checkpoint("qwen2", seed=8)
    found = compare_logits(first, second, PROMPTS)
    change = np.abs(plain_logits(first) - plain_logits(second))
    assert change.max() <= float(found.bound) <= 1.11 * change.max()
    token, column = np.unravel_index(int(change.argmax()), change.shape)
    assert found.apart is not None
    assert found.apart.token == token
    assert (
        found.apart.prompt
        == ((3, 1, 4, 1)[: column + 1], (5,), (9, 2, 6)[: column - 4])[int(column > 3) + int(column > 4)]
    )
    assert abs(float(found.apart.first.midpoint) - plain_logits(first)[token, column]) < 0.1 * change.max()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_is_never_apart_from_itself(family: str) -> None:
    checkpoint = small_checkpoint(family, seed=9)
    found = compare_logits(checkpoint, checkpoint, PROMPTS)
    assert found.apart is None
    assert found.bound < Fraction(1, 2**90)


def test_a_known_symmetry_is_not_apart_and_a_wrong_one_is() -> None:
    """Keys times three and queries over three, as fractions. Without the queries: another function."""
    checkpoint = small_checkpoint("llama", seed=10)
    block = checkpoint.blocks[1]
    exactly = np.vectorize(lambda number: Fraction(float(number)), otypes=[object])
    wrong = replace(block, key=3 * exactly(block.key))
    right = replace(wrong, query=exactly(block.query) / 3)
    same, other = (replace(checkpoint, blocks=(checkpoint.blocks[0], each)) for each in (right, wrong))
    assert compare_logits(checkpoint, same, PROMPTS).apart is None
    assert compare_logits(checkpoint, other, PROMPTS).apart is not None


# ---- wrong transformers are found out by the comparisons above


def no_mask(original: Any) -> Callable[..., Any]:
    def every(scores: Any, normalization: Any, mask: Any) -> Any:
        return original(scores, normalization=normalization, mask=np.ones_like(mask))

    return every


class Interleaved(transformer.RotaryTables[BallMatrix]):
    """Rows 2k and 2k + 1 turn together."""

    @classmethod
    def of(
        cls, rotation: transformer.Rotation, width: int, turned: int, positions: Any, like: Any
    ) -> transformer.RotaryTables[BallMatrix]:
        right = ORIGINAL_ROTARY.of(rotation, width, turned, positions, like)
        order = np.eye(width, dtype=int)[[k // 2 + (k % 2) * (width // 2) for k in range(width)]].astype(object)
        p = like.like(order)
        return ORIGINAL_ROTARY(p @ right.cosines, p @ right.sines, p @ right.turn @ p.mT)


class Unscaled(transformer.Scaled[BallMatrix]):
    """Scores not divided."""

    def __matmul__(self, x: Any) -> Any:
        return self.part @ x


def first_group(block: Block, form: CheckpointForm, tokens: Any) -> Any:
    """All query heads read the first group."""
    one = replace(block, key=np.repeat(block.key[:1], form.groups, 0), value=np.repeat(block.value[:1], form.groups, 0))
    return ORIGINAL_HEADS(one, form, tokens)


def no_epsilon(number: Fraction, *rest: Any) -> Any:
    return ORIGINAL_EVERYWHERE(number if number > Fraction(1, 999) else Fraction(0), *rest)


ORIGINAL_HEADS, ORIGINAL_ROTARY, ORIGINAL_EVERYWHERE = (
    transformer.heads,
    transformer.RotaryTables,
    affine_factors.everywhere,
)
MUTANTS: dict[str, tuple[str, Any]] = {
    "no mask": ("normalized", no_mask(normalized)),
    "interleaved": ("RotaryTables", Interleaved),
    "not scaled": ("Scaled", Unscaled),
    "one group": ("heads", first_group),
    "no epsilon": ("everywhere", no_epsilon),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = small_checkpoint("llama", seed=11)
    monkeypatch.setattr(transformer, *MUTANTS[name])
    assert np.abs(logits(checkpoint, PROMPTS).middle - plain_logits(checkpoint)).max() > 1e-7
