"""`lightning-sym fiber`: all weights with the same function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import OutputFile
from lightning_cli.writing.output import exact

if TYPE_CHECKING:
    from lightning_sym.fibers.answer import Fiber
    from lightning_sym.network.virtual_weights import VirtualWeights

SCHEMA = "lightning-sym/fiber/1"


def _point(weights: VirtualWeights) -> dict[str, Any]:
    return {"attention": [exact(a) for a in weights.attention], "value": exact(weights.value)}


def as_document(result: Fiber) -> dict[str, Any]:
    """The result as JSON; matrices are rows of strings such as `-3/4`."""
    plain, second, theorem = bool(result.components), result.second, result.theorem
    conditions = [{"name": str(c), "holds": c.holds, "evidence": c.evidence} for c in result.conditions]
    if plain:
        evidence = result.tried or result.reason
        conditions = [{"name": "hypotheses", "holds": result.complete or None, "evidence": evidence}]
    return {
        "schema": SCHEMA,
        "network": options.network_line(result.architecture),
        "architecture": options.architecture_json(result.architecture),
        "virtual_weights": None if result.virtual is None else _point(result.virtual),
        "source": result.source,
        "reason": result.reason or result.description,
        "tried": result.tried,
        "complete": result.complete,
        "complete_over": result.complete_over,
        "components": [
            {
                "description": component.description,
                "generators": list(component.generators),
                "dimension": component.dimension,
                "parameters": [parameter.name for parameter in component.parameters],
                "point": None if component.virtual is None else _point(component.virtual),
            }
            for component in result.components
        ],
        "known_dimension": result.known_dimension,
        "dimension": result.dimension,
        "bounds": None if result.bounds is None else list(result.bounds),
        "orbit": None if result.near is None else result.near.orbit,
        "conditions": conditions,
        "theorem": str(theorem) if theorem is not None else result.source if plain and result.complete else None,
        "generators": list(result.generators),
        "minimal": result.minimal,
        "another": None
        if second is None
        else {
            "description": second.description,
            "because": second.because,
            "weights": {name: exact(matrix) for name, matrix in second.weights.named().items()},
        },
    }


@click.command(
    "fiber",
    epilog="""\b
Examples:
  lightning-sym fiber weights.json --tokens 2
  lightning-sym fiber weights.json --tokens 3 --certificate fiber-certificate.json

Exit codes: 0 all of the fiber and its dimension, 2 bad input, 3 there may be more, or the dimension is not computed or
its bounds differ.""",
)
@click.argument("file", type=click.Path())
@options.tokens_or_two
@options.weight_form
@options.seed
@options.work
@click.option(
    "--certificate",
    type=OutputFile("a certificate"),
    metavar="FILE",
    help="Softmax: write the theorem and the evidence of its conditions into FILE, for `lightning-sym verify`.",
)
@options.as_json
def command(
    file: str,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    seed: int,
    work: float,
    certificate: str | None,
    as_json: bool,
) -> int:
    """Describe all weights that give the same function as those in FILE.

    FILE holds exact weights (.json, .npz or .safetensors), with any heads, mask, skip connections, embeddings.
    One-head lightning attention: components are families of virtual weights A~_i = P^T A_i P, V~ = V_l ... V_1.
    Softmax: each condition of the theorems is tested for these weights, and says with its evidence whether it holds.
    Where no theorem applies the answer says that there may be more, names another network with the same function if a
    known one is there, and bounds the dimension of the fiber near these weights from both sides.
    """
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.fibers.fiber import fiber

    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    if certificate is not None:
        from lightning_sym.certificates.fibers import fiber_certificate
        from lightning_sym.certificates.files import write_certificate
        from lightning_sym.errors import BadInput

        if weights.form.normalization is None:
            raise BadInput(f"a certificate of a fiber needs a softmax network, got {weights.form}")
    with progress_bar() as progress:
        result = fiber(weights, tokens, seed=seed, work=work, progress=progress)
    if certificate is not None:
        write_certificate(certificate, fiber_certificate(result, weights))
        click.echo(f"certificate: {certificate}", err=True)
    if as_json:
        write_json(as_document(result))
    else:
        write_answer(result, complete="green" if result.complete else "yellow")
    # of components over Q alone it is left open whether there are real ones
    known = result.complete_over is not None
    return exit_codes.AS_EXPECTED if known and result.dimension is not None else exit_codes.UNDECIDED
