"""A checkpoint as it would be: read by another configuration, with other ends, or with some of its layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import table
from lightning_sym.errors import BadInput


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
        """Embedding, positions, final norm and unembedding."""
        return self.original.ends()

    def block(self, layer: int) -> Block:
        """Layer `layer`, from 0."""
        return self.original.block(layer)

    def stored(self, piece: str) -> str:
        """The type that the original stores a piece in."""
        return self.original.stored(piece)

    def called(self, piece: str) -> str:
        """What the original's files call a piece."""
        return self.original.called(piece)


@dataclass(frozen=True, eq=False)
class Edited(View):
    """A checkpoint that has all of another one but what is said here.

    Attributes:
        form: its own, whose pieces have the matrices of the original's.
        outer: its ends, if they are others.
        order: the layers of the original that are its own; `None` for all.
    """

    form: CheckpointForm
    outer: Ends | None = None
    order: tuple[int, ...] | None = None

    @classmethod
    def read_as(cls, original: Checkpoint, form: CheckpointForm) -> Edited:
        """The checkpoint read by another configuration: the same matrices, cut into heads as that says."""
        return cls(original, form)

    @classmethod
    def with_layers(cls, original: Checkpoint, order: tuple[int, ...]) -> Edited:
        """The checkpoint with some of its layers."""
        form = original.form
        listed: dict[str, Any] = {
            name: None if layers is None else tuple(new for new, old in enumerate(order) if old in layers)
            for name, layers in (("local", form.local), ("unturned", form.unturned))
        }
        return cls(original, replace(form, layers=len(order), **listed), order=order)

    @classmethod
    def with_rows(cls, original: Checkpoint, count: int) -> Edited:
        """The checkpoint with the first so many token ids."""
        ends, pieces = original.ends(), table(original.form).ends
        rows = {name for name, piece in pieces.items() if piece.axes[0].space.kind == "token ids"}
        cut: dict[str, Any] = {name: array[:count] for name, array in ends.present() if name in rows}
        return cls(original, replace(original.form, vocabulary=count), replace(ends, **cut))

    @classmethod
    def with_ends(cls, original: Checkpoint, outer: Ends) -> Edited:
        """The checkpoint with other ends."""
        return cls(original, original.form, outer)

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


@dataclass(frozen=True, eq=False)
class Retyped(View):
    """The numbers of a checkpoint, each piece of which is stored in the type of another one's piece of that name.

    Attributes:
        like: the types; an unembedding that was tied there has that of the embedding.
        wider: each is the next wider type, `F32` or `F64`, which holds products of two numbers.

    Example:
        >>> from lightning_sym import LayerSymmetry, Symmetry, apply
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", stored="BF16")
        >>> moved = apply(Symmetry((LayerSymmetry(), LayerSymmetry())), one)
        >>> moved.stored("0.query"), Retyped(moved, one).stored("0.query")
        ('F64', 'BF16')
    """

    like: Checkpoint
    wider: bool = False

    @property
    def form(self) -> CheckpointForm:
        """That of the numbers."""
        return self.original.form

    def stored(self, piece: str) -> str:
        """The type that the other one's piece is stored in."""
        try:
            kind = self.like.stored(piece)
        except BadInput:
            if piece != "unembedding":
                raise
            kind = self.like.stored("embedding")
        return WIDER.get(kind, "F64") if self.wider else kind


WIDER = {"F16": "F32", "BF16": "F32"}
"""Of the types that are no longer than half of another one, which that is; of the others it is `F64`."""
