"""Exercises of one's own: drawn by a seed, solved by the library, printed on two pages, and graded for a class."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from command import run
from refresh_pages import ROOT, examples

from lightning_cli.writing.exercise_sheet import html_lines, latex_lines, question_text
from lightning_sym import Weights
from lightning_sym.errors import BadInput
from proofs_check.exercises import EXERCISES, exercise, exercises
from proofs_check.exercises.exercise import Solution
from proofs_check.exercises.grading import graded, read_answers
from proofs_check.exercises.numbers import Degrees, _degree

SEEDS = range(1, 21)


def as_json(solution: Solution) -> Any:
    """A solution as a student hands it in."""
    if not isinstance(solution, Weights):
        return solution
    return {name: [[str(x) for x in row] for row in matrix.tolist()] for name, matrix in solution.named().items()}


@pytest.mark.parametrize("number", range(1, 11))
def test_seeds_draw_many_questions(number: int) -> None:
    texts = {question_text(exercise(number, seed)) for seed in SEEDS}
    assert len(texts) >= 10
    assert question_text(exercise(number, 7)) == question_text(exercise(number, 7))


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_solutions_are_right_and_those_of_others_mostly_not(seed: int | None) -> None:
    others = exercises((seed or 0) + 4)
    solved_by_others = 0
    for mine, other in zip(exercises(seed), others, strict=True):
        assert mine.judge_value(as_json(mine.solution()))[0], mine.title
        try:
            solved_by_others += mine.judge_value(as_json(other.solution()))[0]
        except BadInput:  # of another shape
            continue
    assert solved_by_others <= (5 if seed is None else 3)  # two ask for any weights where nothing is drawn


def test_degrees_are_those_of_the_recursion() -> None:
    # the input of layer i + 1 is cubic in that of layer i, and so is the output of layer i in its own matrices
    for layers in (1, 2, 4):
        assert _degree(Degrees(layers)) == 3**layers
        assert [_degree(Degrees(layers, of)) for of in range(1, layers + 1)] == [
            3 ** (layers - of + 1) for of in range(1, layers + 1)
        ]


def test_the_lesson_answers_none() -> None:
    """No file and no shape in its commands, and no dimension that is asked for, whatever it prints of them."""
    page = (ROOT / "docs/tutorials/lesson.md").read_text(encoding="utf-8")
    lesson = page.partition("## Sheets and marks")[0]
    commands = [shlex.split(line[2:]) for line in lesson.splitlines() if line.startswith("$ lightning-sym")]
    files = {word for words in commands for word in words if word.endswith(".json")}
    assert len(files) >= 2
    shapes = [words for words in commands if "--widths" in words]
    assert shapes
    for number, each in enumerate(EXERCISES, start=1):
        for file in files if each.takes.startswith("weights") else ():
            try:
                assert not each.judge(str(ROOT / file))[0], (number, file)
            except BadInput:
                continue
    for words in shapes:
        sizes = {words[i]: words[i + 1] for i in range(2, len(words), 2)}
        asked = question_text(EXERCISES[5])
        assert f"widths {sizes['--widths']}, ranks {sizes['--ranks']}, tokens {sizes['--tokens']}" not in asked
        assert not EXERCISES[6].judge(f"{sizes['--widths']} / {sizes['--ranks']}")[0]


def test_a_sheet_has_every_question_and_no_solution_unless_asked() -> None:
    asked = exercises(5)
    for lines in (html_lines, latex_lines):
        bare, solved = ("\n".join(lines(asked, 5, solutions=told)) for told in (False, True))
        assert all(each.title in bare for each in asked)
        assert "exercise 2 --seed 5" in bare.replace("-{}-", "--")
        assert len(re.findall(r"begin\{bmatrix\}|<mtable", solved)) > len(re.findall(r"begin\{bmatrix\}|<mtable", bare))
        shape = str(asked[6].solution())
        assert shape in solved
        assert shape not in bare
    page = "\n".join(html_lines(asked, None, solutions=True))
    root = ElementTree.fromstring(page)  # noqa: S314 - our own page
    assert len(root.findall(".//{*}section")) == 10
    assert "Sheet" not in "".join(root.itertext())
    assert not re.findall(r'(?:src|href)="', page)


def test_a_class_is_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {str(n): as_json(each.solution()) for n, each in enumerate(exercises(9), start=1)}
    spoiled = {**right, "2": "mine.json", "3": {"Q1": [[1]]}, "4": None, "6": True, "7": [2], "8": {"Q1": 3}}
    class_file = tmp_path / "class.json"
    students = [
        {"name": "A", "seed": 9, "answers": right},
        {"name": "B", "seed": 9, "answers": spoiled},
        {"name": "C", "answers": {"1": 27.0, "6": 0.5}},
        {"name": "D", "seed": 10, "answers": right},
    ]
    class_file.write_text(json.dumps({"students": students}), encoding="utf-8")
    code, out, err = run(capsys, "exercise", "--grade", str(class_file), "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "lightning-sym/grades/1"
    first, second, third, fourth = document["students"]
    assert (first["right"], first["answered"]) == (10, 10)
    assert (second["right"], second["answered"]) == (4, 10)
    assert [grade["number"] for grade in second["grades"] if not grade["right"]] == [2, 3, 4, 6, 7, 8]
    assert (third["right"], third["answered"], third["seed"]) == (1, 2, None)
    assert third["grades"][5]["because"] == "the answer must be an integer, got '1/2'"
    assert third["grades"][1] == {"number": 2, "right": None, "because": None}
    assert fourth["right"] < 5


@pytest.mark.parametrize(
    ("text", "must"),
    [
        ("[]", '"students"'), ("{", "JSON"), ('{"students": {}}', "a list"), ('{"students": [1]}', "a student must"),
        ('{"students": [{"name": "A"}]}', "a student must"),
        ('{"students": [{"name": "A\\u001b[2J", "answers": {}}]}', "one line"),
        ('{"students": [{"name": "A", "seed": -1, "answers": {}}]}', "a seed"),
        ('{"students": [{"name": "A", "seed": 1.5, "answers": {}}]}', "a seed"),
        ('{"students": [{"name": "A", "answers": {"11": 3}}]}', "answers of A must be an object of keys 1 to 10"),
        ('{"students": [{"name": "A", "answers": {"1": 3, "1": 4}}]}', "must not repeat"),
    ],
)  # fmt: skip
def test_what_is_no_class(text: str, must: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "class.json"
    file.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "exercise", "--grade", str(file))
    assert (code, out) == (2, "")
    assert must in err
    assert err.count("\n") == 1


def test_options_that_do_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = str(tmp_path / "sheet.html")
    for words in (
        ("--solutions",), ("3", "--sheet", sheet), ("--grade", "examples/answers.json", "--seed", "1"),
        ("--grade", "nowhere.json"), ("--sheet", str(tmp_path / "sheet.pdf")), ("--seed", "-1"),
        ("--grade", "examples/answers.json", "--answer", "1"),
    ):  # fmt: skip
        code, out, err = run(capsys, "exercise", *words)
        assert (code, out) == (2, ""), words
        assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_examples_of_a_class_are_of_it() -> None:
    marks = [(student.name, student.right) for student in map(graded, read_answers(ROOT / "examples/answers.json"))]
    assert marks == [("Ada", 4), ("Blaise", 0)]
    assert any("--grade" in one.source for one in examples((ROOT / "docs/tutorials/lesson.md").read_text("utf-8")))


def test_a_draw_is_the_same_everywhere() -> None:
    # what a sheet in print says must be what the program judges next year: random numbers by a seed are kept by Python
    assert Random("1 7").getrandbits(32) == 4206283887
    assert "Q1: " not in question_text(exercise(2, 7))
    assert question_text(exercise(3, 7)).endswith('{"Q1": [[2, 1]], "K1": [[3, -1]], "V1": [[-1, 2]]}')
