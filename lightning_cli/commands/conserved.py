"""`lightning-sym conserved`: quantities that gradient flow keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.numbers import Integer

if TYPE_CHECKING:
    from lightning_sym.rings.arrays import ObjectArray
    from lightning_sym.varieties.conserved import ConservedQuantities

SCHEMA = "lightning-sym/conserved/1"


def as_document(result: ConservedQuantities, values: dict[str, ObjectArray] | None) -> dict[str, Any]:
    """The result as JSON; entries of matrices are strings such as `-3/4`."""
    from lightning_cli.writing.output import exact

    return {
        "schema": SCHEMA,
        "architecture": options.architecture_json(result.architecture),
        "parameters": result.architecture.parameter_count,
        "count": result.count,
        "lower": result.lower,
        "upper": result.upper,
        "status": result.status.value,
        "source": result.source,
        "quantities": [
            {
                "formula": quantity.name,
                "kind": quantity.kind.value,
                "shape": list(quantity.shape),
                "entries": quantity.entries,
                "independent": new,
                "symmetry": quantity.reason,
                "value": None if values is None else exact(values[quantity.name]),
            }
            for quantity, new in zip(result.quantities, result.new, strict=True)
        ],
        "lie_algebra": {"ranks": list(result.lie_ranks), "prime": result.prime},
        "seed": result.seed,
    }


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
        write_json(as_document(result, values))
    else:
        write_answer(result, conserved="green" if result.count is not None else "yellow")
        for name, matrix in (values or {}).items():
            click.echo(f"{name} = " + "; ".join(" ".join(row) for row in exact(matrix)))
    return exit_codes.AS_EXPECTED if result.status is Status.CERTIFIED else exit_codes.UNDECIDED
