"""Llama and its relatives: one table, a row each, of what their configurations mean where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.config_features import (
    BEHIND_ALONE,
    EMBEDDINGS_TIMES_ROOT,
    HEAD_NORMS,
    MULTIPLIERS,
    NO_WINDOW,
    NORMS_BEHIND,
    OF_LAST_LAYERS,
    QUERY_SCALE,
    UNPADDED,
    UNSCALED,
    UNTURNED,
    Feature,
    caps,
    every_other,
    everywhere,
    experts,
    ignored,
    required,
)
from lightning_sym.checkpoints.latent_config import LATENTS, dense
from lightning_sym.checkpoints.layout import Biases
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.rotary_config import read_rotary, write_rotary

ATTENTION, MLP = frozenset(("query", "key", "value", "output")), frozenset(("gate", "up", "down"))
NO_BIASES: Biases = frozenset()


@dataclass(frozen=True)
class Relative:
    """What the configuration of a relative of Llama means.

    Attributes:
        architecture: what the library calls it.
        defaults: what the absence of keys means, as `read_rotary` names it.
        biases: those that every model has.
        bias_keys: by key, the maps that have a bias where it is true.
        features: further keys.
    """

    architecture: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    biases: Biases = NO_BIASES
    bias_keys: Mapping[str, Biases] = field(default_factory=dict)
    features: tuple[Feature, ...] = (NO_WINDOW,)

    def read(self, config: Config, family: str) -> tuple[CheckpointForm, Biases]:
        """Return the form that a configuration states, and which maps have a bias.

        Raises:
            FileFormatError: a key means a function that is not known here.
        """
        form = read_rotary(config, family, **self.defaults)
        for feature in self.features:
            form = feature.read(config, form)
        there = [maps for key, maps in self.bias_keys.items() if config.flag(key, default=False)]
        return form, self.biases.union(*there)

    def write(self, form: CheckpointForm, biases: Biases) -> dict[str, object]:
        """Return the configuration that states both."""
        found = write_rotary(form, self.architecture)
        for feature in self.features:
            found |= feature.write(form)
        return found | {key: maps <= biases for key, maps in self.bias_keys.items()}


def _read_gemma_activation(config: Config, form: CheckpointForm) -> CheckpointForm:
    """Return the form with the activation of Gemma: in old files the library takes `gelu` for the form with tanh."""
    config.require("hidden_activation", "gelu_pytorch_tanh")
    config.require("hidden_act", "gelu_pytorch_tanh", "gelu_new", "gelu")
    return replace(form, activation="gelu_new")


GEMMA_ACTIVATION = Feature(
    _read_gemma_activation, lambda form: dict.fromkeys(("hidden_act", "hidden_activation"), "gelu_pytorch_tanh")
)
GEMMA = {"head_width": 256, "tied": True, "activation": "gelu_pytorch_tanh"}
"""What the absence of keys means in all of these."""
GEMMA_FEATURES = (EMBEDDINGS_TIMES_ROOT, GEMMA_ACTIVATION, required("use_bidirectional_attention", False))

OF_TRAINING = ("output_router_logits", "router_aux_loss_coef")
"""Keys of experts that say something about training alone."""
BOTH = {"attention_bias": ATTENTION, "mlp_bias": MLP}
OF_LATENTS = {"head_width": 64, "width_key": "qk_rope_head_dim"}
"""What the absence of keys means beside latents."""
OF_EXPERTS = ignored(
    "n_routed_experts", "n_shared_experts", "num_experts", "num_local_experts", "num_experts_per_tok", "n_group",
    "moe_intermediate_size", "moe_layer_freq", "topk_group", "topk_method", "scoring_func", "norm_topk_prob", "ep_size",
    "routed_scaling_factor", "aux_loss_alpha", "seq_aux", "num_nextn_predict_layers", "num_mtp_layers", *OF_TRAINING,
)  # fmt: skip
"""Keys of experts of DeepSeek, which say nothing where no layer has any."""
INTERLEAVED = required("rope_interleave", True)

RELATIVES: dict[str, Relative] = {
    "llama": Relative("LlamaForCausalLM", bias_keys=BOTH),
    "mistral": Relative("MistralForCausalLM", {"groups": 8}, features=(everywhere(4096),)),
    "qwen2": Relative("Qwen2ForCausalLM", {"groups": 32}, biases=ATTENTION - {"output"}, features=(OF_LAST_LAYERS,)),
    "qwen3": Relative(
        "Qwen3ForCausalLM",
        {"groups": 32, "head_width": 128},
        bias_keys={"attention_bias": ATTENTION},
        features=(OF_LAST_LAYERS, HEAD_NORMS),
    ),
    "mixtral": Relative(
        "MixtralForCausalLM",
        {"groups": 8, "theta": Fraction(1_000_000), "epsilon": Fraction(1, 10**5)},
        features=(
            everywhere(None),
            experts(("num_local_experts", 8), 2, ("intermediate_size", 14336)),
            ignored("router_jitter_noise", *OF_TRAINING),
        ),
    ),
    "qwen3_moe": Relative(
        "Qwen3MoeForCausalLM",
        {"groups": 4},
        bias_keys={"attention_bias": ATTENTION},
        features=(
            OF_LAST_LAYERS,
            HEAD_NORMS,
            experts(("num_experts", 128), 8, ("moe_intermediate_size", 768), "norm_topk_prob"),
            required("use_sliding_window", False),  # where it is true the library has the window in all layers
            required("decoder_sparse_step", 1),
            required("mlp_only_layers", []),
            ignored(*OF_TRAINING),
        ),
    ),
    "deepseek_v2": Relative(
        "DeepseekV2ForCausalLM",
        OF_LATENTS,
        bias_keys={"mlp_bias": MLP},
        features=(NO_WINDOW, LATENTS, dense(0), OF_EXPERTS),
    ),
    "deepseek_v3": Relative(
        "DeepseekV3ForCausalLM", OF_LATENTS, features=(NO_WINDOW, LATENTS, dense(3), OF_EXPERTS, INTERLEAVED)
    ),
    "youtu": Relative(
        "YoutuForCausalLM",
        OF_LATENTS | {"tied": True},
        features=(NO_WINDOW, LATENTS, INTERLEAVED, ignored("embedding_initializer_range")),
    ),
    "olmo2": Relative(
        "Olmo2ForCausalLM",
        {"epsilon": Fraction(1, 10**5)},
        bias_keys={"attention_bias": ATTENTION},
        features=(NO_WINDOW, BEHIND_ALONE, UNPADDED),
    ),
    "phi3": Relative(
        "Phi3ForCausalLM",
        {"epsilon": Fraction(1, 10**5)},
        features=(
            everywhere(None),
            required("attention_bias", False),
            ignored("original_max_position_embeddings", "auto_map"),
            UNSCALED,
            UNPADDED,
        ),
    ),
    "granite": Relative("GraniteForCausalLM", bias_keys=BOTH, features=(NO_WINDOW, MULTIPLIERS)),
    "smollm3": Relative(
        "SmolLM3ForCausalLM",
        {"groups": 4, "tied": True, "theta": Fraction(2_000_000)},
        bias_keys=BOTH,
        features=(
            NO_WINDOW,
            UNTURNED,
            required("use_sliding_window", False),
            ignored("max_window_layers"),
            UNPADDED,
        ),
    ),
    "gemma": Relative(
        "GemmaForCausalLM",
        {"groups": 16, **GEMMA},
        bias_keys={"attention_bias": ATTENTION},
        features=(NO_WINDOW, *GEMMA_FEATURES),
    ),
    "gemma2": Relative(
        "Gemma2ForCausalLM",
        {"groups": 4, **GEMMA},
        bias_keys={"attention_bias": ATTENTION},
        features=(*GEMMA_FEATURES, NORMS_BEHIND, QUERY_SCALE, caps(50, 30), every_other()),
    ),
    "gemma3_text": Relative(
        "Gemma3ForCausalLM",
        {"groups": 4, "theta": Fraction(1_000_000), "rope_kind": "full_attention", **GEMMA},
        bias_keys={"attention_bias": ATTENTION},
        features=(
            *GEMMA_FEATURES,
            NORMS_BEHIND,
            HEAD_NORMS,
            QUERY_SCALE,
            required("attn_logit_softcapping", None),  # the library keeps the key and does not apply it
            caps(None, None),
            every_other("sliding_window_pattern"),
            ignored("_sliding_window_pattern"),
            UNPADDED,
        ),
    ),
}
