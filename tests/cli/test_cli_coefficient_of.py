"""`lightning-sym coefficient` of polynomials, and of models by their sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_sym import linear_attention_coefficient, polynomial_coefficient


def test_polynomials_as_text_and_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "coefficient", "--of", "x*y, x^2")
    assert (code, out) == (0, str(polynomial_coefficient("x*y, x^2")) + "\n")
    path = tmp_path / "ideal.txt"
    path.write_text("x*y\nx^2\n", encoding="utf-8")
    assert run(capsys, "coefficient", "--of", str(path)) == (code, out, "")


def test_json_has_fractions_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "coefficient", "--linear-attention", "2,6", "--json")
    found = json.loads(out)
    assert code == 0
    assert [found[key] for key in ("lambda", "multiplicity", "lower", "upper", "certified")] == [
        "11/6",
        1,
        "11/6",
        "11/6",
        True,
    ]
    code, out, _ = run(capsys, "coefficient", "--linear-attention", "4,8", "--teacher", "1", "--json")
    found = json.loads(out)
    assert code == 3
    assert [found[key] for key in ("lambda", "multiplicity", "lower", "upper", "certified")] == [
        None,
        None,
        "47/4",
        "25/2",
        False,
    ]


def test_a_point_and_a_certificate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "c.json")
    code, _, err = run(capsys, "coefficient", "--of", "x^2 - 1/4, x*y", "--at", "x=1/2,y=0", "--certificate", path)
    assert (code, err) == (0, f"certificate: {path}\n")
    code, out, _ = run(capsys, "verify", path)
    assert code == 0
    assert "proved: lambda = 1, for 2 polynomials in 2 variables" in out


def test_deep_linear_networks(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "coefficient", "--deep-linear", "4,3,3,5", "--rank", "1", "--json")
    found = json.loads(out)
    assert (code, found["lambda"], found["multiplicity"]) == (0, "6", 2)
    assert found["proof"] == "docs/learning-coefficients.md, Theorem 11"


def test_factors_at_given_matrices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "factors.json"
    path.write_text('{"W1": [[1, 0], [0, 0]], "W2": [[0, 0], [0, "1/2"]], "W3": [[0, 0], [0, 0]]}', encoding="utf-8")
    code, out, _ = run(capsys, "coefficient", "--factors", str(path), "--json")
    found = json.loads(out)
    assert (code, found["lambda"], found["multiplicity"], found["ranks"]["rank"]) == (0, "3/2", 3, 0)
    assert run(capsys, "coefficient", "--factors", str(tmp_path / "no.json"))[0] == 2
    path.write_text('{"W1": [[1, 0]], "W3": [[1]]}', encoding="utf-8")
    code, _, err = run(capsys, "coefficient", "--factors", str(path))
    assert (code, err.count("\n")) == (2, 1)
    assert "factors must be named W1, W2, ..., got W1, W3" in err
    path.write_text('{"W1": [[1, 0]], "W2": [[1, 2]]}', encoding="utf-8")
    code, _, err = run(capsys, "coefficient", "--factors", str(path))
    assert (code, err.count("\n")) == (2, 1)
    assert "matrix 2 must have 1 columns, as many as matrix 1 has rows, got 2" in err
    path.write_text('{"form": {"normalization": "none", "mask": "none", "skip": true}, "W1": [[1]]}', encoding="utf-8")
    code, _, err = run(capsys, "coefficient", "--factors", str(path))
    assert (code, err.count("\n")) == (2, 1)
    assert "factors have no form" in err


def test_one_head_prints_its_tokens_nowhere_else(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [run(capsys, "coefficient", "--one-head", f"3,{t},4", "--teacher", "1") for t in (2, 7)]
    assert answers[0] == answers[1]
    assert answers[0][1].startswith("coefficient  lambda = 5, multiplicity 1  certified\n")


WRONG = [
    ((), "give FILES of weights or one of --of, --linear-attention, --one-head, --deep-linear, --factors, got none"),
    (("--of", "x", "--linear-attention", "2,2"), "got --of and --linear-attention"),
    (("--linear-attention", "2"), "--linear-attention must be V,E, got 2"),
    (("--linear-attention", "2,2,2"), "--linear-attention must be V,E, got 2,2,2"),
    (("--linear-attention", "1,2"), "the vocabulary must be an integer of at least 2, got 1"),
    (("--linear-attention", "a,b"), "positive integers"),
    (("--one-head", "2,1,2"), "tokens must be an integer of at least 2, got 1"),
    (("--one-head", "2,2,2", "--teacher", "2"), "the width of the teacher must be less than the width, 2; got 2"),
    (("--one-head", "2,2,2", "--teacher", "1,1"), "--teacher must be E0, got 1,1"),
    (("--of", "x", "--teacher", "1"), "--teacher is of --linear-attention or --one-head, which are not given"),
    (("--of", "x", "--rank", "1"), "--rank is of --deep-linear, which is not given"),
    (("--deep-linear", "2,2", "--rank", "3"), "the rank must be at most the smallest width, 2; got 3"),
    (("--deep-linear", "2,2", "--certificate", "c.json"), "and of no product of matrices"),
    (("--of", "x", "--tokens", "3"), "--tokens is of FILES, which are not given"),
    (("--linear-attention", "2,2", "--skip"), "--skip is of FILES, which are not given"),
    (("--linear-attention", "2,2", "--at", "x=0"), "--at is a point of --of, which is not given"),
    (("--of", "x", "--at", "x"), "must be coordinates such as x=0,y=1/2, each once, got 'x'"),
    (("--of", "x", "--at", "x=a"), "x must be an integer or a fraction such as 1/2, got 'a'"),
    (("--of", "x + 1"), "all polynomials must be zero at the point, number 1 is 1"),
    (("--linear-attention", "300,300", "--certificate", "c.json"), "a certificate is written of smaller sizes only"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(w) for w, _ in WRONG])
def test_bad_input_is_one_line(
    words: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "coefficient", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not list(tmp_path.iterdir())


def test_large_sizes_are_answered_without_a_certificate() -> None:
    found = linear_attention_coefficient(10**6, 10**6)
    assert found.certified
    assert found.certificate is None


LIMITED = [
    (("--of", "missing.txt"), "--of must be polynomials, or a file of them that exists, got missing.txt"),
    (("--of", "folder/ideal"), "--of must be polynomials, or a file of them that exists, got folder/ideal"),
    (
        ("--of", "*".join(f"x{i}" for i in range(30)) + " - 1", "--at", ",".join(f"x{i}=1" for i in range(30))),
        "the point as the origin must fit into",
    ),
    (("--one-head", "900,2,900", "--teacher", "1", "--work", "0.5"), "exact work must take at most 0.5 s"),
    (("--linear-attention", "200,200", "--work", "0.1"), "exact work must take at most 0.1 s"),
    (("--linear-attention", "200,200", "--memory", "0.001"), "a certificate must fit into"),
]


@pytest.mark.parametrize(("words", "said"), LIMITED, ids=[said for _, said in LIMITED])
def test_work_and_memory_are_bounded_before(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "coefficient", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
