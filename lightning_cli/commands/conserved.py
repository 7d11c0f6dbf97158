"""`lightning-sym conserved`: quantities that gradient flow keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer
from lightning_cli.writing.fields import (
    TEXT,
    JsonAnswer,
    JsonField,
    JsonKind,
    each,
    group,
    in_order,
    itself,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import exact
from lightning_cli.writing.shared_fields import ARCHITECTURE, NUMBER, PROOF, STATUS

if TYPE_CHECKING:
    from lightning_sym.rings.arrays import ObjectArray
    from lightning_sym.varieties.conserved import ConservedQuantities

QUANTITY = in_order(
    JsonField("formula", TEXT),
    JsonField("kind", one_of("symmetric", "skew-symmetric", "full", "scalar")),
    JsonField("shape", each(natural(1), 2, 2)),
    JsonField("entries", natural(1)),
    JsonField("independent", natural()),
    JsonField("symmetry", TEXT),
    JsonField("value", optional(JsonKind(each(each(NUMBER)).schema, exact))),
)


def _quantities(result: ConservedQuantities, values: dict[str, ObjectArray] | None) -> list[tuple[Any, ...]]:
    """Each quantity, how many of its entries are new, and its value at given weights."""
    return [
        (q.name, q.kind.value, q.shape, q.entries, new, q.reason, None if values is None else values[q.name])
        for q, new in zip(result.quantities, result.new, strict=True)
    ]


LIE_ALGEBRA = group(JsonField("ranks", each(natural(), 1), of="lie_ranks"), JsonField("prime", natural(2)))


ANSWER = JsonAnswer(
    "conserved",
    "`lightning-sym conserved --json`.",
    (
        JsonField("architecture", ARCHITECTURE, "the network"),
        JsonField("parameters", natural(1), "entries of all weights", "architecture.parameter_count"),
        JsonField(
            "count",
            optional(natural()),
            "how many independent quantities gradient flow keeps near generic weights, null while undecided",
            "count",
        ),
        JsonField(
            "lower",
            natural(),
            "the bound from below: the rank of the differentials of the quantities listed, or parameters - 1 where all "
            "functions are multiples of one",
            "lower",
        ),
        JsonField(
            "upper",
            natural(),
            "the bound from above: parameters minus the rank of the Lie algebra that gradients generate, from below",
            "upper",
        ),
        JsonField("status", STATUS, "whether the two meet", "status.value"),
        JsonField("source", TEXT, PROOF),
        JsonField("quantities", each(QUANTITY), "moments of linear symmetries, matrix by matrix"),
        JsonField(
            "lie_algebra",
            LIE_ALGEBRA,
            "ranks modulo the prime of gradients, then with brackets of two, of three, and so on",
            itself,
        ),
        JsonField("seed", natural(), "picked the points"),
    ),
)

ANSWERS = (ANSWER,)


@click.command(
    "conserved",
    epilog="""\b
Examples:
  lightning-sym conserved --widths 2,2 --ranks 2 --tokens 2
  lightning-sym conserved --widths 3,3,3 --ranks 2 --value-ranks 2 --tokens 2 --heads 2 --skip \\
      --normalization softmax --embed 4 --unembed 4
  lightning-sym conserved --weights weights.json --tokens 2

\b
Exit codes: 0 the number is certified, 2 bad input, 3 undecided (both bounds are shown).""",
)
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens
@options.transformer
@click.option(
    "--weights",
    "weight_file",
    type=click.Path(),
    metavar="FILE",
    help="Exact weights from a .json, .npz or .safetensors file, in place of a shape: their values are printed too.",
)
@click.option(
    "--seed",
    type=Integer(),
    default=0,
    show_default=True,
    help="Picks the points; never changes a certified number.",
)
@options.memory
@options.as_json
def command(
    tokens: int,
    weight_file: str | None,
    seed: int,
    memory: float,
    as_json: bool,
    **shape: Any,
) -> int:
    """List the independent quantities that gradient flow keeps, for any loss and any data.

    They are the moments of the linear symmetries of the network, such as Q Q^T - K K^T. Their number is certified: the
    rank of their differentials from below, parameters minus the rank of the Lie algebra that gradients generate from
    above. Gradients are taken in the weights as they are stored, with the Euclidean metric.
    """
    limit = options.memory_bytes(memory)
    weights, network = options.weights_or_shape(weight_file, tokens, **shape)

    from lightning_cli.writing.output import exact, progress_bar, write_answer, write_json
    from lightning_sym.dimension.certify import Status
    from lightning_sym.varieties.conserved import conserved_quantities

    with progress_bar() as progress:
        result = conserved_quantities(network, seed=seed, memory=limit, progress=progress)
    values = None if weights is None else result.values(weights)
    if as_json:
        write_json(ANSWER.document(result, quantities=_quantities(result, values)))
    else:
        write_answer(result, conserved="green" if result.count is not None else "yellow")
        for name, matrix in (values or {}).items():
            click.echo(f"{name} = " + "; ".join(" ".join(row) for row in exact(matrix)))
    return exit_codes.AS_EXPECTED if result.status is Status.CERTIFIED else exit_codes.UNDECIDED
