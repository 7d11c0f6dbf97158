"""The statements that an answer stands on, read off its own lines: what was tried in vain is none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym import display

_KIND = r"(?:Propositions?|Theorems?|Corollar(?:y|ies)|Lemmas?)"
_SOME = rf"{_KIND} \d+(?:(?:, | and )(?:{_KIND} )?\d+)*"
_BEHIND = re.compile(rf"docs/([\w-]+)\.md, ({_SOME})")
_BEFORE = re.compile(rf"({_SOME}) of docs/([\w-]+)\.md")
_OF_THE_PAPER = re.compile(r"\b((?:Proposition|Theorem|Corollary|Lemma) [0-9A]\.\d+)")

_NO_PROOF = frozenset({"tried", "paper"})
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


def proof_of(result: Any) -> str | None:
    """Return where an answer is proved, `None` where it names no statement.

    Example:
        >>> proof_of(None)
    """
    if getattr(type(result), "lines", None) in (None, display.Result.lines):  # it has no text of that kind
        return None
    return "; ".join(citations(result.lines())) or None
