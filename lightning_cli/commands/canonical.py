"""`lightning-sym canonical`: the one representative of all weights with the same function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lightning_cli import exit_codes, options
from lightning_cli.checkpoint_options import is_checkpoint, names_checkpoint
from lightning_cli.output_file import WEIGHTS, OutputFileOrFolder, require_directory
from lightning_cli.writing.checkpoint_answer import write_written, written_checkpoint
from lightning_cli.writing.fields import FINITE, TEXT, JsonKind, field, json_answer, kind_of, natural, optional
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import ARCHITECTURE, MATRICES, MATRIX, TRIED
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.checkpoints import canonical_checkpoint, folders, symmetry_files, writing
    from lightning_sym.fibers import canonical
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import weight_files
    from lightning_sym.whole_models import model_symmetries

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
    field("weights", WEIGHTS_BY_NAME, "the matrices by name", lambda result: result.weights.numbers()),
    TRIED,
)

CHECKPOINT = written_checkpoint(
    "canonical-checkpoint",
    field("exact", bool, "whether no number was rounded: orders, signs, powers of two and gains are in one form"),
    field("closest", FINITE, "the least relative distance of two lengths by which something was ordered; 1 if exact"),
    field("left", [str], "what was left as it was, and why"),
    field("symmetry", optional(str), "the file that the symmetry was written into; null where none was"),
    field("one_form", bool, "whether it is proved that all models with this function have this form, up to rounding"),
    field("proof", str, "what proves it, with the conditions that were tested, or what stands in the way"),
    said="`lightning-sym canonical --json` of a checkpoint.",
)

ANSWERS = (ANSWER, CHECKPOINT)

FILE_OR_FOLDER = OutputFileOrFolder("weights", WEIGHTS)


def _shape(result: canonical.Canonical) -> architectures.Architecture:
    """Return the network of the canonical weights."""
    return result.weights.architecture(result.tokens)


@click.command(
    "canonical",
    epilog="""\b
Examples:
  lightning-sym canonical examples/rank_one.json -o canonical.json
  lightning-sym canonical examples/two_heads.json --tokens 3 --hash
  lightning-sym canonical model/ -o canonical/ --symmetry symmetry.json
  lightning-sym canonical model/ -o canonical/ --exact

Exit codes: 0 the canonical weights, 2 bad input, or weights that no theorem decides.""",
)
@click.argument("file", type=click.Path())
@options.TOKENS_OR_TWO
@options.FORM
@click.option(
    "-o",
    "--output",
    type=FILE_OR_FOLDER,
    metavar="FILE",
    help="Write the canonical weights into FILE; of a checkpoint a folder, which is needed.",
)
@click.option("--hash", "only_hash", is_flag=True, help="Print the SHA-256 digest of form, tokens and weights alone.")
@click.option(
    "--exact",
    is_flag=True,
    help="Checkpoints: round nothing; only orders, signs, powers of two and gains are brought into one form.",
)
@options.output("a symmetry", "--symmetry", help="Checkpoints: write what was done into FILE, for `apply`.")
@options.layout("--layout", said="Checkpoints: the layout of FILE, where its names do not show it.")
@click.option(
    "--stored",
    type=click.Choice(["F16", "BF16", "F32", "F64"]),
    help="Checkpoints: round all numbers to this type; without it F32 where FILE has F16 or BF16, else F64.",
)
@options.MEMORY
@options.AT_MOST_WORK
@options.AS_JSON
def command(
    *,
    file: str,
    form: options.FormOptions,
    output: str | None,
    memory: int,
    as_json: bool,
    exact: bool,
    symmetry: str | None,
    layout: str | None,
    stored: str | None,
    **of_weights: Any,
) -> int:
    """Give the one representative of all weights with the same function as those in FILE.

    FILE holds exact weights (.json, .npz or .safetensors). Of two networks with as many heads in each layer, equal
    heads and those that do nothing not counted, the canonical weights and their hash are the same if and only if their
    functions are. Where no theorem says that the function determines the weights they are refused, with the condition
    that is not known to hold.

    Or FILE is a checkpoint: a folder as the transformers library, Meta, MLX or Megatron write it, or a .gguf file. Then
    a member of its orbit is written that all members have in common: with --exact those that differ by orders, signs,
    powers of two and gains, number for number; without it all that differ by a listed symmetry, up to rounding.
    """
    if output is not None and not names_checkpoint(file):
        FILE_OR_FOLDER.require_file(output)
    of_checkpoints: dict[str, Any] = {"exact": exact, "symmetry": symmetry, "layout": layout, "stored": stored}
    checkpoint = is_checkpoint(file)
    for option in options.typed([*form, "tokens", "only_hash", "work"] if checkpoint else of_checkpoints).values():
        right, given = ("a file of weights", "a checkpoint (folder, .gguf)")[:: -1 if not checkpoint else 1]
        raise BadInput(f"{option} must go with {right}, got {given}")
    if checkpoint:
        return _of_checkpoint(file, output, memory=memory, as_json=as_json, **of_checkpoints)
    return _of_weights(file, form, output, memory=memory, as_json=as_json, **of_weights)


def _of_weights(
    file: str, form: options.FormOptions, output: str | None, *, memory: int, as_json: bool, tokens: int, work: float,
    only_hash: bool,
) -> int:  # fmt: skip
    """Write the canonical weights of exact ones, or their hash, and return the exit code."""
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


def _of_checkpoint(
    file: str, output: str | None, *, memory: int, as_json: bool, exact: bool, symmetry: str | None,
    layout: str | None, stored: str | None,
) -> int:  # fmt: skip
    """Write the one form of a checkpoint's orbit, and what was done; return the exit code."""
    if output is None:
        raise BadInput("-o must name a folder for the checkpoint that is written")
    require_directory("a checkpoint", output)
    with progress_bar() as progress:
        original = folders.open_checkpoint(file, memory, layout)
        if symmetry is not None:
            symmetry_files.require_output(symmetry, original.form, memory)
        found = canonical_checkpoint.canonical_checkpoint(original, exact=exact, memory=memory, progress=progress)
        one, proof = model_symmetries.one_form(found, original, memory=memory, progress=progress)
        kept = replace(found.checkpoint, like=original, wider=True)
        writing.save_checkpoint(kept, output, stored, rounded=not exact, progress=progress)
        if symmetry is not None:
            symmetry_files.save_symmetry(found.symmetry, symmetry)
    told = {"exact": found.exact, "closest": found.closest, "left": found.left, "symmetry": symmetry}
    told |= {"one_form": one, "proof": proof}
    found = replace(found, proof=proof)
    write_written(CHECKPOINT, folders.open_checkpoint(output, memory), found, as_json=as_json, **told)
    return exit_codes.AS_EXPECTED
