"""Small checkpoints of all families whose logits are compared with those of the `transformers` library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.testing import small_checkpoint

IDS = np.random.default_rng(0).integers(0, 40, 16)
"""Token ids, below the vocabulary of all checkpoints."""
TOKENS, KEPT = [0, 1, 7, 15], 12
"""The tokens, and how many of their logits, that are kept as data."""


def rope(kind: str, factor: int, **more: Any) -> dict[str, Any]:
    """Scaled rotary frequencies, as a configuration states them."""
    return {"rope_scaling": {"rope_type": kind, "factor": Fraction(factor), **more}}


LLAMA3 = rope(
    "llama3", 8, low_freq_factor=Fraction(1), high_freq_factor=Fraction(4), original_max_position_embeddings=40
)  # fmt: skip
WINDOW = {"sliding_window": 5}

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama, llama3": ("llama", LLAMA3),
    "llama, linear": ("llama", rope("linear", 3)),
    "llama, yarn": ("llama", rope("yarn", 4, original_max_position_embeddings=16)),
    "llama, gelu": ("llama", {"hidden_act": "gelu"}),
    "mistral, a window": ("mistral", WINDOW),
    "qwen2, windows": ("qwen2", WINDOW | {"use_sliding_window": True, "max_window_layers": 1}),
    "mixtral, a window": ("mixtral", WINDOW),
    "qwen3_moe, weights divided": ("qwen3_moe", {"norm_topk_prob": True}),
    "deepseek_v2, no latent queries": ("deepseek_v2", {"q_lora_rank": None}),
    "deepseek_v3, yarn": ("deepseek_v3", rope("yarn", 4, original_max_position_embeddings=16)),
    "phi3, a window": ("phi3", WINDOW),
    "gpt_neox, in sequence": ("gpt_neox", {"use_parallel_residual": False, "rotary_pct": 1, "attention_bias": False}),
    "gemma2, a window": ("gemma2", WINDOW | {"query_pre_attn_scalar": 20, "attn_logit_softcapping": 2}),
    "gemma3_text, windows": (
        "gemma3_text",
        WINDOW | {"sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": Fraction(8)}},
    ),
}
"""By label, a family and further keys of its configuration."""


def small_checkpoints() -> Iterator[tuple[str, MadeCheckpoint]]:
    """Each family, tied and not, with biases where it may have them, and its variants."""
    for family in FAMILIES:
        sizes: dict[str, Any] = {"heads": 4, "groups": 4 if family in ONE_GROUP else 2, "head_width": 6}
        sizes |= {"inner": 8} if family in WITH_EXPERTS else {}
        for tied in (False, True):
            yield f"{family}{', tied' * tied}", small_checkpoint(family, tied=tied, biases=True, **sizes)
        for label, (name, keys) in VARIANTS.items():
            if name == family:
                yield label, small_checkpoint(family, seed=1, config=keys, **sizes)


WITH_EXPERTS = ("mixtral", "qwen3_moe")
ONE_GROUP = ("gpt2", "gpt_neox", "opt", "deepseek_v2", "deepseek_v3", "youtu")
"""Families with keys and values for each head."""


def spelled(logits: dict[str, list[list[float]]]) -> str:
    """Logits by label as JSON, a line each."""
    lines = (f"  {json.dumps(label)}: {json.dumps(rows)}" for label, rows in logits.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
