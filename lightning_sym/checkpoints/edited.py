"""A checkpoint as it would be: read by another configuration, with other ends, or with some of its layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import table


@dataclass(frozen=True, eq=False)
class Edited:
    """A checkpoint that has all of another one but what is said here.

    Attributes:
        form: its own, whose pieces have the matrices of the original's.
        original: the other one.
        outer: its ends, if they are others.
        order: the layers of the original that are its own; `None` for all.
    """

    form: CheckpointForm
    original: Checkpoint
    outer: Ends | None = None
    order: tuple[int, ...] | None = None

    @classmethod
    def read_as(cls, original: Checkpoint, form: CheckpointForm) -> Edited:
        """The checkpoint read by another configuration: the same matrices, cut into heads as that says."""
        return cls(form, original)

    @classmethod
    def with_layers(cls, original: Checkpoint, order: tuple[int, ...]) -> Edited:
        """The checkpoint with some of its layers."""
        form = original.form
        listed: dict[str, Any] = {
            name: None if layers is None else tuple(new for new, old in enumerate(order) if old in layers)
            for name, layers in (("local", form.local), ("unturned", form.unturned))
        }
        return cls(replace(form, layers=len(order), **listed), original, order=order)

    @classmethod
    def with_rows(cls, original: Checkpoint, count: int) -> Edited:
        """The checkpoint with the first so many token ids."""
        ends, pieces = original.ends(), table(original.form).ends
        rows = {name for name, piece in pieces.items() if piece.axes[0].space.kind == "token ids"}
        cut: dict[str, Any] = {name: array[:count] for name, array in ends.present() if name in rows}
        return cls(replace(original.form, vocabulary=count), original, replace(ends, **cut))

    @classmethod
    def with_ends(cls, original: Checkpoint, outer: Ends) -> Edited:
        """The checkpoint with other ends."""
        return cls(original.form, original, outer)

    @property
    def name(self) -> str:
        """How answers call it."""
        return self.original.name

    def ends(self) -> Ends:
        """Embedding, positions, final norm and unembedding."""
        return self.original.ends() if self.outer is None else self.outer

    def block(self, layer: int) -> Block:
        """Layer `layer`, from 0."""
        block, old, new = (
            self.original.block(layer if self.order is None else self.order[layer]),
            table(self.original.form),
            table(self.form),
        )
        cut: dict[str, Any] = {
            name: new[name].of_matrix(old[name].as_matrix(array).reshape(new[name].matrix_shape))
            for name, array in block.present()
            if new[name].shape != array.shape
        }
        return replace(block, **cut) if cut else block

    def stored(self, piece: str) -> str:
        """The type that the original stores a piece in."""
        return self.original.stored(self._there(piece))

    def called(self, piece: str) -> str:
        """What the original's files call it."""
        return self.original.called(self._there(piece))

    def _there(self, piece: str) -> str:
        """What the original calls a piece of a layer."""
        layer, _, name = piece.rpartition(".")
        return piece if self.order is None or not layer else f"{self.order[int(layer)]}.{name}"
