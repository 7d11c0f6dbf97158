"""Small random checkpoints of every kind of network, to try things on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from lightning_sym.checkpoints.model import Array, Block, CheckpointForm, Ends, MadeCheckpoint

Family = Literal["gpt2", "llama", "qwen2"]

SMALL: dict[Family, CheckpointForm] = {
    "gpt2": CheckpointForm(
        "gpt2", 2, 8, 2, 2, 4, 12, 11, 6, "layer", Fraction(1, 100000), None, "gelu_new", True
    ),
    "llama": CheckpointForm(
        "llama", 2, 8, 4, 2, 4, 10, 11, 6, "rms", Fraction(1, 100000), Fraction(10000), "silu", False
    ),
    "qwen2": CheckpointForm(
        "qwen2", 2, 8, 4, 2, 4, 10, 11, 6, "rms", Fraction(1, 1000000), Fraction(1000000), "silu", True
    ),
}  # fmt: skip


def small_form(family: Family, *, tied: bool | None = None) -> CheckpointForm:
    """A small network of a family, tied as it usually is or as asked for.

    Example:
        >>> small_form("gpt2").width
        8
    """
    form = SMALL[family]
    return form if tied is None else replace(form, tied=tied)


def random_checkpoint(form: CheckpointForm, seed: int = 0, bits: int = 6) -> MadeCheckpoint:
    """Random weights of few bits, so that exact rewritings by short numbers are floats again.

    Args:
        form: biases stand where the family has them.
        seed: of the random numbers.
        bits: weights are integers below `2^bits` in size over `2^bits`; gains are between 1/2 and 2.
    """
    random = np.random.default_rng(seed)
    d, a, m = form.width, form.head_width, form.inner

    def drawn(*shape: int) -> Array:
        size = 2**bits
        return np.asarray(random.integers(-size + 1, size, size=shape) / size, dtype=np.float64)

    def gain() -> Array:
        return np.asarray(random.integers(2 ** (bits - 1), 2 ** (bits + 1), size=d) / 2**bits, dtype=np.float64)

    layer, gated = form.norm == "layer", form.activation == "silu"
    attention_bias = form.family in ("gpt2", "qwen2")

    def block() -> Block:
        return Block(
            norm1_gain=gain(), norm1_bias=drawn(d) if layer else None,
            query=drawn(form.heads, a, d), query_bias=drawn(form.heads, a) if attention_bias else None,
            key=drawn(form.groups, a, d), key_bias=drawn(form.groups, a) if attention_bias else None,
            value=drawn(form.groups, a, d), value_bias=drawn(form.groups, a) if attention_bias else None,
            output=drawn(form.heads, d, a), output_bias=drawn(d) if layer else None,
            norm2_gain=gain(), norm2_bias=drawn(d) if layer else None,
            gate=drawn(m, d) if gated else None, gate_bias=None,
            up=drawn(m, d), up_bias=None if gated else drawn(m), down=drawn(d, m),
            down_bias=None if gated else drawn(d),
        )  # fmt: skip

    outer = Ends(
        embedding=drawn(form.vocabulary, d),
        positions=None if form.theta is not None else drawn(form.context, d),
        final_gain=gain(), final_bias=drawn(d) if layer else None,
        unembedding=None if form.tied else drawn(form.vocabulary, d),
    )  # fmt: skip
    return MadeCheckpoint(form, outer, tuple(block() for _ in range(form.layers)), name=f"random {form.family}")
