"""A tensor of which shards, or those of experts, hold parts; it is put together when it is read."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.checkpoints.layout import Place, shards_joined, split_axis, tensor_shape
from lightning_sym.checkpoints.model import Array
from lightning_sym.checkpoints.pieces import CheckpointTable
from lightning_sym.checkpoints.stored_types import StoredTensor
from lightning_sym.errors import FileFormatError


@dataclass(frozen=True)
class JoinedTensor(StoredTensor):
    """A tensor in parts.

    Attributes:
        pieces: what a piece is.
        names: of the pieces that are stacked in it.
        place: how.
        parts: one of each shard.
    """

    pieces: CheckpointTable
    names: list[str]
    place: Place
    parts: tuple[StoredTensor, ...]

    @classmethod
    def of(
        cls, pieces: CheckpointTable, names: list[str], place: Place, parts: tuple[StoredTensor, ...]
    ) -> JoinedTensor:
        """The whole of parts.

        Raises:
            FileFormatError: they are of several types.
            BadInput: they do not make up the tensor.
        """
        kinds = sorted({part.kind for part in parts})
        if len(kinds) > 1:
            raise FileFormatError(f"parts of {place.tensor} must be of one type, got {' and '.join(kinds)}")
        shape = tensor_shape(pieces, names, place)
        split_axis(place.tensor, shape, [part.shape for part in parts])
        return cls(shape, kinds[0], pieces, names, place, parts)

    def read(self) -> Array:
        return shards_joined(self.pieces, self.names, self.place, [part.read() for part in self.parts])
