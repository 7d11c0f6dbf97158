"""Large layers are compared some heads and some neurons at a time: answers are those of whole layers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym import apply, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints import layer_parts, matching, stream_fit
from lightning_sym.checkpoints.coded import Coded
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import Block, Checkpoint, Ends, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.searched import Searched
from lightning_sym.limits import unheard
from lightning_sym.testing import small_checkpoint


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask for comparisons in parts of one group, or of two neurons, and few rows of ends."""

    def ask() -> None:
        monkeypatch.setattr(layer_parts, "PART", 100)
        monkeypatch.setattr(stream_fit, "NUMBERS", 150)
        monkeypatch.setattr(matching, "PAIRS", 0)

    return ask


def spoiled(one: Checkpoint, piece: str, place: tuple[int, ...]) -> MadeCheckpoint:
    """A checkpoint with another number in a piece of its last layer."""
    last = one.form.layers - 1
    blocks = [one.block(layer) for layer in range(last + 1)]
    array = np.array(getattr(blocks[last], piece))
    array[place] += Fraction(1, 2)
    blocks[last] = replace(blocks[last], **{piece: array})
    return MadeCheckpoint(one.form, one.ends(), tuple(blocks), "spoiled", "F64")


def searched(one: Checkpoint, two: Checkpoint) -> tuple[Any, ...]:
    """What the search says of two checkpoints."""
    found = Searched(one, two, 4.0, unheard)
    found.compare()
    told = [(each.piece, each.entry, each.differing, round(each.units, 6)) for each in found.residuals_in_order()]
    return found.exact, found.equal, found.fitted, found.words, told, found.why_not


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_say_what_whole_layers_say(in_parts: Any, family: str) -> None:
    one = small_checkpoint(family, seed=2, layers=1, stored="F64")
    other = apply(
        random_symmetry(one, ("heads", "values", "queries", "biases", "neurons", "ups", "stream"), seed=5), one
    )
    pairs: list[Checkpoint] = [other, spoiled(other, "down", (3, -2)), spoiled(other, "output", (-1, 2, 1))]
    whole = [searched(one, two) for two in pairs]
    in_parts()
    assert [searched(one, two) for two in pairs] == whole
    assert [each[4][0][:2] for each in whole[1:]] == [("0.down", (3, 22)), ("0.output", (2, 13))]
    assert whole[0][:2] == (True, True)
    assert len(layer_parts.cuts_of(one.block(0), one.form)) > 4


def test_bfloat16_is_looked_at_as_it_lies(tmp_path: Path, in_parts: Any) -> None:
    one = small_checkpoint("llama", layers=1, tied=False)
    save_checkpoint(one, tmp_path / "one", "BF16")
    swapped = apply(random_symmetry(one, kinds=["heads", "neurons"]), one)
    save_checkpoint(swapped, tmp_path / "two", "BF16")
    pair = [open_checkpoint(tmp_path / name) for name in ("one", "two")]
    block, ends = pair[0].coded(0), pair[0].coded(None)
    assert isinstance(block, Block)
    assert isinstance(block.up, Coded)
    assert isinstance(ends, Ends)
    assert isinstance(ends.embedding, Coded)
    in_parts()
    found = same_checkpoints(*pair)
    assert (found.answer.value, found.symmetry is not None) == ("same", True)
