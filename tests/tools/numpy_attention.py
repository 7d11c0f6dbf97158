"""Attention in plain NumPy, as somebody else writes it, with the mistakes that somebody else makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym import Weights

Floats = npt.NDArray[Any]


def attention(weights: Weights, dtype: Any = np.float64, mistake: str = "") -> Callable[[Floats], Floats]:
    """The network with these weights, token by token; or with a mistake.

    Mistakes: `mask` (missing, or there though it should not be), `turned mask`, `transposed` (of A), `scaled` (scores
    by 1/sqrt(a)), `skip` (missing, or there), `one head`, `averaged heads`, `ulp` (the first output one float further),
    `unnormalized`, `nan`.
    """
    shape, named = weights.architecture(1), {name: m.astype(dtype) for name, m in weights.named().items()}
    causal = weights.form.causal != (mistake == "mask")
    skip = weights.form.skip != (mistake == "skip")

    def layer(x: Floats, i: int) -> Floats:
        d_out, t = shape.widths[i], x.shape[1]
        out = x.copy() if skip else np.zeros((d_out, t), dtype=dtype)
        heads = range(1, shape.heads + 1)
        for h in [1] if mistake == "one head" else heads:
            name = f"{i}" if shape.heads == 1 else f"{i}.{h}"
            q, k, v = (named[letter + name] @ x for letter in "QKV")
            v = v if f"O{name}" not in named else named[f"O{name}"] @ v
            for token in range(t):
                others = range(token + 1) if causal else range(t)
                if mistake == "turned mask":
                    others = range(token, t)
                pair = (k, q) if mistake != "transposed" else (q, k)
                scores = np.array([pair[0][:, j] @ pair[1][:, token] for j in others], dtype=dtype)
                if mistake == "scaled":
                    scores = (scores / np.sqrt(dtype(len(q)))).astype(dtype)
                if weights.form.normalization is not None:
                    scores = np.exp(scores - scores.max())
                    scores = scores if mistake == "unnormalized" else scores / scores.sum()
                share = dtype(1) if mistake != "averaged heads" else dtype(1 / shape.heads)
                out[:, token] += share * sum(s * v[:, j] for s, j in zip(scores, others, strict=True))
        return out

    def function(x: Floats) -> Floats:
        x = named["E"] @ x if "E" in named else x
        for i in range(1, shape.depth + 1):
            x = layer(x, i)
        x = named["U"] @ x if "U" in named else x
        if mistake == "ulp":
            x[0, 0] = np.nextafter(x[0, 0], dtype(np.inf))
        if mistake == "nan":
            x[-1, -1] *= np.nan
        return x

    return function
