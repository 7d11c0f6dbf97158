"""What configurations say of latents, from which heads read keys, values and queries."""

from __future__ import annotations

from dataclasses import replace

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.config_features import Feature
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.network.foreign_features import EXPERTS, LATENT
from lightning_sym.network.readers.exact_json import said


def _read_latents(config: Config, form: CheckpointForm) -> CheckpointForm:
    """Return the form with latents; rotary positions turn rows of their own."""
    turned, plain, values = form.head_width, config.size("qk_nope_head_dim", 128), config.size("v_head_dim", 128)
    direct = config.has("q_lora_rank") and config.get("q_lora_rank") is None
    sizes = {
        "head_width": plain,
        "rotary_width": turned,
        "value_width": None if values == plain else values,
        "latent": config.size("kv_lora_rank", 512),
        "query_latent": None if direct else config.size("q_lora_rank", 1536),
    }
    config.require("head_dim", turned)
    config.require("qk_head_dim", plain + turned)
    config.require("attention_bias", False)
    if form.groups != form.heads:
        refuse(f"num_key_value_heads must be num_attention_heads with {LATENT}, got {form.groups} and {form.heads}")
    return replace(form, **sizes)  # type: ignore[arg-type]


def _write_latents(form: CheckpointForm) -> dict[str, object]:
    sizes = {"qk_nope_head_dim": form.head_width, "v_head_dim": form.values, "kv_lora_rank": form.latent}
    return {**sizes, **dict.fromkeys(("head_dim", "qk_rope_head_dim"), form.rotating), "q_lora_rank": form.query_latent}


LATENTS = Feature(_read_latents, _write_latents)
"""Of DeepSeek: heads read keys and values, and perhaps queries, from latents."""


def dense(first: int) -> Feature:
    """Return a feature for layers without experts, all of them; `first`: what the absence of the key means."""

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        count = config.get("first_k_dense_replace", first)
        if not isinstance(count, int) or count < form.layers:
            what = f"num_hidden_layers, {form.layers}, as {EXPERTS} beside shared ones are not read"
            refuse(f"first_k_dense_replace must be at least {what}, got {said(count)}")
        return form

    return Feature(read, lambda form: {"first_k_dense_replace": form.layers})
