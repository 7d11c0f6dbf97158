r"""A smaller network with the same functions, and weights of it in a normal form that still reaches nearly all of them.

The proofs that nothing is lost are Propositions 1 to 3 of `docs/equations.md`. Equations of the variety are expanded at
the normal weights: there are far fewer letters in them, and far fewer terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING, pieces
from lightning_sym.rings.arrays import ObjectArray


def smallest_network(architecture: Architecture) -> Architecture:
    r"""Return a network with the same coefficients, up to repetition: ranks and tokens that add nothing are left out.

    A rank beyond the width adds no matrix $K^\top Q$, and no output mixes more than $(3^l + 1) / 2$ tokens.

    Raises:
        BadInput: the network has an option for which this is not proved.

    Example:
        >>> smallest_network(Architecture((3, 1), (7,), 9))
        Architecture(widths=(3, 1), attention_ranks=(3,), tokens=2)
    """
    architecture.require("the ideal of the closure", LIGHTNING)
    widths = architecture.widths
    ranks = tuple(min(a, d) for a, d in zip(architecture.attention_ranks, widths[:-1], strict=True))
    values = architecture.value_ranks
    if values is not None:
        most = tuple(map(min, widths[:-1], widths[1:]))
        values = tuple(map(min, values, most))
        values = None if values == most else values
    # the power alone would have thousands of digits in a very deep network
    mixed = (3**architecture.depth + 1) // 2 if architecture.depth < 40 else architecture.tokens
    return replace(
        architecture, attention_ranks=ranks, value_ranks=values, tokens=min(architecture.tokens, mixed)
    )  # fmt: skip


def is_tied(architecture: Architecture) -> bool:
    """Return whether inputs and outputs are coordinates of one stream: then one torus scales both."""
    architecture.require("the torus", LIGHTNING)
    return architecture.skip and architecture.embed is None and architecture.unembed is None


def normal_weights(architecture: Architecture) -> Iterator[tuple[str, ObjectArray]]:
    r"""Yield weights in normal form, in canonical order: entries are 0, 1 or the name of a letter.

    The changes of basis inside a head make $K = (1\,|\,*)$ and, with value ranks, $V = (1\,|\,*)$; those of the
    stream between two layers make the value matrix before it (of its first head) $(1\,|\,*)$ or $(1\,|\,*)^\top$; the
    torus on the inputs makes the first row of $Q_1$ all ones, the torus on the outputs the first column of what stands
    last.

    Example:
        >>> for name, matrix in normal_weights(Architecture((2, 1), (2,), 2)):
        ...     print(name, matrix.tolist())
        Q1 [[1, 1], ['u1', 'u2']]
        K1 [[1, 0], [0, 1]]
        V1 [[1, 'u3']]
    """
    architecture.require("normal weights", LIGHTNING)
    letters = 0
    for piece in pieces(architecture):
        rows, matrix = piece.rows, np.empty(piece.shape, dtype=object)
        # of all heads that write to one place the first; with skip connections heads share it with the embedding
        writes = rows.space.kind == "stream" and piece.name.partition(".")[2] in ("", "1")
        writes = writes and not (architecture.skip and piece.by_head)
        if rows.space.free and rows.up and (rows.space.by_head or writes):
            _begin_with_one(matrix)
        elif rows.space.place == (1, 1) and not rows.up and architecture.embed is None:  # the first queries
            matrix[0, :] = 1
        elif rows.space.kind == "output" or (writes and piece.by_head):
            matrix[:, 0] = 1
        for index in np.ndindex(piece.shape):
            if matrix[index] is None:
                letters += 1
                matrix[index] = f"u{letters}"
        yield piece.name, matrix


def _begin_with_one(matrix: ObjectArray) -> None:
    """Put the identity into the upper left corner; a tall matrix has zeros below it."""
    rows, columns = matrix.shape
    size = min(rows, columns)
    matrix[:, :size] = np.eye(rows, size, dtype=int).astype(object)
