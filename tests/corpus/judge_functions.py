"""Are two networks with a form the same function? By balls around their outputs for some inputs, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from lightning_sym import Weights
from lightning_sym.network.attention import network_output
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dual_balls import DualBalls

Document = dict[str, Any]
BITS, INPUTS = 400, 5
"""Outputs that agree so far, at so many inputs, are taken for equal: the networks have small numbers."""

FEW, MOST = 8, 200
"""Tokens with a mask, and the most without, that outputs are taken for."""


def _rectangular(matrices: Document) -> dict[str, Any]:
    """Weights as the program takes them, which has equally many heads, of equal widths, in all layers."""
    found: dict[str, Any] = {name: [[Fraction(x) for x in row] for row in m] for name, m in matrices.items()}
    layers: dict[int, list[dict[str, Any]]] = {}
    for name, m in found.items():
        if name not in ("E", "U"):
            layer, _, place = name[1:].partition(".")
            heads = layers.setdefault(int(layer), [])
            heads.extend({} for _ in range(int(place or 1) - len(heads)))
            heads[int(place or 1) - 1][name[0]] = np.array(m, dtype=object)
    most = max(map(len, layers.values()))
    named: dict[str, Any] = {name: found[name] for name in ("E", "U") if name in found}
    for i, heads in layers.items():
        heads.extend({c: 0 * m for c, m in heads[0].items()} for _ in range(most - len(heads)))
        inner = max(len(head["Q"]) for head in heads)
        for k, head in enumerate(heads, 1):
            attention = np.full((2, inner, head["Q"].shape[1]), Fraction(0), dtype=object)
            attention[0, : len(head["Q"])], attention[1, : len(head["K"])] = head["Q"], head["K"]
            value = head["O"] @ head["V"] if "O" in head else head["V"]
            where = f"{i}.{k}" if most > 1 else f"{i}"
            named |= {f"Q{where}": attention[0], f"K{where}": attention[1], f"V{where}": value}
    return named


def are_the_same(document: Document) -> bool | None:
    """Whether the outputs meet at all inputs that are tried; `None` if balls are too large, or there is none."""
    form, rng = NetworkForm.from_json(document["form"]), Random(0)
    # with a mask the first tokens alone are a network of their own
    tokens = min(document["tokens"], FEW) if form.causal else document["tokens"]
    if tokens > MOST:
        return None
    networks = [Weights.of(_rectangular(document[side]), form) for side in ("first", "second")]
    shapes = [w.architecture(tokens) for w in networks]
    with precision(BITS):
        matrices = [[DualBalls.of(m) for m in w.matrices.values()] for w in networks]
        for _ in range(INPUTS):
            rows = [[Fraction(rng.randint(-99, 99), 64) for _ in range(tokens)] for _ in range(shapes[0].input_width)]
            x = DualBalls.of(np.array(rows, dtype=object))
            first, second = (
                network_output(x, shape, m).values().ravel() for shape, m in zip(shapes, matrices, strict=True)
            )
            pairs = list(zip(first, second, strict=True))
            if any(not a.overlaps(b) for a, b in pairs):
                return False
            if any(not (a - b).is_finite() or (a - b).rad() > 1e-30 for a, b in pairs):
                return None
    return True
