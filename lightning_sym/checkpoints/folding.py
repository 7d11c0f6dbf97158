"""A layer in floats, the gains and biases of norms in the maps that read them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import HALVES, table


class Folded(SimpleNamespace):
    """A layer in floats: its maps and their biases, by name and shaped as in `Block`; `None` where there is none."""


SIGNED_BY = {
    "behind1_gain": "output", "behind2_gain": "down", "query_norm_gain": "query", "key_norm_gain": "key",
    "query_row_gain": "query", "key_row_gain": "key",
}  # fmt: skip
"""By the gain of a norm, the map in front of it."""


def fold(block: Block, form: CheckpointForm) -> Folded:
    """Return the folded layer of a `whole` block, or of some of its pieces."""
    made: dict[str, Any] = dict.fromkeys(name for half in HALVES.values() for name in half.maps)
    for half in table(form).halves.values():
        gain, bias = (None if norm is None else _floats(norm) for norm in half.norm_of(block))
        for piece, added in half.affine:
            if (stored := getattr(block, piece.name)) is None:
                continue
            weight = _floats(stored)
            own = None if added is None else _floats(getattr(block, added.name))
            if piece.norm and bias is not None and bias.any():
                own = own + weight @ bias
            made |= {
                piece.name: weight * gain if piece.norm and gain is not None else weight,
                f"{piece.name}_bias": own,
            }
    for by, name in SIGNED_BY.items():  # rows change signs with their gain
        if (gain := made.get(by)) is not None and made[name] is not None:
            signs = np.where(gain < 0, -1.0, 1.0)
            made[name] = made[name] * signs[..., None]
            if (own := made[f"{name}_bias"]) is not None:
                made[f"{name}_bias"] = own * signs
    return Folded(**made)


def _floats(array: Any) -> Any:
    return np.asarray(array, dtype=np.float64)
