"""Logits of checkpoints in balls: against floats, against flint's own products, and wrong transformers found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import plain_checkpoints
import pytest

from lightning_sym.checkpoints import logits as logits_file
from lightning_sym.checkpoints import transformer
from lightning_sym.checkpoints.logits import Apart, LogitComparison, compare_logits, logits
from lightning_sym.checkpoints.model import Block, CheckpointForm, MadeCheckpoint
from lightning_sym.checkpoints.transformer import last_stream, unembedding
from lightning_sym.errors import BadInput, ShapeError, TooLarge
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
        assert all(a.contains(b.mid()) for a, b in zip(found.flint.entries(), fine.flint.entries(), strict=True))
    floats = last_stream(checkpoint, PROMPTS, MidpointRadius.of([[1]])).after(unembedding(checkpoint.ends()))
    assert floats.radius.max() < 1e-3
    assert all(a.contains(b.mid()) for a, b in zip(floats.balls().flint.entries(), fine.flint.entries(), strict=True))
    assert all(a.contains(b.mid()) for a, b in zip(
        logits(checkpoint, PROMPTS).balls().flint.entries(), fine.flint.entries(), strict=True
    ))  # fmt: skip


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
    """Keys times two and queries by two: exact. Without the queries: another function."""
    checkpoint = small_checkpoint("llama", seed=10)
    block = checkpoint.blocks[1]
    right, wrong = replace(block, key=2 * block.key, query=block.query / 2), replace(block, key=2 * block.key)
    same, other = (replace(checkpoint, blocks=(checkpoint.blocks[0], each)) for each in (right, wrong))
    assert compare_logits(checkpoint, same, PROMPTS).apart is None
    assert compare_logits(checkpoint, other, PROMPTS).apart is not None


# ---- wrong transformers are found out by the comparisons above


def no_mask(original: Any) -> Callable[..., Any]:
    def every(scores: Any, normalization: Any, mask: Any) -> Any:
        return original(scores, normalization=normalization, mask=np.ones_like(mask))

    return every


class Interleaved(transformer.Rotary):
    """Rows 2k and 2k + 1 turn together."""

    @classmethod
    def of(cls, theta: Fraction, width: int, positions: Any, like: Any) -> transformer.Rotary:
        right = ORIGINAL_ROTARY.of(theta, width, positions, like)
        order = np.eye(width, dtype=int)[[k // 2 + (k % 2) * (width // 2) for k in range(width)]].astype(object)
        p = like.like(order)
        return ORIGINAL_ROTARY(p @ right.cosines, p @ right.sines, p @ right.turn @ p.mT)


class Unscaled(transformer.Scaled):
    """Scores not divided."""

    def __matmul__(self, x: Any) -> Any:
        return self.part @ x


def first_group(block: Block, form: CheckpointForm, tokens: Any) -> Any:
    """All query heads read the first group."""
    one = replace(block, key=np.repeat(block.key[:1], form.groups, 0), value=np.repeat(block.value[:1], form.groups, 0))
    return ORIGINAL_HEADS(one, form, tokens)


def no_epsilon(number: Fraction, *rest: Any) -> Any:
    return ORIGINAL_EVERYWHERE(number if number > Fraction(1, 999) else Fraction(0), *rest)


ORIGINAL_HEADS, ORIGINAL_ROTARY, ORIGINAL_EVERYWHERE = transformer.heads, transformer.Rotary, transformer.everywhere
MUTANTS: dict[str, tuple[str, Any]] = {
    "no mask": ("normalized", no_mask(normalized)),
    "interleaved": ("Rotary", Interleaved),
    "not scaled": ("Scaled", Unscaled),
    "one group": ("heads", first_group),
    "no epsilon": ("everywhere", no_epsilon),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = small_checkpoint("llama", seed=11)
    monkeypatch.setattr(transformer, *MUTANTS[name])
    assert np.abs(logits(checkpoint, PROMPTS).middle - plain_logits(checkpoint)).max() > 1e-7


# ---- what is refused, in one line


@dataclass(frozen=True)
class WithWindow(CheckpointForm):
    """A form that the forward pass does not know."""

    window: int = 4


@dataclass(frozen=True, eq=False)
class WithSinks(Block):
    """A piece that it does not know."""

    sinks: Any = None


def changed(checkpoint: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(checkpoint, blocks=(replace(checkpoint.blocks[0], **pieces), *checkpoint.blocks[1:]))


GOOD = small_checkpoint("llama")
BAD: dict[str, tuple[MadeCheckpoint, str]] = {
    "field": (replace(GOOD, form=WithWindow(**vars(GOOD.form))), "not known: window"),
    "piece": (replace(GOOD, blocks=(WithSinks(**vars(GOOD.blocks[0])), GOOD.blocks[1])), "not known: sinks"),
    "norm": (replace(GOOD, form=replace(GOOD.form, norm="batch")), "norm of a checkpoint must be layer or rms"),  # type: ignore[arg-type]
    "activation": (replace(GOOD, form=replace(GOOD.form, activation="relu")), "activation of a checkpoint must be"),  # type: ignore[arg-type]
    "shape": (changed(GOOD, norm1_gain=np.ones(1)), r"norm1_gain of layer 0 must have the shape \(16,\), got \(1,\)"),
    "gate": (changed(GOOD, gate=None, gate_bias=np.ones(24)), "must have a gate"),
    "ends": (replace(GOOD, outer=replace(GOOD.outer, positions=np.ones((16, 16)))), "another positions"),
    "NaN": (changed(GOOD, down=np.full((16, 24), np.nan)), "must be finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_understood_is_refused(name: str) -> None:
    checkpoint, message = BAD[name]
    with pytest.raises(BadInput, match=message):
        logits(checkpoint, [1, 2])


@pytest.mark.parametrize(
    ("ids", "message"),
    [([], "not empty"), ([[]], "not empty"), ([40], "at most 39"), ([-1], "at least 0"), ([1.0], "an integer"),
     ([True], "an integer"), ([[1], 2], "a prompt must be"), ([0] * 17, "at most 16 tokens"), ("12", "must be a list")],
)  # fmt: skip
def test_bad_token_ids_are_refused(ids: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        logits(GOOD, ids)
    with pytest.raises(BadInput, match=message):
        compare_logits(GOOD, GOOD, ids)


def test_limits_and_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge, match="logits of 2 tokens must fit"):
        logits(GOOD, [1, 2], memory=1000)
    with pytest.raises(ShapeError, match="one vocabulary for their logits to be compared, got 40 and 41"):
        compare_logits(GOOD, small_checkpoint("llama", vocabulary=41), [1])
    told: list[tuple[str, int, int]] = []
    found = compare_logits(GOOD, small_checkpoint("llama", seed=1), [1], progress=lambda *said: told.append(said))
    assert told[:2] == [("small llama: layers", 0, 2), ("small llama: layers", 1, 2)]
    assert isinstance(found, LogitComparison)
    assert isinstance(found.apart, Apart)
    for answer in (found, found.apart):
        with pytest.raises(BadInput, match="truth value"):
            bool(answer)
    assert "\n" not in repr(found)
    assert str(found).splitlines()[0] == "token ids read            1"
    monkeypatch.setattr(logits_file, "LAYER_BITS", 0)
    monkeypatch.setattr(logits_file, "WANTED_BITS", 60)  # too few at first, and then more
    assert logits(GOOD, PROMPTS).radius.max() < 1e-14
    monkeypatch.setattr(logits_file, "MOST_BITS", 50)
    with pytest.raises(TooLarge, match="at most 50 bits"):
        logits(GOOD, PROMPTS)
