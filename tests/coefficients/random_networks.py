"""Small networks at weights that are degenerate in many ways."""

from __future__ import annotations

import random

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights

Rows = list[list[int]]


def degenerate_matrix(source: random.Random, rows: int, columns: int) -> Rows:
    """Full, zero, of rank one, sparse, or of small entries."""
    kind = source.choice(["full", "full", "zero", "one", "sparse", "small"])
    if kind == "one":
        left, right = ([source.randint(-1, 1) for _ in range(size)] for size in (rows, columns))
        return [[a * b for b in right] for a in left]
    numbers = {"zero": [0], "sparse": [0, 0, 0, 1], "small": [-1, 0, 1], "full": range(-5, 6)}[kind]
    return [[source.choice(numbers) for _ in range(columns)] for _ in range(rows)]


def degenerate_network(source: random.Random) -> tuple[Weights, int]:
    """Weights and tokens: one or two layers, up to three heads, masks, ends, heads that attend alike."""
    depth, heads, skip = source.choice([1, 1, 1, 2]), source.choice([1, 1, 2, 3]), source.random() < 0.3
    widths = [source.choice([1, 2, 2, 3]) if depth == 1 else source.choice([1, 2]) for _ in range(depth + 1)]
    shape = Architecture(
        tuple([widths[0]] * (depth + 1) if skip else widths),
        tuple(source.choice([1, 2, 3]) for _ in range(depth)),
        source.choice([1, 2, 2, 3]),
        SOFTMAX if source.random() < 0.6 else None,
        heads,
        tuple(source.choice([1, 2]) for _ in range(depth)) if source.random() < 0.3 else None,
        skip,
        source.random() < 0.3,
        source.choice([None, None, None, 1, 2, 3]),
        source.choice([None, None, None, 1, 2, 3]),
    )
    matrices = dict[str, Rows]()
    for name, (rows, columns) in shape.weight_shapes():
        first = f"{name.split('.')[0]}.1"
        alike = name[0] in "QK" and first in matrices and source.random() < 0.5
        matrices[name] = matrices[first] if alike else degenerate_matrix(source, rows, columns)
    return Weights.of(matrices, NetworkForm.of(shape)), shape.tokens


def degenerate_layer(source: random.Random) -> tuple[Weights, int]:
    """One lightning layer with one head."""
    d, d_out, a = (source.choice([1, 2, 2, 3]) for _ in range(3))
    shape = Architecture((d, d_out), (a,), source.choice([1, 2, 3]))
    if source.random() < 0.3:
        shape = Architecture((d, d_out), (a,), shape.tokens, value_ranks=(source.choice([1, 2, 3]),))
    matrices = {name: degenerate_matrix(source, *size) for name, size in shape.weight_shapes()}
    if source.random() < 0.5 and "O1" not in matrices:  # values and scores that are multiples of one form
        left, right = ([source.randint(-1, 1) for _ in range(size)] for size in (d_out, a))
        form = [source.choice([0, 1, 1, 2]) for _ in range(d)]
        matrices |= {"V1": [[u * v for v in form] for u in left], "K1": [[k * v for v in form] for k in right]}
        if source.random() < 0.4:
            matrices["Q1"] = [[source.randint(0, 1) * v for v in form] for _ in range(a)]
    return Weights.of(matrices), shape.tokens
