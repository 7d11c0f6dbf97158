"""What a path on the command line names, exact weights or a checkpoint; and the options of `same` for checkpoints."""

from __future__ import annotations

import os

import click

from lightning_cli import options
from lightning_cli.numbers import Amount, TokenIds
from lightning_sym.errors import BadInput


def names_checkpoint(path: str) -> bool:
    """Return whether this is a folder, or ends in .gguf; everything else is a file of exact weights."""
    return os.path.isdir(path) or path.lower().endswith(".gguf")


def is_checkpoint(path: str) -> bool:
    """Return the same of what is there.

    Raises:
        BadInput: there is nothing of this name.
    """
    if not os.path.exists(path):
        raise BadInput(f"{path}: there is no such file or folder")
    return names_checkpoint(path)


OF_CHECKPOINTS: options.Option = options.together(
    click.option("--exact", is_flag=True, help="Checkpoints: exit with 1 where they are the same up to rounding."),
    options.output("a symmetry", "--output", help="Checkpoints: write the symmetry into FILE."),
    click.option("--ids", type=TokenIds(), default=(), help="Checkpoints: token ids whose logits are compared."),
    click.option(
        "--units",
        type=Amount("units", zero=True),
        default=4.0,
        show_default=True,
        help="Checkpoints: units in the last place up to which a difference counts as rounding.",
    ),
    options.layout("--layout-a", said="Checkpoints: the layout of the first, where its names do not show it."),
    options.layout("--layout-b", said="Checkpoints: that of the second."),
    click.option(
        "--adapter",
        type=click.Path(),
        metavar="DIR",
        help="Checkpoints: a LoRA adapter of the PEFT library, added to the first.",
    ),
    click.option("--distances", is_flag=True, help="Checkpoints: tell how far each tensor is, and ranks of updates."),
    options.output(
        "the picture",
        "--picture",
        metavar="PICTURE",
        help="Checkpoints: draw the distances, .png, .svg or .pdf; needs the extra `plot`.",
    ),
    click.option("--tokenizer-a", type=click.Path(), metavar="FILE", help="Checkpoints: tokenizer.json of the first."),
    click.option("--tokenizer-b", type=click.Path(), metavar="FILE", help="Checkpoints: that of the second."),
    make=lambda **given: {"of_checkpoints": given},
)
"""The options for two checkpoints, which the command gets as one dictionary, `of_checkpoints`."""
