"""`explain-rewriting`: each step is a symmetry, together they end at the second checkpoint, and mistakes are told."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command import run

from lightning_cli.writing import rewriting_steps
from lightning_cli.writing.rewriting_steps import PARTS, told_rewriting
from lightning_sym import LayerSymmetry, Symmetry, same_checkpoints
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import kinds
from lightning_sym.errors import ProgramError, TooLarge
from lightning_sym.testing import small_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples" / "checkpoints"
MODEL = str(EXAMPLES / "model")


@pytest.mark.parametrize("family", ["gpt2", "qwen2", "gemma2"])
def test_the_steps_end_at_the_second(family: str) -> None:
    """Whatever a symmetry has: what the steps make is compared with the second, number by number."""
    one = small_checkpoint(family, biases=family == "qwen2", layers=1)
    two = apply(random_symmetry(one, seed=3), one)
    found = same_checkpoints(one, two)
    assert found.answer.value == "same"
    told = told_rewriting(one, two, found)
    assert len(told.steps) > 4
    assert told.steps[-1].prose.endswith("exactly: both give the same logits.")
    for step in told.steps[:-1]:
        before, after = (np.array(shown.value.rows) for shown in step.shown)  # type: ignore[union-attr]
        assert before.shape == after.shape
        assert step.answer[0][0] == "moves"


def test_the_numbers_are_those_of_the_files() -> None:
    one = small_checkpoint("llama")
    two = apply(Symmetry((LayerSymmetry(heads=np.array([1, 0, 2, 3])), LayerSymmetry())), one)
    told = told_rewriting(one, two, same_checkpoints(one, two))
    assert [step.heading for step in told.steps] == ["Heads change places", "And that is the second"]
    pair: tuple[Checkpoint, Checkpoint] = (one, two)
    for shown, checkpoint in zip(told.steps[0].shown, pair, strict=True):
        rows = shown.value.rows  # type: ignore[union-attr]
        first = checkpoint.block(0).query[0][: len(rows), : len(rows)]
        assert [list(row) for row in rows] == [[Fraction(float(x)) for x in row] for row in first]


def test_another_second_is_an_error() -> None:
    """The last step is no claim: where the steps end elsewhere, nothing is told."""
    one = small_checkpoint("llama")
    two = apply(Symmetry((LayerSymmetry(ups=np.full(24, 2.0)), LayerSymmetry())), one)
    found = same_checkpoints(one, two)
    wrong = replace(found, symmetry=Symmetry((LayerSymmetry(), LayerSymmetry(ups=np.full(24, 2.0)))))
    with pytest.raises(ProgramError, match=r"must end at the second checkpoint, other is 0\.up"):
        told_rewriting(one, two, wrong)


def test_every_part_of_a_symmetry_has_a_step() -> None:
    named = [name for part in PARTS for name in part.names]
    assert sorted(named) == sorted([*kinds(Symmetry), *kinds(LayerSymmetry), "groups", "tied"])


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting_steps, "MOST_NUMBERS", 100)
    one = small_checkpoint("llama")
    with pytest.raises(TooLarge, match="at most 100 numbers"):
        told_rewriting(one, one, same_checkpoints(one, one))


@pytest.mark.parametrize(
    ("second", "code", "said"),
    [
        ("rewritten", 0, "exactly: both give the same logits."),
        ("rounded", 0, "up to rounding of its tensors."),
        ("forgotten_bias", 1, "The mistake: bias-not-turned"),
        ("model", 0, "in no step at all"),
    ],
)
def test_the_command(capsys: pytest.CaptureFixture[str], second: str, code: int, said: str) -> None:
    found, out, err = run(capsys, "explain-rewriting", MODEL, str(EXAMPLES / second))
    assert (found, err) == (code, "")
    assert said in " ".join(out.split())


def test_other_forms(capsys: pytest.CaptureFixture[str]) -> None:
    pair = MODEL, str(EXAMPLES / "forgotten_bias")
    code, out, _ = run(capsys, "explain-rewriting", *pair, "--json")
    told = json.loads(out)
    assert (code, told["answer"], told["explained"][0]["mistake"]) == (1, "different", "bias-not-turned")
    code, out, _ = run(capsys, "explain-rewriting", MODEL, str(EXAMPLES / "rewritten"), "--html")
    assert (code, out.count("<section>")) == (0, 8)
    assert "http" not in out.replace("http://www.w3.org", "")
    code, _, err = run(capsys, "explain-rewriting", *pair, "--html", "--json")
    assert (code, err) == (2, "error: give one of --html, --json, not both\n")
