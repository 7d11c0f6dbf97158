"""The action of changes of bases and scales on weights, over any ring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lightning_sym.network.pieces import WeightPiece, WeightSpace
from lightning_sym.rings.protocol import M


def act(
    weights: Mapping[str, M], element: Mapping[WeightSpace, tuple[M, M]], moved: Iterator[WeightPiece]
) -> dict[str, M]:
    """Return the weights after an element of the group, over any ring: those of `moved`, by name.

    Args:
        weights: matrices over a ring, by name.
        element: by space a matrix and its inverse; a space that is left out stays.
        moved: pieces that are wanted.

    Example:
        >>> import numpy as np
        >>> from lightning_sym import Architecture
        >>> from lightning_sym.network.pieces import pieces
        >>> network, one = Architecture((1, 1), (1,), 1), np.array([[1]])
        >>> scale = WeightSpace("scale", (1, 1), 1)
        >>> act(dict.fromkeys(("Q1", "K1", "V1"), one), {scale: (2 * one, one / 2)}, pieces(network))["V1"].tolist()
        [[0.5]]
    """
    result = {}
    for piece in moved:
        matrix = weights[piece.name]
        if piece.rows.space in element:
            g, inverse = element[piece.rows.space]
            matrix = (g if piece.rows.up else inverse.mT) @ matrix
        if piece.columns.space in element:
            g, inverse = element[piece.columns.space]
            matrix = matrix @ (g.mT if piece.columns.up else inverse)
        if piece.scale is not None and piece.scale[0] in element:
            matrix = element[piece.scale[0]][piece.scale[1] < 0] @ matrix
        result[piece.name] = matrix
    return result
