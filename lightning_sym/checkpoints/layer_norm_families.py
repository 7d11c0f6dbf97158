"""Families with LayerNorm, biases and MLPs without gates: what their configurations mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from lightning_sym.checkpoints.config import UNGATED, Config, refuse
from lightning_sym.checkpoints.layout import Biases
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.relatives import ATTENTION, MLP
from lightning_sym.errors import BadInput
from lightning_sym.network.readers.exact_json import LARGEST_SIZE, MOST_LISTED, said

NORMS = frozenset(("norm1", "norm2"))
AFFINE = ATTENTION | MLP
EPSILON = Fraction(1, 10**5)
"""What the library has where no key says another one."""


@dataclass(frozen=True)
class LayerNormFamily:
    """How a configuration of one of them is read and written.

    Attributes:
        architecture, model_type: what the library calls it.
        keys: by field of a form, its key; of `epsilon` there may be none.
        activation: the key of the activation, and what its absence means.
        tied: what the absence of `tie_word_embeddings` means.
        more: what else a configuration says, and which maps and norms have a bias.
        stated: the keys that state it.
    """

    architecture: str
    model_type: str
    keys: dict[str, str]
    activation: tuple[str, str]
    tied: bool
    more: Callable[[Config, CheckpointForm], tuple[CheckpointForm, Biases]]
    stated: Callable[[CheckpointForm, Biases], dict[str, object]]

    def read(self, config: Config) -> tuple[CheckpointForm, Biases]:
        """Return the form that a configuration states, and which maps and norms have a bias.

        Raises:
            FileFormatError: a key means a function that is not known here.
        """
        d, heads = (config.size(self.keys[name]) for name in ("width", "heads"))
        if d % heads:
            refuse(f"{self.keys['width']} must be a multiple of {self.keys['heads']}, got {d} and {heads}")
        for key in ("add_cross_attention", "is_encoder_decoder", "quantization_config"):
            config.require(key, False)
        config.require("pruned_heads", {})
        activation = config.activation(*self.activation, known=UNGATED)
        epsilon = config.number(self.keys["epsilon"], EPSILON) if "epsilon" in self.keys else EPSILON
        form = CheckpointForm(
            family=self.model_type,
            layers=config.size(self.keys["layers"], most=MOST_LISTED),
            width=d,
            heads=heads,
            groups=heads,
            head_width=d // heads,
            inner=config.size(self.keys["inner"], 4 * d),
            vocabulary=config.size("vocab_size"),
            context=config.size(self.keys["context"]),
            norm="layer",
            epsilon=epsilon,
            theta=None,
            activation=activation,
            tied=config.flag("tie_word_embeddings", default=self.tied),
            gated=False if activation == "silu" else None,
        )
        return self.more(config, form)

    def write(self, form: CheckpointForm, biases: Biases) -> dict[str, object]:
        """Return the configuration that states both.

        Raises:
            BadInput: no key states the epsilon.
        """
        if "epsilon" not in self.keys and form.epsilon != EPSILON:
            raise BadInput(f"the epsilon of {self.model_type}, which no key states, must be 1e-05, got {form.epsilon}")
        sizes = {key: getattr(form, name) for name, key in self.keys.items()}
        found = {"architectures": [self.architecture], "model_type": self.model_type, **sizes}
        found |= {self.activation[0]: form.activation, "tie_word_embeddings": form.tied, "vocab_size": form.vocabulary}
        return found | self.stated(form, biases)


def _gpt2(config: Config, form: CheckpointForm) -> tuple[CheckpointForm, Biases]:
    """Refuse other scales of scores; old files state the context twice."""
    config.require("scale_attn_weights", True)
    config.require("scale_attn_by_inverse_layer_idx", False)
    config.size("n_ctx", form.context)  # nothing has the size it states
    return form, AFFINE | NORMS


def _neox(config: Config, form: CheckpointForm) -> tuple[CheckpointForm, Biases]:
    """Return the form with rotary positions of a part of each head, and its biases.

    Both halves stand side by side unless `use_parallel_residual` says otherwise.
    """
    parts = config.inner("rope_parameters")
    parts.require("rope_type", "default")
    config.require("rope_scaling", None, {})
    theta = parts.number("rope_theta", config.number("rotary_emb_base", Fraction(10000)))
    share = parts.number("partial_rotary_factor", config.number("rotary_pct", Fraction(1, 4)))
    parts.finish()
    for key, value in (("rotary_emb_base", theta), ("rope_theta", theta), ("rotary_pct", share),
                       ("partial_rotary_factor", share)):  # fmt: skip
        if (other := config.number(key, value)) != value:  # the second names count in `rope_parameters` alone
            refuse(f"{key} must be what is read, {said(value)}, got {said(other)}")
    turned = int(form.head_width * float(share))  # as the library counts
    if turned % 2 or not 0 < turned <= form.head_width:
        refuse(f"rotary_pct must turn an even number of the {form.head_width} rows of a head, got {said(share)}")
    config.require("rotary_dim", turned)  # a GGUF file states it so
    for key in ("classifier_dropout", "hidden_dropout", "is_decoder"):
        config.get(key)
    parallel = config.flag("use_parallel_residual", default=True)
    width = None if turned == form.head_width else turned
    form = replace(form, theta=theta, rotary_width=width, parallel=parallel or None)
    return form, (AFFINE if config.flag("attention_bias", default=True) else MLP) | NORMS


def rotary_share(turned: int, width: int) -> Fraction:
    """Return the shortest decimal of which the library makes so many rows of a head.

    Example:
        >>> rotary_share(2, 6), rotary_share(4, 8)
        (Fraction(2, 5), Fraction(1, 2))
    """
    digits = 0
    while int(width * float(share := Fraction(-(-turned * 10**digits // width), 10**digits))) != turned:
        digits += 1
    return share


def gguf_share(own: Mapping[str, object]) -> Fraction | None:
    """Return the share of the rows of a head of GPT-NeoX that rotary positions turn."""
    stated = [own.get(key) for key in ("embedding_length", "attention.head_count", "rope.dimension_count")]
    sizes = [size for size in stated if isinstance(size, int) and 0 < size <= LARGEST_SIZE]
    if len(sizes) < len(stated) or sizes[0] // sizes[1] < sizes[2]:
        return None
    return rotary_share(sizes[2], sizes[0] // sizes[1])


def _neox_stated(form: CheckpointForm, biases: Biases) -> dict[str, object]:
    return {
        "rotary_emb_base": form.theta,
        "rotary_pct": rotary_share(form.turned, form.head_width),
        "use_parallel_residual": bool(form.parallel),
        "attention_bias": biases >= ATTENTION,
    }


def _opt(config: Config, form: CheckpointForm) -> tuple[CheckpointForm, Biases]:
    """Refuse norms behind the halves, narrower embeddings, and norms without numbers."""
    for key in ("do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"):
        config.require(key, True)
    config.require("_remove_final_layer_norm", False)
    config.require("word_embed_proj_dim", form.width)
    for key in ("dropout", "layerdrop", "init_std"):
        config.get(key)
    return form, AFFINE | NORMS


_NAMES = {"width": "hidden_size", "heads": "num_attention_heads", "layers": "num_hidden_layers"}

LAYER_NORM = {
    family.model_type: family
    for family in (
        LayerNormFamily(
            "GPT2LMHeadModel",
            "gpt2",
            {
                "width": "n_embd", "heads": "n_head", "layers": "n_layer", "inner": "n_inner", "context": "n_positions",
                "epsilon": "layer_norm_epsilon",
            },
            ("activation_function", "gelu_new"),
            tied=True,
            more=_gpt2,
            stated=lambda form, biases: {},
        ),
        LayerNormFamily(
            "GPTNeoXForCausalLM",
            "gpt_neox",
            {
                **_NAMES, "inner": "intermediate_size", "context": "max_position_embeddings",
                "epsilon": "layer_norm_eps",
            },
            ("hidden_act", "gelu"),
            tied=False,
            more=_neox,
            stated=_neox_stated,
        ),
        LayerNormFamily(
            "OPTForCausalLM",
            "opt",
            {**_NAMES, "inner": "ffn_dim", "context": "max_position_embeddings"},
            ("activation_function", "relu"),
            tied=True,
            more=_opt,
            stated=lambda form, biases: {},
        ),
    )
}  # fmt: skip
"""By `model_type`."""
