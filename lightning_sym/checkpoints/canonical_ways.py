"""Two ways to bring what a symmetry makes of a checkpoint into one form: exactly, and balanced in float64.

Exactly: orders, signs and powers of two, so that no number is rounded. Each stage is computed from numbers that the
members of an orbit have in common up to these. Rows are ordered like words in a dictionary, by their first entries; the
sign of a row is that of its first entry that is not 0, its size such that the largest one is at least 1/2 and less
than 1. What stands in sets, heads in groups and neurons in experts, is ordered in each set first; sets that have the
same in common are then ordered by all that is in them. A vector that is added to all rows of a router changes no order
of rows, as in the first entry that differs it is the same number.

In float64: rotations, matrices, turns and scales too. Queries, keys, values and outputs are balanced: `V V^T` and the
sum of all `O^T O` of a group become one diagonal matrix, whose entries fall. What two signs are left open by squares is
told by the sum of the cubes of a row. The stream is turned so that sums of rows of the embedding, token id by token id
into as many as there are coordinates, with fixed signs, are a symmetric positive matrix: the polar decomposition, which
is one where these sums are independent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from math import fsum

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.fits import RealOrComplex
from lightning_sym.checkpoints.gain_fits import planes_of, positive_gains
from lightning_sym.checkpoints.matching import as_complex
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.pieces import LAYER
from lightning_sym.checkpoints.stream_fit import centred
from lightning_sym.checkpoints.symmetry import Part

# ---- exactly

Rows = npt.NDArray[np.floating]
"""A row for each thing that is ordered, or scaled: stored numbers, or what is made of them."""

FIRST = 4
"""Entries of rows that are looked at first; more only where rows agree in them."""


def ordered(rows: Rows) -> Places:
    """Return the places of rows in the order of a dictionary.

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


def ordered_sets(sets: Rows, inside: Rows, *, kept: bool = False) -> tuple[Places, Places]:
    """Return the places of sets, and of what is in them, equally much in each and side by side.

    Args:
        sets: a row for each, of what all in it have in common.
        inside: a row for each thing.
        kept: whether sets stay where they are.

    Example:
        >>> ordered_sets(np.zeros((2, 0)), np.array([[3], [5], [4], [2]]))[1].tolist()
        [3, 2, 0, 1]
    """
    each = np.arange(len(inside)).reshape(len(sets), -1)
    places = np.stack([some[ordered(inside[some])] for some in each])
    order = np.arange(len(sets))
    if not kept and len(sets) > 1:
        order = ordered(np.hstack([sets, inside[places].reshape(len(sets), -1)]))
    return order, places[order].reshape(-1)


def are_told(rows: Rows) -> bool:
    """Return whether no row is zero, so that its sign is told, and no two are equal, so that their order is."""
    pairs = pairwise(ordered(rows).tolist())
    return bool(rows.any(axis=1).all()) and not any(np.array_equal(rows[i], rows[j]) for i, j in pairs)


def first_signs(rows: Rows) -> Floats:
    """Return the sign of the first entry of each row that is not 0; 1 where all are.

    Example:
        >>> first_signs(np.array([[0.0, -3.0], [0.0, 0.0]])).tolist()
        [-1.0, 1.0]
    """
    first = (rows != 0).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0)


def unit_powers(rows: Rows) -> Floats:
    """Return the power of two that takes the largest size of a row to at least 1/2, below 1; 1 for a row of zeros.

    Example:
        >>> unit_powers(np.array([[3.0, -8.0], [0.25, 0.0], [0.0, 0.0]])).tolist()
        [0.0625, 2.0, 1.0]
    """
    return np.asarray(np.ldexp(1.0, -np.frexp(np.abs(rows).max(axis=1, initial=0))[1]))


def sign_of_sums(rows: Rows) -> float:
    """Return the sign of the first sum of a row that is not 0; 0 where all are, as of rows that were centred.

    Example:
        >>> sign_of_sums(np.array([[1.0, -1.0], [2.0, -3.0]])), sign_of_sums(np.array([[1.0, -1.0]]))
        (-1.0, 0.0)
    """
    sums = (fsum(row.tolist()) for row in np.asarray(rows, dtype=np.float64))
    return float(np.sign(next((total for total in sums if total), 0.0)))


def exact_stream(ends: Ends, form: CheckpointForm) -> dict[str, Part]:
    """Return order and signs of the stream, from columns of the embedding; a LayerNorm allows one sign for all."""
    columns = np.asarray(ends.embedding).T
    signs = np.full(form.width, sign_of_sums(ends.embedding) or 1.0) if form.norm == "layer" else first_signs(columns)
    order = ordered(columns * signs[:, None].astype(columns.dtype))
    return {"order": order, "signs": signs[order]}


def exact_gauge(block: Block, form: CheckpointForm, _: list[str]) -> dict[str, Part]:
    """Return orders, signs and powers of two inside the heads, and those of neurons that a gate multiplies."""
    parts: dict[str, Part] = {"values": np.stack([one_a_row(rows) for rows in block.value])}
    if form.head_norms is not None:
        parts |= positive_gains(block, form, lambda _, keys: 1 / unit_powers(keys), first_signs)
    if form.head_norms is None and form.turned < form.head_width:
        of_keys = np.stack([one_a_row(rows[form.turned :]) for rows in block.key])
        # inverse, transposed
        parts["queries"] = np.divide(1.0, of_keys, out=np.zeros_like(of_keys), where=of_keys != 0)
    if form.head_norms is None and form.turned:
        parts["turns"] = np.stack([quarter_turns(rows[: form.turned]) for rows in block.key])
    if form.scales_neurons:
        parts["ups"] = unit_powers(block.up) * (1 if block.gate is None else first_signs(block.up))  # ReLU: no signs
    return parts


def exact_keys(block: Block) -> Iterator[Rows]:
    """Yield a row for each group, head, expert and neuron: all that it has, by which it is ordered."""
    for kind in ("groups", "heads", "experts", "neurons"):
        there = ((array, LAYER[name].place(kind)) for name, array in block.present())
        rows = [np.moveaxis(array, at, 0).reshape(array.shape[at], -1) for array, at in there if at is not None]
        yield np.concatenate(rows, axis=1) if rows else np.zeros((1, 0))


def rows_are_told(block: Block, form: CheckpointForm, gauge: Collection[str]) -> bool:
    """Return whether each row has a sign and a place by which another one of its orbit is known.

    Args:
        block: a layer under the gauge.
        form: of the network, as this layer has it.
        gauge: the parts of it.
    """
    return (
        all(map(are_told, block.value))
        and ("queries" not in gauge or all(map(are_told, block.key[:, form.turned :])))
        and (
            "turns" not in gauge
            or bool(as_complex(np.asarray(block.key[:, : form.turned], dtype=np.float64)).any(axis=-1).all())
        )
        and ("ups" not in gauge or bool(block.up.any(axis=1).all()))
    )


def one_a_row(rows: Rows, factors: Floats | None = None) -> Floats:
    """Return the matrix, one number a row and column, that orders rows times factors: signs and sizes by themselves."""
    factors = first_signs(rows) * unit_powers(rows) if factors is None else factors
    order = ordered(rows * factors[:, None])
    found = np.zeros((len(rows), len(rows)))
    found[np.arange(len(rows)), order] = factors[order]
    return found


def quarter_turns(rows: Rows) -> Floats:
    """Return quarter turns and powers of two that bring the first number of a key into one quadrant.

    There is one pair for each frequency, a plane of two rows.
    """
    half = len(rows) // 2
    real, imaginary = rows[:half], rows[half:]
    first = ((real != 0) | (imaginary != 0)).argmax(axis=1)
    x, y = (part[np.arange(half), first] for part in (real, imaginary))
    turns = np.zeros((half, 2))
    turns[:, 0] = np.where((x < 0) & (y <= 0), -1.0, np.where((x > 0) & (y >= 0), 1.0, 0.0))
    turns[:, 1] = np.where((x <= 0) & (y > 0), -1.0, np.where((x >= 0) & (y < 0), 1.0, 0.0))
    turns[(x == 0) & (y == 0), 0] = 1.0
    return turns / unit_powers(np.concatenate([real, imaginary], axis=1))[:, None]


# ---- balanced

LEAST = 1e-9
"""Directions that are shorter, of the longest, tell nothing."""


def cube_signs(rows: Rows) -> Floats:
    """Return the sign of the sum of the cubes of each row."""
    return np.where((rows**3).sum(axis=-1) < 0, -1.0, 1.0)


def balanced_stream(ends: Ends, form: CheckpointForm) -> dict[str, Part]:
    """Return the rotation of the stream, or order and signs if it has no others; nothing where ids do not fill it."""
    width, rows = form.width, ends.embedding
    if form.norms_behind is not None:
        columns = np.asarray(rows, dtype=np.float64).T
        order = np.argsort(-np.linalg.norm(columns, axis=1), kind="stable")
        return {"order": order, "signs": cube_signs(columns)[order]}
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=len(rows))
    mean = np.mean(rows, axis=0, dtype=np.float64) if form.theta is None else 0.0
    sums = np.zeros((width, width))
    for at in slices(rows):
        some = centred(np.asarray(rows[at], dtype=np.float64) - mean, form)
        np.add.at(sums, (at.start + np.arange(len(some))) % width, some * signs[at, None])
    centre = form.norm == "layer"  # then both sides without ones, which stay as they are
    left, values, right = np.linalg.svd(sums - sums.mean(axis=0) if centre else sums)
    rank = width - centre
    if not values[rank - 1] > LEAST * values[0]:
        return {}
    return {"rotation": left[:, :rank] @ right[:rank] + (1 / width if centre else 0.0)}


def balanced_gauge(block: Block, form: CheckpointForm, untold: list[str]) -> dict[str, Part]:
    """Return matrices or turns of each group, and scales of neurons that a gate multiplies; not what is not told.

    Args:
        block: a layer.
        form: of the network, as this layer has it.
        untold: takes what is said of heads whose matrices are not told.
    """
    share = form.heads // form.groups
    writers = block.output.reshape(form.groups, -1, form.values)
    both = zip(block.value, writers, strict=True)
    found: dict[str, Part | None] = {"values": _matrix_of_each_group(both, untold, "values and outputs")}
    if form.head_norms is not None:
        found |= positive_gains(block, form, _equal_lengths, cube_signs)
    if form.head_norms is None and form.turned:
        queries, keys = (part[:, : form.turned] for part in (block.query, block.key))
        by_group = queries.reshape(form.groups, share, *queries.shape[1:])
        found["turns"] = np.stack([common_turns(rows, key) for rows, key in zip(by_group, keys, strict=True)])
    if form.head_norms is None and form.turned < form.head_width:
        queries, keys = (part[:, form.turned :] for part in (block.query, block.key))
        sides = queries.reshape(form.groups, share, *queries.shape[1:]).swapaxes(1, 2)
        pairs = zip(sides.reshape(*keys.shape[:2], -1), keys, strict=True)
        read = ((query, key.T) for query, key in pairs)
        found["queries"] = _matrix_of_each_group(read, untold, "queries and keys")
    if form.scales_neurons:
        up, down = (np.sqrt((x * x).sum(axis=1)) for x in (block.up, block.down.T))
        told = (up > 0) & (down > 0)
        sizes = np.sqrt(np.divide(down, up, out=np.ones_like(up), where=told), out=np.ones_like(up), where=told)
        found["ups"] = sizes * (1 if block.gate is None else cube_signs(block.up))  # ReLU allows no signs
    return {name: part for name, part in found.items() if part is not None}


def signs_are_told(block: Block, form: CheckpointForm, gauge: Collection[str]) -> bool:
    """Return whether no sum of cubes vanishes by which a sign, or a turn, was chosen.

    Args:
        block: a layer under the gauge.
        form: of the network, as this layer has it.
        gauge: the parts of it.
    """
    by_group = block.query.reshape(form.groups, form.heads // form.groups, form.head_width, -1)
    rows: dict[str, tuple[RealOrComplex, int | tuple[int, int]]] = {
        "values": (block.value, -1),
        "queries": (by_group[:, :, form.turned :], (1, 3)),
        "turns": (planes_of(block.key) if form.head_norms else as_complex(np.asarray(block.key)[:, : form.turned]), -1),
        "ups": (np.zeros((0, 1)) if block.gate is None else block.up, -1),
    }
    return all(cubes_are_told(x, axis) for name, (x, axis) in rows.items() if name in gauge)


def cubes_are_told(x: RealOrComplex, axis: int | tuple[int, int] = -1) -> bool:
    """Return whether no sum of cubes vanishes, up to roundings."""
    return bool((np.abs((np.abs(x) ** 2 * x).sum(axis=axis)) >= LEAST * (np.abs(x) ** 3).sum(axis=axis)).all())


def balanced_keys(block: Block) -> Iterator[Rows]:
    """Yield lengths of each group, head, expert and neuron, to order them by: what is largest comes first."""
    router = None if block.router is None else block.router - block.router.mean(axis=0)
    read = block.up if block.gate is None else block.gate
    for parts in (block.value, block.key), (block.output, block.query), (router,), (read, block.down.T):
        flat = (np.zeros((1, 0)) if array is None else array.reshape(len(array), -1) for array in parts)
        yield np.hstack([-np.linalg.norm(rows, axis=1, keepdims=True) for rows in flat])


def balanced(rows: Rows, columns: Rows) -> Floats | None:
    """Return `g` that makes two Gram matrices one falling diagonal matrix.

    They are `(g rows) (g rows)^T` and `(columns g^-1)^T (columns g^-1)`.

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


def _matrix_of_each_group(pairs: Iterable[tuple[Rows, Rows]], untold: list[str], what: str) -> Floats | None:
    """Return the matrix of each group, 1 where it is not told, which `untold` says; `None` where it is told in none."""
    made = [(balanced(rows, columns), len(rows)) for rows, columns in pairs]
    if any(matrix is None for matrix, _ in made):
        untold.append(f"{what} of its heads have not full rank")
    if all(matrix is None for matrix, _ in made):
        return None
    return np.stack([np.eye(size) if matrix is None else matrix for matrix, size in made])


def common_turns(queries: Rows, keys: Rows) -> Floats:
    """Return a number for each frequency: queries and keys become equally long, the weighted sum of keys positive.

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


def _equal_lengths(queries: Floats, keys: Floats) -> Floats:
    """Return what makes rows of queries, times it, as long as those of keys, divided by it; 1 where one is zero."""
    query, key = (np.linalg.norm(side, axis=1) for side in (queries, keys))
    told = (query > 0) & (key > 0)
    return np.asarray(np.sqrt(np.divide(key, query, out=np.ones_like(key), where=told)))
