"""A docstring of a function is a sentence that begins with its verb: what it returns, yields, or does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("lightning_sym", "proofs_check", "lightning_cli", "scripts", "benchmarks", "examples")
VERBS = frozenset([
    "Act", "Add", "Answer", "Apply", "Ask", "Begin", "Benchmark", "Bound", "Bring", "Call", "Carry", "Certify",
    "Change", "Check", "Compare", "Compute", "Count", "Decide", "Demand", "Divide", "Do", "Draw", "Drop", "End",
    "Estimate", "Exchange", "Expand", "Fail", "Fill", "Find", "Fold", "Follow", "Give", "Go", "Hand", "Import",
    "Judge", "Keep", "Leave", "Let", "Link", "List", "Load", "Look", "Make", "Measure", "Move", "Multiply", "Name",
    "Note", "Open", "Permute", "Print", "Prove", "Push", "Put", "Raise", "Read", "Record", "Refuse", "Refute",
    "Replace", "Return", "Rewrite", "Run", "Say", "Scale", "Search", "Settle", "Show", "Solve", "Stop", "Take",
    "Tell", "Test", "Try", "Turn", "Walk", "Write", "Yield",
])  # fmt: skip
"""What docstrings begin with; a verb that is missing is to be added here."""


def begins_otherwise(text: str) -> Iterator[tuple[str, str]]:
    """Functions with a docstring that begins with no verb: name and first words. Properties are named by nouns."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or not (said := ast.get_docstring(node)):
            continue
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        if any("property" in mark or "command" in mark or "group" in mark for mark in marks):
            continue
        if said.split()[0].rstrip(",") not in VERBS:
            yield node.name, said[:40]


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    files = [path for place in PLACES for path in sorted((ROOT / place).rglob("*.py"))]
    assert len(files) > 600
    found = {str(path): list(begins_otherwise(path.read_text(encoding="utf-8"))) for path in files}
    assert {name: bare for name, bare in found.items() if bare} == {}


def test_a_noun_and_a_reference_are_seen() -> None:
    code = '@property\ndef a(x):\n    "The rank."\n\n\ndef b(x):\n    "{}"\n'
    assert list(begins_otherwise(code.format("Return the rank."))) == []
    assert list(begins_otherwise(code.format("Refuse, by name, what is not known."))) == []
    for bare in ("The rank.", "(C3).", "Of the stream.", "`A @ B`."):
        assert list(begins_otherwise(code.format(bare))) == [("b", bare)]
