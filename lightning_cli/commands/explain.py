"""`lightning-sym explain`: a claim at the blackboard."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unicodedata import combining

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.math_text import NO_BREAK, number_latex, plain, prose, terms_latex

if TYPE_CHECKING:
    from rich.console import Console

    from proofs_check.blackboard import WalkThrough
    from proofs_check.blackboard.step import Matrix, Number, Polynomial, Shown, Step
    from proofs_check.claim import Claim

SCHEMA = "lightning-sym/explain/1"

WIDTH = 92
"""Prose wider than this is hard to read."""

_UNICODE = (("⎡", "⎤"), ("⎢", "⎥"), ("⎣", "⎦"), ("[", "]"))
_ASCII = (("[", "]"),) * 4

Block = list[str]


def _size(text: str) -> int:
    """Width on the screen: accents on letters take no room of their own."""
    return sum(not combining(c) for c in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _size(text))


# --- as text


def _terms(polynomial: Polynomial, unicode: bool) -> list[str]:
    return [plain(term, unicode) for term in terms_latex(polynomial)]


def _entry(value: Number, unicode: bool) -> str:
    return str(value) if isinstance(value, Fraction) else " ".join(_terms(value, unicode))


def matrix_lines(matrix: Matrix, unicode: bool) -> Block:
    """A matrix in brackets, entries right-aligned, with its labels outside."""
    cells = [[_entry(entry, unicode) for entry in row] for row in matrix.rows]
    heads = [plain(label, unicode) for label in matrix.column_labels]
    sides = [plain(label, unicode) for label in matrix.row_labels]
    widths = [max(map(len, column)) for column in zip(*([heads] if heads else []), *cells, strict=True)]
    side = max(map(len, sides), default=-1) + 1

    def line(words: Sequence[str]) -> str:
        return "  ".join(word.rjust(width) for word, width in zip(words, widths, strict=True))

    first, middle, last, single = _UNICODE if unicode else _ASCII
    lines = [f"{'':{side}}  {line(heads)}"] if heads else []
    for i, row in enumerate(cells):
        left, right = single if len(cells) == 1 else first if i == 0 else last if i == len(cells) - 1 else middle
        label = f"{sides[i]:>{side - 1}} " if sides else ""
        lines.append(f"{label}{left} {line(row)} {right}")
    return lines


def shown_lines(shown: Shown, unicode: bool, width: int) -> Block:
    """`label = value` as a block of lines."""
    from proofs_check.blackboard.step import Matrix, Polynomial

    name = plain(shown.label, unicode)
    head = f"{name} = " if name else ""
    if isinstance(shown.value, Matrix):
        lines = matrix_lines(shown.value, unicode)
        top = int(bool(shown.value.column_labels))  # the head line is not part of the matrix
        middle = top + (len(lines) - top - 1) // 2
        block = [(head if i == middle else " " * _size(head)) + line for i, line in enumerate(lines)]
        if max(map(_size, block)) > width and head:
            block = [head.strip(), *lines]  # better without the indent than torn apart
        return block
    if isinstance(shown.value, Polynomial):
        terms = [term.replace(" ", NO_BREAK) for term in _terms(shown.value, unicode)]
        text = " ".join(terms)
    else:
        text = str(shown.value) if isinstance(shown.value, Fraction) else plain(shown.value, unicode)
    lines = textwrap.wrap(text, max(width - _size(head), 20), break_long_words=False, break_on_hyphens=False)
    return [(head if i == 0 else " " * _size(head)) + line.replace(NO_BREAK, " ") for i, line in enumerate(lines)]


def side_by_side(blocks: Sequence[Block], width: int, gap: int = 4) -> list[Block]:
    """Rows of blocks, as many beside each other as fit, each centred on its row."""
    rows: list[list[Block]] = []
    used = 0
    for block in blocks:
        size = max(map(_size, block))
        if rows and used + gap + size <= width:
            rows[-1].append(block)
            used += gap + size
        else:
            rows.append([block])
            used = size
    joined = []
    for row in rows:
        height = max(map(len, row))
        padded = []
        for block in row:
            above = (height - len(block)) // 2
            size = max(map(_size, block))
            lines = [""] * above + block + [""] * (height - len(block) - above)
            padded.append([_pad(line, size) for line in lines])
        joined.append([(" " * gap).join(parts).rstrip() for parts in zip(*padded, strict=True)])
    return joined


def _print(claim: Claim, walk: WalkThrough, steps: Sequence[Step], out: Console) -> None:
    from rich.rule import Rule
    from rich.text import Text

    unicode = out.encoding.lower().startswith("utf")
    width = min(out.width, WIDTH)

    def paragraph(text: str, style: str = "") -> None:
        for line in textwrap.wrap(prose(text, unicode), width, break_on_hyphens=False):
            out.print(Text(line.replace(NO_BREAK, " "), style))

    out.print(
        Rule(Text(f"{claim.source}   ({claim.id})", "bold"), align="left", characters="─" if unicode else "-"),
        width=width,
    )
    paragraph(claim.title, "italic")
    paragraph(walk.intro)
    for number, step in enumerate(steps, start=1):
        out.print()
        out.print(Text(f"{number}. {prose(step.heading, unicode)}".replace(NO_BREAK, " "), "bold cyan"))
        paragraph(step.prose)
        blocks = [shown_lines(shown, unicode, width - 4) for shown in step.shown]
        for block in side_by_side(blocks, width - 4):
            out.print()
            for line in block:
                out.print(Text("    " + line, "green"), no_wrap=True, overflow="ignore", crop=False)
    out.print()
    out.print(Text.assemble("check it: ", (f"lightning-sym check {claim.id}", "bold")))


# --- as LaTeX


def _latex_value(value: Matrix | Polynomial | Fraction | str) -> str:
    from proofs_check.blackboard.step import Matrix, Polynomial

    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return number_latex(value)
    if isinstance(value, Polynomial):
        return " ".join(terms_latex(value))
    assert isinstance(value, Matrix)  # noqa: S101 - narrows the union for the type checker
    rows = [[_latex_value(entry) for entry in row] for row in value.rows]
    body = r" \\ ".join(" & ".join(row) for row in rows)
    if not value.row_labels and not value.column_labels:
        return rf"\left[\begin{{smallmatrix}} {body} \end{{smallmatrix}}\right]"
    if value.row_labels:
        rows = [[label, *row] for label, row in zip(value.row_labels, rows, strict=True)]
    if value.column_labels:
        rows.insert(0, [*([""] if value.row_labels else []), *value.column_labels])
    body = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\begin{{smallmatrix}} {body} \end{{smallmatrix}}"


def latex_lines(claim: Claim, walk: WalkThrough, steps: Sequence[Step]) -> Iterator[str]:
    """The walk-through as a section of LaTeX; needs amsmath and amssymb."""
    yield rf"\section*{{{claim.source}}}"
    yield rf"\[ \begin{{gathered}} {claim.statement} \end{{gathered}} \]"
    yield walk.intro
    for step in steps:
        yield rf"\subsection*{{{step.heading}}}"
        yield step.prose
        if step.shown:
            yield r"\begin{gather*}"
            pieces = [(f"{shown.label} = " if shown.label else "") + _latex_value(shown.value) for shown in step.shown]
            yield " \\\\\n".join(pieces)
            yield r"\end{gather*}"
    yield rf"Check it: \texttt{{lightning-sym check {claim.id}}}"


# --- as data


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
        return {
            "label": shown.label,
            "kind": "matrix",
            "rows": [[_number(entry) for entry in row] for row in value.rows],
            "row_labels": list(value.row_labels),
            "column_labels": list(value.column_labels),
        }
    if isinstance(value, str):
        return {"label": shown.label, "kind": "formula", "value": value}
    kind = "number" if isinstance(value, Fraction) else "polynomial"
    return {"label": shown.label, "kind": kind, "value": _number(value)}


def as_document(claim: Claim, walk: WalkThrough, steps: Sequence[Step]) -> dict[str, Any]:
    """The walk-through as JSON; labels and formulas are LaTeX, numbers are exact, as text."""
    return {
        "schema": SCHEMA,
        "id": claim.id,
        "source": claim.source,
        "title": claim.title,
        "statement": claim.statement,
        "intro": walk.intro,
        "steps": [
            {"heading": step.heading, "prose": step.prose, "shown": [_shown_document(s) for s in step.shown]}
            for step in steps
        ],
        "check": f"lightning-sym check {claim.id}",
    }


@click.command(
    "explain",
    epilog="""\b
Examples:
  lightning-sym explain theorem-3.2
  lightning-sym explain corollary-3.3 --latex

Exit codes: 0 explained, 2 bad input (there is no such claim).""",
)
@click.argument("claim_id", metavar="ID")
@click.option("--latex", is_flag=True, help="Print LaTeX.")
@options.as_json
def command(claim_id: str, latex: bool, as_json: bool) -> int:
    """Walk through a claim with small matrices, step by step, as at a blackboard.

    Everything shown is computed on the spot, with exact numbers. `lightning-sym check --list` names the claims.
    """
    from lightning_cli.writing.output import console, write_json
    from lightning_sym.errors import BadInput
    from proofs_check.registry import claim_by_id

    if latex and as_json:
        raise click.UsageError("give --latex or --json, not both")
    claim = claim_by_id(claim_id)

    from proofs_check.blackboard import WALK_THROUGHS

    walk = WALK_THROUGHS.get(claim.id)
    if walk is None:
        raise BadInput(f"the claim must have a walk-through; {claim.id} has none yet")
    steps = list(walk.steps())
    if as_json:
        write_json(as_document(claim, walk, steps))
    elif latex:
        for line in latex_lines(claim, walk, steps):
            click.echo(line)
    else:
        _print(claim, walk, steps, console())
    return exit_codes.AS_EXPECTED
