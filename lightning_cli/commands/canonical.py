"""`lightning-sym canonical`: the one representative of all weights with the same function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import WEIGHTS, OutputFile
from lightning_cli.writing.fields import TEXT, JsonAnswer, JsonField, JsonKind, natural
from lightning_cli.writing.shared_fields import ARCHITECTURE, MATRICES, MATRIX

if TYPE_CHECKING:
    from lightning_sym.fibers.canonical import Canonical
    from lightning_sym.network.architecture import Architecture

WEIGHTS_BY_NAME = JsonKind(
    {
        "type": "object",
        "patternProperties": {"^([QKVO][0-9.]+|E|U)$": MATRIX.schema},
        "additionalProperties": False,
    },
    MATRICES.written,
)

ANSWER = JsonAnswer(
    "canonical",
    "`lightning-sym canonical --json`.",
    (
        JsonField(
            "network",
            TEXT,
            "that of the canonical weights, in words, the kind of attention first",
            lambda result: options.network_line(_shape(result)),
        ),
        JsonField("architecture", ARCHITECTURE, "the network", lambda result: _shape(result)),
        JsonField("tokens", natural(1), "t"),
        JsonField("theorem", TEXT, "what says that the function determines these weights"),
        JsonField("hash", TEXT.having(pattern="^[0-9a-f]{64}$"), "SHA-256 of form, tokens and weights"),
        JsonField("weights", WEIGHTS_BY_NAME, "the matrices by name", lambda result: result.weights.named()),
    ),
)

ANSWERS = (ANSWER,)


def _shape(result: Canonical) -> Architecture:
    return result.weights.architecture(result.tokens)


@click.command(
    "canonical",
    epilog="""\b
Examples:
  lightning-sym canonical weights.json -o canonical.json
  lightning-sym canonical weights.json --tokens 3 --hash

Exit codes: 0 the canonical weights, 2 bad input, or weights that no theorem decides.""",
)
@click.argument("file", type=click.Path())
@options.tokens_or_two
@options.weight_form
@click.option(
    "-o", "--output", type=OutputFile("weights", WEIGHTS), metavar="FILE", help="Write the canonical weights into FILE."
)
@click.option("--hash", "only_hash", is_flag=True, help="Print the SHA-256 digest of form, tokens and weights alone.")
@options.memory
@options.work
@options.as_json
def command(
    file: str,
    tokens: int,
    normalization: str | None,
    mask: str | None,
    skip: bool,
    output: str | None,
    only_hash: bool,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Give the one representative of all weights with the same function as those in FILE.

    FILE holds exact weights (.json, .npz or .safetensors). Of two networks with as many heads in each layer, equal
    heads and those that do nothing not counted, the canonical weights and their hash are the same if and only if their
    functions are. Where no theorem says that the function determines the weights they are refused, with the condition
    that is not known to hold.
    """
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.errors import BadInput
    from lightning_sym.fibers.canonical import canonical
    from lightning_sym.network.weight_files import save_weights

    if as_json and only_hash:
        raise BadInput("--json has the hash too, give one of --hash and --json")
    limit = options.memory_bytes(memory)
    weights = options.load_weights(file, normalization=normalization, mask=mask, skip=skip)
    with progress_bar() as progress:
        result = canonical(weights, tokens, memory=limit, work=work, progress=progress)
    if output is not None:
        save_weights(result.weights, output)
    if as_json:
        write_json(ANSWER.document(result))
    elif only_hash:
        click.echo(result.hash)
    else:
        write_answer(result)
    return exit_codes.AS_EXPECTED
