"""GPT-2: weights as (in, out), queries, keys and values in one tensor, LayerNorm, learned positions, tied or not."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.layout import Layout, ModelFamily, Place
from lightning_sym.checkpoints.model import CheckpointForm

PARTS = frozenset(
    f"{name}{part}"
    for names, parts in (
        (("norm1", "norm2"), ("_gain", "_bias")),
        (("query", "key", "value", "output", "up", "down"), ("", "_bias")),
    )
    for name in names
    for part in parts
)

_FOLDER = {
    "norm1": "ln_1", "query": "attn.c_attn", "key": "attn.c_attn", "value": "attn.c_attn", "output": "attn.c_proj",
    "norm2": "ln_2", "up": "mlp.c_fc", "down": "mlp.c_proj",
}  # fmt: skip
_GGUF = {
    "norm1": "attn_norm", "query": "attn_qkv", "key": "attn_qkv", "value": "attn_qkv", "output": "attn_output",
    "norm2": "ffn_norm", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip

_GGUF_KEYS = {
    "block_count": "n_layer", "embedding_length": "n_embd", "feed_forward_length": "n_inner",
    "attention.head_count": "n_head", "context_length": "n_positions", "vocab_size": "vocab_size",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}  # fmt: skip


def _block(before: str, names: dict[str, str], turned: bool) -> dict[str, Place]:
    found = {}
    for part, name in names.items():
        norm = part.startswith("norm")
        found[f"{part}_gain" if norm else part] = Place(f"{before}.{name}.weight", turned=turned and not norm)
        found[f"{part}_bias"] = Place(f"{before}.{name}.bias")
    return found


def _read(config: Config) -> tuple[CheckpointForm, frozenset[str]]:
    d, heads = config.size("n_embd"), config.size("n_head")
    if d % heads:
        refuse(f"n_embd must be a multiple of n_head, got {d} and {heads}")
    config.require("scale_attn_weights", True)
    for key in ("scale_attn_by_inverse_layer_idx", "add_cross_attention", "is_encoder_decoder", "quantization_config"):
        config.require(key, False)
    config.require("pruned_heads", {})
    context = config.size("n_positions")
    config.size("n_ctx", context)  # of old files; nothing has the size it states
    form = CheckpointForm(
        family="gpt2",
        layers=config.size("n_layer"),
        width=d,
        heads=heads,
        groups=heads,
        head_width=d // heads,
        inner=config.size("n_inner", 4 * d),
        vocabulary=config.size("vocab_size"),
        context=context,
        norm="layer",
        epsilon=config.number("layer_norm_epsilon", Fraction(1, 10**5)),
        theta=None,
        activation=config.activation("activation_function", "gelu_new"),
        tied=config.flag("tie_word_embeddings", True),
    )
    return form, PARTS


def _write(form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": form.activation,
        "layer_norm_epsilon": form.epsilon,
        "n_embd": form.width,
        "n_head": form.heads,
        "n_inner": form.inner,
        "n_layer": form.layers,
        "n_positions": form.context,
        "tie_word_embeddings": form.tied,
        "vocab_size": form.vocabulary,
    }


_MASK = re.compile(r"(transformer\.)?h\.[0-9]+\.attn\.(masked_)?bias")


def _ignored(name: str) -> bool:
    """The causal masks of old files; the library that writes them does not read them any more."""
    return _MASK.fullmatch(name) is not None


GPT2 = ModelFamily(
    model_type="gpt2",
    read=_read,
    write=_write,
    layout=Layout(
        ends={
            "embedding": Place("transformer.wte.weight"),
            "positions": Place("transformer.wpe.weight"),
            "final_gain": Place("transformer.ln_f.weight"),
            "final_bias": Place("transformer.ln_f.bias"),
            "unembedding": Place("lm_head.weight"),
        },
        block=_block("transformer.h.{}", _FOLDER, turned=True),
    ),
    prefix="transformer.",
    ignored=_ignored,
    gguf_keys=_GGUF_KEYS,
    gguf_implied={"activation_function": "gelu_new"},
    gguf_layout=Layout(
        ends={
            "embedding": Place("token_embd.weight"),
            "positions": Place("position_embd.weight"),
            "final_gain": Place("output_norm.weight"),
            "final_bias": Place("output_norm.bias"),
            "unembedding": Place("output.weight"),
        },
        block=_block("blk.{}", _GGUF, turned=False),
    ),
)
