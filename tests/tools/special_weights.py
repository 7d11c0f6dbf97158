"""Weights at which fibers are larger than elsewhere: zero, equal and opposite heads, rank one, skew scores."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from lightning_sym import Architecture, Normalization, Weights

KINDS = ("zero", "rank one", "unit", "equal", "opposite", "skew")


def special(weights: Weights, architecture: Architecture, generator: random.Random, kind: str) -> Weights:
    """The weights with one matrix, or one head, made special."""
    named = dict(weights.matrices)
    name = generator.choice([name for name in named if name[0] in "QKVO"])
    heads = [name[:1] + architecture.head_name(int(name[1]), h) for h in range(1, architecture.heads + 1)]
    other, letters = generator.choice(heads)[1:], "QK" if name[0] in "QK" else name[0]
    matrix = named[name]
    if kind == "zero":
        named[name] = 0 * matrix
    elif kind == "rank one":
        named[name] = np.outer(matrix[:, 0], matrix[0])
    elif kind == "unit":
        named[name] = 0 * matrix
        named[name][0, 0] = Fraction(1)
    elif kind in ("equal", "opposite"):
        for letter in letters:
            named[letter + name[1:]] = named[letter + other]
        if kind == "opposite":
            named[name] = -named[name]
    elif min(named["Q" + name[1:]].shape) > 1:  # skew
        query, key = (0 * named[letter + name[1:]] for letter in "QK")
        query[0, 0] = key[0, 1] = key[1, 0] = Fraction(1)
        query[1, 1] = Fraction(-1)
        named["Q" + name[1:]], named["K" + name[1:]] = query, key
    return Weights.of(named, weights.form)


def drawn_network(
    generator: random.Random, normalization: Normalization | None, most: int, kinds: int = 3
) -> tuple[Architecture, Weights]:
    """A small network of any options with at most so many weights, and weights with up to so many things special."""
    while True:
        depth, skip = generator.choice([1, 2]), generator.random() < 0.5
        widths = [generator.randint(1, 3) for _ in range(depth + 1)]
        ends = [generator.choice([None, None, 1, 2, 3]) for _ in range(2)]
        architecture = Architecture(
            tuple(widths[:1] * (depth + 1) if skip else widths),
            tuple(generator.randint(1, 3) for _ in range(depth)),
            generator.choice([1, 2, 2, 3]),
            normalization,
            heads=generator.choice([1, 2, 2, 3]),
            value_ranks=tuple(generator.randint(1, 2) for _ in range(depth)) if generator.random() < 0.4 else None,
            skip=skip,
            causal=generator.random() < 0.4,
            embed=ends[0],
            unembed=ends[1],
        )
        if architecture.parameter_count <= most:
            break
    weights = Weights.random(architecture, seed=generator.randint(0, 10**6), bound=3, denominator=2)
    for _ in range(generator.randint(0, kinds)):
        weights = special(weights, architecture, generator, generator.choice(KINDS))
    return architecture, weights
