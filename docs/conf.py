"""How the pages are built: `make docs` writes them into build/docs. Nothing is fetched, by the build or by a reader."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent / "_tools"), str(ROOT / "scripts")]

from lightning_sym.version import __version__  # noqa: E402 - found by the line above

project = "Lightning-Sym"
author = "The Lightning-Sym developers"
copyright = "2026, The Lightning-Sym developers"  # noqa: A001 - Sphinx names it
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "native_mathml",
    "made_pages",
    "page_links",
    "show_live_pages",
    "docstrings",
    "search_excerpts",
    "landmarks",
]
exclude_patterns = ["_tools"]
smartquotes = False  # `--` is the beginning of an option

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# docstrings write code in single backticks, as the pages do
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature shows them
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False

html_theme = "furo"
html_title = "Lightning-Sym"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
