r"""How many weights near given ones have the same function modulo powers of a prime: learning coefficients by counting.

Let $N_k$ be the number of weights modulo $p^k$ that are the given ones modulo $p$ and whose function is the given one
modulo $p^k$; there are $p^{P(k-1)}$ candidates. Over the $p$-adic integers $N_k p^{-Pk}$ goes like $p^{-2 \lambda k}
k^{m-1}$, as volumes do over the reals (Igusa); where one ideal of monomials and coordinates serves both, $\lambda$ and
$m$ are the same. The numbers are counted, level by level, and no formula is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from lightning_sym.network.weights import Weights

Integers = npt.NDArray[np.int64]

AT_ONCE = 1_000_000
"""Candidates that are looked at together."""


def coefficients(weights: Integers, sizes: tuple[int, int, int], tokens: int) -> Integers:
    """The coefficients of one lightning layer, two tokens or one, for many weights, one a row.

    Args:
        weights: entries of queries, keys and values.
        sizes: $d$, $d'$, $a$.
        tokens: one, or more.
    """
    d, d_out, a = sizes
    query, key = (weights[:, s * a * d : (s + 1) * a * d].reshape(-1, a, d) for s in (0, 1))
    value = weights[:, 2 * a * d :].reshape(-1, d_out, d)
    scores = np.einsum("nai,naj->nij", key, query)
    found: dict[tuple[int, ...], Integers] = {}
    for m, i, j, k in product(range(d_out), range(d), range(d), range(d)):
        # V_mi x_i A_jk x_j y_k, and y = x for one token
        place = (m, *sorted((i, j)), k) if tokens > 1 else (m, *sorted((i, j, k)))
        found[place] = found.get(place, 0) + value[:, m, i] * scores[:, j, k]
    return np.stack(list(found.values()), axis=1)


def levels(weights: Weights, tokens: int, p: int, most: int) -> Iterator[int]:
    """$N_1, N_2, \\dots$ of a lightning layer with integer weights.

    Args:
        weights: one layer, one head, nothing added.
        tokens: one, or more.
        p: the prime.
        most: levels.
    """
    layer = weights.layers[0]
    (a, d), d_out = layer.query.shape, len(layer.value)
    start = np.concatenate([matrix.ravel() for matrix in layer]).astype(np.int64)[None]
    given = coefficients(start, (d, d_out, a), tokens)
    places = np.array(list(product(range(p), repeat=start.shape[1])), dtype=np.int64)
    alive, power = start, p
    yield 1
    for _ in range(most - 1):
        kept = []
        for some in np.array_split(alive, -(-len(alive) * len(places) // AT_ONCE)):
            candidates = (some[:, None] + power * places[None]).reshape(-1, start.shape[1])
            same = (coefficients(candidates, (d, d_out, a), tokens) - given) % (power * p) == 0
            kept.append(candidates[same.all(axis=1)])
        alive, power = np.concatenate(kept), power * p
        yield len(alive)
