"""A checkpoint as it would be: read otherwise, with other ends, layers or types, or without what is there twice.

A neuron whose rows are those of another one, its row of `up` beside a gate up to a factor, does what that one does: its
column of `down` is added to the other's, times the factor, and then it does nothing. That is exact, or it is not done.
What is left computes the same function, so that two checkpoints are the same if what is left of them is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lightning_sym.checkpoints.configurations import alive
from lightning_sym.checkpoints.exact_arrays import Exact, Numbers
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, Pieces
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.understood import Walker, as_kind, block_of, unchecked_pieces
from lightning_sym.errors import TooLarge


@dataclass(frozen=True, eq=False)
class View:
    """A checkpoint that has all of another one but what a kind of view says; it has a form of its own.

    Attributes:
        original: the other one.
    """

    original: Checkpoint

    @property
    def name(self) -> str:
        """How answers call it."""
        return self.original.name

    def ends(self) -> Ends:
        """Return embedding, positions, final norm and unembedding."""
        return as_kind(self.coded(None), Ends)

    def block(self, layer: int) -> Block:
        """Return layer `layer`, from 0."""
        return as_kind(self.coded(layer), Block)

    def coded(self, layer: int | None) -> Pieces:
        """Return a layer, or the ends for `None`, as the original holds them, to look at some entries at a time."""
        return unchecked_pieces(self.original, layer, coded=True)

    def stored(self, piece: str) -> str:
        """Return the type that the original stores a piece in."""
        return self.original.stored(self._there(piece))

    def called(self, piece: str) -> str:
        """Return what the original's files call a piece."""
        return self.original.called(self._there(piece))

    def _there(self, piece: str) -> str:
        """Return what the original calls a piece."""
        return piece


@dataclass(frozen=True, eq=False)
class Edited(View):
    """A checkpoint that has all of another one but what is said here.

    Attributes:
        form: its own, whose pieces have the matrices of the original's, cut into heads as it says.
        outer: its ends, if they are others.
        order: the layers of the original that are its own; `None` for all.
    """

    form: CheckpointForm
    outer: Ends | None = None
    order: tuple[int, ...] | None = None

    @classmethod
    def with_layers(cls, original: Checkpoint, order: tuple[int, ...]) -> Edited:
        """Return the checkpoint with some of its layers."""
        form = original.form
        local, unturned = (
            None if layers is None else tuple(new for new, old in enumerate(order) if old in layers)
            for layers in (form.local, form.unturned)
        )
        return cls(original, replace(form, layers=len(order), local=local, unturned=unturned), order=order)

    @classmethod
    def with_rows(cls, original: Checkpoint, count: int) -> Edited:
        """Return the checkpoint with the first so many token ids."""
        ends, pieces = as_kind(unchecked_pieces(original, None, coded=True), Ends), table(original.form).ends
        rows = {name for name, piece in pieces.items() if piece.axes[0].space.kind == "token ids"}
        cut = ends.having({name: array[:count] for name, array in ends.present() if name in rows})
        return cls(original, replace(original.form, vocabulary=count), cut)

    @classmethod
    def with_ends(cls, original: Checkpoint, outer: Ends) -> Edited:
        """Return the checkpoint with other ends."""
        return cls(original, original.form, outer)

    def coded(self, layer: int | None) -> Pieces:
        """Return a layer with the heads of this one, or the ends."""
        if layer is None:
            return super().coded(None) if self.outer is None else self.outer
        block = super().coded(layer if self.order is None else self.order[layer])
        old, new = table(self.original.form), table(self.form)
        return block.having(
            {
                name: new[name].of_matrix(old[name].as_matrix(array).reshape(new[name].matrix_shape))
                for name, array in block.present()
                if new[name].shape != array.shape
            }
        )

    def _there(self, piece: str) -> str:
        """Return what the original calls a piece of a layer."""
        layer, _, name = piece.rpartition(".")
        return piece if self.order is None or not layer else f"{self.order[int(layer)]}.{name}"


RING = Exact()


@dataclass(frozen=True)
class Reduction:
    """What was left out of one side of a comparison, as it does nothing or is there twice.

    Attributes:
        what: `neurons-duplicated` or `layer-repeated-noop`.
        side: `first` or `second`.
        layer: in which layer, or which layer.
        neurons: each neuron that was merged, with the one that does the same.

    Example:
        >>> print(Reduction("neurons-duplicated", "second", 0, ((24, 3),)))
        neurons-duplicated: layer 0 of the second (24 into 3)
    """

    what: str
    side: str
    layer: int
    neurons: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        shown = [f"{gone} into {kept}" for gone, kept in self.neurons[:SHOWN]]
        more = [f"{len(self.neurons) - SHOWN} more"] if len(self.neurons) > SHOWN else []
        said = f" ({', '.join(shown + more)})" if shown else ""
        return f"{self.what}: layer {self.layer} of the {self.side}{said}"


SHOWN = 4
"""Neurons that are told; all of them are kept."""


@dataclass(frozen=True, eq=False)
class Reduced(View):
    """A checkpoint whose neurons that are there twice are merged; those that were merged do nothing."""

    @cached_property
    def merged(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """By layer, the neurons that are merged, each with the one that does the same."""
        layers = ((layer, self._merged(layer)[1]) for layer in range(self.form.layers))
        return {layer: pairs for layer, pairs in layers if pairs}

    @property
    def form(self) -> CheckpointForm:
        """That of the original."""
        return self.original.form

    def coded(self, layer: int | None) -> Pieces:
        """Return a layer, or the ends."""
        return self._merged(layer)[0] if layer is not None and layer in self.merged else super().coded(layer)

    def _merged(self, layer: int) -> tuple[Block, tuple[tuple[int, int], ...]]:
        """Return a layer with its neurons merged, and which."""
        return merged(block_of(self.original, layer, Walker.COMPARISON, coded=True))


def reduced(checkpoint: Checkpoint, side: str = "first") -> tuple[Checkpoint, tuple[Reduction, ...]]:
    """Return what is left of a checkpoint where nothing is twice or in vain, and what was left out.

    Args:
        checkpoint: any.
        side: what `Reduction` calls it.

    Example:
        >>> import numpy as np
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", layers=1)
        >>> block = one.blocks[0]
        >>> twice = {name: np.vstack([getattr(block, name)] * 2) for name in ("gate", "up")}
        >>> twice["down"] = np.hstack([block.down / 2, block.down / 2])
        >>> two = replace(one, blocks=(replace(block, **twice),), form=replace(one.form, inner=2 * one.form.inner))
        >>> left, told = reduced(two)
        >>> print(told[0]); bool((left.block(0).down[:, : one.form.inner] == block.down).all())
        neurons-duplicated: layer 0 of the first (24 into 0, 25 into 1, 26 into 2, 27 into 3, 20 more)
        True
    """
    found = Reduced(checkpoint)
    told = [Reduction("neurons-duplicated", side, layer, pairs) for layer, pairs in found.merged.items()]
    layers = range(checkpoint.form.layers)
    idle = [layer for layer in layers if does_nothing(found.block(layer))]
    told += [Reduction("layer-repeated-noop", side, layer) for layer in idle]
    left = tuple(layer for layer in layers if layer not in idle)
    if not left:  # a network has a layer
        return checkpoint, ()
    one: Checkpoint = found if found.merged else checkpoint
    return (Edited.with_layers(one, left) if idle else one), tuple(told)


def merged(block: Block) -> tuple[Block, tuple[tuple[int, int], ...]]:
    """Return a layer whose neurons that do the same are one, and each that was merged with the one that it went to."""
    if block.router is not None:  # each expert has as many neurons as the others
        return block, ()
    does = alive(block)
    sides = ("gate", "gate_bias") if block.gate is not None else ("up", "up_bias")
    arguments = [array.reshape(len(array), -1) for name in sides if (array := getattr(block, name)) is not None]
    by: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    down: Numbers | None = None
    for neuron in np.flatnonzero(does):
        key = b"".join(np.ascontiguousarray(array[neuron] + 0.0).tobytes() for array in arguments)
        place = by.setdefault(key, int(neuron))
        if place == neuron:
            continue
        if down is None:
            down = np.asarray(block.down, dtype=None if block.down.dtype == object else np.float64)
        if (column := _joined(block, down, int(neuron), place)) is not None:
            down = down.astype(np.result_type(down, column))
            down[:, place], down[:, neuron] = column, 0
            pairs.append((int(neuron), place))
    return (block.having({"down": down}), tuple(pairs)) if pairs else (block, ())


def _joined(block: Block, down: Numbers, gone: int, kept: int) -> Numbers | None:
    """Return the column of a neuron with that of another one that does the same added, exactly; `None` where not."""
    try:
        more = down[:, gone]
        if block.gate is not None:
            there = [array for array in (block.up, block.up_bias) if array is not None]
            rows = [np.hstack([array[neuron] for array in there]).astype(np.float64) for neuron in (gone, kept)]
            at = int(np.abs(rows[1]).argmax())
            if not rows[0][at] or (RING.times(rows[0], rows[1][at]) != RING.times(rows[1], rows[0][at])).any():
                return None
            more = RING.over(RING.times(more, rows[0][at]), rows[1][at])
        return RING.plus(down[:, kept], more)
    except TooLarge:
        return None


def does_nothing(block: Block) -> bool:
    """Return whether a layer adds nothing to the stream, whatever stands there.

    Each head has no values or writes none, each neuron does nothing, and no bias is added.
    """
    if any(array is not None and np.any(array) for array in (block.output_bias, block.down_bias)) or alive(block).any():
        return False
    reads = np.any(block.value, axis=(1, 2)) | (False if block.value_bias is None else np.any(block.value_bias, axis=1))
    writes = np.any(block.output, axis=(1, 2))
    if (np.repeat(reads, len(writes) // len(reads)) & writes).any():
        return False
    return all(np.isfinite(np.asarray(array, dtype=np.float64)).all() for _, array in block.present())


def reduced_pair(first: Checkpoint, second: Checkpoint) -> tuple[Checkpoint, Checkpoint, tuple[Reduction, ...]] | None:
    """Return both as they are left; `None` where nothing was left out."""
    (one, of_first), (other, of_second) = reduced(first), reduced(second, "second")
    return (one, other, of_first + of_second) if of_first or of_second else None
