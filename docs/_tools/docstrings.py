"""Docstrings as this code writes them, for autodoc: formulas between dollars, and sentences with colons in them."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_FORMULA = re.compile(r"(?<![\w$\\])\$([^$]+)\$(?![\w$])")


def _prepared(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    text = _FORMULA.sub(lambda formula: f":math:`{' '.join(formula[1].split())}`", "\n".join(lines))
    lines[:] = text.split("\n")
    if what == "property":
        lines.insert(0, "\\ ")  # nothing, or else napoleon takes what stands before a colon for a type


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _prepared, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
