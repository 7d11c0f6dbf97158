"""`lightning-sym page`: live pages, each one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import write_file
from lightning_cli.writing.fields import field, in_order, json_answer, optional
from lightning_cli.writing.output import write_json
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import webbrowser

    from lightning_cli.writing import live_pages
    from lightning_sym.checkpoints import folders

ANSWER = json_answer(
    "page",
    field("pages", [in_order(field("name", str), field("title", str))], "all pages that there are, by name"),
    field("page", optional(str), "the one that was written, null for a list"),
    field("output", optional(str), "where it was written, null for a list"),
    said="`lightning-sym page NAME --json`, `lightning-sym page --list --json`.",
)

ANSWERS = (ANSWER,)


@click.command(
    "page",
    epilog="""\b
Examples:
  lightning-sym page --list
  lightning-sym page figure-1 --open
  lightning-sym page figure-1 --output surface.html
  lightning-sym page playground --weights examples/checkpoints/model

Exit codes: 0 written or listed, 2 bad input.""",
)
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="The pages that there are.")
@options.output("a page", "--output", help="Where it goes.  [default: NAME.html]")
@click.option(
    "--weights",
    type=click.Path(),
    help="Your own small model in place of the page's, a folder or a .gguf file: for the playground.",
)
@click.option("--open", "opened", is_flag=True, help="Also show it in the browser.")
@options.AS_JSON
def command(
    *, name: str | None, listed: bool, output: str | None, weights: str | None, opened: bool, as_json: bool
) -> int:
    """Write a page on which a theorem moves under the hand.

    One HTML file that needs no network and no server: open it from disk, send it, put it on a site. Numbers in it are
    exact, computed in the page by fractions of integers of any length; needs the extra `report`.
    """
    if listed == (name is not None):
        raise BadInput("page must be given a name, or --list")
    if name is None:
        if output is not None or opened or weights is not None:
            raise BadInput("--list must stand alone: it writes no page")
    else:
        if opened:
            _require_browser()
        checkpoint = None if weights is None else folders.open_checkpoint(weights)
        text, output = live_pages.page_text(name, checkpoint), f"{name}.html" if output is None else output
        write_file("the output", output, text)
    pages = [(each, page.title) for each, page in live_pages.PAGES.items()]
    if as_json:
        write_json(ANSWER.document(pages=pages, page=name, output=output))
    elif name is None:
        click.echo("\n".join(f"{each:<14}{title}" for each, title in pages))
    else:
        click.echo(f"page: {output}")
    if opened and output is not None and not webbrowser.open(Path(output).resolve().as_uri()):
        click.echo("the browser did not open it; open the page by hand", err=True)
    return exit_codes.AS_EXPECTED


def _require_browser() -> None:
    """Refuse to open a page, before anything is written, where there is no browser.

    Raises:
        BadInput: there is none.
    """
    try:
        webbrowser.get()
    except webbrowser.Error:
        raise BadInput("--open must find a browser, there is none; leave it out, and open the page by hand") from None
