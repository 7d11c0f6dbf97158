"""What keyboards and screen readers need of the pages and the theme leaves out: names, levels, and ways to scroll."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NAMED = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="all pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="on this page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-label="on this page">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    "<pre>": '<pre tabindex="0">',
    '<div class="formula-block">': '<div tabindex="0" class="formula-block">',
    '<div class="house-frame">': '<div tabindex="0" class="house-frame">',
    '<div id="search-results"></div>': '<h1>Search</h1>\n<div id="search-results"></div>',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
}


def _named(app: Sphinx, failed: Exception | None) -> None:
    """Write names into the pages, where they were written by the theme."""
    pages = () if failed or app.builder.format != "html" else Path(app.outdir).rglob("*.html")
    for page in pages:
        if page.parent.name == "live":  # whole pages, with names of their own
            continue
        text = page.read_text(encoding="utf-8")
        for plain, named in NAMED.items():
            text = text.replace(plain, named)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _named)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
