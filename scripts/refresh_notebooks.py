"""Pages of the notebooks: run them, and write prose, code and outputs. `python scripts/refresh_notebooks.py`.

A notebook in `examples/notebooks` is a Python file of marimo cells. Its page in `docs/notebooks` is made by running it;
the tests run it again and compare. Look at the difference before it is committed.
"""

from __future__ import annotations

import ast
import runpy
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
PAGES = ROOT / "docs" / "notebooks"


def cells(source: str) -> Iterator[list[ast.stmt]]:
    """The statements of each cell, without the `return` that names what other cells see."""
    for found in ast.parse(source).body:
        if isinstance(found, ast.FunctionDef) and any("app.cell" in ast.unparse(d) for d in found.decorator_list):
            yield [statement for statement in found.body if not isinstance(statement, ast.Return)]


def prose(statement: ast.stmt) -> ast.expr | None:
    """The text of `mo.md(...)`, `None` for anything else."""
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        return call.args[0] if ast.unparse(call.func) == "mo.md" else None
    return None


def _shown(output: Any) -> str:
    """An output on a page: SymPy as a formula, controls not at all, anything else as it prints."""
    import sympy

    if isinstance(output, (sympy.Basic, sympy.MatrixBase)):
        return f"$$\n{sympy.latex(output)}\n$$\n"
    if output is None or hasattr(output, "_mime_"):
        return ""
    words = str(output) if type(output).__module__.startswith(("lightning_sym", "builtins")) else repr(output)
    return f"```text\n{words}\n```\n"


def page(path: Path) -> str:
    """The page of a notebook, run now."""
    source = path.read_text(encoding="utf-8")
    outputs, names = runpy.run_path(str(path))["app"].run()
    lines = source.splitlines()
    parts = []
    opened = f"`marimo edit examples/notebooks/{path.name}` opens this page as a notebook: change anything in it.\n"
    for number, (statements, output) in enumerate(zip(cells(source), outputs, strict=True)):
        code = [statement for statement in statements if prose(statement) is None]
        if code:
            text = "\n".join(lines[code[0].lineno - 1 : code[-1].end_lineno])
            parts.append(f"```{{code-block}} python\n{textwrap.dedent(text)}\n```\n")
        for statement in statements:
            if (words := prose(statement)) is not None:
                said = textwrap.dedent(eval(ast.unparse(words), dict(names))).strip() + "\n"  # noqa: S307 - our own
                parts.insert(0 if number == 0 else len(parts), said)
                parts += [opened] if number == 0 else []
        if not any(map(prose, statements)):
            parts.append(_shown(output))
    parts[1:3] = reversed(parts[1:3])
    return "\n".join(part for part in parts if part)


def main() -> None:
    """Rewrite the pages of all notebooks."""
    sys.path.insert(0, str(ROOT))
    PAGES.mkdir(exist_ok=True)
    for path in NOTEBOOKS:
        target, new = PAGES / f"{path.stem.replace('_', '-')}.md", page(path)
        if not target.exists() or target.read_text(encoding="utf-8") != new:
            target.write_text(new, encoding="utf-8")
            print(f"rewritten: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
