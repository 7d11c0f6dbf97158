"""`lightning-sym degree`: the degree of the closure of a network's set of functions."""

from __future__ import annotations

import click

from lightning_cli import exit_codes, options
from lightning_cli.writing.fields import JsonKind, field, json_answer, natural, one_of, optional
from lightning_cli.writing.output import progress_bar, write_json
from lightning_cli.writing.shared_fields import ARCHITECTURE, TRIED
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.network import architecture as architectures
    from lightning_sym.varieties import degree as degrees

ANSWER = json_answer(
    "degree",
    field("architecture", ARCHITECTURE, "the network"),
    field("degree", optional(natural(1)), "of the closure of the set of functions, null while open"),
    field(
        "source",
        one_of("product", "flags", "two_layers", "span", "open"),
        "what gives it: an intersection number on a product of determinantal varieties, or over a variety of "
        "flags; the same less the share of a base locus, for two layers; a closure that is its linear span; or "
        "nothing yet",
        "source.value",
    ),
    field("dimension", optional(natural()), "of the closure, null where nothing was computed"),
    field(
        "fiber_points",
        optional(JsonKind({"enum": [1, 2, 3]})),
        "how many matrices, up to scale, give the same general function; null where no theorem applies",
        "points",
    ),
    field("reason", optional(str), "why it is open, else null", lambda result: result.reason or None),
    TRIED,
)

ANSWERS = (ANSWER,)


@click.command(
    "degree",
    epilog="""\b
Examples:
  lightning-sym degree --widths 2,1 --ranks 2 --tokens 2
  lightning-sym degree --widths 2,2,1 --ranks 1 --tokens 1
  lightning-sym degree --widths 4,3,3,2 --ranks 1,2,2 --tokens 3 --json

\b
Exit codes: 0 the degree is known, by a theorem or because the functions fill their linear span; 2 bad
input; 3 it is open, and the answer says why.""",
)
@options.NETWORK
@options.AT_MOST_WORK
@options.AS_JSON
def command(*, network: architectures.Architecture, work: float, as_json: bool) -> int:
    """Give the degree of the closure of the set of functions of a lightning network.

    The degree is the number of points that the closure has in common with a general affine space of complementary
    dimension, over the complex numbers. Known are one layer, every depth at one token, every depth where one of the
    first two layers has rank one, and two layers of full rank; everything else is said to be open.
    """
    with progress_bar() as progress:
        result = degrees.variety_degree(network, work=work, progress=progress)
    if as_json:
        write_json(ANSWER.document(result))
    else:
        click.echo(str(result))
    return exit_codes.AS_EXPECTED if result.degree is not None else exit_codes.UNDECIDED
