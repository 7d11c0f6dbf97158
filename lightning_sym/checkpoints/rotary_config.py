"""What the configurations of Llama and of its relatives have in common: sizes, rotary positions, no windows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.exact_json import said


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
