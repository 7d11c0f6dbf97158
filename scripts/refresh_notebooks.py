"""Pages of the notebooks, and what Jupyter opens: `python scripts/refresh_notebooks.py`.

A notebook in `examples/notebooks` is a Python file of marimo cells. Its page in `docs/notebooks` is made by running it:
prose, code and outputs; the tests run it again and compare. The `.ipynb` file beside it has the same cells, by marimo.
Look at the difference before it is committed.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from html import unescape
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
PAGES = ROOT / "docs" / "notebooks"


def cells(source: str) -> Iterator[list[ast.stmt]]:
    """Yield the statements of each cell, without the `return` that names what other cells see."""
    for found in ast.parse(source).body:
        if isinstance(found, ast.FunctionDef) and any("app.cell" in ast.unparse(d) for d in found.decorator_list):
            yield [statement for statement in found.body if not isinstance(statement, ast.Return)]


def prose(statement: ast.stmt) -> ast.expr | None:
    """Return the text of `mo.md(...)`, `None` for anything else."""
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        return call.args[0] if ast.unparse(call.func) == "mo.md" else None
    return None


def _shown(output: object) -> str:
    """Return an output on a page: SymPy as a formula, controls not at all, anything else as it prints."""
    import sympy

    from lightning_sym.display import Result

    if isinstance(output, (sympy.Basic, sympy.MatrixBase)):
        return f"$$\n{sympy.latex(output)}\n$$\n"
    if output is None or hasattr(output, "_mime_"):
        text = re.fullmatch(r"<pre[^>]*>(.*)</pre>", getattr(output, "text", ""), flags=re.DOTALL)
        return f"```text\n{unescape(text[1])}\n```\n" if text else ""
    if not isinstance(output, str | Result):  # a number or a mapping alone does not say what it is
        raise TypeError(f"a notebook must show a formula, a text or an answer, got {output!r}")
    return f"```text\n{output}\n```\n"


def page(path: Path) -> str:
    """Return the page of a notebook, run now."""
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
                parts += [said, opened] if number == 0 else [said]
        if not any(map(prose, statements)):
            parts.append(_shown(output))
    return "\n".join(part for part in parts if part)


def for_jupyter(path: Path) -> str:
    """Return the notebook as Jupyter opens it, without outputs; cells are numbered: it is the same each time."""
    command = [sys.executable, "-m", "marimo", "export", "ipynb", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=path.parent)  # noqa: S603 - our own
    written = json.loads(done.stdout)
    for number, cell in enumerate(written["cells"], start=1):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    written["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Rewrite the pages of all notebooks, and their versions for Jupyter."""
    sys.path.insert(0, str(ROOT))
    PAGES.mkdir(exist_ok=True)
    for path in NOTEBOOKS:
        made = {PAGES / f"{path.stem.replace('_', '-')}.md": page(path), path.with_suffix(".ipynb"): for_jupyter(path)}
        for target, new in made.items():
            if not target.exists() or target.read_text(encoding="utf-8") != new:
                target.write_text(new, encoding="utf-8")
                print(f"rewritten: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
