"""The search shows what it found also where the pages are opened from disk, and a browser fetches nothing.

Sphinx's own search fetches each page that it found, to show some words around the hit. Here the words of all pages are
a script of the search page, from which it takes them; index, order and marks are Sphinx's own.
"""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NAME = "excerpts.js"

_SCRIPT = """const PAGES = %s;
const fetched = window.fetch;
window.fetch = (address, ...more) => {
  const path = "/" + String(address).split(/[?#]/)[0];
  const name = Object.keys(PAGES).find((page) => path.endsWith("/" + page));
  return name === undefined ? fetched(address, ...more) : Promise.resolve({ text: () => PAGES[name] });
};
"""

_TEXTS: dict[str, str] = {}
"""By the name of a page its words, as HTML that the search understands."""


def _collect(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if name == "search":
        app.add_js_file(NAME, priority=100)
    if doctree is None:
        return
    bare = re.sub(r"<(script|style)\b.*?</\1>|<a class=\"headerlink\".*?</a>|<[^>]+>", " ", context["body"], flags=re.S)
    words = " ".join(unescape(bare).split())
    _TEXTS[f"{name}.html"] = f'<div role="main">{escape(words, quote=False)}</div>'


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        text = _SCRIPT % json.dumps(_TEXTS, ensure_ascii=False, sort_keys=True)
        (Path(app.outdir) / "_static" / NAME).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-page-context", _collect)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
