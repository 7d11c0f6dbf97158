"""Mistakes that tools for conversion are known to make, each made once on a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from changed_checkpoints import rounded

from lightning_sym.checkpoints.model import Block, Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_rotation
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry

READ = ("query", "query_bias", "key", "key_bias", "value", "value_bias")


def in_memory(one: Checkpoint) -> MadeCheckpoint:
    """The checkpoint with the names that its files have for the tensors."""
    blocks = tuple(one.block(layer) for layer in range(one.form.layers))
    return MadeCheckpoint(one.form, one.ends(), blocks, one.name, one.stored("embedding"))


def in_layers(one: MadeCheckpoint, change: Callable[[Block], dict[str, Any]]) -> MadeCheckpoint:
    """Every layer changed."""
    return replace(one, blocks=tuple(replace(block, **change(block)) for block in one.blocks))


def at_the_ends(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    """Other ends."""
    return replace(one, outer=replace(one.outer, **pieces))


def interleaved(block: Block) -> dict[str, Any]:
    """Rows of queries and keys in the other order of rotary positions."""
    half = block.query.shape[1] // 2
    order = np.arange(2 * half).reshape(2, half).T.reshape(-1)
    return {name: getattr(block, name)[:, order] for name in READ[:4]}


def fused(block: Block) -> dict[str, Any]:
    """Queries, keys and values, stacked in one tensor, read group by group."""
    found: dict[str, Any] = {}
    for part in ("", "_bias"):
        q, k, v = (getattr(block, f"{name}{part}") for name in ("query", "key", "value"))
        share = len(q) // len(k)
        rows = np.concatenate([q, k, v]).reshape(len(k), share + 2, *q.shape[1:])
        parts = rows[:, :share].reshape(q.shape), rows[:, share], rows[:, share + 1]
        found |= {f"{name}{part}": array for name, array in zip(("query", "key", "value"), parts, strict=True)}
    return found


def value_turned(block: Block) -> dict[str, Any]:
    """Values and outputs in another basis, the bias as it was."""
    turn = np.array([[0, 1, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, -1], [0, 0, 2, 0]], dtype=np.float32)
    return {"value": turn @ block.value, "output": block.output @ np.linalg.inv(turn).astype(np.float32)}


def transposed(one: MadeCheckpoint) -> MadeCheckpoint:
    """The square matrix of the outputs of one layer."""
    block = one.blocks[0]
    heads, width, a = block.output.shape
    matrix = block.output.transpose(1, 0, 2).reshape(width, width).T
    turned = np.ascontiguousarray(matrix.reshape(width, heads, a).transpose(1, 0, 2))
    return replace(one, blocks=(replace(block, output=turned), *one.blocks[1:]))


def head_not_turned(one: MadeCheckpoint) -> MadeCheckpoint:
    """The stream turned, norms folded, and the unembedding folded only."""
    width = one.form.width
    ones = LayerSymmetry(gain1=np.ones(width), gain2=np.ones(width))
    turn = random_rotation(np.random.default_rng(1), width, centred=False)
    asked = Symmetry((ones,) * one.form.layers, rotation=turn, final_gain=np.ones(width))
    made = rounded(apply(asked, one))
    assert one.outer.unembedding is not None
    return at_the_ends(made, unembedding=(one.outer.unembedding * one.outer.final_gain).astype(np.float32))


MISTAKES: dict[str, Callable[[MadeCheckpoint], MadeCheckpoint]] = {
    "rows of queries and keys interleaved": lambda one: in_layers(one, interleaved),
    "values turned, their bias forgotten": lambda one: in_layers(one, value_turned),
    "gate and up exchanged": lambda one: in_layers(one, lambda b: {"gate": b.up, "up": b.gate}),
    "norms exchanged": lambda one: in_layers(one, lambda b: {"norm1_gain": b.norm2_gain, "norm2_gain": b.norm1_gain}),
    "one added to all gains": lambda one: at_the_ends(
        in_layers(one, lambda b: {"norm1_gain": b.norm1_gain + 1, "norm2_gain": b.norm2_gain + 1}),
        final_gain=one.outer.final_gain + 1,
    ),
    "one taken from the final gain": lambda one: at_the_ends(one, final_gain=one.outer.final_gain - 1),
    "outputs transposed": transposed,
    "fused queries, keys and values in another order": lambda one: in_layers(one, fused),
    "stream turned, unembedding not": head_not_turned,
    "scale of the queries folded": lambda one: in_layers(
        one, lambda b: {"query": b.query / 2, "query_bias": b.query_bias / 2}  # type: ignore[operator]
    ),
    "epsilon of another configuration": lambda one: replace(one, form=replace(one.form, epsilon=10 * one.form.epsilon)),
}  # fmt: skip
