"""The name of a page in a text, as code and certificates cite pages (`docs/upper-bound.md`), becomes a link to it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_PAGE = re.compile(r"docs/([\w/-]+)\.md")


class PageLinks(SphinxTransform):
    """Turns a literal that is the name of a page into a reference."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Called by Sphinx for each page."""
        for literal in list(self.document.findall(nodes.literal)):
            named = _PAGE.fullmatch(literal.astext())
            if named is None or named[1] == self.env.docname or isinstance(literal.parent, nodes.reference):
                continue
            if named[1] not in self.env.found_docs:
                raise ValueError(f"{self.env.docname} cites {literal.astext()}, which is no page")
            link = addnodes.pending_xref(
                "",
                literal.deepcopy(),
                refdomain="std",
                reftype="doc",
                refdoc=self.env.docname,
                reftarget=f"/{named[1]}",
                refexplicit=True,
                refwarn=True,
            )
            literal.replace_self(link)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_transform(PageLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
