"""What the configurations of Llama and of its relatives have in common: sizes, and rotary positions."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.errors import BadInput
from lightning_sym.network.readers.exact_json import MOST_LISTED, said
from lightning_sym.rings.rotary import RotaryScaling

Rope = tuple[Fraction, RotaryScaling | None]
"""Base of the frequencies, and how they are scaled."""

Fixed = Literal["linear", "llama3", "yarn"]
SCALINGS: dict[str, Fixed | None] = {"default": None, "linear": "linear", "llama3": "llama3", "yarn": "yarn"}
"""Those whose frequencies are fixed, by their names; `None`: they are not scaled."""

FACTORS = "rope_freqs.weight"
"""The tensor of a GGUF file with a factor for each frequency, as a key of its configuration."""


def rope_of(config: Config, theta: Fraction = Fraction(10000), kind: str = "") -> Rope:
    """Return base and scaling of the rotary frequencies, which stand in one of three places.

    Args:
        config: the keys.
        theta: the base where nothing is said.
        kind: of layers whose frequencies these are, where `rope_parameters` has an object for each kind.

    Raises:
        FileFormatError: frequencies depend on the length of the text, or are stated twice and differently.
    """
    base, found = config.number("rope_theta", theta), set[Rope]()
    for key in ("rope_parameters", "rope_scaling"):
        inner = config.inner(key)
        if kind and key == "rope_parameters":
            inner = inner.inner(kind)
        if config.get(key):
            found.add(_stated(inner, base))
    if (factors := config.get(FACTORS)) is not None:
        if not isinstance(factors, tuple) or any(each <= 0 for each in factors):
            refuse(f"{FACTORS} must be a tensor of positive numbers of a GGUF file, got {said(factors)}")
        found.add((base, RotaryScaling("factors", factors=factors)))
    bases = sorted({each for each, _ in found} | ({base} if config.get("rope_theta") is not None else set[Fraction]()))
    if len(bases) > 1:  # where there are two objects the second is all that counts
        refuse(f"rope_theta must be stated once, got {' and '.join(map(said, bases))}")
    if len(found) > 1:
        refuse(
            "rotary frequencies must be scaled once, got "
            + " and ".join(sorted(str(each or "none") for _, each in found))
        )
    config.require("partial_rotary_factor", 1, Fraction(1))
    config.require("rope_interleaved", False)
    return found.pop() if found else (base, None)


def _stated(config: Config, theta: Fraction) -> Rope:
    """Return base and scaling that an object of parameters states; `theta`: the base where it states none."""
    kind = config.get("rope_type", config.get("type", "default"))
    if config.get("type", kind) != kind:
        refuse(f"rope_type and type must agree, got {said(kind)} and {said(config.get('type'))}")
    if not isinstance(kind, str) or kind not in SCALINGS:
        what = "of fixed frequencies, default, linear, llama3 or yarn; others depend on the length of the text"
        refuse(f"rope_type must be {what}, got {said(kind)}")
    config.require("partial_rotary_factor", 1, Fraction(1))
    base = config.number("rope_theta", theta)
    scaling = None if (fixed := SCALINGS[kind]) is None else _scaling(config, fixed)
    config.finish()
    return base, None if scaling == RotaryScaling("linear") else scaling


def _scaling(config: Config, kind: Fixed) -> RotaryScaling:
    """Return the scaling that an object of parameters states."""
    factor = config.number("factor")
    if kind == "linear":
        return RotaryScaling(kind, factor)
    context = config.size("original_max_position_embeddings")
    if kind == "llama3":
        low, high = config.number("low_freq_factor"), config.number("high_freq_factor")
        if low >= high:
            refuse(f"low_freq_factor must be below high_freq_factor, got {said(low)} and {said(high)}")
        return RotaryScaling(kind, factor, low, high, context)
    for key in ("mscale", "mscale_all_dim"):
        config.require(key, None)
    config.require("truncate", True)
    if factor < 1:
        refuse(f"factor of yarn must be at least 1, got {said(factor)}")
    low, high = config.number("beta_slow", Fraction(1)), config.number("beta_fast", Fraction(32))
    stated = config.get("attention_factor") is not None
    return RotaryScaling(kind, factor, low, high, context, config.number("attention_factor") if stated else None)


def write_scaling(scaling: RotaryScaling | None) -> dict[str, object]:
    """Return the keys that state a scaling.

    Raises:
        BadInput: a configuration cannot state it.
    """
    if scaling is None:
        return {}
    if scaling.kind == "factors":
        raise BadInput("factors of the rotary frequencies, which a GGUF file lists, cannot be stated by a config.json")
    found: dict[str, object] = {"rope_type": scaling.kind, "factor": scaling.factor}
    names = {"llama3": ("low_freq_factor", "high_freq_factor"), "yarn": ("beta_slow", "beta_fast"), "linear": ()}
    found |= dict(zip(names[scaling.kind], (scaling.low, scaling.high), strict=False))
    if scaling.kind != "linear":
        found["original_max_position_embeddings"] = scaling.context
    if scaling.growth is not None:
        found["attention_factor"] = scaling.growth
    return {"rope_scaling": found}


def read_rotary(
    config: Config,
    family: str,
    groups: int | None = None,
    *,
    head_width: int | None = None,
    theta: Fraction = Fraction(10000),
    epsilon: Fraction = Fraction(1, 10**6),
    activation: str = "silu",
    tied: bool = False,
    rope_kind: str = "",
    width_key: str = "head_dim",
) -> CheckpointForm:
    """Return what the rotary families have in common; all keywords are what the absence of a key means.

    Args:
        config: the keys; what is particular to a family is asked by itself.
        family: its name.
        groups: sets of keys and values, `None` for one to each head.
        head_width: `None` for the quotient of the width and the heads.
        theta: base of the rotary frequencies.
        epsilon: of the norms.
        activation: of the MLP.
        tied: whether the unembedding is the embedding.
        rope_kind: see `rope_of`.
        width_key: the key of the head width; with another one the family says what `head_dim` and `v_head_dim` mean.

    Raises:
        FileFormatError: a key means a function that is not known here.
    """
    d, heads = config.size("hidden_size"), config.size("num_attention_heads")
    groups = config.size("num_key_value_heads", groups or heads)
    if heads % groups:
        refuse(f"num_attention_heads must be a multiple of num_key_value_heads, got {heads} and {groups}")
    if config.get(width_key, head_width) is None and d % heads:
        refuse(f"hidden_size must be a multiple of num_attention_heads without head_dim, got {d} and {heads}")
    a = config.size(width_key, head_width or d // heads or 1, most=MOST_LISTED)
    if a % 2:
        refuse(f"{width_key} must be even for rotary positions, got {a}")
    for key in ("v_head_dim", "rotary_dim") if width_key == "head_dim" else ():
        config.require(key, a)
    for key in ("quantization_config", "use_qk_norm", "use_mrope", "is_encoder_decoder", "add_cross_attention"):
        config.require(key, False)
    config.require("pruned_heads", {})
    base, scaling = rope_of(config, theta, rope_kind)
    if scaling is not None and scaling.kind == "factors" and len(scaling.factors) != a // 2:
        refuse(f"there must be {a // 2} factors of rotary frequencies, got {len(scaling.factors)}")
    act = config.activation("hidden_act", activation)
    return CheckpointForm(
        family=family,
        layers=config.size("num_hidden_layers", most=MOST_LISTED),
        width=d,
        heads=heads,
        groups=groups,
        head_width=a,
        inner=config.size("intermediate_size"),
        vocabulary=config.size("vocab_size"),
        context=config.size("max_position_embeddings"),
        norm="rms",
        epsilon=config.number("rms_norm_eps", epsilon),
        theta=base,
        activation=act,
        tied=config.flag("tie_word_embeddings", default=tied),
        gated=None if act == "silu" else True,
        scaling=scaling,
    )


def write_rotary(form: CheckpointForm, architecture: str) -> dict[str, object]:
    """Return the keys that state a form."""
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
    } | write_scaling(form.scaling)
