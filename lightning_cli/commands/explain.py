"""`lightning-sym explain`: a claim at the blackboard."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.check_answer import HYPOTHESES, SCOPES, STEP
from lightning_cli.writing.fields import each, field, group, json_answer
from lightning_cli.writing.output import console, write_json
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_cli.writing import board_latex, board_page, board_text
    from proofs_check import instances, registry


PART = group(
    field("name", str),
    field("scope", SCOPES, of="scope.name"),
    field("reach", str, of=lambda part: instances.reach(part)),
)

ANSWER = json_answer(
    "explain",
    field("id", str, "of the claim"),
    field("source", str, "where it stands in the paper"),
    field("title", str, "what it is about in one line"),
    field("statement", str, "in LaTeX"),
    field("hypotheses", str, HYPOTHESES),
    field("intro", str, "what the walk is about"),
    field("steps", each(STEP, 1), "what is said and shown, in order"),
    field(
        "parts",
        each(PART, 1),
        "what is checked of the claim, at which scope, and how far the instances of the full size reach",
    ),
    field("check", str, "the command that checks it", lambda claim: f"lightning-sym check {claim.id}"),
    said="`lightning-sym explain --json`. Labels and formulas are LaTeX, numbers are exact.",
)

ANSWERS = (ANSWER,)


@click.command(
    "explain",
    epilog="""\b
Examples:
  lightning-sym explain theorem-3.2
  lightning-sym explain theorem-3.2 --weights examples/rank_one.json
  lightning-sym explain corollary-3.3 --slides > talk.tex
  lightning-sym explain figure-1 --slides --author "A. Teacher" --picture figure-1.pdf > talk.tex

Exit codes: 0 explained, 2 bad input (there is no such claim).""",
)
@click.argument("claim_id", metavar="ID")
@click.option("--weights", type=click.Path(), metavar="FILE", help="Walk through it on these weights.")
@click.option("--pause", is_flag=True, help="Wait for a key before each step.")
@click.option("--latex", is_flag=True, help="Print a section of LaTeX.")
@click.option("--slides", is_flag=True, help="Print a LaTeX file of beamer frames.")
@click.option("--html", is_flag=True, help="Print a page, one file.")
@click.option("--author", metavar="NAME", help="With --slides: who gives the talk; with the date, on the first frame.")
@click.option("--date", metavar="DATE", help="With --slides: instead of the day on which it is typeset.")
@click.option(
    "--picture",
    type=click.Path(exists=True, dir_okay=False),
    metavar="PICTURE",
    help="With --slides: a .pdf or .png for the second frame, such as `lightning-sym figure` draws.",
)
@options.AS_JSON
def command(
    *,
    claim_id: str,
    weights: str | None,
    pause: bool,
    author: str | None,
    date: str | None,
    picture: str | None,
    as_json: bool,
    **forms: bool,
) -> int:
    """Walk through a claim with small matrices, step by step, as at a blackboard.

    Everything shown is computed on the spot, with exact numbers. `lightning-sym check --list` names the claims.
    """
    chosen = [name for name, wanted in {**forms, "json": as_json}.items() if wanted]
    title = {name: said for name, said in {"author": author, "date": date, "picture": picture}.items() if said}
    options.refuse(
        (len(chosen) > 1, "give one of --latex, --slides, --html, --json, not several"),
        (title and chosen != ["slides"], "--author, --date and --picture need --slides"),
    )
    claim = registry.claim_by_id(claim_id)
    if pause and (chosen or not sys.stdin.isatty()):
        raise BadInput("--pause must be given at a terminal, and without another form of output")

    intro, steps = registry.walk_through(claim.id, None if weights is None else options.load_weights(weights))
    if as_json:
        write_json(ANSWER.document(claim, intro=intro, steps=steps))
    elif chosen:
        lines: Iterator[str] = LINES[chosen[0]](claim, intro, steps, **title)
        click.echo("\n".join(lines))  # all of it, or nothing
    else:
        board_text.print_board(claim, intro, steps, console(), between=(lambda: click.pause("")) if pause else None)
    return exit_codes.AS_EXPECTED


LINES: dict[str, Callable[..., Iterator[str]]] = {
    "html": lambda *walk: board_page.page_lines(*walk),
    "latex": lambda *walk: board_latex.latex_lines(*walk),
    "slides": lambda *walk, **title: board_latex.slides_lines(*walk, **title),
}
"""By its option, the walk-through in another form."""
