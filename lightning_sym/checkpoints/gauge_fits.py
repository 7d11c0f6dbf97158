"""How well the weights of a layer tell the gauges that were fitted to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from lightning_sym.checkpoints.measured import TINY, Fitted, Measured, fitted
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import LayerSymmetry


def gauge_fits(
    first: Any, form: CheckpointForm, inner: LayerSymmetry, names: Collection[str]
) -> Iterator[tuple[Any, Fitted | Measured]]:
    """The gauges of a part that were fitted, and how well the weights of the first, in order, tell them."""
    if first.query is None:
        return
    a, width, turned = form.head_width, form.width, form.turned
    if "values" in names:
        yield inner.values, fitted(inner.values, first.value, first.output.reshape(form.groups, -1, a))
    readers = first.query.reshape(form.groups, -1, a, width).swapaxes(1, 2).reshape(form.groups, a, -1)
    if "turns" in names:
        yield inner.turns, fitted_turns(inner.turns, readers[:, :turned], first.key[:, :turned])
    if "queries" in names:
        keys = first.key[:, turned:].swapaxes(-1, -2)
        yield inner.queries, fitted(inner.queries, readers[:, turned:], keys)


def fitted_turns(turns: Any, queries: Measured, keys: Measured) -> Measured:
    """Numbers `x + iy`, `(G, a / 2, 2)`, that were fitted to queries and keys, both `(G, a, n)`, with what that is off.

    Each side tells a number the better, the longer its rows are; the two count by the squares of their lengths.
    """
    value = np.asarray(turns, dtype=np.float64)
    length = np.square(value).sum(axis=-1)
    energy, noise = np.zeros_like(length), np.zeros_like(length)
    for side, scale in ((queries, length), (keys, 1 / length)):
        entries, squares = (x.reshape(len(value), 2, -1, x.shape[-1]) for x in (np.square(side.value), 2 * side.square))
        told = scale * entries.sum(axis=(1, 3))
        weight = 1 / max(float(told.mean()), TINY)
        energy += weight * told
        noise += weight**2 * scale**2 * (entries.sum(axis=1) * squares.mean(axis=1)).sum(axis=-1)
    off = length * noise / np.maximum(energy, TINY) ** 2
    return Measured(value, np.repeat(off[..., None], 2, axis=-1))
