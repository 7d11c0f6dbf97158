"""`lightning-sym page`: live pages, each one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lightning_cli import exit_codes, options

SCHEMA = "lightning-sym/page/1"


def as_document(name: str | None, output: str | None) -> dict[str, Any]:
    """What there is, and what was written, as JSON."""
    from lightning_cli.writing.live_pages import PAGES

    known = [{"name": each, "title": page.title} for each, page in PAGES.items()]
    return {"schema": SCHEMA, "pages": known, "page": name, "output": output}


def _list() -> None:
    from lightning_cli.writing.live_pages import PAGES

    for name, page in PAGES.items():
        click.echo(f"{name:<14}{page.title}")


def _show(path: str) -> None:
    """In the reader's browser."""
    import webbrowser

    from lightning_sym.errors import BadInput

    if not webbrowser.open(Path(path).resolve().as_uri()):
        raise BadInput(f"--open must find a browser, there is none; the page is in {path!r}")


@click.command(
    "page",
    epilog="""\b
Examples:
  lightning-sym page --list
  lightning-sym page figure-1 --open
  lightning-sym page figure-1 --output surface.html

Exit codes: 0 written or listed, 2 bad input.""",
)
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="The pages that there are.")
@click.option("--output", type=click.Path(), metavar="FILE", help="Where it goes.  [default: NAME.html]")
@click.option("--open", "opened", is_flag=True, help="Also show it in the browser.")
@options.as_json
def command(name: str | None, listed: bool, output: str | None, opened: bool, as_json: bool) -> int:
    """Write a page on which a theorem moves under the hand.

    One HTML file that needs no network and no server: open it from disk, send it, put it on a site. Numbers in it are
    exact, computed in the page by fractions of integers of any length; needs the extra `report`.
    """
    from lightning_cli.writing.live_pages import page_text
    from lightning_cli.writing.output import write_json
    from lightning_cli.writing.text_files import require_text_path, write_text
    from lightning_sym.errors import BadInput

    if listed == (name is not None):
        raise BadInput("page must be given a name, or --list")
    if name is None:
        if output is not None or opened:
            raise BadInput("--list must stand alone: it writes no page")
    else:
        text, output = page_text(name), output or f"{name}.html"
        require_text_path(output)
        write_text(output, text)
    if as_json:
        write_json(as_document(name, output))
    elif name is None:
        _list()
    else:
        click.echo(f"page: {output}")
    if opened and output is not None:
        _show(output)
    return exit_codes.AS_EXPECTED
