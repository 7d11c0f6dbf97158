"""What `check` prints: in any width, in any encoding, and while it runs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import run
from rich.console import Console

from lightning_cli.commands import check
from lightning_cli.writing import check_text
from proofs_check.claim import Verdict
from proofs_check.registry import all_claims
from proofs_check.run import ClaimResult, PartResult

ROOT = Path(__file__).parents[2]


def result_of(number: int) -> ClaimResult:
    """Made up; every third one is a surprise, every fifth an error of the program."""
    claim = all_claims()[number]
    verdict = Verdict.UNDECIDED if number % 3 == 0 else claim.expected
    parts = tuple(PartResult(p.name, p.scope, claim.expected, verdict, 1000, None, ()) for p in claim.parts)
    found = None if number % 5 == 0 else verdict
    return ClaimResult(claim.id, claim.expected, found, parts, 12_345, 1234.5, "Bad: x" if found is None else None)


RESULTS = {claim.id: result_of(number) for number, claim in enumerate(all_claims())}


def printed(kind: str, width: int) -> str:
    file = io.StringIO()
    out = Console(file=file, width=width)
    if kind == "list":
        check_text.print_list(all_claims(), out)
    elif kind == "lines":
        check_text.print_lines(all_claims(), RESULTS, out)
    else:
        check_text.print_table(all_claims(), RESULTS, out)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["list", "lines", "table"])
@pytest.mark.parametrize("width", [40, 45, 59, 60, 75, 76, 80, 84, 99, 100, 120, 200])
def test_no_id_and_no_verdict_is_cut(kind: str, width: int) -> None:
    text = printed(kind, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    words = set(text.replace("│", " ").replace("┃", " ").split())
    assert {claim.id for claim in all_claims()} <= words
    assert "…" not in text
    if kind != "list":
        assert all(text.count(word) >= 5 for word in ("HOLDS", "UNDECIDED", "program"))
    if width >= 120 and kind == "table":
        assert "12,345" in text
        assert "1234.5" in text
        assert "IDENTITY" in text


def test_the_short_form_is_a_line_a_claim() -> None:
    lines = printed("lines", 120).splitlines()
    assert [line.split()[0] for line in lines] == [claim.id for claim in all_claims()]
    assert all("12,345 instances" in line for line in lines)


def test_quick_prints_the_short_form_and_then_the_findings(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", "corollary-3.3", "lemma-a.3", "--quick")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[:2] for line in lines[:2]] == [["corollary-3.3", "HOLDS"], ["lemma-a.3", "HOLDS"]]
    assert lines[2] == "what the checks found about the hypotheses:"
    assert lines[-1] == "2 of 2 claims as expected, 137 instances"
    assert "━" not in out
    assert err == ""


def test_a_claim_is_told_once_where_both_streams_are_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "SILENCE", 0.0)
    code, out, err = run(capsys, "check", "corollary-3.3", "lemma-a.3", "--quick")
    assert code == 0
    assert err.splitlines() == ["1 of 2 claims", "2 of 2 claims"]
    for claim in ("corollary-3.3", "lemma-a.3"):
        assert [line.split()[0] for line in (err + out).splitlines()].count(claim) == 1


def test_one_claim_and_json_are_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", "definition-1", "equation-9", "--quick", "--json")
    assert (code, err) == (0, "")
    parts = [part for claim in json.loads(out)["claims"] for part in claim["parts"]]
    assert all("instance" in part for part in parts)
    code, out, err = run(capsys, "check", "definition-1")
    assert (code, err) == (0, "")
    assert "┃ id " in out


def test_boxes_are_drawn_in_what_the_stream_can_show() -> None:
    words = [sys.executable, str(ROOT / "cli.py"), "check", "definition-1"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    result = subprocess.run(words, capture_output=True, env=environment, check=False)
    text = result.stdout.decode("ascii")
    assert result.returncode == 0
    assert "+----" in text
    assert "\\u" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("theorem-3.4", "did you mean theorem-3.4"),
        ("Lemma-3.1", "did you mean lemma-3.1"),
        ("figure3", "did you mean figure-3"),
        ("dimensions-all-widths", "did you mean dimension-all-widths"),
        ("xyz", "`lightning-sym check --list` names them"),
    ],
)
def test_an_unknown_claim_gets_what_was_meant(capsys: pytest.CaptureFixture[str], given: str, meant: str) -> None:
    code, out, err = run(capsys, "check", given)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: the claim id must be one of {len(all_claims())}, got {given!r}: ")
    assert meant in err
    assert err.count("\n") == 1
    assert len(err) < 200
