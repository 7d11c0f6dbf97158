"""The families that are read, each a table of names, what its configuration means, and a row in `FAMILIES`.

A further one is a table and a row here. What a piece is, its shape, and how it moves, stands in `pieces.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from lightning_sym.checkpoints.config_features import gguf_score_width
from lightning_sym.checkpoints.layer_norm_families import AFFINE, LAYER_NORM, NORMS, gguf_share
from lightning_sym.checkpoints.layout import Layout, ModelFamily, Place
from lightning_sym.checkpoints.relatives import RELATIVES
from lightning_sym.checkpoints.rotary_config import FACTORS

WITH_GAINS = NORMS | {"query_norm", "key_norm", "query_row", "key_row", "behind1", "behind2", "norm3", "norm4"}

Names = Mapping[str, tuple[str, str]]
"""By norm, map or end, its name in folders and in GGUF files."""


def layouts(
    ends: Names, layer: Names, before: str, *, turned: bool = False, interleaved: Collection[str] = ()
) -> tuple[Layout, Layout]:
    """Return where the pieces lie in folders and in GGUF files: `.weight` and `.bias` of each name.

    Args:
        ends, layer: the names; norms have gains.
        before: what stands before all names of a layer in folders, `{}` for its number.
        turned: matrices are stored as (in, out) in folders.
        interleaved: the maps whose rows are in GGUF files.
    """
    made = []
    for kind, start in enumerate((before, "blk.{}")):
        block: dict[str, Place] = {}
        for name, called in layer.items():
            mixed, tensor = kind == 1 and name in interleaved, f"{start}.{called[kind]}"
            weight = f"{name}_gain" if name in WITH_GAINS else name
            block[weight] = Place(f"{tensor}.weight", turned and kind == 0 and weight == name, mixed)
            block[f"{name}_bias"] = Place(f"{tensor}.bias", interleaved=mixed)
        outer = {
            name: Place(f"{called[kind]}.{'bias' if name == 'final_bias' else 'weight'}")
            for name, called in ends.items()
        }
        made.append(Layout(outer, block))
    return made[0], made[1]


def with_gains_less_one(layout: Layout) -> Layout:
    """Return the same places, with gains stored as the gain less 1."""
    return layout.changed(lambda name, at: replace(at, less=int(name.endswith("_gain"))))


# ---- GPT-2: queries, keys and values in one tensor, LayerNorm, learned positions, tied or not

GPT2_ENDS: Names = {
    "embedding": ("transformer.wte", "token_embd"), "positions": ("transformer.wpe", "position_embd"),
    "final_gain": ("transformer.ln_f", "output_norm"), "final_bias": ("transformer.ln_f", "output_norm"),
    "unembedding": ("lm_head", "output"),
}  # fmt: skip
GPT2_LAYER: Names = {
    "norm1": ("ln_1", "attn_norm"), "query": ("attn.c_attn", "attn_qkv"), "key": ("attn.c_attn", "attn_qkv"),
    "value": ("attn.c_attn", "attn_qkv"), "output": ("attn.c_proj", "attn_output"), "norm2": ("ln_2", "ffn_norm"),
    "up": ("mlp.c_fc", "ffn_up"), "down": ("mlp.c_proj", "ffn_down"),
}  # fmt: skip
GPT2_GGUF_KEYS = {
    "block_count": "n_layer", "embedding_length": "n_embd", "feed_forward_length": "n_inner",
    "attention.head_count": "n_head", "context_length": "n_positions", "vocab_size": "vocab_size",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}  # fmt: skip


# ---- GPT-NeoX: queries, keys and values of a head together; OPT: two rows of positions that no token has

NEOX_ENDS: Names = {
    "embedding": ("gpt_neox.embed_in", "token_embd"), "final_gain": ("gpt_neox.final_layer_norm", "output_norm"),
    "final_bias": ("gpt_neox.final_layer_norm", "output_norm"), "unembedding": ("embed_out", "output"),
}  # fmt: skip
NEOX_LAYER: Names = {
    "norm1": ("input_layernorm", "attn_norm"),
    **dict.fromkeys(("query", "key", "value"), ("attention.query_key_value", "attn_qkv")),
    "output": ("attention.dense", "attn_output"), "norm2": ("post_attention_layernorm", "ffn_norm"),
    "up": ("mlp.dense_h_to_4h", "ffn_up"), "down": ("mlp.dense_4h_to_h", "ffn_down"),
}  # fmt: skip
OPT_ENDS: Names = {
    "embedding": ("model.decoder.embed_tokens", ""), "positions": ("model.decoder.embed_positions", ""),
    "final_gain": ("model.decoder.final_layer_norm", ""), "final_bias": ("model.decoder.final_layer_norm", ""),
    "unembedding": ("lm_head", ""),
}  # fmt: skip
OPT_LAYER: Names = {
    "norm1": ("self_attn_layer_norm", ""), "query": ("self_attn.q_proj", ""), "key": ("self_attn.k_proj", ""),
    "value": ("self_attn.v_proj", ""), "output": ("self_attn.out_proj", ""), "norm2": ("final_layer_norm", ""),
    "up": ("fc1", ""), "down": ("fc2", ""),
}  # fmt: skip


def changed_places(layout: Layout, names: Collection[str], change: Callable[[Place], Place]) -> Layout:
    """Return the same places, some of them with a change, those of biases with their maps."""
    return layout.changed(lambda name, at: change(at) if name.removesuffix("_bias") in names else at)


# ---- Llama, and what has its layout; Phi-3 has queries, keys and values in one tensor, gate and up in another

LLAMA_ENDS: Names = {
    "embedding": ("model.embed_tokens", "token_embd"), "final_gain": ("model.norm", "output_norm"),
    "unembedding": ("lm_head", "output"),
}  # fmt: skip
LLAMA_LAYER: Names = {
    "norm1": ("input_layernorm", "attn_norm"), "query": ("self_attn.q_proj", "attn_q"),
    "key": ("self_attn.k_proj", "attn_k"), "value": ("self_attn.v_proj", "attn_v"),
    "output": ("self_attn.o_proj", "attn_output"), "norm2": ("post_attention_layernorm", "ffn_norm"),
    "gate": ("mlp.gate_proj", "ffn_gate"), "up": ("mlp.up_proj", "ffn_up"), "down": ("mlp.down_proj", "ffn_down"),
}  # fmt: skip
LLAMA_GGUF_KEYS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads", "attention.head_count_kv": "num_key_value_heads",
    "context_length": "max_position_embeddings", "vocab_size": "vocab_size", "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps", "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim", "rope.dimension_count": "rotary_dim",
    "attention.sliding_window": "sliding_window",
}  # fmt: skip


GRANITE_GGUF_KEYS = LLAMA_GGUF_KEYS | {
    "embedding_scale": "embedding_multiplier", "attention.scale": "attention_multiplier",
    "residual_scale": "residual_multiplier", "logit_scale": "logits_scaling",
}  # fmt: skip
QWEN3_LAYER: Names = {
    **LLAMA_LAYER,
    "query_norm": ("self_attn.q_norm", "attn_q_norm"),
    "key_norm": ("self_attn.k_norm", "attn_k_norm"),
}
GEMMA2_LAYER: Names = {
    **LLAMA_LAYER,
    "behind1": ("post_attention_layernorm", "post_attention_norm"),
    "norm2": ("pre_feedforward_layernorm", "ffn_norm"),
    "behind2": ("post_feedforward_layernorm", "post_ffw_norm"),
}
OLMO2_LAYER: Names = {
    **{name: called for name, called in GEMMA2_LAYER.items() if name not in NORMS},
    "query_row": ("self_attn.q_norm", "attn_q_norm"), "key_row": ("self_attn.k_norm", "attn_k_norm"),
}  # fmt: skip
EXPERTS = ("gate", "up", "down")
"""The maps of which each expert has one."""
MIXTRAL_LAYER: Names = {
    **LLAMA_LAYER,
    "router": ("block_sparse_moe.gate", "ffn_gate_inp"),
    "gate": ("block_sparse_moe.experts.*.w1", "ffn_gate_exps"), "up": ("block_sparse_moe.experts.*.w3", "ffn_up_exps"),
    "down": ("block_sparse_moe.experts.*.w2", "ffn_down_exps"),
}  # fmt: skip
QWEN3_MOE_LAYER: Names = {
    **QWEN3_LAYER, "router": ("mlp.gate", "ffn_gate_inp"),
    **{name: (f"mlp.experts.*.{name}_proj", f"ffn_{name}_exps") for name in EXPERTS},
}  # fmt: skip
EXPERTS_GGUF_KEYS = LLAMA_GGUF_KEYS | {
    "expert_used_count": "num_experts_per_tok", "expert_feed_forward_length": "moe_intermediate_size",
}  # fmt: skip
LATENT_LAYER: Names = {
    **LLAMA_LAYER,
    **dict.fromkeys(("query", "query_turned"), ("self_attn.q_proj", "attn_q")),
    "query_latent": ("self_attn.q_a_proj", "attn_q_a"), "norm4": ("self_attn.q_a_layernorm", "attn_q_a_norm"),
    **dict.fromkeys(("latent", "key_turned"), ("self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa")),
    "norm3": ("self_attn.kv_a_layernorm", "attn_kv_a_norm"),
    **dict.fromkeys(("key", "value"), ("self_attn.kv_b_proj", "attn_kv_b")),
}  # fmt: skip
GEMMA_GGUF_KEYS = LLAMA_GGUF_KEYS | {
    "attn_logit_softcapping": "attn_logit_softcapping", "final_logit_softcapping": "final_logit_softcapping",
    "rope.freq_base_swa": "rope_local_base_freq", "attention.sliding_window_pattern": "sliding_window_pattern",
}  # fmt: skip
NEOX_GGUF_KEYS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads", "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size", "attention.layer_norm_epsilon": "layer_norm_eps", "rope.freq_base": "rotary_emb_base",
    "rope.dimension_count": "rotary_dim", "use_parallel_residual": "use_parallel_residual",
}  # fmt: skip


PHI3_LAYER: Names = {
    **LLAMA_LAYER,
    **dict.fromkeys(("query", "key", "value"), ("self_attn.qkv_proj", "attn_qkv")),
    **dict.fromkeys(("gate", "up"), ("mlp.gate_up_proj", "ffn_up")),
}  # fmt: skip


def _latent(name: str, at: Place) -> Place:
    """Return the place of a piece of attention with latents: heads in turn, turned rows interleaved."""
    by_head, queries = name in ("key", "value"), name in ("query", "query_turned")
    behind = at.tensor.replace("q_proj", "q_b_proj").replace("attn_q", "attn_q_b") if queries else ""
    return replace(at, interleaved="turned" in name, by_group=by_head or queries, behind=behind)


# ---- the rows

_MASKS = re.compile(r"(transformer\.)?h\.[0-9]+\.attn\.(masked_)?bias")
"""The causal masks of old files; the library that writes them does not read them any more."""
_FREQUENCIES = re.compile(
    r"model\.layers\.[0-9]+\.self_attn\.rotary_emb\.inv_freq|rope\.freqs|rotary_pos_emb\.inv_freq"
)
"""The frequencies of the rotations, as old files, Meta's and Megatron's repeat them: they follow from `rope_theta`."""

_MASKS_AND_FREQUENCIES = re.compile(r"(gpt_neox\.)?layers\.[0-9]+\.attention\.((masked_)?bias|rotary_emb\.inv_freq)")
"""Both, in old files of GPT-NeoX."""

_GPT2, _GPT2_GGUF = layouts(GPT2_ENDS, GPT2_LAYER, "transformer.h.{}", turned=True)
_NEOX, _NEOX_GGUF = layouts(NEOX_ENDS, NEOX_LAYER, "gpt_neox.layers.{}")
_NEOX = changed_places(_NEOX, ("query", "key", "value"), lambda at: replace(at, by_group=True))
_OPT, _ = layouts(OPT_ENDS, OPT_LAYER, "model.decoder.layers.{}")
_OPT = changed_places(_OPT, ("positions",), lambda at: replace(at, skipped=2))
_LLAMA, _LLAMA_GGUF = layouts(LLAMA_ENDS, LLAMA_LAYER, "model.layers.{}", interleaved=("query", "key"))
_, _HALVES_GGUF = layouts(LLAMA_ENDS, LLAMA_LAYER, "")  # as they are in folders
_QWEN3, _QWEN3_GGUF = layouts(LLAMA_ENDS, QWEN3_LAYER, "model.layers.{}")
_GEMMA2, _GEMMA2_GGUF = layouts(LLAMA_ENDS, GEMMA2_LAYER, "model.layers.{}")
_GEMMA3, _GEMMA3_GGUF = layouts(LLAMA_ENDS, {**QWEN3_LAYER, **GEMMA2_LAYER}, "model.layers.{}")
_OLMO2, _OLMO2_GGUF = layouts(LLAMA_ENDS, OLMO2_LAYER, "model.layers.{}")
_MIXTRAL, _MIXTRAL_GGUF = layouts(LLAMA_ENDS, MIXTRAL_LAYER, "model.layers.{}", interleaved=("query", "key"))
_QWEN3_MOE, _QWEN3_MOE_GGUF = layouts(LLAMA_ENDS, QWEN3_MOE_LAYER, "model.layers.{}")
_LATENT, _LATENT_GGUF = (made.changed(_latent) for made in layouts(LLAMA_ENDS, LATENT_LAYER, "model.layers.{}"))
_PHI3, _PHI3_GGUF = layouts(LLAMA_ENDS, PHI3_LAYER, "model.layers.{}")


def relative(
    model_type: str, layout: Layout = _LLAMA, gguf: Layout | None = None, *,
    gguf_keys: Mapping[str, str] = LLAMA_GGUF_KEYS, gguf_implied: Mapping[str, object] | None = None,
    gguf_name: str = "", also: frozenset[str] = frozenset(),
) -> ModelFamily:  # fmt: skip
    """Return a relative of Llama (`relatives.py`): where its weights lie, in folders and in GGUF files.

    Args:
        model_type: its row in `RELATIVES`.
        layout, gguf: the names; without `gguf` such files call it by another family's name.
        gguf_keys, gguf_implied, gguf_name, also: of the `ModelFamily`.
    """
    row = RELATIVES[model_type]
    return ModelFamily(
        model_type, partial(row.read, family=model_type), row.write, layout, row.biases, ignored=_FREQUENCIES,
        gguf_keys={} if gguf is None else gguf_keys, gguf_implied=gguf_implied or {}, gguf_layout=gguf,
        gguf_name=gguf_name, also=also,
    )  # fmt: skip


def _stacked(place: Place) -> Place:
    return replace(place, stacked=True)


MEGATRON = frozenset(("megatron", "megatron-legacy"))
"""The layouts of Megatron, which has a name for every piece of these families."""

_ROWS = (
    ModelFamily(
        "gpt2",
        LAYER_NORM["gpt2"].read,
        LAYER_NORM["gpt2"].write,
        _GPT2,
        biases=AFFINE | NORMS,
        prefix="transformer.",
        ignored=_MASKS,
        gguf_keys=GPT2_GGUF_KEYS,
        gguf_implied={"activation_function": "gelu_new"},
        gguf_layout=_GPT2_GGUF,
        also=MEGATRON | {"mlx"},
    ),
    ModelFamily(
        "gpt_neox",
        LAYER_NORM["gpt_neox"].read,
        LAYER_NORM["gpt_neox"].write,
        _NEOX,
        biases=AFFINE | NORMS,
        prefix="gpt_neox.",
        ignored=_MASKS_AND_FREQUENCIES,
        gguf_keys=NEOX_GGUF_KEYS,
        gguf_implied={"rotary_pct": gguf_share},
        gguf_layout=_NEOX_GGUF,
        gguf_name="gptneox",
    ),
    ModelFamily("opt", LAYER_NORM["opt"].read, LAYER_NORM["opt"].write, _OPT, biases=AFFINE | NORMS, prefix="model."),
    relative(
        "llama", gguf=_LLAMA_GGUF, gguf_keys=LLAMA_GGUF_KEYS | {FACTORS: FACTORS}, also=MEGATRON | {"meta", "mlx"}
    ),
    relative("mistral", gguf=_LLAMA_GGUF, gguf_name="llama", also=MEGATRON | {"meta", "mlx"}),
    relative("qwen2", gguf=_HALVES_GGUF, also=MEGATRON | {"mlx"}),
    relative("qwen3", _QWEN3, _QWEN3_GGUF),
    relative(
        "mixtral",
        _MIXTRAL,
        changed_places(_MIXTRAL_GGUF, EXPERTS, _stacked),
        gguf_keys=EXPERTS_GGUF_KEYS | {"expert_count": "num_local_experts"},
        gguf_name="llama",
    ),
    relative(
        "qwen3_moe",
        _QWEN3_MOE,
        changed_places(_QWEN3_MOE_GGUF, EXPERTS, _stacked),
        gguf_keys=EXPERTS_GGUF_KEYS | {"expert_count": "num_experts"},
        gguf_implied={"norm_topk_prob": True},
        gguf_name="qwen3moe",
    ),
    relative("deepseek_v2", _LATENT),
    relative("deepseek_v3", _LATENT),
    relative("youtu", _LATENT),
    relative("olmo2", _OLMO2, _OLMO2_GGUF),
    relative("phi3", _PHI3, _PHI3_GGUF),
    relative("granite", gguf=_LLAMA_GGUF, gguf_keys=GRANITE_GGUF_KEYS),
    relative("smollm3", gguf=_LLAMA_GGUF),
    relative("gemma", with_gains_less_one(_LLAMA), _HALVES_GGUF),
    relative(
        "gemma2",
        with_gains_less_one(_GEMMA2),
        _GEMMA2_GGUF,
        gguf_keys=GEMMA_GGUF_KEYS,
        gguf_implied={"query_pre_attn_scalar": gguf_score_width(46)},
    ),
    relative(
        "gemma3_text",
        with_gains_less_one(_GEMMA3),
        _GEMMA3_GGUF,
        gguf_keys=GEMMA_GGUF_KEYS,
        gguf_implied={"query_pre_attn_scalar": gguf_score_width(62)},
        gguf_name="gemma3",
    ),
)
FAMILIES: dict[str, ModelFamily] = {family.model_type: family for family in _ROWS}


def of_gguf(values: Mapping[str, object]) -> str | None:
    """Return the family of a GGUF file: that of its architecture, `llama` with experts being Mixtral; or `None`.

    Example:
        >>> of_gguf({"general.architecture": "gemma3"}), of_gguf({"general.architecture": "mamba"})
        ('gemma3_text', None)
    """
    name = values.get("general.architecture")
    if name == "llama" and values.get("llama.expert_count"):
        return "mixtral"
    there = (family for family in _ROWS if family.gguf_layout is not None)
    return next((row.model_type for row in there if (row.gguf_name or row.model_type) == name), None)
