"""(C4) where frequencies are not known to be algebraic numbers: one value of each head's form, in balls.

Heads whose values of `B_1` at one pair of vectors lie in balls that do not meet have different forms: no theorem about
frequencies is needed. Products are taken in floats, and the error of a sum of n products, in any order, is at most
`(n + 8) u / (1 - (n + 8) u)` times that of the sizes, `u = 2^-53`.

Numbers that are proved to be different: bilinear forms turned by angles, in balls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from flint import arb

from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.rings.balls import precision
from lightning_sym.rings.rotary import BITS
from lightning_sym.whole_models.covered import frequencies

Ball = arb
Floats = npt.NDArray[np.float64]


def turned_forms(
    queries: tuple[Floats, Floats], keys: tuple[Floats, Floats], frequencies: Sequence[Ball]
) -> list[Ball]:
    """Return for each row of queries and of keys the form turned by one step, in a ball.

    Queries and keys are midpoints and radii, `(n, a)` each.

    Rows `k` and `k + a/2` turn together by the angle `frequencies[k]`.

    Example:
        >>> one, no = np.ones((1, 2)), np.zeros((1, 2))
        >>> bool(abs(turned_forms((one, no), (one, no), [arb(0)])[0] - 2) < 1e-9)
        True
    """
    found = []
    with precision(BITS):
        turns = [(each.cos(), each.sin()) for each in frequencies]
        for query, key in zip(_balls(queries), _balls(keys), strict=True):
            half, total = len(query) // 2, arb(0)
            for k, (cosine, sine) in enumerate(turns):
                q, s, x, y = query[k], query[k + half], key[k], key[k + half]
                total += cosine * (q * x + s * y) + sine * (q * y - s * x)
            found.append(total)
    return found


def _balls(rows: tuple[Floats, Floats]) -> list[list[Ball]]:
    return [
        [arb(float(x), float(r)) for x, r in zip(middle, radius, strict=True)]
        for middle, radius in zip(*rows, strict=True)
    ]


def all_differ(values: Sequence[Ball]) -> tuple[int, int] | None:
    """Return two places whose balls may meet; `None` where all balls are apart.

    Example:
        >>> all_differ([arb(1, 0.1), arb(2), arb(1.2)]), all_differ([arb(1, 0.1), arb(2), arb(1.05)])
        (None, (0, 2))
    """
    order = sorted(range(len(values)), key=lambda place: float(values[place].lower()))
    highest = order[0] if order else 0
    for place in order[1:]:
        if not values[highest] < values[place]:
            return min(highest, place), max(highest, place)
        if values[place].upper() > values[highest].upper():
            highest = place
    return None


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
