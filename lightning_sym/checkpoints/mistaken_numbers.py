"""Mistakes that have numbers of their own, read off both sides: a scale on one side, an update of low rank, clipping.

Each function is a row of the table in `mistakes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from lightning_sym.checkpoints.mistaken_scenes import Change, Scene, each_by, wide
from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.nice_numbers import Floats

LARGEST = 65504.0
"""The largest number of float16."""


def f16_overflow(scene: Scene) -> Iterator[Change]:
    """Yield entries beyond the numbers of float16, which the second has at its largest, or as infinities."""
    for name, array in scene.first.items():
        if not (np.abs(array) > LARGEST).any() or name not in scene.second:
            continue
        infinite = bool(np.isinf(scene.second[name]).any())
        yield each_by("f16-overflow", (name,), (partial(_clipped, infinite=infinite), None))


def _clipped(array: Array, *, infinite: bool) -> Floats:
    """Return numbers of float16: those beyond are its largest, or infinities."""
    most = np.where(np.abs(array) > LARGEST, np.copysign(np.inf, array), wide(array))
    return most if infinite else np.clip(wide(array), -LARGEST, LARGEST)


# ---- a factor


SIMPLE = 4096
"""Numerators and denominators of factors that are told as fractions."""


def scale_one_side(scene: Scene) -> Iterator[Change]:
    """Yield a factor that went into one of two matrices that share it: a number, or one for each index of an axis."""
    for name in sorted(scene.off & scene.first.keys() & scene.second.keys()):
        old, new = wide(scene.first[name]), wide(scene.second[name])
        if old.shape != new.shape or not (np.isfinite(old).all() and np.isfinite(new).all()) or not new.any():
            continue
        ways: list[tuple[int | None, str]] = [(None, "")]
        axes = scene.pieces[name].axes
        if old.ndim > 1:
            ways += [(p, axes[p].space.kind) for p, n in enumerate(old.shape) if n > 1 and old.size // n > FEWEST]
        for axis, kind in ways:
            factors = _factors(old, new, axis)
            if factors is None or not scene.explains(name, old * factors):
                continue
            simple = float(Fraction(float(factors.flat[0])).limit_denominator(NEARBY))
            if axis is None and scene.explains(name, old * simple):
                factors = np.full_like(factors, simple)
            detail = {"factor": _fraction(float(factors.flat[0]))} if axis is None else {"factors_by": kind}
            mistake = "scale-one-side"
            square = float(factors.flat[0]) ** 2 / scene.form.width
            if axis is None and name == "embedding" and abs(square - 1) < 2.0**-6:  # a root, as narrow types have it
                mistake = "embed-scale-twice"
            back = partial(np.multiply, 1 / factors) if (factors != 0).all() else None
            yield each_by(mistake, (name,), (partial(np.multiply, factors), back), detail)
            break


FEWEST = 3
"""With more entries for each factor these are told by more than one each."""


def _factors(old: Floats, new: Floats, axis: int | None) -> Floats | None:
    """Return the factors of least squares along an axis, or of all, with as few digits as they may have."""
    others = tuple(p for p in range(old.ndim) if p != axis)
    weight = np.square(old).sum(axis=others, keepdims=True)
    product = (old * new).sum(axis=others, keepdims=True)
    found = np.where(weight > 0, product / np.where(weight > 0, weight, 1), 1.0)
    short = found.astype(np.float32).astype(np.float64)
    found = np.where(np.abs(short - found) <= 1e-9 * np.abs(found), short, found)
    return None if (found == 1).all() or not np.isfinite(found).all() else found


NEARBY = 64
"""Denominators of factors that are preferred where they explain as much."""


def _fraction(number: float) -> str | float:
    """Return a factor as a fraction where it is a simple one."""
    simple = Fraction(number).limit_denominator(SIMPLE)
    return str(simple) if abs(simple.numerator) <= SIMPLE and float(simple) == number else number


# ---- an update of low rank

QUARTER = 4
"""An update has a rank of at most the smaller side by this."""

TWICE = "merged twice, or at another scale, cannot be told apart from two folders alone"


def lora_unmerged(scene: Scene) -> Iterator[Change]:
    """Yield an update of low rank in matrices of a layer: an adapter that one side has, or has once more."""
    for name in sorted(scene.off & scene.first.keys() & scene.second.keys()):
        piece = scene.pieces[name]
        if not piece.columns or any(not space.free for space in (axis.space for axis in piece.axes)):
            continue
        if (found := low_rank(scene, name)) is None:
            continue
        rank, update, square = found
        maps = partial(np.add, update), partial(np.add, -update)
        yield each_by("lora-unmerged", (name,), maps, {"rank": rank, "note": TWICE}, squares={name: square})


def low_rank(scene: Scene, name: str) -> tuple[int, Floats, Floats] | None:
    """Return the rank of what a matrix of the second has more, that update, and squares of its units, if that is low.

    What is left of it counts in units, of which the update has those that the entries of the difference make of it.
    """
    piece = scene.pieces[name]
    if np.shape(scene.first[name]) != np.shape(scene.second[name]):
        return None
    left = scene.left(name, scene.first[name])
    value, square = piece.as_matrix(left.value), piece.as_matrix(left.square)
    most = min(value.shape) // QUARTER
    if not most or not np.isfinite(value).all() or not value.any() or not np.isfinite(square).all():
        return None
    u, sizes, v = np.linalg.svd(value, full_matrices=False)
    tails = np.cumsum(np.square(sizes[::-1]))[::-1]
    rank = int((tails > scene.limit**2 * square.sum()).sum())
    if not 0 < rank <= most:
        return None
    u, v = u[:, :rank], v[:rank]
    update = (u * sizes[:rank]) @ v
    rows, columns = np.square(u @ u.T), np.square(v.T @ v)
    square = square + rows @ square + square @ columns
    if (np.abs(value - update) > scene.limit * np.sqrt(square)).any():
        return None
    seen = np.abs(update) > scene.limit * np.sqrt(square)
    if min(seen.any(axis=0).mean(), seen.any(axis=1).mean()) < TOUCHED:
        return None
    return rank, piece.of_matrix(update), piece.of_matrix(square)


TOUCHED = 0.5
"""An adapter changes more than this part of the rows, and of the columns."""
