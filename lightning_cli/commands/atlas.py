"""`lightning-sym atlas`: ask an atlas, or make a page of it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.writing.fields import FLOAT, JsonKind, field, group, json_answer, natural, one_of, optional
from lightning_cli.writing.output import console, write_answer, write_json
from lightning_cli.writing.shared_fields import COUNTS, TRIAL
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from rich import table as tables

    from lightning_cli.pictures import atlas_page
    from lightning_sym.atlas import formulas, store

BIT = JsonKind({"enum": [0, 1]})

ROW = group(
    field("network", str, "the architecture as certificates write it, JSON"),
    field("depth", natural(1), "layers"),
    field("widths", str, "with commas"),
    field("ranks", str, "with commas"),
    field("tokens", natural(1)),
    field("normalization", one_of("none", "softmax")),
    field("mask", one_of("none", "causal")),
    field("skip", BIT, "each layer adds its input"),
    field("heads", natural(1)),
    field("value_ranks", optional(str), "with commas"),
    field("embed", optional(natural(1)), "columns of the embedding"),
    field("unembed", optional(natural(1)), "rows of the unembedding"),
    field("parameters", natural(1), "number of weights"),
    field("lower", optional(natural()), "lower bound, null where refused"),
    field("upper", optional(natural()), "upper bound, null where refused"),
    field("dimension", optional(natural()), "where they meet"),
    field("status", one_of("certified", "undecided", "refused")),
    field("reason", optional(str), "what was refused"),
    field("evidence", optional(str), "the smallest upper bounds, with commas"),
    field("formula", optional(str), "where the paper prints a formula"),
    field("formula_value", optional(int), "what it gives"),
    field("formula_applies", optional(BIT), "whether its hypotheses hold"),
    field("formula_agrees", optional(BIT), "whether it gives the dimension"),
    field("fiber_dimension", optional(natural()), "parameters minus dimension"),
    field("seed", natural(), "picked the points"),
    field("prime", optional(int), "modulus of the lower bound"),
    field("inputs", optional(int), "inputs of the lower bound"),
    field("seconds", FLOAT.having(minimum=0), "how long it took"),
)

TRIED = field("trial", optional(TRIAL), "the formula of `--conjecture` against the certified dimensions, else null")

COUNTED = field("counts", COUNTS, "networks of the whole atlas, by status")

ANSWER = json_answer(
    "atlas",
    field("file", str, "the SQLite file"),
    COUNTED,
    field("networks", [ROW], "the smallest ones that were asked for"),
    TRIED,
)

ANSWERS = (ANSWER,)


@click.command(
    "atlas",
    epilog="""\b
Examples:
  lightning-sym sweep --depth 1..2 --widths 1..3 --ranks 1..2 --tokens 1..2 -o atlas.sqlite
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
@options.output("a page", "--page", help="Write a page: tables and plots, one HTML file.")
@options.AS_JSON
def command(*, file: str, where: str | None, most: int, conjecture: str | None, page: str | None, as_json: bool) -> int:
    """Ask the certified dimensions that `lightning-sym sweep` has put into FILE.

    Networks are shown by size, smallest first. The columns are those of `lightning_sym.atlas.store.Entry`: depth,
    widths, ranks, tokens, normalization, mask, skip, heads, value_ranks, embed, unembed, parameters, lower, upper,
    dimension, status, formula_value, formula_agrees, and more.
    """
    with store.Atlas(file) as atlas:
        entries = list(atlas.entries(where, most))
        trial = None if conjecture is None else formulas.try_formula(atlas, conjecture, where)
        counts = atlas.counts()
        if page is not None:
            atlas_page.write_page(page, atlas, where)
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


def _table(entries: Sequence[store.Entry]) -> tables.Table:
    """Return a table of networks, a row each."""
    table = tables.Table()
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
