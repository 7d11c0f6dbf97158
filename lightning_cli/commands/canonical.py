"""`lightning-sym canonical`: the one representative of all weights with the same function."""

from __future__ import annotations

from typing import Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import WEIGHTS
from lightning_cli.writing.fields import TEXT, JsonKind, field, json_answer, kind_of, natural
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import ARCHITECTURE, MATRICES, MATRIX, TRIED
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.fibers import canonical
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import weight_files

WEIGHTS_BY_NAME = JsonKind(
    {
        "type": "object",
        "patternProperties": {"^([QKVO][0-9.]+|E|U)$": MATRIX.schema},
        "additionalProperties": False,
    },
    kind_of(MATRICES).written,
)

ANSWER = json_answer(
    "canonical",
    field(
        "network",
        str,
        "that of the canonical weights, in words, the kind of attention first",
        lambda result: architectures.network_line(_shape(result)),
    ),
    field("architecture", ARCHITECTURE, "the network", lambda result: _shape(result)),
    field("tokens", natural(1), "t"),
    field("theorem", str, "what says that the function determines these weights"),
    field("hash", TEXT.having(pattern="^[0-9a-f]{64}$"), "SHA-256 of form, tokens and weights"),
    field("weights", WEIGHTS_BY_NAME, "the matrices by name", lambda result: result.weights.named()),
    TRIED,
)

ANSWERS = (ANSWER,)


def _shape(result: canonical.Canonical) -> architectures.Architecture:
    """Return the network of the canonical weights."""
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
@options.TOKENS_OR_TWO
@options.FORM
@options.output("weights", "-o", "--output", help="Write the canonical weights into FILE.", endings=WEIGHTS)
@click.option("--hash", "only_hash", is_flag=True, help="Print the SHA-256 digest of form, tokens and weights alone.")
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    file: str,
    tokens: int,
    form: dict[str, Any],
    output: str | None,
    only_hash: bool,
    memory: int,
    work: float,
    as_json: bool,
) -> int:
    """Give the one representative of all weights with the same function as those in FILE.

    FILE holds exact weights (.json, .npz or .safetensors). Of two networks with as many heads in each layer, equal
    heads and those that do nothing not counted, the canonical weights and their hash are the same if and only if their
    functions are. Where no theorem says that the function determines the weights they are refused, with the condition
    that is not known to hold.
    """
    if as_json and only_hash:
        raise BadInput("--json has the hash too, give one of --hash and --json")
    weights = options.load_weights(file, **form)
    with progress_bar() as progress:
        result = canonical.canonical(weights, tokens, memory=memory, work=work, progress=progress)
    if output is not None:
        weight_files.save_weights(result.weights, output)
    if not only_hash:
        return write(ANSWER, result, as_json=as_json)
    click.echo(result.hash)
    return exit_codes.AS_EXPECTED
