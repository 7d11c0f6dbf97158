"""Small checkpoints of each family, random and dyadic, for tests of whatever reads or rewrites weights.

Other people's tests and CI assert with them that a conversion, a quantiser or a trainer left a model as it was.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.comparison import SHOWN, CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folders import open_checkpoint
from lightning_sym.checkpoints.layer_norm_families import LAYER_NORM, rotary_share
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, Ends, MadeCheckpoint
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.relatives import RELATIVES
from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.checkpoints.units import DEFAULT_UNITS, DIGITS
from lightning_sym.errors import BadInput
from lightning_sym.limits import Progress, require_integer
from lightning_sym.testing.failures import Mismatch, NotDecided, failure

Stored = Literal["F16", "BF16", "F32", "F64"]
EPSILON = Fraction(1, 10**5)

LATENTS = {"qk_nope_head_dim": 2, "v_head_dim": 3, "kv_lora_rank": 8, "q_lora_rank": 7}
"""Keys of small checkpoints with latents."""
SMALL: dict[str, dict[str, int | Fraction]] = {
    "granite": {
        "embedding_multiplier": 12, "attention_multiplier": Fraction(3, 8), "residual_multiplier": Fraction(22, 100),
        "logits_scaling": 8,
    },
    "smollm3": {"no_rope_layer_interval": 2},
    "mixtral": {"num_local_experts": 3, "num_experts_per_tok": 2},
    "qwen3_moe": {"num_experts": 3, "num_experts_per_tok": 2},
}  # fmt: skip
"""By family, further keys of its small checkpoints."""


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
    config: Mapping[str, Any] | None = None,
) -> MadeCheckpoint:
    """Return a random checkpoint of a family in memory; its numbers are of the type it says it is stored in.

    Args:
        family: such as `gpt2` or `llama`, see the table of families.
        seed: of the generator.
        layers, heads, groups, head_width, inner, vocabulary, context: see `CheckpointForm`; the width is
            `heads head_width`; `inner` neurons has each expert, where there are some. Without `groups` there are half
            as many as heads, in GPT-2, GPT-NeoX and OPT, and with latents, as many; with these `head_width` is that of
            the rows which are turned.
        tied: as the family has it by default where it is not said.
        biases: whether matrices have biases, where the family has a key that says so.
        stored: the type.
        config: further keys of its configuration, decimals as `Fraction`.

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
    row, older = RELATIVES.get(family), LAYER_NORM.get(family)
    old = older is not None
    latent = row is not None and "width_key" in row.defaults
    if groups is None:
        groups = heads if old or latent or heads % 2 else heads // 2
    require_integer(groups, "groups", 1, heads)
    if heads % groups or (old and groups != heads) or (row is not None and head_width % 2):
        raise BadInput(
            f"heads and groups must fit the family, got {heads} heads of width {head_width}, {groups} groups"
        )
    known, width = FAMILIES[family], heads * head_width
    said: dict[str, object] = {}
    if older is not None:
        stated = {"width": width, "heads": heads, "layers": layers, "inner": inner, "context": context}
        said = {key: (stated | {"epsilon": EPSILON})[name] for name, key in older.keys.items()}
    if family == "gpt_neox":
        said["rotary_pct"] = rotary_share(2 * max(1, head_width // 4), head_width)
    if row is not None:
        said = {
            "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": layers, "head_dim": head_width,
            "num_key_value_heads": groups, "intermediate_size": inner, "moe_intermediate_size": inner,
            "max_position_embeddings": context, "rms_norm_eps": EPSILON, "rope_theta": Fraction(10000),
            **dict.fromkeys(row.bias_keys, biases), **({"sliding_window": None} if family == "mistral" else {}),
            **({**LATENTS, "qk_rope_head_dim": head_width, "first_k_dense_replace": layers} if latent else {}),
        }  # fmt: skip
    said |= {"vocab_size": vocabulary} | ({} if tied is None else {"tie_word_embeddings": tied})
    form, there = known.read(Config(said | SMALL.get(family, {}) | dict(config or {})))
    parts = known.parts(form, there)
    source = np.random.default_rng(seed)

    def made(piece: CheckpointPiece) -> Array:
        near = 1.0 if piece.axes[0].sized else 0.0
        size = 1.0 if "embed" in piece.name else piece.shape[-1] ** -0.5 if piece.columns else 0.25
        less = {**known.layout.ends, **known.layout.block}[piece.name].less  # what is not in the file
        drawn = near - less + size * source.standard_normal(piece.shape)
        held = from_disk(to_disk(drawn, stored, rounded=True), stored)
        return held.astype(np.float64) + less if less else held

    def pieces(kind: type[Any], there: Collection[str]) -> dict[str, Any]:
        names = (field.name for field in fields(kind))
        return {name: made(table(form)[name]) if name in there else None for name in names}

    outer = Ends(**pieces(Ends, table(form).ends))
    blocks = tuple(Block(**pieces(Block, parts)) for _ in range(layers))
    return MadeCheckpoint(form, outer, blocks, f"small {family}", stored)


Model = Checkpoint | str | os.PathLike[str]
"""A checkpoint, or where its files are."""


def assert_same_checkpoint(
    first: Model,
    second: Model,
    *,
    rounding: str | None = None,
    units: float = DEFAULT_UNITS,
    ids: Sequence[int] = (),
    layouts: tuple[str | None, str | None] = (None, None),
    progress: Progress | None = None,
) -> CheckpointComparison:
    """Fail unless the second checkpoint is a rewriting of the first: turned, permuted, folded, but the same function.

    Args:
        first, second: folders, `.gguf` files, or checkpoints that were opened or made.
        rounding: `None`: exactly. Else the coarsest type that tensors may have been rounded to, such as `"bf16"`.
        units: how far a tensor may be off then, in units in the last place of the type it is stored in.
        ids: token ids of a prompt whose logits are compared; of large checkpoints none are unless they decide.
        layouts: of folders and files, how their pieces are named, where the names do not show it.
        progress: is told of what is done.

    Returns:
        What was found, with the symmetry.

    Raises:
        Mismatch: another function, or the same up to a rounding that is not allowed; the message names the tensors.
        NotDecided: no symmetry was found, and no logits are proved apart.
        BadInput: they cannot be compared, or there is no such type.

    Example:
        >>> from lightning_sym import apply
        >>> from lightning_sym.checkpoints.random_symmetries import random_symmetry
        >>> from lightning_sym.testing import small_checkpoint
        >>> model = small_checkpoint("llama")
        >>> assert_same_checkpoint(model, apply(random_symmetry(model), model)).answer
        <CheckpointAnswer.SAME: 'same'>
    """
    __tracebackhide__ = True
    allowed = None if rounding is None else _allowed(rounding)
    pair = (_opened(each, layout) for each, layout in zip((first, second), layouts, strict=True))
    found = same_checkpoints(*pair, ids=ids, units=units, progress=progress)
    names = f"{found.first} and {found.second}"
    if found.answer is CheckpointAnswer.DIFFERENT:
        raise Mismatch(failure(f"{names} compute different functions", _lines(found)))
    if found.answer is CheckpointAnswer.UNDECIDED:
        raise NotDecided(failure(f"it is undecided whether {names} compute the same function", _lines(found)))
    if found.answer is CheckpointAnswer.ROUNDING:
        coarse = [each for each in found.residuals if each.stored not in (allowed or ())]
        if allowed is None or coarse:
            what = "exactly" if allowed is None else f"up to rounding to {shown(rounding)} or finer"
            raise Mismatch(failure(f"{names} must compute the same function {what}", _lines(found)))
    return found


def _opened(model: Model, layout: str | None) -> Checkpoint:
    """Return the checkpoint.

    Raises:
        BadInput: it was opened already, so that a layout says nothing of it.
    """
    if isinstance(model, (str, os.PathLike)):
        return open_checkpoint(model, layout=layout)
    if layout is not None:
        raise BadInput(f"a layout must go with a folder or a file, got {shown(layout)} with a checkpoint")
    return model


def _allowed(rounding: str) -> tuple[str, ...]:
    """Return the types that are at least as fine as this one.

    Raises:
        BadInput: there is no such type.
    """
    names = sorted(DIGITS, key=DIGITS.__getitem__)
    if str(rounding).upper() not in names:
        raise BadInput(f"rounding must be one of {', '.join(n.lower() for n in names)} or None, got {shown(rounding)}")
    return tuple(name for name in names if DIGITS[name] >= DIGITS[rounding.upper()])


def _lines(found: CheckpointComparison) -> list[tuple[str, str]]:
    """Return the lines of the answer that fit a screen, without the names and the words that a test knows already."""
    lines = [line for line in found.lines() if line[0] not in ("first", "second", "list")]
    return lines if len(lines) <= 2 * SHOWN else [*lines[: 2 * SHOWN], ("", f"and {len(lines) - 2 * SHOWN} lines more")]
