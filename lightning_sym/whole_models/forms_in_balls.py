"""(C4) where frequencies are not known to be algebraic numbers: one value of each head's form, in balls.

Heads whose values of `B_1` at one pair of vectors lie in balls that do not meet have different forms: no theorem about
frequencies is needed. Products are taken in floats, and the error of a sum of n products, in any order, is at most
`(n + 8) u / (1 - (n + 8) u)` times that of the sizes, `u = 2^-53`.
"""

from __future__ import annotations

import numpy as np

from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.rings.turned_forms import Ball, Floats, turned_forms
from lightning_sym.whole_models.covered import frequencies

SEED = 20261127
UNIT, TINY = 2.0**-53, 2.0**-900


def first_forms(block: Block, form: CheckpointForm) -> list[Ball]:
    """Return of each head its form of distance 1 on one pair of vectors that norms can show, in a ball."""
    source = np.random.default_rng(SEED)
    left, right = (source.integers(-3, 4, form.width).astype(np.float64) for _ in range(2))
    if form.norm == "layer":
        left, right = (form.width * x - x.sum() for x in (left, right))
    queries = _values(block.query, left, block.norm1_gain, block.norm1_bias, block.query_bias)
    middle, radius = (
        np.repeat(part, form.heads // form.groups, axis=0) for part in _values(block.key, right, block.norm1_gain)
    )
    return turned_forms(queries, (middle, radius), frequencies(form))


def _values(
    maps: Array, vector: Floats, gain: Array, norm_bias: Array | None = None, bias: Array | None = None
) -> tuple[Floats, Floats]:
    """Return what the rows of each head make of a vector, and of the constant beside it: midpoints and radii."""
    rows, gains = np.asarray(maps, dtype=np.float64), np.asarray(gain, dtype=np.float64)
    shift = np.zeros(len(vector)) if norm_bias is None else np.asarray(norm_bias, dtype=np.float64)
    added = np.zeros(rows.shape[:-1]) if bias is None else np.asarray(bias, dtype=np.float64)
    middle = rows @ (gains * vector + shift) + added
    sizes = np.abs(rows) @ (np.abs(gains * vector) + np.abs(shift)) + np.abs(added)
    count = rows.shape[-1] + 16  # gains, sums and what was no float of 64 bits are rounded too
    return middle, 2 * sizes * (count * UNIT / (1 - count * UNIT)) + TINY
