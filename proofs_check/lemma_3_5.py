r"""Lemma 3.5: the generic fiber of $W \mapsto$ virtual weights is one orbit of Eq. 9.

For bottleneck widths ($d_i = \delta$ for $0 < i < l$, and $d_0, d_l \ge \delta$) and generic $(A_i, V_i)$, all weights
with the same $(\tilde A_1, \dots, \tilde A_l, \tilde V)$ are the $V_i \mapsto C_i V_i C_{i-1}^{-1}$,
$A_i \mapsto C_{i-1}^{-\top} A_i C_{i-1}^{-1}$. What is needed of the weights is $\operatorname{rk} \tilde V = \delta$.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, pairwise, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture, Layer, Weights, virtual_weights
from lightning_sym.jacobian import random_layers
from lightning_sym.linalg import rank, rank_mod_p, ranks_mod_p, unique_solution
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries import tangent_directions_mod_p
from lightning_sym.varieties import determinantal, virtual_weight_variety
from proofs_check.claim import Claim, Part, Refutation, Scope, Undecided, expect_equal
from proofs_check.equation_9 import change_basis, changed_network, random_basis_changes

Integers = npt.NDArray[np.int64]


def hypotheses_hold(widths: tuple[int, ...]) -> bool:
    """Bottleneck widths."""
    inner = set(widths[1:-1])
    return len(inner) == 1 and min(widths[0], widths[-1]) >= max(inner)


def image_at_least(network: Architecture, layers: list[Layer], p: int) -> int:
    """Rank modulo `p` of the Jacobian of (Q, K, V) -> virtual weights, by dual numbers in every direction at once."""
    n = network.parameter_count
    directions, moving, start = np.eye(n, dtype=np.int64), [], 0
    for matrix in (m for layer in layers for m in layer):
        size = matrix.entries.size
        tangent = directions[:, start : start + size].reshape(n, *matrix.entries.shape)
        moving.append(Dual(matrix, PrimeFieldMatrix.of(tangent, p)))
        start += size
    weights = virtual_weights([Layer(*moving[i : i + 3]) for i in range(0, len(moving), 3)])
    rows = [m.tangent.residues().reshape(n, -1) for m in (*weights.attention, weights.value)]
    return rank_mod_p(np.concatenate(rows, axis=1), p)


def fiber_dimension(network: Architecture) -> int:
    """Of the generic fiber, in terms of (A_i, V_i), by two bounds for the image that meet.

    From above: parameters minus an orbit of `GL_{a_i}` (Lemma 3.1) and `GL_{d_i}` (Eq. 9), or the variety of virtual
    weights, which is counted without the rescalings here.
    """
    p = PRIMES[0]
    layers = random_layers(network, np.random.default_rng(0), p)
    lower = image_at_least(network, layers, p)
    blocks = islice(
        tangent_directions_mod_p(network, [w for layer in layers for w in layer], p), 2 * network.depth - 1
    )  # all but the rescalings
    orbit = rank_mod_p(np.concatenate([block.residues() for block in blocks]), p)
    upper = min(network.parameter_count - orbit, virtual_weight_variety(network).dimension + network.depth)
    if lower != upper:
        raise Undecided(f"{network}: the image has dimension between {lower} and {upper}")
    pairs = list(zip(network.attention_ranks, network.widths, network.widths[1:], strict=False))
    return sum(determinantal(d, d, a) + d * d_out for a, d, d_out in pairs) - lower


def bottlenecks(quick: bool) -> Iterator[Architecture]:
    """Attention matrices of full rank or of rank two, so that no layer counts by symmetric parts only."""
    for depth, delta in product((2, 3) if quick else (2, 3, 4), (1, 2, 3)):
        for extra_in, extra_out, a in product((0, 1), (0, 2), (2, 5)):
            widths = (delta + extra_in, *(delta,) * (depth - 1), delta + extra_out)
            yield Architecture(widths, (a,) * depth, 2)


def one_orbit_large(network: Architecture, layers_counted: int = 0) -> None:
    delta = network.widths[1]
    stated = delta**2 * (network.depth - 1 + layers_counted)
    expect_equal(fiber_dimension(network), stated, at=f"{network}, dimension of the fiber")


class FiniteField(NamedTuple):
    p: int
    widths: tuple[int, ...]


def finite_fields(quick: bool) -> Iterator[FiniteField]:
    sizes = [(2, (2, 2, 2)), (3, (2, 1, 2)), (5, (1, 1, 2)), (3, (2, 1, 1, 2)), (2, (3, 2, 2))]
    return (FiniteField(*size) for size in (sizes if quick else [*sizes, (3, (2, 2, 2)), (2, (2, 2, 2, 2))]))


def every_matrix(rows: int, columns: int, p: int) -> Integers:
    digits = np.indices((p,) * (rows * columns)).reshape(rows * columns, -1).T
    return digits.reshape(-1, rows, columns).astype(np.int64)


def numbers(matrices: list[Integers], p: int) -> Integers:
    """One number for each member of a batch: the entries are its digits."""
    digits = np.concatenate([m.reshape(len(m), -1) for m in matrices], axis=1) % p
    packed: Integers = digits @ p ** np.arange(digits.shape[1])
    return packed


def every_fiber(field: FiniteField, diagonal: bool = False, any_rank: bool = False) -> None:
    """All weights over GF(p): a fiber over V~ of rank `delta` is one free orbit of the `C_i`.

    The first attention matrix is its own virtual weight and stays zero here.
    """
    p, widths = field
    depth, delta = len(widths) - 1, widths[1]
    values = [every_matrix(*shape, p) for shape in zip(widths[1:], widths, strict=False)]
    squares = every_matrix(delta, delta, p)
    choice = np.indices([len(m) for m in values] + [len(squares)] * (depth - 1)).reshape(2 * depth - 1, -1)
    attention = [np.zeros((1, widths[0], widths[0]), np.int64), *(squares[i] for i in choice[depth:])]
    layers = [
        Layer(a, np.eye(a.shape[-1], dtype=np.int64), v[i]) for a, v, i in zip(attention, values, choice, strict=False)
    ]
    weights = virtual_weights(layers)
    _, heads, fiber, sizes = np.unique(
        numbers([*weights.attention[1:], weights.value], p), return_index=True, return_inverse=True, return_counts=True
    )
    fiber_of = np.empty(choice.shape[1], dtype=np.int64)
    fiber_of[weight_numbers(layers, p)] = fiber

    generic = np.flatnonzero(any_rank | (ranks_mod_p(weights.value[heads], p) == delta))
    starts = [
        Layer(x.query[heads[generic]] if i else x.query, x.key, x.value[heads[generic]]) for i, x in enumerate(layers)
    ]
    one = np.eye(delta, dtype=np.int64)
    group = [(c, e) for c, e in product(squares, repeat=2) if ((c @ e) % p == one).all()]
    if diagonal:
        group = [(c, e) for c, e in group if not (c - np.diag(np.diag(c))).any()]
    ends = [(np.eye(n, dtype=np.int64),) * 2 for n in (widths[0], widths[-1])]
    reached = np.sort(
        [
            weight_numbers(changed_network(starts, [ends[0], *inner, ends[1]], change_basis), p)
            for inner in product(group, repeat=depth - 1)
        ],
        axis=0,
    )
    if (fiber_of[reached] != generic).any():
        raise Refutation(f"GF({p}), widths {widths}: Eq. 9 leads out of a fiber")
    orbits = 1 + (np.diff(reached, axis=0) != 0).sum(axis=0)
    if (bad := np.flatnonzero((orbits != len(reached)) | (sizes[generic] != orbits))).size:
        i = bad[0]
        shown = [x.value[i].tolist() for x in starts], [x.query[i].tolist() for x in starts[1:]]
        raise Refutation(
            f"GF({p}), widths {widths}, V = {shown[0]}, A_2, ... = {shown[1]}: {sizes[generic[i]]} weights in the"
            f" fiber, {orbits[i]} reached by {len(reached)} choices of the C_i"
        )


def weight_numbers(layers: list[Layer], p: int) -> Integers:
    """The numbers of the weights (V_1, ..., V_l, A_2, ..., A_l)."""
    return numbers([*(x.value for x in layers), *(x.key.mT @ x.query for x in layers[1:])], p)


def rational_instances(quick: bool) -> Iterator[tuple[tuple[int, ...], Weights, int]]:
    """Random weights with `rk V~ = delta`."""
    shapes = [(2, 2, 2), (3, 2, 4), (3, 2, 2, 2), (2, 1, 1, 2), (4, 3, 3), (3, 3, 3, 3, 4)]
    for widths, seed in product(shapes, range(1 if quick else 5)):
        weights = Weights.random(Architecture(widths, widths[:-1], 1), seed=seed, denominator=3)
        if rank(virtual_weights(weights.layers).value) == widths[1]:
            yield widths, weights, seed


def unique_over_q(instance: tuple[tuple[int, ...], Weights, int], widen: int = 0) -> None:
    """Linear systems with exactly one solution give back the C_i and all weights, from the virtual weights on."""
    widths, weights, seed = instance
    if widen:
        widths = (widths[0], *(widths[0] + widen for _ in widths[1:-1]), widths[-1])
        weights = Weights.random(Architecture(widths, widths[:-1], 1), seed=seed)
    given, changes = virtual_weights(weights.layers), random_basis_changes(widths, seed)
    product_of_values = changed_product = None
    for i, (layer, new) in enumerate(
        zip(weights.layers, changed_network(weights.layers, changes, change_basis), strict=True)
    ):
        if product_of_values is not None and changed_product is not None:
            c = unique_solution(product_of_values.T, changed_product.T)
            half = unique_solution(changed_product.T, given.attention[i])
            attention = None if half is None else unique_solution(changed_product.T, half.T)
            if c is None or attention is None:
                raise Refutation(f"widths {widths}, seed {seed}: C_{i} or A_{i + 1} is not determined")
            expect_equal(c.T.tolist(), changes[i][0].tolist(), at=f"widths {widths}, seed {seed}, C_{i}")
            expect_equal(attention.T.tolist(), (new.key.T @ new.query).tolist(), at=f"widths {widths}, A_{i + 1}")
        product_of_values = layer.value if product_of_values is None else layer.value @ product_of_values
        changed_product = new.value if changed_product is None else new.value @ changed_product


def outside(quick: bool) -> Iterator[Architecture]:
    """Every other choice of small widths, attention matrices of full rank."""
    for depth, top in ((2, 3), (3, 2)) if quick else ((2, 4), (3, 3), (4, 2)):
        for widths in product(range(1, top + 1), repeat=depth + 1):
            if not hypotheses_hold(widths):
                yield Architecture(widths, widths[:-1], 2)
    if quick:
        yield Architecture((3, 1, 2, 3), (3, 1, 2), 2)
    yield Architecture((5, 4, 1), (5, 1), 2)


def never_grows(network: Architecture) -> bool:
    """No inner width exceeds the one before it."""
    return all(after <= before for before, after in pairwise(network.widths[:-1]))


def beyond(network: Architecture, sharp: bool = False) -> str | None:
    """Where the fiber is larger than an orbit of Eq. 9, and where not, although the widths are no bottleneck."""
    group = sum(d * d for d in network.widths[1:-1])
    fiber = fiber_dimension(network)
    low_rank = network.attention_ranks != network.widths[:-1]
    if sharp or low_rank or not never_grows(network):
        if fiber <= group:
            raise Refutation(f"{network}: the fiber has dimension {fiber}, the group of Eq. 9 {group}")
    else:
        expect_equal(fiber, group, at=network)
    if network.widths in ((2, 3, 2), (3, 1, 2, 3)) or low_rank:
        return f"{network}: the fiber has dimension {fiber}, an orbit of Eq. 9 at most {group}"
    if never_grows(network):
        return (
            "bottleneck widths are sufficient, not needed: at attention matrices of full rank the fiber has the"
            " dimension of an orbit exactly if no inner width exceeds the one before it, the last width being free"
        )
    return None


CLAIM = Claim(
    id="lemma-3.5",
    source="Lemma 3.5",
    title="bottleneck widths: the generic fiber of W -> virtual weights is one orbit of Eq. 9",
    statement=(
        r"d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta,\ \operatorname{rk} \tilde V = \delta \;\Rightarrow\;"
        r" (A_i, V_i) \mapsto (\tilde A_1, \dots, \tilde A_l, \tilde V) \text{ has the fiber }"
        r" \{(C_{i-1}^{-\top} A_i C_{i-1}^{-1},\ C_i V_i C_{i-1}^{-1})\}"
    ),
    parts=(
        Part(
            "the generic fiber has dimension (l - 1) delta^2",
            Scope.GENERIC,
            bottlenecks,
            one_orbit_large,
            {"(l - 2) delta^2": partial(one_orbit_large, layers_counted=-1)},
        ),
        Part(
            "every fiber over V~ of rank delta is one free orbit",
            Scope.EXHAUSTIVE,
            finite_fields,
            every_fiber,
            {
                "C_i diagonal": partial(every_fiber, diagonal=True),
                "V~ of any rank": partial(every_fiber, any_rank=True),
            },
        ),
        Part(
            "the C_i and the weights are unique over the rationals",
            Scope.INSTANCES,
            rational_instances,
            unique_over_q,
            {"inner widths larger than d_0": partial(unique_over_q, widen=1)},
        ),
        Part(
            "other widths: larger exactly if an inner width exceeds the one before it",
            Scope.GENERIC,
            outside,
            beyond,
            {"larger for all other widths": partial(beyond, sharp=True)},
        ),
    ),
)
