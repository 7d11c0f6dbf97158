"""The command `recover`: the inverse of `phi`, answers, exit codes and files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from command import run

from lightning_cli import exit_codes
from lightning_sym import Architecture, Weights, load_weights, save_weights

ROOT = Path(__file__).parents[2]
EXAMPLES = {path.stem: str(path) for path in (ROOT / "examples").glob("*.json")}


class _Stdin:
    """Standard input with these bytes."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def piped(monkeypatch: pytest.MonkeyPatch, content: str | bytes) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(content if isinstance(content, bytes) else content.encode()))


@pytest.mark.parametrize("name", ["generic", "rank_one", "singular", "two_layers"])
def test_phi_and_back(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, run(capsys, "phi", "--weights", EXAMPLES[name], "--tokens", "2", "--json")[1])
    target = str(tmp_path / "back.json")
    code, out, err = run(capsys, "recover", "-", "--json", "--output", target)
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["answer"] == "weights"
    code, out, _ = run(capsys, "same", EXAMPLES[name], target, "--json")
    assert (code, json.loads(out)["answer"]) == (0, "same")
    # what stands in the answer is what a file of weights holds
    (tmp_path / "again.json").write_text(json.dumps(document["weights"]))
    assert load_weights(tmp_path / "again.json") == load_weights(target)


def test_exit_codes_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "recover", EXAMPLES["map"])
    assert code == exit_codes.AS_EXPECTED
    assert "answer      weights" in out
    code, out, _ = run(capsys, "recover", EXAMPLES["map"], "--ranks", "1")
    assert code == exit_codes.NOT_AS_EXPECTED
    assert "rank at most 1" in out
    assert "because" in out
    code, out, _ = run(capsys, "recover", EXAMPLES["map_complex"])
    assert code == exit_codes.NOT_AS_EXPECTED
    assert "r^2 + 1" in out
    assert "complex weights of this shape have this function" in " ".join(out.split())


def test_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = [[1, 0], [0, 1]]
    skew = {f"{c}{i}": one for i in (1, 2, 3) for c in "KV"} | {"Q1": [[0, 1], [-1, 0]], "Q2": one, "Q3": one}
    save_weights(Weights.of(skew), tmp_path / "skew.json")
    piped(monkeypatch, run(capsys, "phi", "--weights", str(tmp_path / "skew.json"), "--tokens", "2", "--json")[1])
    code, out, _ = run(capsys, "recover", "-", "--json")
    assert code == exit_codes.UNDECIDED
    document = json.loads(out)
    assert (document["answer"], document["weights"], document["complex_weights"]) == ("undecided", None, None)
    assert document["reasons"]
    assert document["tried"][-1] == "Proposition 7 of docs/recover.md: it needs two layers, got 3"


def test_irrational_weights_are_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "w.json"
    code, out, err = run(capsys, "recover", EXAMPLES["map_irrational"], "--json", "--output", str(target))
    assert code == exit_codes.AS_EXPECTED
    assert json.loads(out)["field"]["minimal_polynomial"] == "r^2 - 2"
    assert "no exact rational weights" in err
    assert not target.exists()


def test_the_shape_may_be_said_again_or_be_another(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--tokens", "2"), ("--widths", "2,1"), ("--ranks", "5")):
        assert run(capsys, "recover", EXAMPLES["map"], *words)[0] == 0
    for line in ("--tokens 3", "--widths 3,1", "--widths 2,2,1 --ranks 2"):
        code, out, err = run(capsys, "recover", EXAMPLES["map"], *line.split())
        assert (code, out) == (exit_codes.BAD_INPUT, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"coefficients": [1]}', b"nonsense"])
def test_bad_standard_input_gets_one_line(
    content: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, content)
    code, out, err = run(capsys, "recover", "-")
    assert (code, out) == (exit_codes.BAD_INPUT, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_bad_files_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        (str(tmp_path / "missing.json"),),
        (str(tmp_path),),
        (EXAMPLES["generic"],),
        (EXAMPLES["map"], "--output", str(tmp_path / "w.txt")),
        (EXAMPLES["map"], "--output", str(tmp_path / "missing" / "w.json")),
        (EXAMPLES["map"], "--work", "1e-9"),
        (EXAMPLES["map"], "--memory", "1e-9"),
    ):
        code, out, err = run(capsys, "recover", *words)
        assert (code, out) == (exit_codes.BAD_INPUT, ""), words
        assert err.count("\n") == 1, words


def test_latex_and_symbolic_maps_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("--weights", EXAMPLES["generic"], "--latex"), ("--widths", "2,1", "--ranks", "1")):
        piped(monkeypatch, run(capsys, "phi", *words, "--tokens", "2", "--json")[1])
        code, _, err = run(capsys, "recover", "-")
        assert code == exit_codes.BAD_INPUT
        assert err.count("\n") == 1


def test_a_random_network_through_the_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save_weights(Weights.random(Architecture((2, 3, 2), (1, 2), 2), denominator=5), tmp_path / "w.json")
    piped(monkeypatch, run(capsys, "phi", "--weights", str(tmp_path / "w.json"), "--tokens", "2", "--json")[1])
    assert run(capsys, "recover", "-", "--output", str(tmp_path / "back.json"))[0] == 0
    assert run(capsys, "same", str(tmp_path / "w.json"), str(tmp_path / "back.json"))[0] == 0


def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "never read")
    code, out, err = run(capsys, "recover", "-", "--output", str(tmp_path / "missing" / "weights.json"))
    assert (code, out) == (exit_codes.BAD_INPUT, "")
    assert err.startswith("error: weights must be a file that can be written")
    assert err.count("\n") == 1
