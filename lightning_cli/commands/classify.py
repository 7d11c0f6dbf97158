"""`lightning-sym classify`: what a point of the neuromanifold is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options

if TYPE_CHECKING:
    from lightning_sym.geometry.classify import Classification

SCHEMA = "lightning-sym/classify/1"


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
        "rank_in_weights": {"lower": point.weight_rank_lower, "upper": point.weight_rank_upper},
        "ranks": None if point.ranks is None else asdict(point.ranks),
    }


@click.command(
    "classify",
    epilog="""\b
Example:
  lightning-sym classify weights.json --tokens 2

Exit codes: 0 decided, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path())
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
    file: str,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Say whether the function of the weights in FILE is a regular, critical, singular or boundary point.

    One layer, two or more tokens: all four are decided, and the exact ranks that prove them are shown. More
    layers, or one token: whether the point is critical for the parametrization by queries, keys and values. Decided
    for lightning attention with one head and nothing added.
    """
    limit = options.memory_bytes(memory)

    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.geometry.classify import classify

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    with progress_bar() as progress:
        point = classify(weights, tokens, memory=limit, work=work, progress=progress)
    if as_json:
        write_json(as_document(point))
    else:
        write_answer(point, point="green" if point.decided else "yellow")
    return exit_codes.AS_EXPECTED if point.decided else exit_codes.UNDECIDED
