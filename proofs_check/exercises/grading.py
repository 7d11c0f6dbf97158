"""The answers of a class: one file, in which each student has his own numbers, and all of it judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.readers.bounds import read_whole
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from proofs_check.exercises import ROWS, exercises
from proofs_check.exercises.exercise import Exercise

MOST_STUDENTS = 1000

LARGEST_CLASS = 2**24
"""Bytes of a file of answers."""

LONGEST_NAME = 200

LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Grade:
    """What came of one exercise.

    Attributes:
        number: of the exercise.
        right: whether the answer is right; `None` where there was none.
        because: what was computed, or why there was nothing to compute; `None` where there was no answer.
    """

    number: int
    right: bool | None
    because: str | None


@dataclass(frozen=True)
class GradedStudent:
    """What came of the answers of one student.

    Attributes:
        name: as the file has it.
        seed: which drew the numbers; `None` for those that everybody gets.
        grades: of all exercises, in their order.
    """

    name: str
    seed: int | None
    grades: tuple[Grade, ...]

    @property
    def right(self) -> int:
        """How many answers are right."""
        return sum(grade.right is True for grade in self.grades)

    @property
    def answered(self) -> int:
        """How many exercises have an answer."""
        return sum(grade.right is not None for grade in self.grades)


@dataclass(frozen=True)
class Answers:
    """The answers of one student, as the file has them, by the number of the exercise."""

    name: str
    seed: int | None
    values: Mapping[int, object]


def read_answers(path: Path) -> tuple[Answers, ...]:
    """Read `{"students": [{"name": "Ada", "seed": 3, "answers": {"1": 27, "7": "3,2,2 / 1,2", ...}}, ...]}`.

    Weights stand in it as objects of matrices. Without a seed, or with null, it is about what everybody gets.

    Raises:
        BadInput: the file cannot be read, or is not of this form; what an answer itself is, is not looked at.
    """
    try:
        document = parse(read_whole(path, LARGEST_CLASS), ExactNumbers())
        students = document.get("students") if isinstance(document, dict) and len(document) == 1 else None
        if not isinstance(students, list):
            raise FileFormatError(f'it must be an object with "students", a list, alone, got {shown(document)}')
        if len(students) > MOST_STUDENTS:
            raise FileFormatError(f"there must be at most {MOST_STUDENTS:,} students, got {len(students):,}")
        return tuple(_answers(student) for student in students)
    except BadInput as error:
        raise type(error)(f"{path}: {error}") from error


def _answers(student: object) -> Answers:
    if not isinstance(student, dict) or student.keys() - {"seed"} != {"name", "answers"}:
        raise FileFormatError(f"a student must have name, answers and perhaps seed, alone, got {shown(student)}")
    name, seed, answers = student["name"], student.get("seed"), student["answers"]
    if not isinstance(name, str) or not name.isprintable() or len(name) > LONGEST_NAME:
        raise FileFormatError(f"a name must be one line of at most {LONGEST_NAME} characters, got {shown(name)}")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= LARGEST_SEED):
        raise FileFormatError(f"a seed must be an integer from 0 to 2^63 - 1, got {shown(seed)}")
    numbers = {str(number): number for number in range(1, len(ROWS) + 1)}
    if not isinstance(answers, dict) or answers.keys() - numbers.keys():
        raise FileFormatError(f"answers of {name} must be an object of keys 1 to {len(ROWS)}, got {shown(answers)}")
    return Answers(name, seed, {numbers[key]: value for key, value in answers.items()})


def graded(answers: Answers) -> GradedStudent:
    """Return what came of the answers of one student; what is no answer is not right, and says why."""
    return GradedStudent(answers.name, answers.seed, tuple(_grades(answers)))


def _grades(answers: Answers) -> Iterator[Grade]:
    for number, exercise in enumerate(exercises(answers.seed), start=1):
        yield (
            _grade(number, exercise, answers.values[number]) if number in answers.values else Grade(number, None, None)
        )


def _grade(number: int, exercise: Exercise, value: object) -> Grade:
    try:
        return Grade(number, *exercise.judge_value(value))
    except BadInput as error:
        return Grade(number, False, str(error))
