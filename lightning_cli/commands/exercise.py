"""`lightning-sym exercise`: questions, and answers checked by computing."""

from __future__ import annotations

import textwrap

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.writing.fields import field, in_order, json_answer, optional
from lightning_cli.writing.output import write_json
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from proofs_check import exercises

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
)

ANSWERS = (ANSWER,)


@click.command(
    "exercise",
    epilog="""\b
Examples:
  lightning-sym exercise
  lightning-sym exercise 6 --answer 4
  lightning-sym exercise 3 --answer mine.json

Exit codes: 0 asked, or answered rightly; 1 not the right answer; 2 bad input.""",
)
@click.argument("number", type=Integer(), required=False, metavar="[N]")
@click.option("--answer", metavar="ANSWER", help="A number, a shape or a file of weights: the exercise says which.")
@options.AS_JSON
def command(*, number: int | None, answer: str | None, as_json: bool) -> int:
    """Ask one of ten exercises, or check an answer to it.

    Without N all of them are listed. No solution is stored: an answer is right if it does what was asked.
    """
    if number is None and answer is not None:
        raise click.UsageError("--answer needs the number of an exercise")
    asked = list(enumerate(exercises.EXERCISES, start=1)) if number is None else [(number, exercises.exercise(number))]
    right, because = (None, None) if answer is None else asked[0][1].judge(answer)
    if as_json:
        shown = [(i, e.title, e.question, e.takes) for i, e in asked]
        write_json(ANSWER.document(exercises=shown, right=right, because=because))
    elif right is not None:
        click.echo(f"{'right' if right else 'not yet'}: {because}")
    elif number is None:
        for i, each in asked:
            click.echo(f"{i:>2}  {each.title}")
    else:
        each = asked[0][1]
        click.echo(f"{number}. {each.title}\n")
        for line in textwrap.wrap(each.question, 92, break_long_words=False, break_on_hyphens=False):
            click.echo(line)
        click.echo(f"\nanswer with {each.takes}: lightning-sym exercise {number} --answer ...")
    return exit_codes.NOT_AS_EXPECTED if right is False else exit_codes.AS_EXPECTED
