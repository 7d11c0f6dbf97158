"""Answers about varieties say on which page they are proved, and by which of its statements."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import run

DOCS = Path(__file__).parents[2] / "docs"

CITED = {
    ("degree", "--widths", "2,1", "--ranks", "2", "--tokens", "2"): "docs/degree.md, Theorem 1",
    (
        "classify",
        "--orbits",
        "--widths",
        "3,2",
        "--ranks",
        "2",
    ): "docs/one-layer.md, Proposition 1 and Theorems 4 and 5",
    ("classify", "--singular-ideal", "--widths", "2,1", "--ranks", "2"): "docs/one-layer.md, Theorem 5",
    ("equations", "--widths", "2,1", "--ranks", "2", "--tokens", "2"): "docs/equations.md, Propositions 3, 4, 5 and 6",
    ("equations", "--widths", "1,1", "--ranks", "1", "--tokens", "2"): "docs/equations.md, Propositions 4 and 6",
    ("equations", "--widths", "3,1", "--ranks", "1", "--tokens", "2", "--degree", "2"): (
        "docs/equations.md, Propositions 3, 4, 5 and 7"
    ),
    ("conserved", "--widths", "2,2", "--ranks", "2", "--tokens", "2"): "docs/conserved.md, Propositions 1, 2 and 4",
    ("conserved", "--widths", "2,2", "--ranks", "2", "--tokens", "1"): "docs/conserved.md, Propositions 1, 2, 3 and 4",
    ("conserved", "--widths", "1,2,1", "--ranks", "1,2", "--tokens", "2"): (
        "docs/conserved.md, Propositions 1, 2, 3, 4 and 5"
    ),
}
"""By command line; a statement is cited only where it was used."""


@pytest.mark.parametrize("words", CITED, ids=" ".join)
def test_the_answer_names_its_proof(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    cited = CITED[words]
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    (line,) = (line for line in out.splitlines() if line.startswith("proof"))
    assert cited in line
    page, _, statements = cited.partition(", ")
    text = (DOCS / page.removeprefix("docs/")).read_text(encoding="utf-8")
    for kind, numbers in re.findall(r"([A-Z][a-z]+?)s? ((?:\d+(?:, | and )?)+)", statements):
        assert all(f"**{kind} {number}" in text for number in re.findall(r"\d+", numbers))
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    assert json.loads(out)["source"] in (cited, "product")  # a degree names its source by a key
