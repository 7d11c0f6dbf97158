"""A layer of two checkpoints, looked at by whoever has hands: here, in another process, on another machine.

Layers are independent of each other once it is known what was done to the stream. What is sent back is small: words,
residuals, the numbers of the symmetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from lightning_sym.checkpoints.configurations import IDLE, Flags, alive, whole
from lightning_sym.checkpoints.found_symmetry import UNREAD, layer_words
from lightning_sym.checkpoints.identity import residuals_of, stored_types
from lightning_sym.checkpoints.layer_accounts import LayerFound, LayerPair, best_account, compare_layer
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.pieces import LAYER
from lightning_sym.checkpoints.stream import Stream
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Part
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.checkpoints.units import Residual


@dataclass(frozen=True, eq=False)
class LayerLooked:
    """What was found in a layer of both.

    Attributes:
        layer: from 0.
        counts: of both, how many neurons do something.
        words: what was done, in words.
        exact: it was compared exactly.
        equal: nothing differs.
        fitted: some number of it was fitted.
        residuals: of the pieces that differ.
        symmetry: what was done, neurons that do nothing with the numbers of the second.
        idle: bytes of those.
        why_not: why the symmetry cannot be written down, in one line.
    """

    layer: int
    counts: tuple[int, int]
    words: tuple[str, ...]
    exact: bool
    equal: bool
    fitted: bool
    residuals: tuple[Residual, ...]
    symmetry: LayerSymmetry
    idle: int
    why_not: str


@dataclass(frozen=True, eq=False)
class LayerWork:
    """What is done to each layer of two checkpoints: called with its number.

    Attributes:
        first, second: the checkpoints; those in files are opened again where the work is done.
        stream: what was done to the stream.
        units: up to which a difference counts as rounding.
    """

    first: Checkpoint
    second: Checkpoint
    stream: Stream
    units: float

    def __call__(self, layer: int) -> LayerLooked:
        forms = self.first.form.at(layer), self.second.form.at(layer)
        old, new = (block_of(each, layer, Walker.COMPARISON, coded=True) for each in (self.first, self.second))
        stored = stored_types(self.first, self.second, layer)
        found, kept, counts = layer_found((old, new), forms, self.stream, stored, self.units)
        lost = counts[0] != counts[1]
        for name in ("down", "up", "gate") if lost else ():
            if name in found.tensors:
                found.tensors[name].units = float("inf")
        symmetry, idle = _with_idle(found.symmetry, (old, new), kept)
        return LayerLooked(
            layer,
            (counts[0], counts[1]),
            layer_words(found.symmetry, found.guess.words.values(), written_out=forms[0].groups != forms[1].groups),
            found.exact and not lost,
            found.equal,
            bool(found.guess.fitted),
            tuple(residuals_of(self.first, self.second, layer, found.tensors, exact=found.exact)),
            symmetry,
            idle,
            _why_not(layer, found, (old, new)),
        )


def _with_idle(given: LayerSymmetry, raw: tuple[Block, Block], kept: list[Flags]) -> tuple[LayerSymmetry, int]:
    """Return the symmetry of a layer with idle neurons, which have the numbers of the second; and their bytes."""
    old, new = kept
    parts: dict[str, Part] = {}
    if not (old.all() and new.all()):
        parts["neurons"] = np.full(len(new), -1)
        if old.any() and new.any():
            order = np.arange(int(new.sum())) if given.neurons is None else given.neurons
            parts["neurons"][new] = np.flatnonzero(old)[order]
        for name in ("ups", "gate_shift", "up_shift", "down_shift"):
            if (numbers := getattr(given, name)) is not None:
                parts[name] = np.full(len(new), int(name == "ups"), dtype=numbers.dtype)
                parts[name][new] = numbers
        for name in IDLE if not new.all() else ():
            if (array := getattr(raw[1], name)) is not None:
                numbers = array[:, ~new] if name == "down" else array[~new]
                parts |= {f"idle_{name}": numbers} if numbers.any() else {}
    return given.having(parts), sum(array.nbytes for name, array in parts.items() if name.startswith("idle"))


def _why_not(layer: int, found: LayerFound, raw: tuple[Block, Block]) -> str:
    """Return the first reason why the symmetry of a layer cannot be written down; nothing if there is none."""
    pieces = [dict(block.present()) for block in raw]
    alone = {name: array for one, other in (pieces, pieces[::-1]) for name, array in one.items() if name not in other}
    lonely = min((name for name, array in alone.items() if not LAYER[name].added_to or array.any()), default="")
    if lonely:
        return f"{layer}.{lonely} is in one of the checkpoints only"
    return f"{layer}.{found.unread} {UNREAD}" if found.unread else found.why_not


def layer_found(
    blocks: tuple[Block, Block],
    forms: tuple[CheckpointForm, CheckpointForm],
    stream: Stream,
    stored: Mapping[str, str],
    units: float,
) -> tuple[LayerFound, list[Flags], list[int]]:
    """Return a layer of both compared, keys and values written out, neurons that do nothing left out.

    Where more neurons do something in one of them, its last ones are left out too.

    Args:
        blocks: the layer of both.
        forms: of both.
        stream: what was done to the stream.
        stored: by piece, the coarser of the types that it is stored in.
        units: up to which a difference counts as rounding.

    Returns:
        What was found, of both which neurons were compared, and how many do something.
    """
    pair, kept, counts = _alike(blocks, forms, stream, stored, units)
    return compare_layer(pair), kept, counts


def layer_off(
    blocks: tuple[Block, Block],
    forms: tuple[CheckpointForm, CheckpointForm],
    stream: Stream,
    stored: Mapping[str, str],
    units: float,
) -> frozenset[str]:
    """Return the pieces that no symmetry of `layer_found` explains, in units alone, for the many that are tried."""
    pair, _, counts = _alike(blocks, forms, stream, stored, units)
    found, _ = best_account(replace(pair, rounds=0))
    return found.off | ({"down"} if counts[0] != counts[1] else set())


def _alike(
    blocks: tuple[Block, Block],
    forms: tuple[CheckpointForm, CheckpointForm],
    stream: Stream,
    stored: Mapping[str, str],
    units: float,
) -> tuple[LayerPair, list[Flags], list[int]]:
    """Return the layer of both with equally many groups and neurons, and what is said of neurons."""
    kept = [alive(block) for block in blocks]
    counts = [int(each.sum()) for each in kept]
    for each in kept:
        each[np.flatnonzero(each)[min(counts) :]] = False
    groups = max(form.groups for form in forms)
    lacking = {name: None for name in BIASES if all(getattr(block, name) is None for block in blocks)}
    pair = (whole(b, form, groups, k) for b, form, k in zip(blocks, forms, kept, strict=True))
    lacks = (block.having(lacking) for block in pair)
    first, second = (  # with what nobody here knows how to move as it was read
        block.having({name: array for name, array in raw.present() if getattr(block, name) is None})
        for block, raw in zip(lacks, blocks, strict=True)
    )
    form = replace(forms[1], inner=len(second.up), groups=groups)
    return LayerPair(first, second, form, stream, stored, units), kept, counts


BIASES = tuple(each.name for each in fields(Block) if each.name.endswith("_bias"))
