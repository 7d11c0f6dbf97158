"""Lemma 3.5 over finite fields: all weights, sorted by their virtual weights, fiber by fiber."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product, starmap
from typing import Any, NamedTuple

import numpy as np

from lightning_sym import Layer, ProgramError, VirtualWeights, virtual_weights
from lightning_sym.exact.modular import ranks_mod_p
from proofs_check.claim import Refutation, expect
from proofs_check.claims.deep.equation_9 import change_basis, changed_network
from proofs_check.finite_matrices import Integers, Truths, every_matrix, general_linear, numbers
from proofs_check.samples import listed


def hypotheses_hold(widths: tuple[int, ...]) -> bool:
    """Return whether the widths are those of a bottleneck."""
    inner = set(widths[1:-1])
    return len(inner) == 1 and min(widths[0], widths[-1]) >= max(inner)


class FiniteField(NamedTuple):
    """All weights of these widths, over GF(p)."""

    p: int
    widths: tuple[int, ...]


finite_fields = listed(
    starmap(FiniteField, [(2, (2, 2, 2)), (3, (2, 1, 2)), (5, (1, 1, 2)), (3, (2, 1, 1, 2)), (2, (3, 2, 2))]),
    starmap(FiniteField, [(3, (2, 2, 2)), (2, (2, 2, 2, 2))]),
)  # bottleneck widths


def narrowing_fields(*, quick: bool) -> Iterator[FiniteField]:
    """Return fields and widths that never grow before the last, and are no bottleneck."""
    sizes = [(2, (3, 2, 1)), (2, (2, 2, 1, 1))] if quick else [(2, (3, 2, 1)), (3, (2, 2, 1)), (2, (3, 2, 1, 2))]
    return (FiniteField(*size) for size in sizes)


def value_has_rank_delta(weights: VirtualWeights, widths: tuple[int, ...], p: int) -> Truths:
    """Return what is asked of the weights at bottleneck widths."""
    truths: Truths = ranks_mod_p(weights.value, p) == widths[1]
    return truths


def all_of_each_width_is_used(weights: VirtualWeights, widths: tuple[int, ...], p: int) -> Truths:
    """Return where `rows_used` span `d_i` dimensions for `0 < i < l`: this is asked at other widths."""
    spans = [ranks_mod_p(rows_used(weights, i), p) == widths[i] for i in range(1, len(widths) - 1)]
    truths: Truths = np.all(spans, axis=0)
    return truths


def any_weights(weights: VirtualWeights, widths: tuple[int, ...], p: int) -> Truths:
    """Return the mutant."""
    return np.ones(len(weights.value), dtype=np.bool_)


def every_fiber(
    field: FiniteField, condition: Callable[..., Truths] = value_has_rank_delta, *, diagonal: bool = False
) -> str | None:
    """Return all weights over GF(p): a fiber of virtual weights that meet the condition is one free orbit of the `C_i`.

    The first attention matrix is its own virtual weight and stays zero here.
    """
    p, widths = field
    depth = len(widths) - 1
    values = [every_matrix(*shape, p) for shape in zip(widths[1:], widths, strict=False)]
    squares = [every_matrix(n, n, p) for n in widths[1:-1]]
    choice = np.indices([len(m) for m in values + squares]).reshape(2 * depth - 1, -1)
    attention = [np.zeros((1, widths[0], widths[0]), np.int64)]
    attention += [square[i] for square, i in zip(squares, choice[depth:], strict=True)]
    layers = [
        Layer(a, np.eye(a.shape[-1], dtype=np.int64), v[i]) for a, v, i in zip(attention, values, choice, strict=False)
    ]
    weights = virtual_weights(layers)
    _, heads, fiber, sizes = np.unique(
        numbers([*weights.attention[1:], weights.value], p), return_index=True, return_inverse=True, return_counts=True
    )
    fiber_of = np.empty(choice.shape[1], dtype=np.int64)
    fiber_of[weight_numbers(layers, p)] = fiber

    at_heads = VirtualWeights(tuple(a[heads] for a in weights.attention[1:]), weights.value[heads])
    generic = np.flatnonzero(condition(at_heads, widths, p))
    if not len(generic):
        raise ProgramError(f"GF({p}), widths {widths}: there must be virtual weights that meet the condition")
    starts = [
        Layer(x.query[heads[generic]] if i else x.query, x.key, x.value[heads[generic]]) for i, x in enumerate(layers)
    ]
    groups = [general_linear(n, p, diagonal=diagonal) for n in widths[1:-1]]
    ends = [(np.eye(n, dtype=np.int64),) * 2 for n in (widths[0], widths[-1])]
    reached = np.sort(
        [
            weight_numbers(changed_network(starts, [ends[0], *inner, ends[1]], change_basis), p)
            for inner in product(*groups)
        ],
        axis=0,
    )
    expect(not (fiber_of[reached] != generic).any(), f"GF({p}), widths {widths}: Eq. 9 leads out of a fiber")
    orbits = 1 + (np.diff(reached, axis=0) != 0).sum(axis=0)
    if (bad := np.flatnonzero((orbits != len(reached)) | (sizes[generic] != orbits))).size:
        i = bad[0]
        shown = [x.value[i].tolist() for x in starts], [x.query[i].tolist() for x in starts[1:]]
        raise Refutation(
            f"GF({p}), widths {widths}, V = {shown[0]}, A_2, ... = {shown[1]}: {sizes[generic[i]]} weights in the"
            f" fiber, {orbits[i]} reached by {len(reached)} choices of the C_i"
        )
    if hypotheses_hold(widths):
        return None
    return f"GF({p}), widths {widths}: {len(generic):,} of {len(heads):,} fibers are stated and found to be one orbit"


def weight_numbers(layers: list[Layer[Integers]], p: int) -> Integers:
    """Return the numbers of the weights (V_1, ..., V_l, A_2, ..., A_l)."""
    return numbers([*(x.value for x in layers), *(x.key.mT @ x.query for x in layers[1:])], p)


def rows_used(weights: VirtualWeights, i: int) -> Any:
    """Return rows in the row space of `V_i ... V_1`, whatever the weights: of V~, rows and columns of A~_j, `j > i`.

    The attention matrices of `weights` are those from the second one on.
    """
    later = weights.attention[i - 1 :]
    return np.concatenate([weights.value, *later, *(np.swapaxes(a, -1, -2) for a in later)], axis=-2)
