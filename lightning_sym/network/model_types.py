"""The types of real models whose `config.json` is read: what each has besides attention, and by default."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Config: TypeAlias = "Mapping[str, object]"
"""What a configuration file holds; each value is looked at before it is believed."""


class ModelType(NamedTuple):
    """What a `model_type` stands for.

    Attributes:
        parts: what every such model has besides attention, whatever its keys say.
        causal: whether tokens see the past only; `None` where `is_decoder` says so.
        defaults: values of keys that enter the count, where the config does not name them.
    """

    parts: tuple[str, ...]
    causal: bool | None
    defaults: Config = MappingProxyType({})


_OLD, _NEW = ("MLP", "layer norm", "biases", "positions"), ("MLP", "layer norm", "rotary positions")
_GEMMA = {"tie_word_embeddings": True, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096}
_ENCODER = ModelType((*_OLD, "prediction head"), None, {"tie_word_embeddings": True, "is_decoder": False})

MODEL_TYPES = {
    "attention-only": ModelType((), None),
    "bert": _ENCODER,
    "gemma": ModelType(_NEW, True, {"tie_word_embeddings": True, "num_key_value_heads": 16, "head_dim": 256}),
    "gemma2": ModelType((*_NEW, "windows and caps on attention", "multipliers"), True, _GEMMA),
    "gemma3_text": ModelType((*_NEW, "windows and caps on attention", "multipliers"), True, _GEMMA),
    "gpt2": ModelType(_OLD, True, {"tie_word_embeddings": True}),
    "gpt_neox": ModelType(("MLP", "layer norm", "biases", "rotary positions"), True),
    "granite": ModelType((*_NEW, "multipliers"), True),
    "llama": ModelType(_NEW, True),
    "mistral": ModelType(_NEW, True, {"num_key_value_heads": 8, "sliding_window": 4096}),
    "mixtral": ModelType(_NEW, True, {"num_key_value_heads": 8}),
    "olmo2": ModelType(_NEW, True),
    "opt": ModelType(_OLD, True, {"tie_word_embeddings": True}),
    "phi3": ModelType(_NEW, True),
    "qwen2": ModelType((*_NEW, "biases"), True, {"num_key_value_heads": 32, "use_sliding_window": False}),
    "qwen3": ModelType(_NEW, True, {"num_key_value_heads": 32, "head_dim": 128, "use_sliding_window": False}),
    "qwen3_moe": ModelType(_NEW, True, {"num_key_value_heads": 4, "use_sliding_window": False}),
    "roberta": _ENCODER,
    "smollm3": ModelType(
        _NEW, True, {"tie_word_embeddings": True, "num_key_value_heads": 4, "use_sliding_window": False}
    ),
}
"""The types that are read; what is not said here is absent by default."""
