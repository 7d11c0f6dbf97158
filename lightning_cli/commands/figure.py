"""`lightning-sym figure`: pictures, each with the exact numbers that it shows."""

from __future__ import annotations

import re
from importlib import import_module

import click

from lightning_cli import options
from lightning_cli.pictures.drawing import ANSWERS as ANSWERS
from lightning_cli.writing.output import COLOURS, console, write_json
from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from rich import table as tables

    from lightning_cli.pictures import drawing
    from lightning_cli.writing import live_pages
    from lightning_sym import display

# name: (module, whether it is about a file of weights, one line)
FIGURES = {
    "1": ("figure_1", False, "The quartic surface of Figure 1, its singular line, and what only its closure has."),
    "3": ("figure_3", False, "Figure 3: the dimension of deep softmax networks, estimated and expected."),
    "coefficients": ("coefficients", False, "Learning coefficients on a plane of weights of a small layer."),
    "dimensions": ("dimensions", False, "Certified dimensions over widths and ranks, and where the formula parts."),
    "fiber": ("fiber", True, "The weights with one function, component by component."),
    "poles": ("poles", False, "Neurons of two layers have poles of their own where streams are infinite."),
    "roots": ("roots", False, "Two layers, one token: five roots of multiplicities 3,3,1,1,1, moving."),
    "singular": ("singular", False, "The tangent space jumps along a path into the singular locus."),
}

LIVE = {"1": "figure-1"}
"""Figures of which there is a live page, too."""

_NUMBER = re.compile(r"(between )?-?[\d,]+(/\d+)?( (to|and) [\d,]+)?|")

_WORDS = {"equal": COLOURS[True], "different": COLOURS[False], "undecided": COLOURS[None]}

_LONGEST = 60
"""Where a cell of the table is cut; JSON never is."""


def _print(picture: drawing.Picture) -> None:
    """Print the table of numbers beside a picture, and what of it is exact."""
    table = tables.Table(title=picture.title, title_justify="left", title_style="bold")
    for place, name in enumerate(picture.columns):
        numbers = all(_NUMBER.fullmatch(row[place]) for row in picture.rows)
        table.add_column(name, justify="right" if numbers else "left")
    for row in picture.rows:
        shown_cells = (display.cut_text(cell, _LONGEST) for cell in row)
        table.add_row(*(f"[{_WORDS[cell]}]{cell}[/]" if cell in _WORDS else cell for cell in shown_cells))
    console().print(table)
    click.echo(picture.caption)


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
  lightning-sym figure coefficients --output coefficients.png
  lightning-sym figure fiber examples/rank_one.json

Exit codes: 0 drawn, 2 bad input; of Figure 3: 0 certified and equal, 1 different somewhere, 3 undecided somewhere.""",
)
@click.argument("name", type=click.Choice(list(FIGURES)))
@click.argument("file", type=click.Path(), required=False)
@options.output(
    "the picture",
    "--output",
    metavar="PICTURE",
    help="Draw it, .png, .svg or .pdf; Figure 1 also as a live page, .html; needs the extra `plot`.",
)
@options.AS_JSON
def command(*, name: str, file: str | None, output: str | None, as_json: bool) -> int:
    """Draw a picture, and print the exact numbers in it.

    What is drawn is computed exactly, by integers and fractions; floats only place it on the paper.
    """
    module, takes_file, _ = FIGURES[name]
    if takes_file and file is None:
        raise BadInput(f"figure {name}: a file of weights must be given")
    if file is not None and not takes_file:
        raise BadInput(f"figure {name}: it must be given no file, got {shown(file)}")
    endings = (*drawing.ENDINGS, ".html") if name in LIVE else drawing.ENDINGS
    target = None if output is None else drawing.require_output(output, endings)
    made = import_module(f"lightning_cli.pictures.{module}").picture
    picture: drawing.Picture = made() if file is None else made(options.load_weights(file))
    if target is not None:
        kind = target.suffix.lower()[1:]
        live = kind == "html"
        drawing.write_picture(target, live_pages.page_text(LIVE[name]).encode() if live else picture.image(kind))
    if as_json:
        write_json(picture.answer.document(picture, output=output))
    else:
        _print(picture)
        if target is not None:
            click.echo(f"picture: {target}", err=True)
    return picture.code
