"""`lightning-sym atlas`: ask an atlas, or make a page of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.fields import (
    FLOAT,
    INTEGER,
    TEXT,
    JsonAnswer,
    JsonField,
    JsonKind,
    each,
    group,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import COUNTS, TRIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightning_sym.atlas.store import Entry


BIT = JsonKind({"enum": [0, 1]})

ROW = group(
    JsonField("network", TEXT, "the architecture as certificates write it, JSON"),
    JsonField("depth", natural(1), "layers"),
    JsonField("widths", TEXT, "with commas"),
    JsonField("ranks", TEXT, "with commas"),
    JsonField("tokens", natural(1)),
    JsonField("normalization", one_of("none", "softmax")),
    JsonField("mask", one_of("none", "causal")),
    JsonField("skip", BIT, "each layer adds its input"),
    JsonField("heads", natural(1)),
    JsonField("value_ranks", optional(TEXT), "with commas"),
    JsonField("embed", optional(natural(1)), "columns of the embedding"),
    JsonField("unembed", optional(natural(1)), "rows of the unembedding"),
    JsonField("parameters", natural(1), "number of weights"),
    JsonField("lower", optional(natural()), "lower bound, null where refused"),
    JsonField("upper", optional(natural()), "upper bound, null where refused"),
    JsonField("dimension", optional(natural()), "where they meet"),
    JsonField("status", one_of("certified", "undecided", "refused")),
    JsonField("reason", optional(TEXT), "what was refused"),
    JsonField("evidence", optional(TEXT), "the smallest upper bounds, with commas"),
    JsonField("formula", optional(TEXT), "where the paper prints a formula"),
    JsonField("formula_value", optional(INTEGER), "what it gives"),
    JsonField("formula_applies", optional(BIT), "whether its hypotheses hold"),
    JsonField("formula_agrees", optional(BIT), "whether it gives the dimension"),
    JsonField("fiber_dimension", optional(natural()), "parameters minus dimension"),
    JsonField("seed", natural(), "picked the points"),
    JsonField("prime", optional(INTEGER), "modulus of the lower bound"),
    JsonField("inputs", optional(INTEGER), "inputs of the lower bound"),
    JsonField("seconds", FLOAT.having(minimum=0), "how long it took"),
)

TRIED = JsonField("trial", optional(TRIAL), "the formula of `--conjecture` against the certified dimensions, else null")

COUNTED = JsonField("counts", COUNTS, "networks of the whole atlas, by status")

ANSWER = JsonAnswer(
    "atlas",
    "`lightning-sym atlas --json`.",
    (
        JsonField("file", TEXT, "the SQLite file"),
        COUNTED,
        JsonField("networks", each(ROW), "the smallest ones that were asked for"),
        TRIED,
    ),
)

ANSWERS = (ANSWER,)


@click.command(
    "atlas",
    epilog="""\b
Examples:
  lightning-sym atlas atlas.sqlite
  lightning-sym atlas atlas.sqlite --where "dimension is null and tokens = 1"
  lightning-sym atlas atlas.sqlite --conjecture "sum(min(a,d)*(2*d-min(a,d)) for a,d in zip(ranks,widths))"
  lightning-sym atlas atlas.sqlite --page atlas.html

Exit codes: 0 answered, 1 the conjecture is refuted, 2 bad input, 3 the conjecture is open for some network.""",
)
@click.argument("file", type=click.Path())
@click.option("--where", metavar="SQL", help="Only networks that meet this condition on the columns.")
@click.option("--most", type=Integer(0, 10**6), default=20, show_default=True, help="Networks that are shown.")
@click.option("--conjecture", metavar="FORMULA", help="Compare this formula with the certified dimensions.")
@click.option(
    "--page", type=OutputFile("a page"), metavar="FILE", help="Write a page: tables and plots, one HTML file."
)
@options.as_json
def command(file: str, where: str | None, most: int, conjecture: str | None, page: str | None, as_json: bool) -> int:
    """Ask the certified dimensions that `lightning-sym sweep` has put into FILE.

    Networks are shown by size, smallest first. The columns are those of `lightning_sym.atlas.store.Entry`: depth,
    widths, ranks, tokens, normalization, mask, skip, heads, value_ranks, embed, unembed, parameters, lower, upper,
    dimension, status, formula_value, formula_agrees, and more.
    """
    from lightning_cli.writing.output import console, write_answer, write_json
    from lightning_sym.atlas.conjectures import try_formula
    from lightning_sym.atlas.store import Atlas

    with Atlas(file) as atlas:
        entries = list(atlas.entries(where, most))
        trial = None if conjecture is None else try_formula(atlas, conjecture, where)
        counts = atlas.counts()
        if page is not None:
            from lightning_cli.writing.atlas_page import write_page

            write_page(page, atlas, where)
            click.echo(f"page: {page}", err=True)
    if as_json:
        write_json(ANSWER.document(file=file, counts=counts, networks=entries, trial=trial))
    else:
        click.echo(f"{file}: " + (", ".join(f"{n:,} {status}" for status, n in counts.items()) or "empty"))
        if entries:
            console().print(_table(entries))
        if trial is not None:
            write_answer(trial, smallest="red")
    if trial is None:
        return exit_codes.AS_EXPECTED
    if trial.refuted:
        return exit_codes.NOT_AS_EXPECTED
    return exit_codes.UNDECIDED if trial.undecided else exit_codes.AS_EXPECTED


def _table(entries: Sequence[Entry]) -> Any:
    from rich.table import Table

    table = Table()
    for name in ("network", "parameters", "dimension", "formula of the paper"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for e in entries:
        dimension = str(e.dimension) if e.dimension is not None else f"{e.lower} to {e.upper}"
        agrees = {None: "", 1: "", 0: " (differs)"}[e.formula_agrees]
        formula = "" if e.formula_value is None else f"{e.formula_value}{agrees}"
        table.add_row(
            str(e.architecture), str(e.parameters), "refused" if e.status == "refused" else dimension, formula
        )
    return table
