"""Comparing two states: a state equals itself, what a copy changes is found, reasons forgive and are counted."""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import compare_states
import pytest
from states import models, networks
from states.differences import differences, steady
from states.questions import Corpus, corpus
from states.sides import BadSide, Limits, Side, opened
from states.values import shortened

from lightning_sym import Answer, Weights, open_checkpoint, same_checkpoints, same_function
from lightning_sym.network.form import NetworkForm

ROOT = Path(__file__).parents[2]
PARTS = ("names", "networks", "limits", "certificates")
ASKED = [*(word for part in PARTS for word in ("--only", part)), "--networks", "1", "--seconds", "10"]

CHANGES = {
    "a constant": ("lightning_sym/network/ambient.py", "comb(inputs + degree - 1,", "comb(inputs + degree,"),
    "a key": (
        "lightning_cli/commands/fiber.py",
        '"complete", bool, "whether this is the whole fiber"',
        '"whole", bool, "whether this is the whole fiber", "complete"',
    ),
    "a new key": (
        "lightning_cli/commands/degree.py",
        'field("architecture", ARCHITECTURE, "the network"),',
        'field("architecture", ARCHITECTURE, "the network"), field("of", str, "", lambda result: "1"),',
    ),
    "a message": ("lightning_sym/network/weights.py", "is not yet decided for", "is not decided for"),
    "a guard": ("lightning_sym/limits.py", "if not self.allows(seconds):", "if False:"),
    "a checker": ("proofs_check/checker/verify.py", 'f"proved: {check(read(path))}"', '"proved: all"'),
    "a signature": ("lightning_sym/fibers/transform.py", "layer: int | None = None)", "layer: int | None = 1)"),
}
"""What a copy changes: the file, what stands there, and what stands there in the copy."""
FOUND = {
    "a constant": r"^changed: networks/\w+/0/ambient  and 5 more\n    - \d+\n    \+ \d+$",
    "a key": r"^gone: networks/\w+/0-commands/1  stdout.complete  and \d more$",
    "a new key": r"^new: networks/\w+/0-commands/7  stdout.of  and \d more$",
    "a message": r"^    - .* is not yet decided for .*\n    \+ .* is not decided for ",
    "a guard": r"^changed: limits/small/0/recover .*\n    - .*exact work must take.*\n    \+ .*answer      weights",
    "a checker": r"^changed: certificates/bad/\w+.json  verify\n    - a bad certificate\n    \+ second: proved: all$",
    "a signature": r"^changed: names/public/python  swap\n    - .* = None.*\n    \+ .* = 1",
}
"""What is printed of each."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The answers of this checkout, and those of a copy with the changes."""
    folder = tmp_path_factory.mktemp("states")
    copy = folder / "copy"
    for name in ("lightning_sym", "lightning_cli", "proofs_check", "examples", "tests/corpus"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, before, behind in CHANGES.values():
        text = (copy / name).read_text(encoding="utf-8")
        assert before in text
        (copy / name).write_text(text.replace(before, behind), encoding="utf-8")
    files = folder / "one.gz", folder / "other.gz"
    assert compare_states.main([str(ROOT), *ASKED, "--record", str(files[0])]) == 0
    assert compare_states.main([str(files[0]), str(copy)]) == 1
    assert compare_states.main([str(copy), *ASKED, "--record", str(files[1])]) == 0
    return files


def told(capsys: pytest.CaptureFixture[str], *given: str | Path) -> tuple[int, str]:
    capsys.readouterr()
    code = compare_states.main([*map(str, given)])
    return code, capsys.readouterr().out


def test_a_state_equals_itself(records: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Asked again, and as it was recorded; of a record it is said that it has no checker."""
    for second, words in ((ROOT, ("--seconds", "10")), (records[0], ())):
        code, out = told(capsys, records[0], second, *words)
        assert (code, out.splitlines()[-1]) == (0, "0 differences without a reason, 0 reasons used, 0 new")
    assert "the checker of the second state is not in its record" in out


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_copy_changes_is_found(
    change: str, records: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = told(capsys, *records)
    assert code == 1
    assert re.search(FOUND[change], out, flags=re.MULTILINE)


def test_known_differences_are_forgiven_and_counted(
    records: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.toml"
    known.write_text(
        """
        [[known]]
        question = "networks/*/ambient"
        reason = "another count"
        [[known]]
        question = "networks/*"
        where = "std*"
        second = "not in the answers"
        reason = "never so"
        """,
        encoding="utf-8",
    )
    _, before = told(capsys, *records)
    code, out = told(capsys, *records, "--known", known)
    assert code == 1
    assert re.search(FOUND["a constant"], before, flags=re.MULTILINE)
    assert not re.search(FOUND["a constant"], out, flags=re.MULTILINE)
    assert "explained: 6: networks/*/ambient  *: another count\n" in out
    assert "unused: networks/*  std*: never so\n" in out
    known.write_text('[[known]]\nquestion = "*"\nreason = "all is meant"\n', encoding="utf-8")
    code, out = told(capsys, *records, "--known", known)
    assert (code, out.splitlines()[-1]) == (0, "0 differences without a reason, 1 reasons used, 0 new")


def test_what_a_limit_ends_is_an_answer(tmp_path: Path) -> None:
    """Of a state that runs on, takes all memory, or dies; the questions behind are asked all the same."""
    code = tmp_path / "state" / "lightning_sym" / "__init__.py"
    code.parent.mkdir(parents=True)
    code.write_text("", encoding="utf-8")
    (tmp_path / "state" / "proofs_check").mkdir()
    sources = {"forever": "while True: pass", "large": "x = bytearray(2**31)", "dead": "import os; os._exit(7)"}
    sources["fine"] = "print(0.1 + 0.2)"
    items = ({"name": f"pages/{k}", "kind": "session", "examples": [["python", s]] * 2} for k, s in sources.items())
    shared = Corpus(tuple(items), {"examples/one": b"1"})
    shared.written(tmp_path)
    side = Side("state", tmp_path / "state")
    (group,) = shared.groups
    side.ask(group, tmp_path, Limits(2**30, seconds=1), lambda question: None)
    assert {question: json.loads(answer) for question, answer in side.answers.items()} == {
        "pages/forever/1": {"stopped": "more than 1 s of the processor"},
        "pages/large/1": {"raised": "MemoryError", "message": "", "stdout": "", "stderr": ""},
        "pages/large/2": {"raised": "MemoryError", "message": "", "stdout": "", "stderr": ""},
        "pages/dead/1": {"stopped": "ended by 7"},
        "pages/fine/1": {"stdout": "0.30000000000000004\n", "stderr": ""},
        "pages/fine/2": {"stdout": "0.30000000000000004\n", "stderr": ""},
    }
    code.write_text("import nothing_such", encoding="utf-8")
    with pytest.raises(BadSide, match="No module named 'nothing_such'"):
        side.ask(group, tmp_path, Limits(2**30), lambda question: None)


@pytest.mark.parametrize("kind", [kind for kind in networks.KINDS if kind != "normalizations"])
def test_networks_are_of_their_shape_and_moved_ones_are_the_same(kind: str) -> None:
    for index in range(0, 48, 6):
        found = networks.network(kind, index)
        first, second = (read(found[name]) for name in ("first", "second"))
        shape = first.architecture(found["shape"]["tokens"])
        assert dict(shape.weight_shapes()) == networks.sizes(found["shape"])
        assert list(shape.widths) == found["shape"]["widths"]
        if found["relation"] == "moved":
            assert same_function(first, second, shape.tokens).answer is Answer.SAME


def read(document: dict[str, Any]) -> Weights:
    matrices: Any = {name: [list(map(Fraction, row)) for row in m] for name, m in document["weights"].items()}
    return Weights.of(matrices, NetworkForm.from_json(document["form"]))


@pytest.mark.parametrize("family", models.FAMILIES)
def test_checkpoints_are_read_and_rewritten_ones_are_the_same(family: str, tmp_path: Path) -> None:
    for change, first, second in models.pairs(family, 0):
        if change not in ("itself", "all exact", "another model"):
            continue
        for name, files in (("first", first), ("second", second)):
            (tmp_path / name).mkdir(exist_ok=True)
            for file, data in files.items():
                (tmp_path / name / file).write_bytes(data)
        answer = same_checkpoints(*(open_checkpoint(tmp_path / name) for name in ("first", "second"))).answer
        assert answer.value == ("different" if change == "another model" else "same")


def test_the_same_is_asked_each_time() -> None:
    one, other = (corpus(ROOT, 2, ("examples", "networks", "checkpoints", "pages"), quick=True) for _ in "ab")
    assert one.digest == other.digest
    assert one.digest != corpus(ROOT, 3, ("networks",)).digest


def test_what_is_never_the_same_is_not_compared() -> None:
    assert steady("one  0.1 s\n") == steady("one 20.3 s\n")
    assert steady('Traceback:\n  File "a", line 1\n    one\nError: x') == "Traceback:\nError: x"
    seconds = ({"a": json.dumps({"stdout": json.dumps({"seconds": x})})} for x in (1, 2))
    assert not list(differences(*seconds))
    one, other = {"a": '{"x": 1, "y": true}'}, {"a": '{"y": 1, "x": 1, "z": 0}', "b": "0"}
    assert [each.kind for each in differences(one, other)] == ["changed", "new", "order", "new"]


def test_bad_input_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "record").write_bytes(b"\x1f\x8b")
    (tmp_path / "known").write_text('[[known]]\nquestion = "*"\n', encoding="utf-8")
    for given, words in (
        ([tmp_path, ROOT], "error: a folder must be a checkout of the project"),
        ([ROOT, "no-such-revision"], "error: a state must be a checkout, a record or a revision"),
        ([tmp_path / "record", ROOT], "error: a file must be a whole record"),
        ([ROOT, ROOT, "--known", tmp_path / "known"], "error: a known difference must have a question and a reason"),
        ([ROOT, ROOT, "--known", tmp_path / "none"], "error: [Errno 2] No such file"),
    ):
        assert compare_states.main([*map(str, given)]) == 2
        err = capsys.readouterr().err
        assert err.startswith(words)
        assert err.count("\n") == 1
    for given in ([ROOT], [ROOT, ROOT, "--networks", "0"], [ROOT, ROOT, "--record", "x"]):
        with pytest.raises(SystemExit) as stop:
            compare_states.main([*map(str, given)])
        assert stop.value.code == 2


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="revisions are there in a repository only")
def test_a_revision_is_a_state(tmp_path: Path) -> None:
    side = opened("HEAD", tmp_path)
    assert side.checkout is not None
    assert (side.checkout / "lightning_sym" / "__init__.py").is_file()


def test_long_parts_are_kept_as_a_digest() -> None:
    one, other = (shortened(["x" * 500, last], 400) for last in "ab")
    assert one != other
    assert one.startswith('["xxx')
    assert len(one) < 400
    assert shortened({"a": 1}, 400) == {"a": 1}
