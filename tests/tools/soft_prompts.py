"""Logits of a checkpoint on real combinations of token embeddings, from the definition, and the rank of its Jacobian.

Written apart from the library's forward pass, over complex numbers: a derivative is the imaginary part of a value at a
point that is moved by a tiny imaginary number, which cancels nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import CheckpointForm, MadeCheckpoint

Values = dict[tuple[int | None, str], Any]
STEP = 1e-30


def weights_of(one: MadeCheckpoint) -> Values:
    """All weights by layer and piece, in floats."""
    places = [(None, one.ends()), *((layer, one.block(layer)) for layer in range(one.form.layers))]
    return {(layer, name): np.asarray(array, dtype=float) for layer, part in places for name, array in part.present()}


def soft_logits(form: CheckpointForm, values: Values, inputs: Any) -> Any:
    """Logits `(n, t)` on inputs `(n, t)`: a column has the share of each token's embedding."""
    count = inputs.shape[1]
    stream = values[None, "embedding"].T @ inputs
    if form.theta is None:
        stream = stream + values[None, "positions"][:count].T
    for layer in range(form.layers):
        own = {name: value for (number, name), value in values.items() if number == layer}
        stream = stream + _attention(form, own, _norm(form, stream, own["norm1_gain"], own.get("norm1_bias")))
        seen = _norm(form, stream, own["norm2_gain"], own.get("norm2_bias"))
        inner = _affine(own["up"], own.get("up_bias"), seen)
        if "gate" in own:
            inner = _activation(form, _affine(own["gate"], own.get("gate_bias"), seen)) * inner
        else:
            inner = _activation(form, inner)
        stream = stream + _affine(own["down"], own.get("down_bias"), inner)
    last = values[None, "embedding"] if form.tied else values[None, "unembedding"]
    return last @ _norm(form, stream, values[None, "final_gain"], values.get((None, "final_bias")))


def _affine(matrix: Any, bias: Any, x: Any) -> Any:
    return matrix @ x if bias is None else matrix @ x + bias[:, None]


def _norm(form: CheckpointForm, x: Any, gain: Any, bias: Any) -> Any:
    x = x - x.mean(axis=0) if form.norm == "layer" else x
    return _affine(np.diag(gain), bias, x / np.sqrt((x * x).mean(axis=0) + float(form.epsilon)))


def _activation(form: CheckpointForm, z: Any) -> Any:
    if form.activation == "silu":
        return z / (1 + np.exp(-z))
    return z / (1 + np.exp(-np.sqrt(8 / np.pi) * (z + 0.044715 * z**3)))


def _attention(form: CheckpointForm, own: dict[str, Any], y: Any) -> Any:
    def part(name: str, number: int) -> Any:
        bias = own.get(f"{name}_bias")
        return _affine(own[name][number], None if bias is None else bias[number], y)

    def turned(x: Any) -> Any:
        if form.theta is None:
            return x
        half = form.head_width // 2
        angles = np.outer([float(form.theta) ** (-k / half) for k in range(half)], np.arange(y.shape[1]))
        along, across = x[:half], x[half:]
        cosines, sines = np.cos(angles), np.sin(angles)
        return np.concatenate([along * cosines - across * sines, across * cosines + along * sines])

    added = 0
    for head in range(form.heads):
        group = head // (form.heads // form.groups)
        scores = turned(part("key", group)).T @ turned(part("query", head)) / np.sqrt(form.head_width)
        shares = np.exp(scores) * np.triu(np.ones(scores.shape))
        added = added + own["output"][head] @ part("value", group) @ (shares / shares.sum(axis=0))
    return added if "output_bias" not in own else added + own["output_bias"][:, None]


def jacobian_singular_values(one: MadeCheckpoint, random: np.random.Generator) -> Any:
    """Singular values of the Jacobian near the checkpoint's weights, on random soft prompts; largest first."""
    form, values = one.form, weights_of(one)
    shapes = {name: value.shape for name, value in values.items()}
    point = np.concatenate([
        (value + random.normal(size=value.shape) * 0.7).ravel() for value in values.values()
    ]).astype(complex)  # fmt: skip
    tokens = form.context
    prompts = [
        random.normal(size=(form.vocabulary, tokens))
        for _ in range(3 + 3 * len(point) // (2 * tokens * form.vocabulary))
    ]

    def spread() -> Values:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1]
        parts = np.split(point, ends)
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    columns = []
    for place in range(len(point)):
        point[place] += STEP * 1j
        columns.append(np.concatenate([soft_logits(form, spread(), u).imag.ravel() for u in prompts]) / STEP)
        point[place] -= STEP * 1j
    jacobian = np.stack(columns, axis=1)
    sizes = np.linalg.norm(jacobian, axis=0)
    return np.linalg.svd(jacobian / np.where(sizes > 1e-11 * sizes.max(), sizes, 1), compute_uv=False)
