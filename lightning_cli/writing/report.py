"""`check --report DIR`: the results as a web page that needs nothing else, and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lightning_cli.writing.mathml import formula_lines, mathml
from lightning_cli.writing.output import require_writable
from lightning_cli.writing.page_style import STYLE
from lightning_sym.errors import BadInput, MissingExtra
from lightning_sym.version import __version__
from lightning_sym.whole_files import replacing

if TYPE_CHECKING:
    from proofs_check.claim import Claim, Part
    from proofs_check.run import ClaimResult, PartResult

HTML_NAME, LATEX_NAME = "report.html", "report.tex"


# --- where it goes


def require_report(directory: str) -> Path:
    """Everything that can be known to stand in the way of a report, said before anything is run.

    Raises:
        MissingExtra: the package that renders formulas is not installed.
        BadInput: the directory cannot be one, or cannot be written to.
    """
    try:
        import latex2mathml.converter  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the report needs the extra: pip install lightning-sym[report]") from error
    target = require_writable(directory, "the report")
    for name in (HTML_NAME, LATEX_NAME):
        if (target / name).is_dir():
            raise BadInput(f"the report must be able to replace {str(target / name)!r}, which is a directory")
    return target


def _cannot_write(directory: str, error: OSError) -> BadInput:
    shown = directory if len(directory) <= 60 else directory[:60] + "..."
    return BadInput(
        f"the report must go into a directory that can be written to, {shown!r} cannot: {error.strerror or error}"
    )


def write_report(
    directory: Path, claims: Sequence[Claim], results: Mapping[str, ClaimResult], quick: bool
) -> tuple[Path, Path]:
    """Write `report.html` and `report.tex`; both appear complete, or nothing changes.

    Raises:
        BadInput: the directory cannot be written to.
    """
    texts = {HTML_NAME: as_html(claims, results, quick), LATEX_NAME: as_latex(claims, results, quick)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as both:
            for name, text in texts.items():
                file = both.enter_context(replacing(directory / name))
                file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _cannot_write(str(directory), error) from error
    return directory / HTML_NAME, directory / LATEX_NAME


# --- what both say


@dataclass(frozen=True)
class _Outcome:
    """The verdict on a part or claim in words."""

    word: str
    kind: str
    note: str = ""


def _part_outcome(part: Part, found: PartResult | None) -> _Outcome:
    if found is None:
        return _Outcome("program error", "error")
    as_expected = found.verdict is part.expected
    if as_expected and found.verdict.value != "HOLDS":
        return _Outcome(found.verdict.value, "expected", "as expected")
    note = "" if as_expected else f"expected {part.expected.value}"
    return _Outcome(found.verdict.value, found.verdict.value.lower(), note)


def _claim_outcome(claim: Claim, result: ClaimResult) -> _Outcome:
    if result.verdict is None:
        return _Outcome("program error", "error")
    if result.as_expected and result.verdict.value != "HOLDS":
        return _Outcome(result.verdict.value, "expected", "as expected")
    note = "" if result.as_expected else f"expected {claim.expected.value}"
    return _Outcome(result.verdict.value, result.verdict.value.lower(), note)


def _parts(claim: Claim, result: ClaimResult) -> Iterator[tuple[Part, PartResult | None]]:
    found = {part.name: part for part in result.parts}
    return ((part, found.get(part.name)) for part in claim.parts)


def _summary(results: Mapping[str, ClaimResult], claims: Sequence[Claim], quick: bool) -> str:
    chosen = [results[claim.id] for claim in claims]
    fine = sum(result.as_expected for result in chosen)
    size = "the quick sizes" if quick else "the full sizes"
    return f"{fine} of {len(chosen)} claims as expected, {sum(r.instances for r in chosen):,} instances, {size}"


def _command(claim: Claim, quick: bool) -> str:
    return f"lightning-sym check {claim.id}" + (" --quick" if quick else "")


# --- the page


def _verdict(outcome: _Outcome) -> str:
    note = f"<small>{escape(outcome.note)}</small>" if outcome.note else ""
    return f'<span class="verdict {outcome.kind}">{escape(outcome.word)}{note}</span>'


def _anchor(claim: Claim) -> str:
    return f"claim-{escape(claim.id)}"


def _items(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def _contents(claims: Sequence[Claim], results: Mapping[str, ClaimResult]) -> Iterator[str]:
    yield '<nav><h2 id="contents">Contents</h2>'
    yield '<table class="contents"><thead><tr><th>Claim</th><th>Statement</th><th class="number">Instances</th>'
    yield "<th>Verdict</th></tr></thead><tbody>"
    for claim in claims:
        result = results[claim.id]
        yield (
            f'<tr><td><a href="#{_anchor(claim)}">{escape(claim.id)}</a></td>'
            f'<td class="title">{escape(claim.title)}</td>'
            f'<td class="number">{result.instances:,}</td><td>{_verdict(_claim_outcome(claim, result))}</td></tr>'
        )
    yield "</tbody></table></nav>"


def _found(claims: Sequence[Claim], results: Mapping[str, ClaimResult]) -> Iterator[str]:
    yield '<section><h2 id="found">What the checks found</h2>'
    entries = []
    for claim in claims:
        lines: list[str] = []
        for part, found in _parts(claim, results[claim.id]):
            if found is not None:
                lines += found.findings
                if found.witness is not None:
                    lines.append(f"{part.name}: {found.verdict.value}. {found.witness}")
        if lines:
            entries.append(f'<dt><a href="#{_anchor(claim)}">{escape(claim.id)}</a></dt><dd>{_items(lines)}</dd>')
    if entries:
        yield '<p class="faint">Where a hypothesis is sharp or could be weakened, and what refutes a statement.</p>'
        yield "<dl>" + "".join(entries) + "</dl>"
    else:
        yield "<p>Nothing beyond the verdicts.</p>"
    yield "</section>"


def _details(part: Part, found: PartResult | None) -> str:
    """What a part counted, what its instances are, and some of them."""
    if found is None:
        return ""
    examples = ", ".join(f"{place}: {text}" for place, text in found.examples.items())
    what = [f"an instance: {part.instance}"] if part.instance else []
    lines = [*found.tallies, *what, *([examples] if examples else [])]
    return "".join(f"<small>{escape(line)}</small>" for line in lines)


def _claim_section(claim: Claim, result: ClaimResult, quick: bool) -> Iterator[str]:
    yield f'<section class="claim" id="{_anchor(claim)}">'
    yield f'<div class="head"><h3>{escape(claim.title)}</h3>{_verdict(_claim_outcome(claim, result))}</div>'
    yield f'<p class="source">{escape(claim.source)} · <code>{escape(claim.id)}</code></p>'
    yield '<div class="statement">' + "".join(mathml(line) for line in formula_lines(claim.statement)) + "</div>"
    yield '<table><thead><tr><th>What is checked</th><th>Scope</th><th class="number">Instances</th><th>Verdict</th>'
    yield "</tr></thead><tbody>"
    for part, found in _parts(claim, result):
        instances = "" if found is None else f"{found.instances:,}"
        yield (
            f'<tr><td>{escape(part.name)}{_details(part, found)}</td><td data-name="scope">{part.scope.name}'
            f'<small>{escape(part.scope.value)}</small></td><td class="number" data-name="instances">{instances}</td>'
            f'<td data-name="verdict">{_verdict(_part_outcome(part, found))}</td></tr>'
        )
    yield "</tbody></table>"
    for part, found in _parts(claim, result):
        if found is not None and found.witness is not None:
            yield f"<h4>{'Witness' if found.verdict.value == 'REFUTED' else 'Open'}: {escape(part.name)}</h4>"
            yield f'<p class="witness">{escape(found.witness)}</p>'
    if findings := [text for _, found in _parts(claim, result) if found is not None for text in found.findings]:
        yield f"<h4>Findings</h4>{_items(findings)}"
    if result.error is not None:
        # the last line alone: the others name places on the machine that ran this
        yield f"<h4>Error of the program</h4><p><code>{escape(result.error.strip().splitlines()[-1])}</code></p>"
    yield (
        f'<p class="repeat"><code>{escape(_command(claim, quick))}</code> '
        f'<span class="faint">repeats this; it took {result.seconds:.1f} s.</span></p>'
    )
    yield "</section>"


def as_html(claims: Sequence[Claim], results: Mapping[str, ClaimResult], quick: bool = False) -> str:
    """The page: style, formulas and all in one file, well-formed as XML."""
    pieces = [
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>Geometry of lightning self-attention: what was checked</title><style>{STYLE}</style></head><body>",
        "<header><h1>Geometry of lightning self-attention: what was checked</h1>",
        f'<p class="summary">{escape(_summary(results, claims, quick))}.</p>',
        '<p class="faint">Every verdict is exact: nothing is rounded, and there are no tolerances. '
        "A scope says how far a verdict reaches; it is never rounded up. "
        "An instance that several parts of a claim check is counted once. "
        f"Made by lightning-sym {escape(__version__)}.</p></header>",
        *_contents(claims, results),
        *_found(claims, results),
        '<h2 id="claims">The claims</h2>',
    ]
    for claim in claims:
        pieces += _claim_section(claim, results[claim.id], quick)
    return "\n".join([*pieces, "</body></html>"]) + "\n"


# --- the table

_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Plain text with everything that means something to LaTeX escaped.

    Example:
        >>> print(latex_text("A_1 >= 50% of A~1"))
        A\_1 \textgreater{}= 50\% of A\textasciitilde{}1
    """
    return "".join(_LATEX_SPECIAL.get(c, c) for c in text).replace("--", "-{}-")


def _latex_outcome(outcome: _Outcome) -> str:
    return latex_text(f"{outcome.word}, {outcome.note}" if outcome.note else outcome.word)


def as_latex(claims: Sequence[Claim], results: Mapping[str, ClaimResult], quick: bool = False) -> str:
    """A `longtable`, one row a claim and one row each of its parts."""
    lines = [
        f"% {_summary(results, claims, quick)}; lightning-sym {__version__}",
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
            rf"{_latex_outcome(_claim_outcome(claim, result))} \\*"
        )
        for number, (part, found) in enumerate(_parts(claim, result), start=1):
            outcome = _part_outcome(part, found)
            instances = "" if found is None else str(found.instances)
            scope = part.scope.name.lower().replace("_", " ")
            end = r"\\[4pt]" if number == len(claim.parts) else r"\\*"
            cells = (latex_text(part.name), rf"\textsc{{{scope}}}", instances, _latex_outcome(outcome))
            lines.append(rf"\hangindent=2em\quad {' & '.join(cells)} {end}")
    return "\n".join([*lines, r"\end{longtable}\endgroup", ""])
