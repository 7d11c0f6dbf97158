"""Weights that have given circuits: factors of them, as few rows as ranks allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lightning_sym.exact.rational import columns_of, row_echelon
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, HeadOver, NetworkCircuits


def _factors(matrices: list[RationalMatrix], least: int) -> list[tuple[ObjectArray, ObjectArray]]:
    """Return each as a product: columns, and a reduced echelon form with zero rows, as many as the rank needs."""
    found = [(m, row_echelon(m)) for m in matrices]
    rank = max([least, *(len(e.pivots) for _, e in found)])
    result = []
    for matrix, echelon in found:
        left, right = columns_of(matrix, echelon.pivots).fractions(), echelon.rows.fractions()
        more = rank - len(echelon.pivots)
        zeros = np.full((more, right.shape[1]), Fraction(0), dtype=object)
        result.append((np.hstack([left, np.full((left.shape[0], more), Fraction(0), dtype=object)]),
                       np.vstack([right, zeros])))  # fmt: skip
    return result


def circuits_as_weights(circuits: NetworkCircuits) -> dict[str, RationalMatrix]:
    """Return the ends of a network, and of each head `A` in place of queries, keys 1, and `V` or `O V` as values."""
    named = circuits.ends
    for i, heads in enumerate(circuits.layers, start=1):
        unit = RationalMatrix.identity(circuits.widths[i - 1])
        for h, head in enumerate(heads, start=1):
            named |= HeadOver(head.attention, head.value, unit).named(f"{i}.{h}")
    return named


def weights_of(circuits: NetworkCircuits, tokens: int) -> Weights:
    """Return weights with these circuits: embeddings only where not 1, projections only where values are added.

    Args:
        circuits: with few heads; layers without are given one that is zero.
        tokens: $t$.
    """
    named: dict[str, ObjectArray] = {}
    layers = [list(heads) for heads in circuits.layers]
    most = max(1, *map(len, layers))
    projected = most > 1 or circuits.form.skip
    for name, matrix in circuits.ends.items():
        if matrix.shape[0] != matrix.shape[1] or matrix != RationalMatrix.identity(matrix.shape[0]):
            named[name] = matrix.fractions()
    for i, heads in enumerate(layers, start=1):
        before, behind = circuits.widths[i - 1 : i + 1]
        idle = HeadCircuits(RationalMatrix.zero(before, before), RationalMatrix.zero(behind, before))
        padded = [*heads, *([idle] * (most - len(heads)))]
        scores = _factors([head.attention for head in padded], 1)
        values = _factors([head.value for head in padded], 1) if projected else []
        for h, head in enumerate(padded, start=1):
            where = f"{i}" if most == 1 else f"{i}.{h}"
            key, query = scores[h - 1]
            output, value = values[h - 1] if projected else (None, head.value.fractions())
            named |= HeadOver(query, value, key.T, output).named(where)
    found = Weights.of(named, circuits.form)
    found.architecture(tokens)
    return found
