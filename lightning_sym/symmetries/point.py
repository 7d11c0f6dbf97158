"""A point of weight space modulo a prime, and directions in which it may move."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.symmetries.stream import Stream, stream_mod_p

Residues = npt.NDArray[np.int64]


class Point:
    """Weights modulo `p` by name, and what the network writes and reads there.

    Args:
        architecture: the shape.
        matrices: weights in canonical order.
        p: the prime.
    """

    def __init__(self, architecture: Architecture, matrices: Sequence[PrimeFieldMatrix], p: int) -> None:
        self.architecture, self.matrices, self.prime = architecture, tuple(matrices), p
        self.shapes = dict(architecture.weight_shapes())
        sizes = [rows * columns for rows, columns in self.shapes.values()]
        self.starts = dict(zip(self.shapes, accumulate(sizes, initial=0), strict=False))
        self.parameters = sum(sizes)
        self._places = {name: i for i, name in enumerate(self.shapes)}

    def matrix(self, name: str) -> PrimeFieldMatrix:
        """The weight of this name."""
        return self.matrices[self._places[name]]

    @cached_property
    def weights(self) -> dict[str, Residues]:
        """The matrices by name."""
        return {name: w.residues() for name, w in zip(self.shapes, self.matrices, strict=True)}

    @cached_property
    def stream(self) -> Stream:
        """What is written and read between layers."""
        return stream_mod_p(self.architecture, self.weights, self.prime)

    def moving(self, **blocks: Residues) -> PrimeFieldMatrix:
        """Directions in which some matrices move, one a row: motions by name, shape `count x rows x columns`."""
        count = len(next(iter(blocks.values())))
        result = np.zeros((count, self.parameters), dtype=np.int64)
        for name, block in blocks.items():
            start = self.starts[name]
            result[:, start : start + block[0].size] = block.reshape(count, -1)
        return PrimeFieldMatrix.of(result, self.prime)
