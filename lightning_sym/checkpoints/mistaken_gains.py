"""Mistakes with gains and biases: one added or taken, folded twice or not at all, forgotten.

Each function is a row of the table in `mistakes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lightning_sym.checkpoints.mistaken_scenes import Arrays, Change, Scene, all_and_each, each_by, gains_of, wide
from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.piece_table import NORMED


def number_added(mistake: str, more: int, scene: Scene) -> Iterator[Change]:
    """Yield a number added to all gains, or to one, or lacking there."""
    every = gains_of(scene, *NORMED, "query-key")
    for names in all_and_each(every):
        yield each_by(mistake, names, (partial(np.add, np.float64(by)) for by in (more, -more)), fits=True)


def _norms(scene: Scene) -> list[tuple[str, tuple[str, ...]]]:
    """Return each gain of a norm with the maps that read it."""
    found = []
    for gain in gains_of(scene, *NORMED):
        norm = gain.removesuffix("_gain")
        scaled = next((s.kind for s, _ in scene.pieces[gain].scales if s.over), norm)
        readers = tuple(name for name, piece in scene.pieces.items() if piece.norm in (norm, scaled))
        if readers:
            found.append((gain, readers))
    return found


def gain_folded_twice(scene: Scene) -> Iterator[Change]:
    """Yield a gain that stands in the norm and in the matrices behind it: folded, and not taken out of the norm."""
    for gain, readers in _norms(scene):
        for names in all_and_each([*readers]):
            folded = partial(_by_gain, np.multiply, names, gain)
            yield Change("gain-folded-twice", names, folded, None, {"norm": gain.removesuffix("_gain")}, fits=True)
        if gain in scene.second and np.array_equal(scene.first[gain], scene.second[gain]):
            detail = {"norm": gain.removesuffix("_gain")}
            yield each_by("gain-folded-twice", (gain,), (None, np.ones_like), detail, fits=True)


def _by_gain(operation: np.ufunc, names: tuple[str, ...], gain: str, arrays: Arrays) -> dict[str, Array]:
    """Return what reads a norm, times its gain, or over it."""
    return {name: operation(wide(arrays[name]), wide(arrays[gain])) for name in names}


def gain_not_folded(scene: Scene) -> Iterator[Change]:
    """Yield a gain that was made one, and that the matrices behind the norm, or some of them, have not taken up."""
    for gain, readers in _norms(scene):
        norm = {"norm": gain.removesuffix("_gain")}
        ones = gain in scene.second and (np.asarray(scene.second[gain]) == 1).all()
        if not ones or (np.asarray(scene.first[gain]) == 1).all():
            continue
        yield each_by("gain-not-folded", (gain,), (np.ones_like, None), norm, fits=True)
        if (np.asarray(scene.first[gain]) == 0).any():
            continue
        for name in readers if len(readers) > 1 else ():
            without = partial(_by_gain, np.divide, (name,), gain)
            yield Change("gain-not-folded", (name,), without, None, norm, fits=True)


def bias_forgotten(scene: Scene) -> Iterator[Change]:
    """Yield the change that forgets biases: the second has none, or zeros in their place."""
    lost = tuple(
        name
        for name, piece in scene.pieces.items()
        if piece.added_to and scene.first[name].any() and not np.any(scene.second.get(name, 0))
    )
    if lost:
        yield each_by("bias-forgotten", lost, (np.zeros_like, None))
