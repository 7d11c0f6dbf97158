"""`recover` of jets, and `recover --ask`: answers, programs that misbehave, and that none of them is left behind."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import run

from lightning_cli import exit_codes
from lightning_sym import SOFTMAX, Answer, NetworkForm, Weights, load_weights, same_function, save_jet, softmax_jet

ROOT = Path(__file__).parents[2]
PYTHON = shlex.quote(sys.executable)
HIDDEN = f"{PYTHON} {ROOT / 'examples' / 'hidden_network.py'}"
SHAPE = ("--widths", "2,2,1", "--tokens", "2", "--bound", "8", "--denominators", "4")
JET = str(ROOT / "examples" / "jet.json")


def test_a_jet_and_its_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "w.json")
    code, out, err = run(capsys, "recover", JET, "--output", target, "--json")
    document = json.loads(out)
    assert (code, err, document["answer"]) == (exit_codes.AS_EXPECTED, "", "weights")
    assert (document["queries"], document["digits"], document["radius"]) == (0, None, None)
    (tmp_path / "again.json").write_text(json.dumps(document["weights"]))
    found = load_weights(target)
    assert load_weights(tmp_path / "again.json").with_form(NetworkForm(SOFTMAX)) == found
    assert run(capsys, "recover", JET, "--ranks", "1")[0] == exit_codes.NOT_AS_EXPECTED
    assert run(capsys, "recover", JET, "--widths", "2,3,1")[0] == exit_codes.AS_EXPECTED
    assert run(capsys, "recover", JET, "--tokens", "3")[0] == exit_codes.BAD_INPUT


def test_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = [[1, 0], [0, 1]]
    skew = {"Q1": [[0, 1], [-1, 0]], "K1": one, "V1": one, "Q2": one, "K2": one, "V2": one}
    save_jet(softmax_jet(Weights.of(skew, NetworkForm(SOFTMAX)), 3), tmp_path / "skew.json")
    code, out, err = run(capsys, "recover", str(tmp_path / "skew.json"), "-o", str(tmp_path / "w.json"))
    assert code == exit_codes.UNDECIDED
    assert "A~1 is skew" in " ".join(out.split())
    assert "tried Theorem 7 of docs/softmax-fibers.md: it needs matrices that are not skew" in " ".join(out.split())
    assert "no exact rational weights" in err
    assert not (tmp_path / "w.json").exists()


def test_the_hidden_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jet, asked = str(tmp_path / "jet.json"), str(tmp_path / "asked.json")
    assert run(capsys, "recover", JET, "-o", jet)[0] == exit_codes.AS_EXPECTED
    code, out, err = run(capsys, "recover", "--ask", HIDDEN, *SHAPE, "-o", asked)
    assert code == exit_codes.AS_EXPECTED
    assert err == "will ask at most 33 queries, for 40 digits behind the point\n"
    assert "these weights give all 33 answers" in out
    assert same_function(load_weights(jet), load_weights(asked)).answer is Answer.SAME
    code, out, _ = run(capsys, "recover", "--ask", HIDDEN, *SHAPE[:-2], "--digits", "90", "--json")
    document = json.loads(out)
    assert (code, document["answer"], document["digits"]) == (0, "weights", 90)
    assert document["radius"].startswith("1/1000")
    code, out, _ = run(capsys, "recover", "--ask", HIDDEN, *SHAPE[:4], "--bound", "2", "--denominators", "4")
    assert code == exit_codes.NOT_AS_EXPECTED


def test_a_plan_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "recover", "--ask", "no-such-program", *SHAPE, "--plan", "--json")
    document = json.loads(out)
    assert (code, err) == (exit_codes.AS_EXPECTED, "")
    assert (document["queries"], document["digits"]) == (33, 40)
    assert "at most 33" in run(capsys, "recover", "--ask", "no-such-program", *SHAPE, "--plan")[1]


def program(folder: Path, body: str) -> str:
    """A program that notes its number, and does what the body says for every line."""
    file = folder / "program.py"
    noted = [f"NUMBER = {str(folder / 'number')!r}", "open(NUMBER, 'w').write(str(os.getpid()))"]
    lines = ["import os, sys, time", *noted, body]
    file.write_text("\n".join(lines) + "\n")
    return f"{PYTHON} {shlex.quote(str(file))}"


def runs(number: str) -> bool:
    """Whether a process is there, and has not ended."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", number], capture_output=True, text=True, check=False)  # noqa: S607
    return found.stdout.strip()[:1] not in ("", "Z")


ANSWERING = "for line in sys.stdin:\n    print({}, flush=True)"
BAD_PROGRAMS = {
    "ends": ("sys.exit(3)", "ended with exit code 3"),
    "fails": ("input()\nraise RuntimeError('no luck')", "RuntimeError: no luck"),
    "is killed": ("os.kill(os.getpid(), 9)", "ended with exit code -9"),
    "closes its output": ("os.close(1)\ntime.sleep(600)", "closed its output"),
    "is silent": ("time.sleep(600)", "within 1 s"),
    "never reads, half a line": ("print('1', end='', flush=True)\ntime.sleep(600)", "within 1 s"),
    "too few numbers": (ANSWERING.format("'1.5'"), "2 numbers in a line, got 1"),
    "too few digits": (ANSWERING.format("'1.5 1.5'"), "40 digits behind the point"),
    "words": (ANSWERING.format("'one two'"), "decimal numbers"),
    "floods its standard error": ("while True:\n    sys.stderr.write('x' * 65536)", "within 1 s"),
    "a flood, and ends": ("sys.stderr.write('x' * 10**7 + '\\nno luck')\nsys.exit(3)", "exit code 3: 'no luck'"),
    "nothing": (ANSWERING.format("''"), "2 numbers in a line, got 0"),
    "no text": (ANSWERING.format("'\\u00b2 \\u00bd'"), "decimal numbers"),
    "a child of its own": (
        "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n"
        "open(NUMBER, 'a').write(f' {child.pid}')\ntime.sleep(600)", "within 1 s",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_programs_that_misbehave(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, message = BAD_PROGRAMS[name]
    start = time.monotonic()
    code, out, err = run(capsys, "recover", "--ask", program(tmp_path, body), *SHAPE, "--timeout", "1")
    assert (code, out) == (exit_codes.BAD_INPUT, "")
    assert time.monotonic() - start < 30
    assert message in " ".join(err.split())
    assert len(err.splitlines()) == 2  # the plan, and what is wrong
    numbers = (tmp_path / "number").read_text().split()
    while any(map(runs, numbers)) and time.monotonic() - start < 30:  # what is killed may take a moment to end
        time.sleep(0.05)
    assert not [number for number in numbers if runs(number)]


def test_a_program_that_answers_wrongly_late(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "n = 0\nfor line in sys.stdin:\n    n += 1\n    print('0.' + '0' * 40, ('0.' + '0' * 40) * (n < 5))\n"
    code, _, err = run(capsys, "recover", "--ask", program(tmp_path, body + "    sys.stdout.flush()"), *SHAPE)
    assert code == exit_codes.BAD_INPUT
    assert "got 1" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a FILE"), ([JET, "--ask", HIDDEN], "not both"), ([JET, "--bound", "3"], "belongs to --ask"),
        ([JET, "--plan"], "belongs to --ask"), (["--ask", HIDDEN], "needs the shape"),
        (["--ask", HIDDEN, *SHAPE[:4]], "needs --bound"), (["--ask", HIDDEN, *SHAPE[:6]], "--denominators"),
        (["--ask", "no-such-program", *SHAPE], "cannot be started"), (["--ask", "", *SHAPE], "at least one word"),
        (["--ask", "'", *SHAPE], "No closing quotation"), (["--ask", HIDDEN, *SHAPE, "--bound", "-1"], "positive"),
        (["--ask", HIDDEN, *SHAPE, "--bound", "1e9999999"], "positive"), (["missing.json"], "readable"),
        (["--ask", HIDDEN, "--widths", "2", "--tokens", "2", "--bound", "1", "--digits", "9"], "at least two sizes"),
        (["--ask", HIDDEN, *SHAPE[:2], "--tokens", "1", *SHAPE[4:]], "at least 2 tokens"),
        (["--ask", HIDDEN, *SHAPE, "--work", "1e-9"], "--work"),
        (["--ask", HIDDEN, *SHAPE[:6], "--digits", "60", "--ranks", "1"], "without denominators inner widths"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused_in_a_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "recover", *words)
    assert (code, out) == (exit_codes.BAD_INPUT, "")
    assert message in " ".join(err.split())
    assert len([line for line in err.splitlines() if not line.startswith("will ask")]) == 1, err


def test_a_jet_on_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with open(JET, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stream}))
        assert run(capsys, "recover", "-")[0] == exit_codes.AS_EXPECTED
