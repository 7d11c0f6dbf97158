"""What networks have that are not read, so that a refusal says what it is about and not only a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

BOTH_SIDES, TWO_PARTS, IMAGES = "attention to both sides", "an encoder beside the decoder", "images"
EXPERTS, LATENT, RECURRENT = "experts", "latent keys and values", "recurrent layers"
GAINS, AFTER, CAPS = "gains on queries and keys", "norms behind attention and MLPs", "caps on scores or logits"
BESIDE, PART = "attention and MLP side by side", "rotary positions in a part of each head"
SLOPES = "positions as slopes of the scores"

OF_TYPES: dict[str, tuple[str, ...]] = {
    BOTH_SIDES: (
        "bert",
        "roberta",
        "xlm-roberta",
        "distilbert",
        "albert",
        "electra",
        "deberta",
        "deberta-v2",
        "modernbert",
        "camembert",
        "mpnet",
        "longformer",
        "nomic_bert",
    ),
    TWO_PARTS: ("t5", "mt5", "umt5", "bart", "mbart", "marian", "pegasus", "whisper", "encoder-decoder", "t5gemma"),
    IMAGES: ("vit", "deit", "beit", "swin", "clip", "siglip", "dinov2", "llava", "paligemma", "idefics", "mllama"),
    EXPERTS: (
        "qwen2_moe",
        "olmoe",
        "dbrx",
        "phimoe",
        "granitemoe",
        "gpt_oss",
        "deepseek_v32",
        "glm4_moe",
        "glm4_moe_lite",
        "longcat_flash",
        "llama4",
        "llama4_text",
        "jamba",
    ),
    LATENT: ("deepseek_v32", "glm4_moe_lite", "longcat_flash", "minicpm3"),
    RECURRENT: ("mamba", "mamba2", "rwkv", "jamba", "recurrent_gemma", "zamba", "qwen3_next", "falcon_mamba"),
    GAINS: ("gemma3", "olmo3", "chameleon", "qwen3_next"),
    AFTER: ("gemma3", "olmo3", "glm4"),
    BESIDE: ("gptj", "phi", "falcon", "cohere", "cohere2"),
    PART: ("gptj", "phi", "stablelm", "glm", "nemotron", "persimmon"),
    SLOPES: ("bloom", "mpt"),
}
"""By feature, the types that have it whatever their keys say."""

OF_KEYS: dict[str, tuple[str, ...]] = {
    TWO_PARTS: ("is_encoder_decoder", "add_cross_attention", "encoder_layers"),
    IMAGES: ("vision_config", "image_size", "patch_size", "num_channels"),
    EXPERTS: ("num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"),
    LATENT: ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"),
    RECURRENT: ("ssm_cfg", "state_size", "mamba_d_state", "linear_num_value_heads", "lru_width"),
    GAINS: ("use_qk_norm", "qk_layernorm", "qk_norm"),
    CAPS: ("attn_logit_softcapping", "final_logit_softcapping"),
    BESIDE: ("use_parallel_residual", "parallel_attn"),
    PART: ("rotary_pct", "rotary_dim"),
    SLOPES: ("alibi",),
    BOTH_SIDES: ("use_bidirectional_attention",),
    "shared experts": ("n_shared_experts", "shared_expert_intermediate_size"),
    "groups of experts": ("n_group",),
    "token types": ("type_vocab_size",),
    "relative positions": ("relative_attention_num_buckets",),
    "a text model inside": ("text_config",),
    "quantised weights": ("quantization_config",),
}
"""By feature, the keys that say so unless they are `null`, `false` or 0."""


def foreign_features(values: Mapping[str, object]) -> Iterator[str]:
    """Yield what a configuration says of features that are not read: by its type, then by its keys.

    Example:
        >>> list(foreign_features({"model_type": "bert", "type_vocab_size": 2}))
        ['attention to both sides', 'token types']
    """
    name = values.get("model_type")
    by_type = [feature for feature, names in OF_TYPES.items() if name in names]
    by_key = [
        feature for feature, keys in OF_KEYS.items() if any(values.get(key) not in (None, False, 0) for key in keys)
    ]
    yield from dict.fromkeys((*by_type, *by_key))


def with_features(values: Mapping[str, object]) -> str:
    """Return the same as an end of a sentence, empty where nothing is known."""
    return f", which means {', '.join(found)}" if (found := list(foreign_features(values))) else ""
