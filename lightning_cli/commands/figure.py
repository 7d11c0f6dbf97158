"""`lightning-sym figure`: pictures, each with the exact numbers that it shows."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

import click

from lightning_cli import options
from lightning_cli.output_file import OutputFile
from lightning_cli.pictures.answers import ANSWERS as ANSWERS

if TYPE_CHECKING:
    from lightning_cli.pictures.drawing import Picture

# name: (module, whether it is about a file of weights, one line)
FIGURES = {
    "1": ("figure_1", False, "The quartic surface of Figure 1, its singular line, and what only its closure has."),
    "3": ("figure_3", False, "Figure 3: the dimension of deep softmax networks, estimated and expected."),
    "dimensions": ("dimensions", False, "Certified dimensions over widths and ranks, and where the formula parts."),
    "fiber": ("fiber", True, "The weights with one function, component by component."),
    "roots": ("roots", False, "Two layers, one token: five roots of multiplicities 3,3,1,1,1, moving."),
    "singular": ("singular", False, "The tangent space jumps along a path into the singular locus."),
}

LIVE = {"1": "figure-1"}
"""Figures of which there is a live page, too."""

_NUMBER = re.compile(r"(between )?-?[\d,]+(/\d+)?( (to|and) [\d,]+)?|")

_WORDS = {"equal": "green", "different": "red", "undecided": "yellow"}


_LONGEST = 60
"""Where a cell of the table is cut; JSON never is."""


def _print(picture: Picture) -> None:
    from rich.table import Table

    from lightning_cli.writing.output import console
    from lightning_sym.display import cut_text

    table = Table(title=picture.title, title_justify="left", title_style="bold")
    for place, name in enumerate(picture.columns):
        numbers = all(_NUMBER.fullmatch(row[place]) for row in picture.rows)
        table.add_column(name, justify="right" if numbers else "left")
    for row in picture.rows:
        table.add_row(*(f"[{_WORDS[cell]}]{cell}[/]" if cell in _WORDS else cut_text(cell, _LONGEST) for cell in row))
    console().print(table)


@click.command(
    "figure",
    epilog="""\b
Pictures:
"""
    + "".join(f"  {name + ' FILE' * takes_file:<13}{line}\n" for name, (_, takes_file, line) in FIGURES.items())
    + """
\b
Examples:
  lightning-sym figure 1 --output figure-1.svg
  lightning-sym figure 1 --output figure-1.html
  lightning-sym figure 3

Exit codes: 0 drawn, 2 bad input; of Figure 3: 0 certified and equal, 1 different somewhere, 3 undecided somewhere.""",
)
@click.argument("name", type=click.Choice(list(FIGURES)))
@click.argument("file", type=click.Path(), required=False)
@click.option(
    "--output",
    type=OutputFile("the picture"),
    metavar="PICTURE",
    help="Draw it, .png, .svg or .pdf; Figure 1 also as a live page, .html; needs the extra `plot`.",
)
@options.as_json
def command(name: str, file: str | None, output: str | None, as_json: bool) -> int:
    """Draw a picture, and print the exact numbers in it.

    What is drawn is computed exactly, by integers and fractions; floats only place it on the paper.
    """
    from lightning_cli.pictures.drawing import ENDINGS, require_output, write_picture
    from lightning_sym.errors import BadInput

    module, takes_file, _ = FIGURES[name]
    if takes_file != (file is not None):
        given = "a file of weights must be given" if takes_file else f"it must be given no file, got {file[:60]!r}"  # type: ignore[index]
        raise BadInput(f"figure {name}: {given}")
    target = None if output is None else require_output(output, (*ENDINGS, ".html") if name in LIVE else ENDINGS)
    made = import_module(f"lightning_cli.pictures.{module}").picture
    picture: Picture = (
        made(options.load_weights(file, normalization=None, mask=None, skip=False)) if file is not None else made()
    )
    if target is not None:
        kind = target.suffix.lower()[1:]
        write_picture(target, _live(name) if kind == "html" else picture.image(kind))
    if as_json:
        from lightning_cli.writing.output import write_json

        write_json(picture.as_document(output))
    else:
        _print(picture)
        click.echo(picture.caption)
        if target is not None:
            click.echo(f"picture: {target}", err=True)
    return picture.code


def _live(name: str) -> bytes:
    from lightning_cli.writing.live_pages import page_text

    return page_text(LIVE[name]).encode()
