"""`lightning-sym exercise`: questions, answers checked by computing, sheets of them, and the answers of a class."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.output_file import write_file
from lightning_cli.writing.fields import field, group, in_order, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar, write_json
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_cli.writing import exercise_sheet
    from proofs_check import exercises
    from proofs_check.exercises import grading

if TYPE_CHECKING:
    from proofs_check.exercises.exercise import Exercise

EXERCISE = in_order(field("number", int), field("title", str), field("question", str), field("takes", str))


ANSWER = json_answer(
    "exercise",
    field(
        "exercises",
        [EXERCISE],
        "all of them, or the one that was asked for: number, title, question and what an answer is",
    ),
    field("right", optional(bool), "whether the answer is right; null if none was given"),
    field("because", optional(str), "what was computed; null if no answer was given"),
    field("seed", optional(natural()), "which drew the numbers; null for those that everybody gets"),
    field("sheet", optional(str), "where the sheet was written; null if none was asked for"),
)

GRADE = group(field("number", int), field("right", optional(bool)), field("because", optional(str)))

STUDENT = group(
    field("name", str),
    field("seed", optional(natural())),
    field("right", natural()),
    field("answered", natural()),
    field("grades", [GRADE]),
)

GRADES = json_answer(
    "grades",
    field("students", [STUDENT], "each with seed, how many answers are right, and for each exercise whether and why"),
    field("exercises", natural(), "how many exercises there are"),
    said="`lightning-sym exercise --grade FILE --json`.",
)

ANSWERS = (ANSWER, GRADES)


@click.command(
    "exercise",
    epilog="""\b
Examples:
  lightning-sym exercise
  lightning-sym exercise 6 --answer 6
  lightning-sym exercise 3 --seed 17 --answer mine.json
  lightning-sym exercise 3 --answer '{"Q1": [[2, 1]], "K1": [[1, "1/2"]], "V1": [[1, 3]]}'
  lightning-sym exercise --sheet sheet.html --seed 17
  lightning-sym exercise --grade examples/answers.json

Exit codes: 0 asked, written, graded, or answered rightly; 1 not the right answer; 2 bad input.""",
)
@click.argument("number", type=Integer(), required=False, metavar="[N]")
@click.option("--seed", type=Integer(), help="Draw the numbers, for one student; without it everybody has the same.")
@click.option("--answer", metavar="ANSWER", help="A number, a shape, weights as JSON or in a file: see the exercise.")
@options.output(
    "a sheet", "--sheet", help="Write all of them to print, on two pages: .html or .tex.", endings=(".html", ".tex")
)
@click.option("--solutions", is_flag=True, help="With --sheet: write a right answer under each, computed here.")
@click.option("--grade", type=click.Path(), metavar="FILE", help="Judge the answers of a class, from a .json file.")
@options.AS_JSON
def command(
    *,
    number: int | None,
    seed: int | None,
    answer: str | None,
    sheet: str | None,
    solutions: bool,
    grade: str | None,
    as_json: bool,
) -> int:
    """Ask one of ten exercises, check an answer to it, or print all of them for a class.

    Without N all of them are listed. No solution is stored: an answer is right if it does what was asked.
    """
    options.refuse(
        (
            grade is not None and {number, seed, answer, sheet} != {None},
            "--grade must stand alone: the file names exercises and seeds",
        ),
        (number is None and answer is not None, "--answer needs the number of an exercise"),
        (solutions and sheet is None, "--solutions needs --sheet"),
        (sheet is not None and number is not None, "--sheet has all exercises: leave out N"),
    )
    if grade is not None:
        return _grade(grade, as_json=as_json)
    found = exercises.exercises(seed) if number is None else (exercises.exercise(number, seed),)
    asked = list(enumerate(found, start=number or 1))
    right, because = (None, None) if answer is None else asked[0][1].judge(answer)
    if sheet is not None:
        lines = exercise_sheet.LINES[Path(sheet).suffix]([each for _, each in asked], seed, solutions=solutions)
        write_file("the sheet", sheet, "\n".join(lines) + "\n")
    if as_json:
        shown = [(i, e.title, exercise_sheet.question_text(e), e.takes) for i, e in asked]
        write_json(ANSWER.document(exercises=shown, right=right, because=because, seed=seed, sheet=sheet))
    elif sheet is not None:
        click.echo(f"sheet: {sheet}")
    elif right is not None:
        click.echo(f"{'right' if right else 'not yet'}: {because}")
    elif number is None:
        for i, each in asked:
            click.echo(f"{i:>2}  {each.title}")
    else:
        _ask(number, asked[0][1], "" if seed is None else f" --seed {seed}")
    return exit_codes.NOT_AS_EXPECTED if right is False else exit_codes.AS_EXPECTED


def _ask(number: int, asked: Exercise, drawn: str) -> None:
    """Print one question, and how it is answered."""
    click.echo(f"{number}. {asked.title}\n")
    text = exercise_sheet.question_text(asked)
    for line in textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False):
        click.echo(line)
    click.echo(f"\nanswer with {asked.takes}: lightning-sym exercise {number}{drawn} --answer ...")


def _grade(file: str, *, as_json: bool) -> int:
    """Judge the answers of a class, and print what came of them."""
    answers = grading.read_answers(Path(file))
    students = []
    with progress_bar() as progress:
        for done, each in enumerate(answers, start=1):
            students.append(grading.graded(each))
            progress("students", done, len(answers))
    if as_json:
        write_json(GRADES.document(students=students, exercises=len(exercises.ROWS)))
        return exit_codes.AS_EXPECTED
    for student in students:
        drawn = "" if student.seed is None else f"  sheet {student.seed}"
        click.echo(f"{student.name}{drawn}: {student.right} of {len(exercises.ROWS)}, {student.answered} answered")
        for grade in student.grades:
            if grade.right is False:
                click.echo(f"  {grade.number:>2}  not yet: {grade.because}")
    return exit_codes.AS_EXPECTED
