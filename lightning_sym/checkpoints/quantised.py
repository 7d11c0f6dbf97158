"""A tensor that is a quantisation of the other side's: each code the nearest for what stands in its block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lightning_sym.checkpoints.model import Array, Checkpoint
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.units import Residual, Worst, entry_of
from lightning_sym.errors import TooLarge


def quantised_residual(
    sides: tuple[Checkpoint, Checkpoint], piece: str, arrays: tuple[Array, Array], plain: Residual
) -> Residual:
    """How far a piece is from the other side's, in steps of its codes, where one side alone is quantised.

    Each code must be the nearest to the other side's number for scale and shift of its block, up to the rounding of
    these; beyond the last code none is nearer, and steps are counted there too. Where one is not, the residual is what
    it was, and says in how many blocks.

    Args:
        sides: the two checkpoints.
        piece: such as `3.query`.
        arrays: that of each.
        plain: the residual in units in the last place.
    """
    try:
        grids = [side.grid(piece) if isinstance(side, StoredCheckpoint) else None for side in sides]
    except TooLarge as error:
        return replace(plain, blocks=f"codes were not looked at: {error}")
    here = next((place for place, grid in enumerate(grids) if grid is not None), None)
    grid = None if here is None else grids[here]
    if here is None or grid is None or None not in grids:
        return plain
    values, wanted = (np.asarray(arrays[place], dtype=np.float64) for place in (here, 1 - here))
    right = grid.nearest(values, wanted)
    if not right.all():
        wrong = np.unique(grid.block[~right])
        count = f"{len(wrong):,} of {len(np.unique(grid.block)):,} blocks of {grid.kind}"
        return replace(plain, blocks=f"{count} hold codes that are not the nearest, first number {wrong[0]:,}")
    worst = Worst()
    step = np.where(grid.step > 0, grid.step, np.inf)
    difference = np.asarray(arrays[1], dtype=np.float64) - np.asarray(arrays[0], dtype=np.float64)
    worst.add(difference, step, np.asarray(arrays[1]), mask=difference != 0)
    found = replace(plain, units=worst.units, stored=grid.kind, difference=worst.difference, own=None)
    return found if worst.entry is None else replace(found, entry=entry_of(piece, worst.entry, sides[1].form))
