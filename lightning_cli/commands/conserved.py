"""`lightning-sym conserved`: quantities that gradient flow keeps."""

from __future__ import annotations

import click

from lightning_cli import options
from lightning_cli.writing.fields import (
    JsonKind,
    each,
    field,
    group,
    in_order,
    itself,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import ARCHITECTURE, NUMBER, PROOF, STATUS, TRIED, exact
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym import display
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import weights as known
    from lightning_sym.varieties import conserved

QUANTITY = in_order(
    field("formula", str),
    field("kind", one_of("symmetric", "skew-symmetric", "full", "scalar")),
    field("shape", each(natural(1), 2, 2)),
    field("entries", natural(1)),
    field("independent", natural()),
    field("symmetry", str),
    field("value", optional(JsonKind(each([NUMBER]).schema, exact))),
)


LIE_ALGEBRA = group(field("ranks", each(natural(), 1), of="lie_ranks"), field("prime", natural(2)))


ANSWER = json_answer(
    "conserved",
    field("architecture", ARCHITECTURE, "the network"),
    field("parameters", natural(1), "entries of all weights", "architecture.parameter_count"),
    field(
        "count",
        optional(natural()),
        "how many independent quantities gradient flow keeps near generic weights, null while undecided",
    ),
    field(
        "lower",
        natural(),
        "the bound from below: the rank of the differentials of the quantities listed, or by the shape where all "
        "functions are multiples of one, and at width one",
    ),
    field(
        "upper",
        natural(),
        "the bound from above: parameters minus the rank of the Lie algebra that gradients generate, from below",
    ),
    field("status", STATUS, "whether the two meet", "status.value"),
    field("source", str, PROOF),
    field("quantities", [QUANTITY], "moments of linear symmetries, matrix by matrix"),
    field(
        "lie_algebra",
        LIE_ALGEBRA,
        "ranks modulo the prime of gradients, then with brackets of two, of three, and so on",
        itself,
    ),
    field("seed", natural(), "picked the points"),
    TRIED,
)

ANSWERS = (ANSWER,)


@click.command(
    "conserved",
    epilog="""\b
Examples:
  lightning-sym conserved --widths 2,2 --ranks 2 --tokens 2
  lightning-sym conserved --widths 3,3,3 --ranks 2 --value-ranks 2 --tokens 2 --heads 2 --skip \\
      --normalization softmax --embed 4 --unembed 4
  lightning-sym conserved --weights examples/generic.json --tokens 2

\b
Exit codes: 0 the number is certified, 2 bad input, 3 undecided (both bounds are shown).""",
)
@options.weights_or_network(
    options.TRANSFORMER, options.weight_file("a shape: their values are printed too.", metavar="FILE")
)
@options.SEED_OF_POINTS
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    network: architectures.Architecture,
    weights: known.Weights | None,
    seed: int,
    memory: int,
    work: float,
    as_json: bool,
) -> int:
    """List the independent quantities that gradient flow keeps, for any loss and any data.

    They are the moments of the linear symmetries of the network, such as Q Q^T - K K^T. Their number is certified: the
    rank of their differentials from below, parameters minus the rank of the Lie algebra that gradients generate from
    above. Gradients are taken in the weights as they are stored, with the Euclidean metric.
    """
    with progress_bar() as progress:
        result = conserved.conserved_quantities(network, seed=seed, memory=memory, work=work, progress=progress)
    values = None if weights is None else result.values(weights)
    holds = True if result.count is not None else None
    code = write(
        ANSWER,
        result,
        "conserved",
        as_json=as_json,
        holds=holds,
        quantities=[
            (q.name, q.kind.value, q.shape, q.entries, new, q.reason, None if values is None else values[q.name])
            for q, new in zip(result.quantities, result.new, strict=True)
        ],
    )
    for name, matrix in {} if as_json else (values or {}).items():
        click.echo(f"{name} = {display.rows_in_line(matrix)}")
    return code
