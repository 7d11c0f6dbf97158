"""`docs/development/cited-theorems.md`: what the program cites, and what tests each hypothesis, is listed whole."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from grouped import grouped

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "development" / "cited-theorems.md").read_text(encoding="utf-8")

NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|[A-Z](?:\.[0-9]+)?)\b"
CITED = re.compile(
    rf"(Theorem|Proposition|Corollary|Lemma|Conjecture)s? ({NUMBER}(?:(?:, | and | or | to ){NUMBER})*)"
    r"|(?:docs/|\.\./)([a-z-]+\.md)"
)
ANY = re.compile(r"Theorem|Proposition|Corollary|Lemma|Conjecture|\.md")
"""What every citation has in it: files without it need not be parsed."""
# these are about the statements themselves
LEFT_OUT = {"claims", "blackboard", "exercises"}
SOURCES = {
    str(path.relative_to(ROOT)): path
    for folder in ("lightning_sym", "lightning_cli", "proofs_check")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not LEFT_OUT & set(path.relative_to(ROOT).parts)
}
WITH_STATEMENTS = {
    path.name
    for path in (ROOT / "docs").glob("*.md")
    if re.search(r"(?m)^\*\*(Theorem|Proposition)", path.read_text(encoding="utf-8"))
} - {"certificate.md"}  # the format of certificates


def cited(text: str) -> set[str]:
    """The statements, and the pages that have some, that a text cites."""
    found = set[str]()
    for kind, numbers, page in CITED.findall(" ".join(text.split())):
        found |= {f"{kind} {number}" for number in re.findall(NUMBER, numbers)} if kind else {page} & WITH_STATEMENTS
    return found


def citations(source: str) -> tuple[set[str], set[str]]:
    """What is cited in strings that may be printed, and in docstrings alone."""
    if not ANY.search(source):
        return set(), set()
    tree, documented = ast.parse(source), set[int]()
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                documented.add(id(statement.value))
    printed, said = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            (said if id(node) in documented else printed).update(cited(node.value))
    return printed, said - printed


@cache
def listed() -> tuple[dict[str, set[str]], dict[str, set[str]], set[str]]:
    """By file what the two tables list, and all functions that are named."""
    tables, functions = [], set[str]()
    for part in re.split(r"(?m)^## ", PAGE)[1:]:
        table = defaultdict[str, set[str]](set)
        for file, what, _, tests in re.findall(r"(?m)^\| `([\w/.]+)` \| (.*?) \| (.*?) \| (.*?) \|$", part):
            table[file] |= cited(what)
            functions |= set(re.findall(r"`([\w.]+)`", tests))
        tables.append(dict(table))
    first, second = tables
    return first, second, functions


@grouped("name", SOURCES, by=lambda name: name.rpartition("/")[0])
def test_what_is_cited_is_listed(name: str) -> None:
    printed, said = citations(SOURCES[name].read_text(encoding="utf-8"))
    first, second, _ = listed()
    assert first.get(name, set()) == printed, "in what the program prints"
    assert second.get(name, set()) >= said, "in docstrings"
    assert second.get(name, set()) <= said | printed, "in docstrings"


def test_files_that_are_listed_exist() -> None:
    first, second, _ = listed()
    assert {*first, *second} <= set(SOURCES)


def _found(name: str) -> Any:
    """What a dotted name stands for: a module as far as it goes, then attributes."""
    root = "proofs_check" if name.startswith(("checker.", "visible.")) else "lightning_sym"
    parts, module = name.split("."), import_module(root)
    while (
        parts
        and (ROOT / module.__name__.replace(".", "/") / parts[0]).with_suffix(".py").exists()
        | (ROOT / module.__name__.replace(".", "/") / parts[0] / "__init__.py").exists()
    ):
        module = import_module(f"{module.__name__}.{parts.pop(0)}")
    found: Any = module
    for part in parts:
        found = getattr(found, part)
    return found


@grouped("name", sorted(listed()[2]), by=lambda name: name.partition(".")[0])
def test_functions_that_are_named_exist(name: str) -> None:
    found = _found(name)
    assert callable(found) or isinstance(found, property) or hasattr(found, "func"), f"{name} is no function"


def test_a_citation_that_is_not_listed_is_seen() -> None:
    printed, said = citations(
        '"""Lemma 3 of docs/recover.md."""\nx = f"Propositions 8, 9 and 15 of docs/transformers.md{1}"\n'
    )
    assert printed == {"Proposition 8", "Proposition 9", "Proposition 15", "transformers.md"}
    assert said == {"Lemma 3", "recover.md"}
    assert cited("docs/certificate.md, docs/reference/checkpoints.md") == set()
    with pytest.raises(AttributeError):
        _found("fibers.conditions.no_such_test")
