"""A guess at what was done to the residual stream, from the rows of the embedding; chunk by chunk.

Rows of one token id stand at one place in both checkpoints, so nothing has to be matched: `E' = E S^T` is a problem of
Procrustes, `S / sqrt(k)` is orthogonal, and `k` is the quotient of the two epsilons. Rows of an unembedding of its own,
folded, turn by the same matrix. With LayerNorm all rows are centred, and with learned positions the mean row is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym.checkpoints.equations import StreamMap
from lightning_sym.checkpoints.exact_rings import Floats, Ratio, nice
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm, Ends

CHUNK = 4096
"""Rows that are looked at together."""

Pairs = Iterator[tuple[Floats, Floats]]


def centred(rows: Floats, form: CheckpointForm) -> Floats:
    """What a norm sees of vectors: with LayerNorm, without their mean."""
    return rows - rows.mean(axis=-1, keepdims=True) if form.norm == "layer" else rows


def row_pairs(first: Ends, second: Ends, form: CheckpointForm) -> Pairs:
    """Rows that `S / sqrt(k)` maps on each other up to a positive factor, as many as there are, in chunks."""
    kinds: list[tuple[object, object, object, object, bool]] = [
        (first.embedding, second.embedding, None, None, first.positions is not None)
    ]
    if first.positions is not None:
        kinds.append((first.positions, second.positions, None, None, True))
    if first.unembedding is not None or second.unembedding is not None:
        old = first.embedding if first.unembedding is None else first.unembedding
        new = second.embedding if second.unembedding is None else second.unembedding
        kinds.append((old, new, first.final_gain, second.final_gain, False))
    for old_rows, new_rows, gain, new_gain, shifted in kinds:
        sides = []
        for rows, by in ((old_rows, gain), (new_rows, new_gain)):
            sides.append((rows, None if by is None else np.asarray(by, dtype=np.float64)))
        means = [_mean(rows) if shifted else 0.0 for rows, _ in sides]
        count = len(np.asarray(old_rows))
        for start in range(0, count, CHUNK):
            made = []
            for (rows, by), mean in zip(sides, means, strict=True):
                part = np.asarray(rows[start : start + CHUNK], dtype=np.float64) - mean  # type: ignore[index]
                made.append(centred(part if by is None else part * by, form))
            yield made[0], made[1]


def _mean(rows: object) -> Floats:
    return np.asarray(np.mean(rows, axis=0, dtype=np.float64))  # type: ignore[call-overload]


def procrustes(pairs: Pairs, width: int) -> tuple[Floats, float, float]:
    """The best orthogonal matrix, the factor of lengths that goes with it, and the part of directions that rows fill.

    Rows count by their direction, so that a few long ones do not decide; only the factor is of lengths.
    """
    together = np.zeros((width, width))
    lengths = [0.0, 0.0]
    for old, new in pairs:
        norms = [np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) for x in (old, new)]
        together += (new / norms[1]).T @ (old / norms[0])
        lengths[0] += float((norms[0] * norms[1]).sum())
        lengths[1] += float((norms[0] ** 2).sum())
    left, values, right = np.linalg.svd(together)
    filled = float((values > 1e-9 * values[0]).sum()) if values[0] > 0 else 0.0
    return left @ right, lengths[0] / max(lengths[1], 1e-300), filled


def squared_scale(first: CheckpointForm, second: CheckpointForm) -> Fraction | None:
    """`k`, as the epsilons have it; `None` if they do not say."""
    if first.epsilon > 0 and second.epsilon > 0:
        return second.epsilon / first.epsilon
    return None


def fit_stream(first: Checkpoint, second: Checkpoint) -> tuple[StreamMap, float]:
    """A stream map, exact where there is a nice one, and how many directions of the stream the rows decide."""
    form = second.form
    ends = first.ends(), second.ends()
    rotation, length, filled = procrustes(row_pairs(*ends, form), form.width)
    if form.norm == "layer":
        rotation = _with_ones(rotation)
    found = squared_scale(first.form, form)
    measured = length * length
    if found is None or abs(measured / float(found) - 1) > 1e-2:
        guess = nice(np.array([measured]), apiece=True)
        found = Fraction(measured) if guess is None else Fraction(int(guess.numerators[0]), guess.denominator)
    return as_map(rotation, found, form), filled


def _with_ones(rotation: Floats) -> Floats:
    """Both continuations to the vector of ones are symmetries; the one nearer to a signed permutation is taken."""
    width = len(rotation)
    ones = np.full((width, width), 1 / width)
    flat = rotation - ones @ rotation
    flat = flat - flat @ ones
    return min((flat + ones, flat - ones), key=lambda m: float(np.abs(np.abs(m) - np.rint(np.abs(m))).sum()))


def as_map(rotation: Floats, squared: Fraction, form: CheckpointForm) -> StreamMap:
    """The stream map of an orthogonal matrix: an order with factors, a matrix of nice numbers, or the matrix itself."""
    width = len(rotation)
    scale = float(squared) ** 0.5
    largest = np.abs(rotation).argmax(axis=1)
    is_order = len(np.unique(largest)) == width and bool((np.abs(rotation).max(axis=1) > 0.9).all())
    exact_scale = nice(np.array([scale]), apiece=True)
    rational_scale = exact_scale is not None and Fraction(int(exact_scale.numerators[0]), exact_scale.denominator) ** 2 == squared
    signs = np.sign(rotation[np.arange(width), largest])
    if form.norm == "layer" and abs(signs.sum()) != width:
        is_order = False
    if is_order:
        order = largest.astype(np.int64)
        if rational_scale and exact_scale is not None:
            whole = Ratio(signs * exact_scale.numerators[0], exact_scale.denominator)
            plain = squared == 1 and bool((signs == 1).all())
            return StreamMap(squared, order=order, factors=None if plain else whole, exact=True)
        return StreamMap(squared, order=order, factors=signs * scale)
    matrix = nice(scale * rotation)
    if matrix is not None:
        return StreamMap(squared, matrix=matrix, exact=True)
    return StreamMap(squared, matrix=scale * rotation)
