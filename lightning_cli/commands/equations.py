"""`lightning-sym equations`: the ideal of the closure of the set of functions."""

from __future__ import annotations

import json

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.output_file import write_file
from lightning_cli.writing.fields import TEXT, by_name, each, field, group, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar
from lightning_cli.writing.shared_fields import ARCHITECTURE, PROOF, TRIED, equations_of
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.network import architecture as architectures
    from lightning_sym.varieties import equations, hilbert_polynomial, known_ideal

COORDINATE = group(
    field("name", TEXT.having(pattern="^c_[0-9]+$")),
    field("row", natural(1)),
    field("token", natural(1)),
    field("monomial", str, of=lambda coordinate: coordinate.monomial()),
    field("torus_weight", [int], of="weight"),
)

DEGREES = {"pattern": "^[1-9][0-9]*$"}


ANSWER = json_answer(
    "equations",
    field("architecture", ARCHITECTURE, "the network"),
    field("linear_span", natural(1), "dimension of the linear span, which is the number of coordinates"),
    field("dimension", optional(natural()), "certified dimension of the closure, null while undecided"),
    field("degree", optional(natural(1)), "of the closure, null where nothing proves it"),
    field(
        "hilbert_function",
        each(optional(natural()), 2),
        "of the coordinate ring inside the linear span, from degree 0 on; null where the two bounds do not meet",
    ),
    field(
        "hilbert_polynomial",
        optional(TEXT.having(pattern="k")),
        "of the closure, in k, by binomial coefficients as SymPy reads them; null where it is not proved",
        lambda found: hilbert_polynomial.formula(found),
    ),
    field(
        "generators",
        by_name(optional(natural(1)), names=DEGREES),
        "how many minimal generators each degree has, where there are any; null where that is not certified",
        "counts",
    ),
    field("complete_to_degree", natural(), "all equations up to this degree follow from those found"),
    field("complete", bool, "whether it is proved that these equations generate the ideal", "is_complete"),
    field("stopped", optional(str), "why no further degree was tried, null if all that were asked for were done"),
    field("source", str, PROOF),
    field(
        "constant",
        optional(TEXT.having(pattern="^c_[0-9]+$")),
        "the coordinate that is constantly 1 and makes the equations homogeneous, null where the closure is a cone",
        lambda found: None if found.is_cone else found.coordinates[found.system.constant].name,
    ),
    field(
        "coordinates",
        each(COORDINATE, 1),
        "the coefficients that are coordinates: of a monomial in the inputs, in a row of an output token; and by "
        "how much the torus scales each",
    ),
    field(
        "equations",
        by_name([str], names=DEGREES),
        "the minimal generators by degree, as SymPy reads them",
        equations_of,
    ),
    TRIED,
)

ANSWERS = (ANSWER,)


@click.command(
    "equations",
    epilog="""\b
Examples:
  lightning-sym equations --widths 2,1 --ranks 2 --tokens 2
  lightning-sym equations --widths 3,1 --ranks 2 --tokens 2 --degree 3
  lightning-sym equations --widths 2,2,1 --ranks 1 --tokens 1 --degree 6 --json
  lightning-sym equations --widths 2,2 --ranks 1 --tokens 2 --format macaulay2 --output ideal.m2

\b
Without --degree it goes to degree 4. All steps together take no more than --work, by estimates made
before each of them: it stops before the one that would exceed it, and says what is known until then.
Ctrl-C prints what is known after the last degree that was finished. --format writes the coordinates,
a ring and the ideal for another system; json is --json.

\b
Exit codes: 0 every degree that was asked for is certified; 2 bad input, or not even the coordinates fit
into --memory or --work; 3 undecided in some degree, or a degree that was asked for does not fit into
these; 130 interrupted.""",
)
@options.NETWORK
@click.option("--degree", type=Integer(1, 1000), metavar="N", help="Find all equations up to this degree.")
@click.option("--format", "form", type=click.Choice(options.FORMATS), help="Print what another system reads.")
@options.output("the output", "--output", help="Write into FILE what would be printed.")
@options.seed("Picks the points; never changes what is certified.")
@options.MEMORY
@options.work("Stop before a step with which all of them are estimated, roughly, to take longer.")
@options.AS_JSON
def command(
    *,
    network: architectures.Architecture,
    degree: int | None,
    form: str | None,
    output: str | None,
    seed: int,
    memory: int,
    work: float,
    as_json: bool,
) -> int:
    """Find the equations of the closure of the set of functions of a lightning network.

    The coordinates are coefficients of the polynomial map, as many as the linear span has dimensions. Degree by degree,
    one small linear problem for each weight of the torus that acts: each equation is substituted and expanded to zero,
    and a rank from below shows that there are no others. The generators are minimal. Nothing is said beyond the degree
    reached.
    """
    options.refuse((as_json and form not in (None, "json"), f"--format {form} is another form than --json: give one"))
    found: known_ideal.Equations | None = None
    interrupted = False
    try:
        with progress_bar() as progress:
            for latest in equations.successive_equations(
                network, degree, seed=seed, memory=memory, work=work, progress=progress
            ):
                found = latest
    except KeyboardInterrupt:
        if found is None:
            raise
        interrupted = True
    assert found is not None  # noqa: S101 - the linear span is always there
    _write(found, "json" if as_json else form, output)
    if interrupted:
        click.echo(f"interrupted: this is what was finished, to degree {len(found.hilbert_function) - 1}", err=True)
        return exit_codes.INTERRUPTED
    undecided = None in (*found.hilbert_function, *found.counts.values(), found.dimension)
    short = degree is not None and found.stopped is not None
    return exit_codes.UNDECIDED if undecided or short else exit_codes.AS_EXPECTED


def _write(found: known_ideal.Equations, form: str | None, output: str | None) -> None:
    """Print the answer, or write it into a file, in one of the forms."""
    if form == "json":
        text = json.dumps(ANSWER.document(found), indent=2, ensure_ascii=False)
    else:
        text = str(found) if form is None else found.to_text(form)
    if output is None:
        click.echo(text)
        return
    write_file("the output", output, text + "\n")
    click.echo(f"written: {output}", err=True)
