"""`params.json` of Meta's files: the same sizes as in a configuration, by other names, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from lightning_sym.checkpoints.config import refuse
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.network.readers.exact_json import said

FAMILY = "llama"
"""What such files hold; those of Mistral without a window are no others."""

KEYS = {
    "dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads", "head_dim": "head_dim", "hidden_dim": "intermediate_size",
    "vocab_size": "vocab_size", "norm_eps": "rms_norm_eps", "rope_theta": "rope_theta",
    "max_seq_len": "max_position_embeddings", "sliding_window": "sliding_window",
}  # fmt: skip
"""By key, that of `config.json`."""

ABSENT = {"norm_eps": Fraction(1, 10**5), "rope_theta": Fraction(10**4), "max_seq_len": 2048}
"""What Meta's code takes where a key is not there."""

FOLLOWS = frozenset(("multiple_of", "ffn_dim_multiplier"))
"""Keys from which the number of neurons follows, which the tensors show."""


def said_by_params(
    values: Mapping[str, object], shapes: Mapping[str, tuple[int, ...]], shards: int
) -> dict[str, object]:
    """Return the keys of a configuration.

    Args:
        values: of `params.json`.
        shapes: of the tensors of a shard, by their names.
        shards: how many there are; rows of `w1` are spread over them, and of the embedding rows or columns.

    Raises:
        FileFormatError: a tensor that shows a size is missing, or frequencies are scaled.
    """
    found: dict[str, object] = {KEYS[key]: value for key, value in ABSENT.items()}
    for key, value in values.items():
        if key == "use_scaled_rope":
            if value not in (False, None):
                refuse(f"use_scaled_rope must be false or absent, got {said(value)}")
        elif key not in FOLLOWS and value is not None and not (key == "vocab_size" and value == -1):
            found[KEYS.get(key, key)] = value
    rows, neurons = (shapes.get(name, ()) for name in ("tok_embeddings.weight", "layers.0.feed_forward.w1.weight"))
    if len(rows) != 2 or len(neurons) != 2:
        refuse("tok_embeddings.weight and layers.0.feed_forward.w1.weight must be there, as matrices")
    whole = rows[1] == found.get("hidden_size")
    found.setdefault("vocab_size", rows[0] * (shards if whole else 1))
    found.setdefault("intermediate_size", neurons[0] * shards)
    return found | {"tie_word_embeddings": "output.weight" not in shapes}


def params_of(form: CheckpointForm, config: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of `params.json` that state what a configuration states; of the context nothing stands there."""
    back = {new: old for old, new in KEYS.items() if old not in ("max_seq_len", "sliding_window")}
    params = {back[key]: value for key, value in config.items() if key in back}
    if form.head_width * form.heads == form.width:
        del params["head_dim"]  # Meta's own code knows no such key
    return params
