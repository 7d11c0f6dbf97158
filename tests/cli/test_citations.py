"""What an answer says it is proved by, in JSON, from its lines: no command says it by hand."""

from __future__ import annotations

import json

import pytest
from command import run

from lightning_sym.citations import citations, with_proof

PROOFS = {
    ("fiber", "examples/two_layers.json"): "the paper, Theorem 3.7; docs/real-fibers.md, Proposition 1",
    ("fiber", "examples/transformer.json"): "docs/transformer-fibers.md, Corollary 5",
    ("classify", "examples/limit.json", "--powers", "V2=-1,K2=1"): None,
    ("dimension", "--widths", "2,1", "--ranks", "1", "--tokens", "2"): (
        "docs/upper-bound.md, Theorem 6; docs/upper-bound.md, Proposition 2"
    ),
    ("recover", "examples/map.json"): None,  # weights whose polynomial is the map need no theorem
    ("phi", "--widths", "1,1", "--ranks", "1", "--tokens", "1"): None,
    ("equations", "--widths", "2,1", "--ranks", "1", "--tokens", "2"): "docs/equations.md, Propositions 3, 4, 5 and 7",
}


@pytest.mark.parametrize("words", PROOFS, ids=" ".join)
def test_json_names_the_proof(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *words, "--json")
    document = json.loads(out)
    assert document["proof"] == PROOFS[words]
    assert list(document)[-1] == "proof"


def test_what_was_tried_is_no_proof() -> None:
    """The mutant is a line under another label, which counts."""
    said = "Proposition 3 of docs/one-layer.md: it needs one layer, got 2"
    assert list(citations([("tried", said), ("", said)])) == []
    assert list(citations([("another", said)])) == []  # it proves what stands in its line, and not the answer
    assert list(citations([("because", said)])) == ["docs/one-layer.md, Proposition 3"]
    assert list(citations([("source", "docs/one-layer.md, Proposition 1 and Theorems 4 and 5")])) == [
        "docs/one-layer.md, Proposition 1 and Theorems 4 and 5"
    ]


@pytest.mark.parametrize("words", PROOFS, ids=" ".join)
def test_the_text_ends_with_the_proof(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """What needs no theorem has no such line; equations stand behind the table."""
    _, out, _ = run(capsys, *words)
    table = out.partition("\n\n")[0].splitlines()
    proof = PROOFS[words]
    assert [line.split(None, 1)[1] for line in table if line.startswith("proof")] == ([proof] if proof else [])
    assert proof is None or table[-1].startswith("proof")


def test_a_proof_that_is_said_moves_to_the_end() -> None:
    assert with_proof([("proof", "by hand"), ("", "twice"), ("tried", "Theorem 3 of docs/degree.md")]) == [
        ("tried", "Theorem 3 of docs/degree.md"), ("proof", "by hand"), ("", "twice")
    ]  # fmt: skip
