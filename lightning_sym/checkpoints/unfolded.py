"""What differs, with norms carried along, not folded: a wrong gain is told as one, not as all maps that read it.

The equations compare maps with the gain and the bias of their norm in them, so that norms may be folded. Where that
explains not all of a layer, norms and maps are compared by themselves; what leaves fewer tensors unexplained is said,
if it leaves some: what is equal, and what the answer is, has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.ends_compare import EndsFound
from lightning_sym.checkpoints.exact_compare import MAPS, NORMS
from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.layer_compare import LayerFound, compare_layer
from lightning_sym.checkpoints.layer_fit import floats
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import MLP
from lightning_sym.checkpoints.stream_fit import CHUNK
from lightning_sym.checkpoints.units import Worst, unit_at

INNER = ("neurons", "ups", "ups_inverse")
"""The parts of a gauge that belong to the MLP."""


def told_layer(
    first: Block,
    second: Block,
    form: CheckpointForm,
    groups: int,
    stream: StreamMap,
    stored: Mapping[str, str],
    limit: float,
) -> LayerFound:
    """A layer compared, see `compare_layer`, each half in the way that leaves fewer tensors unexplained."""
    found = compare_layer(first, second, form, groups, stream, stored, limit)
    if found.equal or found.largest() <= limit or stream.order is None:
        return found
    bare = compare_layer(_bare(first), _bare(second), form, groups, stream, stored, limit)
    for half, maps in MAPS.items():
        norm = [f"{NORMS[half]}_gain", f"{NORMS[half]}_bias"]
        names = [name for name in (*maps, *norm) if name in found.differences]
        if any(bare.differences[name].any() for name in norm):  # a column is told as its gain, which is none
            continue
        differences, masks = dict(bare.differences), None if bare.masks is None else dict(bare.masks)
        for name in norm:
            differences[name] = floats(getattr(second, name)) - _carried(getattr(first, name), stream, name)
            if masks is not None:
                masks[name] = differences[name] != 0
        other = replace(bare, differences=differences, masks=masks, units=found.units)
        # fewer, but never none: what differs is only told otherwise
        if 0 < _unexplained(other, names, limit) < _unexplained(found, names, limit):
            found = _with_half(found, other, names, of_mlp=half == MLP)
    return found


def _bare(block: Block) -> Block:
    """A `whole` block whose norms do nothing."""
    width = len(block.norm1_gain)
    one, none = np.ones(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
    return replace(block, norm1_gain=one, norm1_bias=none, norm2_gain=one, norm2_bias=none)


def _carried(array: Any, stream: StreamMap, name: str) -> Floats:
    """A gain, or a bias, in the order of the second, the bias with the signs."""
    found = floats(array)[stream.order]
    return found if stream.signs is None or name.endswith("gain") else found * floats(stream.signs)


def _unexplained(found: LayerFound, names: Iterable[str], limit: float) -> int:
    """How many of these tensors are off by more than the limit."""
    return sum(bool((np.abs(found.differences[name]) > limit * found.units[name]).any()) for name in names)


def _with_half(found: LayerFound, other: LayerFound, names: list[str], of_mlp: bool) -> LayerFound:
    """What was found, with one half of the layer as the other has it."""
    taken = {name: other.differences[name] for name in names}
    masks = None
    if found.masks is not None and other.masks is not None:
        masks = found.masks | {name: other.masks[name] for name in names if name in other.masks}
    inner = {name: getattr(other.gauge if of_mlp else found.gauge, name) for name in INNER}
    gauge = replace(found.gauge if of_mlp else other.gauge, **inner)
    moves = found.moves if of_mlp else other.moves
    return replace(found, gauge=gauge, differences=found.differences | taken, masks=masks, equal=False, moves=moves)


def told_ends(
    found: EndsFound,
    first: Ends,
    second: Ends,
    form: CheckpointForm,
    stream: StreamMap,
    stored: Callable[[str], str],
    limit: float,
) -> EndsFound:
    """What was found at the ends; where the rows of an unembedding are the first's, its norm is what differs."""
    told = found.tensors.get("unembedding")
    if told is None or told.units <= limit or stream.order is None or form.tied:
        return found
    old, new = ((each.embedding if each.unembedding is None else each.unembedding) for each in (first, second))
    by = replace(stream, scale=Fraction(1))
    for start in range(0, len(new), CHUNK):
        rows = floats(new[start : start + CHUNK])
        unit = unit_at(np.abs(rows).max(axis=1, keepdims=True), stored("unembedding"))
        if (np.abs(rows - by.along(floats(old[start : start + CHUNK]), floats)) > limit * unit).any():
            return found
    tensors = {name: worst for name, worst in found.tensors.items() if name not in ("unembedding", "final_bias")}
    for name in ("final_gain", "final_bias"):
        before, after = getattr(first, name), getattr(second, name)
        if before is not None and after is not None:
            tensors[name] = Worst()
            difference = floats(after) - _carried(before, stream, name)
            size = np.maximum(np.abs(floats(after)), np.abs(floats(after) - difference))
            tensors[name].add(difference, unit_at(size, stored(name)), floats(after), mask=difference != 0)
    norm = (tensors[name].units for name in ("final_gain", "final_bias") if name in tensors)
    return replace(found, tensors=tensors) if max(norm, default=0) > limit else found
