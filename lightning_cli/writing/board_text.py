"""A walk-through on the terminal: prose, and matrices side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING
from unicodedata import combining

from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from lightning_cli.writing.math_text import NO_BREAK, plain, prose, terms_latex
from proofs_check.blackboard.step import Number, Polynomial, Shown, ShownMatrix, Step
from proofs_check.instances import reach

if TYPE_CHECKING:
    from rich.console import Console

    from proofs_check.claim import Claim

WIDTH = 92
"""Prose wider than this is hard to read."""

_UNICODE = (("⎡", "⎤"), ("⎢", "⎥"), ("⎣", "⎦"), ("[", "]"))
_ASCII = (("[", "]"),) * 4

Block = list[str]


def _size(text: str) -> int:
    """Return the width on the screen: accents on letters take no room of their own."""
    return sum(not combining(c) for c in text)


def _terms(polynomial: Polynomial, *, unicode: bool) -> list[str]:
    return [plain(term, unicode=unicode) for term in terms_latex(polynomial)]


def _entry(value: Number, *, unicode: bool) -> str:
    return str(value) if isinstance(value, Fraction) else " ".join(_terms(value, unicode=unicode))


def matrix_lines(matrix: ShownMatrix, *, unicode: bool) -> Block:
    """Return a matrix in brackets, entries right-aligned, with its labels outside."""
    cells = [[_entry(entry, unicode=unicode) for entry in row] for row in matrix.rows]
    heads = [plain(label, unicode=unicode) for label in matrix.column_labels]
    sides = [plain(label, unicode=unicode) for label in matrix.row_labels]
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


def shown_lines(shown: Shown, *, unicode: bool, width: int) -> Block:
    """Return `label = value` as a block of lines."""
    name = plain(shown.label, unicode=unicode)
    head = f"{name} = " if name else ""
    if isinstance(shown.value, ShownMatrix):
        lines = matrix_lines(shown.value, unicode=unicode)
        top = int(bool(shown.value.column_labels))  # the head line is not part of the matrix
        middle = top + (len(lines) - top - 1) // 2
        block = [(head if i == middle else " " * _size(head)) + line for i, line in enumerate(lines)]
        if max(map(_size, block)) > width and head:
            block = [head.strip(), *lines]  # better without the indent than torn apart
        return block
    if isinstance(shown.value, Polynomial):
        terms = [term.replace(" ", NO_BREAK) for term in _terms(shown.value, unicode=unicode)]
        text = " ".join(terms)
    else:
        text = str(shown.value) if isinstance(shown.value, Fraction) else plain(shown.value, unicode=unicode)
    lines = textwrap.wrap(text, max(width - _size(head), 20), break_long_words=False, break_on_hyphens=False)
    return [(head if i == 0 else " " * _size(head)) + line.replace(NO_BREAK, " ") for i, line in enumerate(lines)]


def side_by_side(blocks: Sequence[Block], width: int) -> list[Block]:
    """Return rows of blocks, as many beside each other as fit, each centred on its row."""
    gap = 4
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
            padded.append([line + " " * (size - _size(line)) for line in lines])
        joined.append([(" " * gap).join(parts).rstrip() for parts in zip(*padded, strict=True)])
    return joined


def answer_table(lines: Sequence[tuple[str, str]]) -> Table:
    """Return labels and words in two columns."""
    table = Table.grid(padding=(0, 2))
    for label, words in lines:
        table.add_row(Text(label), Text(words))
    return table


def print_board(
    claim: Claim, intro: str, steps: Sequence[Step], out: Console, between: Callable[[], None] | None = None
) -> None:
    """Print the whole walk-through of a claim; `between` is called before each step, so that a speaker can wait."""
    print_heading(f"{claim.source}   ({claim.id})", out)
    _paragraph(claim.title, out, "italic")
    _paragraph(claim.hypotheses, out)
    out.print()
    print_steps(intro, steps, out, between)
    out.print()
    _paragraph("What is checked, and how far it reaches:", out)
    for part in claim.parts:
        _paragraph(f"- {part.name} ({part.scope.name}; {reach(part)})", out)
    out.print()
    out.print(Text.assemble("check it: ", (f"lightning-sym check {claim.id}", "bold")))


def print_heading(text: str, out: Console) -> None:
    """Print a line with a heading in it."""
    characters = "─" if _unicode(out) else "-"
    out.print(Rule(Text(text, "bold"), align="left", characters=characters), width=min(out.width, WIDTH))


def print_steps(intro: str, steps: Sequence[Step], out: Console, between: Callable[[], None] | None = None) -> None:
    """Print what is said and shown; `between` is called before each step."""
    unicode, width = _unicode(out), min(out.width, WIDTH)
    _paragraph(intro, out)
    for number, step in enumerate(steps, start=1):
        if between is not None:
            between()
        out.print()
        out.print(Text(f"{number}. {prose(step.heading, unicode=unicode)}".replace(NO_BREAK, " "), "bold cyan"))
        _paragraph(step.prose, out)
        blocks = [shown_lines(shown, unicode=unicode, width=width - 4) for shown in step.shown]
        for block in side_by_side(blocks, width - 4):
            out.print()
            for line in block:
                out.print(Text("    " + line, "green"), no_wrap=True, overflow="ignore", crop=False)
        if step.answer:
            out.print()
            out.print(Padding(answer_table(step.answer), (0, 0, 0, 4)), width=width)


def _unicode(out: Console) -> bool:
    """Return whether the console shows all of Unicode."""
    return out.encoding.lower().startswith("utf")


def _paragraph(text: str, out: Console, style: str = "") -> None:
    """Print prose, wrapped."""
    for line in textwrap.wrap(prose(text, unicode=_unicode(out)), min(out.width, WIDTH), break_on_hyphens=False):
        out.print(Text(line.replace(NO_BREAK, " "), style))
