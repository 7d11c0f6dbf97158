"""A layer without its norms' gains and biases, in floats: the maps that read the norm have taken them up.

Tensors that a family lacks are zeros here; groups may be written out (`spread`), neurons that do nothing left out.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import HALVES, MLP, table


class Folded(SimpleNamespace):
    """A layer in floats: its maps and their biases, by name and shaped as in `Block`; `None` where there is none."""


def whole(block: Block, form: CheckpointForm, groups: int, keep: np.ndarray[Any, Any] | None = None) -> Block:
    """A block with all its biases, zeros where the family has none, and with `groups` key and value heads.

    Args:
        block: as it was read.
        form: of its checkpoint.
        groups: a multiple of those it has; each is repeated.
        keep: which neurons; `None` for all.
    """
    found: dict[str, Any] = {}
    for name, piece in table(form).layer.items():
        array = getattr(block, name)
        if array is None and (piece.added_to not in found or found[piece.added_to] is not None):
            array = np.zeros(piece.shape, dtype=np.float32) if piece.added_to else None
        if array is not None and piece.place("groups") is not None and groups != form.groups:
            array = np.repeat(array, groups // form.groups, axis=0)
        if array is not None and keep is not None and not keep.all() and (place := piece.place("neurons")) is not None:
            # one neuron that does nothing, in place of none
            array = array.compress(keep, axis=place) if keep.any() else 0 * array.take([0], axis=place)
        found[name] = array
    return type(block)(**found)


def alive(block: Block) -> Any:
    """Which neurons may do something: those whose column of `down` is not zero, and whose factors are not."""
    found: dict[str, Any] = {}
    for name, piece in HALVES[MLP].maps.items():
        place, array, factor = piece.place("neurons"), getattr(block, name), piece.added_to or name
        if place is None or array is None or (block.gate is None and HALVES[MLP].maps[factor].reads):
            continue
        others = tuple(axis for axis in range(array.ndim) if axis != place)
        there = np.concatenate([(array[some] != 0).any(axis=others) for some in slices(array, place)])
        found[factor] = found.get(factor, False) | there
    return np.logical_and.reduce(list(found.values()))


SIGNED_BY = {
    "output": "behind1_gain", "down": "behind2_gain", "query": "query_norm_gain", "key": "key_norm_gain",
}  # fmt: skip
"""Maps in front of a norm, and its gain."""


def fold(block: Block) -> Folded:
    """The folded layer of a `whole` block."""
    made: dict[str, Any] = dict.fromkeys(name for half in HALVES.values() for name in half.maps)
    for half in HALVES.values():
        gain, bias = (_floats(getattr(block, name)) for name in half.norms)
        for piece, added in half.affine():
            if (stored := getattr(block, piece.name)) is None:
                continue
            weight = _floats(stored)
            own = None if added is None else _floats(getattr(block, added.name))
            if piece.norm and bias.any():
                own = own + weight @ bias
            made |= {piece.name: weight * gain if piece.norm else weight, f"{piece.name}_bias": own}
    for name, by in SIGNED_BY.items():  # rows change signs with their gain
        if (gain := made.get(by)) is not None and made[name] is not None:
            signs = np.where(gain < 0, -1.0, 1.0)
            made[name] = made[name] * signs[:, None]
            if (own := made[f"{name}_bias"]) is not None:
                made[f"{name}_bias"] = own * signs
    return Folded(**made)


def _floats(array: Any) -> Any:
    return np.asarray(array, dtype=np.float64)
