"""Logits: what the forward pass does not know, bad token ids and limits are refused in one line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from lightning_sym.checkpoints import logits as logits_file
from lightning_sym.checkpoints.logits import Apart, LogitComparison, compare_logits, logits
from lightning_sym.checkpoints.model import Block, CheckpointForm, MadeCheckpoint
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.testing.checkpoints import small_checkpoint

PROMPTS = [[3, 1, 4, 1], [5], [9, 2, 6]]


@dataclass(frozen=True)
class WithDepth(CheckpointForm):
    """A form that the forward pass does not know."""

    depth: int = 4


@dataclass(frozen=True, eq=False)
class WithSinks(Block):
    """A piece that it does not know."""

    sinks: Any = None


def changed(checkpoint: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(checkpoint, blocks=(replace(checkpoint.blocks[0], **pieces), *checkpoint.blocks[1:]))


GOOD = small_checkpoint("llama")
BAD: dict[str, tuple[MadeCheckpoint, str]] = {
    "field": (replace(GOOD, form=WithDepth(**vars(GOOD.form))), "not known: depth"),
    "piece": (
        replace(GOOD, blocks=(WithSinks(**vars(GOOD.blocks[0]), sinks=np.ones(4)), GOOD.blocks[1])),
        "not known: sinks",
    ),
    "norm": (replace(GOOD, form=replace(GOOD.form, norm="batch")), "norm of a checkpoint must be layer or rms"),  # type: ignore[arg-type]
    "activation": (replace(GOOD, form=replace(GOOD.form, activation="elu")), "activation of a checkpoint must be"),  # type: ignore[arg-type]
    "shape": (changed(GOOD, norm1_gain=np.ones(1)), r"norm1_gain of layer 0 must have the shape \(16,\), got \(1,\)"),
    "gate": (changed(GOOD, gate=None, gate_bias=np.ones(24)), "missing is gate"),
    "ends": (replace(GOOD, outer=replace(GOOD.outer, positions=np.ones((16, 16)))), "another positions"),
    "infinity": (changed(GOOD, norm1_gain=np.full(16, np.inf)), "numbers must be finite"),
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


def test_limits_and_answers() -> None:
    with pytest.raises(TooLarge, match="logits of 2 tokens must fit"):
        logits(GOOD, [1, 2], memory=1000)
    with pytest.raises(ShapeError, match="one vocabulary for their logits to be compared, got 40 and 41"):
        compare_logits(GOOD, small_checkpoint("llama", vocabulary=41), [1])
    told: list[tuple[str, int, int]] = []
    found = compare_logits(GOOD, small_checkpoint("llama", seed=1), [1], progress=lambda *said: told.append(said))
    assert told[:2] == [("small llama: layers", 0, 2), ("small llama: layers", 1, 2)]
    assert isinstance(found, LogitComparison)
    assert isinstance(found.apart, Apart)
    with pytest.raises(BadInput, match="truth value of LogitComparison is not the answer"):
        bool(found)
    assert "\n" not in repr(found)
    assert str(found).splitlines()[0] == "token ids read            1"


def test_too_few_bits_are_seen_and_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = small_checkpoint("llama", layers=8)
    known = logits(deep, PROMPTS)
    monkeypatch.setattr(logits_file, "LAYER_BITS", 0)
    for bits, begun in ((40, 3), (120, 2)):  # radii above 1 on the way; radii too large at the end
        monkeypatch.setattr(logits_file, "SPARE_BITS", bits - logits_file.WANTED_BITS)
        monkeypatch.setattr(logits_file, "ATTEMPTS", 4)
        told: list[int] = []
        found = logits(deep, PROMPTS, progress=lambda _, layer, __, told=told: told.append(layer))  # type: ignore[misc]
        assert told.count(0) >= begun
        assert (found.middle == known.middle).all()
        monkeypatch.setattr(logits_file, "ATTEMPTS", 1)
        with pytest.raises(TooLarge, match=f"at most {bits} bits, and more are needed"):
            logits(deep, PROMPTS)
