"""`lightning-sym convert`: a checkpoint in another layout."""

from __future__ import annotations

from typing import NamedTuple

import click

from lightning_cli import options
from lightning_cli.output_file import require_directory, require_output_file
from lightning_cli.writing.checkpoint_answer import written_checkpoint
from lightning_cli.writing.fields import field
from lightning_cli.writing.output import progress_bar, write
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.checkpoints import folders, units, writing

ANSWER = written_checkpoint(
    "convert", field("rounded", [str], "the numbers of the configuration that a .gguf file holds in float32 only")
)

ANSWERS = (ANSWER,)


class Converted(NamedTuple):
    """What was written, in lines."""

    text: tuple[tuple[str, str], ...]

    def lines(self) -> list[tuple[str, str]]:
        """Return them, label by label."""
        return list(self.text)


@click.command(
    "convert",
    epilog="""\b
Examples:
  lightning-sym convert llama/ --layout hf -o model/
  lightning-sym convert examples/checkpoints/model --layout gguf -o model.gguf
  lightning-sym convert trained/ --from megatron --layout hf -o model/ --shard-size 4

Exit codes: 0 written, 2 bad input, or the layout has no name for a piece.""",
)
@click.argument("checkpoint", type=click.Path())
@options.layout("--layout", said=f"The layout that is written: {', '.join(options.LAYOUTS)}.", required=True)
@options.layout("--from", "source", said="The layout of CHECKPOINT, where its names do not show it.")
@options.WRITTEN_CHECKPOINT
@options.AS_JSON
def command(
    *,
    checkpoint: str,
    layout: str,
    output: str,
    stored: str | None,
    shard_size: int | None,
    memory: int,
    source: str | None,
    as_json: bool,
) -> int:
    """Write CHECKPOINT in another layout: the same numbers, otherwise named, stacked, transposed and ordered.

    CHECKPOINT is a folder as the transformers library, Meta, MLX or Megatron write it, or a .gguf file. Each tensor
    keeps its type, bit by bit, unless --stored rounds it; quantised tensors of a .gguf file become the floats that they
    mean. A .gguf file holds epsilon, and other numbers of the configuration, in float32: where one of them is not that
    number, the answer says that it was rounded. Configurations and weights are written, tokenizers are not. OUT is a
    folder; with --layout gguf it is a file, and ends in .gguf.
    """
    if layout == "gguf":
        require_output_file("a checkpoint", output)
    else:
        require_directory("a checkpoint", output)
    with progress_bar() as progress:
        opened = folders.open_checkpoint(checkpoint, memory, source)
        writing.save_checkpoint(opened, output, stored, layout=layout, shard_size=shard_size, progress=progress)
    made = folders.open_checkpoint(output, memory, layout)
    rounded = [units.NUMBERS[name] for name in units.NUMBERS if getattr(made.form, name) != getattr(opened.form, name)]
    if as_json:
        return write(ANSWER, made, as_json=True, rounded=rounded)
    lines = (*made.lines(), *(("rounded", f"{name}, to float32") for name in rounded))
    return write(ANSWER, Converted(lines), as_json=False)
