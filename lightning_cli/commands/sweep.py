"""`lightning-sym sweep`: certified dimensions of many networks, into a file that one can ask."""

from __future__ import annotations

from typing import Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer, Size
from lightning_cli.writing.fields import field, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar, write, write_answer
from lightning_cli.writing.shared_fields import COUNTS, TRIAL
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.atlas import families, formulas, store
    from lightning_sym.atlas import sweep as sweeps

ANSWER = json_answer(
    "sweep",
    field("file", str, "the SQLite file"),
    field("measured", natural(), "networks measured now"),
    field("known", natural(), "networks of the family that the atlas had before"),
    field("counts", COUNTS, "networks of the whole atlas, by status"),
    field("trial", optional(TRIAL), "the formula of `--conjecture` against the certified dimensions, else null"),
)

ANSWERS = (ANSWER,)


_SKIP = {"no": False, "yes": True, "both": "both"}

_SIZES = "sizes: 3, a list 2,3,5 or a range 1..4"


def _keys_of_options(values: dict[str, Any]) -> dict[str, object]:
    """Return what the options say, as a family's keys."""
    said: dict[str, object] = {}
    for name, value in values.items():
        if value is None:
            continue
        if name in ("largest", "count", "seed", "uniform"):
            said[name] = value
        elif name == "skip":
            said[name] = [_SKIP[word.strip()] for word in value.split(",")]
        else:
            words = [word.strip() for word in value.split(",")]
            said[name] = [int(word) if word.isdecimal() and len(word) < 12 else word for word in words]
    return said


@click.command(
    "sweep",
    epilog="""\b
Examples:
  lightning-sym sweep --depth 1..2 --widths 1..3 --ranks 1..2 --tokens 1..2 -o atlas.sqlite
  lightning-sym sweep examples/family.toml -o atlas.sqlite --conjecture "l*a*(2*d-a) + d*d - l"
  lightning-sym sweep --depth 1..4 --widths 1..9 --ranks 1..9 --tokens 2 --count 1000 -o atlas.sqlite

\b
SPEC is a TOML file with the keys depth, widths, ranks, tokens, and if wanted heads, value_ranks, embed,
unembed, normalization, mask, skip, uniform, largest, count, seed; options stand in place of its keys.
A sweep that was ended in any way goes on where it was when it is called again.

\b
Exit codes: 0 all certified, 1 the conjecture is refuted, 2 bad input, 3 some network undecided or refused.""",
)
@click.argument("spec", type=click.Path(), required=False)
@options.output("an atlas", "--output", required=True, help="The atlas, an SQLite file.")
@click.option("--depth", metavar="SIZES", help=f"Layers; {_SIZES}.")
@click.option("--widths", metavar="SIZES", help="What each width may be.")
@click.option("--ranks", metavar="SIZES", help="What each query/key width may be.")
@click.option("--tokens", metavar="SIZES", help="Numbers of tokens.")
@click.option("--heads", metavar="SIZES", help="Heads of each layer; 1 unless said.")
@click.option(
    "--value-ranks", metavar="SIZES", help="Value widths before output projections, `none` for no projection."
)
@click.option("--embed", metavar="SIZES", help="Columns of an embedding, `none` for none.")
@click.option("--unembed", metavar="SIZES", help="Rows of an unembedding, `none` for none.")
@click.option("--normalization", metavar="NAMES", help="none, softmax or both.")
@click.option("--mask", metavar="NAMES", help="none, causal or both.")
@click.option("--skip", metavar="NAMES", help="no, yes or both: each layer adds its input.")
@click.option("--uniform", is_flag=True, default=None, help="Equal widths and ranks in all layers.")
@click.option("--largest", type=Size(), help="Leave out networks with more parameters.")
@click.option("--count", type=Size(), help="Draw so many networks at random.")
@click.option("--seed", type=Integer(), help="Picks what is drawn, and the points of each network; 0 unless said.")
@options.MEMORY
@click.option("--certificates", is_flag=True, help="Keep a certificate of each certified dimension in the atlas.")
@click.option("--workers", type=Integer(1, 1000), help="Processes; as many as cores unless said.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler whose workers measure, such as tcp://host:8786.")
@click.option("--retry", type=click.Choice(["refused", "undecided"]), help="First forget the networks of this status.")
@click.option("--conjecture", metavar="FORMULA", help="Then compare this formula with all of the atlas.")
@options.AS_JSON
def command(
    *,
    spec: str | None,
    output: str,
    memory: int,
    certificates: bool,
    workers: int | None,
    scheduler: str | None,
    retry: str | None,
    conjecture: str | None,
    as_json: bool,
    **sizes: Any,
) -> int:
    """Certify the dimensions of many networks, side by side, into an atlas.

    Every combination of the sizes and options, or --count of them. Rows are written as they come; a network that the
    atlas has is not measured again. `lightning-sym atlas` asks the file.
    """
    if sizes["skip"] is not None and (wrong := {word.strip() for word in sizes["skip"].split(",")} - {*_SKIP}):
        raise click.BadParameter(f"must be {', '.join(_SKIP)}, got {min(wrong)[:60]!r}", param_hint="--skip")
    family = families.Family.of((families.family_keys(spec) if spec is not None else {}) | _keys_of_options(sizes))
    if conjecture is not None:
        formulas.Formula(conjecture)
    if retry is not None:
        with store.Atlas(output, write=True) as atlas:
            atlas.forget(retry)
    with progress_bar() as progress:
        result = sweeps.sweep(
            family, output, seed=family.seed, memory=memory, certificates=certificates,
            workers=workers, scheduler=scheduler, progress=progress,
        )  # fmt: skip
    trial = None
    if conjecture is not None:
        with store.Atlas(output) as atlas:
            trial = formulas.try_formula(atlas, conjecture)
    write(ANSWER, result, as_json=as_json, trial=trial)
    if trial is not None and not as_json:
        write_answer(trial, smallest="red")
    if trial is not None and trial.refuted:
        return exit_codes.NOT_AS_EXPECTED
    return exit_codes.UNDECIDED if set(result.counts) - {"certified"} else exit_codes.AS_EXPECTED
