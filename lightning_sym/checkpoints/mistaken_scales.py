"""A factor that went into one of two maps that share a space, read off what no change of basis alters: their product.

A row of the table in `mistakes.py`, for factors that a fit of the basis would spread over both maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.mistaken_scenes import Arrays, Change, Map, Scene, wide, with_bias
from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.pieces import CheckpointPiece

SIMPLE = 64
"""Denominators of factors that are tried."""

CLEAR = 1e-3
"""A factor that is nearer to 1 is none."""


def scale_of_product(scene: Scene) -> Iterator[Change]:
    """A factor in one of two maps, behind a basis of the space that they share; the first of both is told."""
    for first, second, kind in _pairs(scene):
        if not {first, second} & scene.off or not {first, second} <= scene.second.keys():
            continue
        sizes = [_product(scene, arrays, first, second, kind) for arrays in (scene.first, scene.second)]
        if not min(sizes) > 0 or not np.isfinite(sizes).all():
            continue
        factor = Fraction(float(np.sqrt(sizes[1] / sizes[0]))).limit_denominator(SIMPLE)
        if not factor or abs(float(factor) - 1) < CLEAR or abs(float(factor) ** 2 * sizes[0] / sizes[1] - 1) > CLEAR:
            continue
        for names in {with_bias(scene, first), (first,)}:
            made, undone = (_times(names, float(number)) for number in (factor, 1 / factor))
            yield Change("scale-one-side", names, made, undone, {"factor": str(factor)}, fits=True)


def _times(names: tuple[str, ...], number: float) -> Map:
    """Return the map that multiplies pieces by a number."""

    def by(arrays: Arrays) -> dict[str, Array]:
        return {name: wide(arrays[name]) * number for name in names}

    return by


def _pairs(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Return the two maps that share a space of every group, and the space."""
    maps = {name: piece for name, piece in scene.pieces.items() if piece.columns and len(piece.axes) == 3}
    kinds = {axis.space.kind for piece in maps.values() for axis in piece.axes if axis.space.free and axis.space.over}
    for kind in sorted(kinds):
        names = [name for name, piece in maps.items() if piece.place(kind) not in (None, 0)]
        if len(names) == 2:
            yield names[0], names[1], kind


def _product(scene: Scene, arrays: Arrays, first: str, second: str, kind: str) -> float:
    """Return the square of the length of the products of both maps, gains taken up, over all heads."""
    sides = [_rows(arrays, scene.pieces[name], kind) for name in (first, second)]
    share = max(len(side) for side in sides)
    one, other = (np.repeat(side @ side.swapaxes(-1, -2), share // len(side), axis=0) for side in sides)
    return float((one * other).sum())


def _rows(arrays: Arrays, piece: CheckpointPiece, kind: str) -> Any:
    """Return a map as a matrix for each head, with rows in the space."""
    array = wide(arrays[piece.name])
    gain = f"{piece.norm}_gain"
    if gain in arrays and piece.norm:
        array = array * wide(arrays[gain])
    return array if piece.place(kind) == 1 else array.swapaxes(1, 2)
