"""Pairs of tiny checkpoints with fixed seeds, in the files of the transformers library: rewritten, rounded, mistaken.

It knows nothing of the program's code. A model here is a dictionary of arrays by short names, the same for all
families: matrices have a row for each output, those of heads an axis of heads in front.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
LAYERS, HEADS, GROUPS, A, INNER, VOCABULARY, CONTEXT = 2, 4, 2, 4, 12, 11, 8
D = HEADS * A

Model = dict[str, Any]
Files = dict[str, bytes]


def drawn(family: str, seed: int) -> Model:
    """Draw a model; its numbers have few bits, so that short rewritings of it are exact in float32."""
    rng, groups = np.random.default_rng([seed, FAMILIES.index(family)]), HEADS if family == "gpt2" else GROUPS
    old = family == "gpt2"

    def array(*shape: int, near: float = 0.0) -> object:
        return near + rng.integers(-40, 41, shape) / 64

    model: Model = {"family": family, "embed": array(VOCABULARY, D), "norm": array(D, near=1)}
    model |= {"positions": array(CONTEXT, D), "norm.bias": array(D)} if old else {"unembed": array(VOCABULARY, D)}
    for i in range(LAYERS):
        layer = {"q": array(HEADS, A, D), "k": array(groups, A, D), "v": array(groups, A, D), "o": array(HEADS, D, A)}
        layer |= {"up": array(INNER, D), "down": array(D, INNER)}
        layer |= {"norm1": array(D, near=1), "norm2": array(D, near=1)}
        if old:
            sizes = {"o": (D,), "up": (INNER,), "down": (D,), "norm1": (D,), "norm2": (D,)}
            layer |= {f"{name}.bias": array(*size) for name, size in sizes.items()}
        else:
            layer["gate"] = array(INNER, D)
        if old or family == "qwen2":
            layer |= {"q.bias": array(HEADS, A), "k.bias": array(groups, A), "v.bias": array(groups, A)}
        model |= {f"{i}.{name}": given for name, given in layer.items()}
    return model


# ---- rewritings: each changes a model in place, and leaves its function as it is

Rewriting = Callable[[Model, int, Any], None]
"""Called with the model, the layer, and a generator of random numbers."""


def _times(model: Model, name: str, by: Any, subscripts: str) -> None:
    if name in model:
        model[name] = np.einsum(subscripts, by, model[name])


def _gauge(rng: Any, count: int) -> tuple[Any, Any]:
    """Return matrices that have dyadic inverses, and these."""
    powers = 2.0 ** rng.integers(-1, 2, (count, A))
    lower = np.tril(rng.integers(-1, 2, (count, A, A)), -1) * (rng.random((count, A, A)) < 0.4)
    given = (np.eye(A) + lower) * powers[:, None, :]
    return given, np.linalg.inv(given).round(12)


def values(model: Model, i: int, rng: np.random.Generator) -> None:
    groups = len(model[f"{i}.v"])
    given, inverse = _gauge(rng, groups)
    _times(model, f"{i}.v", given, "gab,gbd->gad")
    _times(model, f"{i}.v.bias", given, "gab,gb->ga")
    model[f"{i}.o"] = np.einsum("hda,hab->hdb", model[f"{i}.o"], np.repeat(inverse, HEADS // groups, axis=0))


def queries(model: Model, i: int, rng: Any) -> None:
    """Change the basis of queries and keys: any one with positions of their own.

    With rotary ones it is a turn and a scale of each frequency.
    """
    groups = len(model[f"{i}.k"])
    if "positions" in model:
        given, inverse = _gauge(rng, groups)
    else:
        x, y = np.array([[2, 0], [0, 1], [-1, 0], [1, 1]])[rng.integers(0, 4, (groups, A // 2))].transpose(2, 0, 1)
        one, turn = np.eye(A // 2), np.zeros((groups, A, A))
        turn[:, : A // 2, : A // 2] = turn[:, A // 2 :, A // 2 :] = x[:, :, None] * one
        turn[:, A // 2 :, : A // 2], turn[:, : A // 2, A // 2 :] = y[:, :, None] * one, -y[:, :, None] * one
        given, inverse = turn, np.linalg.inv(turn).round(12)
    share = HEADS // groups
    for name, by in (("q", np.repeat(given, share, axis=0)), ("k", inverse.transpose(0, 2, 1))):
        _times(model, f"{i}.{name}", by, "gab,gbd->gad")
        _times(model, f"{i}.{name}.bias", by, "gab,gb->ga")


def heads(model: Model, i: int, rng: Any) -> None:
    groups = len(model[f"{i}.k"])
    share, order = HEADS // groups, rng.permutation(groups)
    inside = np.concatenate([g * share + rng.permutation(share) for g in order])
    for name in ("q", "q.bias", "o", "k", "k.bias", "v", "v.bias"):
        if f"{i}.{name}" in model:
            model[f"{i}.{name}"] = model[f"{i}.{name}"][inside if name[0] in "qo" and name != "o.bias" else order]


def neurons(model: Model, i: int, rng: Any) -> None:
    order = rng.permutation(INNER)
    for name in ("up", "up.bias", "gate", "gate.bias"):
        if f"{i}.{name}" in model:
            model[f"{i}.{name}"] = model[f"{i}.{name}"][order]
    model[f"{i}.down"] = model[f"{i}.down"][:, order]
    if f"{i}.gate" in model:
        sizes = rng.choice([-2.0, 0.5, 1.0, 2.0], INNER)
        model[f"{i}.up"], model[f"{i}.down"] = sizes[:, None] * model[f"{i}.up"], model[f"{i}.down"] / sizes


def gains(model: Model, i: int, rng: np.random.Generator) -> None:
    """Fold the gains and biases of norms into what reads them."""
    for norm, readers in (("norm1", "qkv"), ("norm2", ("up", "gate"))):
        gain, bias = model[f"{i}.{norm}"], model.get(f"{i}.{norm}.bias")
        for name in readers:
            if f"{i}.{name}" in model:
                if bias is not None:
                    model[f"{i}.{name}.bias"] = model[f"{i}.{name}.bias"] + model[f"{i}.{name}"] @ bias
                model[f"{i}.{name}"] = model[f"{i}.{name}"] * gain
        model[f"{i}.{norm}"] = np.ones(D)
        if bias is not None:
            model[f"{i}.{norm}.bias"] = np.zeros(D)


_READ, _WRITTEN = ("q", "k", "v", "up", "gate"), ("down", "o.bias", "down.bias")


def _stream(model: Model, turn: Any) -> None:
    """Turn the stream everywhere; gains of norms are ones, or the turn is a permutation with signs."""
    signed = np.abs(turn)
    for name in [*model]:
        kind = name.split(".", 1)[-1]
        if name in ("embed", "positions", "unembed") or kind in _READ:
            model[name] = model[name] @ turn.T
        elif kind in _WRITTEN or name.endswith(("norm.bias", "norm1.bias", "norm2.bias")):
            model[name] = turn @ model[name]
        elif kind == "o":
            model[name] = np.einsum("xd,hda->hxa", turn, model[name])
        elif kind in ("norm", "norm1", "norm2"):
            model[name] = model[name] if (model[name] == 1).all() else signed @ model[name]


def order(model: Model, i: int, rng: Any) -> None:
    signs = 1 if "positions" in model else rng.choice([-1, 1], D)[:, None]
    if i == 0:
        _stream(model, signs * np.eye(D)[rng.permutation(D)])


def rotation(model: Model, i: int, rng: Any) -> None:
    """Fold all gains, then turn the stream; what its file stores then is rounded."""
    gains(model, i, rng)
    if i == LAYERS - 1 and "unembed" in model:
        model["unembed"], model["norm"] = model["unembed"] * model["norm"], np.ones(D)
        _stream(model, np.linalg.qr(rng.standard_normal((D, D)))[0])


def centre(model: Model, i: int, rng: np.random.Generator) -> None:
    """Take means away from what writes into the stream, which layer norms do not see."""
    if "positions" in model:
        for name in ("embed", "positions"):
            model[name] = model[name] - model[name].mean(axis=1, keepdims=True) if "unembed" in model else model[name]
        for name in ("o", "down", "o.bias", "down.bias"):
            given = model[f"{i}.{name}"]
            model[f"{i}.{name}"] = given - given.mean(axis=1 if name == "o" else 0, keepdims=True)


EXACT: tuple[Rewriting, ...] = (values, queries, heads, neurons, order)
ROUNDED: tuple[Rewriting, ...] = (gains, rotation, centre)


# ---- files


def _tensors(model: Model) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of the file, by the names of the transformers library."""
    if model["family"] == "gpt2":
        yield from (("wte.weight", model["embed"]), ("wpe.weight", model["positions"]))
        yield from (("ln_f.weight", model["norm"]), ("ln_f.bias", model["norm.bias"]))
        for i in range(LAYERS):
            flat = {c: model[f"{i}.{c}"].reshape(D, D).T for c in "qkv"}
            yield f"h.{i}.attn.c_attn.weight", np.concatenate([*flat.values()], axis=1)
            yield f"h.{i}.attn.c_attn.bias", np.concatenate([model[f"{i}.{c}.bias"].ravel() for c in "qkv"])
            yield f"h.{i}.attn.c_proj.weight", model[f"{i}.o"].transpose(0, 2, 1).reshape(D, D)
            for name, own in (("mlp.c_fc", "up"), ("mlp.c_proj", "down")):
                yield f"h.{i}.{name}.weight", model[f"{i}.{own}"].T
            for name, own in (("ln_1", "norm1"), ("ln_2", "norm2")):
                yield f"h.{i}.{name}.weight", model[f"{i}.{own}"]
            for name, own in (("attn.c_proj", "o"), ("mlp.c_fc", "up"), ("mlp.c_proj", "down"), ("ln_1", "norm1"), ("ln_2", "norm2")):  # noqa: E501  # fmt: skip
                yield f"h.{i}.{name}.bias", model[f"{i}.{own}.bias"]
        return
    yield from (("model.embed_tokens.weight", model["embed"]), ("model.norm.weight", model["norm"]))
    yield "lm_head.weight", model["unembed"]
    for i in range(LAYERS):
        at = f"model.layers.{i}"
        for c in "qkv":
            yield f"{at}.self_attn.{c}_proj.weight", model[f"{i}.{c}"].reshape(-1, D)
            if f"{i}.{c}.bias" in model:
                yield f"{at}.self_attn.{c}_proj.bias", model[f"{i}.{c}.bias"].ravel()
        yield f"{at}.self_attn.o_proj.weight", model[f"{i}.o"].transpose(1, 0, 2).reshape(D, D)
        for name in ("gate", "up", "down"):
            yield f"{at}.mlp.{name}_proj.weight", model[f"{i}.{name}"]
        yield f"{at}.input_layernorm.weight", model[f"{i}.norm1"]
        yield f"{at}.post_attention_layernorm.weight", model[f"{i}.norm2"]


def _config(family: str, stored: str, change: dict[str, object]) -> dict[str, Any]:
    known = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
    if family == "gpt2":
        own: dict[str, Any] = {
            "n_embd": D,
            "n_head": HEADS,
            "n_inner": INNER,
            "n_layer": LAYERS,
            "n_positions": CONTEXT,
        }
        own |= {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True}
    else:
        own = {"hidden_size": D, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": A}
        own |= {"intermediate_size": INNER, "num_hidden_layers": LAYERS, "max_position_embeddings": CONTEXT}
        own |= {"hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
        own |= {"sliding_window": None} if family == "mistral" else {}
    return {"model_type": family, "vocab_size": VOCABULARY, **own, "torch_dtype": known[stored]} | change


def _stored(given: object, stored: str) -> bytes:
    if stored != "BF16":
        return bytes(np.ascontiguousarray(given, dtype={"F16": "<f2", "F32": "<f4", "F64": "<f8"}[stored]).tobytes())
    bits = np.ascontiguousarray(given, dtype="<f4").view("<u4").astype(np.uint64)
    return bytes(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes())


def files(model: Model, stored: str = "F32", change: dict[str, Any] | None = None) -> Files:
    """Return the files of a folder that holds the model, its tensors in a type, its configuration perhaps changed."""
    head: dict[str, Any] = {}
    data = b""
    for name, given in _tensors(model):
        part = _stored(given, stored)
        head[name] = {"dtype": stored, "shape": list(given.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    config = json.dumps(_config(model["family"], stored, change or {}), indent=1).encode()
    return {"model.safetensors": struct.pack("<Q", len(text)) + text + data, "config.json": config}


def pairs(family: str, seed: int) -> Iterator[tuple[str, Files, Files]]:
    """Yield pairs of a family: what was done to the second, and the files of both."""
    model, rng = drawn(family, seed), np.random.default_rng([seed, 7])
    first = files(model)
    yield "itself", first, first
    for name, rewritings in [(r.__name__, (r,)) for r in EXACT + ROUNDED] + [
        ("all exact", EXACT),
        ("all", EXACT + ROUNDED),
    ]:
        other = dict(model)
        for rewriting in rewritings:
            for i in range(LAYERS):
                rewriting(other, i, rng)
        yield name, first, files(other)
        if rewritings == EXACT:
            yield "all exact, as BF16", first, files(other, "BF16")
            for piece in rng.choice(sorted(set(other) - {"family"}), 6, replace=False):
                yield f"all exact, another {piece}", first, files(_changed(other, piece, rng))
    for stored in ("F16", "BF16", "F64"):
        yield f"as {stored}", first, files(model, stored)
    wild = {name: x * (1 + rng.random() / 9) if name != "family" else x for name, x in model.items()}
    for one, other_type in (("F32", "BF16"), ("F64", "F32"), ("F16", "BF16")):
        yield f"{one} as {other_type}", files(wild, one), files(wild, other_type)
    for piece in sorted(set(model) - {"family"}):
        yield f"another {piece}", first, files(_changed(model, piece, rng))
    old = family == "gpt2"
    for change in (
        {"layer_norm_epsilon" if old else "rms_norm_eps": 1e-6},
        {"activation_function": "gelu"} if old else {"rope_theta": 500.0},
    ):
        yield f"another {next(iter(change))}", first, files(model, change=change)
    yield "another model", first, files(drawn(family, seed + 1))


def _changed(model: Model, piece: str, rng: Any) -> Model:
    """Return the model with one entry of one piece changed."""
    given = model[piece].copy()
    place = tuple(rng.integers(0, size) for size in given.shape)
    given[place] = 2 * given[place] or 1
    return model | {piece: given}
