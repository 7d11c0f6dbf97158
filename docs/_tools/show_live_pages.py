"""The live pages stand beside the pages of the site, in the folder `live`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from lightning_cli.writing.live_pages import PAGES, page_text


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None:
        return
    folder = Path(app.outdir) / "live"
    folder.mkdir(exist_ok=True)
    for name in PAGES:
        (folder / f"{name}.html").write_text(page_text(name), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
