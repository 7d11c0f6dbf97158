"""A guess at what was done to the residual stream, from the rows of the embedding; chunk by chunk.

Rows of one token id stand at one place in both checkpoints, so nothing has to be matched: `E' = c E R^T` is a problem
of Procrustes, and `c^2` is the quotient of the two epsilons. Rows of an unembedding of its own, folded, turn by the
same matrix. With LayerNorm all rows are centred, and with learned positions the mean row is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.coded import rows_at_once, slices
from lightning_sym.checkpoints.identity import stored_type
from lightning_sym.checkpoints.measured import Fitted, Measured, fitted, measured
from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio, as_part, nice, round_number
from lightning_sym.checkpoints.stream import Stream
from lightning_sym.checkpoints.symmetry import Symmetry
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.checkpoints.units import number_residual, number_type
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.rings.arrays import rational_root

Pairs = Iterator[tuple[Floats, Floats, bool]]


def centred(rows: Floats, form: CheckpointForm) -> Floats:
    """Return what a norm sees of vectors: with LayerNorm, without their mean."""
    return rows - rows.mean(axis=-1, keepdims=True) if form.norm == "layer" else rows


def row_pairs(first: Ends, second: Ends, form: CheckpointForm, of: str = "both") -> Pairs:
    """Yield rows that `R` maps on each other up to a positive factor, in chunks, and whether that factor is `c`.

    Those that are `read` by the first layer, those of an unembedding of its own, that are `unread`, or `both`.
    """
    kinds: list[tuple[Array, Array, Array | None, Array | None, bool]] = [
        (first.embedding, second.embedding, None, None, first.positions is not None)
    ]
    if first.positions is not None and second.positions is not None:
        kinds.append((first.positions, second.positions, None, None, True))
    if first.unembedding is not None or second.unembedding is not None:
        old = first.embedding if first.unembedding is None else first.unembedding
        new = second.embedding if second.unembedding is None else second.unembedding
        kinds.append((old, new, first.final_gain, second.final_gain, False))
    for old_rows, new_rows, gain, new_gain, shifted in kinds:
        if of == ("unread" if gain is None else "read"):
            continue
        sides = []
        for rows, by in ((old_rows, gain), (new_rows, new_gain)):
            sides.append((rows, None if by is None else np.asarray(by, dtype=np.float64)))
        means = [
            sum(np.sum(rows[some], axis=0, dtype=np.float64) for some in slices(rows)) / len(rows) if shifted else 0.0
            for rows, _ in sides
        ]
        for some in slices(old_rows):
            made = []
            for (rows, by), mean in zip(sides, means, strict=True):
                part = np.asarray(rows[some], dtype=np.float64) - mean
                made.append(centred(part if by is None else part * by, form))
            yield made[0], made[1], gain is None


def procrustes(pairs: Pairs, width: int, needed: int) -> tuple[Floats, float, float]:
    """Return the best orthogonal matrix, the factor of lengths with it, and the part of directions that rows fill.

    Rows count by their direction, so that a few long ones do not decide; only the factor is of lengths.
    """
    together = np.zeros((width, width))
    lengths = [0.0, 0.0]
    for old, new, scaled in pairs:
        norms = [np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) for x in (old, new)]
        together += (new / norms[1]).T @ (old / norms[0])
        if scaled:
            lengths[0] += float((norms[0] * norms[1]).sum())
            lengths[1] += float((norms[0] ** 2).sum())
    left, values, right = np.linalg.svd(together)
    filled = float((values > 1e-9 * values[0]).sum()) if values[0] > 0 else 0.0
    if filled < needed:  # what no row decides stays as it is, if that is possible
        left, _, right = np.linalg.svd(together + 1e-6 * max(float(values[0]), 1.0) * np.eye(width))
    return left @ right, lengths[0] / max(lengths[1], 1e-300), filled


LONGEST = Fraction(2**53)
"""Numerators and denominators below are floats, exactly."""


def _short(number: Fraction) -> bool:
    """Return whether floats hold both of its parts, and no prime of the comparisons divides the lower one."""
    low = number.denominator
    odd = low // (low & -low)
    return number.numerator < LONGEST and low < LONGEST and odd < 2**21


SIMPLE = 64
"""Denominators up to which a scale is taken for the right one where the epsilons, rounded, have it."""


def scale_of(first: CheckpointForm, second: CheckpointForm, length: float, stored: str) -> tuple[Fraction, bool]:
    """Return `c` as the epsilons have it, else as the lengths of rows have it; and whether it is exact.

    Epsilons that differ by a rounding to the type `stored` have the scale 1, or another simple number.
    """
    square = second.epsilon / first.epsilon if first.epsilon > 0 and second.epsilon > 0 else None
    if square is not None and not LONGEST**-2 < square < LONGEST**2:
        square = None
    if not 2.0**-20 < length < 2.0**20:  # nothing but zeros in one of them
        length = 1.0 if square is None else float(square) ** 0.5
    near = square is not None and abs(length / float(square) ** 0.5 - 1) < 1e-2
    if square is not None and near:
        if (root := rational_root(square)) is not None and _short(root):
            return root, True
        simple = Fraction(float(square) ** 0.5).limit_denominator(SIMPLE)
        if simple and number_residual("epsilon", first.epsilon * simple**2, second.epsilon, stored).units <= 1.5:
            return simple, True
    guess = nice(np.array([length]), apiece=True)
    if guess is not None:
        return Fraction(int(guess.numerators[0]), guess.denominator), True
    return Fraction(float(square) ** 0.5 if square is not None and near else length), False


def scale_to_one(epsilon: Fraction) -> Fraction:
    """Return the scale of the stream that takes an epsilon to that of its class: those times the squares of fractions.

    It is a number without square factors over a million, such as 1/10^5 and 1/10^6, which stay; where that is large,
    divided by a power of four.

    Example:
        >>> scale_to_one(Fraction(1, 10**5)), scale_to_one(Fraction(9, 4 * 10**5)), scale_to_one(Fraction(4, 10**6))
        (Fraction(1, 1), Fraction(2, 3), Fraction(1, 2))
    """
    if epsilon <= 0:
        return Fraction(1)
    rest, free, divisor = epsilon.numerator * epsilon.denominator, 1, 2
    while divisor * divisor <= rest and divisor < LARGEST:
        while rest % (divisor * divisor) == 0:
            rest //= divisor * divisor
        if rest % divisor == 0:
            free, rest = free * divisor, rest // divisor
        divisor += 1
    free *= 1 if isqrt(rest) ** 2 == rest else rest
    wanted = Fraction(free, 10**6)
    while wanted > Fraction(1, 10**4):
        wanted /= 4
    square = wanted / epsilon
    return Fraction(isqrt(square.numerator), isqrt(square.denominator))


LARGEST = 2**20
"""Divisors of an epsilon that are looked for; what is left is a prime, or the square of one, for epsilons in files."""


def streams(first: Checkpoint, second: Checkpoint) -> Iterator[tuple[StreamMap, float]]:
    """Yield stream maps to try, with how many directions rows decide: of both ends, the identity, of each end alone."""
    found, filled = fit_stream(first, second)
    yield found, filled
    if found.matrix is not None and second.form.norm == "layer" and second.form.theta is None:
        yield turned_over(found), filled
    width = second.form.width
    yield StreamMap(Fraction(1), order=np.arange(width), exact=True), width
    if not (first.form.tied and second.form.tied):
        yield fit_stream(first, second, "read")
        yield fit_stream(first, second, "unread")


def turned_over(found: StreamMap) -> StreamMap:
    """Return the map with the other sign on the vector of ones, which no norm sees, but a bias behind one does."""
    rotation = found.matrix.floats if isinstance(found.matrix, Ratio) else found.matrix
    turned = rotation - 2 * rotation.mean(axis=1, keepdims=True)
    exact = nice(turned) if isinstance(found.matrix, Ratio) else None
    return replace(found, matrix=turned if exact is None else exact, exact=found.exact and exact is not None)


def fit_stream(first: Checkpoint, second: Checkpoint, of: str = "both") -> tuple[StreamMap, float]:
    """Return a stream map, exact where there is a nice one, and how many directions of the stream the rows decide.

    Args:
        first, second: the checkpoints.
        of: which rows, see `row_pairs`.
    """
    form = second.form
    ends = ends_of(first, Walker.COMPARISON, coded=True), ends_of(second, Walker.COMPARISON, coded=True)
    rotation, length, filled = procrustes(row_pairs(*ends, form, of), form.width, form.width - (form.norm == "layer"))
    if form.norm == "layer":
        rotation = _with_ones(rotation)
    scale = scale_of(first.form, form, length, number_type(first, second))
    found = as_map(rotation, scale[0], exact=scale[1], form=form)
    if form.norms_behind is not None and found.matrix is not None:  # orders and signs alone are symmetries
        found = StreamMap(scale[0], order=np.arange(form.width), exact=scale[1])
    return found, filled


def _with_ones(rotation: Floats) -> Floats:
    """Return the continuation to the vector of ones that is nearer to a signed permutation: both are symmetries."""
    width = len(rotation)
    ones = np.full((width, width), 1 / width)
    flat = rotation - ones @ rotation
    flat = flat - flat @ ones
    return min((flat + ones, flat - ones), key=lambda m: float(np.abs(np.abs(m) - np.rint(np.abs(m))).sum()))


def as_map(rotation: Floats, scale: Fraction, *, exact: bool, form: CheckpointForm) -> StreamMap:
    """Return the stream map of an orthogonal matrix: an order with signs, nice numbers, or the matrix itself."""
    width = len(rotation)
    largest = np.abs(rotation).argmax(axis=1)
    signs = np.sign(rotation[np.arange(width), largest])
    is_order = len(np.unique(largest)) == width and bool((np.abs(rotation).max(axis=1) > 0.9).all())
    if is_order and (form.norm == "rms" or abs(signs.sum()) == width):
        order = largest.astype(np.int64)
        return StreamMap(scale, order=order, signs=None if (signs == 1).all() else Ratio(signs, 1), exact=exact)
    matrix = nice(rotation)
    short = round_number(rotation) if matrix is None else None
    if short is not None and np.array_equal(short.T @ short, np.eye(width)):
        matrix = nice(short)
    return StreamMap(scale, matrix=rotation if matrix is None else matrix, exact=exact and matrix is not None)


def stream_of(found: StreamMap, first: Checkpoint, second: Checkpoint) -> Stream:
    """Return what was done to the stream, and how well it is known where it was fitted."""
    symmetry = Symmetry((), found.scale, rotation=None if found.matrix is None else as_part(found.matrix))
    if found.matrix is None and not found.is_identity and found.order is not None:
        moves = (found.order != np.arange(len(found.order))).any()
        signs = None if found.signs is None else as_part(found.signs).astype(np.int64)
        symmetry = replace(symmetry, order=found.order if moves else None, signs=signs)
    fits: tuple[tuple[object, Fitted], ...] = ()
    if found.matrix is not None and not isinstance(found.matrix, Ratio):
        rows = ends_of(first, Walker.COMPARISON, coded=True).embedding
        some = measured(rows[: rows_at_once(rows)], stored_type(first, second, "embedding"))
        some = Measured(centred(some.value, second.form), some.square)  # what it makes of ones was not fitted
        fits = ((symmetry.rotation, fitted(symmetry.rotation, some.swapaxes(0, 1), rows=len(rows))),)
    stream = Stream(symmetry, second.form, found, fits)
    if isinstance(found.matrix, Ratio):
        try:
            stream.exactly  # noqa: B018 - whether nice numbers are orthogonal is asked here
        except (BadInput, TooLarge):
            left, _, right = np.linalg.svd(found.matrix.floats)
            return stream_of(replace(found, matrix=left @ right, exact=False), first, second)
    return stream
