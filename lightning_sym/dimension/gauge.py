r"""Coordinates on the variety of virtual weights: the entries of weights that are left to vary once the gauge is fixed.

The rank of a Jacobian is at least that of any of its columns, so whatever is kept, a lower bound stays one. With the
columns below nothing is lost, and they are as many as the variety has dimensions: no column says what others say
already, and none need be combined. `docs/upper-bound.md`, section 4, has the proof, with the same names.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import numpy.typing as npt

from lightning_sym.dimension.varieties import has_virtual_weights
from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED

Indices = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


def gauge_columns(architecture: Architecture) -> Indices:
    """Entries of the weights of a network with one head, counted through all matrices, that are coordinates.

    Of every matrix only the columns that meet what is written, and of queries and keys only as many rows as their
    product has rank; then changes of basis make the first block of keys and of values what it is, rotations a
    triangle of queries and keys that count by their symmetric part, and rescalings one entry of each layer.

    Returns:
        As many indices as `virtual_weight_variety` has dimensions, in increasing order.

    Raises:
        BadInput: this is another network.

    Example:
        >>> gauge_columns(Architecture((2, 2, 2), (1, 1), 2)).tolist()     # Q1 K1 V1 and Q2 K2 V2, eight entries each
        [1, 3, 9, 11, 12, 13, 14, 15]
    """
    architecture.require("gauge columns", SHAPED)
    if not has_virtual_weights(architecture):
        raise BadInput(f"gauge columns must be asked of one head with nothing added, got {architecture}")
    widths, lightning = architecture.widths, architecture.normalization is None
    narrowest = list(accumulate(widths, min))
    used = narrowest.copy()
    for i in range(architecture.depth - 1, 0, -1):
        used[i] = min(narrowest[i], used[i + 1] + 2 * architecture.attention_ranks[i])
    masks: list[_Mask] = []
    single_direction = lightning and architecture.tokens == 1
    for i, a in enumerate(architecture.attention_ranks):
        d, r, r_next = widths[i], narrowest[i], narrowest[i + 1]
        alpha = min(a, r)
        queries, keys, values = (np.zeros((rows, d), dtype=bool) for rows in (a, a, widths[i + 1]))
        if single_direction:
            symmetric = _triangle(alpha, r)
            queries[:alpha, :r], keys[:alpha, :r] = symmetric[:alpha], symmetric[alpha:]
        else:
            queries[:alpha, :r] = keys[:alpha, alpha:r] = True
        queries[0, 0] = not lightning
        if i + 1 == architecture.depth:
            values[:, :r] = True
        else:
            values[: used[i + 1], r_next:r] = True
        masks += [queries, keys, values]
        single_direction = single_direction or (lightning and alpha == 1)
    return np.flatnonzero(np.concatenate([mask.ravel() for mask in masks]))


def _triangle(alpha: int, r: int) -> _Mask:
    """Coordinates of quadratic forms of rank at most `2 alpha`, `2 alpha x r`: a triangle and all that is beside it."""
    result = np.zeros((2 * alpha, r), dtype=bool)
    rank = min(2 * alpha, r)
    result[:rank] = np.triu(np.ones((rank, r), dtype=bool))
    return result
