"""`same` on checkpoints: what it says, what it exits with, what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command import run

from lightning_sym import open_checkpoint, same_checkpoints

ROOT = Path(__file__).parents[2]
FOLDER = "examples/checkpoints"


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("second", "answer", "code", "exact_code"),
    [
        ("rewritten", "same", 0, 0),
        ("rounded", "rounding", 0, 1),
        ("one_unit", "rounding", 0, 1),
        ("forgotten_bias", "different", 1, 1),
    ],
)
def test_exit_codes(capsys: pytest.CaptureFixture[str], second: str, answer: str, code: int, exact_code: int) -> None:
    words = ("same", f"{FOLDER}/model", f"{FOLDER}/{second}", "--ids", "1,2", "--json")
    found, out, _ = run(capsys, *words)
    assert (found, json.loads(out)["answer"]) == (code, answer)
    assert run(capsys, *words, "--exact")[0] == exact_code


def test_an_epsilon_in_float32_is_rounded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copytree(f"{FOLDER}/model", tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("0.00001", "9.999999747378752e-06"))
    words = ("same", f"{FOLDER}/model", str(tmp_path / "model"))
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "answer      rounding" in out
    assert "stream      as it is\nlayer 0-1   nothing\n" in out
    assert "epsilon of the norms (epsilon): 0.278 units of F32\n" in out
    assert run(capsys, *words, "--exact")[0] == 1


def test_the_text_is_that_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    pair = f"{FOLDER}/model", f"{FOLDER}/forgotten_bias"
    _, out, _ = run(capsys, "same", *pair, "--ids", "1,2")
    assert out == f"{same_checkpoints(*map(open_checkpoint, pair), ids=[1, 2])}\n"
    assert "model.layers.1.self_attn.v_proj.bias (1.value_bias)" in out


def test_where_one_unit_is(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "same", f"{FOLDER}/model", f"{FOLDER}/one_unit", "--ids", "3", "--json")
    (off,) = json.loads(out)["residuals"]
    assert (off["tensor"], off["entry"], off["differing"]) == ("model.layers.0.mlp.up_proj.weight", [5, 3], 1)
    assert off["difference"] == 2**-24  # one unit of the entry, where roundings of the first reach it too
    assert 0.5 < off["units"] <= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((f"{FOLDER}/model", "nowhere"), "nowhere: there is no such file or folder"),
        (("none", "nowhere"), "error: none: there is no such file or folder\n"),
        (("examples/generic.json", "/no/such"), "error: /no/such: there is no such file or folder\n"),
        ((f"{FOLDER}/model", "examples/generic.json"), "both must be files of weights, or both checkpoints"),
        ((f"{FOLDER}/model", f"{FOLDER}/model", "--tokens", "3"), "--tokens must go with two files of weights"),
        (("examples/generic.json", "examples/generic.json", "--ids", "1"), "--ids must go with two checkpoints"),
        ((f"{FOLDER}/model", f"{FOLDER}/model", "--ids", "99"), "a token id must be an integer of at least 0"),
        ((f"{FOLDER}/model", f"{FOLDER}/model", "--ids", "x"), "must be token ids, integers of at least 0"),
        (
            (f"{FOLDER}/model", f"{FOLDER}/model", "--units", "nan"),
            "--units': must be 0 or a positive number of units, got 'nan'",
        ),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    code, out, err = run(capsys, "same", *words)
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") <= 4
