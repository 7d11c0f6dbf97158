"""Decoders of docs/whole-models.md over power series modulo a prime, and the rank of their Jacobians.

Written from the page, apart from the forward passes of the library. The input of a token is $t u$, all biases and
positions are multiplied by $t$, and $\\varepsilon = 1$ (another one is a change of scale): every norm, softmax and
activation is then a power series in $t$ with rational coefficients. Cosines and sines are those of points of the circle
modulo the prime. Frequencies are $1, 1/2, 1/4, \\dots$, that is, $\\theta = 2^{a/2}$: of one number
$e^{\\mathrm i \\omega}$, transcendental, all others are powers, so that any such point is a specialization of the true
ones, and a rank that is found there is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from proofs_check.series_ranks import P, Residues, elementary_divisors, rank

DecoderWeights = dict[str, Residues]
"""Residues by name. Of series the axes are tangents (0 is the value), prompts, powers of t, rows, columns."""


@dataclass(frozen=True)
class Decoder:
    """Sizes and parts of a decoder; `d` is the width, `n` the number of tokens, `m` of neurons in a layer."""

    d: int = 4
    n: int = 4
    layers: int = 1
    heads: int = 1
    groups: int = 1
    a: int = 2
    m: int = 2
    tokens: int = 3
    layer_norm: bool = False
    gated: bool = True
    rotary: bool = True
    gains: bool = False
    tied: bool = False
    biases: frozenset[str] = frozenset()
    head_norms: bool = False
    behind: bool = False
    activation: str = "silu"
    unturned: frozenset[int] = frozenset()
    cap: int | None = None

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all weights, by name: `layer.piece`."""
        found: dict[str, tuple[int, ...]] = {"E": (self.d, self.n)}
        if "positions" in self.biases:
            found["positions"] = (self.d, self.tokens)
        for layer in range(self.layers):
            found |= {f"{layer}.{name}": shape for name, shape in self._layer().items()}
        if self.gains or self.tied:
            found["gain"] = (self.d, 1)
        if "norm" in self.biases:
            found["bias"] = (self.d, 1)
        return found if self.tied else found | {"U": (self.n, self.d)}

    def _layer(self) -> dict[str, tuple[int, ...]]:
        d, a, m = self.d, self.a, self.m
        found: dict[str, tuple[int, ...]] = {}
        for name, count in (("query", self.heads), ("key", self.groups), ("value", self.groups)):
            found[name] = (count, a, d)
            if name in self.biases:
                found[f"{name} bias"] = (count, a, 1)
        found |= {"output": (self.heads, d, a), "up": (m, d), "down": (d, m)}
        found |= {"gate": (m, d)} if self.gated else {}
        sizes = {"output": d, "up": m, "gate": m, "down": d}
        found |= {f"{name} bias": (sizes[name], 1) for name in sizes if name in self.biases}
        found |= {f"norm{k} bias": (d, 1) for k in (1, 2) if "norm" in self.biases}
        found |= {f"norm{k} gain": (d, 1) for k in (1, 2) if self.gains}
        found |= {f"{name} gain": (a, 1) for name in ("query", "key") if self.head_norms}
        return found | {f"behind{k}": (d, 1) for k in (1, 2) if self.behind}

    @property
    def parameters(self) -> int:
        """How many numbers it has."""
        return sum(int(np.prod(shape)) for shape in self.shapes().values())

    def draw(self, random: np.random.Generator) -> DecoderWeights:
        """Return random weights, none of which is 0."""
        return {name: random.integers(1, P, shape) for name, shape in self.shapes().items()}


def _over(numerator: int, denominator: int) -> int:
    return numerator * pow(denominator, -1, P) % P


def _in_one_letter(first: list[int], second: list[int]) -> list[int]:
    """Multiply two series in one letter."""
    return [sum(first[i] * second[n - i] for i in range(n + 1)) % P for n in range(len(first))]


def _root_series(order: int) -> list[int]:
    """Return the coefficients of $(1 + z)^{-1/2}$."""
    found = [1]
    for k in range(1, order):
        found.append(found[-1] * _over(1 - 2 * k, 2 * k) % P)
    return found


def _exponential(order: int) -> list[int]:
    found = [1]
    for k in range(1, order):
        found.append(_over(found[-1], k))
    return found


def cap_series(cap: int, order: int) -> list[int]:
    r"""Return the coefficients of $t \tanh(z / t)$ at 0, by its differential equation."""
    found = [0] * order
    for k in range(1, order):
        square = _in_one_letter(found, found)[k - 1]
        found[k] = _over((k == 1) - square * pow(cap, -2, P), k) % P
    return found


GELU_SLOPE = 1234567
"""Stands for $(8/\\pi)^{1/2}$, which is transcendental: any residue is a specialization of it."""


def activation_series(name: str, order: int) -> list[int]:
    """Return the coefficients at 0 of SiLU, of GELU, whose density at 0 is transcendental too, or that with tanh."""
    if name == "gelu":
        whole = [0, _over(1, 2)] + [0] * order
        for k in range(order // 2):
            whole[2 * k + 2] = GELU_SLOPE * _over((-1) ** k, factorial(k) * 2**k * (2 * k + 1)) % P
        return whole[:order]
    half = [_over(1, 2)] + [0] * (order - 1)
    inner = [0] * order
    if name == "silu":
        inner[1] = P - 1
    else:
        inner[1] = -GELU_SLOPE % P
        if order > 3:
            inner[3] = -GELU_SLOPE * _over(44715, 10**6) % P
    grown, power = [0] * order, [1] + [0] * (order - 1)  # e^inner
    for coefficient in _exponential(order):
        grown = [(x + coefficient * y) % P for x, y in zip(grown, power, strict=True)]
        power = _in_one_letter(power, inner)
    inverse = half  # of 1 + e^inner, by Newton's iteration
    for _ in range(order.bit_length()):
        product = _in_one_letter(inverse, [(x + (k == 0)) % P for k, x in enumerate(grown)])
        inverse = _in_one_letter(inverse, [(2 * (k == 0) - x) % P for k, x in enumerate(product)])
    return [0, *inverse[:-1]]


Times = Callable[[Residues, Residues], Residues]


def _product(x: Residues, y: Residues, times: Times = np.multiply) -> Residues:
    """Multiply series, value and tangents together: entry by entry, or as matrices."""
    if len(x) == 1 or len(y) == 1:
        return _convolved(x, y, times)
    found = _convolved(x, y[:1], times) + _convolved(x[:1], y, times)
    found[0] = _convolved(x[:1], y[:1], times)[0]
    return found % P


def _convolved(x: Residues, y: Residues, times: Times) -> Residues:
    order = max(x.shape[2], y.shape[2])
    total: Any = None
    for i in range(x.shape[2]):
        part = times(x[:, :, i : i + 1], y[:, :, : order - i])
        if total is None:
            total = np.zeros((*part.shape[:2], order, *part.shape[3:]), dtype=np.int64)
        total[:, :, i : i + part.shape[2]] += part
    return np.asarray(total % P)


def _composed(coefficients: list[int], z: Residues) -> Residues:
    """Put a series without constant term into one in one letter."""

    def horner(row: list[int]) -> Residues:
        found = np.zeros_like(z[:1])
        for coefficient in reversed(row):
            found = _product(found, z[:1])
            found[:, :, 0] += coefficient
        return found % P

    slopes = [k * c % P for k, c in enumerate(coefficients)][1:]
    found = _product(horner(slopes), z)
    found[0] = horner(coefficients)[0]
    return found


class _Pass:
    """The forward pass of one decoder at one point, with a tangent for each number if these are asked for."""

    def __init__(self, one: Decoder, weights: DecoderWeights, order: int, circle: int, *, tangents: bool) -> None:
        self.one, self.order, self.circle = one, order, circle
        self.parts: dict[str, Residues] = {}
        start, count = 1, 1 + tangents * one.parameters
        for name, shape in one.shapes().items():
            values = weights[name].reshape(-1)
            found = np.zeros((count, len(values)), dtype=np.int64)
            found[0] = values
            if tangents:
                found[start + np.arange(len(values)), np.arange(len(values))] = 1
                start += len(values)
            self.parts[name] = found.reshape(count, *shape)

    def part(self, name: str, number: int | None = None) -> Residues:
        """Return a piece as series; biases and positions times `t`."""
        found = self.parts[name] if number is None else self.parts[name][:, number]
        found = found[:, None, None]
        return np.concatenate([0 * found, found], axis=2) if "bias" in name or name == "positions" else found

    def affine(self, name: str, x: Residues, number: int | None = None) -> Residues:
        """Apply a matrix, and add its bias if there is one."""
        return self.plus(_product(self.part(name, number), x, np.matmul), f"{name} bias", number)

    def plus(self, x: Residues, name: str, number: int | None = None) -> Residues:
        """Add a bias, if there is one."""
        if name not in self.parts:
            return x
        found = x.copy()
        found[:, :, :2] += self.part(name, number)
        return found % P

    def norm(self, x: Residues, gain: str, bias: str = "", *, centred: bool = False) -> Residues:
        """Divide by the root of the mean square plus one, columns being tokens."""
        if centred:
            x = (x - x.sum(axis=3, keepdims=True) % P * _over(1, x.shape[3])) % P
        square = _product(x, x).sum(axis=3, keepdims=True) % P * _over(1, x.shape[3]) % P
        y = _product(x, _composed(_root_series(self.order), square))
        return self.plus(_product(self.part(gain), y) if gain in self.parts else y, bias)

    def turned(self, x: Residues, layer: int) -> Residues:
        """Turn the rows of each frequency by the angle of each token's position."""
        if not self.one.rotary or layer in self.one.unturned:
            return x
        half = x.shape[3] // 2
        below = 1 + self.circle * self.circle
        x_of, y_of = _over(1 - self.circle**2, below), _over(2 * self.circle, below)
        points = [(x_of, y_of)]
        for _ in range(1, half):
            u, v = points[0]
            points.insert(0, ((u * u - v * v) % P, 2 * u * v % P))
        found = x.copy()
        for k, (u, v) in enumerate(points):
            cosine, sine = 1, 0
            for token in range(x.shape[4]):
                along, across = x[..., k, token], x[..., k + half, token]
                found[..., k, token] = (cosine * along - sine * across) % P
                found[..., k + half, token] = (sine * along + cosine * across) % P
                cosine, sine = (cosine * u - sine * v) % P, (sine * u + cosine * v) % P
        return found

    def attention(self, layer: int, y: Residues) -> Residues:
        """Return what the attention half adds."""
        one, total = self.one, None
        seen = np.triu(np.ones((one.tokens, one.tokens), dtype=np.int64))
        inverse = np.array([_over(1, i + 1) for i in range(one.tokens)])
        for head in range(one.heads):
            group = head // (one.heads // one.groups)
            query, key = (self.affine(f"{layer}.{x}", y, k) for x, k in (("query", head), ("key", group)))
            if one.head_norms:
                query, key = (self.norm(x, f"{layer}.{name} gain") for x, name in ((query, "query"), (key, "key")))
            scores = _product(np.swapaxes(self.turned(key, layer), 3, 4), self.turned(query, layer), np.matmul)
            if one.cap is not None:
                scores = _composed(cap_series(one.cap, self.order), scores)
            grown = _composed(_exponential(self.order), scores) * seen % P
            below = grown.sum(axis=3, keepdims=True) * inverse % P
            below[0, :, 0] -= 1
            geometric = [1, P - 1] * self.order
            shares = _product(grown, _composed(geometric[: self.order], below % P)) * inverse % P
            values = self.affine(f"{layer}.value", y, group)
            added = _product(self.part(f"{layer}.output", head), _product(values, shares, np.matmul), np.matmul)
            total = added if total is None else (total + added) % P
        return self.plus(np.asarray(total), f"{layer}.output bias")

    def mlp(self, layer: int, y: Residues) -> Residues:
        """Return what the MLP adds."""
        row, up = activation_series(self.one.activation, self.order), self.affine(f"{layer}.up", y)
        inner = _product(_composed(row, self.affine(f"{layer}.gate", y)), up) if self.one.gated else _composed(row, up)
        return self.affine(f"{layer}.down", inner)

    def logits(self, inputs: Residues) -> Residues:
        """Return the logits of prompts `(count, n, tokens)`, as series."""
        one = self.one
        given = np.zeros((1, len(inputs), self.order, *inputs.shape[1:]), dtype=np.int64)
        given[0, :, 1] = inputs
        stream = _product(self.part("E"), given, np.matmul)
        stream = self.plus(stream, "positions")
        for layer in range(one.layers):
            for k, half in ((1, self.attention), (2, self.mlp)):
                prefix = f"{layer}.norm{k}"
                added = half(layer, self.norm(stream, f"{prefix} gain", f"{prefix} bias", centred=one.layer_norm))
                stream = (stream + (self.norm(added, f"{layer}.behind{k}") if one.behind else added)) % P
        last = self.norm(stream, "gain", "bias", centred=one.layer_norm)
        ends = np.swapaxes(self.part("E"), 3, 4) if one.tied else self.part("U")
        return _product(ends, last, np.matmul)


def logits(one: Decoder, weights: DecoderWeights, inputs: Residues, order: int = 9, circle: int = 3) -> Residues:
    """Return the Taylor coefficients of logits modulo the prime: `(prompts, order, n, tokens)`.

    Example:
        >>> one, random = Decoder(), np.random.default_rng(1)
        >>> logits(one, one.draw(random), random.integers(0, P, (2, 4, 3))).shape
        (2, 9, 4, 3)
    """
    return np.asarray(_Pass(one, weights, order, circle, tangents=False).logits(inputs)[0])


def jacobian_rank(one: Decoder, order: int = 8, seed: int = 1, weights: DecoderWeights | None = None) -> int:
    """Return a rank of the map from weights to functions, modulo the prime: at most the functions' dimension.

    Example:
        >>> jacobian_rank(Decoder(d=2, n=2, m=1), order=5) <= Decoder(d=2, n=2, m=1).parameters
        True
    """
    random = np.random.default_rng(seed)
    at = one.draw(random) if weights is None else weights
    seen = one.tokens * min(one.n, one.d)  # of one prompt; series of them, with biases, are no more than one each
    count = 2 + (2 if one.biases else 1) * one.parameters // seen
    inputs = random.integers(0, P, (count, one.n, one.tokens))
    found = _Pass(one, at, order, int(random.integers(2, P)), tangents=True).logits(inputs)[1:]
    rows = found.transpose(1, 3, 4, 0, 2).reshape(-1, one.parameters, order)  # entries are series
    return (
        elementary_divisors(rows).total() if one.biases else rank(rows.transpose(0, 2, 1).reshape(-1, one.parameters))
    )
