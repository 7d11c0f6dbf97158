"""The least pair of all factors of a matrix, which two factors that are as good as they can be have."""

from __future__ import annotations

from lightning_sym.coefficients.reduced_rank import FactorRanks, LocalPair


def minimal_regression(rows: int, columns: int, inner: int, rank: int) -> LocalPair:
    """Over all pairs of ranks that factors of a map of this rank can have the least value, with its largest order."""
    pairs = [
        FactorRanks(rows, inner, columns, b, a, rank).pair
        for b in range(rank, min(rows, inner) + 1)
        for a in range(rank, min(inner + rank - b, columns) + 1)
    ]
    least = min(pair.value for pair in pairs)
    return LocalPair(least, max(pair.multiplicity for pair in pairs if pair.value == least))
