"""A fingerprint as one line: it stays where the function stays, and a folder of them is searched by it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run

from lightning_sym import apply, fingerprint, open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.fingerprint_key import BEGINNING, CELLS, KEY, _near, key_of, scan, shared_parts
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

KNOWN = list(FAMILIES)
"""Those that have fingerprints; the others are refused by name."""


def model(family: str, seed: int = 0) -> MadeCheckpoint:
    return small_checkpoint(family, seed=seed, layers=4, head_width=8, inner=96, vocabulary=200)


def with_layer(one: MadeCheckpoint, layer: int, **pieces: Any) -> MadeCheckpoint:
    blocks = list(one.blocks)
    blocks[layer] = replace(blocks[layer], **pieces)
    return replace(one, blocks=tuple(blocks))


@pytest.mark.parametrize("family", KNOWN)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_same_for_a_rewriting(family: str, seed: int) -> None:
    one = model(family, seed)
    assert fingerprint(apply(random_symmetry(one, seed=seed), one)).key == fingerprint(one).key


@pytest.mark.parametrize("family", KNOWN)
@pytest.mark.parametrize("stored", ["BF16", "F16"])
def test_it_is_near_for_what_was_rounded(family: str, stored: Any, tmp_path: Path) -> None:
    one = model(family)
    save_checkpoint(one, tmp_path, stored=stored)
    assert shared_parts(fingerprint(one).key, fingerprint(open_checkpoint(tmp_path)).key) == 1


def test_other_models_are_far() -> None:
    keys = [fingerprint(model("llama", seed)).key for seed in range(4)]
    assert max(shared_parts(a, b) for i, a in enumerate(keys) for b in keys[:i]) < 0.5
    assert shared_parts(keys[0], fingerprint(small_checkpoint("llama")).key) == 0


def test_one_layer_that_differs_is_one_part() -> None:
    one = model("llama")
    key, changed = fingerprint(one).key, fingerprint(with_layer(one, 2, down=3 * one.block(2).down)).key
    assert shared_parts(key, changed) == pytest.approx(9 / 10)


def test_a_dead_layer_hides_nothing() -> None:
    one = model("llama")
    dead = with_layer(
        one, 1, output=0 * one.block(1).output, down=0 * one.block(1).down, gate=np.zeros_like(one.block(1).up)
    )
    key = fingerprint(with_layer(dead, 1, query=0 * one.block(1).query)).key
    assert key[-12:-8] == "----"
    assert shared_parts(key, fingerprint(one).key) == 1
    wrong = fingerprint(with_layer(one, 2, value=5 * one.block(2).value)).key
    assert shared_parts(key, wrong) < 1


def test_digits_are_near_over_the_end() -> None:
    near = {(a, b) for a in range(CELLS) for b in range(CELLS) if _near(f"{a:x}", f"{b:x}")}
    assert near == {(a, (a + step) % CELLS) for a in range(CELLS) for step in (-1, 0, 1)}


def test_it_is_no_other_number_on_another_machine() -> None:
    assert key_of((2, 8, 2, 4), [[np.array([3.0, 1.0, 2.0, 0.5])], [np.zeros(3)], []]) == "f1-2x8x2x4-20----"


@pytest.fixture
def folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    """The fingerprints of two models, and a thousand more, whose numbers are too many to be read."""
    for seed in (0, 1):
        save_checkpoint(model("llama", seed), tmp_path / f"model {seed}")
        _, told, _ = run(capsys, "circuits", str(tmp_path / f"model {seed}"), "--fingerprint", "--json")
        (tmp_path / f"{seed}.json").write_text(told, encoding="utf-8")
    key = "f1-4x32x4x8-" + "00" * 10
    for number in range(1000):
        begins = json.dumps({"schema": "lightning-sym/fingerprint/1", "checkpoint": f"{number}", "key": key})[:-1]
        (tmp_path / f"many {number}.json").write_text(f'{begins}, "numbers": {{ no JSON', encoding="utf-8")
    return tmp_path


def test_a_folder_of_a_thousand_is_searched_by_its_beginnings(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    code, told, _ = run(capsys, "circuits", str(folder / "model 1"), "--scan", str(folder), "--json")
    answer = json.loads(told)
    assert (code, answer["searched"]) == (3, 1002)
    assert answer["found"] == [{"file": "1.json", "checkpoint": str(folder / "model 1"), "share": 1.0}]
    assert KEY.fullmatch(answer["key"])
    (folder / "1.json").unlink()
    code, told, _ = run(capsys, "circuits", str(folder / "model 1"), "--scan", str(folder))
    assert (code, told.splitlines()[-1].split()) == (1, ["like", "none"])


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"key": "f1-4"}', '{"checkpoint": "x", "numbers": {}, "key": "f1-4x32x4x8-00"}', "\0" * BEGINNING],
)
def test_what_is_no_fingerprint_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"other\.json: it must be a fingerprint with a key"):
        scan("x", "f1-4x32x4x8-00", tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="fingerprints must be in a folder"):
        scan("x", "f1-4x32x4x8-00", tmp_path / "none")
    with pytest.raises(BadInput, match="a key must be of the form f1-"):
        shared_parts("f1-4x32x4x8-00", "f2")
