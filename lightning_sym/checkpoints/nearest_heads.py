"""Which other head of a network is most like a head: cosines of QK and of OV, with bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lightning_sym.checkpoints.bounded import TINY, UNIT, WIDEN, Balls, Near
from lightning_sym.limits import Progress

BYTES = 2**28
"""Of rows of the products that are held at a time."""


def cosines(lefts: Sequence[Near], rights: Sequence[Near], norms: Balls, progress: Progress | None = None) -> Balls:
    """Cosines `tr(M_i^T M_j) / (|M_i| |M_j|)` of the products `M = left @ right` of all heads, `(n, n)`.

    Args:
        lefts: by layer `(H, d, a)`.
        rights: by layer `(H, a, d)`.
        norms: Frobenius norms of the products, `(n,)`; where one may be 0 the cosine is 0 up to 2.
        progress: told of rows done.

    Example:
        >>> from lightning_sym.checkpoints.bounded import near
        >>> left, right = near(np.array([[[1.0], [0.0]], [[1.0], [1.0]]])), near(np.ones((2, 1, 2)))
        >>> cosines([left], [right], Balls(np.array([2**0.5, 2.0]), np.zeros(2) + 1e-12)).middle.round(6).tolist()
        [[1.0, 0.707107], [0.707107, 1.0]]
    """
    height, width = lefts[0].value.shape[-2], rights[0].value.shape[-1]
    count = len(norms.middle)
    step = max(1, BYTES // (8 * count * width))
    total = np.zeros((count, count))
    for start in range(0, height, step):
        if progress is not None:
            progress("cosines", start, height)
        rows = [left.value[:, start : start + step] @ right.value for left, right in zip(lefts, rights, strict=True)]
        flat = np.concatenate(rows).reshape(count, -1)
        total += flat @ flat.T
    # what the computed products are off by, and what sums of all of their entries are
    off = np.concatenate([_product_error(left, right) for left, right in zip(lefts, rights, strict=True)])
    size = norms.upper() + off
    terms = height * width + height // step + 8
    radius = terms * UNIT / (1 - terms * UNIT) * np.outer(size, size)
    radius = (radius + np.outer(off, size) + np.outer(size, off)) * WIDEN + TINY
    least = np.maximum(norms.lower(), 0)
    below = np.outer(least, least)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = total / np.outer(norms.middle, norms.middle)
        share = np.outer(norms.upper(), norms.upper()) / below - 1 + 8 * UNIT
        known = (radius / below + (np.abs(middle) + radius / below) * share) * WIDEN + 4 * UNIT
    fits = (below > 0) & np.isfinite(middle) & np.isfinite(known)
    return Balls(np.where(fits, np.clip(middle, -1, 1), 0.0), np.where(fits, np.minimum(known, 2), 2.0))


def _product_error(left: Near, right: Near) -> np.ndarray:
    """How far computed products are from those that are meant."""
    inner = left.value.shape[-1]
    sizes = np.square(left.value).sum(axis=(-1, -2)) ** 0.5, np.square(right.value).sum(axis=(-1, -2)) ** 0.5
    first, second = (size * (1 + 2.0**-24) + TINY for size in sizes)
    error = 2 * inner * UNIT * first * second + first * right.error + left.error * (second + right.error)
    return np.asarray(error * WIDEN + TINY)
