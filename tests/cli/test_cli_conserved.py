"""`lightning-sym conserved`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_sym import Architecture, conserved_quantities

ROOT = Path(__file__).parents[2]


def test_the_command_prints_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "conserved", "--widths", "3,3,3", "--ranks", "2", "--tokens", "2")
    assert code == 0
    assert out == str(conserved_quantities(Architecture((3, 3, 3), (2, 2), 2))) + "\n"


def test_undecided_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ("--widths", "2,2", "--ranks", "1", "--tokens", "1", "--normalization", "softmax", "--skip")
    code, out, _ = run(capsys, "conserved", *shape, "--unembed", "2", "--json")
    found = json.loads(out)
    assert (code, found["count"], found["status"]) == (3, None, "undecided")
    assert found["lower"] < found["upper"]


def test_values_at_weights(capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(ROOT / "examples" / "generic.json")
    code, out, _ = run(capsys, "conserved", "--weights", weights, "--tokens", "2")
    assert code == 0
    assert "Q_1 Q_1^T - K_1 K_1^T = 4 1; 1 -1\n|Q_1|^2 - |V_1|^2 = -9\n" in out
    code, out, _ = run(
        capsys, "conserved", "--weights", weights, "--tokens", "2", "--normalization", "softmax", "--json"
    )
    assert code == 0
    assert [q["value"] for q in json.loads(out)["quantities"]] == [[["4", "1"], ["1", "-1"]]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--widths", "2,1", "--tokens", "2"), "give --widths and --ranks, or --weights FILE"),
        (("--weights", "nowhere.json", "--tokens", "2"), "nowhere.json"),
        (("--weights", "w.json", "--heads", "2", "--tokens", "2"), "leave out --heads"),
        (("--widths", "2,x", "--ranks", "1", "--tokens", "2"), "'x'"),
        (("--widths", "2,3", "--ranks", "1", "--tokens", "2", "--skip"), "equal widths"),
        (("--widths", "2,3", "--ranks", "1", "--tokens", "99999999"), "GiB"),
        (("--widths", "2,3", "--ranks", "1", "--tokens", "2", "--memory", "nan"), "--memory"),
    ],
)
def test_bad_input_gets_one_line(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "conserved", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
