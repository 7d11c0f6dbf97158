"""The house rules that a machine can hold: which way imports point, what is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from grouped import grouped

import lightning_sym
from proofs_check.registry import all_claims, claims_by_module

ROOT = Path(__file__).parents[2]

# a file of lightning_sym imports from its own room, without circles, and from the rooms and files that stand above it
ORDER = [
    "errors", "lazy", "version", "citations", "arguments", "limits", "ask", "whole_files", "processes", "threads",
    "display", "rings", "exact", "network", "system", "symmetries", "dimension", "fibers", "varieties", "geometry",
    "certificates", "coefficients", "atlas",
    "checkpoints", "whole_models", "testing", "__init__",
]  # fmt: skip
PACKAGES = ["lightning_sym", "proofs_check", "lightning_cli"]
CHECKER = ROOT / "proofs_check" / "checker"
HIGHEST = "testing"
"""A room of lightning_sym by its name only: it asserts claims, so it stands above proofs_check, and nothing on it."""
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


class Read(NamedTuple):
    """What is asked of a file, kept in place of its syntax tree."""

    imported: frozenset[str]
    undocumented: tuple[str, ...]
    """The file itself as `module`, classes wherever they are, functions of the module."""
    is_empty: bool
    classes: tuple[str, ...]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def documented(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return bool((ast.get_docstring(node, clean=False) or "").strip())


@cache
def read(path: Path) -> Read:
    tree = parsed(path)
    names: set[str] = set()
    public: list[ast.ClassDef | ast.FunctionDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            public.append(node)
    classes = tuple(node.name for node in public)
    public += [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    bare = [] if documented(tree) else ["module"]
    bare += [node.name for node in public if not node.name.startswith("_") and not documented(node)]
    return Read(frozenset(names), tuple(bare), not tree.body, classes)


def imported(path: Path) -> frozenset[str]:
    """Dotted names of everything a file imports, wherever in the file."""
    return read(path).imported


def room(path: Path) -> str:
    """The place of a file of lightning_sym in ORDER."""
    relative = path.relative_to(ROOT / "lightning_sym")
    return relative.parts[0].removesuffix(".py")


def folder(path: Path) -> str:
    """The package and the room of a file."""
    return "/".join(path.relative_to(ROOT).parts[:-1][:2])


@grouped("path", FILES, by=folder)
def test_imports_point_one_way(path: Path) -> None:
    names = imported(path)
    package = path.relative_to(ROOT).parts[0]
    above = PACKAGES[: PACKAGES.index(package) + 1]
    if package == "lightning_sym" and room(path) == HIGHEST:
        above = [*above, "proofs_check"]
    for name in names:
        first = name.split(".")[0]
        assert first not in PACKAGES or first in above, f"{path.name} imports {name}"
        stands_on_it = name.startswith(f"lightning_sym.{HIGHEST}") and f"/{HIGHEST}/" not in str(path)
        assert not stands_on_it, f"{path.name} imports {name}"
    if package == "lightning_sym":
        place = ORDER.index(room(path))
        for name in names:
            parts = name.split(".")
            if parts[0] == "lightning_sym" and len(parts) > 1 and parts[1] in ORDER:
                assert ORDER.index(parts[1]) < place or parts[1] == room(path), f"{path.name} imports {name}"
            assert name != "lightning_sym" or room(path) == "__init__"
        assert not any(n.split(".")[0] in {"click", "rich"} for n in names), "the mathematics does not print"


def test_a_command_never_imports_a_command() -> None:
    commands = [path for path in FILES if path.parent == ROOT / "lightning_cli/commands"]
    assert commands
    for path in commands:
        assert not [name for name in imported(path) if name.startswith("lightning_cli.commands.")], path.name


@pytest.mark.parametrize("package", PACKAGES)
def test_no_imports_in_a_circle(package: str) -> None:
    dotted = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in FILES
        if path.relative_to(ROOT).parts[0] == package
    }
    order = TopologicalSorter({name: imported(path) & (dotted.keys() - {name}) for name, path in dotted.items()})
    order.prepare()  # raises CycleError


def test_the_checker_stands_alone() -> None:
    """It imports itself and the standard library, and is formatted like everything else."""
    assert "numpy" not in sys.stdlib_module_names
    for path in sorted(CHECKER.rglob("*.py")):
        others = {name for name in imported(path) if name.split(".")[0] not in sys.stdlib_module_names}
        assert all(name.startswith("proofs_check.checker") for name in others), f"{path.name} imports {others}"
        assert not re.search(r"fmt: *(skip|off)", path.read_text(encoding="utf-8")), f"{path.name} is not formatted"


def test_lightning_sym_has_few_files_at_its_top() -> None:
    assert len([path for path in FILES if path.parent == ROOT / "lightning_sym"]) <= 12


@grouped("path", FILES, by=folder)
def test_flint_stays_in_its_rooms(path: Path) -> None:
    uses_flint = any(name.split(".")[0] == "flint" for name in imported(path))
    relative = path.relative_to(ROOT)
    assert not uses_flint or relative.parts[:2] in {("lightning_sym", "rings"), ("lightning_sym", "exact")}


def claim_module(path: Path) -> str:
    """The module, or the folder, of a file: where it has a claim, as the registry calls it."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts[2:]).removesuffix(".__init__")


@grouped("path", FILES, by=folder)
def test_everything_public_is_documented(path: Path) -> None:
    if path in (ROOT / "proofs_check" / "__init__.py", ROOT / "proofs_check" / "checker" / "__init__.py"):
        assert read(path).is_empty, "the checker imports nothing of ours only while these files are empty"
        return
    bare = read(path).undocumented
    assert "module" not in bare, f"{path} has no docstring"
    if claim_module(path) in claims_by_module():
        return  # a claim module is documented by its statement
    assert not bare, f"{path.name}: no docstring"


def test_every_claim_is_found() -> None:
    """None is hidden in a folder of another one; each has a place, and a name, of its own."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "proofs_check" / "claims").rglob("*.py")}
    assert {claim_module(path) for path, text in texts.items() if "\nCLAIM = " in text} == set(claims_by_module())
    assert list(claims_by_module().values()) == list(all_claims())
    for of in ("id", "place"):
        assert len({getattr(claim, of) for claim in all_claims()}) == len(all_claims())


def test_no_forward_pass_but_one() -> None:
    """Score matrices, (K X)^T (Q X), are formed in one place; what is checked against it stands in its claim."""
    pattern = re.compile(r"key[^\n]*@ x\)\.mT|key\.mT @ \(|pattern\(key\.mT @")
    places = [p.name for p in FILES if pattern.search(p.read_text(encoding="utf-8"))]
    assert places == ["attention.py"]


def test_public_names_are_the_same_for_people_and_for_type_checkers() -> None:
    tree = ast.parse((ROOT / "lightning_sym" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.With))
    typed = [a for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names]
    assert {a.name for a in typed} == {a.asname for a in typed} == set(lightning_sym.__all__)
    assert set(lightning_sym.__all__) <= set(dir(lightning_sym))
    for name in lightning_sym.__all__:
        assert getattr(lightning_sym, name).__module__ if name != "SOFTMAX" else lightning_sym.SOFTMAX
    with pytest.raises(AttributeError, match="no attribute 'dimensions'"):
        _ = lightning_sym.dimensions


def test_all_names_together_load_no_sympy() -> None:
    """The first line of most sessions, `from lightning_sym import *`: whoever needs SymPy loads it then."""
    script = "from lightning_sym import *; import sys; print('sympy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_the_package_loads_nothing_that_is_not_asked_for() -> None:
    script = "import sys, lightning_sym; print(sorted(m for m in sys.modules if m in ('numpy', 'flint', 'sympy')))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


CODE = sorted(
    path for name in (*PACKAGES, "scripts", "benchmarks", "docs/_tools") for path in (ROOT / name).rglob("*.py")
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
IN_ONE_SITTING = ROOT / "proofs_check" / "checker" / "verify.py"
"""The checker's main file is to be read in one sitting; its length has a test of its own."""


@pytest.mark.parametrize(("paths", "most"), [(CODE, 350), (TESTS, 300)], ids=["code", "tests"])
def test_no_file_is_longer_than_one_idea(paths: list[Path], most: int) -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths if path != IN_ONE_SITTING}
    assert len(lines) > 50
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > most} == {}


def test_tests_have_one_name_each() -> None:
    """They are imported by it, from whichever folder."""
    names = [path.name for path in TESTS]
    assert sorted(names) == sorted(set(names))


def test_every_function_of_the_tests_is_annotated() -> None:
    def bare(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        given += [each for each in (function.args.vararg, function.args.kwarg) if each]
        own = {"self", "cls"}
        return function.returns is None or any(a.annotation is None and a.arg not in own for a in given)

    found = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in TESTS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and bare(node)
    ]
    assert found == []


def named_twice(paths: list[Path]) -> dict[str, list[str]]:
    """Return the classes that stand in several files, a leading underscore aside, with these files."""
    places = defaultdict[str, list[str]](list)
    for path in paths:
        for name in read(path).classes:
            places[name.lstrip("_")].append(str(path))
    return {name: found for name, found in places.items() if len(found) > 1}


def test_one_word_one_thing() -> None:
    """The checker has a language of its own, as it shares no code; what it imports is not imported by us."""
    checker = [path for path in FILES if CHECKER in path.parents]
    assert named_twice([path for path in FILES if path not in checker]) == {}
    assert named_twice(checker) == {}


def test_a_name_that_stands_twice_is_seen(tmp_path: Path) -> None:
    for name, word in (("one", "Point"), ("two", "_Point")):
        (tmp_path / f"{name}.py").write_text(f"class {word}: ...\n")
    assert list(named_twice(sorted(tmp_path.iterdir()))) == ["Point"]
