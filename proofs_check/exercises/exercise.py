"""What an exercise is, and what can be an answer to one: a number, a shape, or weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from lightning_sym import NetworkForm, Weights, load_weights
from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.network.form import LIGHTNING_FORM
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.network.readers.json_file import contents_of
from lightning_sym.rings.rationals import as_fraction

LARGEST = 4
"""Widths in an answer: what students write by hand."""

LONGEST = 20
"""Digits of a numerator or denominator in an answer."""

Judged = tuple[bool, str]

Given = Mapping[str, list[list[int]]]
"""Matrices of a question, by name."""

Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""Widths and ranks."""

Solution = int | str | Weights
"""A right answer: a number, a shape as it is typed, or weights."""

T = TypeVar("T")


@dataclass(frozen=True)
class Exercise:
    """A question, and how an answer is judged.

    Attributes:
        title: in a few words.
        question: what is asked, with formulas in LaTeX between dollars, and `{}` where matrices are given.
        takes: what an answer is.
        judge: whether an answer is right, and why; of a text that `takes` describes.
        judge_value: the same of a value of JSON: a number, a text, or an object of matrices.
        solution: computes a right answer, one of many where it is weights.
        given: matrices of the question, by name.
    """

    title: str
    question: str
    takes: str
    judge: Callable[[str], Judged]
    judge_value: Callable[[object], Judged]
    solution: Callable[[], Solution]
    given: Given = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerKind(Generic[T]):
    """A kind of answer: what is said of it, and how it is read, as it is typed and from JSON."""

    said: str
    typed: Callable[[str], T]
    of_json: Callable[[object], T]

    def exercise(
        self,
        title: str,
        question: str,
        judge: Callable[[T], Judged],
        solution: Callable[[], Solution],
        given: Given | None = None,
    ) -> Exercise:
        """Return an exercise whose answers are of this kind."""
        return Exercise(
            title,
            question,
            takes=self.said,
            judge=lambda text: judge(self.typed(text)),
            judge_value=lambda value: judge(self.of_json(value)),
            solution=solution,
            given=given or {},
        )


@dataclass(frozen=True)
class DrawnExercise(Generic[T]):
    """An exercise for many students: what it is made of, without a seed and by chance."""

    make: Callable[[T], Exercise]
    plain: T
    drawn: Callable[[Random], T]

    def exercise(self, chance: Random | None) -> Exercise:
        """Return the exercise that everybody gets, or the one that is drawn."""
        return self.make(self.plain if chance is None else self.drawn(chance))


# --- numbers and shapes


def _number(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text.strip()):
        raise BadInput(f"the answer must be an integer, got {text[:40]!r}")
    return int(text)


def _number_of_json(value: object) -> int:
    if value is None or isinstance(value, (bool, list, dict)):
        raise BadInput(f"the answer must be an integer, got {shown(value)}")
    return _number(str(value))


def _sizes(text: str) -> Sizes:
    words = re.fullmatch(r"\s*(\d(?:,\d)*)\s*/\s*(\d(?:,\d)*)\s*", text)
    if words is None:
        raise BadInput(f"the answer must be widths / ranks, such as 2,2,2 / 2,2, got {text[:40]!r}")
    widths, ranks = (tuple(map(int, word.split(","))) for word in words.groups())
    if max(widths + ranks) > LARGEST or len(widths) > LARGEST:
        raise BadInput(f"the answer must have at most {LARGEST} widths, of at most {LARGEST} each")
    return widths, ranks


def _sizes_of_json(value: object) -> Sizes:
    if not isinstance(value, str):
        raise BadInput(f"the answer must be a text, such as 2,2,2 / 2,2, got {shown(value)}")
    return _sizes(value)


NUMBER = AnswerKind("an integer", _number, _number_of_json)
SHAPE = AnswerKind("widths / ranks, such as 2,2,2 / 2,2", _sizes, _sizes_of_json)


# --- weights


def _by_hand(found: Weights) -> Weights:
    """Return weights of matrices that can be written by hand.

    Raises:
        BadInput: they are too large, or their numbers are.
    """
    found.require_numbers("an answer")
    if max(max(matrix.shape) for matrix in found.all_held.values()) > LARGEST:
        raise BadInput(f"the answer must have matrices of at most {LARGEST} rows and columns")
    entries = (as_fraction(entry) for matrix in found.numbers().values() for entry in matrix.ravel())
    if any(max(abs(entry.numerator), entry.denominator) >= 10**LONGEST for entry in entries):
        raise BadInput(f"the answer must have numbers of at most {LONGEST} digits")
    return found


def _weights_of_json(value: object) -> Weights:
    contents = contents_of(value, ExactNumbers())
    form = LIGHTNING_FORM if contents.form is None else NetworkForm.from_json(contents.form)
    return _by_hand(Weights.of(contents.matrices, form))


def _typed_weights(text: str) -> Weights:
    """Return the weights of a file, or of the text itself where it is what would stand in one."""
    pasted = text.lstrip().startswith("{")
    return _weights_of_json(parse(text.encode(), ExactNumbers())) if pasted else _by_hand(load_weights(Path(text)))


WEIGHTS = AnswerKind("weights as JSON, or a file of them", _typed_weights, _weights_of_json)
