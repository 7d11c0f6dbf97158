"""`lightning-sym classify`: what a point of the neuromanifold is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Size

if TYPE_CHECKING:
    from lightning_sym.geometry.bounds import Bounds
    from lightning_sym.geometry.classify import Classification
    from lightning_sym.geometry.layer_orbits import LayerOrbit
    from lightning_sym.geometry.orbit_table import OrbitTable
    from lightning_sym.geometry.singular_locus import SingularLocus

SCHEMA = "lightning-sym/classify/1"
ORBITS_SCHEMA = "lightning-sym/orbits/1"
SINGULAR_SCHEMA = "lightning-sym/singular-ideal/1"


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
        "equations": None if point.equations is None else dict(zip(("degree", "bound"), point.equations, strict=True)),
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


def as_singular_document(found: SingularLocus) -> dict[str, Any]:
    """The singular locus as JSON."""
    known, partial = found.equations, found.partial_derivatives
    generators = None if known is None else {str(k): [str(p.as_expr()) for p in s] for k, s in known.generators.items()}
    return {
        "schema": SINGULAR_SCHEMA,
        "network": options.network_line(found.architecture),
        "architecture": options.architecture_json(found.architecture),
        "locus": found.locus,
        "dimension": found.dimension,
        "degree": found.degree,
        "equations": generators,
        "complete_to_degree": None if known is None else known.complete_to_degree,
        "partial_derivatives": None if partial is None else [str(p.as_expr()) for p in partial],
        "coordinates": [str(coordinate) for coordinate in found.coordinates],
    }


def _of_shape(network: Any, orbits: bool, degree: int | None, limit: int, work: float, as_json: bool) -> int:
    """What is asked of a shape and not of weights."""
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.geometry.orbit_table import layer_orbits
    from lightning_sym.geometry.singular_locus import singular_locus

    found: OrbitTable | SingularLocus
    if orbits:
        found = layer_orbits(network, memory=limit)
        document = as_orbits_document(found) if as_json else {}
    else:
        with progress_bar() as progress:
            found = singular_locus(network, degree, memory=limit, work=work, progress=progress)
        document = as_singular_document(found) if as_json else {}
    if as_json:
        write_json(document)
    else:
        write_answer(found)
    return exit_codes.AS_EXPECTED


@click.command(
    "classify",
    epilog="""\b
Examples:
  lightning-sym classify weights.json --tokens 2
  lightning-sym classify --orbits --widths 3,2 --ranks 2
  lightning-sym classify --singular-ideal --widths 2,1 --ranks 2

Exit codes: 0 decided, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(), required=False)
@click.option(
    "--orbits", is_flag=True, help="Of a shape, not of weights: all orbits of functions of one layer, with their kinds."
)
@click.option(
    "--singular-ideal", is_flag=True, help="Of a shape, not of weights: the singular locus and its equations."
)
@options.widths(required=False)
@options.ranks(required=False)
@click.option(
    "--tokens",
    type=Size(),
    default=2,
    show_default=True,
    help="Number of tokens t; from two on it makes no difference for one layer.",
)
@click.option(
    "--degree",
    type=Size(),
    help="Also find the equations of the set of functions up to this degree, which bound the tangent space from above.",
)
@options.weight_form
@options.memory
@options.work
@options.as_json
def command(
    file: str | None,
    orbits: bool,
    singular_ideal: bool,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    degree: int | None,
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
    With --singular-ideal: the singular locus and its equations, in small cases.
    """
    limit = options.memory_bytes(memory)
    if orbits or singular_ideal:
        other = {normalization, mask} - {None, "none"} or skip
        if orbits == singular_ideal or file is not None or widths is None or ranks is None or other:
            raise click.UsageError(
                "--orbits or --singular-ideal needs --widths and --ranks, no FILE and no other network than lightning"
            )
        if orbits and degree is not None:
            raise click.UsageError("--degree goes with a FILE or with --singular-ideal")
        network = options.architecture(widths, ranks, tokens)
        return _of_shape(network, orbits, degree, limit, work, as_json)
    if file is None or widths is not None or ranks is not None:
        raise click.UsageError("a FILE of weights is needed; --widths and --ranks go with --orbits or --singular-ideal")

    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.geometry.classify import classify

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    with progress_bar() as progress:
        point = classify(weights, tokens, degree=degree, memory=limit, work=work, progress=progress)
    if as_json:
        write_json(as_document(point))
    else:
        write_answer(point, point="green" if point.decided else "yellow")
    return exit_codes.AS_EXPECTED if point.decided else exit_codes.UNDECIDED
