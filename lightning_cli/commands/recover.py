"""`lightning-sym recover`: is this polynomial map the function of some network, and of which weights?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options

if TYPE_CHECKING:
    from lightning_sym.varieties.membership import Recovery

SCHEMA = "lightning-sym/recover/1"


def as_document(result: Recovery) -> dict[str, Any]:
    """The result as JSON; `weights` is what a file of weights holds where the entries are rational."""
    at = result.difference
    return {
        "schema": SCHEMA,
        "architecture": options.architecture_json(result.architecture),
        "answer": result.answer.value,
        "weights": result.matrices,
        "field": None
        if result.minimal_polynomial is None or result.root_between is None
        else {"minimal_polynomial": result.minimal_polynomial, "root": "r", "between": list(result.root_between)},
        "reasons": list(result.reasons),
        "coefficient": None if at is None else at._asdict(),
        "complex_weights": result.complex_weights,
    }


def _read(file: str) -> bytes:
    from pathlib import Path

    from lightning_sym.errors import FileFormatError
    from lightning_sym.network.readers.bounds import LARGEST_FILE, read_whole

    if file != "-":
        return read_whole(Path(file))
    content = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if not content.strip():
        raise FileFormatError("it must not be empty")
    return content


@click.command(
    "recover",
    epilog="""\b
Examples:
  lightning-sym phi --weights weights.json --tokens 2 --json | lightning-sym recover -
  lightning-sym recover map.json --ranks 1 --output weights.json

Exit codes: 0 weights, 1 none, 2 bad input, 3 undecided.""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@options.widths(required=False)
@options.ranks(required=False)
@options.tokens_option(required=False)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Write the weights, if they are rational, into FILE."
)
@options.memory
@options.work
@options.as_json
def command(
    file: str,
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int | None,
    output: str | None,
    memory: float,
    work: float,
    as_json: bool,
) -> int:
    """Decide whether a polynomial map is the function of some network of a shape, and give its weights.

    FILE, or - for standard input, holds the map as `lightning-sym phi --json` prints it, or as an object with
    "outputs" or "coefficients". Ranks and inner widths may be others than those in the file: the question is whether
    some network of the shape asked about has this function, with real weights. Of lightning attention with one head and
    nothing added: other networks are refused by name.
    """
    from pathlib import Path

    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_cli.writing.text_files import require_text_path
    from lightning_sym.errors import BadInput
    from lightning_sym.network.weight_files import save_weights
    from lightning_sym.varieties.map_input import map_of, read_document, shape_of
    from lightning_sym.varieties.membership import Membership, recover

    limit = options.memory_bytes(memory)
    if output is not None and Path(output).suffix not in (".json", ".npz", ".safetensors"):
        raise BadInput(f"weights must be written to .json, .npz or .safetensors, got {output}")
    if output is not None:
        require_text_path(output)
    with progress_bar() as progress:
        progress("reading the map", 0, 1)
        try:
            document = read_document(_read(file))
            shape = shape_of(document, widths, ranks, tokens)
            phi = map_of(document, shape)
        except BadInput as error:
            raise type(error)(f"{'standard input' if file == '-' else file}: {error}") from error
        result = recover(phi, memory=limit, work=work, progress=progress)
    if output is not None:
        if result.weights is not None:
            save_weights(result.weights, output)
        else:
            click.echo(f"no rational weights to write into {output}", err=True)
    if as_json:
        write_json(as_document(result))
    else:
        colours = {Membership.WEIGHTS: "green", Membership.NONE: "red", Membership.UNDECIDED: "yellow"}
        write_answer(result, answer=colours[result.answer])
    return {
        Membership.WEIGHTS: exit_codes.AS_EXPECTED,
        Membership.NONE: exit_codes.NOT_AS_EXPECTED,
        Membership.UNDECIDED: exit_codes.UNDECIDED,
    }[result.answer]
