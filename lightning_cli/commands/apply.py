"""`lightning-sym apply`: the checkpoint that a symmetry makes of another one."""

from __future__ import annotations

from dataclasses import replace

import click

from lightning_cli import options
from lightning_cli.output_file import require_directory
from lightning_cli.writing.checkpoint_answer import written_checkpoint
from lightning_cli.writing.output import progress_bar, write
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.checkpoints import folders, rewritings, symmetry_files, writing

ANSWER = written_checkpoint("apply")

ANSWERS = (ANSWER,)


@click.command(
    "apply",
    epilog="""\b
Examples:
  lightning-sym same examples/checkpoints/model examples/checkpoints/rewritten --output symmetry.json
  lightning-sym apply symmetry.json examples/checkpoints/model -o copy/
  lightning-sym apply symmetry.json model/ -o copy/ --rounded --shard-size 4

Exit codes: 0 written, 2 bad input, or no symmetry of this checkpoint.""",
)
@click.argument("symmetry", type=click.Path())
@click.argument("checkpoint", type=click.Path())
@options.LAYOUT
@options.WRITTEN_CHECKPOINT
@click.option(
    "--rounded",
    is_flag=True,
    help="Compute in float64, and round to the type of each tensor: for a symmetry that was fitted.",
)
@options.AS_JSON
def command(
    *,
    symmetry: str,
    checkpoint: str,
    layout: str | None,
    output: str,
    stored: str | None,
    shard_size: int | None,
    memory: int,
    rounded: bool,
    as_json: bool,
) -> int:
    """Write the checkpoint that a symmetry makes of CHECKPOINT: other weights, the same function.

    SYMMETRY is a file that `lightning-sym same --output` wrote. CHECKPOINT is a folder as the transformers library,
    Meta, MLX or Megatron write it, or a .gguf file; OUT is a folder as the transformers library has it. The
    symmetry is applied over the rationals, one layer at a time; each tensor keeps the type that it is stored in, and
    where a number is not of that type nothing is written. What is no symmetry of this checkpoint is refused, with what
    must be true.
    """
    require_directory("a checkpoint", output)
    with progress_bar() as progress:
        original = folders.open_checkpoint(checkpoint, memory, layout)
        made = rewritings.apply(symmetry_files.load_symmetry(symmetry, memory), original, exact=not rounded)
        writing.save_checkpoint(
            replace(made, like=original), output, stored, rounded=rounded, shard_size=shard_size, progress=progress
        )
    return write(ANSWER, folders.open_checkpoint(output, memory), as_json=as_json)
