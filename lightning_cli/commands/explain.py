"""`lightning-sym explain`: a claim at the blackboard."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.check_answer import HYPOTHESES, SCOPES
from lightning_cli.writing.fields import TEXT, JsonAnswer, JsonField, constant, each, either, group, in_order, one_of
from lightning_cli.writing.shared_fields import ANY_MATRIX

if TYPE_CHECKING:
    from proofs_check.blackboard.step import Number, Shown, Step
    from proofs_check.claim import Claim, Part


def _number(value: Number) -> str:
    """`3/2`, or `2*x^2*y - r`, which computer algebra systems read."""
    if isinstance(value, Fraction):
        return str(value)
    text = ""
    for exponents, c in value.terms:
        factors = [n + (f"^{e}" if e > 1 else "") for n, e in zip(value.variables, exponents, strict=True) if e]
        size = [str(abs(c))] if abs(c) != 1 or not factors else []
        sign = (" - " if text else "-") if c < 0 else (" + " if text else "")
        text += sign + "*".join(size + factors)
    return text or "0"


def _shown_document(shown: Shown) -> dict[str, Any]:
    from proofs_check.blackboard.step import Matrix

    value = shown.value
    if isinstance(value, Matrix):
        rows = [[_number(entry) for entry in row] for row in value.rows]
        return MATRIX.written((shown.label, "matrix", rows, value.row_labels, value.column_labels))  # type: ignore[no-any-return]
    kind = "formula" if isinstance(value, str) else "number" if isinstance(value, Fraction) else "polynomial"
    said = value if isinstance(value, str) else _number(value)
    return VALUE.written((shown.label, kind, said))  # type: ignore[no-any-return]


MATRIX = in_order(
    JsonField("label", TEXT),
    JsonField("kind", constant("matrix")),
    JsonField("rows", ANY_MATRIX),
    JsonField("row_labels", each(TEXT)),
    JsonField("column_labels", each(TEXT)),
)

VALUE = in_order(
    JsonField("label", TEXT), JsonField("kind", one_of("formula", "number", "polynomial")), JsonField("value", TEXT)
)

STEP = group(
    JsonField("heading", TEXT),
    JsonField("prose", TEXT),
    JsonField("shown", each(either(MATRIX, VALUE, written=_shown_document))),
    JsonField("answer", each(in_order(JsonField("label", TEXT), JsonField("words", TEXT)))),
)


def _reach(part: Part) -> str:
    from proofs_check.instances import reach

    return reach(part)


PART = group(JsonField("name", TEXT), JsonField("scope", SCOPES, of="scope.name"), JsonField("reach", TEXT, of=_reach))

ANSWER = JsonAnswer(
    "explain",
    "`lightning-sym explain --json`. Labels and formulas are LaTeX, numbers are exact.",
    (
        JsonField("id", TEXT, "of the claim"),
        JsonField("source", TEXT, "where it stands in the paper"),
        JsonField("title", TEXT, "what it is about in one line"),
        JsonField("statement", TEXT, "in LaTeX"),
        JsonField("hypotheses", TEXT, HYPOTHESES),
        JsonField("intro", TEXT, "what the walk is about"),
        JsonField("steps", each(STEP, 1), "what is said and shown, in order"),
        JsonField(
            "parts",
            each(PART, 1),
            "what is checked of the claim, at which scope, and how far the instances of the full size reach",
        ),
        JsonField("check", TEXT, "the command that checks it", lambda claim: f"lightning-sym check {claim.id}"),
    ),
)

ANSWERS = (ANSWER,)


@click.command(
    "explain",
    epilog="""\b
Examples:
  lightning-sym explain theorem-3.2
  lightning-sym explain theorem-3.2 --weights examples/rank_one.json
  lightning-sym explain corollary-3.3 --slides > talk.tex

Exit codes: 0 explained, 2 bad input (there is no such claim).""",
)
@click.argument("claim_id", metavar="ID")
@click.option("--weights", type=click.Path(), metavar="FILE", help="Walk through it on these weights.")
@click.option("--pause", is_flag=True, help="Wait for a key before each step.")
@click.option("--latex", is_flag=True, help="Print a section of LaTeX.")
@click.option("--slides", is_flag=True, help="Print a LaTeX file of beamer frames.")
@click.option("--html", is_flag=True, help="Print a page, one file.")
@options.as_json
def command(
    claim_id: str, weights: str | None, pause: bool, latex: bool, slides: bool, html: bool, as_json: bool
) -> int:
    """Walk through a claim with small matrices, step by step, as at a blackboard.

    Everything shown is computed on the spot, with exact numbers. `lightning-sym check --list` names the claims.
    """
    from lightning_cli.writing.output import console, write_json
    from lightning_sym.errors import BadInput
    from proofs_check.registry import claim_by_id, walk_through

    forms = {"latex": latex, "slides": slides, "html": html, "json": as_json}
    chosen = [name for name, wanted in forms.items() if wanted]
    if len(chosen) > 1:
        raise click.UsageError(f"give one of {', '.join(f'--{name}' for name in forms)}, not several")
    claim = claim_by_id(claim_id)
    if pause and (chosen or not sys.stdin.isatty()):
        raise BadInput("--pause must be given at a terminal, and without another form of output")

    own = None
    if weights is not None:
        own = options.load_weights(weights, normalization=None, mask=None, skip=False)
    intro, steps = walk_through(claim.id, own)
    if as_json:
        write_json(ANSWER.document(claim, intro=intro, steps=steps))
    elif chosen:
        click.echo("\n".join(_lines(chosen[0], claim, intro, steps)))  # all of it, or nothing
    else:
        from lightning_cli.writing.board_text import print_board

        print_board(claim, intro, steps, console(), between=(lambda: click.pause("")) if pause else None)
    return exit_codes.AS_EXPECTED


def _lines(form: str, claim: Claim, intro: str, steps: Sequence[Step]) -> Iterator[str]:
    """The walk-through as LaTeX, slides or a page."""
    if form == "html":
        from lightning_cli.writing.board_page import page_lines

        return page_lines(claim, intro, steps)
    from lightning_cli.writing.board_latex import latex_lines, slides_lines

    return (latex_lines if form == "latex" else slides_lines)(claim, intro, steps)
