"""`lightning-sym explain-rewriting`: what was done between two checkpoints, step by step."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.check_answer import STEP
from lightning_cli.writing.checkpoint_answer import EXPLAINED, HOLDS
from lightning_cli.writing.fields import each, field, json_answer, one_of
from lightning_cli.writing.output import console, progress_bar, write_json
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_cli.writing import board_page, board_text, rewriting_steps
    from lightning_sym.checkpoints import folders, same_checkpoints

ANSWER = json_answer(
    "explain-rewriting",
    field("first", str, "the first checkpoint", "found.first"),
    field("second", str, "the second", "found.second"),
    field("answer", one_of("same", "rounding", "different", "undecided"), "as of `same`", "found.answer.value"),
    field("intro", str, "what the walk is about"),
    field("steps", each(STEP, 1), "what is said and shown, in order"),
    field("explained", [EXPLAINED], "known mistakes that explain a difference", "found.explained"),
    said="`lightning-sym explain-rewriting --json`. Labels and formulas are LaTeX, numbers are exact.",
)

ANSWERS = (ANSWER,)


@click.command(
    "explain-rewriting",
    epilog="""\b
Examples:
  lightning-sym explain-rewriting examples/checkpoints/model examples/checkpoints/rewritten
  lightning-sym explain-rewriting examples/checkpoints/model examples/checkpoints/forgotten_bias --html > story.html

Exit codes: 0 same, or up to rounding, 1 different, 2 bad input, 3 undecided.""",
)
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@options.WORK_OF_SAME
@click.option("--html", is_flag=True, help="Print a page, one file.")
@options.AS_JSON
def command(*, first: str, second: str, work: float, html: bool, as_json: bool) -> int:
    """Tell what was done between two checkpoints, step by step, on your own matrices.

    FIRST and SECOND are checkpoints as `same` reads them. Where one is a rewriting of the other, the symmetry is taken
    apart into steps that each leave the logits alone, and each is carried out on your matrices, exactly: gains, the
    stream, heads, values, queries and keys, neurons. Where they differ, the mistakes that explain it are told.
    """
    if html and as_json:
        raise click.UsageError("give one of --html, --json, not both")
    with progress_bar() as progress:
        one, other = (folders.open_checkpoint(path) for path in (first, second))
        found = same_checkpoints.same_checkpoints(one, other, work=work, progress=progress)
        told = rewriting_steps.told_rewriting(one, other, found)
    heading = f"{found.first} and {found.second}: {found.answer.value}"
    if as_json:
        write_json(ANSWER.document(told))
    elif html:
        click.echo("\n".join(board_page.steps_page(heading, told.intro, told.steps)))
    else:
        board_text.print_heading(heading, console())
        board_text.print_steps(told.intro, told.steps, console())
    return exit_codes.CODES[HOLDS[found.answer.value]]
