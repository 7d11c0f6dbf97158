"""Ten exercises whose answers are checked by computing: no solution is stored, and any right answer is right.

Without a seed everybody has the same numbers; a seed draws those of one student.
"""

from __future__ import annotations

from random import Random
from typing import Any

from lightning_sym.errors import BadInput
from proofs_check.exercises import numbers, weights
from proofs_check.exercises.exercise import DrawnExercise, Exercise

ROWS: tuple[DrawnExercise[Any], ...] = (
    numbers.DEGREES,
    weights.QUERIES_AND_KEYS,
    weights.EXCHANGE,
    weights.ONE_TOKEN,
    numbers.JACOBIAN,
    numbers.DIMENSION,
    numbers.FORMULA,
    weights.SINGULAR,
    weights.CANCEL,
    weights.BLIND,
)
"""In the order of the lesson."""


def exercises(seed: int | None = None) -> tuple[Exercise, ...]:
    """Return all of them, those that everybody gets or those of one student."""
    chances = (None if seed is None else Random(f"{number} {seed}") for number in range(1, len(ROWS) + 1))
    return tuple(row.exercise(chance) for row, chance in zip(ROWS, chances, strict=True))


EXERCISES = exercises()
"""Those that everybody gets."""


def exercise(number: int, seed: int | None = None) -> Exercise:
    """Return one by number, from 1.

    Raises:
        BadInput: there is no such exercise.
    """
    if not 1 <= number <= len(ROWS):
        raise BadInput(f"the exercise must be one of 1 to {len(ROWS)}, got {number}")
    return exercises(seed)[number - 1]
