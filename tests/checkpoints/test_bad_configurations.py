"""Keys of a configuration: what changes the function is refused by name, what says the same is understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_bad_checkpoints import refusal
from test_reading_checkpoints import change_config, config_of

from lightning_sym import open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.testing import small_checkpoint

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1, "original_max_position_embeddings": 8}
LINEAR = {"rope_type": "linear", "factor": 8.0}
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8}
KEYS: list[tuple[str, str, Any, str]] = [
    ("llama", "model_type", "bert", f"{', '.join(FAMILIES)}, got 'bert', which means attention to both sides"),
    ("llama", "model_type", "mamba", "got 'mamba', which means recurrent layers"),
    ("llama", "ssm_cfg", {}, "'ssm_cfg' = {}, which means recurrent layers"),
    ("llama", "n_shared_experts", 2, "'n_shared_experts' = 2, which means shared experts"),
    ("qwen3_moe", "mlp_only_layers", [0], "mlp_only_layers must be [] or absent, got a list"),
    ("qwen3_moe", "decoder_sparse_step", 2, "decoder_sparse_step must be 1 or absent, got 2"),
    ("mixtral", "num_experts_per_tok", 4, "num_experts_per_tok must be at most num_local_experts, got 4 and 3"),
    ("olmo2", "sliding_window", 3, "sliding_window must reach max_position_embeddings or be null, got 3"),
    ("llama", "model_type", "vit", "got 'vit', which means images"),
    ("llama", "model_type", "t5", "got 't5', which means an encoder beside the decoder"),
    ("llama", "model_type", "deepseek_v32", "got 'deepseek_v32', which means experts, latent keys and values"),
    ("llama", "model_type", "unheard-of", "got 'unheard-of'"),
    ("llama", "model_type", ..., f"model_type must be one of {', '.join(FAMILIES)}, got null"),
    ("llama", "num_local_experts", 8, "got 'num_local_experts' = 8, which means experts"),
    ("llama", "is_causal", False, "got 'is_causal' = false"),
    ("llama", "model_type", "gpt2", "n_embd must be an integer"),
    ("llama", "rope_scaling", LLAMA3, "rope_scaling: high_freq_factor must be a number between"),
    ("llama", "rope_scaling", LLAMA3 | {"high_freq_factor": 1}, "low_freq_factor must be below high_freq_factor, got"),
    (
        "llama",
        "rope_scaling",
        {"rope_type": "dynamic", "factor": 2},
        "others depend on the length of the text, got 'dy",
    ),
    ("llama", "rope_scaling", {"type": "longrope", "factor": 2}, "others depend on the length of the text, got 'longr"),
    ("llama", "rope_scaling", {"type": "linear", "rope_type": "yarn"}, "rope_type and type must agree, got 'yarn' and"),
    ("llama", "rope_scaling", {"type": "linear"}, "factor must be a number between 1e-300 and 1e300, got null"),
    ("llama", "rope_scaling", {"type": "factors", "factors": [1.0]}, "rope_type must be of fixed frequencies, default"),
    ("llama", "rope_scaling", YARN | {"mscale": 1}, "rope_scaling: mscale must be null or absent, got 1"),
    ("llama", "rope_scaling", YARN | {"truncate": False}, "rope_scaling: truncate must be true or absent, got false"),
    ("llama", "rope_scaling", {"rope_type": "yarn", "factor": 8.0}, "original_max_position_embeddings must be an int"),
    ("llama", "rope_scaling", {"factor": 2}, "rope_scaling: every key of the configuration must be understood"),
    ("llama", "rope_parameters", {"rope_theta": 7, "rope_type": "default"}, "rope_theta must be stated once"),
    ("llama", "rope_theta", 0, "rope_theta must be a number between 1e-300 and 1e300, got 0"),
    ("llama", "partial_rotary_factor", 0.5, "partial_rotary_factor must be 1"),
    ("llama", "rope_interleaved", True, "rope_interleaved must be false or absent, got true"),
    ("llama", "hidden_act", "relu", "hidden_act must be one of gelu, "),
    ("llama", "hidden_size", 16.5, "hidden_size must be an integer"),
    ("llama", "hidden_size", True, "hidden_size must be an integer"),
    ("llama", "hidden_size", ..., "hidden_size must be an integer"),
    ("llama", "num_key_value_heads", 3, "must be a multiple of num_key_value_heads, got 4 and 3"),
    ("llama", "head_dim", 3, "head_dim must be even"),
    ("llama", "head_dim", 10**9, "head_dim must be an integer between 1 and 100,000, got 1000000000"),
    ("llama", "num_hidden_layers", 10**7, "num_hidden_layers must be an integer between 1 and 100,000, got 10000000"),
    ("gpt2", "n_layer", 10**7, "n_layer must be an integer between 1 and 100,000, got 10000000"),
    ("llama", "rms_norm_eps", -1, "rms_norm_eps must be a number between 1e-300 and 1e300, got -1"),
    ("llama", "rms_norm_eps", 10**999, "rms_norm_eps must be a number between 1e-300 and 1e300, got 1000"),
    (
        "llama",
        "num_key_value_heads",
        10**999,
        "num_key_value_heads must be an integer between 1 and 1,000,000,000, got",
    ),
    ("llama", "tie_word_embeddings", 1, "tie_word_embeddings must be true or false, got 1"),
    ("llama", "tie_word_embeddings", True, "lm_head.weight must be model.embed_tokens.weight, to which"),
    ("llama", "attention_bias", True, "missing are model.layers.0.self_attn.q_proj.bias"),
    ("llama", "quantization_config", {"bits": 4}, "quantization_config must be false or absent"),
    ("llama", "sliding_window", 8, "sliding_window must reach max_position_embeddings or be null, got 8 and 16"),
    (
        "llama",
        "attn_logit_softcapping",
        30.0,
        "every key of the configuration must be understood, got 'attn_logit_s",
    ),
    ("llama", "auto_map", {"AutoModel": "x.y"}, "every key of the configuration must be understood, got 'auto_map'"),
    ("llama", "residual_multiplier", 2, "every key of the configuration must be understood"),
    ("mistral", "layer_types", ["sliding_attention"] * 2, "layer_types must agree with sliding_window"),
    ("mistral", "attention_bias", False, "every key of the configuration must be understood, got 'attention_bias'"),
    ("qwen2", "layer_types", ["full_attention", "sliding_attention"], "layer_types must be full_attention where use_s"),
    (
        "qwen2",
        "layer_types",
        ["full_attention"],
        "layer_types must be a list of full_attention or sliding_attention, o",
    ),
    ("phi3", "rope_scaling", {"type": "su", "factor": 2}, "others depend on the length of the text, got 'su'"),
    ("phi3", "attention_bias", True, "attention_bias must be false or absent, got true"),
    ("granite", "residual_multiplier", 0, "residual_multiplier must be a number between 1e-300 and 1e300, got 0"),
    ("smollm3", "no_rope_layers", [1], "no_rope_layers must be a list of 1 (rotary positions) or 0, one for each of"),
    ("smollm3", "no_rope_layers", [1, True], "no_rope_layers must be a list of 1 (rotary positions) or 0, one for"),
    ("smollm3", "use_sliding_window", True, "use_sliding_window must be false or absent, got true"),
    (
        "gemma",
        "hidden_act",
        "silu",
        "hidden_act must be 'gelu_pytorch_tanh' or 'gelu_new' or 'gelu' or absent, got 'si",
    ),
    (
        "gemma",
        "hidden_act",
        "gelu_python",
        "hidden_act must be 'gelu_pytorch_tanh' or 'gelu_new' or 'gelu' or absent, got",
    ),
    ("gemma", "hidden_activation", "gelu", "hidden_activation must be 'gelu_pytorch_tanh' or absent, got 'gelu'"),
    ("gemma", "use_bidirectional_attention", True, "use_bidirectional_attention must be false or absent, got true"),
    ("gemma3_text", "attn_logit_softcapping", 30.0, "attn_logit_softcapping must be null or absent, got 30"),
    ("gpt2", "scale_attn_weights", False, "scale_attn_weights must be true or absent, got false"),
    ("gpt2", "scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx must be false or absent"),
    ("gpt2", "add_cross_attention", True, "add_cross_attention must be false or absent"),
    ("gpt2", "activation_function", "gelu_fast", "activation_function must be one of gelu, "),
    ("gpt2", "n_head", 3, "n_embd must be a multiple of n_head, got 16 and 3"),
    ("gpt2", "n_inner", None, "must be of shape [16, 64], as configured, got [16, 24]"),
]


@pytest.mark.parametrize(("family", "key", "value", "expected"), KEYS, ids=[f"{k[0]}-{k[1]}-{k[2]}"[:40] for k in KEYS])
def test_a_key_that_changes_the_function_is_refused(
    family: str, key: str, value: Any, expected: str, tmp_path: Path
) -> None:
    save_checkpoint(small_checkpoint(family), tmp_path)
    change_config(tmp_path, **{key: value})
    assert expected in refusal(tmp_path)


TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {"is_causal": None}, "got 'is_causal' = null"),
    ("deepseek_v3", {"rope_interleave": None}, "rope_interleave must be true or absent, got null"),
    ("youtu", {"rope_interleave": None}, "rope_interleave must be true or absent, got null"),
    ("llama", {"rope_scaling": YARN | {"factor": 0.5}}, "factor of yarn must be at least 1, got 1/2"),
    (
        "llama",
        {"rope_theta": ..., "rope_parameters": {"rope_theta": 500.0}, "rope_scaling": LINEAR},
        "rope_theta must be stated once, got 500 and 10000",
    ),
    (
        "llama",
        {"rope_parameters": LINEAR, "rope_scaling": {"rope_type": "default"}},
        "rotary frequencies must be scaled once, got linear",
    ),
    ("gpt_neox", {"rotary_emb_base": ..., "rope_theta": 500.0}, "rope_theta must be what is read, 10000, got 500"),
    (
        "gpt_neox",
        {"rotary_pct": ..., "partial_rotary_factor": 0.5},
        "partial_rotary_factor must be what is read, 1/4, got 1/2",
    ),
    (
        "gpt_neox",
        {"rotary_emb_base": ..., "rope_parameters": {"rotary_emb_base": 500.0}},
        "rope_parameters: every key of the configuration must be understood, got 'rotary_emb_base' = 500",
    ),
    ("phi3", {"rope_scaling": YARN}, "rope_type must be default in this family, others are read as longrope, got yarn"),
    ("phi3", {"rope_theta": ..., "rope_parameters": LINEAR}, "rope_type must be default in this family"),
    ("qwen3_moe", {"use_sliding_window": True}, "use_sliding_window must be false or absent, got true"),
    (
        "gemma3_text",
        {"rope_theta": ..., "rope_parameters": {"rope_theta": 500.0}},
        "rope_parameters: every key of the configuration must be understood, got 'rope_theta' = 500",
    ),
    (
        "gemma3_text",
        {"rope_scaling": {"type": "linear", "factor": 8.0}},
        "rope_scaling: type must be null or absent, got 'linear'",
    ),
    (
        "gemma3_text",
        {"rope_parameters": {"full_attention": LINEAR}, "rope_scaling": {"rope_type": "default"}},
        "rotary frequencies must be scaled once, got linear",
    ),
    (
        "gemma3_text",
        {"rope_parameters": {"full_attention": {}, "sliding_attention": [1]}},
        "rope_parameters: sliding_attention must be an object, got a list",
    ),
    (
        "gemma3_text",
        {"sliding_window": None},
        "sliding_window must be an integer between 1 and 1,000,000,000, got null",
    ),
]
"""Keys that the `transformers` library does not read as they sound: a reading of its own for each was wrong."""


@pytest.mark.parametrize(("family", "keys", "expected"), TOGETHER)
def test_keys_that_the_library_reads_otherwise_are_refused(
    family: str, keys: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    save_checkpoint(small_checkpoint(family), tmp_path)
    change_config(tmp_path, **keys)
    assert expected in refusal(tmp_path)


def test_no_window_is_said_by_null(tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("qwen2"), tmp_path)
    keys = {"use_sliding_window": True, "max_window_layers": 0, "max_position_embeddings": 8192}
    for window, expected in ((..., 4096), (None, None)):
        change_config(tmp_path, **keys, sliding_window=window)
        assert open_checkpoint(tmp_path).form.window == expected


@pytest.mark.parametrize(
    ("family", "keys"),
    [
        (
            "gpt_neox",
            {"rope_theta": 10000.0, "rope_parameters": {"rope_theta": 10000, "partial_rotary_factor": 0.5}},
        ),
        ("gemma3_text", {"rope_parameters": {"full_attention": {}, "sliding_attention": None}}),
        ("llama", {"rope_theta": ..., "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}}),
        ("llama", {"rope_theta": 1e4, "rope_scaling": None, "pretraining_tp": 2, "head_dim": None}),
        ("llama", {"sliding_window": 16, "transformers.js_config": {"x": 1}, "is_llama_config": True}),
        ("mistral", {"sliding_window": ...}),
        ("qwen2", {"sliding_window": 4, "max_window_layers": 1, "layer_types": ["full_attention"] * 2}),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 0}),
        ("mistral", {"layer_types": ["full_attention"] * 2}),
        ("gemma", {"hidden_act": "gelu", "hidden_activation": None}),
        ("smollm3", {"no_rope_layers": None, "no_rope_layer_interval": 2}),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 1.0}}),
        ("gpt2", {"reorder_and_upcast_attn": True, "activation_function": "gelu_pytorch_tanh"}),
    ],
)
def test_keys_that_say_the_same_are_understood(family: str, keys: dict[str, Any], tmp_path: Path) -> None:
    made = small_checkpoint(family)
    save_checkpoint(made, tmp_path)
    change_config(tmp_path, **keys)
    assert open_checkpoint(tmp_path).form == made.form
    assert set(config_of(tmp_path)) >= {key for key, value in keys.items() if value is not ...}
