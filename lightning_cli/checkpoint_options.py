"""The options of `lightning-sym same` for two checkpoints."""

from __future__ import annotations

import click

from lightning_cli import options
from lightning_cli.numbers import Amount, TokenIds

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
