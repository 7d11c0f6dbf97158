"""The figures of the house: `python scripts/measure_house.py [CHECKOUT ...]` prints a table with a column for each.

With `--page` the table of this checkout is written into docs/development/house.md.

They are symptoms, to be read before and after a change: how much there is to read, how often one thing is listed again,
how far one question walks. Files are those that git tracks; source is what is installed, the rest are scripts,
benchmarks and tools. A walk is one call of the library, made a second time: the files it enters, the functions, and the
arrows, which are steps from one file into another, returns among them.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "development" / "house.md"
TABLE = re.compile(r"^\| figure \|.*\n(?:\|.*\n)*", flags=re.MULTILINE)
"""The figures on the page."""
SOURCE = ("lightning_sym/", "proofs_check/", "lightning_cli/")
OPTIONS = {"heads", "skip", "causal", "mask", "embed", "unembed", "normalization", "value_ranks"}
PIECES = re.compile(r"([QKVOEU])[\d.]*")
SILENT = {"COMMENT", "STRING", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER", "ENCODING"}
SILENT |= {"FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def measured(checkout: Path) -> dict[str, str]:
    """Return the figures of a checkout by their names."""
    listed = subprocess.run(["git", "-C", str(checkout), "ls-files"], capture_output=True, text=True, check=True)  # noqa: S603, S607
    names = [name for name in listed.stdout.splitlines() if (checkout / name).is_file()]
    texts = {
        name: (checkout / name).read_text(encoding="utf-8") for name in names if name.endswith((".py", ".schema.json"))
    }
    python = {name: text for name, text in texts.items() if name.endswith(".py")}
    source = {name: text for name, text in python.items() if name.startswith(SOURCE)}
    tests = {name: text for name, text in python.items() if name.startswith("tests/")}
    trees = {name: ast.parse(text) for name, text in python.items()}
    own = [trees[name] for name in source]
    written = [line for text in source.values() for line in text.splitlines() if line.strip()]
    schemas = [text for name, text in texts.items() if name.endswith(".schema.json")]
    figures: dict[str, tuple[float, ...]] = {
        "files of source": (len(source),),
        "statements (AST) of source; of the rest": (
            sum(map(statements, own)),
            sum(statements(trees[name]) for name in python.keys() - source.keys() - tests.keys()),
        ),
        "tokens of source": (sum(map(tokens, source.values())),),
        "lines of source; of the checker": (
            lines(source.values()),
            lines(text for name, text in source.items() if name.startswith("proofs_check/checker/")),
        ),
        "mean length of a line that is not blank": (round(sum(map(len, written)) / len(written), 1),),
        "schemas by hand; their lines": (len(schemas), lines(schemas)),
        "tests: statements; assertions; lines": (
            sum(statements(trees[name]) for name in tests),
            sum(map(assertions, (trees[name] for name in tests))),
            lines(tests.values()),
        ),
        "literal collections of option names": (
            sum(map(partial(lists_of_options, kinds=(ast.Set, ast.Tuple, ast.List)), own)),
        ),
        "dictionaries keyed by options": (sum(map(partial(lists_of_options, kinds=(ast.Dict,)), own)),),
        "files that name four pieces": (sum(len(pieces(tree)) >= 4 for tree in own),),
        "imports inside functions": (sum(map(inner_imports, own)),),
        "`Any`": (sum(isinstance(node, ast.Name) and node.id == "Any" for tree in own for node in ast.walk(tree)),),
        "positional booleans": (sum(map(positional_booleans, own)),),
    }
    walks = subprocess.run(  # noqa: S603 - this script, with the code of the checkout
        [sys.executable, "-P", __file__, "--walks", str(checkout)], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": str(checkout)}, cwd=checkout,
    )  # fmt: skip
    figures |= {f"{name}: files; functions; arrows": tuple(found) for name, found in json.loads(walks.stdout).items()}
    return {name: "; ".join(f"{x:,}" for x in numbers) for name, numbers in figures.items()}


# ---- what is counted


def statements(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def tokens(text: str) -> int:
    """Return how many there are, without comments, strings, and what lays lines out.

    Example:
        >>> tokens("x = 1  # one\\n")
        3
    """
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(tokenize.tok_name[token.type] not in SILENT for token in found)


def lines(texts: Any) -> int:
    return sum(len(text.splitlines()) for text in texts)


def assertions(tree: ast.AST) -> int:
    """Return how often something is asserted, or an exception awaited."""
    raises = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    awaited = sum(isinstance(function, ast.Attribute) and function.attr == "raises" for function in raises)
    return awaited + sum(isinstance(node, ast.Assert) for node in ast.walk(tree))


def _strings(nodes: list[Any]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def lists_of_options(tree: ast.AST, kinds: tuple[type[Any], ...]) -> int:
    """Return how many literals of these kinds hold two names of options, or more.

    Example:
        >>> lists_of_options(ast.parse("{'skip', 'heads'}, {'skip'}"), (ast.Set,))
        1
    """
    found = (node for node in ast.walk(tree) if isinstance(node, kinds))
    return sum(len(_strings(node.keys if isinstance(node, ast.Dict) else node.elts) & OPTIONS) > 1 for node in found)


def pieces(tree: ast.AST) -> set[str]:
    """Return the letters of weights that are spelled out.

    Example:
        >>> sorted(pieces(ast.parse("w['Q1.2'], w['V']")))
        ['Q', 'V']
    """
    return {found[1] for name in _strings(list(ast.walk(tree))) if (found := PIECES.fullmatch(name))}


def inner_imports(tree: ast.AST) -> int:
    """Return the imports inside functions; `import_module` is one wherever it is called.

    Example:
        >>> inner_imports(ast.parse("import a\\ndef f():\\n    import b\\n    if c:\\n        import_module(d)"))
        2
    """
    found, waiting = 0, [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        found += inside and isinstance(node, ast.Import | ast.ImportFrom)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            found += name in ("import_module", "__import__")
        within = isinstance(node, Function) or (inside and not isinstance(node, ast.ClassDef))
        waiting += [(child, within) for child in ast.iter_child_nodes(node)]
    return found


def positional_booleans(tree: ast.AST) -> int:
    """Return how many parameters are booleans that a call need not name.

    Example:
        >>> positional_booleans(ast.parse("def f(a: bool, *, b: bool): pass"))
        1
    """
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    given = (argument.annotation for function in functions for argument in function.args.args)
    return sum(annotation is not None and ast.unparse(annotation) == "bool" for annotation in given)


# ---- walks, in a process that runs the checkout's code


def walked(call: Callable[[], object], root: str) -> tuple[int, int, int]:
    """Return the files below a root that a call enters, the functions, and the arrows from file to file, counted."""
    path, functions = followed(call, root)
    return len(set(path)), len(functions), len(set(pairwise(path)))


def followed(call: Callable[[], object], root: str) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the files below a root that a call enters, in turn and again, and the functions with their files."""
    files: dict[str, str | None] = {}
    functions, path = set(), [""]

    def file_of(frame: FrameType) -> str | None:
        name = frame.f_code.co_filename
        if name not in files:
            local = os.path.realpath(name).removeprefix(root + os.sep)
            files[name] = local if local.startswith(SOURCE) else None
        return files[name]

    def callers(frame: FrameType | None) -> Iterator[str]:
        while frame is not None:
            if found := file_of(frame):
                yield found
            frame = frame.f_back

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        file = file_of(frame)
        if file is None or event not in ("call", "return"):
            return
        if event == "call":
            functions.add((file, frame.f_code.co_qualname))
        else:
            file = next(callers(frame.f_back), path[-1])
        if file != path[-1]:
            path.append(file)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return path[1:], functions


def walks(root: Path) -> dict[str, tuple[int, int, int]]:
    """Return how far four questions walk: a dimension, two networks, a fiber, two checkpoints twice."""
    import lightning_sym as sym

    folder = root / "examples" / "checkpoints"
    first = sym.Weights.of({"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, -1]]})
    half, shape = Fraction(1, 2), sym.Architecture((4, 4, 4), (2, 2), 3)
    second = sym.Weights.of({"Q1": [[2, 4]], "K1": [[3, 1]], "V1": [[half, -half]]})

    def same(name: str) -> Callable[[], object]:
        return lambda: sym.same_checkpoints(sym.open_checkpoint(folder / "model"), sym.open_checkpoint(folder / name))

    calls: dict[str, Callable[[], object]] = {
        "certified dimension": lambda: sym.certified_dimension(shape),
        "`same_function`": lambda: sym.same_function(first, second, 2),
        "`fiber`": lambda: sym.fiber(first),
        "`same` on checkpoints, rewritten": same("rewritten"),
        "`same` on checkpoints, a bias forgotten": same("forgotten_bias"),
    }
    for call in calls.values():
        call()  # what is kept is kept then, and what is imported late is there
    return {name: walked(call, str(root)) for name, call in calls.items()}


def table(checkouts: list[Path]) -> str:
    """Return the figures in Markdown, a column for each checkout."""
    columns = [measured(checkout) for checkout in checkouts]
    heads = [checkout.name for checkout in checkouts] if len(checkouts) > 1 else ["now"]
    rows = [["figure", *heads]]
    rows += [[name, *(column.get(name, "") for column in columns)] for name in columns[0]]
    head, *others = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"{head}|{'---|' * len(rows[0])}\n{''.join(others)}"


def main() -> None:
    """Print the table of one or several checkouts, or write it into the page; or the walks of one, as JSON."""
    if sys.argv[1:2] == ["--walks"]:
        print(json.dumps(walks(Path(sys.argv[2]))))
    elif sys.argv[1:] == ["--page"]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(TABLE.sub(lambda _: table([ROOT]), page), encoding="utf-8", newline="\n")
    else:
        print(table([Path(name).resolve() for name in sys.argv[1:]] or [ROOT]), end="")


if __name__ == "__main__":
    main()
