"""`lightning-sym classify`: what a point of the neuromanifold is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightning_sym.geometry.bounds import Bounds
    from lightning_sym.geometry.classify import Classification
    from lightning_sym.geometry.layer_orbits import LayerOrbit
    from lightning_sym.geometry.orbit_table import OrbitTable

SCHEMA = "lightning-sym/classify/1"
ORBITS_SCHEMA = "lightning-sym/orbits/1"


def _bounds(found: Bounds) -> dict[str, Any]:
    return {"lower": found.lower, "upper": found.upper, "source": found.source}


def as_document(point: Classification) -> dict[str, Any]:
    """The result as JSON."""
    return {
        "schema": SCHEMA,
        "network": options.network_line(point.architecture),
        "architecture": options.architecture_json(point.architecture),
        "labels": [label.value for label in point.labels],
        "decided": point.decided,
        "reasons": list(point.reasons),
        "dimension": {
            "value": point.dimension.value,
            "lower": point.dimension.lower,
            "upper": point.dimension.upper,
        },
        "tangent_dimension": _bounds(point.tangent_dimension),
        "rank_in_weights": {"lower": point.weight_rank.lower, "upper": point.weight_rank.upper},
        "ranks": None if point.ranks is None else asdict(point.ranks),
    }


def _orbit(orbit: LayerOrbit) -> dict[str, Any]:
    tangent = orbit.tangent_dimension
    return {
        "value": orbit.value,
        "attention": orbit.attention,
        "common": orbit.common,
        "dimension": orbit.dimension,
        "tangent_dimension": {"lower": tangent, "upper": tangent},
        "fiber_points": orbit.fiber_points,
        "labels": [label.value for label in orbit.labels],
    }


def as_orbits_document(table: OrbitTable) -> dict[str, Any]:
    """The table as JSON."""
    return {
        "schema": ORBITS_SCHEMA,
        "network": options.network_line(table.architecture),
        "architecture": options.architecture_json(table.architecture),
        "dimension": table.dimension,
        "singular_dimension": table.singular_dimension,
        "orbits": [_orbit(orbit) for orbit in table],
    }


def _print(lines: Iterable[tuple[str, str]], colour: str) -> None:
    from rich.markup import escape

    from lightning_cli.writing.output import answer_table, console

    table = answer_table()
    for name, text in lines:
        table.add_row(name, f"[{colour}]{escape(text)}[/{colour}]" if name == "point" else escape(text))
    console().print(table)


def _orbits(widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int, limit: int, as_json: bool) -> int:
    from lightning_cli.writing.output import write_json
    from lightning_sym.geometry.orbit_table import layer_orbits

    table = layer_orbits(options.architecture(widths, ranks, tokens), memory=limit)
    if as_json:
        write_json(as_orbits_document(table))
    else:
        click.echo(str(table))
    return exit_codes.AS_EXPECTED


@click.command(
    "classify",
    epilog="""\b
Examples:
  lightning-sym classify weights.json --tokens 2
  lightning-sym classify --orbits --widths 3,2 --ranks 2

Exit codes: 0 decided, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(), required=False)
@click.option(
    "--orbits", is_flag=True, help="Of a shape, not of weights: all orbits of functions of one layer, with their kinds."
)
@options.widths(required=False)
@options.ranks(required=False)
@click.option(
    "--tokens",
    type=options.Size(),
    default=2,
    show_default=True,
    help="Number of tokens t; from two on it makes no difference for one layer.",
)
@options.weight_form
@options.memory
@options.work
@options.as_json
def command(
    file: str | None,
    orbits: bool,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Say whether the function of the weights in FILE is a regular, critical, singular or boundary point.

    One layer, two or more tokens: all four are decided, with the dimension of the tangent space. More layers, or one
    token: whether the point is critical for the parametrization by queries, keys and values. Decided for lightning
    attention with one head and nothing added.

    With --orbits, for a shape of one layer: the table (rk V, rk A, dim row V meet col A) of all orbits of functions.
    """
    limit = options.memory_bytes(memory)
    if orbits:
        if file is not None or widths is None or ranks is None or skip or {normalization, mask} - {None, "none"}:
            raise click.UsageError("--orbits needs --widths and --ranks, no FILE and no other network than lightning")
        return _orbits(widths, ranks, tokens, limit, as_json)
    if file is None or widths is not None or ranks is not None:
        raise click.UsageError("a FILE of weights is needed; --widths and --ranks go with --orbits")

    from lightning_cli.writing.output import progress_bar, write_json
    from lightning_sym.geometry.classify import classify

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    with progress_bar() as progress:
        point = classify(weights, tokens, memory=limit, work=work, progress=progress)
    if as_json:
        write_json(as_document(point))
    else:
        _print(point.lines(), "green" if point.decided else "yellow")
    return exit_codes.AS_EXPECTED if point.decided else exit_codes.UNDECIDED
