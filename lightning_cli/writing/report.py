"""`check --report DIR`: the results as a web page that needs nothing else, and as a LaTeX table.

The page is an atlas of statements: each with verdict, scope, what it rests on, walk-through and certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lightning_cli.output_file import require_directory, write_files
from lightning_cli.writing.board_page import BOARD_STYLE, page, sentences, step_lines
from lightning_cli.writing.check_text import Outcome, command, findings_by_weight, outcome, parts, summary
from lightning_cli.writing.math_text import latex_text
from lightning_cli.writing.mathml import converter, formula_lines, mathml, typeset
from lightning_sym.errors import BadInput
from lightning_sym.version import __version__
from proofs_check.instances import reach
from proofs_check.registry import claim_by_id, levels, supports, walk_through

if TYPE_CHECKING:
    from proofs_check.claim import Claim, Part
    from proofs_check.run import ClaimResult, PartResult

LONGEST_CERTIFICATE = 12_000
"""Characters of a certificate that stands on the page; longer ones are named."""

_STYLE = """
.graph { overflow: auto hidden; padding: .5rem 0; text-align: center;
  width: min(94vw, 1660px); margin-left: 50%; transform: translateX(-50%); }
.graph svg { max-width: 100%; height: auto; } .graph path { fill: none; stroke: var(--line);
  stroke-width: 1.3; }
.graph rect { fill: var(--card); stroke: var(--line); } .graph text { font: 11px ui-monospace, Menlo, Consolas,
  "DejaVu Sans Mono", monospace; fill: var(--ink); } .graph a:hover rect, .graph a:focus rect { stroke: var(--link);
  stroke-width: 2; } .graph a.holds rect { stroke: var(--good); } .graph a.expected rect { stroke: var(--open); }
.graph a.refuted rect, .graph a.error rect { stroke: var(--bad); } .graph a.undecided rect { stroke: var(--open); }
.rests { font-size: .93rem; margin: .5rem 0; } details { margin: .7rem 0; }
summary { cursor: pointer; color: var(--link); }
details > section { padding-left: 1rem; border-left: 2px solid var(--line); margin: .6rem 0; }
details h4 { margin-top: .6rem; } pre { overflow-x: auto; font: .8rem/1.45 ui-monospace, Menlo, Consolas,
  "DejaVu Sans Mono", monospace; background: var(--card); padding: .7rem; border-radius: .4rem; max-height: 24rem; }
mtable.matrix mtd { padding: .05em .3em; } math { white-space: nowrap; } sub, sup { line-height: 0; }
@media print { .graph { display: none; } details:not([open]) { display: none; } }
"""


def _verdict(found: Outcome) -> str:
    """Return a verdict as HTML."""
    note = f"<small>{escape(found.note)}</small>" if found.note else ""
    return f'<span class="verdict {found.kind}">{escape(found.word)}{note}</span>'


def _anchor(claim_id: str) -> str:
    return f"claim-{escape(claim_id)}"


def _items(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{typeset(text)}</li>" for text in texts) + "</ul>"


def _links(ids: Sequence[str], here: Sequence[str]) -> str:
    """Return names of claims, as links where they stand on this page."""
    return (
        ", ".join(f'<a href="#{_anchor(i)}">{escape(i)}</a>' if i in here else escape(i) for i in ids) or "nothing here"
    )


def _contents(claims: Sequence[Claim], results: Mapping[str, ClaimResult]) -> Iterator[str]:
    yield '<nav><h2 id="contents">Contents</h2>'
    yield '<table class="contents"><thead><tr><th>Claim</th><th>Title</th><th class="number">Instances</th>'
    yield "<th>Verdict</th></tr></thead><tbody>"
    for claim in claims:
        result = results[claim.id]
        yield (
            f'<tr><td><a href="#{_anchor(claim.id)}">{escape(claim.id)}</a></td>'
            f'<td class="title">{typeset(claim.title)}</td>'
            f'<td class="number">{result.instances:,}</td><td>{_verdict(outcome(claim, result))}</td></tr>'
        )
    yield "</tbody></table></nav>"


def _graph(claims: Sequence[Claim], results: Mapping[str, ClaimResult]) -> Iterator[str]:
    ids = [claim.id for claim in claims]
    if len(ids) < 2:
        return
    kinds = {claim.id: outcome(claim, results[claim.id]).kind for claim in claims}
    yield '<section><h2 id="graph">What rests on what</h2>'
    yield '<p class="faint">A line leads from a statement to those whose argument uses it, to the right of it.</p>'
    yield f'<div class="graph">{graph_svg(ids, kinds, {i: _anchor(i) for i in ids})}</div></section>'


def _found(claims: Sequence[Claim], results: Mapping[str, ClaimResult]) -> Iterator[str]:
    yield '<section><h2 id="found">What the checks found</h2>'
    groups = findings_by_weight(claims, results)
    for heading, found in groups:
        yield f"<h4>{escape(heading)}</h4><dl>"
        for claim, lines in found:
            yield f'<dt><a href="#{_anchor(claim.id)}">{escape(claim.id)}</a></dt><dd>{_items(lines)}</dd>'
        yield "</dl>"
    if not groups:
        yield "<p>Nothing beyond the verdicts.</p>"
    yield "</section>"


def _details(part: Part, found: PartResult | None, *, quick: bool) -> str:
    """Return what a part counted, what its instances are, how far they reach, and some of them."""
    if found is None:
        return ""
    examples = ", ".join(f"{place}: {text}" for place, text in found.examples.items())
    what = [f"an instance: {part.instance}"] if part.instance else []
    lines = [*found.tallies, *what, reach(part, quick), *([examples] if examples else [])]
    return "".join(f"<small>{typeset(line)}</small>" for line in lines)


def _walk(claim: Claim) -> Iterator[str]:
    if claim.walk is not None:
        intro, steps = walk_through(claim.id)
        yield "<details><summary>On small matrices, step by step</summary>"
        yield from step_lines(intro, steps, level=4)
        yield "</details>"


def _certificate(claim: Claim, *, quick: bool) -> Iterator[str]:
    """Yield the certificate of the first instance that has one."""
    for part in claim.parts:
        if part.certifies is None:
            continue
        for instance in part.instances(quick=quick):
            for certifiable in part.certifies(instance):
                text = json.dumps(certifiable.document())
                yield "<details><summary>A certificate</summary>"
                yield f"<p>Of {escape(part.name)}: the first one. "
                yield f"<code>lightning-sym check {escape(claim.id)} --certificates DIR</code> writes them all.</p>"
                long = len(text) > LONGEST_CERTIFICATE
                yield f"<p>It has {len(text):,} characters.</p>" if long else f"<pre>{escape(text)}</pre>"
                yield "</details>"
                return


def _claim_section(claim: Claim, result: ClaimResult, here: Sequence[str], *, quick: bool) -> Iterator[str]:
    yield f'<section class="claim" id="{_anchor(claim.id)}">'
    title = typeset(claim.title[0].upper() + claim.title[1:] if claim.title[:2].islower() else claim.title)
    yield f'<div class="head"><h3>{title}</h3>{_verdict(outcome(claim, result))}</div>'
    yield f'<p class="source">{escape(claim.source)} · <code>{escape(claim.id)}</code></p>'
    yield '<div class="statement">' + "".join(mathml(line) for line in formula_lines(claim.statement)) + "</div>"
    yield f"<p>{sentences(claim.hypotheses)}</p>"
    yield f'<p class="rests">Rests on: {_links(claim.rests_on, here)}. '
    yield f"On it rest: {_links(supports(claim.id), here)}.</p>"
    yield '<table><thead><tr><th>What is checked</th><th>Scope</th><th class="number">Instances</th><th>Verdict</th>'
    yield "</tr></thead><tbody>"
    for part, found in parts(claim, result):
        instances = "" if found is None else f"{found.instances:,}"
        name = f"{typeset(part.name)}{_details(part, found, quick=quick)}"
        yield (
            f'<tr><td>{name}</td><td data-name="scope">{part.scope.name}'
            f'<small>{escape(part.scope.value)}</small></td><td class="number" data-name="instances">{instances}</td>'
            f'<td data-name="verdict">{_verdict(outcome(part, found))}</td></tr>'
        )
    yield "</tbody></table>"
    for part, found in parts(claim, result):
        if found is not None and found.witness is not None:
            yield f"<h4>{'Witness' if found.verdict.value == 'REFUTED' else 'Open'}: {typeset(part.name)}</h4>"
            yield f'<p class="witness">{typeset(found.witness)}</p>'
    if findings := [text for _, found in parts(claim, result) if found is not None for text in found.findings]:
        yield f"<h4>Findings</h4>{_items(findings)}"
    if result.error is not None:
        # the last line alone: the others name places on the machine that ran this
        yield f"<h4>Error of the program</h4><p><code>{escape(result.error.strip().splitlines()[-1])}</code></p>"
    yield from _walk(claim)
    if result.error is None:
        yield from _certificate(claim, quick=quick)
    yield (
        f'<p class="repeat"><code>{escape(command(claim, quick=quick))}</code> '
        f'<span class="faint">repeats this; it took {result.seconds:.1f} s.</span></p>'
    )
    yield "</section>"


def as_html(claims: Sequence[Claim], results: Mapping[str, ClaimResult], *, quick: bool = False) -> str:
    """Return the page: style, formulas and all in one file, well-formed as XML."""
    here = [claim.id for claim in claims]
    pieces = [
        "<header><h1>Geometry of lightning self-attention: what was checked</h1>",
        f'<p class="summary">{escape(summary(results, claims, quick=quick))}.</p>',
        '<p class="faint">Every verdict is exact: nothing is rounded, and there are no tolerances. '
        "A scope says how far a verdict reaches; it is never rounded up. "
        "An instance that several parts of a claim check is counted once. "
        f"Made by lightning-sym {escape(__version__)}.</p></header>",
        *_contents(claims, results),
        *_graph(claims, results),
        *_found(claims, results),
        '<h2 id="claims">The claims</h2>',
    ]
    for claim in claims:
        pieces += _claim_section(claim, results[claim.id], here, quick=quick)
    title = "Geometry of lightning self-attention: what was checked"
    return "\n".join(page(title, pieces, BOARD_STYLE + _STYLE)) + "\n"


if TYPE_CHECKING:
    from proofs_check.claim import Claim
    from proofs_check.run import ClaimResult

HTML_NAME, LATEX_NAME = "report.html", "report.tex"


# --- where it goes


def require_report(directory: str) -> Path:
    """Refuse everything that can be known to stand in the way of a report, before anything is run.

    Raises:
        MissingExtra: the package that renders formulas is not installed.
        BadInput: the directory cannot be one, or cannot be written to.
    """
    converter()
    target = require_directory("the report", directory)
    for name in (HTML_NAME, LATEX_NAME):
        if (target / name).is_dir():
            raise BadInput(f"the report must be able to replace {str(target / name)!r}, which is a directory")
    return target


def write_report(directory: Path, claims: Sequence[Claim], results: Mapping[str, ClaimResult], *, quick: bool) -> Path:
    """Write `report.html` and `report.tex`; both appear complete, or nothing changes. The path of the page is returned.

    Raises:
        BadInput: the directory cannot be written to.
    """
    texts = {HTML_NAME: as_html(claims, results, quick=quick), LATEX_NAME: as_latex(claims, results, quick=quick)}
    write_files("the report", directory, texts)
    return directory / HTML_NAME


# --- the table


def as_latex(claims: Sequence[Claim], results: Mapping[str, ClaimResult], *, quick: bool = False) -> str:
    """Return a `longtable`, one row a claim and one row each of its parts."""
    lines = [
        f"% {summary(results, claims, quick=quick)}; lightning-sym {__version__}",
        r"% needs \usepackage{amsmath,amssymb,array,longtable}",
        r"\begingroup\small\setlength{\tabcolsep}{4pt}",
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{0.5\linewidth}lr"
        r">{\raggedright\arraybackslash}p{0.17\linewidth}@{}}",
        r"\hline claim, statement, parts & scope & instances & verdict \\ \hline",
        r"\endhead",
        r"\hline \endfoot",
    ]
    for claim in claims:
        result = results[claim.id]
        statement = r"\quad ".join(f"${line}$" for line in formula_lines(claim.statement))
        lines.append(
            rf"\texttt{{{latex_text(claim.id)}}} \newline {statement} & & {result.instances} & "
            rf"{latex_text(str(outcome(claim, result)))} \\*"
        )
        for number, (part, found) in enumerate(parts(claim, result), start=1):
            instances = "" if found is None else str(found.instances)
            scope = part.scope.name.lower().replace("_", " ")
            end = r"\\[4pt]" if number == len(claim.parts) else r"\\*"
            cells = (latex_text(part.name), rf"\textsc{{{scope}}}", instances, latex_text(str(outcome(part, found))))
            lines.append(rf"\hangindent=2em\quad {' & '.join(cells)} {end}")
    return "\n".join([*lines, r"\end{longtable}\endgroup", ""])


COLUMN, ROW, BOX, HEIGHT = 222, 30, 194, 22


def _order(columns: list[list[str]], below: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return each column sorted so that lines are short: by the mean place of what a claim is joined to."""
    for _ in range(4):
        for direction in (1, -1):
            span = columns if direction == 1 else columns[::-1]
            places = {claim: place for column in columns for place, claim in enumerate(column)}
            for column in span:
                mean: dict[str, float] = {}
                for claim in column:
                    near = [
                        places[other]
                        for other in places
                        if (other in below[claim] if direction == 1 else claim in below[other])
                    ]
                    mean[claim] = sum(near) / len(near) if near else places[claim]
                column.sort(key=lambda claim: mean[claim])
                places.update({claim: place for place, claim in enumerate(column)})
    return columns


def graph_svg(claims: Sequence[str], kinds: Mapping[str, str], anchors: Mapping[str, str]) -> str:
    """Return the drawing as SVG, from left to right.

    Args:
        claims: their ids.
        kinds: by id, the class that gives a box its colour.
        anchors: by id, where a click leads.
    """
    found, below = levels(claims), {claim: claim_by_id(claim).rests_on for claim in claims}
    by_level = [[c for c in claims if found[c] == level] for level in range(max(found.values(), default=0) + 1)]
    columns = _order(by_level, below)
    tallest = max(map(len, columns))
    place: dict[str, tuple[float, float]] = {}
    for x, column in enumerate(columns):
        top = (tallest - len(column)) * ROW / 2
        place |= {claim: (4 + x * COLUMN, 4 + top + y * ROW) for y, claim in enumerate(column)}
    lines, boxes = [], []
    for claim, (left, top) in place.items():
        for each in below[claim]:
            if each in place:
                from_x, from_y = place[each][0] + BOX, place[each][1] + HEIGHT / 2
                half, to_y = (from_x + left) / 2, top + HEIGHT / 2
                lines.append(
                    f'<path d="M{from_x:g} {from_y:g}C{half:g} {from_y:g} {half:g} {to_y:g} {left:g} {to_y:g}"/>'
                )
        boxes.append(
            f'<a href="#{anchors[claim]}" class="{kinds[claim]}"><rect x="{left:g}" y="{top:g}" width="{BOX}" '
            f'height="{HEIGHT}" rx="4"/><text x="{left + 8:g}" y="{top + 15:g}">{escape(claim)}</text></a>'
        )
    width, height = len(columns) * COLUMN - COLUMN + BOX + 8, tallest * ROW + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="min-width: {min(1100, 1.3 * width):g}px" '
        'role="img" aria-label="which claims rest on which; the same stands as text with each claim">'
        f'<g class="lines">{"".join(lines)}</g>{"".join(boxes)}</svg>'
    )
