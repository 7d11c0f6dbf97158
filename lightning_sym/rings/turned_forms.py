"""Numbers that are proved to be different: bilinear forms turned by angles, in balls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from flint import arb

from lightning_sym.rings.balls import Ball as Ball
from lightning_sym.rings.balls import precision
from lightning_sym.rings.rotary import BITS

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
