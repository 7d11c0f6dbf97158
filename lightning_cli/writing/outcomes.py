"""Verdicts in words: what the page and the table of a report both say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
