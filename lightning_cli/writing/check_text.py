"""What `check` prints: a table, or one line a claim, in terminals from 40 columns on; an id is never cut.

Its verdicts in words are what the page and the table of a report say too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from rich import markup
    from rich import table as tables

if TYPE_CHECKING:
    from rich.console import Console

    from proofs_check.baseline import Compared
    from proofs_check.claim import Claim
    from proofs_check.run import ClaimResult

if TYPE_CHECKING:
    from proofs_check.claim import Claim, Part
    from proofs_check.run import ClaimResult, PartResult


@dataclass(frozen=True)
class Outcome:
    """The verdict on a part or claim: a word, the kind that gives it a colour on a page, and a note."""

    word: str
    kind: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.word}, {self.note}" if self.note else self.word


def outcome(stated: Claim | Part, found: ClaimResult | PartResult | None) -> Outcome:
    """Return the verdict on a claim or a part of one in words; there is none where the program failed."""
    if found is None or found.verdict is None:
        return Outcome("program error", "error")
    word = found.verdict.value
    if found.verdict is not stated.expected:
        return Outcome(word, word.lower(), f"expected {stated.expected.value}")
    return Outcome(word, "holds") if word == "HOLDS" else Outcome(word, "expected", "as expected")


def parts(claim: Claim, result: ClaimResult) -> Iterator[tuple[Part, PartResult | None]]:
    """Return the parts of a claim, each with what was found."""
    found = {part.name: part for part in result.parts}
    return ((part, found.get(part.name)) for part in claim.parts)


def summary(results: Mapping[str, ClaimResult], claims: Sequence[Claim], *, quick: bool) -> str:
    """Return all of it in one line."""
    chosen = [results[claim.id] for claim in claims]
    fine = sum(result.as_expected for result in chosen)
    size = "the quick sizes" if quick else "the full sizes"
    return f"{fine} of {len(chosen)} claims as expected, {sum(r.instances for r in chosen):,} instances, {size}"


def command(claim: Claim, *, quick: bool) -> str:
    """Return what repeats the check of a claim."""
    return f"lightning-sym check {claim.id}" + (" --quick" if quick else "")


WEIGHTS = (
    "Refuted as stated",
    "Undecided",
    "A hypothesis that is needed",
    "A hypothesis that could be weaker",
    "Also found",
)
"""The heaviest findings first."""


def _weight(finding: str) -> str:
    if "not needed" in finding:
        return WEIGHTS[3]
    return WEIGHTS[2] if "needed" in finding else WEIGHTS[4]


def findings_by_weight(
    claims: Sequence[Claim], results: Mapping[str, ClaimResult]
) -> list[tuple[str, list[tuple[Claim, list[str]]]]]:
    """Return witnesses and findings under headings, the heaviest heading first; empty headings are left out."""
    groups: dict[str, dict[str, list[str]]] = {heading: {} for heading in WEIGHTS}
    by_id = {claim.id: claim for claim in claims}
    for claim in claims:
        for part, found in parts(claim, results[claim.id]):
            if found is None:
                continue
            if found.witness is not None:
                heading = WEIGHTS[0] if found.verdict.value == "REFUTED" else WEIGHTS[1]
                groups[heading].setdefault(claim.id, []).append(f"{part.name}: {found.witness}")
            for text in found.findings:
                groups[_weight(text)].setdefault(claim.id, []).append(text)
    return [(name, [(by_id[i], lines) for i, lines in group.items()]) for name, group in groups.items() if group]


FEW = 3
"""Up to so many claims, everything they found is printed under the table."""

_STYLE = {"HOLDS": "green", "REFUTED": "red", "UNDECIDED": "yellow"}

_SCOPE, _SECONDS, _TITLE, _TABLE = 72, 56, 48, 32
"""Columns beside the longest id from which there is room for the scope, the seconds, the title, and a table at all."""


def _room(claims: Sequence[Claim], out: Console) -> int:
    """Return how many columns are left beside the longest id."""
    return out.width - max(len(claim.id) for claim in claims)


def verdict_in_words(claim: Claim, result: ClaimResult) -> str:
    """Return the verdict, and what was expected if that is worth saying: nobody should take it for a failure."""
    found = outcome(claim, result)
    return f"{found.word} ({found.note})" if found.kind != "expected" and found.note else str(found).replace(",", "")


def _style(result: ClaimResult) -> str:
    return "green" if result.as_expected else "red" if result.verdict is None else _STYLE[result.verdict.value]


def claim_line(claim: Claim, result: ClaimResult, claims: Sequence[Claim], width: int) -> str:
    """Return a claim in one line, with as much as there is room for; in two where even id and verdict are too long."""
    longest = max(len(c.id) for c in claims)
    verdict = verdict_in_words(claim, result)
    cells = [f"{claim.id:<{longest}}  {verdict}", f"{result.instances:,} instances", f"{result.seconds:.1f} s"]
    if len(cells[0]) > width:
        return f"{claim.id}\n  {verdict}"
    line = f"{claim.id:<{longest}}  {verdict:<19}  {cells[1]:>15}  {cells[2]:>7}"
    for end in (len(line), len(line) - 9, len(line) - 26):
        if end <= width and len(line[:end].rstrip()) >= len(cells[0]):
            return line[:end].rstrip()
    return cells[0]


def print_list(claims: Sequence[Claim], out: Console) -> None:
    """Print ids, sources and statements."""
    if _room(claims, out) < _TABLE:
        for claim in claims:
            out.print(claim.id, markup=False)
            out.print(textwrap.indent(textwrap.fill(claim.title, out.width - 2), "  "), markup=False)
        return
    table = tables.Table()
    table.add_column("id", no_wrap=True, min_width=max(len(claim.id) for claim in claims))
    with_source = _room(claims, out) >= _SCOPE
    for name in ("source", "title") if with_source else ("title",):
        table.add_column(name, overflow="fold")
    for claim in claims:
        table.add_row(claim.id, *([claim.source] if with_source else []), claim.title)
    out.print(table, markup=False)


def print_lines(claims: Sequence[Claim], results: Mapping[str, ClaimResult], out: Console) -> None:
    """Print the short form: one line a claim."""
    for claim in claims:
        result = results[claim.id]
        out.print(claim_line(claim, result, claims, out.width), style=_style(result), markup=False, soft_wrap=True)


def print_table(claims: Sequence[Claim], results: Mapping[str, ClaimResult], out: Console) -> None:
    """Print the table, with the columns that there is room for; no table in narrow terminals."""
    if _room(claims, out) < _TABLE:
        print_lines(claims, results, out)
        return
    room = _room(claims, out)
    columns = {"id": True, "title": room >= _TITLE, "scope": room >= _SCOPE, "instances": True,
               "verdict": True, "seconds": room >= _SECONDS}  # fmt: skip
    table = tables.Table()
    for name in (name for name, shown in columns.items() if shown):
        longest = max(len(claim.id) for claim in claims) if name == "id" else None
        justify = "right" if name in ("instances", "seconds") else "left"
        table.add_column(name, justify=justify, no_wrap=name == "id", min_width=longest, overflow="fold")  # type: ignore[arg-type]
    for claim in claims:
        result = results[claim.id]
        cells = {
            "id": claim.id,
            "title": markup.escape(claim.title),
            "scope": "\n".join(dict.fromkeys(part.scope.name for part in claim.parts)),
            "instances": f"{result.instances:,}",
            "verdict": f"[{_style(result)}]{verdict_in_words(claim, result).replace(' as', chr(10) + 'as')}[/]",
            "seconds": f"{result.seconds:.1f}",
        }
        table.add_row(*(cell for name, cell in cells.items() if columns[name]))
    out.print(table)


def print_findings(claims: Sequence[Claim], results: Mapping[str, ClaimResult], out: Console) -> None:
    """Print what the checks found: of a few claims all of it, of many the witnesses, and how much more there is."""
    parts = [(claim.id, part) for claim in claims for part in results[claim.id].parts]
    findings = [(claim_id, text) for claim_id, part in parts for text in part.findings]
    if len(claims) > FEW:  # a screenful at most: the rest is for one claim at a time, JSON or the report
        out.print(
            f"the checks found {len(findings)} things about the hypotheses: see `check ID`, `--json` or `--report DIR`"
        )
    elif findings:
        out.print("what the checks found about the hypotheses:")
        for claim_id, text in findings:
            out.print(f"  [bold]{claim_id}[/bold]: {markup.escape(text)}")
    for claim_id, part in parts:
        for tally in part.tallies if len(claims) <= FEW else ():
            out.print(f"  [bold]{claim_id}[/bold], {markup.escape(part.name)}: {markup.escape(tally)}")
        if part.witness is not None:
            witness = f"{part.verdict.value} {markup.escape(part.witness)}"
            out.print(f"  [bold]{claim_id}[/bold], {markup.escape(part.name)}: {witness}")


def print_total(results: Mapping[str, ClaimResult], out: Console) -> None:
    """Print how many claims are as expected."""
    fine = sum(result.as_expected for result in results.values())
    total = sum(result.instances for result in results.values())
    out.print(f"{fine} of {len(results)} claims as expected, {total:,} instances")


def print_compared(compared: Compared, path: str, out: Console) -> None:
    """Print what differs from a baseline, a line each, and what could not be compared."""
    for note in compared.notes:
        out.print(f"baseline: {note}", markup=False, soft_wrap=True)
    for difference in compared.differences:
        out.print(f"differs: {difference}", markup=False, soft_wrap=True, style="red")
    if not compared.compared:  # the notes say why
        return
    count = len(compared.differences)
    found = "no difference" if not count else "1 difference" if count == 1 else f"{count} differences"
    claims = "1 claim" if compared.compared == 1 else f"{compared.compared} claims"
    out.print(f"baseline {path}: {found} in {claims}", markup=False, soft_wrap=True)
