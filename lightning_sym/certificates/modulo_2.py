"""Minors and orbits modulo 2: a residue is a bit, a row one integer, and adding rows is an exclusive or.

A rank modulo 2 is a lower bound as good as one modulo any prime. There are few points modulo 2, so that small networks
often have none of full rank; of large ones most points will do, if their matrices have full rank themselves. Then both
the file and the time to check it are many times smaller than modulo a large prime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lightning_sym.certificates.document import KNOWN, Document, lower_bound_document, rows_documents
from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.limits import require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Source
from lightning_sym.symmetries.families import directions_mod_p

SMALLEST_RANK = 256
"""Smaller minors are quick to check modulo any prime, and checkers of release 0.1.0 know of odd ones only."""

POINTS, IDLE, DRAWN = 4, 64, 64
"""So many points are tried, each until so many inputs in turn have added nothing, each the best of so many."""

_SWEEP_BYTES, _ENTRY_BYTES = 2**28, 64
"""For the rows of one input at a time; with what is made on the way."""


class BitEchelon:
    """Rows modulo 2 in echelon form: column `j` is bit `j`, and a row is kept by its last column.

    Example:
        >>> rows = BitEchelon()
        >>> rows.add(0b011), rows.add(0b101), rows.add(0b110), sorted(rows.columns)
        (True, True, False, [1, 2])
    """

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}

    def add(self, row: int) -> bool:
        """Return whether the row is independent of those before; then it is kept."""
        rows = self._rows
        while row and (last := row.bit_length()) in rows:
            row ^= rows[last]
        if row:
            rows[last] = row
        return bool(row)

    @property
    def columns(self) -> list[int]:
        """As many as there are rows: with them the rows make a minor that is not zero."""
        return [last - 1 for last in self._rows]

    def __len__(self) -> int:
        return len(self._rows)


def bits(rows: npt.NDArray[np.number]) -> Iterator[int]:
    """Yield each row of a matrix of integers modulo 2, as one integer.

    Example:
        >>> list(bits(np.array([[0, 3, -1], [1, 2, 0]])))
        [6, 1]
    """
    for row in np.packbits((rows.astype(np.int64) & 1).astype(np.uint8), axis=1, bitorder="little"):
        yield int.from_bytes(row.tobytes(), "little")


def rank_modulo_2(rows: npt.NDArray[np.number]) -> int:
    """Return the rank over the field with two elements.

    Example:
        >>> rank_modulo_2(np.array([[1, 1], [1, -1]]))
        1
    """
    echelon = BitEchelon()
    return sum(echelon.add(row) for row in bits(rows))


def weights_modulo_2(architecture: Architecture, generator: np.random.Generator) -> list[PrimeFieldMatrix]:
    """Return random matrices modulo 2 of full rank, in canonical order.

    Example:
        >>> network = Architecture((3, 3), (2,), 2)
        >>> [rank_modulo_2(w.entries) for w in weights_modulo_2(network, np.random.default_rng(0))]
        [2, 2, 3]
    """
    architecture.require("random weights modulo 2", KNOWN)

    def full(shape: tuple[int, int]) -> PrimeFieldMatrix:
        while True:  # more than one in four has
            drawn = generator.integers(0, 2, size=shape)
            if rank_modulo_2(drawn) == min(shape):
                return PrimeFieldMatrix(drawn.astype(np.float64), 2)

    return [full(shape) for _, shape in architecture.weight_shapes()]


def minor_modulo_2(
    architecture: Architecture, rank: int, seed: int, memory: int, report: Callable[[int], None]
) -> tuple[list[PrimeFieldMatrix], Document] | None:
    """Return a point modulo 2, and the lower bound there, if one is found among a few points.

    Args:
        architecture: the network; without normalization or with softmax.
        rank: how large a minor.
        seed: picks the points.
        memory: bytes that rows of the Jacobian may take.
        report: called with the number of rows found.

    Raises:
        TooLarge: rows of the Jacobian would take more than `memory`.
    """
    architecture.require("minors modulo 2", KNOWN)
    parameters, outputs = architecture.parameter_count, architecture.output_width * architecture.tokens
    each = max(1, min(outputs, _SWEEP_BYTES // (_ENTRY_BYTES * parameters)))
    needed = rank * (parameters // 7 + 100) + each * parameters * _ENTRY_BYTES
    require_memory(needed, memory, f"the Jacobian modulo 2 ({rank:,} x {parameters:,})")
    for point in range(POINTS):
        generator = np.random.default_rng([seed, 2, point])
        weights = weights_modulo_2(architecture, generator)
        jacobian = _JacobianModulo2(architecture, generator, 2, each=each, weights=weights)
        found = _minor_at(jacobian, rank, report)
        if found is not None:
            return jacobian.weights, found
    return None


class _JacobianModulo2(RandomJacobian):
    """Rows at inputs that have many independent ones, which are few modulo 2 where scores are likely to be singular."""

    def draw(
        self, generator: Source, inputs: int, functionals: tuple[int, ...]
    ) -> tuple[PrimeFieldMatrix, PrimeFieldMatrix]:
        if self.architecture.normalization is not None or self.architecture.skip:
            return super().draw(generator, inputs, functionals)
        x, drawn = super().draw(generator, DRAWN * inputs, functionals)
        outputs = network_output(x, self.architecture, self.weights)
        best = np.argsort(-ranks_mod_p(outputs.residues(), 2), kind="stable")[:inputs]
        return PrimeFieldMatrix(x.entries[best], 2), drawn


def _minor_at(jacobian: RandomJacobian, rank: int, report: Callable[[int], None]) -> Document | None:
    """Return the lower bound at one point, if its Jacobian has this rank."""
    echelon, rows, idle = BitEchelon(), list[Document](), 0
    while len(rows) < rank and idle < IDLE:
        sample, before = jacobian.sample(jacobian.each), len(rows)
        kept = [i for i, row in enumerate(bits(sample.rows)) if len(echelon) < rank and echelon.add(row)]
        rows += rows_documents(sample, kept)
        idle = 0 if len(rows) > before else idle + 1
        report(len(rows))
    if len(rows) < rank:
        return None
    return lower_bound_document(2, None, jacobian.weights, rows, sorted(echelon.columns))


def orbit_modulo_2(architecture: Architecture, weights: Sequence[PrimeFieldMatrix]) -> int:
    """Return a lower bound of the dimension of generic orbits: the rank modulo 2 of the tangents at the weights.

    Example:
        >>> network = Architecture((3, 3), (2,), 2)
        >>> orbit_modulo_2(network, weights_modulo_2(network, np.random.default_rng(0)))
        5
    """
    architecture.require("orbits modulo 2", KNOWN)
    echelon = BitEchelon()
    for block in directions_mod_p(architecture, weights, 2, symmetry=True):
        for row in bits(block.entries):
            echelon.add(row)
    return len(echelon)
