"""Llama, and what has its layout: Mistral, SmolLM2; Qwen2 adds biases (`qwen2.py`)."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.layout import Layout, ModelFamily, Place
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.exact_json import said

MATRICES = frozenset(("norm1_gain", "query", "key", "value", "output", "norm2_gain", "gate", "up", "down"))
ATTENTION_BIASES = frozenset(("query_bias", "key_bias", "value_bias", "output_bias"))
MLP_BIASES = frozenset(("gate_bias", "up_bias", "down_bias"))

_FOLDER = {
    "norm1": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.o_proj", "norm2": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}  # fmt: skip
_GGUF = {
    "norm1": "attn_norm", "query": "attn_q", "key": "attn_k", "value": "attn_v", "output": "attn_output",
    "norm2": "ffn_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip


def _block(before: str, names: dict[str, str], interleaved: bool) -> dict[str, Place]:
    found = {}
    for part, name in names.items():
        turned = interleaved and part in ("query", "key")
        if part.startswith("norm"):
            found[f"{part}_gain"] = Place(f"{before}.{name}.weight")
        else:
            found[part] = Place(f"{before}.{name}.weight", interleaved=turned)
            found[f"{part}_bias"] = Place(f"{before}.{name}.bias", interleaved=turned)
    return found


LAYOUT = Layout(
    ends={
        "embedding": Place("model.embed_tokens.weight"),
        "final_gain": Place("model.norm.weight"),
        "unembedding": Place("lm_head.weight"),
    },
    block=_block("model.layers.{}", _FOLDER, interleaved=False),
)


def gguf_layout(*, interleaved: bool) -> Layout:
    """The names in GGUF files; of Llama, not of Qwen2, they hold the rows of queries and keys interleaved."""
    ends = {
        "embedding": Place("token_embd.weight"),
        "final_gain": Place("output_norm.weight"),
        "unembedding": Place("output.weight"),
    }
    return Layout(ends, _block("blk.{}", _GGUF, interleaved))


GGUF_KEYS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads", "attention.head_count_kv": "num_key_value_heads",
    "context_length": "max_position_embeddings", "vocab_size": "vocab_size", "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps", "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim", "rope.dimension_count": "rotary_dim",
    "attention.sliding_window": "sliding_window",
}  # fmt: skip

_INV_FREQ = re.compile(r"model\.layers\.[0-9]+\.self_attn\.rotary_emb\.inv_freq")


def ignored(name: str) -> bool:
    """The frequencies of the rotations, as old files repeat them in each layer: they follow from `rope_theta`."""
    return _INV_FREQ.fullmatch(name) is not None


def theta_of(config: Config) -> Fraction:
    """The base of the rotary frequencies, which stands in one of two places; none but the plain ones are read.

    Raises:
        FileFormatError: the frequencies are scaled, or stated twice and differently.
    """
    default = Fraction(10000)
    found = {config.number("rope_theta", default)} if config.get("rope_theta") is not None else set[Fraction]()
    for key in ("rope_parameters", "rope_scaling"):
        inner = config.get(key, {})
        if not isinstance(inner, dict):
            refuse(f"{key} must be an object, got {said(inner)}")
        try:
            found |= _plain_rope(Config(inner))
        except FileFormatError as error:
            refuse(f"{key}: {error}")
    if len(found) > 1:
        refuse(f"rope_theta must be stated once, got {' and '.join(map(said, sorted(found)))}")
    config.require("partial_rotary_factor", 1, Fraction(1))
    config.require("rope_interleaved", False)
    return found.pop() if found else default


def _plain_rope(config: Config) -> set[Fraction]:
    """The base that an object of parameters states, if it states one; scaled frequencies are refused."""
    for name in ("rope_type", "type"):
        config.require(name, "default")
    config.require("partial_rotary_factor", 1, Fraction(1))
    stated = config.get("rope_theta") is not None
    found = {config.number("rope_theta", Fraction(1))} if stated else set()
    config.finish()
    return found


def require_no_window(config: Config, context: int, default: int | None) -> None:
    """Refuse a window on attention that is narrower than the context.

    Raises:
        FileFormatError: there is one.
    """
    if config.has("sliding_window"):
        default = None  # and null says that there is none
    window = config.size("sliding_window", default or context)
    if window < context:
        refuse(f"sliding_window must reach max_position_embeddings or be null, got {window:,} and {context:,}")
    require_full_attention(config)


def require_full_attention(config: Config) -> None:
    """Refuse layers of another kind.

    Raises:
        FileFormatError: there is one.
    """
    kinds = config.get("layer_types", [])
    if not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        refuse("layer_types must be a list of full_attention")


def read_rotary(config: Config, family: str, groups: int | None = None) -> CheckpointForm:
    """What the rotary families have in common.

    Args:
        config: the keys; what is particular to a family is asked by itself.
        family: its name.
        groups: sets of keys and values where the configuration does not say, `None` for one to each head.

    Raises:
        FileFormatError: a key means a function that is not known here.
    """
    d, heads = config.size("hidden_size"), config.size("num_attention_heads")
    groups = config.size("num_key_value_heads", groups or heads)
    if heads % groups:
        refuse(f"num_attention_heads must be a multiple of num_key_value_heads, got {heads} and {groups}")
    if config.get("head_dim") is None and d % heads:
        refuse(f"hidden_size must be a multiple of num_attention_heads without head_dim, got {d} and {heads}")
    a = config.size("head_dim", d // heads or 1)
    if a % 2:
        refuse(f"head_dim must be even for rotary positions, got {a}")
    for key in ("v_head_dim", "rotary_dim"):
        config.require(key, a)
    for key in ("quantization_config", "use_qk_norm", "use_mrope", "is_encoder_decoder", "add_cross_attention"):
        config.require(key, False)
    config.require("pruned_heads", {})
    return CheckpointForm(
        family=family,
        layers=config.size("num_hidden_layers"),
        width=d,
        heads=heads,
        groups=groups,
        head_width=a,
        inner=config.size("intermediate_size"),
        vocabulary=config.size("vocab_size"),
        context=config.size("max_position_embeddings"),
        norm="rms",
        epsilon=config.number("rms_norm_eps", Fraction(1, 10**6)),
        theta=theta_of(config),
        activation=config.activation("hidden_act", "silu"),
        tied=config.flag("tie_word_embeddings", False),
    )


def write_rotary(form: CheckpointForm, architecture: str) -> dict[str, Any]:
    """The keys that state a form."""
    return {
        "architectures": [architecture],
        "model_type": form.family,
        "hidden_act": form.activation,
        "hidden_size": form.width,
        "intermediate_size": form.inner,
        "num_hidden_layers": form.layers,
        "num_attention_heads": form.heads,
        "num_key_value_heads": form.groups,
        "head_dim": form.head_width,
        "max_position_embeddings": form.context,
        "rms_norm_eps": form.epsilon,
        "rope_theta": form.theta,
        "tie_word_embeddings": form.tied,
        "vocab_size": form.vocabulary,
    }


def _read_llama(config: Config) -> tuple[CheckpointForm, frozenset[str]]:
    form = read_rotary(config, "llama")
    require_no_window(config, form.context, None)
    parts = MATRICES
    parts |= ATTENTION_BIASES if config.flag("attention_bias", False) else frozenset()
    return form, parts | (MLP_BIASES if config.flag("mlp_bias", False) else frozenset())


def _write_llama(form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    biases = {"attention_bias": "query_bias" in parts, "mlp_bias": "up_bias" in parts}
    return write_rotary(form, "LlamaForCausalLM") | biases


def _read_mistral(config: Config) -> tuple[CheckpointForm, frozenset[str]]:
    form = read_rotary(config, "mistral", groups=8)
    require_no_window(config, form.context, 4096)
    return form, MATRICES


def _write_mistral(form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    return write_rotary(form, "MistralForCausalLM") | {"sliding_window": None}


LLAMA = ModelFamily(
    model_type="llama",
    read=_read_llama,
    write=_write_llama,
    layout=LAYOUT,
    prefix="",
    ignored=ignored,
    gguf_keys=GGUF_KEYS,
    gguf_implied={},
    gguf_layout=gguf_layout(interleaved=True),
)

MISTRAL = ModelFamily(
    model_type="mistral",
    read=_read_mistral,
    write=_write_mistral,
    layout=LAYOUT,
    prefix="",
    ignored=ignored,
    gguf_keys={},
    gguf_implied={},
    gguf_layout=Layout({}, {}),  # in GGUF files it is called llama
)
