"""What orders, signs and powers of two make of a checkpoint, brought into one form: no number is rounded.

Each stage is computed from numbers that the members of an orbit have in common up to orders, signs and powers of two.
Rows are ordered like words in a dictionary, by their first entries; the sign of a row is that of its first entry that
is not 0, its size such that the largest one is at least 1/2 and less than 1.
"""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends

FIRST = 4
"""Entries of rows that are looked at first; more only where rows agree in them."""


def ordered(rows: Any) -> Places:
    """The places of rows in the order of a dictionary.

    Example:
        >>> ordered(np.array([[2.0, 0.0], [1.0, 5.0], [1.0, 4.0]])).tolist()
        [2, 1, 0]
    """
    depth = FIRST
    while True:
        some = rows[:, :depth]
        order = np.lexsort(some.T[::-1])
        if depth >= rows.shape[1] or not (some[order[1:]] == some[order[:-1]]).all(axis=1).any():
            return np.asarray(order, dtype=np.int64)
        depth *= 8


def first_signs(rows: Any) -> Floats:
    """The sign of the first entry of each row that is not 0; 1 where all are.

    Example:
        >>> first_signs(np.array([[0.0, -3.0], [0.0, 0.0]])).tolist()
        [-1.0, 1.0]
    """
    first = (rows != 0).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0)


def unit_powers(rows: Any) -> Floats:
    """The power of two that takes the largest size of each row to at least 1/2 and below 1; 1 for a row of zeros.

    Example:
        >>> unit_powers(np.array([[3.0, -8.0], [0.25, 0.0], [0.0, 0.0]])).tolist()
        [0.0625, 2.0, 1.0]
    """
    return np.asarray(np.ldexp(1.0, -np.frexp(np.abs(rows).max(axis=1, initial=0))[1]))


def exact_stream(ends: Ends, form: CheckpointForm) -> dict[str, Any]:
    """Order and signs of the coordinates of the stream, by what the token ids have there.

    A LayerNorm allows one sign for all, which is that of the sum of the first row.
    """
    columns = np.asarray(ends.embedding).T
    if form.norm == "layer":
        sums = (fsum(row.tolist()) for row in np.asarray(ends.embedding, dtype=np.float64))
        sign = -1.0 if next((total for total in sums if total), 1.0) < 0 else 1.0
        signs = np.full(form.width, sign)
    else:
        signs = first_signs(columns)
    order = ordered(columns * signs[:, None].astype(columns.dtype))
    return {"order": order, "signs": signs[order]}


def exact_gauge(block: Block, form: CheckpointForm) -> dict[str, Any]:
    """Orders, signs and powers of two inside of the heads, and those of neurons that a gate multiplies."""
    parts: dict[str, Any] = {"values": np.stack([_one_a_row(rows) for rows in block.value])}
    if form.head_norms is not None:
        parts["gain_factors"] = _factors(block)
    if form.head_norms is None and form.turned < form.head_width:
        parts["queries"] = np.stack([_inverse(_one_a_row(rows[form.turned :])).T for rows in block.key])
    if form.head_norms is None and form.turned:
        parts["turns"] = np.stack([_quarter_turns(rows[: form.turned]) for rows in block.key])
    if block.gate is not None:
        parts["ups"] = first_signs(block.up) * unit_powers(block.up)
    return parts


def exact_keys(block: Block, share: int) -> tuple[Any, Any, Any]:
    """A row for each group, each head and each neuron: what they are ordered by, the entries that differ first."""
    groups = np.concatenate([x.reshape(len(block.key), -1) for x in (block.key, block.value)], axis=1)
    heads = np.concatenate([x.reshape(len(block.query), -1) for x in (block.query, block.output)], axis=1)
    read = block.up if block.gate is None else np.concatenate([block.gate, block.up], axis=1)
    return groups, heads, np.concatenate([read, block.down.T], axis=1)


def _one_a_row(rows: Any) -> Floats:
    """The matrix, one number in each row and column, that orders rows and gives each its sign and size."""
    factors = first_signs(rows) * unit_powers(rows)
    order = ordered(rows * factors[:, None])
    found = np.zeros((len(rows), len(rows)))
    found[np.arange(len(rows)), order] = factors[order]
    return found


def _inverse(matrix: Floats) -> Floats:
    """The inverse of a matrix with one power of two in each row and column."""
    return np.divide(1.0, matrix.T, out=np.zeros_like(matrix), where=matrix.T != 0)


def _quarter_turns(rows: Any) -> Floats:
    """Quarter turns and powers of two for each frequency, so that the first number of its keys is in one quadrant."""
    half = len(rows) // 2
    real, imaginary = rows[:half], rows[half:]
    first = ((real != 0) | (imaginary != 0)).argmax(axis=1)
    x, y = (part[np.arange(half), first] for part in (real, imaginary))
    turns = np.zeros((half, 2))
    turns[:, 0] = np.where((x < 0) & (y <= 0), -1.0, np.where((x > 0) & (y >= 0), 1.0, 0.0))
    turns[:, 1] = np.where((x <= 0) & (y > 0), -1.0, np.where((x >= 0) & (y < 0), 1.0, 0.0))
    turns[(x == 0) & (y == 0), 0] = 1.0
    return turns / unit_powers(np.concatenate([real, imaginary], axis=1))[:, None]


def _factors(block: Block) -> Floats:
    """Positive gains on queries and keys, those of keys of each frequency at least 1/2 and below 1."""
    gains = [np.asarray(gain, dtype=np.float64) for gain in (block.query_norm_gain, block.key_norm_gain)]
    half = len(gains[0]) // 2
    powers = np.tile(unit_powers(gains[1].reshape(2, half).T), 2)
    signs = [np.where(gain < 0, -1.0, 1.0) for gain in gains]
    return np.stack([signs[0] / powers, signs[1] * powers])
