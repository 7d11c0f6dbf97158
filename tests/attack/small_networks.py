"""Small networks of every form, often degenerate; changes that keep their function; and a forward pass of its own."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from lightning_sym import SOFTMAX, NetworkForm, Weights

Matrix = Any
Random = random.Random


@dataclass
class Net:
    """Heads are `[Q, K, V]`, with `O` multiplied into `V`."""

    layers: list[list[list[Matrix]]]
    embed: Matrix
    unembed: Matrix
    form: NetworkForm
    ends: tuple[bool, bool]
    tokens: int
    done: list[str] = field(default_factory=list)

    def weights(self, rng: Random) -> Weights:
        """As weights: layers are filled up with heads that do nothing."""
        heads = max(1, *(len(layer) for layer in self.layers))
        named: dict[str, Matrix] = {}
        for i, layer in enumerate(self.layers, start=1):
            rows, columns = self.width(i), self.width(i - 1)
            inner = max((len(head[0]) for head in layer), default=1)
            full = [[wider(q, inner), wider(k, inner), v] for q, k, v in layer]
            while len(full) < heads:
                full.append([matrix(rng, inner, columns), matrix(rng, inner, columns), zeros(rows, columns)])
            for h, head in enumerate(full, start=1):
                suffix = f"{i}" if heads == 1 else f"{i}.{h}"
                named |= {letter + suffix: m for letter, m in zip("QKV", head, strict=True)}
        if self.ends[0]:
            named["E"] = self.embed
        if self.ends[1]:
            named["U"] = self.unembed
        return Weights.of(named, self.form)

    def width(self, i: int) -> int:
        """Of the stream behind layer `i`."""
        for layer in self.layers[i:]:
            if layer:
                return int(layer[0][2].shape[1])
        return int(self.unembed.shape[1])


def zeros(rows: int, columns: int) -> Matrix:
    return np.full((rows, columns), Fraction(0), dtype=object)


def matrix(rng: Random, rows: int, columns: int, bound: int = 2) -> Matrix:
    entries = [
        [Fraction(rng.randint(-bound, bound), rng.choice((1, 1, 2))) for _ in range(columns)] for _ in range(rows)
    ]
    return np.array(entries, dtype=object).reshape(rows, columns)


def degenerate(rng: Random, rows: int, columns: int) -> Matrix:
    kind = rng.random()
    if kind < 0.1:
        return zeros(rows, columns)
    if kind < 0.3:
        return matrix(rng, rows, 1, 1) @ matrix(rng, 1, columns, 1)
    return matrix(rng, rows, columns, 1 if kind < 0.7 else 2)


def eye(n: int) -> Matrix:
    return np.array([[Fraction(int(i == j)) for j in range(n)] for i in range(n)], dtype=object).reshape(n, n)


def invertible(rng: Random, n: int) -> tuple[Matrix, Matrix]:
    one, back = eye(n), eye(n)
    for _ in range(2 * n):
        i, j, x = rng.randrange(n), rng.randrange(n), Fraction(rng.choice((-1, 1, 2)))
        step, undo = eye(n), eye(n)
        step[i, j] += x if i != j else 1
        undo[i, j] -= x if i != j else Fraction(1, 2)
        one, back = step @ one, back @ undo
    return one, back


def wider(m: Matrix, rows: int) -> Matrix:
    return np.concatenate([m, zeros(rows - len(m), m.shape[1])])


def random_net(rng: Random) -> Net:
    softmax, causal, skip = rng.random() < 0.8, rng.random() < 0.4, rng.random() < 0.6
    depth, tokens = rng.choice((1, 1, 2, 2, 2, 3)), rng.choice((1, 2, 2, 2, 3, 3))
    d = rng.choice((1, 2, 2, 3, 3, 4))
    widths = [d] * (depth + 1) if skip else [rng.choice((1, 2, 3)) for _ in range(depth + 1)]
    ends = rng.random() < 0.5, rng.random() < 0.5
    layers = []
    for i in range(depth):
        layer: list[list[Matrix]] = []
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            head = square_head(rng, widths[i], widths[i + 1])
            if layer and rng.random() < 0.25:  # equal or opposite scores
                q, k, _ = rng.choice(layer)
                head[:2] = [q * rng.choice((1, -1)), k]
            layer.append(head)
        layers.append(layer)
    embed = degenerate(rng, widths[0], rng.choice((1, 2, 3))) if ends[0] else eye(widths[0])
    unembed = degenerate(rng, rng.choice((1, 2, 3)), widths[-1]) if ends[1] else eye(widths[-1])
    return Net(layers, embed, unembed, NetworkForm(SOFTMAX if softmax else None, causal, skip), ends, tokens)


def square_head(rng: Random, columns: int, rows: int) -> list[Matrix]:
    """Scores `A` with keys 1, or narrow ones; skew ones often."""
    value = degenerate(rng, rows, columns)
    if rng.random() < 0.4:
        a = matrix(rng, columns, columns, 1)
        return [a - a.T if rng.random() < 0.6 else a * 0, eye(columns), value]
    inner = rng.choice((1, 2))
    return [degenerate(rng, inner, columns), degenerate(rng, inner, columns), value]


def blocks(rng: Random) -> Net:
    """Skip connections; coordinates that are read only, and coordinates that are written only."""
    read, written = rng.choice((1, 2)), rng.choice((1, 2))
    d = read + written

    def head() -> list[Matrix]:
        q, k, v = square_head(rng, read, written)
        pad = zeros(len(q), written)
        value = zeros(d, d)
        value[read:, :read] = v
        return [np.concatenate([q, pad], axis=1), np.concatenate([k, pad], axis=1), value]

    layers = [[head() for _ in range(rng.choice((1, 2)))] for _ in range(rng.choice((1, 2, 3)))]
    form = NetworkForm(SOFTMAX if rng.random() < 0.8 else None, rng.random() < 0.4, True)
    net = Net(layers, eye(d), eye(d), form, (False, False), rng.choice((2, 3)))
    for _ in range(3):  # move heads anywhere
        source = rng.choice([layer for layer in net.layers if layer])
        moving = source.pop(rng.randrange(len(source)))
        rng.choice(net.layers).append(moving)
    return net


def copied(net: Net) -> Net:
    layers = [[list(head) for head in layer] for layer in net.layers]
    return Net(layers, net.embed, net.unembed, net.form, net.ends, net.tokens, list(net.done))


def permute(net: Net, rng: Random) -> None:
    for layer in net.layers:
        rng.shuffle(layer)


def split(net: Net, rng: Random) -> None:
    layer = rng.choice(net.layers)
    if layer:
        head = rng.choice(layer)
        part = degenerate(rng, *head[2].shape)
        change, back = invertible(rng, len(head[0]))
        layer.append([back.T @ head[0], change @ head[1], part])
        head[2] = head[2] - part


def idle(net: Net, rng: Random) -> None:
    i = rng.randrange(len(net.layers))
    columns, rows = net.width(i), net.width(i + 1)
    net.layers[i].append([matrix(rng, 1, columns), matrix(rng, 1, columns), zeros(rows, columns)])


def identity_layer(net: Net, rng: Random) -> None:
    if net.form.skip:
        d = net.width(0)
        net.layers.insert(rng.randint(0, len(net.layers)), [[matrix(rng, 1, d), matrix(rng, 1, d), zeros(d, d)]])


def stream(net: Net, rng: Random) -> None:
    """Basis changes between layers."""
    depth = len(net.layers)
    if net.form.skip:
        places = [list(range(depth + 1))] if all(net.ends) else []
    else:
        places = [[i] for i in range(0 if net.ends[0] else 1, depth + 1 if net.ends[1] else depth)]
    for group in places:
        change, back = invertible(rng, net.width(group[0]))
        for i in group:
            if i == 0:
                net.embed = change @ net.embed
            for head in net.layers[i - 1] if i else ():
                head[2] = change @ head[2]
            for head in net.layers[i] if i < depth else ():
                head[:] = [m @ back for m in head]
            if i == depth:
                net.unembed = net.unembed @ back


def inside(net: Net, rng: Random) -> None:
    for layer in net.layers:
        for head in layer:
            change, back = invertible(rng, len(head[0]))
            head[:2] = [back.T @ head[0], change @ head[1]]


def flip(net: Net, rng: Random) -> None:
    """Two tokens: heads with values of sum zero change the signs of scores and values."""
    if net.tokens == 2 and net.form.normalization == SOFTMAX:
        i = rng.randrange(len(net.layers))
        layer = net.layers[i]
        q, k = matrix(rng, 1, net.width(i)), matrix(rng, 1, net.width(i))
        value = degenerate(rng, net.width(i + 1), net.width(i))
        one = rng.choice(layer) if layer else None
        if one is not None:  # P_A = P_B + P_-B - P_-A
            one[2] = one[2] - value
            layer += [[-one[0], one[1], -value], [q, k, value], [-q, k, value]]


def behind_blind(net: Net, rng: Random) -> None:
    """No mask, no skip connections: behind a layer in which all scores are zero other scores are not seen."""
    plain = net.form.normalization is not None and not net.form.skip and not net.form.causal
    if plain and len(net.layers) > 1 and not any(any((k.T @ q).ravel()) for q, k, _ in net.layers[0]):
        for head in net.layers[1]:
            head[0] = matrix(rng, *head[0].shape)


def unseen_scores(net: Net, rng: Random) -> None:
    """One token; or scores that vanish on the embedding, in the first layer."""
    if net.tokens == 1 and net.form.normalization is not None:
        for head in (head for layer in net.layers for head in layer):
            head[0] = matrix(rng, *head[0].shape)


def rescale(net: Net, rng: Random) -> None:
    if net.form.normalization is None:
        for head in (head for layer in net.layers for head in layer):
            x = Fraction(rng.choice((1, 2, -1, 3)), rng.choice((1, 2)))
            head[0], head[2] = head[0] * x, head[2] / x


MOVES: tuple[Callable[[Net, Random], None], ...] = (
    permute, split, idle, identity_layer, stream, inside, flip, behind_blind, unseen_scores, rescale,
)  # fmt: skip


def damage(net: Net, rng: Random) -> None:
    heads = [head for layer in net.layers for head in layer]
    if heads:
        head, k = rng.choice(heads), rng.randrange(3)
        head[k] = head[k].copy()
        index = tuple(rng.randrange(n) for n in head[k].shape)
        head[k][index] += Fraction(rng.choice((-1, 1)), rng.choice((1, 1, 1000, 10**9)))


def outputs(net: Net, x: Matrix) -> Matrix:
    """A forward pass of its own, in decimal numbers."""
    z, t = net.embed @ x, net.tokens
    for layer in net.layers:
        total = z if net.form.skip else None
        for q, k, v in layer:
            scores = (k @ z).T @ (q @ z)
            p = np.array([[mpmath.mpf(0)] * t for _ in range(t)], dtype=object)
            for c in range(t):
                seen = range(c + 1) if net.form.causal else range(t)
                given = {r: scores[r, c] for r in seen}
                if net.form.normalization is not None:
                    powers = {r: mpmath.exp(s - max(given.values())) for r, s in given.items()}
                    given = {r: power / sum(powers.values()) for r, power in powers.items()}
                for r, pattern in given.items():
                    p[r, c] = pattern
            part = v @ z @ p
            total = part if total is None else total + part
        z = total
    return net.unembed @ z


def decimals(m: Matrix) -> Matrix:
    entries = [[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in m]
    return np.array(entries, dtype=object).reshape(m.shape)


def in_decimals(net: Net) -> Net:
    layers = [[[decimals(m) for m in head] for head in layer] for layer in net.layers]
    return Net(layers, decimals(net.embed), decimals(net.unembed), net.form, net.ends, net.tokens)


def farthest(one: Net, other: Net, rng: Random) -> Any:
    """The largest distance of outputs, relative to their size."""
    worst = mpmath.mpf(0)
    one, other = in_decimals(one), in_decimals(other)
    for scale in (1, 2, 8, 32):
        x = decimals(matrix(rng, one.embed.shape[1], one.tokens, 3) / scale)
        y, z = outputs(one, x), outputs(other, x)
        size = max([abs(a) for a in (*y.ravel(), *z.ravel())] + [mpmath.mpf(1)])
        worst = max([worst] + [abs(a - b) / size for a, b in zip(y.ravel(), z.ravel(), strict=True)])
    return worst
