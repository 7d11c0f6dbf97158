"""The statements that an answer stands on, read off its own lines: what was tried in vain is none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_KIND = r"(?:Propositions?|Theorems?|Corollar(?:y|ies)|Lemmas?)"
_NUMBER = r"(?:\d+|[A-D]\b)"
_SOME = rf"{_KIND} {_NUMBER}(?:(?:, | and )(?:{_KIND} )?{_NUMBER})*"
_BEHIND = re.compile(rf"docs/([\w-]+)\.md, ({_SOME})")
_BEFORE = re.compile(rf"({_SOME}) of docs/([\w-]+)\.md")
_OF_THE_PAPER = re.compile(r"\b((?:Proposition|Theorem|Corollary|Lemma) [0-9A]\.\d+|Eq\. \d+)")

_NO_PROOF = frozenset({"tried", "paper", "another"})
"""Labels of lines that name statements which the answer does not stand on."""


def citations(lines: list[tuple[str, str]]) -> Iterator[str]:
    """Yield each statement that the lines cite: the page, or the paper, and its number.

    Example:
        >>> list(citations([("complete", "all of the fiber")]))
        []
    """
    at = ""
    found: dict[str, None] = {}
    for label, said in lines:
        at = label or at
        if at in _NO_PROOF:
            continue
        for page, some in _BEHIND.findall(said):
            found[f"docs/{page}.md, {some}"] = None
        for some, page in _BEFORE.findall(said):
            found[f"docs/{page}.md, {some}"] = None
        for number in _OF_THE_PAPER.findall(said):
            found[f"the paper, {number}"] = None
    yield from found


def proof_in(lines: list[tuple[str, str]]) -> str | None:
    """Return where what the lines say is proved, `None` where they name no statement.

    Example:
        >>> proof_in([("because", "Theorem 3.2, case 3")])
        'the paper, Theorem 3.2'
    """
    return "; ".join(citations(lines)) or None


def with_proof(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the lines with where all this is proved as the last ones; as they are if they name no statement.

    Example:
        >>> with_proof([("degree", "20"), ("", "docs/degree.md, Theorem 1")])[-1]
        ('proof', 'docs/degree.md, Theorem 1')
        >>> with_proof([("proof", "by hand"), ("degree", "20")])
        [('degree', '20'), ('proof', 'by hand')]
    """
    others, own, at = list[tuple[str, str]](), list[tuple[str, str]](), ""
    for line in lines:
        at = line[0] or at
        (own if at == "proof" else others).append(line)
    if not own and (proof := proof_in(lines)) is not None:
        own = [("proof", proof)]
    return others + own
