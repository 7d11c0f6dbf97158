"""The least pair of all factors of a matrix, by going through all pairs of ranks that they can have."""

from __future__ import annotations

from lightning_sym.coefficients.reduced_rank import FactorRanks, LocalPair


def least_of_all_factors(rows: int, columns: int, inner: int, rank: int) -> LocalPair:
    """Return the least number that factors of a matrix of this rank have, with the largest order there."""
    pairs = [
        FactorRanks(rows, inner, columns, b, a, rank).pair
        for b in range(rank, min(rows, inner) + 1)
        for a in range(rank, min(inner + rank - b, columns) + 1)
    ]
    least = min(pair.value for pair in pairs)
    return LocalPair(least, max(pair.multiplicity for pair in pairs if pair.value == least))
