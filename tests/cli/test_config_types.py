"""What each type of models implies for `dimension --config`, where its keys say nothing."""

from __future__ import annotations

from typing import Any

import pytest
from test_config import SIZES

from lightning_sym.errors import BadInput
from lightning_sym.network.model_config import model_of
from lightning_sym.network.model_types import MODEL_TYPES

NEW = {"MLP", "layer norm", "rotary positions"}
GROUPS = {
    "gemma": 16,
    "mistral": 8,
    "mixtral": 8,
    **dict.fromkeys(("gemma2", "gemma3_text", "qwen3_moe", "smollm3"), 4),
}
WIDTHS = {"qwen3": 128, **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), 256)}
IMPLIED: dict[str, tuple[set[str], bool, bool | None]] = {
    "attention-only": (set(), False, None),
    "bert": ({"MLP", "layer norm", "biases", "positions", "prediction head"}, True, False),
    "gemma": ({"MLP", "layer norm", "rotary positions"}, True, True),
    "gemma2": ({*NEW, "windows and caps on attention", "multipliers"}, True, True),
    "gemma3_text": ({*NEW, "windows and caps on attention", "multipliers"}, True, True),
    "gpt2": ({"MLP", "layer norm", "biases", "positions"}, True, True),
    "gpt_neox": ({"MLP", "layer norm", "biases", "rotary positions"}, False, True),
    "granite": ({*NEW, "multipliers"}, False, True),
    "llama": ({"MLP", "layer norm", "rotary positions"}, False, True),
    "mistral": ({"MLP", "layer norm", "rotary positions", "windows and caps on attention"}, False, True),
    "mixtral": (NEW, False, True),
    "olmo2": (NEW, False, True),
    "opt": ({"MLP", "layer norm", "biases", "positions"}, True, True),
    "phi3": (NEW, False, True),
    "qwen2": ({"MLP", "layer norm", "rotary positions", "biases"}, False, True),
    "qwen3": (NEW, False, True),
    "qwen3_moe": (NEW, False, True),
    "roberta": ({"MLP", "layer norm", "biases", "positions", "prediction head"}, True, False),
    "smollm3": (NEW, True, True),
}  # fmt: skip


@pytest.mark.parametrize("name", MODEL_TYPES)
def test_a_config_of_sizes_alone_has_all_that_its_type_implies(name: str) -> None:
    parts, tied, causal = IMPLIED[name]
    config = {"model_type": name, **SIZES, "num_attention_heads": 32}
    model = model_of(config, attention_only=True)
    assert (set(model.left_out), model.tied, model.causal) == (parts, tied, causal)
    assert (model.groups, model.head_width) == (GROUPS.get(name, 32), WIDTHS.get(name, 2))
    assert model.parameters == (2 - tied) * 64_000 + 3 * (32 + model.groups) * 2 * model.head_width * 64
    if parts:
        with pytest.raises(BadInput, match=f"implied by model_type {name}"):
            model_of(config, attention_only=False)


def test_what_a_config_says_stands_above_what_its_type_implies() -> None:
    said = {"tie_word_embeddings": False, "num_key_value_heads": 4, "sliding_window": None}
    model = model_of({"model_type": "mistral", **SIZES, **said}, attention_only=True)
    assert set(model.left_out) == {"MLP", "layer norm", "rotary positions"}
    assert not model_of({"model_type": "gpt2", **SIZES, "tie_word_embeddings": False}, attention_only=True).tied
    assert model_of({"model_type": "llama", **SIZES, "tie_word_embeddings": True}, attention_only=True).tied
    assert model_of({"model_type": "bert", **SIZES, "is_decoder": True}, attention_only=True).causal is True
    window: dict[str, Any] = {"model_type": "qwen2", **SIZES, "sliding_window": 9, "num_key_value_heads": 4}
    assert "windows and caps on attention" not in model_of(window, attention_only=True).left_out
    window["use_sliding_window"] = True
    window["layer_types"] = ["full_attention", "sliding_attention", "full_attention"]
    left_out = model_of(window, attention_only=True).left_out
    assert "windows and caps on attention" in left_out
    assert "keys not understood" not in left_out
