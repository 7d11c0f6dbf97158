"""Small checkpoints of each family, random and dyadic, for tests of whatever reads or rewrites weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.families import AFFINE, FAMILIES
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends, MadeCheckpoint
from lightning_sym.checkpoints.pieces import CheckpointPiece, table
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer

Stored = Literal["F16", "BF16", "F32", "F64"]


def small_checkpoint(
    family: str,
    seed: int = 0,
    *,
    layers: int = 2,
    heads: int = 4,
    groups: int | None = None,
    head_width: int = 4,
    inner: int = 24,
    vocabulary: int = 40,
    context: int = 16,
    tied: bool | None = None,
    biases: bool = False,
    stored: Stored = "F32",
) -> MadeCheckpoint:
    """A random checkpoint of a family in memory; its numbers are of the type it says it is stored in.

    Args:
        family: `gpt2`, `llama`, `mistral` or `qwen2`.
        seed: of the generator.
        layers, heads, groups, head_width, inner, vocabulary, context: see `CheckpointForm`; the width is
            `heads head_width`. Without `groups` there are half as many as heads, in GPT-2 as many.
        tied: as the family has it by default where it is not said.
        biases: of Llama, whether its matrices have biases.
        stored: the type.

    Raises:
        BadInput: the sizes do not fit together, or there is no such family.

    Example:
        >>> small_checkpoint("gpt2", layers=1).block(0).query.shape
        (4, 4, 16)
    """
    require_arguments(small_checkpoint, locals())
    if family not in FAMILIES:
        raise BadInput(f"the family must be one of {', '.join(FAMILIES)}, got {family!a}")
    sizes = (layers, heads, head_width, inner, vocabulary, context)
    for size in sizes:
        require_integer(size, "a size", 1, 10**6)
    old = family == "gpt2"
    if groups is None:
        groups = heads if old or heads % 2 else heads // 2
    require_integer(groups, "groups", 1, heads)
    if heads % groups or (old and groups != heads) or (not old and head_width % 2):
        raise BadInput(
            f"heads and groups must fit the family, got {heads} heads of width {head_width}, {groups} groups"
        )
    form = CheckpointForm(
        family=family,
        layers=layers,
        width=heads * head_width,
        heads=heads,
        groups=groups,
        head_width=head_width,
        inner=inner,
        vocabulary=vocabulary,
        context=context,
        norm="layer" if old else "rms",
        epsilon=Fraction(1, 10**5),
        theta=None if old else Fraction(10000),
        activation="gelu_new" if old else "silu",
        tied=old if tied is None else tied,
    )
    known = FAMILIES[family]
    parts = known.parts(form, AFFINE if biases and family == "llama" else known.biases)
    source = np.random.default_rng(seed)

    def made(piece: CheckpointPiece) -> Any:
        near = 1.0 if piece.axes[0].sized else 0.0
        size = 1.0 if "embed" in piece.name else piece.shape[-1] ** -0.5 if piece.columns else 0.25
        return from_disk(to_disk(near + size * source.standard_normal(piece.shape), stored, rounded=True), stored)

    def pieces(kind: type[Any], there: Collection[str]) -> dict[str, Any]:
        names = (field.name for field in fields(kind))
        return {name: made(table(form)[name]) if name in there else None for name in names}

    outer = Ends(**pieces(Ends, table(form).ends))
    blocks = tuple(Block(**pieces(Block, parts)) for _ in range(layers))
    return MadeCheckpoint(form, outer, blocks, f"small {family}", stored)
