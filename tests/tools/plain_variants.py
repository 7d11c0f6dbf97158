"""Variants of attention once more, token by token and coordinate by coordinate, in plain numbers of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from lightning_sym import Architecture
from lightning_sym.network.rotary import Rotary

Vector = list[Any]
Rows = list[list[Any]]

ELEMENTARY: dict[str, Callable[[Any], Any]] = {}
"""Functions by name, and `cos` and `sin`, where somebody's numbers have them."""


def times(matrix: Rows, v: Vector) -> Vector:
    return [sum((a * b for a, b in zip(row[1:], v[1:], strict=True)), row[0] * v[0]) for row in matrix]


def plus(one: Vector, other: Vector) -> Vector:
    return [a + b for a, b in zip(one, other, strict=True)]


def column(matrix: Rows) -> Vector:
    return [entry for (entry,) in matrix]


def rotated(
    v: Vector, position: int, rotary: Rotary, number: Callable[[Fraction], Any], known: Mapping[str, Any]
) -> Vector:
    """Pair by pair, a small rotation applied as often as the position says; by an angle at once."""
    found = list(v)
    width = 2 * len(rotary.turns) or rotary.width or len(v)
    for k in range(width // 2):
        i, j = (k, k + width // 2) if rotary.pairs == "halves" else (2 * k, 2 * k + 1)
        x, y = v[i], v[j]
        if rotary.base is None:
            c, s = map(number, rotary.points[k])
            for _ in range(position):
                x, y = c * x - s * y, s * x + c * y
        else:
            angle = position * number(Fraction(rotary.base)) ** (number(Fraction(-2 * k)) / width)
            c, s = known["cos"](angle), known["sin"](angle)
            x, y = c * x - s * y, s * x + c * y
        found[i], found[j] = x, y
    return found


def plain_variant(
    x: Rows,
    shape: Architecture,
    weights: Mapping[str, Rows],
    pattern: Callable[[Vector], Vector] = lambda scores: scores,
    number: Callable[[Fraction], Any] = lambda fraction: fraction,
    known: Mapping[str, Callable[[Any], Any]] = ELEMENTARY,
) -> Rows:
    """The output of a network with every variant that is declared; `number` makes a number of a fraction."""
    tokens = [list(token) for token in zip(*x, strict=True)]
    if shape.embed is not None:
        tokens = [times(weights["E"], token) for token in tokens]
    for i in range(1, shape.depth + 1):
        tokens = layer(tokens, i, shape, weights, pattern, number, known)
    if shape.unembed is not None:
        tokens = [times(weights["U"], token) for token in tokens]
    return [list(row) for row in zip(*tokens, strict=True)]


def layer(tokens: Rows, i: int, shape: Architecture, weights: Any, pattern: Any, number: Any, known: Any) -> Rows:
    """What stands behind layer `i`, a list for each token."""

    def seen(letter: str, end: str, token: Vector, position: int) -> Vector:
        v = times(weights[letter + end], token)
        if letter in shape.biases:
            v = plus(v, column(weights[f"b{letter}{end}"]))
        if letter == "V":
            return v
        if shape.epsilon is not None:
            mean = sum(a * a for a in v) / len(v) + number(shape.epsilon)
            v = [a / known["sqrt"](mean) for a in v]
        if shape.gains:
            v = [a * g for a, g in zip(v, column(weights[f"g{letter}{i}"]), strict=True)]
        return v if shape.rotary is None else rotated(v, position, shape.rotary, number, known)

    written = []
    for t, token in enumerate(tokens):
        parts = [token] if shape.skip else []
        for h in range(shape.heads):
            group = h if shape.key_heads is None else h * shape.key_heads // shape.heads
            own, shared = (f"{i}" if shape.heads == 1 else f"{i}.{k + 1}" for k in (h, group))
            query = seen("Q", own, token, t)
            others = range(t + 1) if shape.causal else range(len(tokens))
            scores = [sum(a * b for a, b in zip(query, seen("K", shared, tokens[j], j), strict=True)) for j in others]
            for j, attention in zip(others, pattern(scores), strict=True):
                value = seen("V", shared, tokens[j], j)
                value = value if shape.value_ranks is None else times(weights["O" + own], value)
                parts.append([attention * a for a in value])
        if "O" in shape.biases:
            parts.append(column(weights[f"bO{i}"]))
        total = parts[0]
        for part in parts[1:]:
            total = plus(total, part)
        written.append(total)
    return written if shape.gate is None else [gated(token, i, shape, weights, number, known) for token in written]


def gated(token: Vector, i: int, shape: Architecture, weights: Any, number: Any, known: Any) -> Vector:
    """The half with gated neurons, at one token."""
    function = shape.gate
    gates = times(weights[f"gate{i}"], token)
    if isinstance(function, str):
        gates = [known[function](g) for g in gates]
    else:
        gates = [sum(number(c) * g**k for k, c in enumerate(function or ())) for g in gates]
    ups = times(weights[f"up{i}"], token)
    down = times(weights[f"down{i}"], [g * u for g, u in zip(gates, ups, strict=True)])
    return plus(token, down) if shape.skip else down
