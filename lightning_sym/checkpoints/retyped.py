"""A checkpoint with the types in which another one is stored: what a rewriting of that is written as."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.errors import BadInput


@dataclass(frozen=True, eq=False)
class Retyped:
    """A checkpoint, each piece of which is stored in the type of another one's piece of that name.

    Attributes:
        checkpoint: the numbers.
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

    checkpoint: Checkpoint
    like: Checkpoint
    wider: bool = False

    @property
    def form(self) -> CheckpointForm:
        """That of the numbers."""
        return self.checkpoint.form

    @property
    def name(self) -> str:
        """How answers call it."""
        return self.checkpoint.name

    def ends(self) -> Ends:
        """Embedding, positions, final norm, unembedding."""
        return self.checkpoint.ends()

    def block(self, layer: int) -> Block:
        """Layer `layer`, from 0."""
        return self.checkpoint.block(layer)

    def stored(self, piece: str) -> str:
        """The type that the other one's piece is stored in."""
        try:
            kind = self.like.stored(piece)
        except BadInput:
            if piece != "unembedding":
                raise
            kind = self.like.stored("embedding")
        return WIDER.get(kind, "F64") if self.wider else kind

    def called(self, piece: str) -> str:
        """What the files call a piece."""
        return self.checkpoint.called(piece)


WIDER = {"F16": "F32", "BF16": "F32"}
"""Of the types that are no longer than half of another one, which that is; of the others it is `F64`."""
