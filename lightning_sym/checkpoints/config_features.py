"""Features that only some families have, as keys of their configurations: each is read and written by one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from lightning_sym.checkpoints.config import Config, refuse
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.errors import BadInput
from lightning_sym.network.readers.exact_json import said
from lightning_sym.rings.arrays import rational_root


class Feature(NamedTuple):
    """A part of a form, as keys say it.

    Attributes:
        read: the form with what the keys say.
        write: the keys that state it.
    """

    read: Callable[[Config, CheckpointForm], CheckpointForm]
    write: Callable[[CheckpointForm], dict[str, object]]


KINDS = {"full_attention": False, "sliding_attention": True}
"""The names of layers without and with a window."""


def layer_kinds(config: Config, layers: int) -> list[bool] | None:
    """Return whether each layer has the window, where the configuration lists them.

    Raises:
        FileFormatError: it is no list of kinds that are known, one a layer.
    """
    kinds = config.get("layer_types")
    if kinds is None:
        return None
    known = isinstance(kinds, list) and all(isinstance(each, str) and each in KINDS for each in kinds)
    if not isinstance(kinds, list) or not known or len(kinds) != layers:
        refuse(f"layer_types must be a list of {' or '.join(KINDS)}, one for each of the {layers} layers")
    return [KINDS[each] for each in kinds]


def with_window(form: CheckpointForm, window: int | None, local: Sequence[bool]) -> CheckpointForm:
    """Return the form with a window in some layers; one that reaches the whole context is none."""
    if window is None or window >= form.context or not any(local):
        return form
    places = tuple(layer for layer, has in enumerate(local) if has)
    return replace(form, window=window, local=None if all(local) else places)


def _stated_window(config: Config, default: int | None) -> int | None:
    """Return the window that a configuration states; `null` says that there is none."""
    if config.get("sliding_window") is None:
        return None if config.has("sliding_window") else default
    return config.size("sliding_window")


def everywhere(default: int | None) -> Feature:
    """Return a window in all layers, of this size where the key is absent."""

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        window = _stated_window(config, default)
        found = with_window(form, window, [True] * form.layers)
        kinds = layer_kinds(config, form.layers)
        if kinds is not None and any(has != (found.window is not None) for has in kinds):
            refuse("layer_types must agree with sliding_window, which all layers have here")
        return found

    def write(form: CheckpointForm) -> dict[str, object]:
        return {"sliding_window": form.window}

    return Feature(read, write)


def _read_last_layers(config: Config, form: CheckpointForm) -> CheckpointForm:
    config.get("sliding_window")
    first = config.get("max_window_layers")
    kinds = layer_kinds(config, form.layers)
    if not config.flag("use_sliding_window", default=False):  # the other keys say nothing then
        if kinds is not None and any(kinds):
            refuse("layer_types must be full_attention where use_sliding_window is false")
        return form
    window = _stated_window(config, 4096)
    first = 28 if first is None else first
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        refuse(f"max_window_layers must be an integer of at least 0, got {said(first)}")
    return with_window(form, window, kinds or [layer >= first for layer in range(form.layers)])


def _write_last_layers(form: CheckpointForm) -> dict[str, object]:
    if form.window is None:
        return {"use_sliding_window": False}
    kinds = ["sliding_attention" if form.window_of(layer) else "full_attention" for layer in range(form.layers)]
    return {"use_sliding_window": True, "sliding_window": form.window, "layer_types": kinds}


OF_LAST_LAYERS = Feature(_read_last_layers, _write_last_layers)
"""A window only where `use_sliding_window` says so, in layers from `max_window_layers` on, or from layer 28."""


def _no_window(config: Config, form: CheckpointForm) -> CheckpointForm:
    window = _stated_window(config, None)
    if window is not None and window < form.context:
        refuse(f"sliding_window must reach max_position_embeddings or be null, got {window:,} and {form.context:,}")
    if any(layer_kinds(config, form.layers) or ()):
        refuse("layer_types must be a list of full_attention")
    return form


NO_WINDOW = Feature(_no_window, lambda form: {})
"""Keys that would mean a window in another family are refused."""


def _read_multipliers(config: Config, form: CheckpointForm) -> CheckpointForm:
    one = Fraction(1)
    names = ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    embedding, attention, residual, logits = (config.number(name, one) for name in names)
    width = 1 / attention**2
    return replace(
        form,
        embedding_square=None if embedding == 1 else embedding**2,
        score_width=None if width == form.head_width else width,
        residual=None if residual == 1 else residual,
        logit_divisor=None if logits == 1 else logits,
    )


def _root(square: Fraction, what: str) -> Fraction:
    """Return the root of a square.

    Raises:
        BadInput: it is none.
    """
    if (root := rational_root(square)) is None:
        raise BadInput(f"{what} must be the square of a fraction to be stated as a multiplier, got {square}")
    return root


def _write_multipliers(form: CheckpointForm) -> dict[str, object]:
    return {
        "embedding_multiplier": _root(form.embedding_square or Fraction(1), "embedding_square"),
        "attention_multiplier": 1 / _root(form.score_width or Fraction(form.head_width), "score_width"),
        "residual_multiplier": form.residual or Fraction(1),
        "logits_scaling": form.logit_divisor or Fraction(1),
    }


MULTIPLIERS = Feature(_read_multipliers, _write_multipliers)
"""Of Granite: of embeddings, of scores, of what a layer adds; and what logits are divided by."""


def _read_unturned(config: Config, form: CheckpointForm) -> CheckpointForm:
    every, turned = config.size("no_rope_layer_interval", 4), config.get("no_rope_layers")
    if turned is None:
        turned = [int((layer + 1) % every != 0) for layer in range(form.layers)]
    known = isinstance(turned, list) and all(type(each) is int and each in (0, 1) for each in turned)
    if not isinstance(turned, list) or not known or len(turned) < form.layers:
        refuse(f"no_rope_layers must be a list of 1 (rotary positions) or 0, one for each of the {form.layers} layers")
    still = tuple(layer for layer in range(form.layers) if not turned[layer])
    return replace(form, unturned=still or None)


UNTURNED = Feature(
    _read_unturned,
    lambda form: {"no_rope_layers": [int(layer not in (form.unturned or ())) for layer in range(form.layers)]},
)
"""Of SmolLM3: some layers have no rotary positions."""


def fixed_parts(change: Callable[[CheckpointForm], CheckpointForm]) -> Feature:
    """Return a feature with parts of the form that all of a family have, and no key states."""
    return Feature(lambda config, form: change(form), lambda form: {})


EMBEDDINGS_TIMES_ROOT = fixed_parts(lambda form: replace(form, embedding_square=Fraction(form.width)))
"""Of Gemma: embeddings are multiplied by the root of the width."""
HEAD_NORMS = fixed_parts(lambda form: replace(form, head_norms="head"))
"""Of Qwen3: queries and keys of each head go through a norm."""
NORMS_BEHIND = fixed_parts(lambda form: replace(form, norms_behind=True))
"""Of Gemma 2 and 3: what a half of a layer adds goes through a norm."""
BEHIND_ALONE = fixed_parts(lambda form: replace(form, norms_behind=True, bare=True, head_norms="width"))
"""Of OLMo 2: norms stand behind both halves alone, and one over all queries of a layer, and over all keys."""


def experts(counts: tuple[str, int], chosen: int, width: tuple[str, int], normed: str = "") -> Feature:
    """Return a feature for experts in place of the MLP: how many, how many a token reads, neurons of one.

    Args:
        counts, width: keys of the first and of the last, and what their absence means.
        chosen: what the absence of `num_experts_per_tok` means.
        normed: the key that says whether weights are divided by their sum, `False` where it is absent; without a key
            they always are.
    """

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        count, each = config.size(counts[0], config.size("num_local_experts", counts[1])), config.size(*width)
        config.require("num_local_experts", count)
        read_by_token = config.size("num_experts_per_tok", chosen)
        if read_by_token > count:
            refuse(f"num_experts_per_tok must be at most {counts[0]}, got {read_by_token} and {count}")
        divided = config.flag(normed, default=False) if normed else True
        return replace(form, inner=count * each, experts=count, chosen=read_by_token, normed_choice=divided or None)

    def write(form: CheckpointForm) -> dict[str, object]:
        count = form.experts or 1
        stated = {normed: bool(form.normed_choice)} if normed else {}
        sizes = {"intermediate_size": form.inner // count, counts[0]: count, width[0]: form.inner // count}
        return {**sizes, "num_experts_per_tok": form.chosen, **stated}

    return Feature(read, write)


def _read_query_scale(config: Config, form: CheckpointForm) -> CheckpointForm:
    width = config.number("query_pre_attn_scalar", Fraction(256))
    return replace(form, score_width=None if width == form.head_width else width)


def _write_query_scale(form: CheckpointForm) -> dict[str, object]:
    width = form.score_width or Fraction(form.head_width)
    return {"query_pre_attn_scalar": width.numerator if width.denominator == 1 else width}


def gguf_score_width(largest: int) -> Callable[[Mapping[str, object]], object]:
    """Return what llama.cpp divides scores by the root of in Gemma 2 and 3: the head width but in one model."""

    def implied(own: Mapping[str, object]) -> object:
        width, heads = own.get("embedding_length"), own.get("attention.head_count")
        if isinstance(width, int) and isinstance(heads, int) and heads > 0 and own.get("block_count") == largest:
            return width // heads
        return own.get("attention.key_length")

    return implied


QUERY_SCALE = Feature(_read_query_scale, _write_query_scale)
"""Of Gemma 2 and 3: scores are divided by the root of a number of its own."""


def caps(scores: int | None, logits: int | None) -> Feature:
    """Return a feature for caps on scores and on logits: these are the defaults, and `null` says none."""
    keys = ("attn_logit_softcapping", scores), ("final_logit_softcapping", logits)

    def cap(config: Config, key: str, default: int | None) -> Fraction | None:
        if config.get(key) is None and (config.has(key) or default is None):
            return None
        return config.number(key, Fraction(default or 1))

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        score, logit = (cap(config, *each) for each in keys)
        return replace(form, score_cap=score, logit_cap=logit)

    return Feature(read, lambda form: {keys[0][0]: form.score_cap, keys[1][0]: form.logit_cap})


def every_other(pattern: str = "") -> Feature:
    """Return a window in all layers but each second one, or each one by the number that the key `pattern` states.

    With such a key, that of Gemma 3, the layers with the window have rotary frequencies of their own.
    """

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        every = config.size(pattern, 6) if pattern else 2
        kinds = layer_kinds(config, form.layers)
        local = [(layer + 1) % every != 0 for layer in range(form.layers)] if kinds is None else kinds
        if not pattern:
            return with_window(form, _stated_window(config, 4096), local)
        window, theta = (  # the library does not run with `null`
            config.size("sliding_window", None if config.has("sliding_window") else 4096),
            _local_theta(config),
        )
        places = tuple(layer for layer, has in enumerate(local) if has)
        if not places or (theta == form.theta and form.scaling is None):
            return with_window(form, window, local)
        return replace(form, window=window, local=None if all(local) else places, local_theta=theta)

    def write(form: CheckpointForm) -> dict[str, object]:
        kinds = ["sliding_attention" if form.window_of(layer) else "full_attention" for layer in range(form.layers)]
        found: dict[str, object] = {"sliding_window": form.window or form.context, "layer_types": kinds}
        return found | ({"rope_local_base_freq": form.local_theta or form.theta} if pattern else {})

    return Feature(read, write)


def _local_theta(config: Config) -> Fraction:
    """Return the base of the rotary frequencies of layers with a window.

    Raises:
        FileFormatError: these are scaled, the base is stated twice and differently, or stated of no kind of layers.
    """
    config.inner("rope_scaling").require("type", None)  # rope_type is there already, and counts
    both = config.inner("rope_parameters")
    both.get("full_attention")
    inner = both.inner("sliding_attention")
    both.finish()
    inner.require("rope_type", "default")
    local = Fraction(10000)
    stated = [each.number(key, local) for each, key in ((config, "rope_local_base_freq"), (inner, "rope_theta"))
              if each.get(key) is not None]  # fmt: skip
    inner.finish()
    if len(set(stated)) > 1:
        refuse(f"the base of layers with a window must be stated once, got {' and '.join(map(said, stated))}")
    return stated[0] if stated else local


def ignored(*keys: str) -> Feature:
    """Return a feature for keys that say nothing in this family."""

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        for key in keys:
            config.get(key)
        return form

    return Feature(read, lambda form: {})


def _unscaled(config: Config, form: CheckpointForm) -> CheckpointForm:
    if form.scaling is not None:
        refuse(f"rope_type must be default in this family, others are read as longrope, got {form.scaling}")
    return form


UNSCALED = Feature(_unscaled, lambda form: {})
"""Of Phi-3: its library refuses `linear` and `llama3`, and takes `yarn` for `longrope`."""


def required(key: str, *allowed: object) -> Feature:
    """Return a key that must say what its absence means."""

    def read(config: Config, form: CheckpointForm) -> CheckpointForm:
        config.require(key, *allowed)
        return form

    return Feature(read, lambda form: {})


UNPADDED = Feature(lambda config, form: form, lambda form: {"pad_token_id": None})
"""The library has a special token id by default, which small vocabularies lack; it says nothing of logits."""
