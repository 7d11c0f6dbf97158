"""The forward pass of a checkpoint written down naively, over any numbers and any functions of them.

With floats it evaluates; with rational functions, and functions that are free variables, equal results are identities.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm

Array = Any


class Functions(Protocol):
    """Everything in a transformer that is no polynomial."""

    def length(self, square: Any, epsilon: Any) -> Any:
        """`(square + epsilon)^(-1/2)`."""
        ...

    def weights(self, scores: list[Any]) -> list[Any]:
        """Softmax of the scores of one query."""
        ...

    def activation(self, x: Any) -> Any:
        """Of the MLP."""
        ...

    def turn(self, position: int, k: int) -> tuple[Any, Any]:
        """Cosine and sine of `position theta^(-2k/a)`."""
        ...


class Floats:
    """The functions of a form, in float64."""

    def __init__(self, form: CheckpointForm) -> None:
        self.form = form

    def length(self, square: Any, epsilon: Any) -> Any:
        return 1 / np.sqrt(float(square) + float(epsilon))

    def weights(self, scores: list[Any]) -> list[Any]:
        powers = np.exp(np.array(scores, dtype=float) / np.sqrt(self.form.head_width))
        return list(powers / powers.sum())

    def activation(self, x: Any) -> Any:
        if self.form.activation == "silu":
            return x / (1 + np.exp(-x))
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def turn(self, position: int, k: int) -> tuple[Any, Any]:
        assert self.form.theta is not None
        angle = position * float(self.form.theta) ** (-2 * k / self.form.head_width)
        return np.cos(angle), np.sin(angle)


def normed(x: Array, gain: Array, bias: Array | None, form: CheckpointForm, functions: Functions) -> Array:
    """A norm of each token, `(t, d)`."""
    rows = []
    for row in x:
        centred = row - sum(row) / form.width if form.norm == "layer" else row
        square = sum(centred * centred) / form.width
        changed = gain * centred * functions.length(square, form.epsilon)
        rows.append(changed if bias is None else changed + bias)
    return np.array(rows)


def mapped(weight: Array, bias: Array | None, x: Array) -> Array:
    """A map of each token."""
    found = x @ weight.T
    return found if bias is None else found + bias


def turned(x: Array, position: int, functions: Functions) -> Array:
    """A query or key in the rotate-half layout at its position."""
    half = len(x) // 2
    found = x.copy()
    for k in range(half):
        cosine, sine = functions.turn(position, k)
        found[k] = cosine * x[k] - sine * x[k + half]
        found[k + half] = cosine * x[k + half] + sine * x[k]
    return found


def gained(x: Array, gain: Array | None, form: CheckpointForm, functions: Functions) -> Array:
    """Queries or keys behind a norm of their own, if they have one."""
    if gain is None:
        return x
    return np.array([gain * row * functions.length(sum(row * row) / len(row), form.epsilon) for row in x])


def attended(x: Array, block: Block, form: CheckpointForm, functions: Functions) -> Array:
    """What attention adds to the stream."""
    n = normed(x, block.norm1_gain, block.norm1_bias, form, functions)
    added = [0 * row for row in x]
    for h in range(form.heads):
        g = h // (form.heads // form.groups)
        query = mapped(block.query[h], None if block.query_bias is None else block.query_bias[h], n)
        key = mapped(block.key[g], None if block.key_bias is None else block.key_bias[g], n)
        query, key = (
            gained(rows, gain, form, functions)
            for rows, gain in ((query, block.query_norm_gain), (key, block.key_norm_gain))
        )
        value = mapped(block.value[g], None if block.value_bias is None else block.value_bias[g], n)
        for i in range(len(x)):
            if form.theta is None:
                scores = [sum(query[i] * key[j]) for j in range(i + 1)]
            else:  # what counts is the distance
                scores = [sum(turned(query[i], i - j, functions) * key[j]) for j in range(i + 1)]
            weights = functions.weights(scores)
            added[i] = added[i] + block.output[h] @ sum(w * v for w, v in zip(weights, value, strict=False))
    return np.array([row if block.output_bias is None else row + block.output_bias for row in added])


def thought(x: Array, block: Block, form: CheckpointForm, functions: Functions) -> Array:
    """What the MLP adds to the stream."""
    n = normed(x, block.norm2_gain, block.norm2_bias, form, functions)
    inner = mapped(block.up, block.up_bias, n)
    if block.gate is None:
        inner = np.array([[functions.activation(y) for y in row] for row in inner])
    else:
        gate = mapped(block.gate, block.gate_bias, n)
        inner = inner * np.array([[functions.activation(y) for y in row] for row in gate])
    return mapped(block.down, block.down_bias, inner)


def logits(checkpoint: Checkpoint, tokens: list[int], functions: Functions | None = None) -> Array:
    """The logits behind every token."""
    form, ends = checkpoint.form, checkpoint.ends()
    functions = Floats(form) if functions is None else functions
    x = ends.embedding[tokens]
    if ends.positions is not None:
        x = x + ends.positions[: len(tokens)]
    for number in range(form.layers):
        block = checkpoint.block(number)
        x = x + attended(x, block, form, functions)
        x = x + thought(x, block, form, functions)
    unembedding = ends.embedding if ends.unembedding is None else ends.unembedding
    return normed(x, ends.final_gain, ends.final_bias, form, functions) @ unembedding.T
