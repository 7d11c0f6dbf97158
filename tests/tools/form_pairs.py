"""Pairs of small networks of one form: equal by construction, nearly equal, or different."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from lightning_sym import SOFTMAX, Weights
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings.arrays import ObjectArray

Head = dict[str, ObjectArray]


def matrix(rng: Random, rows: int, columns: int, bound: int = 2) -> ObjectArray:
    return np.array([[Fraction(rng.randint(-bound, bound)) for _ in range(columns)] for _ in range(rows)], dtype=object)


def unitriangular(rng: Random, n: int) -> tuple[ObjectArray, ObjectArray]:
    """A matrix and its inverse."""
    g, inverse = (np.array([[Fraction(i == j) for j in range(n)] for i in range(n)], dtype=object) for _ in "gh")
    for _ in range(2 * n if n > 1 else 0):
        i, j = rng.sample(range(n), 2)
        x = Fraction(rng.choice((-1, 1, 2)), rng.choice((1, 1, 2)))
        g[i] += x * g[j]
        inverse[:, j] -= x * inverse[:, i]
    return g, inverse


def drawn_form(rng: Random) -> NetworkForm:
    return NetworkForm(rng.choice((None, SOFTMAX, SOFTMAX)), causal=rng.random() < 0.5, skip=rng.random() < 0.6)


def drawn(rng: Random, form: NetworkForm) -> dict[str, Any]:
    """Matrices by name: layers of heads, between embeddings."""
    n, d, m, depth = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2)
    widths = [d] * (depth + 1) if form.skip else [d, *(rng.randint(1, 3) for _ in range(depth))]
    layers = []
    for before, behind in pairwise(widths):
        heads: list[Head] = []
        for _ in range(rng.randint(1, 3)):
            a, b = rng.randint(1, 2), rng.randint(1, 2)
            head = {"Q": matrix(rng, a, before), "K": matrix(rng, a, before), "V": matrix(rng, b, before),
                    "O": matrix(rng, behind, b)}  # fmt: skip
            if heads and rng.random() < 0.3:  # equal or opposite scores
                head |= {"Q": rng.choice((-1, 1)) * heads[0]["Q"], "K": heads[0]["K"]}
            elif rng.random() < 0.2:
                head["Q"] = 0 * head["Q"]
            elif rng.random() < 0.2 and before > 1:  # skew
                head |= {"Q": np.eye(2, before, dtype=int) + Fraction(0), "K": np.eye(2, before, dtype=int)[::-1] * np.array([[Fraction(1)], [Fraction(-1)]])}  # fmt: skip  # noqa: E501
            heads.append(head)
        layers.append(heads)
    return {"E": matrix(rng, d, n), "layers": layers, "U": matrix(rng, m, widths[-1])}


def moved(rng: Random, network: dict[str, Any], form: NetworkForm, tokens: int) -> dict[str, Any]:
    """Another network with the same function."""
    layers = [[dict(head) for head in heads] for heads in network["layers"]]
    e, u = network["E"], network["U"]
    g, inverse = unitriangular(rng, e.shape[0])
    e = g @ e
    for heads in layers:
        behind = heads[0]["O"].shape[0]
        new, new_inverse = (g, inverse) if form.skip else unitriangular(rng, behind)
        for head in heads:
            c, c_inverse = unitriangular(rng, head["Q"].shape[0])
            o, o_inverse = unitriangular(rng, head["V"].shape[0])
            head |= {"Q": c @ head["Q"] @ inverse, "K": c_inverse.T @ head["K"] @ inverse,
                     "V": o @ head["V"] @ inverse, "O": new @ head["O"] @ o_inverse}  # fmt: skip
        if rng.random() < 0.4:  # one head in two, or a head that writes nothing
            head = rng.choice(heads)
            part = rng.choice((0, 1, Fraction(1, 3)))
            heads.append(head | {"O": part * head["O"]})
            head["O"] = (1 - part) * head["O"]
        if form.normalization is SOFTMAX and tokens == 2 and rng.random() < 0.5:  # P and J - P: alike added to both
            head, more = rng.choice(heads), matrix(rng, behind, 1)
            extra = {"K": head["K"], "V": matrix(rng, 1, head["V"].shape[1])}
            for sign in (1, -1):  # J for these values, less J for the same
                heads.append(extra | {"Q": sign * head["Q"], "O": more})
                heads.append(extra | {"Q": 0 * head["Q"], "O": -more})
        rng.shuffle(heads)
        g, inverse = new, new_inverse
    return {"E": e, "layers": layers, "U": u @ inverse}


def nearly(rng: Random, network: dict[str, Any]) -> dict[str, Any]:
    """One entry changed."""
    layers = [[dict(head) for head in heads] for heads in network["layers"]]
    head = rng.choice(rng.choice(layers))
    letter = rng.choice("QKVO")
    changed = head[letter].copy()
    changed[rng.randrange(changed.shape[0]), rng.randrange(changed.shape[1])] += rng.choice((-1, 1))
    head[letter] = changed
    return network | {"layers": layers}


def named(network: dict[str, Any]) -> dict[str, ObjectArray]:
    """By the names of certificates, as many heads in a layer as there are."""
    found = {"E": network["E"], "U": network["U"]}
    for i, heads in enumerate(network["layers"], 1):
        found |= {f"{letter}{i}.{k}": m for k, head in enumerate(heads, 1) for letter, m in head.items()}
    return found


def weights(network: dict[str, Any], form: NetworkForm) -> Weights:
    """Padded to equal widths of heads and equally many heads with zeros."""
    most = max(map(len, network["layers"]))
    padded = {"E": network["E"], "U": network["U"]}
    for i, heads in enumerate(network["layers"], 1):
        a, b = (max(head[letter].shape[0] for head in heads) for letter in "QV")
        for k in range(1, most + 1):
            head = heads[k - 1] if k <= len(heads) else {letter: 0 * m for letter, m in heads[0].items()}
            for letter, m in head.items():
                rows, columns = (m.shape[0], b) if letter == "O" else (b if letter == "V" else a, m.shape[1])
                full = np.full((rows, columns), Fraction(0), dtype=object)
                full[: m.shape[0], : m.shape[1]] = m
                padded[f"{letter}{i}.{k}" if most > 1 else f"{letter}{i}"] = full
    return Weights.of(padded, form)
