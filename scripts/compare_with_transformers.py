"""Logits of the `transformers` library beside those of what is read here, on small random checkpoints of each family.

Folders written by the library are read here, folders written here are read by the library; both logits in float64, the
second by the plain forward pass of the tests. It needs `torch` and `transformers`, which nothing else here does:

    python -m venv beside && beside/bin/pip install torch transformers -e .
    PYTHONPATH=tests/tools beside/bin/python scripts/compare_with_transformers.py [FILE]

Some of the library's logits of the second kind are written into the file, if one is named: tests compare them again.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from compared_checkpoints import IDS, KEPT, TOKENS, small_checkpoints, spelled
from plain_checkpoints import logits

from lightning_sym import open_checkpoint, save_checkpoint

_ROPE = {"rope_theta": 12345.5, "rope_type": "default"}
_SMALL = {
    "vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "rope_parameters": _ROPE, "initializer_range": 0.2,
}  # fmt: skip
_OLD = {
    "vocab_size": 97, "n_embd": 48, "n_head": 6, "n_layer": 3, "n_positions": 64, "initializer_range": 0.2,
    "layer_norm_epsilon": 1e-3,
}  # fmt: skip
_UNTIED = {"tie_word_embeddings": False, "reorder_and_upcast_attn": True}
_EXPERTS = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 20}
_WINDOW = {"sliding_window": 5}
_LATENT = _SMALL | {
    "num_key_value_heads": 6, "kv_lora_rank": 20, "q_lora_rank": 28, "qk_nope_head_dim": 10, "qk_rope_head_dim": 8,
    "v_head_dim": 10,
}  # fmt: skip


def _scaled(kind: str, factor: float, **more: Any) -> dict[str, Any]:
    """Return the sizes, with scaled rotary frequencies."""
    return _SMALL | {"rope_parameters": {"rope_theta": 12345.5, "rope_type": kind, "factor": factor, **more}}


_KINDS = ["sliding_attention", "full_attention", "sliding_attention"]
_NEOX = {name: value for name, value in _SMALL.items() if name not in ("num_key_value_heads", "rope_parameters")} | {
    "rope_parameters": {"rope_theta": 12345.5, "rope_type": "default", "partial_rotary_factor": 0.25},
    "layer_norm_eps": 1e-3,
}
_OPT = {
    "vocab_size": 97, "hidden_size": 48, "ffn_dim": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
    "max_position_embeddings": 64, "init_std": 0.2,
}  # fmt: skip
_LOCAL = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
}

CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "GPT-2": ("GPT2", _OLD),
    "GPT-2, gelu, untied": ("GPT2", _OLD | {"activation_function": "gelu", "n_inner": 100, **_UNTIED}),
    "Llama": ("Llama", _SMALL),
    "Llama, biases, head_dim 10": ("Llama", _SMALL | {"attention_bias": True, "mlp_bias": True, "head_dim": 10}),
    "SmolLM2 (Llama, tied)": ("Llama", _SMALL | {"tie_word_embeddings": True, "rms_norm_eps": 1e-2}),
    "Llama 3 (scaled frequencies)": (
        "Llama",
        _scaled("llama3", 8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=40),
    ),
    "Llama, linear": ("Llama", _scaled("linear", 2.5)),
    "Llama, yarn": ("Llama", _scaled("yarn", 4.0, original_max_position_embeddings=16)),
    "Mistral": ("Mistral", _SMALL | {"sliding_window": 64}),
    "Mistral, a window": ("Mistral", _SMALL | _WINDOW),
    "Qwen2": ("Qwen2", _SMALL),
    "Qwen2, tied": ("Qwen2", _SMALL | {"tie_word_embeddings": True}),
    "Qwen2, windows": ("Qwen2", _SMALL | _WINDOW | {"use_sliding_window": True, "max_window_layers": 1}),
    "Qwen3": ("Qwen3", _SMALL | {"head_dim": 10, "attention_bias": True}),
    "Qwen3, tied": ("Qwen3", _SMALL | {"head_dim": 8, "tie_word_embeddings": True}),
    "Mixtral": ("Mixtral", _SMALL | {"num_local_experts": 5, "num_experts_per_tok": 2}),
    "Mixtral, one expert a token": ("Mixtral", _SMALL | {"num_local_experts": 4, "num_experts_per_tok": 1}),
    "Qwen3-MoE": ("Qwen3Moe", _SMALL | _EXPERTS),
    "Qwen3-MoE, weights divided": ("Qwen3Moe", _SMALL | _EXPERTS | {"norm_topk_prob": True, "head_dim": 10}),
    "DeepSeek-V2, dense": ("DeepseekV2", _LATENT | {"first_k_dense_replace": 3, "mlp_bias": True}),
    "DeepSeek-V3, dense": ("DeepseekV3", _LATENT | {"first_k_dense_replace": 3}),
    "DeepSeek-V3, dense, no latent queries": (
        "DeepseekV3",
        _LATENT | {"first_k_dense_replace": 3, "q_lora_rank": None, "v_head_dim": 12},
    ),
    "Youtu": ("Youtu", _LATENT | {"rms_norm_eps": 1e-3}),
    "OLMo 2": ("Olmo2", _SMALL),
    "OLMo 2, biases, tied": ("Olmo2", _SMALL | {"attention_bias": True, "tie_word_embeddings": True}),
    "Phi-3": ("Phi3", _SMALL | _WINDOW | {"pad_token_id": 0}),
    "Granite": (
        "Granite",
        _SMALL
        | {
            "embedding_multiplier": 12.0,
            "attention_multiplier": 0.4,
            "residual_multiplier": 0.22,
            "logits_scaling": 8.0,
        }
        | {"mlp_bias": True},
    ),
    "SmolLM3": ("SmolLM3", _SMALL | {"no_rope_layer_interval": 2, "pad_token_id": 0}),
    "Gemma": ("Gemma", _SMALL | {"head_dim": 10, "pad_token_id": 0}),
    "Gemma 2": ("Gemma2", _SMALL | {"head_dim": 10, "pad_token_id": 0, "query_pre_attn_scalar": 24}),
    "Gemma 2, a window": ("Gemma2", _SMALL | _WINDOW | {"attn_logit_softcapping": 3.0, "pad_token_id": 0}),
    "Gemma 3 (text)": ("Gemma3Text", _SMALL | _WINDOW | {"rope_parameters": _LOCAL, "layer_types": _KINDS}),
    "GPT-NeoX": ("GPTNeoX", _NEOX),
    "GPT-NeoX, in sequence": ("GPTNeoX", _NEOX | {"use_parallel_residual": False, "attention_bias": False}),
    "OPT": ("OPT", _OPT),
    "OPT, gelu, untied": ("OPT", _OPT | {"activation_function": "gelu", "tie_word_embeddings": False}),
}


@contextmanager
def _double_throughout() -> Iterator[None]:
    """Yield while the library computes norms and rotations in float64, as is done here.

    By itself it takes float32, whatever the type of the weights.
    """
    import torch

    single, method = torch.float32, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32 = torch.float = single
        torch.Tensor.float = method


def _theirs(folder: Path) -> Any:
    """Return the library's logits for a folder, all of whose tensors it must have taken."""
    import torch
    from transformers import AutoModelForCausalLM

    loaded = {"dtype": torch.float64, "experts_implementation": "eager", "output_loading_info": True}
    model, about = AutoModelForCausalLM.from_pretrained(folder, **loaded)
    if any(about[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        raise SystemExit(f"{folder.name}: {about}")
    with torch.no_grad(), _double_throughout():
        for module in list(model.modules()):  # the frequencies were made in float32
            if hasattr(module, "rotary_emb"):
                module.rotary_emb = type(module.rotary_emb)(model.config)
        return model.eval()(torch.tensor(IDS)[None]).logits[0].numpy()


def _tell(what: str, first: Any, second: Any) -> None:
    sys.stdout.write(f"{what:45}  {np.abs(first - second).max():.1e} of {np.abs(first).max():.1f}\n")


def main() -> None:
    """Print, for each family, the largest difference of two logits, and the largest logit."""
    import torch
    import transformers

    sys.stdout.write(f"transformers {transformers.__version__}, torch {torch.__version__}, numpy {np.__version__}\n")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(0)
    kept: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        for number, (label, (kind, keys)) in enumerate(CONFIGS.items()):
            for stored, shards in (("float32", "50GB"), ("bfloat16", "40KB")):
                config = getattr(transformers, f"{kind}Config")(**keys)
                model = transformers.AutoModelForCausalLM.from_config(config).to(getattr(torch, stored))
                for parameter in model.parameters():  # biases and gains that are not zero and one
                    parameter.data += (torch.randn_like(parameter.float()) / 8).to(parameter.dtype)
                folder = Path(name) / f"theirs{number}{stored}"
                model.save_pretrained(folder, max_shard_size=shards)
                files = len(list(folder.glob("*.safetensors")))
                ours = logits(open_checkpoint(folder), IDS)
                _tell(f"{label}, {stored}, {files} files", _theirs(folder), ours)
        for number, (label, made) in enumerate(small_checkpoints()):
            folder = Path(name) / f"ours{number}"
            save_checkpoint(made, folder)
            theirs = _theirs(folder)
            _tell(f"written here: {label}", theirs, logits(made, IDS))
            kept[label] = [[float(x) for x in row] for row in theirs[TOKENS][:, :KEPT]]
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(spelled(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
