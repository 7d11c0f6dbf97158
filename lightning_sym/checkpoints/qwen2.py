"""Qwen2: Llama with biases on queries, keys and values."""

from __future__ import annotations

from typing import Any

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.llama import (
    GGUF_KEYS,
    LAYOUT,
    MATRICES,
    gguf_layout,
    ignored,
    read_rotary,
    require_full_attention,
    write_rotary,
)
from lightning_sym.checkpoints.model import CheckpointForm

PARTS = MATRICES | {"query_bias", "key_bias", "value_bias"}


def _read(config: Config) -> tuple[CheckpointForm, frozenset[str]]:
    config.require("use_sliding_window", False)
    for key in ("sliding_window", "max_window_layers"):  # which then say nothing
        config.get(key)
    require_full_attention(config)
    return read_rotary(config, "qwen2", groups=32), PARTS


def _write(form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    return write_rotary(form, "Qwen2ForCausalLM") | {"use_sliding_window": False}


QWEN2 = ModelFamily(
    model_type="qwen2",
    read=_read,
    write=_write,
    layout=LAYOUT,
    prefix="",
    ignored=ignored,
    gguf_keys=GGUF_KEYS,
    gguf_implied={},
    gguf_layout=gguf_layout(interleaved=False),
)
