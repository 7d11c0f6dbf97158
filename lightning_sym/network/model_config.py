"""The shape of a real model, read from its `config.json`: what enters the count, and what has to be left out.

A config names few of the parts of its model: most follow from `model_type`, also where no key speaks of them. So only
the types listed here are read, with what they have by default in the library that writes these files; all others are
refused by name. The type `attention-only` is our own: embedding, residual layers of attention, unembedding, no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lightning_sym.errors import FileFormatError
from lightning_sym.network.foreign_features import with_features
from lightning_sym.network.model_types import MODEL_TYPES, Config, ModelType
from lightning_sym.network.readers.bounds import read_whole
from lightning_sym.network.readers.exact_json import ExactNumbers, named_size, parse, said

LARGEST_FILE = 4 * 2**20

# the names that families of models have for the same size
SIZES = {
    "hidden size": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "vocabulary": ("vocab_size", "d_vocab"),
    "head width": ("head_dim", "d_head"),
    "value width": ("v_head_dim",),
    "sets of keys and values": ("num_key_value_heads", "num_kv_heads", "n_kv_heads"),
}
NEEDED = ("hidden size", "heads", "layers", "vocabulary")
CAUSAL = ("is_decoder", "causal", "is_causal")

# what `--attention-only` leaves out; a key stands for its part unless its value says that the part is absent
PARTS = {
    "MLP": (
        "intermediate_size", "n_inner", "d_ff", "d_mlp", "ffn_dim", "ffn_hidden_size", "mlp_ratio", "hidden_act",
        "hidden_activation", "activation_function", "act_fn", "mlp_bias", "num_local_experts", "num_experts",
        "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob", "mlp_only_layers", "decoder_sparse_step",
        "use_parallel_residual",
    ),
    "layer norm": (
        "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "rms_norm_eps", "norm_eps", "norm_epsilon",
        "use_qk_norm", "qk_layernorm", "normalization_type", "do_layer_norm_before", "layer_norm_elementwise_affine",
        "_remove_final_layer_norm",
    ),
    "rotary positions": (
        "rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct", "rotary_emb_base",
        "partial_rotary_factor", "no_rope_layers", "no_rope_layer_interval", "rope_local_base_freq",
        "original_max_position_embeddings",
    ),
    "positions": (
        "max_position_embeddings", "n_positions", "n_ctx", "position_embedding_type", "type_vocab_size", "alibi",
        "relative_attention_num_buckets",
    ),
    "biases": ("attention_bias", "bias", "use_bias", "qkv_bias", "attn_bias", "enable_bias"),
    "windows and caps on attention": (
        "sliding_window", "use_sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
        "sliding_window_pattern",
    ),
    "multipliers": (
        "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling",
        "query_pre_attn_scalar",
    ),
}  # fmt: skip
NULL_MEANS_PRESENT = {"n_inner"}  # four times the width

# another network altogether: nothing is left when it is left out
OTHER_MODELS = (
    "is_encoder_decoder", "add_cross_attention", "kv_lora_rank", "q_lora_rank", "embedding_size", "text_config",
    "use_bidirectional_attention",
)  # fmt: skip

# says nothing about the function, or only about training
HARMLESS = {
    "model_type", "architectures", "transformers_version", "torch_dtype", "dtype", "use_cache", "initializer_range",
    "_name_or_path", "name_or_path", "bos_token_id", "eos_token_id", "pad_token_id", "attention_dropout",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "attn_pdrop", "embd_pdrop", "resid_pdrop", "dropout",
    "gradient_checkpointing", "output_attentions", "output_hidden_states", "return_dict", "pretraining_tp",
    "task_specific_params", "scale_attn_weights", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj", "seed", "layerdrop", "init_std",
    "activation_dropout", "classifier_dropout", "hidden_dropout", "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn", "max_window_layers", "output_router_logits", "router_aux_loss_coef",
    "router_jitter_noise",
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """What of a config enters the count.

    Attributes:
        width: `d`.
        heads: `h`.
        layers: `l`.
        vocabulary: `n`.
        head_width: `a`, of queries and keys.
        causal: whether tokens see the past only; `None` where the config does not say.
        left_out: by part, the keys that named it.
        tied: whether the unembedding is the transpose of the embedding.
        key_heads: how many sets of keys and values a layer has, `None` for one to each head.
        value_width: `b`, `None` where it is `a`.
    """

    width: int
    heads: int
    layers: int
    vocabulary: int
    head_width: int
    causal: bool | None
    left_out: dict[str, list[str]]
    tied: bool = False
    key_heads: int | None = None
    value_width: int | None = None

    @property
    def groups(self) -> int:
        """How many sets of keys and values a layer has."""
        return self.heads if self.key_heads is None else self.key_heads

    @property
    def values(self) -> int:
        """`b`."""
        return self.head_width if self.value_width is None else self.value_width

    @property
    def parameters(self) -> int:
        """Entries of `E`, `U` and of all `Q`, `K`, `V`, `O`; those of tied embeddings, and shared ones, count once."""
        ends = (1 if self.tied else 2) * self.vocabulary
        return self.width * (ends + self.layers * (self.heads + self.groups) * (self.head_width + self.values))


def _refuse(text: str) -> NoReturn:
    raise FileFormatError(text)


def read(file: str) -> dict[str, object]:
    """Return the JSON object in a file.

    Raises:
        FileFormatError: not readable, larger than 4 MiB, or not one JSON object with unique keys and finite numbers.
    """
    try:
        document = parse(read_whole(Path(file), LARGEST_FILE), ExactNumbers())
        if not isinstance(document, dict):
            _refuse("it must hold one JSON object")
    except FileFormatError as error:
        raise FileFormatError(f"{file}: {error}") from error
    return document


def _size(config: Config, name: str) -> int | None:
    found: dict[str, int] = {}
    for key in SIZES[name]:
        value = config.get(key)
        if value is None:
            continue
        found[key] = named_size(key, value)
    if len(set(found.values())) > 1:
        _refuse(f"the {name} must be named once, got {', '.join(f'{k} = {v}' for k, v in found.items())}")
    return next(iter(found.values()), None)


def _is_there(key: str, value: object) -> bool:
    if value is None:
        return key in NULL_MEANS_PRESENT
    return bool(value)  # false, zero and the empty list say that it is absent


def _type_of(config: Config) -> ModelType:
    name = config.get("model_type")
    if not isinstance(name, str) or name not in MODEL_TYPES:
        given = ("none" if name is None else ascii(str(name)[:40])) + with_features(config)
        _refuse(f"model_type must be one of {', '.join(MODEL_TYPES)}, whose parts are known, got {given}")
    return MODEL_TYPES[name]


def _causal(config: Config, kind: ModelType) -> bool | None:
    if kind.causal is not None:
        for key in ("causal", "is_causal"):
            if config.get(key) not in (None, kind.causal):
                _refuse(f"{key} must agree with the mask of model_type {config['model_type']}, got {said(config[key])}")
        return kind.causal
    masks: set[bool] = set()
    for key in CAUSAL:
        value = config.get(key)
        if value is not None and not isinstance(value, bool):
            _refuse(f"{key} must be true or false, got {said(value)}")
        if value is not None:
            masks.add(value)
    if len(masks) > 1:
        _refuse(f"{', '.join(key for key in CAUSAL if key in config)} must agree")
    names = config.get("architectures")
    if not masks and isinstance(names, list):
        masks |= {True for name in names if str(name).endswith(("ForCausalLM", "LMHeadModel"))}
    return masks.pop() if masks else None


def _with_defaults(config: Config, kind: ModelType) -> Config:
    """Return the config with what its type implies, and without what it switches off."""
    full = {"tie_word_embeddings": False, **kind.defaults, **config}
    if not isinstance(full["tie_word_embeddings"], bool):
        _refuse(f"tie_word_embeddings must be true or false, got {said(full['tie_word_embeddings'])}")
    if full.get("use_sliding_window") is False:
        full.pop("sliding_window", None)
    kinds = full.get("layer_types")
    known = ["full_attention"] + ["sliding_attention"] * bool(full.get("sliding_window"))  # which says it already
    if kinds is None or (isinstance(kinds, list) and all(each in known for each in kinds)):
        full.pop("layer_types", None)
    return full


def _left_out(config: Config, full: Config, kind: ModelType) -> dict[str, list[str]]:
    """Return by part the keys that name something besides plain attention, or what implies it."""
    result: dict[str, list[str]] = {}

    def shown(key: str) -> str:
        return key if key in config else f"{key} by default"

    known = {key for keys in SIZES.values() for key in keys} | {*CAUSAL, *HARMLESS, *OTHER_MODELS}
    known |= {"word_embed_proj_dim", "multi_query", "tie_word_embeddings"}
    for part, keys in PARTS.items():
        known |= set(keys)
        if there := [shown(key) for key in keys if key in full and _is_there(key, full[key])]:
            result[part] = there
    for part in kind.parts:
        result.setdefault(part, [f"implied by model_type {config['model_type']}"])
    if unknown := sorted(set(full) - known):
        result["keys not understood"] = unknown
    # keys fit to be printed, whatever the file calls them, and not too many
    return {
        part: [ascii(key[:40])[1:-1] for key in keys[:12]] + [f"and {len(keys) - 12} more"] * (len(keys) > 12)
        for part, keys in result.items()
    }


def _groups(full: Config, heads: int) -> int:
    """Return how many sets of keys and values a layer has."""
    named, one = _size(full, "sets of keys and values"), full.get("multi_query")
    if not isinstance(one, bool | None) or (one and named not in (None, 1, heads)):
        _refuse(f"multi_query must be true or false, true for one set of keys and values, got {said(one)}")
    groups = 1 if one else named or heads
    if heads % groups:
        _refuse(f"the heads must be a multiple of the sets of keys and values, got {heads:,} and {groups:,}")
    return groups


def model_of(config: Config, *, attention_only: bool) -> Model:
    """Return the shape a config names.

    Raises:
        BadInput: the type is not one of `MODEL_TYPES`; a size is missing or no size; there are parts besides attention
            that are not to be left out; or embeddings narrower than the stream are tied, or keys shared there.

    Example:
        >>> sizes = {"model_type": "gpt2", "n_embd": 4, "n_head": 2, "n_layer": 3, "vocab_size": 9}
        >>> model = model_of(sizes, attention_only=True)
        >>> model.head_width, model.parameters, model.tied, list(model.left_out)[:2]
        (2, 228, True, ['MLP', 'layer norm'])
    """
    kind = _type_of(config)
    full = _with_defaults(config, kind)
    sizes = {name: _size(full, name) for name in SIZES}
    if missing := [f"{name} ({' or '.join(SIZES[name])})" for name in NEEDED if not sizes[name]]:
        _refuse(f"the config must name the {'; '.join(missing)}")
    d, heads, layers, n = (sizes[name] or 0 for name in NEEDED)
    a, b, groups, tied = (
        sizes["head width"],
        sizes["value width"],
        _groups(full, heads),
        bool(full["tie_word_embeddings"]),
    )
    other = [key for key in OTHER_MODELS if full.get(key)]
    if full.get("word_embed_proj_dim") not in (None, d):
        other.append("word_embed_proj_dim")
    if other:
        _refuse(
            f"this must be embedding, residual layers of attention, unembedding; the config says {', '.join(other)}"
        )
    causal, left_out = _causal(full, kind), _left_out(config, full, kind)
    if left_out and not attention_only:
        # the part's name without its remark
        shown = "; ".join(f"{part.partition(':')[0]} ({', '.join(keys)})" for part, keys in left_out.items())
        _refuse(f"only attention is counted, and the model has {shown}; --attention-only leaves these out")
    if a is None and d % heads:
        _refuse(f"the hidden size must be divisible by the heads where no head_dim is given, got {d} and {heads}")
    if n < d and (tied or groups != heads):
        why = "tied embeddings" if tied else "shared keys and values"
        _refuse(f"the vocabulary must reach the hidden size, nothing is proved of {why} else, got {n} and {d}")
    a, shared = a or d // heads, None if groups == heads else groups
    return Model(d, heads, layers, n, a, causal, left_out, tied, shared, None if b in (None, a) else b)
