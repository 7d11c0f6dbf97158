"""Weights of a shape with given virtual weights: what it demands, and how they are found (see `points`)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.rational import null_space, rank, solution
from lightning_sym.fibers.connection import with_virtual_weights
from lightning_sym.fibers.virtual_moves import ratio
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray, exact_matrix


def realized(origin: Weights, target: VirtualWeights) -> Weights:
    """Return weights of the shape with these virtual weights: the given rescaled, with the same `P_i`, or any."""
    before = exact_virtual_weights(origin)
    matrices = origin.numbers()
    for i, (old, new) in enumerate(zip(before.attention, target.attention, strict=True), start=1):
        matrices[f"Q{i}"] = (ratio(old, new) or Fraction(1)) * matrices[f"Q{i}"]
    last = f"V{len(before.attention)}"
    matrices[last] = (ratio(before.value, target.value) or Fraction(1)) * matrices[last]
    scaled = Weights.of(matrices)
    if exact_virtual_weights(scaled) == target:
        return scaled
    if (found := with_virtual_weights(scaled, target)) is not None:
        return found
    for name, most, ranked in _demands(origin, target):
        if ranked > most:
            raise BadInput(f"weights of this shape must have {name} of rank at most {most}, this point has {ranked}")
    if (found := with_virtual_weights(Weights.of(matrices | _inner_values(origin, target)), target)) is None:
        raise ProgramError(f"weights of {origin.architecture(1)} with these virtual weights must exist: {target!r}")
    return found


def _seen_behind(target: VirtualWeights, layer: int) -> ObjectArray:
    """Return the rows whose span is `R_i`."""
    later = [part for a in target.attention[layer:] for part in (a, a.T)]
    return np.concatenate([*later, target.value])


def _demands(origin: Weights, target: VirtualWeights) -> list[tuple[str, int, int]]:
    """Return what the shape demands: a name, the largest rank, and the rank that the virtual weights have."""
    shape = origin.architecture(1)
    demands = [
        (f"A~{i}" if shape.depth > 1 else "A", a, rank(matrix))
        for i, (a, matrix) in enumerate(zip(shape.attention_ranks, target.attention, strict=True), start=1)
    ]
    for i in range(1, shape.depth):
        name = f"what stands behind layer {i} (rows and columns of A~j, j > {i}, and rows of V~)"
        demands.append((name, shape.widths[i], rank(_seen_behind(target, i))))
    return demands


def _inner_values(origin: Weights, target: VirtualWeights) -> dict[str, ObjectArray]:
    """Return value matrices of all layers but the last such that the rows of `P_i` span `R_i`."""
    shape = origin.architecture(1)
    before = exact_matrix(np.eye(shape.widths[0], dtype=int))
    found = {}
    for i in range(1, shape.depth):
        rows = _seen_behind(target, i)
        after = np.full((shape.widths[i], shape.widths[0]), Fraction(0), dtype=object)
        basis = _row_basis(rows)
        after[: len(basis)] = basis
        value = solution(before.T, after.T)
        if value is None:
            raise ProgramError(f"what stands behind layer {i} must stand behind the layer before it")
        found[f"V{i}"], before = value.T, after
    return found


def _row_basis(rows: ObjectArray) -> ObjectArray:
    """Return rows that are independent and span the same space: the kernel of the kernel."""
    kernel = null_space(rows)
    columns = rows.shape[1]
    if not kernel:
        return exact_matrix(np.eye(columns, dtype=int))
    basis = null_space(np.array(kernel, dtype=object))
    return np.array(basis, dtype=object).reshape(len(basis), columns)
