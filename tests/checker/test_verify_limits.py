"""Limits of the checker on sizes, bytes and steps: just met, and just missed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bent_certificates import at_the_limit, empty
from small_certificates import LIGHTNING, RATIONAL, Document, answer, shape
from small_pairs import DIFFERENT, SAME, SWAPPED, TWO, same

from proofs_check.checker import verify
from proofs_check.checker.functions.matrices import foresee


def test_the_limits_are_those_of_the_grammar() -> None:
    assert (verify.BYTES, verify.HEADS, verify.LAYERS) == (16 * 2**20, 4096, 64)
    assert (verify.TERMS, verify.LONG, verify.SLOT) == (512, 10**20, 2**64 - 1)
    assert (verify.SIZE.start, verify.SIZE.stop) == (1, 1_000_001)
    assert (verify.COUNT.start, verify.COUNT.stop) == (0, 10**20)
    assert (verify.STEPS, verify.BITS) == (2_000_000_000, 262_144)
    assert (verify.ROOM, verify.BRACKETS) == (2**29, 2**21)


WIDE = [(1, 500_000, True), (1, 530_000, False), (1000, 1000, True), (1025, 1025, False), (1, 1100_000 // 2, False)]


@pytest.mark.parametrize(("m", "t", "fits"), WIDE)
def test_sums_of_products_fit_into_a_slot(
    m: int, t: int, fits: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = answer(empty(shape([1, 1], [1], t, m=m)), tmp_path, capsys)
    assert (": proved: " if fits else "so that sums fit into 64 bits") in line


@pytest.mark.parametrize(("terms", "fits"), [(4, True), (5, False)])
def test_sums_of_products_of_series_fit_into_a_slot(
    terms: int | None, fits: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = empty(shape([1, 1], [1], 500, RATIONAL, m=500))
    data["lower_bound"]["terms"] = terms
    line = answer(data, tmp_path, capsys)
    assert (": proved: " if fits else "so that sums fit into 64 bits") in line


@pytest.mark.parametrize("network", [shape([1, 1, 1], [1, 1], 1, h=3), shape([1, 1, 1, 1], [1, 1, 1], 1, h=2)])
def test_so_many_heads(
    network: Document, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at_the_limit("HEADS", 6, empty(network), "there must be from 1 to 5 heads", monkeypatch, tmp_path, capsys)


def test_a_network_has_a_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = empty(shape([1, 1], [1], 1))
    data["network"].update(widths=[1], attention_ranks=[])
    assert "there must be from 1 to 4,096 heads" in answer(data, tmp_path, capsys)
    data["network"].update(widths=[])
    assert "there must be from 1 to 4,096 heads" in answer(data, tmp_path, capsys)


def test_so_many_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = empty(shape([1, 1], [1], 1))
    data["network"]["tokens"] = 10**6
    assert "so that sums fit into 64 bits" in answer(data, tmp_path, capsys)
    data["network"]["tokens"] += 1
    assert "tokens must be an integer from 1 to 1000000" in answer(data, tmp_path, capsys)


def test_so_many_coefficients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = empty(shape([1, 1], [1], 1, {"name": "long", "taylor": ["1"] * 1000}))
    assert ": proved: " in answer(data, tmp_path, capsys)
    data["network"]["normalization"]["taylor"].append("1")
    assert "taylor must not be" in answer(data, tmp_path, capsys)


def test_so_many_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = len(json.dumps(LIGHTNING).encode())
    at_the_limit("BYTES", size, LIGHTNING, "of at most 16 MiB", monkeypatch, tmp_path, capsys)


@pytest.mark.parametrize("data", [LIGHTNING, SAME[3], DIFFERENT], ids=["dimension", "same", "different"])
def test_so_many_steps(
    data: Document, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(data, tmp_path, capsys)
    used = verify.STEPS - verify.BUDGET.get().steps
    assert used > 0
    at_the_limit("STEPS", used, data, "checking must take at most", monkeypatch, tmp_path, capsys)


@pytest.mark.parametrize(
    ("rows", "columns", "terms", "slot"), [(1, 1, 1, 64), (30, 40, 1, 64), (3, 200, 4, 64), (7, 9, 1, 0)]
)
def test_series_that_are_made_are_no_larger_than_what_is_counted(
    rows: int, columns: int, terms: int, slot: int
) -> None:
    tape = verify.Tape(4194301, terms, slot)
    made = [[(1 << 64 * (2 * terms - 1)) - 1 - i - columns * j for i in range(columns)] for j in range(rows)]
    verify.BUDGET.set(verify.Budget())
    assert tape.made(made) is made
    bytes_of = sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in made)
    assert bytes_of <= verify.ROOM - verify.BUDGET.get().room <= 6 * bytes_of


def test_work_may_take_all_that_is_left_and_no_more() -> None:
    verify.BUDGET.set(verify.Budget())
    foresee(verify.STEPS, verify.ROOM)
    with pytest.raises(verify.Rejected, match="at most 2,000,000,000 steps, this takes 2,000,000,001 or more"):
        foresee(verify.STEPS + 1)
    with pytest.raises(verify.Rejected, match="into 536,870,912 bytes of memory, these take 536,870,913 or more"):
        foresee(0, verify.ROOM + 1)


def test_so_many_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same_twice = same(TWO, SWAPPED, {"step": "rescaling", "factors": [1, 1], "value_factor": 1})
    at_the_limit("LAYERS", 2, same_twice, "must fit, in at most 1 layers", monkeypatch, tmp_path, capsys)


def test_long_checks_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal only, each ten seconds, about."""
    verify.BUDGET.set(verify.Budget())
    verify.spend(3 * 10**8)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    verify.spend(10**8 - 1)
    verify.spend(10**8)
    said = "checking: {}% of the steps that a file may take\n"
    assert capsys.readouterr() == ("", said.format(20) + said.format(25))


def test_an_interrupted_check_ends_without_a_traceback(tmp_path: Path) -> None:
    """It is interrupted in the middle of its work."""
    script = "import os, signal, runpy, json\njson.loads = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(LIGHTNING), encoding="utf-8")
    script += (
        f"import sys; sys.argv = ['verify.py', {str(path)!r}]; runpy.run_path({verify.__file__!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
