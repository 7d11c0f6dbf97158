"""The command line as a user meets it: outputs, JSON, exit codes, one line for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import run

import lightning_sym.dimension.certify as dimension_module
from lightning_cli import exit_codes
from lightning_cli.commands.check import exit_code
from lightning_sym import Weights, save_weights
from lightning_sym.dimension.certify import Evidence
from lightning_sym.errors import ProgramError
from proofs_check.claim import Scope, Verdict
from proofs_check.run import ClaimResult, PartResult

ROOT = Path(__file__).parents[2]


def test_dimension_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "dimension", "--widths", "4,4,4", "--ranks", "2,2", "--tokens", "3")
    assert (code, err) == (0, "")
    assert "dimension      38  certified" in out
    assert "Corollary 3.8, Eq. 14 agrees" in out


def test_dimension_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("dimension", "--widths", "10,10,10", "--ranks", "2", "--tokens", "3", "--seed", "7", "--json")
    code, out, err = run(capsys, *words)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "lightning-sym/dimension/1"
    assert {"widths": [10, 10, 10], "attention_ranks": [2, 2], "tokens": 3}.items() <= document["architecture"].items()
    assert (document["architecture"]["normalization"], document["architecture"]["heads"]) == ("none", 1)
    expected = {"parameters": 280, "dimension": 170, "lower": 170, "upper": 170, "status": "certified",
                "fiber_dimension": 110, "seed": 7}  # fmt: skip
    assert expected.items() <= document.items()
    assert document["formula"]["value"] == 170
    assert document["formula"]["agrees"] is True


def test_an_undecided_dimension_shows_both_bounds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimension_module, "counted_bounds", lambda network: ({Evidence.FACTORIZATION: 9}, []))
    monkeypatch.setattr(dimension_module, "COMPUTED", ())
    words = ("dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2")
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert "undecided, between 6 and 9" in out
    assert "certified" not in out
    code, out, _ = run(capsys, *words, "--json")
    document = json.loads(out)
    assert code == 3
    assert (document["dimension"], document["lower"], document["upper"]) == (None, 6, 9)
    assert document["status"] == "undecided"


def test_an_error_of_the_program_exits_with_four(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimension_module, "counted_bounds", lambda network: ({Evidence.FACTORIZATION: 1}, []))
    monkeypatch.setattr(dimension_module, "COMPUTED", ())
    code, out, err = run(capsys, "dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2", "--json")
    assert (code, out) == (4, "")
    assert ProgramError.__name__ in err
    assert "an error of the program" in err


def test_phi(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "phi", "--widths", "1,1", "--ranks", "1", "--tokens", "1")
    assert code == 0
    assert out.splitlines()[1] == "phi_1_1 = Q1_1_1*K1_1_1*V1_1_1*x_1_1^3"
    code, out, _ = run(capsys, "phi", "--widths", "2,1", "--ranks", "2", "--tokens", "2", "--json")
    document = json.loads(out)
    assert document["degree"] == 3
    assert document["ambient_dimension"] == 40
    assert [(o["row"], o["token"]) for o in document["outputs"]] == [(1, 1), (1, 2)]
    code, out, _ = run(capsys, "phi", "--widths", "1,1", "--ranks", "1", "--tokens", "1", "--latex")
    assert out.splitlines()[1] == r"\varphi_{1,1} = q^{(1)}_{1,1} k^{(1)}_{1,1} v^{(1)}_{1,1} {x_{1,1}}^{3}"


def test_phi_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_weights(Weights.of({"Q1": [[2]], "K1": [[3]], "V1": [[5]]}), tmp_path / "w.json")
    code, out, _ = run(capsys, "phi", "--weights", str(tmp_path / "w.json"), "--tokens", "1")
    assert code == 0
    assert out.splitlines()[1] == "phi_1_1 = 30*x_1_1^3"


def test_list_has_the_keys_of_a_run_with_null_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    _, listed, _ = run(capsys, "check", "--list", "--json")
    code, ran, err = run(capsys, "check", "definition-1", "--quick", "--json")
    assert (code, err) == (0, "")
    (claim,) = json.loads(ran)["claims"]
    names = json.loads(listed)["claims"]
    assert all(c["verdict"] is None and c["parts"][0]["verdict"] is None for c in names)
    assert all(c.keys() == claim.keys() for c in names)
    assert {"id", "source", "verdict", "expected", "instances", "seconds", "parts"} <= claim.keys()
    assert {"scope", "verdict", "instances", "witness"} <= claim["parts"][0].keys()
    assert (claim["verdict"], claim["expected"]) == ("HOLDS", "HOLDS")
    assert 0 < claim["instances"] <= sum(part["instances"] for part in claim["parts"])


def test_check_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", "lemma-3.1", "--quick")
    assert (code, err) == (0, "")
    assert "lemma-3.1" in out
    assert "1 of 1 claims as expected" in out


BAD_WORDS = {
    "one width": ("dimension --widths 3 --ranks 1 --tokens 2", "at least two sizes"),
    "zero": ("dimension --widths 3,0 --ranks 1 --tokens 2", "positive integer"),
    "negative": ("dimension --widths 3,-2 --ranks 1 --tokens 2", "positive integer"),
    "no number": ("dimension --widths 3,x --ranks 1 --tokens 2", "positive integer"),
    "fraction": ("dimension --widths 3,1.5 --ranks 1 --tokens 2", "positive integer"),
    "other digits": ("dimension --widths 3,² --ranks 1 --tokens 2", "positive integer"),
    "empty": ("dimension --widths 3, --ranks 1 --tokens 2", "positive integer"),
    "wrong number of ranks": ("dimension --widths 3,3,3 --ranks 1,1,1 --tokens 2", "2 in number"),
    "huge": ("dimension --widths 1000000000,2 --ranks 1 --tokens 2", "must fit into 4 GiB"),
    "huge digits": (f"dimension --widths {'9' * 5000},2 --ranks 1 --tokens 2", "positive integer"),
    "many layers": (f"dimension --widths {','.join(['9'] * 9999)} --ranks 9 --tokens 2", "must fit into 4 GiB"),
    "no tokens": ("dimension --widths 3,3 --ranks 1 --tokens 0", "positive integer"),
    "two tokens": ("dimension --widths 3,3 --ranks 1 --tokens 1,2", "one positive integer"),
    "bad seed": ("dimension --widths 3,3 --ranks 1 --tokens 1 --seed -1", "--seed': must be an integer from 0"),
    "no memory": ("dimension --widths 3,3 --ranks 1 --tokens 1 --memory nan", "memory"),
    "missing option": ("dimension --widths 3,3", "Missing option"),
    "unknown option": ("dimension --width 3,3", "No such option"),
    "unknown command": ("measure", "No such command 'measure'."),
    "misspelled command": ("dimensoin", "No such command 'dimensoin'. Did you mean dimension?"),
    "misspelled, of several": ("explain-rewritten", "Did you mean explain-rewriting"),
    "unknown claim": ("check theorem-9", "the claim id must be one of"),
    "too many terms": ("phi --widths 9,9,9 --ranks 9 --tokens 9", "estimated need"),
    "deep symbolic": (f"phi --widths {','.join(['2'] * 99)} --ranks 2 --tokens 2", "estimated need"),
    "nothing to show": ("phi --tokens 2", "give --widths and --ranks, or --weights FILE"),
    "both": ("phi --widths 2,2 --ranks 1 --weights w.json --tokens 2", "leave out"),
    "missing file": ("phi --weights missing.json --tokens 2", "must be a readable file"),
}


@pytest.mark.parametrize("name", BAD_WORDS)
def test_bad_input_gets_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words, message = BAD_WORDS[name]
    code, out, err = run(capsys, *words.split(" "))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    from lightning_cli.main import COMMANDS

    for words in ([], *([name] for name in COMMANDS)):
        code, out, _ = run(capsys, *words, "--help")
        assert code == 0
        assert "Example" in out
        assert "Exit codes: 0" in out
        assert "lightning-sym " + (words[0] if words else "check") in out


def test_help_imports_nothing_heavy() -> None:
    """Why `--help` answers at once. In a process of its own, because here everything is imported already."""
    script = (
        "import sys\n"
        "sys.argv = ['lightning-sym', '--help']\n"
        "from lightning_cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = {'numpy', 'sympy', 'flint', 'rich', 'lightning_sym', 'proofs_check'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "heavy: []" in result.stdout


def test_the_launcher_of_a_checkout_and_quiet_stderr(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "cli.py"), "check", "definition-1", "equation-12", "--quick", "--json"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [c["id"] for c in json.loads(result.stdout)["claims"]] == ["definition-1", "equation-12"]


def result_with(*pairs: tuple[Verdict, Verdict], error: str | None = None) -> ClaimResult:
    parts = tuple(PartResult("a part", Scope.INSTANCES, expected, found, 1, None, ()) for expected, found in pairs)
    verdict = None if error else parts[0].verdict
    return ClaimResult("a-claim", Verdict.HOLDS, verdict, parts, 1, 0.0, error)


HOLDS, REFUTED, UNDECIDED = Verdict.HOLDS, Verdict.REFUTED, Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result_with((HOLDS, HOLDS))], 0),
        ([result_with((REFUTED, REFUTED))], 0),
        ([result_with((HOLDS, REFUTED))], 1),
        ([result_with((REFUTED, HOLDS))], 1),
        ([result_with((HOLDS, UNDECIDED))], 3),
        ([result_with((HOLDS, UNDECIDED), (HOLDS, REFUTED))], 1),
        ([result_with((HOLDS, UNDECIDED)), result_with((HOLDS, HOLDS))], 3),
        ([result_with((HOLDS, REFUTED)), result_with(error="a fault"), result_with((HOLDS, UNDECIDED))], 4),
    ],
)
def test_exit_codes_of_check(results: list[ClaimResult], expected: int) -> None:
    assert exit_code(results) == expected


def test_the_worst_code_in_the_documented_order() -> None:
    assert exit_codes.worst([0, 3, 1, 4]) == 4
    assert exit_codes.worst([0, 3, 1]) == 1
    assert exit_codes.worst([3, 0]) == 3
    assert exit_codes.worst([]) == 0


def test_every_command_stands_under_one_door(capsys: pytest.CaptureFixture[str]) -> None:
    from lightning_cli.main import COMMANDS, DOORS

    code, out, _ = run(capsys, "--help")
    assert code == 0
    places = [out.index(f"\n{door}:\n") for door in DOORS] + [len(out)]
    assert places == sorted(places)
    for commands, start, end in zip(DOORS.values(), places, places[1:], strict=False):
        assert all(f"\n  {name} " in out[start:end] for name in commands)
    assert sum(map(len, DOORS.values())) == len(COMMANDS) == len({*COMMANDS})
