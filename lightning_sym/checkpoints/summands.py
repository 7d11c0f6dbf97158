"""The units of a tensor that an adapter was added to: its summands are rounded as well, and may be larger than it."""

from __future__ import annotations

import numpy as np

from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.model import Array, Checkpoint
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.units import unit_at


def reach_of(sides: tuple[Checkpoint, Checkpoint], piece: str) -> Array | None:
    """Of a piece that an adapter adds to, the larger summand of each entry; `None` where none does."""
    for side in sides:
        if isinstance(side, StoredCheckpoint) and (found := side.reach(piece)) is not None:
            return found
    return None


def units_with(reach: Array | None, units: Floats, rows: slice, stored: str) -> Floats:
    """The units of some rows, no finer than those of the summands: programs round each of them to the stored type.

    Args:
        reach: as of `reach_of`.
        units: those of the entries themselves.
        rows: which rows.
        stored: the type.
    """
    return units if reach is None else np.maximum(units, unit_at(reach[rows], stored))
