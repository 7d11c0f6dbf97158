"""Mistakes with the rows of token ids: a vocabulary in another order.

Each function is a row of the table in `mistakes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.matching import assigned
from lightning_sym.checkpoints.mistaken_scenes import Change, Scene, each_by, wide
from lightning_sym.lazy import import_extra


def vocabulary_permuted(scene: Scene) -> Iterator[Change]:
    """Yield rows of the embedding, and of an own unembedding, in another order: other ids for the same tokens."""
    names = tuple(name for name, piece in scene.pieces.items() if piece.axes[0].space.kind == "token ids")
    if not names or not {*names} <= {*scene.second}:
        return
    if any(np.shape(scene.first[name]) != np.shape(scene.second[name]) for name in names):
        return
    orders = (_by_bytes(scene, names), *(_by_lengths(scene, names, with_gain=each) for each in (True, False)))
    for order in orders:
        if order is None or (order == np.arange(len(order))).all():
            continue
        places = np.flatnonzero(order != np.arange(len(order)))
        ids = {str(int(new)): int(order[new]) for new in places}
        maps = (partial(np.take, indices=each, axis=0) for each in (order, np.argsort(order)))
        yield each_by("vocabulary-permuted", names, maps, {"ids_moved": len(ids), "from": ids}, fits=True)


def _by_bytes(scene: Scene, names: tuple[str, ...]) -> Places | None:
    """Return which row of the first stands at each place of the second, where all rows are equal number by number."""
    sides = []
    for arrays in (scene.first, scene.second):
        rows = np.hstack([wide(arrays[name]) for name in names])
        sides.append({row.tobytes(): place for place, row in enumerate(rows + 0.0)})
    if len(sides[0]) != len(scene.first[names[0]]) or sides[0].keys() != sides[1].keys():
        return None
    places = {place: sides[0][row] for row, place in sides[1].items()}
    return np.array([places[place] for place in range(len(places))])


FEW = 1024
"""Token ids of which all pairs are compared."""


def _by_lengths(scene: Scene, names: tuple[str, ...], *, with_gain: bool) -> Places | None:
    """Return the same by what no turn of the stream changes: lengths of rows, and products of the rows of one id.

    The gain of the final norm is in the unembedding, or stands before it, where a mistake may have changed it.
    """
    sides = []
    for arrays in (scene.first, scene.second):
        rows = [wide(arrays[name]) for name in names]
        if "positions" in arrays:  # which may have taken what all rows have in common
            rows[0] = rows[0] - rows[0].mean(axis=0)
        if with_gain and "final_gain" in arrays:
            rows = [rows[0], rows[-1] * wide(arrays["final_gain"])]
        if scene.form.norm == "layer":
            rows = [each - each.mean(axis=1, keepdims=True) for each in rows]
        told = [(x * y).sum(axis=1) for place, x in enumerate(rows) for y in rows[place:]]
        lengths = np.stack(told, axis=1)  # over the largest, as the stream may have been scaled
        sides.append(lengths / np.maximum(np.abs(lengths).max(axis=0), 1e-300))
    if not all(np.isfinite(side).all() for side in sides):
        return None
    if len(sides[0]) <= FEW:  # sooner than the package is imported
        order = assigned(np.square(sides[0][:, None] - sides[1][None]).sum(axis=2))
    else:
        spatial = import_extra("scipy.spatial", "checkpoints", "matching the token ids of two checkpoints")
        _, order = spatial.cKDTree(sides[0]).query(sides[1])
    return order if len(np.unique(order)) == len(order) else None
