"""Pages that are one file, to be read without a network, and their look; a walk-through as such a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from lightning_cli.writing.board_latex import shown_latex
from lightning_cli.writing.math_text import terms_latex
from lightning_cli.writing.mathml import formula_lines, mathml, typeset
from proofs_check.blackboard.step import Polynomial, Shown, Step
from proofs_check.instances import reach

if TYPE_CHECKING:
    from proofs_check.claim import Claim

STYLE = """
:root { color-scheme: light dark; --paper: #fdfcf9; --ink: #22211f; --faint: #6c6862; --line: #ddd8ce; --card: #f5f2ea;
  --link: #1d4f91; --good: #22663a; --bad: #a52a21; --open: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --paper: #171614; --ink: #e6e2da; --faint: #a09a90; --line: #3a3732;
  --card: #201e1b; --link: #8fb8ee; --good: #7ecb95; --bad: #f0938a; --open: #e3b65a; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 5rem; max-width: 50rem; background: var(--paper);
  color: var(--ink); overflow-wrap: break-word;
  font: 1.0625rem/1.6 Charter, "Bitstream Charter", "Iowan Old Style", Palatino, Georgia, serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; text-wrap: balance; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 3.5rem 0 .8rem; }
h3 { font-size: 1.15rem; line-height: 1.35; margin: 0; text-wrap: balance; }
p { margin: .6rem 0; }
a { color: var(--link); text-decoration-thickness: .06em; text-underline-offset: .15em; }
code { font: .84em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.faint, .source, td small { color: var(--faint); }
.source { font-size: .92rem; margin: .1rem 0 0; }
.summary { font-size: 1.15rem; }
section.claim { border-top: 1px solid var(--line); margin-top: 2.6rem; padding-top: 1.4rem; }
.head { display: flex; gap: 1rem; justify-content: space-between; align-items: baseline; }
.statement { margin: 1rem 0; padding: .8rem 1rem; background: var(--card); border-radius: .4rem; overflow-x: auto; }
.statement math { display: block math; width: max-content; max-width: none; margin: .55rem auto; font-size: 1.08em; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; line-height: 1.45; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: .85rem; }
th, td { padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; font-size: .84rem; }
.verdict { font-weight: 600; font-size: .85em; letter-spacing: .02em; white-space: nowrap; }
.holds { color: var(--good); } .expected { color: var(--open); }
.refuted, .error { color: var(--bad); } .undecided { color: var(--open); }
.verdict small { display: block; font-weight: 400; letter-spacing: 0; color: var(--faint); }
h4 { font-size: .95rem; margin: 1.1rem 0 .2rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; } li { margin: .25rem 0; }
li, .witness, td small { overflow-wrap: anywhere; }
dl { margin: 0; } dt { font-weight: 600; margin-top: 1rem; } dd { margin: .1rem 0 0; }
.repeat { margin-top: 1rem; } .repeat code { background: var(--card); padding: .25rem .5rem; border-radius: .3rem; }
.contents td:first-child { white-space: nowrap; }
@media (max-width: 40rem) {
  body { padding-top: 1.5rem; font-size: 1rem; } h1 { font-size: 1.6rem; }
  thead { position: absolute; clip-path: inset(50%); }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { display: block; border: 0; padding: .05rem 0; } td.number { text-align: left; }
  td[data-name]::before { content: attr(data-name) ": "; color: var(--faint); }
  .contents td { display: inline; padding-right: .6rem; } .contents td.title { display: block; }
  .contents td[data-name]::before { content: none; } .contents td.number { display: none; }
  .statement math { margin-left: 0; }
}
@media print { body { max-width: none; } tr, li { break-inside: avoid; } .head, h2, h4 { break-after: avoid; } }
"""


def page(title: str, body: Iterable[str], style: str = "") -> Iterator[str]:
    """Yield a page line by line, well-formed as XML: its title, and what is in its body and in its own style."""
    yield '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}{style}</style></head><body>"
    yield from body
    yield "</body></html>"


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
