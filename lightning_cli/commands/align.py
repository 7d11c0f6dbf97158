"""`lightning-sym align`: the member of a checkpoint's orbit that is nearest to another checkpoint."""

from __future__ import annotations

from dataclasses import replace

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import require_directory
from lightning_cli.writing.checkpoint_answer import write_written, written_checkpoint
from lightning_cli.writing.fields import FINITE, field, in_order, optional
from lightning_cli.writing.output import progress_bar
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.checkpoints import align, folders, symmetry_files, writing

PIECE = in_order(
    field("tensor", str, "what the second checkpoint's files call it"),
    field("piece", str, "what it is, such as 3.query"),
    field("before", FINITE, "its distance from the second's as it was, over the length of that one"),
    field("after", FINITE, "the same as the symmetry makes it"),
)

ANSWER = written_checkpoint(
    "align",
    field("exact", bool, "whether only orders and signs changed, so that each number is one of the checkpoint's"),
    field("before", FINITE, "the distance of all weights from the second's, over the length of those"),
    field("after", FINITE, "the same of what was written, before its numbers were rounded to their types"),
    field("pieces", [PIECE], "each of them"),
    field("symmetry", optional(str), "the file that the symmetry was written into; null where none was"),
)

ANSWERS = (ANSWER,)


@click.command(
    "align",
    epilog="""\b
Examples:
  lightning-sym align examples/checkpoints/rewritten --to examples/checkpoints/model -o aligned/
  lightning-sym align trained/ --to base/ -o aligned/ --orders --symmetry symmetry.json

Exit codes: 0 written, 2 bad input, or networks between which no symmetry is known.""",
)
@click.argument("checkpoint", type=click.Path())
@click.option("--to", "second", type=click.Path(), required=True, metavar="CHECKPOINT", help="What it is to be near.")
@click.option(
    "--orders", is_flag=True, help="Change orders and signs alone: each number stays one of the checkpoint's."
)
@options.output("a symmetry", "--symmetry", help="Write what was done into FILE, for `apply`.")
@options.layout("--layout-a", said="The layout of the first, where its names do not show it.")
@options.layout("--layout-b", said="That of the second.")
@options.WRITTEN_CHECKPOINT
@options.AS_JSON
def command(
    *,
    checkpoint: str,
    second: str,
    orders: bool,
    symmetry: str | None,
    layout_a: str | None,
    layout_b: str | None,
    output: str,
    stored: str | None,
    shard_size: int | None,
    memory: int,
    as_json: bool,
) -> int:
    """Write the member of CHECKPOINT's orbit that is nearest to another one: the same function, its weights in line.

    Heads and neurons are matched, the residual stream is turned, matrices, turns and scales are fitted; each half of a
    layer keeps what leaves least. So two fine-tunes of one base can be averaged, or compared number by number, though
    one was rewritten. The distances before and after are told for each tensor; nothing proves that no member is nearer.
    Each tensor keeps its type; numbers are rounded to it once, unless only orders and signs changed. OUT is a folder as
    the transformers library has it.
    """
    require_directory("a checkpoint", output)
    with progress_bar() as progress:
        first = folders.open_checkpoint(checkpoint, memory, layout_a)
        other = folders.open_checkpoint(second, memory, layout_b)
        if symmetry is not None:
            symmetry_files.require_output(symmetry, first.form, memory)
        found = align.align(first, other, orders=orders, memory=memory, progress=progress)
        kept = replace(found.checkpoint, like=first)
        writing.save_checkpoint(kept, output, stored, rounded=not found.exact, shard_size=shard_size, progress=progress)
        if symmetry is not None:
            symmetry_files.save_symmetry(found.symmetry, symmetry)
    told = {"exact": found.exact, "before": found.before, "after": found.after, "symmetry": symmetry}
    written = folders.open_checkpoint(output, memory)
    pieces = [(each.called, each.piece, each.before, each.after) for each in found.pieces]
    write_written(ANSWER, written, found, as_json=as_json, pieces=pieces, **told)
    return exit_codes.AS_EXPECTED
