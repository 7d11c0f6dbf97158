"""A transformer over fractions whose functions are rounded as the playground says, written from the words of it."""

from __future__ import annotations

from fractions import Fraction
from math import cos, exp, floor, isqrt, sin, sqrt
from typing import Any

import numpy as np

from lightning_cli.writing.moves import exact

ONE = 64
"""Values of functions are multiples of one over it."""


def _root(square: Fraction) -> Fraction:
    """Return the reciprocal root, rounded down."""
    inverse = ONE**2 / square
    return Fraction(isqrt(floor(inverse)), ONE)


def _normed(form: Any, x: Any, gain: Any) -> Any:
    rows = [row * _root(Fraction(sum(c * c for c in row)) / len(row) + form.epsilon) for row in x]
    return np.array(rows) * exact(gain)


def _exponential(fall: Fraction, width: int) -> int:
    return round(ONE * exp(-floor(4 * fall) / 4 / sqrt(width)))


def _gate(x: Fraction) -> Fraction:
    step = floor(8 * x)
    if step < -64:
        return Fraction(0)
    return Fraction(step, 8) if step > 64 else Fraction(round(ONE * step / 8 / (1 + exp(-step / 8))), ONE)


def _turned(form: Any, x: Any) -> Any:
    half, found = form.head_width // 2, []
    for place, row in enumerate(x):
        angles = [place * float(form.theta) ** (-i / half) for i in range(half)]
        c, s = ([Fraction(round(ONE * f(angle)), ONE) for angle in angles] for f in (cos, sin))
        first = [c[i] * row[i] - s[i] * row[i + half] for i in range(half)]
        found.append(first + [s[i] * row[i] + c[i] * row[i + half] for i in range(half)])
    return np.array(found)


def _read(form: Any, q: Any, k: Any, v: Any) -> Any:
    found = []
    for i, query in enumerate(q):
        scores = [sum(query * key) for key in k[: i + 1]]
        weights = [_exponential(max(scores) - score, form.head_width) for score in scores]
        shares = [Fraction(floor(Fraction(ONE * weight, sum(weights))), ONE) for weight in weights]
        found.append(sum(share * row for share, row in zip(shares, v, strict=False)))
    return np.array(found)


def _plus(x: Any, bias: Any) -> Any:
    return x if bias is None else x + exact(bias)


def _mapped(block: Any, x: Any, name: str, at: int) -> Any:
    bias = getattr(block, f"{name}_bias")
    return _plus(x @ exact(getattr(block, name)[at]).T, None if bias is None else bias[at])


def rounded_logits(model: Any, prompt: list[int]) -> list[Fraction]:
    """Return the logits behind the last token."""
    form, ends = model.form, model.ends()
    x = exact(ends.embedding)[prompt]
    for number in range(form.layers):
        b = model.block(number)
        n, added = _normed(form, x, b.norm1_gain), 0
        for head in range(form.heads):
            group = head // (form.heads // form.groups)
            q, k, v = (_mapped(b, n, name, at) for name, at in (("query", head), ("key", group), ("value", group)))
            added = added + _read(form, _turned(form, q), _turned(form, k), v) @ exact(b.output[head]).T
        x = x + _plus(added, b.output_bias)
        m = _normed(form, x, b.norm2_gain)
        gate, up = (_plus(m @ exact(getattr(b, name)).T, getattr(b, f"{name}_bias")) for name in ("gate", "up"))
        x = x + _plus(np.vectorize(_gate, otypes=[object])(gate) * up @ exact(b.down).T, b.down_bias)
    return list(exact(ends.unembedding) @ _normed(form, x[-1:], ends.final_gain)[0])
