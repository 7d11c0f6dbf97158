"""`lightning-sym page`: live pages, each one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.fields import TEXT, JsonAnswer, JsonField, each, in_order, optional


def _pages() -> list[tuple[str, str]]:
    """All pages by name and title."""
    from lightning_cli.writing.live_pages import PAGES

    return [(name, page.title) for name, page in PAGES.items()]


ANSWER = JsonAnswer(
    "page",
    "`lightning-sym page NAME --json`, `lightning-sym page --list --json`.",
    (
        JsonField(
            "pages",
            each(in_order(JsonField("name", TEXT), JsonField("title", TEXT))),
            "all pages that there are, by name",
        ),
        JsonField("page", optional(TEXT), "the one that was written, null for a list"),
        JsonField("output", optional(TEXT), "where it was written, null for a list"),
    ),
)

ANSWERS = (ANSWER,)


def _list() -> None:
    for name, title in _pages():
        click.echo(f"{name:<14}{title}")


def _require_browser() -> None:
    """Before anything is written.

    Raises:
        BadInput: there is none.
    """
    import webbrowser

    from lightning_sym.errors import BadInput

    try:
        webbrowser.get()
    except webbrowser.Error:
        raise BadInput("--open must find a browser, there is none; leave it out, and open the page by hand") from None


def _show(path: str) -> None:
    """In the reader's browser."""
    import webbrowser

    if not webbrowser.open(Path(path).resolve().as_uri()):
        click.echo("the browser did not open it; open the page by hand", err=True)


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
@click.option("--output", type=OutputFile("a page"), metavar="FILE", help="Where it goes.  [default: NAME.html]")
@click.option("--open", "opened", is_flag=True, help="Also show it in the browser.")
@options.as_json
def command(name: str | None, listed: bool, output: str | None, opened: bool, as_json: bool) -> int:
    """Write a page on which a theorem moves under the hand.

    One HTML file that needs no network and no server: open it from disk, send it, put it on a site. Numbers in it are
    exact, computed in the page by fractions of integers of any length; needs the extra `report`.
    """
    from lightning_cli.writing.live_pages import page_text
    from lightning_cli.writing.output import write_json
    from lightning_cli.writing.text_files import write_text
    from lightning_sym.errors import BadInput

    if listed == (name is not None):
        raise BadInput("page must be given a name, or --list")
    if name is None:
        if output is not None or opened:
            raise BadInput("--list must stand alone: it writes no page")
    else:
        if opened:
            _require_browser()
        text, output = page_text(name), f"{name}.html" if output is None else output
        write_text(output, text)
    if as_json:
        write_json(ANSWER.document(pages=_pages(), page=name, output=output))
    elif name is None:
        _list()
    else:
        click.echo(f"page: {output}")
    if opened and output is not None:
        _show(output)
    return exit_codes.AS_EXPECTED
