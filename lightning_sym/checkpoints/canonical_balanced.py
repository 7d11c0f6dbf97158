"""What any symmetry makes of a checkpoint, brought into one form in float64: rotations, matrices, turns and scales.

Queries, keys, values and outputs are balanced: `V V^T` and the sum of all `O^T O` of a group become one diagonal
matrix, whose entries fall. What two signs are left open by squares is told by the sum of the cubes of a row. The stream
is turned so that sums of rows of the embedding, token id by token id into as many as there are coordinates, with fixed
signs, are a symmetric positive matrix: the polar decomposition, which is one where these sums are independent.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.coded import CHUNK
from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.matching import as_complex
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.stream_fit import centred

LEAST = 1e-9
"""Directions that are shorter, of the longest, tell nothing."""


def cube_signs(rows: Any) -> Floats:
    """The sign of the sum of the cubes of each row."""
    return np.where((rows**3).sum(axis=-1) < 0, -1.0, 1.0)


def balanced_stream(ends: Ends, form: CheckpointForm) -> dict[str, Any]:
    """The rotation of the stream; nothing where token ids do not fill it."""
    width, rows = form.width, ends.embedding
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=len(rows))
    mean = np.mean(rows, axis=0, dtype=np.float64) if form.theta is None else 0.0
    sums = np.zeros((width, width))
    for start in range(0, len(rows), CHUNK):
        some = centred(np.asarray(rows[start : start + CHUNK], dtype=np.float64) - mean, form)
        np.add.at(sums, (np.arange(start, start + len(some)) % width), some * signs[start : start + CHUNK, None])
    whole: Any = 0.0
    if form.norm == "layer":  # both sides without ones, which stay as they are
        sums, whole = sums - sums.mean(axis=0), np.full((width, width), 1 / width)
    left, values, right = np.linalg.svd(sums)
    rank = width - (form.norm == "layer")
    if not values[rank - 1] > LEAST * values[0]:
        return {}
    return {"rotation": left[:, :rank] @ right[:rank] + whole}


def balanced_gauge(block: Block, form: CheckpointForm) -> dict[str, Any]:
    """Matrices or turns of each group, and the scales of neurons that a gate multiplies; without what is not told."""
    share = form.heads // form.groups
    writers = block.output.reshape(form.groups, -1, form.head_width)
    found: dict[str, Any] = {"values": _all(zip(block.value, writers, strict=True))}
    if form.head_norms is not None:
        found["gain_factors"] = _factors(block)
    elif form.theta is not None:
        found["turns"] = np.stack([
            _turns(block.query[group * share : (group + 1) * share], keys) for group, keys in enumerate(block.key)
        ])  # fmt: skip
    else:
        queries = block.query.reshape(form.groups, share, form.head_width, -1).swapaxes(1, 2)
        sides = zip(queries.reshape(form.groups, form.head_width, -1), block.key, strict=True)
        found["queries"] = _all((query, key.T) for query, key in sides)
    if form.scales_neurons:
        up, down = (np.sqrt((x * x).sum(axis=1)) for x in (block.up, block.down.T))
        told = (up > 0) & (down > 0)
        sizes = np.sqrt(np.divide(down, up, out=np.ones_like(up), where=told), out=np.ones_like(up), where=told)
        found["ups"] = sizes * (1 if block.gate is None else cube_signs(block.up))  # ReLU allows no signs
    return {name: part for name, part in found.items() if part is not None}


def balanced_keys(block: Block, share: int) -> tuple[Any, Any, Any]:
    """A number for each group, each head and each neuron, that they are ordered by: what is largest comes first."""

    def lengths(array: Any) -> Floats:
        flat = array.reshape(len(array), -1)
        return np.asarray(-np.sqrt((flat * flat).sum(axis=1, keepdims=True)))

    neurons = np.hstack([lengths(block.up if block.gate is None else block.gate), lengths(block.down.T)])
    heads = np.hstack([lengths(block.output), lengths(block.query)])
    return np.hstack([lengths(block.value), lengths(block.key)]), heads, neurons


def balanced(rows: Any, columns: Any) -> Floats | None:
    """`g` for which `(g rows) (g rows)^T` and `(columns g^-1)^T (columns g^-1)` are one falling diagonal matrix.

    `None` where one of them has not full rank.

    Example:
        >>> g = balanced(np.array([[2.0, 0.0], [0.0, 1.0]]), np.eye(2))
        >>> np.abs(g @ np.diag([4.0, 1.0]) @ g.T).round(12).tolist()
        [[2.0, 0.0], [0.0, 1.0]]
    """
    if rows.shape[0] > min(rows.shape[1], columns.shape[0]):
        return None
    upper, triangle = (np.asarray(np.linalg.qr(side, mode="r")) for side in (rows.T, columns))
    lower = upper.T
    _, values, right = np.linalg.svd(triangle @ lower)
    sizes = np.abs(np.diagonal(lower))
    if not (values[-1] > LEAST * values[0] and sizes.min() > LEAST * sizes.max()):
        return None
    found = np.sqrt(values)[:, None] * np.linalg.solve(lower.T, right.T).T
    return np.asarray(found * cube_signs(found @ rows)[:, None])


def _all(pairs: Any) -> Floats | None:
    """The matrix of each group, 1 where it is not told; `None` where it is told in none."""
    made = [(balanced(rows, columns), len(rows)) for rows, columns in pairs]
    if all(matrix is None for matrix, _ in made):
        return None
    return np.stack([np.eye(size) if matrix is None else matrix for matrix, size in made])


def _turns(queries: Any, keys: Any) -> Floats:
    """A number for each frequency: queries and keys become equally long, the weighted sum of its row of keys positive.

    The sum is that of all entries, each times the square of its size.
    """
    query, key = as_complex(queries), as_complex(keys[None])[0]
    lengths = [np.sqrt((np.abs(x) ** 2).sum(axis=axis)) for x, axis in ((query, (0, 2)), (key, 1))]
    told = (lengths[0] > 0) & (lengths[1] > 0)
    size = np.divide(lengths[1], lengths[0], out=np.ones_like(lengths[0]), where=told)
    total = (np.abs(key) ** 2 * key).sum(axis=1)
    phase = np.divide(total.conj(), np.abs(total), out=np.ones_like(total), where=total != 0)
    turns = np.sqrt(size) * phase
    return np.stack([turns.real, turns.imag], axis=-1)


def _factors(block: Block) -> Any:
    """Positive gains on queries and keys, of each frequency equally long."""
    gains = [np.asarray(gain, dtype=np.float64) for gain in (block.query_norm_gain, block.key_norm_gain)]
    half = len(gains[0]) // 2
    query, key = (np.hypot(gain[:half], gain[half:]) for gain in gains)
    told = (query > 0) & (key > 0)
    sizes = np.tile(np.sqrt(np.divide(key, query, out=np.ones_like(key), where=told)), 2).tolist()
    signs = [[-1 if entry < 0 else 1 for entry in gain.tolist()] for gain in gains]
    rows = [[sign * Fraction(size) for sign, size in zip(signs[0], sizes, strict=True)]]
    rows.append([sign / Fraction(size) for sign, size in zip(signs[1], sizes, strict=True)])
    return np.array(rows, dtype=object)
