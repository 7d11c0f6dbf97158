"""Who writes into the stream and who reads it, place by place: the table of weights, seen from the stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lightning_sym.network.pieces import SHAPED, Shaped, WeightPiece, pieces, spaces
from lightning_sym.network.weight_names import split


class StreamPieces(NamedTuple):
    """The weights at one place of the stream.

    Attributes:
        writers: those whose rows are there.
        readers: those whose columns are.
    """

    writers: list[WeightPiece]
    readers: list[WeightPiece]


def places_on_stream(network: Shaped) -> Iterator[tuple[WeightPiece, int | None, int | None]]:
    """Yield each weight with the layer behind which it writes to the stream, and that behind which it reads, if any.

    Raises:
        BadInput: an option for which places are not known.

    Example:
        >>> from lightning_sym import Architecture
        >>> [(piece.name, *places) for piece, *places in places_on_stream(Architecture((2, 1), (3,), 2, embed=4))]
        [('E', 0, None), ('Q1', None, 0), ('K1', None, 0), ('V1', 1, 0)]
    """
    network.require("places on the stream", SHAPED)
    for piece in pieces(network):
        of_layer, _, _ = split(piece.name)[1].partition(".")
        layer = int(of_layer or (piece.rows.space.kind == "output") * (network.depth + 1))
        writes, reads = (axis.space.kind == "stream" for axis in (piece.rows, piece.columns))
        yield piece, layer if writes else None, layer - 1 if reads else None


def pieces_at_streams(network: Shaped) -> list[StreamPieces]:
    """Return the weights by place, from 0 in front of the first layer, in the canonical order.

    Raises:
        BadInput: an option for which places are not known.

    Example:
        >>> from lightning_sym import Architecture
        >>> before, behind = pieces_at_streams(Architecture((2, 1), (3,), 2, embed=4))
        >>> [piece.name for piece in before.writers + before.readers], [piece.name for piece in behind.writers]
        (['E', 'Q1', 'K1', 'V1'], ['V1'])
    """
    found = [StreamPieces([], []) for _ in range(network.depth + 1)]
    for piece, behind, before in places_on_stream(network):
        if behind is not None:
            found[behind].writers.append(piece)
        if before is not None:
            found[before].readers.append(piece)
    return found


def free_streams(network: Shaped) -> int:
    """Return the dimension of the group of all bases of the stream, which acts freely on most weights.

    Example:
        >>> from lightning_sym import Architecture
        >>> free_streams(Architecture((2, 3, 1), (1, 1), 2, embed=1))
        13
    """
    network.require("bases of the stream", SHAPED)
    return sum(space.size**2 for space in spaces(network, "stream", heads=1))
