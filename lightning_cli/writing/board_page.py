"""A walk-through as a page: one file, to be read without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from lightning_cli.writing.board_latex import shown_latex
from lightning_cli.writing.math_text import terms_latex
from lightning_cli.writing.mathml import formula_lines, mathml, typeset
from lightning_cli.writing.page_style import page
from proofs_check.blackboard.step import Polynomial, Shown, Step
from proofs_check.instances import reach

if TYPE_CHECKING:
    from proofs_check.claim import Claim

BOARD_STYLE = """
.board { display: flex; flex-wrap: wrap; gap: .6rem 2rem; align-items: center; }
.board > div { overflow: auto hidden; max-width: 100%; padding: .25rem 0; scrollbar-width: thin; }
.board math { font-size: 1.12em; }
.polynomial { line-height: 2; }
.answer td:first-child { white-space: nowrap; color: var(--faint); }
"""


def sentences(text: str) -> str:
    """Return prose with `$formulas$` in it as HTML."""
    pieces = text.split("$")
    return "".join(mathml(p, "inline") if i % 2 else escape(p) for i, p in enumerate(pieces))


def _thing(shown: Shown) -> str:
    """Return one thing on the board; a polynomial breaks between its terms."""
    if isinstance(shown.value, Polynomial):
        head = f"{shown.label} =" if shown.label else ""
        first, *others = terms_latex(shown.value)
        terms = " ".join(mathml(term, "inline") for term in (head, first) if term)
        for term in others:  # a sign in front of a formula would stand close, as if it were that of a number
            terms += " " + mathml(term, "inline").replace("<mo>", '<mo form="infix">', 1)
        return f'<div class="polynomial">{terms}</div>'
    return f'<div tabindex="0">{mathml(shown_latex(shown))}</div>'


def page_lines(claim: Claim, intro: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the page, line by line.

    Raises:
        ProgramError: a formula does not convert to MathML.
    """
    return page(f"{claim.source}: {claim.title}", _body(claim, intro, steps), BOARD_STYLE)


def _body(claim: Claim, intro: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield what stands on the page."""
    yield "<main>"
    yield f"<h1>{escape(claim.source)}</h1><p class='summary'>{escape(claim.title[0].upper() + claim.title[1:])}.</p>"
    lines = "".join(mathml(line) for line in formula_lines(claim.statement))
    yield f'<div class="statement" tabindex="0">{lines}</div><p>{sentences(claim.hypotheses)}</p>'
    yield from step_lines(intro, steps)
    yield from part_lines(claim)
    yield f"<p class='repeat'>check it: <code>lightning-sym check {escape(claim.id)}</code></p></main>"


def steps_page(title: str, intro: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield a page of steps that are about no claim, line by line."""
    body = (f"<main class='explained'><h1>{escape(title)}</h1>", *step_lines(intro, steps), "</main>")
    return page(title, body, BOARD_STYLE)


def part_lines(claim: Claim) -> Iterator[str]:
    """Yield what is checked of a claim, at which scope, and how far the instances reach."""
    yield "<table><thead><tr><th>What is checked</th><th>Scope</th><th>Reach</th></tr></thead><tbody>"
    for part in claim.parts:
        yield f"<tr><td>{typeset(part.name)}</td><td>{part.scope.name}</td><td>{typeset(reach(part))}</td></tr>"
    yield "</tbody></table>"


def step_lines(intro: str, steps: Sequence[Step], level: int = 2) -> Iterator[str]:
    """Yield what is said and shown, for a page; headings are of the given level."""
    yield f"<p>{sentences(intro)}</p>"
    for number, step in enumerate(steps, start=1):
        yield f"<section><h{level}>{number}. {sentences(step.heading)}</h{level}><p>{sentences(step.prose)}</p>"
        if step.shown:
            yield f'<div class="board">{"".join(map(_thing, step.shown))}</div>'
        if step.answer:
            rows = "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in step.answer)
            yield f'<table class="answer"><tbody>{rows}</tbody></table>'
        yield "</section>"
