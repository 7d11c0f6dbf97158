"""The command `degree`: answers, exit codes and documents."""

from __future__ import annotations

import json

import pytest
from command import run

from lightning_sym import Architecture, variety_degree

FIGURE_1 = ("degree", "--widths", "2,1", "--ranks", "2", "--tokens", "2")


def test_it_prints_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *FIGURE_1)
    assert (code, err) == (0, "")
    assert out == f"{variety_degree(Architecture((2, 1), (2,), 2))}\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *FIGURE_1, "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["degree"], document["source"], document["dimension"], document["reason"]) == (
        4,
        "product",
        5,
        None,
    )


def test_open_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("degree", "--widths", "3,3,1", "--ranks", "3", "--tokens", "2")
    code, out, err = run(capsys, *words)
    assert (code, err) == (3, "")
    assert "open" in out
    code, out, _ = run(capsys, *words, "--json")
    assert code == 3
    assert (json.loads(out)["degree"], json.loads(out)["source"]) == (None, "open")


def test_a_long_degree_is_one_number(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "degree", "--widths", "64,64", "--ranks", "64", "--tokens", "2", "--json")
    assert code == 0
    assert len(str(json.loads(out)["degree"])) == 2464


@pytest.mark.parametrize(
    "words",
    [
        ("--widths", "2,2", "--ranks", "1", "--tokens", "2", "--normalization", "softmax"),
        ("--widths", "1000000,2", "--ranks", "1", "--tokens", "2"),
        ("--widths", "12,11,10,9,8", "--ranks", "4", "--tokens", "1"),
        ("--widths", "2", "--ranks", "1", "--tokens", "2"),
        ("--widths", "2,0", "--ranks", "1", "--tokens", "2"),
        ("--widths", "2,2", "--ranks", "1"),
        ("--widths", "2,2", "--ranks", "1", "--tokens", "2", "--work", "nan"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "degree", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
