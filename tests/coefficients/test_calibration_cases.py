"""Cases for estimators: the file is what the program says, and each model is at a zero of its own loss."""

from __future__ import annotations

import json
import runpy
import sys
from fractions import Fraction

import pytest
from write_calibration_cases import CASES, FILE, TEACHER, documents, require_generic, text


def test_the_file_is_what_the_program_proves() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "python scripts/write_calibration_cases.py"


def test_thirty_models_are_exact_and_reach_what_estimators_get_wrong() -> None:
    found = list(documents())
    assert len(found) == len({each["name"] for each in found}) == 30
    assert all(Fraction(each["lambda"]) > 0 and each["m"] in (1, 2) for each in found)
    assert sum(each["m"] == 2 for each in found) >= 8
    assert {each["model"] for each in found} == {"attention", "product", "linear attention", "one head"}
    sizes = {each["name"]: sum(len(rows) * len(rows[0]) for rows in each["weights"].values()) for each in found}
    assert all(2 * Fraction(each["lambda"]) <= sizes[each["name"]] for each in found)


@pytest.mark.parametrize(
    "changed",
    [{"E": [[1, 0], [1, 0]]}, {"E": [[1, 0], [0, 0]]}, {"E": [[1, 0], [2, 1]]}, {"Q": [[0, 0], [0, 0]]},
     {"U": [[1, 1], [0, 0]]}, {"U": [[1, -1], [0, 1]]}],
    ids=str,
)  # fmt: skip
def test_a_teacher_that_is_not_generic_is_refused(changed: dict[str, list[list[int]]]) -> None:
    require_generic(TEACHER)
    with pytest.raises(ValueError, match="not generic"):
        require_generic(TEACHER | changed)


def test_a_wrong_number_would_be_seen() -> None:
    held = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
    assert [each["name"] for each in held] == list(CASES)
    held[3]["lambda"] = str(Fraction(held[3]["lambda"]) + Fraction(1, 4))
    assert held != list(documents())


MEASURED = sorted(FILE.parent.glob("[ds]*.json"))


@pytest.mark.parametrize("package", ["torch", "devinterp"])
def test_what_is_missing_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(
        sys, "argv", ["calibrate.py", "--estimator", {"torch": "sgld"}.get(package, package), "--rate", "1"]
    )
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(FILE.parents[1] / "calibrate.py"), run_name="__main__")
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"install it into an environment of its own: pip install {package}" in said
    assert len(said.splitlines()) == 1


def test_what_was_measured_is_of_these_cases() -> None:
    assert [path.stem for path in MEASURED] == ["devinterp", "sgld"]
    exact = [
        (each["name"], each["lambda"], each["m"]) for each in json.loads(FILE.read_text(encoding="utf-8"))["cases"]
    ]
    for path in MEASURED:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        assert [(each["name"], each["lambda"], each["m"]) for each in rows] == exact
        assert all(each["error"] > 0 for each in rows)
