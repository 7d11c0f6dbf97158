"""Exercises: each has a right answer, wrong ones are said to be wrong, and no solution is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import run

from lightning_sym.errors import BadInput
from proofs_check.exercises import EXERCISES, exercise

IDENTITY, SWAPPED = [[1, 0], [0, 1]], [[0, 1], [-1, 0]]
SHEAR = [[1, 0], [1, 1]]
EXCHANGED = {"Q1": [[2, 1]], "K1": [[1, -2]], "V1": [[1, 3]]}
SCALED = {"Q1": [[4, 2]], "K1": [["1/2", "3/2"]], "V1": [[1, -2]]}
BASIS = {"Q1": [[2, 4], [0, 2]], "K1": [["1/2", 0], ["1/2", "1/2"]], "V1": [[1, -1], [2, 3]]}
SKEW_ADDED = {"Q1": [[1, 4], [-1, 1]], "K1": IDENTITY, "V1": [[1, -1], [2, 3]]}
SINGULAR = {"Q1": [[1, 0, 0], [0, 0, 0]], "K1": [[1, 0, 0], [0, 0, 0]], "V1": [[1, 0, 2], [0, 1, 1]]}
REGULAR = {**SINGULAR, "Q1": [[1, 0, 0], [0, 1, 0]], "K1": [[1, 0, 0], [0, 1, 0]]}
CANCEL = {"Q1.1": [[1, 0]], "K1.1": [[1, 0]], "V1.1": [[0, 1]], "Q1.2": [[1, 0]], "K1.2": [[-1, 0]], "V1.2": [[0, 1]]}
BLIND = {"Q1": SWAPPED, "K1": IDENTITY, "V1": [[1, 1], [0, 1]], "Q2": IDENTITY, "K2": SHEAR, "V2": [[1, -1], [0, 1]]}

RIGHT: dict[int, Any] = {
    1: "27", 2: BASIS, 3: EXCHANGED, 4: SKEW_ADDED, 5: "4", 6: "4", 7: "3,2,2,2 / 1,1,2", 8: SINGULAR,
    9: CANCEL, 10: BLIND,
}  # fmt: skip
WRONG: list[tuple[int, Any, str]] = [
    (1, "9", "9 is not the degree"),
    (2, {"Q1": [[1, 2], [0, 1]], "K1": [[1, 0], [1, 1]], "V1": [[1, -1], [2, 3]]}, "the same weights"),
    (2, SKEW_ADDED, "another function"),
    (3, SCALED, "A' is a multiple of A"),
    (3, {**EXCHANGED, "V1": [[3, 2]]}, "another function"),
    (4, BASIS, "for two tokens, too"),
    (4, {**BASIS, "V1": [[1, 0], [0, 1]]}, "one token is enough"),
    (5, "6", "not the rank"),
    (6, "6", "not the dimension"),
    (7, "3,2,2,2 / 2,2,2", "here the formula is right"),
    (7, "2,2,2 / 1,2", "the number of layers must be 3, not 2"),
    (7, "3,2,2,3 / 1,1,2", "the width of the output must be 2, not 3"),
    (8, REGULAR, "the point is regular"),
    (7, "3,4,2,2 / 2,2,2", "the formula says nothing"),
    (8, {**SINGULAR, "V1": [[0, 1, 0], [0, 2, 0]]}, "V1 is not the one that is given"),
    (8, {**SINGULAR, "Q1": [[0, 0, 0], [0, 0, 0]]}, "names that point"),
    (9, {**CANCEL, "V1.2": [[1, 0]]}, "together they do something"),
    (9, {**CANCEL, "V1.1": [[0, 0]], "V1.2": [[0, 0]]}, "does nothing already"),
    (10, {**BLIND, "Q1": IDENTITY}, "the second layer can be seen"),
    (10, {**BLIND, "Q1": IDENTITY, "Q2": IDENTITY, "K2": [[1, 2], [0, 1]]}, "the second layer can be seen"),
    (10, {**BLIND, "Q1": [[0, 0], [0, 0]]}, "must have A and V that are not zero"),
    # only the first entry of A2 is seen
    (10, {**BLIND, "Q1": IDENTITY, "V1": [[1, 0], [0, 0]]}, "the second layer can be seen"),
    (10, {**BLIND, "Q1": IDENTITY, "V1": [[0, 0], [0, 1]]}, "the second layer can be seen"),
    (10, {**BLIND, "V2": [[0, 0], [0, 0]]}, "must not be zero"),
]


def said(answer: Any, folder: Path) -> str:
    """A number as it is, matrices as a file."""
    if isinstance(answer, str):
        return answer
    file = folder / "mine.json"
    file.write_text(json.dumps(answer), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("number", RIGHT)
def test_a_right_answer(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "exercise", str(number), "--answer", said(RIGHT[number], tmp_path))
    assert (code, err) == (0, "")
    assert out.startswith("right: ")


def test_weights_may_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    for answer, code in ((SCALED, 1), (EXCHANGED, 0)):
        assert run(capsys, "exercise", "3", "--answer", f" {json.dumps(answer)}")[::2] == (code, "")


@pytest.mark.parametrize(("number", "answer", "why"), WRONG)
def test_a_wrong_answer(number: int, answer: Any, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "exercise", str(number), "--answer", said(answer, tmp_path))
    assert (code, err) == (1, "")
    assert out.startswith("not yet: ")
    assert why in out


def test_every_exercise_is_tried() -> None:
    assert len(EXERCISES) == 10
    assert set(RIGHT) == {number for number, _, _ in WRONG} == set(range(1, 11))


@pytest.mark.parametrize(
    ("number", "answer", "must"),
    [
        (0, "1", "one of 1 to 10"), (11, "1", "one of 1 to 10"), (6, "four", "an integer"), (7, "2", "widths / ranks"),
        (3, {**EXCHANGED, "V1": [[10**20, 3]]}, "at most 20 digits"),
        (7, "9,9 / 9", "at most 4"), (3, "nowhere.json", "it must be a readable file"), (3, BASIS, "must be weights"),
        (3, '{"Q1": [[1, 2]', "must be JSON"), (3, '{"Q1": "mine.json"}', "Q1 must be a list of rows"),
        (3, '{"Q1": [[1]], "Q1": [[2]]}', "not repeat"), (3, json.dumps({**EXCHANGED, "V1": [[1e99, 3]]}), "20 digits"),
        (2, {"Q1": [[1] * 5], "K1": [[1] * 5], "V1": [[1] * 5]}, "at most 4 rows and columns"),
    ],
)  # fmt: skip
def test_what_is_no_answer(
    number: int, answer: Any, must: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "exercise", str(number), "--answer", said(answer, tmp_path))
    assert (code, out) == (2, "")
    assert must in err
    assert err.count("\n") == 1


def test_questions_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "exercise")
    assert code == 0
    assert len(out.splitlines()) == 10
    for number, each in enumerate(EXERCISES, start=1):
        code, out, err = run(capsys, "exercise", str(number))
        assert (code, err) == (0, "")
        assert each.title in out
        assert each.takes in out
    assert run(capsys, "exercise", "--answer", "3")[0] == 2
    with pytest.raises(BadInput):
        exercise(-1)
