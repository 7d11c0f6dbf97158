"""A transformer layer as engineers write it in NumPy: heads in blocks of rows, tables of cosines, keys repeated."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

from lightning_sym import Weights

Array = np.ndarray[Any, Any]

ACTIVATIONS: dict[str, Any] = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    "gelu_new": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


class NumpyLayer:
    """One layer; what it has is what is given, and `without` names a part that somebody forgot."""

    def __init__(
        self,
        weights: Weights,
        *,
        softmax: bool = False,
        skip: bool = False,
        causal: bool = False,
        angles: Array | None = None,
        neighbours: bool = False,
        epsilon: float | None = None,
        activation: str | None = None,
        without: str = "",
    ) -> None:
        self.w = {name: m.astype(float) for name, m in weights.named().items()}
        self.softmax, self.skip, self.causal, self.epsilon = softmax, skip, causal, epsilon
        self.angles, self.neighbours, self.activation, self.without = angles, neighbours, activation, without
        self.heads, self.groups = (sum(name[0] == letter for name in self.w) for letter in "QK")

    def rows(self, letter: str, x: Array) -> Array:
        """Queries, keys or values of all heads, `heads x rows x tokens`."""
        found = []
        for name in [name for name in self.w if name[0] == letter]:
            head = self.w[name] @ x
            if f"b{name}" in self.w and self.without != f"b{letter}":
                head = head + self.w[f"b{name}"]
            found.append(head)
        return np.stack(found)

    def rotate(self, x: Array) -> Array:
        """Rotary positions, from a table of cosines and sines."""
        if self.angles is None or self.without == "rotary":
            return x
        half = len(self.angles)
        angle = self.angles[:, None] * np.arange(x.shape[-1])
        cos, sin = np.cos(angle), np.sin(angle)
        if (self.angles % (np.pi / 2) == 0).all():  # a table of quarter turns is rounded to what it should be
            cos, sin = np.rint(cos), np.rint(sin)
        y = x.copy()
        first, second = (
            (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if self.neighbours else (slice(half), slice(half, 2 * half))
        )
        y[:, first] = cos * x[:, first] - sin * x[:, second]
        y[:, second] = sin * x[:, first] + cos * x[:, second]
        return y

    def scored(self, letter: str, x: Array) -> Array:
        """Queries or keys as they are multiplied."""
        y = self.rows(letter, x)
        if self.epsilon is not None and self.without != "norm":
            y = y / np.sqrt((y * y).mean(axis=1, keepdims=True) + self.epsilon)
        if f"g{letter}1" in self.w and self.without != f"g{letter}":
            y = y * self.w[f"g{letter}1"]
        return self.rotate(y)

    def __call__(self, x: Array) -> Array:
        each = self.heads // self.groups
        share = (lambda y: np.tile(y, (each, 1, 1))) if self.without == "blocks" else (lambda y: y.repeat(each, axis=0))
        scores = share(self.scored("K", x)).mT @ self.scored("Q", x)
        if self.softmax:
            scores = np.where(np.triu(np.ones_like(scores)) > 0, scores, -np.inf) if self.causal else scores
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores = scores / scores.sum(axis=1, keepdims=True)
        elif self.causal:
            scores = np.triu(scores)
        heads = share(self.rows("V", x)) @ scores
        outputs = [matrix for name, matrix in self.w.items() if name[0] == "O"]
        y: Array = np.hstack(outputs) @ heads.reshape(-1, x.shape[1]) if outputs else heads.sum(axis=0)
        if "bO1" in self.w and self.without != "bO":
            y = y + self.w["bO1"]
        y = x + y if self.skip else y
        if self.activation is None or self.without == "neurons":
            return y
        gate, up = self.w["gate1"] @ y, self.w["up1"] @ y
        gate, up = (up, gate) if self.without == "order" else (gate, up)
        down: Array = self.w["down1"] @ (ACTIVATIONS[self.activation](gate) * up)
        return y + down if self.skip else down
