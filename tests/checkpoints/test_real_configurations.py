"""Configurations as they stand on the hub: read, or refused for what their model really does."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from lightning_sym import FileFormatError
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

DISTILGPT2 = """{
  "_num_labels": 1, "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
  "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
  "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
  "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
  "summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257
}"""
SMOLLM2 = """{
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0,
  "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
  "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "model_type": "llama",
  "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true,
  "vocab_size": 49152
}"""
QWEN2 = """{
  "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643,
  "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
  "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
  "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
  "transformers_version": "4.40.1", "use_cache": true, "use_mrope": false, "use_sliding_window": false,
  "vocab_size": 151936
}"""
MISTRAL = """{
  "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
  "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000
}"""
LLAMA = """{
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
  "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
  "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0", "use_cache": true,
  "vocab_size": 128256
}"""

GEMMA2 = """{
  "architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
  "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
  "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304, "initializer_range": 0.02, "intermediate_size": 9216,
  "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8, "num_hidden_layers": 26,
  "num_key_value_heads": 4, "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
  "rope_theta": 10000.0, "sliding_window": 4096, "torch_dtype": "float32", "transformers_version": "4.42.4",
  "use_cache": true, "vocab_size": 256000
}"""
OPT = """{
  "_remove_final_layer_norm": false, "activation_dropout": 0.0, "activation_function": "relu",
  "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": true,
  "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768, "init_std": 0.02, "layerdrop": 0.0,
  "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 12, "num_hidden_layers": 12,
  "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "transformers_version": "4.21.0.dev0",
  "use_cache": true, "vocab_size": 50272, "word_embed_proj_dim": 768
}"""


def form_of(text: str, **changes: Any) -> CheckpointForm:
    """The form that a configuration states, all of whose keys are understood."""
    values = parse(json.dumps(json.loads(text) | changes).encode(), ExactNumbers())
    config = Config(values)
    form, _ = FAMILIES[str(config.get("model_type"))].read(config)
    config.finish()
    return form


def test_what_is_read() -> None:
    gpt2, smol, qwen = form_of(DISTILGPT2), form_of(SMOLLM2), form_of(QWEN2)
    assert (gpt2.inner, gpt2.head_width, gpt2.epsilon, gpt2.theta) == (3072, 64, Fraction(1, 10**5), None)
    assert (smol.heads, smol.groups, smol.head_width, smol.theta, smol.tied) == (9, 3, 64, Fraction(100000), True)
    assert (qwen.groups, qwen.head_width, qwen.epsilon, qwen.theta) == (2, 64, Fraction(1, 10**6), Fraction(10**6))
    assert form_of(MISTRAL, sliding_window=None).groups == 8
    assert (form_of(MISTRAL).window, form_of(MISTRAL).local) == (4096, None)
    assert form_of(LLAMA).theta == 500_000
    assert str(form_of(LLAMA).scaling) == "llama3 by 32 (1 to 4 turns in 8,192 tokens)"
    windows = form_of(QWEN2, use_sliding_window=True, sliding_window=4096, max_window_layers=21)
    assert (windows.window, windows.local) == (4096, (21, 22, 23))


def test_how_caches_are_kept_and_what_training_drops_is_no_part_of_the_function() -> None:
    gemma, opt = form_of(GEMMA2), form_of(OPT)
    assert (gemma.score_cap, gemma.logit_cap) == (Fraction(50), Fraction(30))
    assert (gemma.window, gemma.local) == (4096, tuple(range(0, 26, 2)))
    assert (opt.activation, opt.inner, opt.context, opt.tied) == ("relu", 3072, 2048, True)


def test_what_is_refused() -> None:
    with pytest.raises(FileFormatError, match=r"pruned_heads must be \{\} or absent"):
        form_of(DISTILGPT2, pruned_heads={"0": [1]})
    with pytest.raises(FileFormatError, match="got 'is_causal' = false"):
        form_of(SMOLLM2, is_causal=False)
