"""Two plain forward passes in float64: of the pieces of a checkpoint, and of tensors under the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import erf
from typing import Any, TypeVar

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Pieces

_ERF = np.vectorize(erf)
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": lambda x: x * (1 + _ERF(x / np.sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
}


def _norm(form: CheckpointForm, x: Any, gain: Any, bias: Any) -> Any:
    x = x - x.mean(-1, keepdims=True) if form.norm == "layer" else x
    scaled = x / np.sqrt((x**2).mean(-1, keepdims=True) + float(form.epsilon)) * gain
    return scaled if bias is None else scaled + bias


def _multiples(form: CheckpointForm, frequencies: Any) -> tuple[Any, float]:
    """What the frequencies are multiplied with, and cosines and sines: written from the definitions, in floats."""
    scaling, one = form.scaling, np.ones_like(frequencies)
    if scaling is None:
        return one, 1.0
    factor, low, high = float(scaling.factor), float(scaling.low), float(scaling.high)
    if scaling.kind == "linear":
        return one / factor, 1.0
    if scaling.kind == "factors":
        return 1 / np.array([float(each) for each in scaling.factors]), 1.0
    if scaling.kind == "llama3":
        waves = 2 * np.pi / frequencies
        smooth = (scaling.context / waves - low) / (high - low)
        mixed = (1 - smooth) / factor + smooth
        return np.where(
            waves > scaling.context / low, 1 / factor, np.where(waves < scaling.context / high, 1, mixed)
        ), 1.0
    width, base = 2 * len(frequencies), float(form.theta or 1)

    def dimension(turns: float) -> float:
        return float(width * np.log(scaling.context / (turns * 2 * np.pi)) / (2 * np.log(base)))

    first, last = max(np.floor(dimension(high)), 0), min(np.ceil(dimension(low)), width - 1)
    ramp = np.clip((np.arange(width // 2) - first) / (last - first if last != first else 0.001), 0, 1)
    growth = 0.1 * np.log(factor) + 1 if scaling.growth is None else float(scaling.growth)
    return ramp / factor + 1 - ramp, float(growth)


def _turned(form: CheckpointForm, layer: int, x: Any) -> Any:
    """Rotated queries or keys, (heads, tokens, a)."""
    if form.theta is None or layer in (form.unturned or ()):
        return x
    rest = x[..., form.rotary_width or form.head_width :]
    half = (form.rotary_width or form.head_width) // 2
    local = form.local_theta is not None and (form.local is None or layer in form.local)
    frequencies = float(form.local_theta if local and form.local_theta else form.theta) ** (-np.arange(half) / half)
    multiples, size = _multiples(replace(form, scaling=None) if local else form, frequencies)
    angle = np.arange(x.shape[1])[:, None] * (frequencies * multiples)
    c, s, first, second = size * np.cos(angle), size * np.sin(angle), x[..., :half], x[..., half : 2 * half]
    return np.concatenate([first * c - second * s, second * c + first * s, rest], axis=-1)


def _capped(x: Any, cap: Any) -> Any:
    return x if cap is None else float(cap) * np.tanh(x / float(cap))


def _plus(x: Any, bias: Any) -> Any:
    return x if bias is None else x + bias


def _layer(form: CheckpointForm, layer: int, b: Block, x: Any) -> Any:
    r = form.heads // form.groups

    def read_behind(stream: Any, gain: Any, bias: Any) -> Any:
        return stream if gain is None else _norm(form, stream, gain, bias)

    n = read_behind(x, b.norm1_gain, b.norm1_bias)

    def heads(matrix: Any, bias: Any) -> Any:
        return _plus(np.einsum("had,td->hta", matrix, n), None if bias is None else bias[:, None])

    def gained(part: Any, gain: Any, rows: Any) -> Any:
        if rows is not None:  # one norm over all heads
            mean = (part**2).sum((0, 2), keepdims=True) / (part.shape[0] * part.shape[2])
            return rows[:, None] * part / np.sqrt(mean + float(form.epsilon))
        return part if gain is None else gain * part / np.sqrt((part**2).mean(-1, keepdims=True) + float(form.epsilon))

    if form.latent is not None:
        return _behind(form, b, x, _read_by_latents(form, layer, b, n))
    q = _turned(form, layer, gained(heads(b.query, b.query_bias), b.query_norm_gain, b.query_row_gain))
    k = gained(heads(b.key, b.key_bias), b.key_norm_gain, b.key_row_gain)
    k = np.repeat(_turned(form, layer, k), r, axis=0)
    v = np.repeat(heads(b.value, b.value_bias), r, axis=0)
    scores = np.einsum("hia,hja->hij", q, k) / np.sqrt(float(form.score_width or form.head_width))
    return _behind(form, b, x, _shares(form, layer, scores) @ v)


def _shares(form: CheckpointForm, layer: int, scores: Any) -> Any:
    """Softmax of the scores of the tokens that are seen, (heads, tokens, tokens)."""
    scores = _capped(scores, form.score_cap)
    behind = np.subtract.outer(*[np.arange(scores.shape[1])] * 2)
    has_window = form.window is not None and (form.local is None or layer in form.local)
    scores[:, (behind < 0) | (has_window & (behind >= (form.window or 0)))] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def _read_by_latents(form: CheckpointForm, layer: int, b: Block, n: Any) -> Any:
    """What heads read of latents, head by head as DeepSeek's paper has it; its norms have an epsilon of their own."""

    def latent(matrix: Any, gain: Any) -> Any:
        c = n @ matrix.T
        return gain * c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6)

    c = latent(b.latent, b.norm3_gain)
    asked = n if b.query_latent is None else latent(b.query_latent, b.norm4_gain)
    turned_rows: Any = b.key_turned, b.query_turned
    shared = _turned(form, layer, (n @ turned_rows[0][0].T)[None])[0]
    read = []
    for head in range(form.heads):
        q = _turned(form, layer, (asked @ turned_rows[1][head].T)[None])[0]
        scores = (asked @ b.query[head].T) @ (c @ b.key[head].T).T + q @ shared.T
        scores = scores / np.sqrt(form.head_width + shared.shape[1])
        read.append(_shares(form, layer, scores[None])[0] @ (c @ b.value[head].T))
    return np.stack(read)


def _behind(form: CheckpointForm, b: Block, x: Any, read: Any) -> Any:
    """The stream behind a layer, of what its heads read."""
    share, before = float(form.residual or 1), x

    def read_behind(stream: Any, gain: Any, bias: Any) -> Any:
        return stream if gain is None else _norm(form, stream, gain, bias)

    def behind_half(added: Any, gain: Any) -> Any:
        return share * (added if gain is None else _norm(form, added, gain, None))

    x = x + behind_half(_plus(np.einsum("hda,hta->td", b.output, read), b.output_bias), b.behind1_gain)
    n = read_behind(before if form.parallel else x, b.norm2_gain, b.norm2_bias)
    act, up = ACTIVATIONS[form.activation], _plus(n @ b.up.T, b.up_bias)
    inner = act(up) if b.gate is None else act(_plus(n @ b.gate.T, b.gate_bias)) * up
    if b.router is not None:
        inner = inner * np.repeat(
            _routed(form, _plus(n @ b.router.T, b.router_bias)), len(b.up) // (form.experts or 1), axis=1
        )
    return x + behind_half(_plus(inner @ b.down.T, b.down_bias), b.behind2_gain)


def _routed(form: CheckpointForm, scores: Any) -> Any:
    """The weight of each expert for each token, (tokens, experts): softmax over all, then the largest are chosen."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    for row in weights:
        row[np.argsort(-row)[form.chosen :]] = 0
    return weights / weights.sum(axis=1, keepdims=True) if form.normed_choice else weights


_P = TypeVar("_P", bound=Pieces)


def _floats(pieces: _P) -> _P:
    return replace(pieces, **{name: np.asarray(array, dtype=np.float64) for name, array in pieces.present()})


def logits(checkpoint: Checkpoint, ids: Any) -> Any:
    """Logits, (tokens, vocabulary), in float64."""
    ends, form = _floats(checkpoint.ends()), checkpoint.form
    x = ends.embedding[ids].astype(np.float64) * np.sqrt(float(form.embedding_square or 1))
    x = x if ends.positions is None else x + ends.positions[: len(ids)]
    for layer in range(form.layers):
        x = _layer(form, layer, _floats(checkpoint.block(layer)), x)
    x = _norm(form, x, ends.final_gain, ends.final_bias)
    found = x @ (ends.embedding if ends.unembedding is None else ends.unembedding).astype(np.float64).T
    return _capped(found / float(form.logit_divisor or 1), form.logit_cap)


def _row_norm(x: Any, epsilon: float, gain: Any, bias: Any = None) -> Any:
    if bias is None:
        return gain * x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + epsilon)
    centred = x - np.mean(x, axis=1, keepdims=True)
    return gain * centred / np.sqrt(np.var(x, axis=1, keepdims=True) + epsilon) + bias


def _softmax_rows(q: Any, k: Any) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.tril(np.exp(scores - scores.max()))
    return weights / weights.sum(axis=1, keepdims=True)


def gpt2_logits(t: Mapping[str, Any], config: Mapping[str, Any], ids: Any) -> Any:
    """Of tensors as the hub's file names them, without a prefix; weights multiply from the right."""
    heads, eps = config["n_head"], config["layer_norm_epsilon"]
    x = t["wte.weight"][ids].astype(float) + t["wpe.weight"][: len(ids)]
    for i in range(config["n_layer"]):

        def there(name: str, at: str = f"h.{i}.") -> tuple[Any, Any]:
            return t[f"{at}{name}.weight"].astype(float), t[f"{at}{name}.bias"]

        weight, bias = there("attn.c_attn")
        q, k, v = np.split(_row_norm(x, eps, *there("ln_1")) @ weight + bias, 3, axis=1)
        split = [np.split(part, heads, axis=1) for part in (q, k, v)]
        read = [_softmax_rows(qh, kh) @ vh for qh, kh, vh in zip(*split, strict=True)]
        weight, bias = there("attn.c_proj")
        x = x + np.concatenate(read, axis=1) @ weight + bias
        weight, bias = there("mlp.c_fc")
        inner = ACTIVATIONS["gelu_new"](_row_norm(x, eps, *there("ln_2")) @ weight + bias)
        weight, bias = there("mlp.c_proj")
        x = x + inner @ weight + bias
    x = _row_norm(x, eps, t["ln_f.weight"], t["ln_f.bias"])
    return x @ t.get("lm_head.weight", t["wte.weight"]).T


def llama_logits(t: Mapping[str, Any], config: Mapping[str, Any], ids: Any) -> Any:
    """Of tensors as Llama, Mistral and Qwen2 name them; each pair of a head is a complex number that is turned."""
    heads, groups, eps = config["num_attention_heads"], config["num_key_value_heads"], config["rms_norm_eps"]
    half = t["model.layers.0.self_attn.q_proj.weight"].shape[0] // heads // 2
    turn = np.exp(1j * np.outer(np.arange(len(ids)), float(config["rope_theta"]) ** (-np.arange(half) / half)))

    def linear(x: Any, name: str) -> Any:
        return x @ t[f"{name}.weight"].astype(float).T + t.get(f"{name}.bias", 0)

    def turned(part: Any) -> Any:
        z = (part[:, :half] + 1j * part[:, half:]) * turn
        return np.concatenate([z.real, z.imag], axis=1)

    x = t["model.embed_tokens.weight"][ids].astype(float)
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        n = _row_norm(x, eps, t[f"{at}input_layernorm.weight"])
        q, k, v = (linear(n, f"{at}self_attn.{c}_proj") for c in "qkv")
        keys = [turned(part) for part in np.split(k, groups, axis=1)]
        values = np.split(v, groups, axis=1)
        read = []
        for h, part in enumerate(np.split(q, heads, axis=1)):
            group = h * groups // heads
            read.append(_softmax_rows(turned(part), keys[group]) @ values[group])
        x = x + linear(np.concatenate(read, axis=1), f"{at}self_attn.o_proj")
        n = _row_norm(x, eps, t[f"{at}post_attention_layernorm.weight"])
        gate = ACTIVATIONS["silu"](linear(n, f"{at}mlp.gate_proj"))
        x = x + linear(gate * linear(n, f"{at}mlp.up_proj"), f"{at}mlp.down_proj")
    x = _row_norm(x, eps, t["model.norm.weight"])
    return x @ t.get("lm_head.weight", t["model.embed_tokens.weight"]).T
