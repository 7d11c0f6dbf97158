"""`lightning-sym symmetries`: what may be done to a model without changing its function, and whether that is all."""

from __future__ import annotations

import click

from lightning_cli import options
from lightning_cli.writing.fields import each, field, group, json_answer, natural, optional
from lightning_cli.writing.output import progress_bar, write
from lightning_cli.writing.shared_fields import PROOF, TRIED
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.checkpoints import folders, random_symmetries, symmetry_files
    from lightning_sym.whole_models import model_symmetries

ANSWER = json_answer(
    "symmetries",
    field("checkpoint", str, "how it was called", "name"),
    field("parameters", natural(1), "how many numbers the model has"),
    field("dimension", natural(), "of the group of its symmetries"),
    field(
        "functions",
        optional(natural()),
        "the dimension of the set of functions near this model, null where it is not certified",
    ),
    field(
        "groups",
        [
            group(
                field("space", str, "what it acts on"),
                field("group", str, "which group"),
                field("dimension", natural(), "in the whole model"),
                field("only_here", natural(), "how many dimensions almost all weights near these lack"),
                field("tensors", [str], "what it moves, * for the layer"),
                field("proof", str, "where it is proved to be a symmetry"),
            )
        ],
        "the group, row by row",
    ),
    field(
        "special",
        [
            group(
                field("what", str, "the coincidence"),
                field("layer", optional(natural()), "from 0, null for what stands before and behind the layers"),
                field("places", each(natural()), "which neurons, heads or coordinates, from 0; of many the first"),
                field("count", natural(), "how many there are"),
                field("allows", str, "the symmetry that it brings"),
            )
        ],
        "what is special at these weights",
    ),
    field("complete", bool, "whether it is proved that there are no others"),
    field("complete_near", bool, "whether it is proved that there are no others near these weights"),
    field(
        "conditions",
        [
            group(
                field("name", str, "as the page has it"),
                field("must", str, "what must be so"),
                field("holds", optional(bool), "null where it is not known"),
                field("evidence", str, "what shows it, or where it is not known"),
            )
        ],
        "of the theorem, at these weights",
    ),
    field("not_covered", optional(str), "what the theorem needs of such networks and that is not so"),
    field("inputs", str, "what the answer is about", lambda found: model_symmetries.INPUTS),
    field("proof", str, PROOF),
    TRIED,
    field("output", optional(str), "the symmetry that was written, null if none was asked for"),
)

ANSWERS = (ANSWER,)


@click.command(
    "symmetries",
    epilog="""\b
Examples:
  lightning-sym symmetries examples/checkpoints/model
  lightning-sym symmetries model.gguf --json
  lightning-sym symmetries model/ --output symmetry.json --seed 3
  lightning-sym symmetries model/ --output symmetry.json --kinds values,neurons
  lightning-sym apply symmetry.json model/ -o copy/ --rounded

Exit codes: 0 the dimension of the functions near the model is certified, 2 bad input, 3 it is not.""",
)
@click.argument("checkpoint", type=click.Path())
@options.LAYOUT
@options.output("a symmetry", "--output", help="Write a random symmetry of this model into FILE.")
@options.seed("Picks the symmetry that is written.")
@click.option("--kinds", metavar="KIND,KIND", help="Of which kinds it is, such as stream,values: by default of all.")
@options.work("Leave (C3) unknown where testing it is estimated, roughly, to take more than this.")
@options.MEMORY
@options.AS_JSON
def command(
    *,
    checkpoint: str,
    layout: str | None,
    output: str | None,
    seed: int,
    kinds: str | None,
    work: float,
    memory: int,
    as_json: bool,
) -> int:
    """Say what may be done to a model without changing its function, and whether that is all.

    CHECKPOINT is a folder as the transformers library, Meta, MLX or Megatron write it, or a .gguf file. Piece by piece
    the answer has the group, its dimension and the tensors that it moves; then what is special at these weights, and
    the conditions under which it is proved that there are no other symmetries. The number of parameters less the
    dimension of the group is that of the set of functions near the model. Conditions are tested exactly, modulo a
    prime; the proof is about prompts of real combinations of token embeddings.
    """
    if kinds is not None and output is None:
        raise BadInput("--kinds says what is written, so it needs --output")
    with progress_bar() as progress:
        opened = folders.open_checkpoint(checkpoint, memory, layout)
        if output is not None:
            symmetry_files.require_output(output, opened.form, memory)
            chosen = random_symmetries.KINDS if kinds is None else kinds.split(",")
            drawn = random_symmetries.random_symmetry(opened, chosen, seed=seed)
        found = model_symmetries.symmetries_of(opened, work=work, memory=memory, progress=progress)
        if output is not None:
            symmetry_files.save_symmetry(drawn, output)
    return write(
        ANSWER,
        found,
        "functions",
        as_json=as_json,
        holds=None if found.functions is None else True,
        output=output,
    )
