"""Any file gets one line from the checker: hostile ones, junk in any place, none at all; its exit codes."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bent_certificates import leaves, put
from checker import CORPUS, checked_alone, copied_checker
from small_certificates import GOOD, LIGHTNING, Document, answer
from small_pairs import DIFFERENT, SAME

from proofs_check.checker import verify

HOSTILE = [
    (b"", "must be JSON"),
    (b"\xff\xfe", "UTF-8"),
    (b"[" * 10**6, "nested too deeply"),
    (b'{"a":' * 10**5, "nested too deeply"),
    (b'{"a": "' + b"[" * 100 + b'"}', "format must be"),
    (b'["' + b'\\"' * 5 + b"[" * 20 + b'"]', "must be of type dict"),
    (b'{"a": ' + b"9" * 10**7 + b"}", "4300 digits"),
    (b'{"version": 1.5}', "format must be"),
    (b'{"a": 1, "a": 1}', "a key stands twice"),
    (b"[]" * 10, "must be JSON"),
    (b"[" + b"[]," * (2**21) + b"1]", "at most 2,097,152 lists, and a fourth as many objects"),
    (b"[" + b"{}," * (2**19) + b"1]", "at most 2,097,152 lists, and a fourth as many objects"),
    (b"[" + b"[]," * (2**21 - 2) + b"1]", "must be of type dict"),
    (b"null", "must be of type dict"),
    (b" " * (2**24 + 1), "at most 16 MiB"),
]


@pytest.mark.parametrize(("data", "reason"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files(data: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reason in answer(data, tmp_path, capsys)


JUNK: list[Any] = [None, True, -1, 10**20, "x", "1/3", [], {}, [[]], [None], {"step": []}]


@pytest.mark.parametrize(
    "good", [LIGHTNING, SAME[3], SAME[4], DIFFERENT], ids=["dimension", "same", "rescaling", "different"]
)
def test_every_place_with_any_junk_gets_one_line(
    good: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in list(leaves(good))[1:]:
        for junk in JUNK:
            bent = copy.deepcopy(good)
            put(bent, path, junk)
            answer(bent, tmp_path, capsys)


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main([str(tmp_path), str(tmp_path / "none")]) == 1
    assert capsys.readouterr().out.count("rejected: there must be a file of this name") == 2


def test_exit_codes(tmp_path: Path) -> None:
    """The checker runs alone, and proves only if every file does."""
    source = Path(verify.__file__).read_text(encoding="utf-8")
    assert source.count("return 0") == 1
    assert "lightning" not in " ".join(line for line in source.splitlines() if line.startswith(("import", "from")))
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    alone = copy.deepcopy(GOOD)
    alone["upper_bounds"][0].update(kind="orbit", families=["query-key", "stream"], bound=15)
    (tmp_path / "good.json").write_text(json.dumps(alone | {"upper": 15}), encoding="utf-8")
    (tmp_path / "directions.json").write_text(json.dumps(GOOD), encoding="utf-8")
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")

    def run(*files: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", str(tmp_path / "verify.py"), *files]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("good.json", "good.json").returncode == 0
    both = run("good.json", "bad.json")
    assert (both.returncode, both.stdout.count("\n"), both.stderr) == (1, 2, "")
    assert [run().returncode, run("--help").returncode] == [2, 2]
    assert "for example" in run("--help").stdout
    assert "others need the folder bounds beside verify.py" in run("directions.json").stdout
    for folder, missing in (("bounds", "No module named 'proofs_check.checker.functions'"), ("functions", "")):
        shutil.copytree(Path(verify.__file__).with_name(folder), tmp_path / folder)
        result = run("directions.json")
        assert (missing in result.stdout, result.stderr) == (True, "")
    assert run("directions.json").returncode == 0


PRIME = '''"""A number without a divisor from 2 up to its root is a prime."""

from proofs_check.checker.verify import need


def prove(number: int) -> str:
    need(all(number % k for k in range(2, int(number**0.5) + 1)), f"the number must be prime, {number} is not")
    return f"{number} is prime"


ROWS = (({"number": range(2, 10**9)}, prove),)
'''


def test_a_kind_is_found_by_the_name_of_its_file(tmp_path: Path) -> None:
    alone, files = copied_checker(tmp_path / "checker"), list[Path]()
    (alone.parent / "kinds" / "prime.py").write_text(PRIME, encoding="utf-8")
    head: Document = {"format": "lightning-sym/certificate", "version": 1}
    kinds: dict[str, Document] = {
        "good": {"kind": "prime", "number": 101},
        "false": {"kind": "prime", "number": 91},
        "of_another_form": {"kind": "prime", "number": "101"},
        "of_no_file": {"kind": "__init__"},
        "outside": {"kind": "../bounds/span"},
        "in_capitals": {"kind": "PRIME", "number": 101},
    }
    for name, rest in kinds.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(head | rest), encoding="utf-8")
    _, lines = checked_alone(alone, files)
    assert lines.pop("good") == "proved: 101 is prime"
    assert lines.pop("false") == "rejected: the number must be prime, 91 is not"
    assert lines.pop("of_another_form") == "rejected: number must be an integer from 2 to 999999999, found '101'"
    said = '"kind" of a certificate must be one of dimension, coefficient, different, fiber, layers, prime'
    assert all(said in line for line in lines.values())


def state() -> dict[str, dict[str, str]]:
    """Everything that modules of the checker hold, in words; of objects what they hold themselves."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("proofs_check.checker")}
    return {
        name: {
            key: f"{value!r} {vars(value) if hasattr(value, '__dict__') and not callable(value) else ''}"
            for key, value in vars(module).items()
            if not key.startswith("__") and not isinstance(value, ModuleType)
        }
        for name, module in modules.items()
    }


def test_checking_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of each kind, the smallest one: no module remembers anything of it."""
    smallest = dict[str, Path]()
    for path in sorted((CORPUS / "good").glob("*.json"), key=lambda each: -each.stat().st_size):
        smallest[json.loads(path.read_text(encoding="utf-8"))["kind"]] = path

    def checked() -> None:
        for path in smallest.values():
            verify.check(verify.read(str(path)))

    checked()  # what kinds need is loaded
    before = state()
    checked()
    assert len(smallest) > 5
    assert state() == before
    monkeypatch.setitem(verify.ORBIT, "another", lambda net: True)
    assert state() != before
