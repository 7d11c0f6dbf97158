"""A point of weight space modulo a prime, what the network writes and reads there, and directions in which it moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.stream_pieces import places_on_stream
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues

with lazy_imports(__name__):  # plain layers have no stream between them that is less than all
    from lightning_sym.system import circuits, fields, reach

if TYPE_CHECKING:
    from lightning_sym.system.circuits import NetworkOver


class Point:
    """Weights modulo `p` by name, and what the network writes and reads there.

    Args:
        architecture: the shape.
        matrices: weights in canonical order.
        p: the prime.

    Raises:
        BadInput: an option that no theorem is about.
    """

    def __init__(self, architecture: Architecture, matrices: Sequence[PrimeFieldMatrix], p: int) -> None:
        architecture.require("directions at a point", SHAPED)
        self.architecture, self.matrices, self.prime = architecture, tuple(matrices), p
        self.shapes = dict(architecture.weight_shapes())
        sizes = [rows * columns for rows, columns in self.shapes.values()]
        self.starts = dict(zip(self.shapes, accumulate(sizes, initial=0), strict=False))
        self.parameters = sum(sizes)
        self._places = {name: i for i, name in enumerate(self.shapes)}

    def matrix(self, name: str) -> PrimeFieldMatrix:
        """Return the weight of this name."""
        return self.matrices[self._places[name]]

    def heads(self, first: int = 0) -> Iterator[tuple[int, int, str]]:
        """Yield layer and place of each head, both from 0, and how the names of its weights end; from a layer on."""
        for i in range(first, self.architecture.depth):
            yield from ((i, h, name) for h, name in enumerate(self.architecture.head_names(i + 1)))

    @cached_property
    def weights(self) -> dict[str, Residues]:
        """The matrices by name."""
        return {name: w.residues() for name, w in zip(self.shapes, self.matrices, strict=True)}

    @cached_property
    def circuits(self) -> NetworkOver[PrimeFieldMatrix]:
        """The network."""
        return circuits.circuits_over(fields.prime_field(self.prime), self.architecture, self.matrix).in_memory()

    @cached_property
    def written(self) -> tuple[Residues, ...]:
        """Reduced bases of the $F_i$, one vector a row; lightning layers that are given one vector write one."""
        return tuple(
            space.rows for space in reach.reached(self.circuits, fields.prime_field(self.prime), together=True)
        )

    @cached_property
    def read(self) -> tuple[Residues, ...]:
        """Reduced bases of the $R_i$, one linear form a row."""
        scores = not reach.pattern_is_constant(self.architecture)
        spaces = reach.observed(self.circuits, fields.prime_field(self.prime), scores=scores)
        return tuple(space.rows for space in spaces)[::-1]

    @cached_property
    def is_generic(self) -> bool:
        """Whether the dimensions of what is written and read are the largest possible ones."""
        written = list(map(len, self.written)) == reach.most_reached(self.architecture)
        return written and list(map(len, self.read)) == reach.most_observed(self.architecture)

    @cached_property
    def places(self) -> dict[str, tuple[int | None, int | None]]:
        """By weight, the layer behind which it writes to the stream, and that behind which it reads it, if it does."""
        return {piece.name: (behind, before) for piece, behind, before in places_on_stream(self.architecture)}

    def moving(self, **blocks: Residues) -> PrimeFieldMatrix:
        """Return directions in which some matrices move, one a row.

        Args:
            blocks: motions by name, shape `count x rows x columns`; or as many rows, or columns, as the stream has
                dimensions that are read, or written, there: those in its pivots, and the others are zero. On a space
                with a reduced basis a matrix with its columns in the pivots does what it did in that basis.
        """
        count = len(next(iter(blocks.values())))
        result = np.zeros((count, self.parameters), dtype=np.int64)
        for name, block in blocks.items():
            start, size = self.starts[name], self.weights[name].size
            result[:, start : start + size] = self._in_place(name, block).reshape(count, size)
        return PrimeFieldMatrix.of(result, self.prime)

    def _in_place(self, name: str, block: Residues) -> Residues:
        """Return motions of a weight that are given on the spaces of the stream as motions of all of it."""
        if block.shape[1:] == (shape := self.shapes[name]):
            return block
        behind, before = self.places[name]
        rows = pivots_of(self.read[behind]) if behind is not None else np.arange(shape[0])
        columns = pivots_of(self.written[before]) if before is not None else np.arange(shape[1])
        rows, columns = (
            np.arange(size) if size == given else places
            for size, given, places in zip(shape, block.shape[1:], (rows, columns), strict=True)
        )
        result = np.zeros((len(block), *shape), dtype=np.int64)
        result[:, rows[:, None], columns] = block
        return result


def pivots_of(basis: Residues) -> Residues:
    """Return coordinates in which vectors of a space are what they are in its basis, a reduced echelon form."""
    found: Residues = (basis != 0).argmax(axis=1)
    return found
