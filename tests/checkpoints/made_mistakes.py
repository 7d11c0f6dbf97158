"""Every known mistake made by plain sums on the stored matrices, apart from the table that the diagnosis asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from mistaken_conversions import at_the_ends, fused, in_layers, interleaved, transposed

from lightning_sym.checkpoints.model import Block, MadeCheckpoint

Make = Callable[[MadeCheckpoint, np.random.Generator], MadeCheckpoint]


def everywhere(change: Callable[[Block], dict[str, Any]]) -> Make:
    """A change of every layer, as a mistake."""
    return lambda one, random: in_layers(one, lambda block: there(block, change(block)))


def there(block: Block, changed: dict[str, Any]) -> dict[str, Any]:
    """Of what was changed, what the layer has."""
    return {name: array for name, array in changed.items() if getattr(block, name) is not None}


def permuted(rows: Any, blocks: int) -> Any:
    """The rows of a matrix, or of a bias, with halves of each block interleaved, as `permute` of converters does it."""
    flat = rows.reshape(-1, *rows.shape[2:])
    moved = flat.reshape(blocks, 2, len(flat) // blocks // 2, *flat.shape[1:]).swapaxes(1, 2)
    return moved.reshape(rows.shape)


def split(rows: Any, blocks: int) -> Any:
    """The inverse of `permuted`."""
    flat = rows.reshape(-1, *rows.shape[2:])
    moved = flat.reshape(blocks, len(flat) // blocks // 2, 2, *flat.shape[1:]).swapaxes(1, 2)
    return moved.reshape(rows.shape)


def keys_in_blocks_of_queries(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """Keys written in as many blocks as there are query heads, and read back in as many as there are keys."""
    form = one.form

    def change(block: Block) -> dict[str, Any]:
        names = [name for name in ("key", "key_bias") if getattr(block, name) is not None]
        return {name: split(permuted(getattr(block, name), form.heads), form.groups) for name in names}

    return in_layers(one, change)


def one_side(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """The rows of the queries alone."""
    names = ("query", "query_bias") if one.form.latent is None else ("query_turned",)
    return in_layers(
        one, lambda b: {n: permuted(getattr(b, n), one.form.heads) for n in names if getattr(b, n) is not None}
    )


def norms(block: Block) -> dict[str, Any]:
    """Both norms in each other's place."""
    return {f"norm{n}_{part}": getattr(block, f"norm{3 - n}_{part}") for n in (1, 2) for part in ("gain", "bias")}


def ones_more(by: int, final: bool) -> Make:
    """A number added to all gains, the final one too or alone."""

    def make(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
        if final:
            return at_the_ends(one, final_gain=one.outer.final_gain + np.float32(by))
        names = [f"norm{n}_gain" for n in (1, 2, 3, 4)]
        gains = [name for name in names if getattr(one.blocks[0], name) is not None]
        more = in_layers(one, lambda b: {name: getattr(b, name) + np.float32(by) for name in gains})
        return at_the_ends(more, final_gain=one.outer.final_gain + np.float32(by))

    return make


def folded_twice(block: Block) -> dict[str, Any]:
    """The gain before the MLP left in the norm and multiplied into what reads it."""
    gain = block.norm2_gain
    return {name: getattr(block, name) * gain for name in ("gate", "up") if getattr(block, name) is not None}


def biases_forgotten(block: Block) -> dict[str, Any]:
    """Biases of the values set to zero."""
    return {"value_bias": None if block.value_bias is None else 0 * block.value_bias}


def halved(block: Block) -> dict[str, Any]:
    """The scale of the scores in the queries, once more."""
    names = ("query", "query_bias", "query_turned")
    return {name: getattr(block, name) / 2 for name in names if getattr(block, name) is not None}


def adapter(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """An update of rank two in the queries and values of all layers."""

    def update(array: Any, rank: int = 2) -> Any:
        heads, a, d = array.shape
        size = np.float32(np.abs(array).mean())
        low = random.standard_normal((heads * a, rank)) @ random.standard_normal((rank, d))
        return (array + size * low.reshape(array.shape).astype(np.float32)).astype(np.float32)

    return in_layers(one, lambda b: {name: update(getattr(b, name)) for name in ("query", "value")})


def other_ids(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """The rows of token ids in another order."""
    order = random.permutation(one.form.vocabulary)
    ends = {name: getattr(one.outer, name) for name in ("embedding", "unembedding")}
    return at_the_ends(one, **{name: array[order] for name, array in ends.items() if array is not None})


def clipped(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """Numbers of `overflowing` as float16 holds them."""
    return in_layers(one, lambda b: {"up": np.clip(b.up, -65504, 65504).astype(np.float32)})


def of_form(**numbers: Any) -> Make:
    """Another configuration."""
    return lambda one, random: replace(one, form=replace(one.form, **numbers))


def query_and_output(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """The square matrix of the outputs transposed."""
    return transposed(one)


def grouped(one: MadeCheckpoint, random: np.random.Generator) -> MadeCheckpoint:
    """Queries, keys and values in one tensor, read group by group."""

    def change(block: Block) -> dict[str, Any]:
        if block.query_bias is not None:
            return fused(block)
        biases = {f"{n}_bias": np.zeros(getattr(block, n).shape[:2]) for n in ("query", "key", "value")}
        return {n: array for n, array in fused(replace(block, **biases)).items() if not n.endswith("bias")}

    return in_layers(one, change)


def interleaved_rows(block: Block) -> dict[str, Any]:
    """Rows of queries and keys in the other order of rotary positions."""
    if block.query_bias is not None:
        return interleaved(block)
    if block.key_turned is not None and block.query_turned is not None:
        return {n: permuted(getattr(block, n), len(getattr(block, n))) for n in ("query_turned", "key_turned")}
    biases = {f"{n}_bias": np.zeros(getattr(block, n).shape[:2]) for n in ("query", "key")}
    return {n: array for n, array in interleaved(replace(block, **biases)).items() if not n.endswith("bias")}


ROTARY = frozenset(("rotary-rows", "rotary-rows-k", "rotary-rows-one-side", "rope-theta"))
GATED = frozenset(("gate-up-exchanged",))
BIASED = frozenset(("bias-forgotten",))
IN_FRONT = frozenset(("norms-exchanged", "gain-plus-one", "gain-minus-one", "gain-folded-twice", "gain-not-folded"))

MADE: dict[str, Make] = {
    "rotary-rows": everywhere(interleaved_rows),
    "rotary-rows-k": keys_in_blocks_of_queries,
    "rotary-rows-one-side": one_side,
    "qkv-layout": grouped,
    "gate-up-exchanged": everywhere(lambda b: {"gate": b.up, "up": b.gate}),
    "norms-exchanged": everywhere(norms),
    "layers-exchanged": lambda one, random: replace(one, blocks=(one.blocks[1], one.blocks[0], *one.blocks[2:])),
    "transposed-square": query_and_output,
    "gain-plus-one": ones_more(1, final=False),
    "gain-minus-one": ones_more(-1, final=True),
    "gain-folded-twice": everywhere(folded_twice),
    "gain-not-folded": everywhere(lambda b: {"norm1_gain": np.ones_like(b.norm1_gain)}),
    "bias-forgotten": everywhere(biases_forgotten),
    "scale-one-side": everywhere(halved),
    "lora-unmerged": adapter,
    "vocabulary-permuted": other_ids,
    "f16-overflow": clipped,
    "epsilon": of_form(epsilon=Fraction(1, 100)),
    "rope-theta": of_form(theta=Fraction(500000)),
}
"""By identifier, how the mistake is made."""


def applies(mistake: str, one: MadeCheckpoint) -> bool:
    """Whether a mistake can be made on a checkpoint at all, and changes something."""
    block, form = one.blocks[0], one.form
    if mistake in ROTARY and form.theta is None:
        return False
    if mistake in IN_FRONT and form.bare:
        return False
    if mistake == "rotary-rows-k" and form.heads == form.groups:
        return False
    if mistake in GATED and block.gate is None:
        return False
    if mistake == "transposed-square" and form.heads * form.values != form.width:
        return False
    if mistake == "qkv-layout" and form.latent is not None:
        return False
    return mistake not in BIASED or block.value_bias is not None


def overflowing(one: MadeCheckpoint) -> MadeCheckpoint:
    """The checkpoint with two numbers that float16 does not hold."""

    def change(block: Block) -> dict[str, Any]:
        up = np.array(block.up, dtype=np.float32)
        up[0, 0], up[1, 2] = 70000, -90000
        return {"up": up}

    return in_layers(one, change)
