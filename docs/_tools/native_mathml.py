"""Formulas as MathML, which browsers show by themselves: no script, no picture, nothing to fetch."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from lightning_cli.writing.mathml import mathml

_TAG = re.compile(r"\\tag\{([^{}]*)\}")

_WIDE = 30
"""Letters and signs of a formula in a line that may be wider than a phone, where it scrolls by itself."""


def _inline(writer: Any, node: nodes.math) -> None:
    formula = mathml(node.astext(), display="inline")
    kind = '"formula wide" tabindex="0"' if len(re.sub(r"<[^>]*>|\s", "", formula)) > _WIDE else '"formula"'
    writer.body.append(f"<span class={kind}>{formula}</span>")
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    source = node.astext().strip()
    tags = _TAG.findall(source)
    formula = mathml(_TAG.sub("", source))
    label = "".join(f'<span class="formula-tag">({escape(tag)})</span>' for tag in tags)
    writer.body.append(f'<div class="formula-block">{formula}{label}</div>\n')
    raise nodes.SkipNode


def _letters(app: Sphinx, page: nodes.document) -> None:
    """On a page of theorems that has formulas, set as one what is a letter alone: in the text it stands as code."""
    if "/" in app.env.docname or not any(page.findall(nodes.math)):
        return
    for code in list(page.findall(nodes.literal)):
        if len(text := code.astext()) == 1 and text.isalpha():
            code.replace_self(nodes.math(text, text))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-read", _letters)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
