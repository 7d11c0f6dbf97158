r"""Lemma 3.5: the generic fiber of $W \mapsto$ virtual weights is one orbit of Eq. 9.

For bottleneck widths ($d_i = \delta$ for $0 < i < l$, and $d_0, d_l \ge \delta$) and generic $(A_i, V_i)$, all weights
with the same $(\tilde A_1, \dots, \tilde A_l, \tilde V)$ are the $V_i \mapsto C_i V_i C_{i-1}^{-1}$,
$A_i \mapsto C_{i-1}^{-\top} A_i C_{i-1}^{-1}$. What is needed of the weights is $\operatorname{rk} \tilde V = \delta$.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, product

import numpy as np

from lightning_sym import SOFTMAX, Architecture, Layer, ProgramError, VirtualWeights, Weights, virtual_weights
from lightning_sym.exact.determinantal import determinantal
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import null_space, rank, unique_solution
from lightning_sym.network.jacobian import random_layers
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries.families import directions_mod_p
from proofs_check.blackboard.step import Step, entry_labels, identity, must, rational, show, table, unit_directions
from proofs_check.certificates import of_network
from proofs_check.claim import (
    Certifiable,
    Claim,
    Part,
    Refutation,
    Scope,
    WalkThrough,
    expect,
    expect_equal,
    meeting_bounds,
)
from proofs_check.claims.any_width.dimension_all_widths import variety_dimension
from proofs_check.claims.deep.equation_9 import A2, V1, V2, C, random_basis_changes
from proofs_check.claims.deep.equation_9 import walk as change_between_layers
from proofs_check.claims.deep.lemma_3_5.finite_fields import (
    all_of_each_width_is_used,
    any_weights,
    every_fiber,
    finite_fields,
    hypotheses_hold,
    narrowing_fields,
    rows_used,
)
from proofs_check.claims.one_layer.lemma_3_1 import rank_factorization


def image_at_least(network: Architecture, layers: list[Layer[PrimeFieldMatrix]], p: int) -> int:
    """Return the rank modulo `p` of the Jacobian of (Q, K, V) -> virtual weights, by dual numbers, all at once."""
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


def fiber_dimension(network: Architecture, *, orbit_only: bool = False) -> int:
    """Return the dimension of the generic fiber in (A_i, V_i), by two bounds for the image that meet.

    From above: parameters minus an orbit of `GL_{a_i}` (Lemma 3.1) and `GL_{d_i}` (Eq. 9); unless this alone is asked
    for, also the variety of virtual weights, counted without symmetric parts (all of `A~_i` is seen here).
    """
    p = PRIMES[0]
    layers = random_layers(network, np.random.default_rng(0), p)
    lower = image_at_least(network, layers, p)
    blocks = islice(
        directions_mod_p(network, [w for layer in layers for w in layer], p, symmetry=True), 2 * network.depth - 1
    )  # all but the rescalings
    orbit = rank_mod_p(np.concatenate([block.residues() for block in blocks]), p)
    upper = network.parameter_count - orbit
    if not orbit_only:
        upper = min(upper, variety_dimension(network, symmetric_parts=False))
    image = meeting_bounds(lower, upper, f"{network}, the image")
    pairs = list(zip(network.attention_ranks, network.widths, network.widths[1:], strict=False))
    return sum(determinantal(d, d, a) + d * d_out for a, d, d_out in pairs) - image


def with_softmax(network: Architecture) -> Iterator[Certifiable]:
    """Yield networks that softmax keeps apart up to finitely many: as many functions, and the same orbits."""
    yield of_network(replace(network, normalization=SOFTMAX))


def bottlenecks(*, quick: bool) -> Iterator[Architecture]:
    """Yield bottlenecks with attention matrices of rank one, two and full rank."""
    for depth, delta in product((2, 3) if quick else (2, 3, 4), (1, 2, 3)):
        for extra_in, extra_out, a in product((0, 1), (0, 2), (1, 2, 5) if delta < 3 else (2, 5)):
            widths = (delta + extra_in, *(delta,) * (depth - 1), delta + extra_out)
            yield Architecture(widths, (a,) * depth, 2)


def one_orbit_large(network: Architecture, layers_counted: int = 0) -> None:
    delta = network.widths[1]
    stated = delta**2 * (network.depth - 1 + layers_counted)
    expect_equal(fiber_dimension(network, orbit_only=True), stated, at=f"{network}, dimension of the fiber")


def rational_instances(*, quick: bool) -> Iterator[tuple[tuple[int, ...], int]]:
    """Return instances with bottleneck widths, and with widths that never grow before the last."""
    shapes = [(2, 2, 2), (3, 2, 4), (3, 2, 2, 2), (2, 1, 1, 2), (4, 3, 3), (3, 3, 3, 3, 4), (4, 3, 2, 3), (3, 2, 1)]
    return product(shapes, range(1 if quick else 5))


def unique_over_q(instance: tuple[tuple[int, ...], int], widen: int = 0) -> str | None:
    """Return weights rebuilt from the virtual weights alone, and the one choice of the C_i that leads to them.

    With all rows that are used spanning `d_i` dimensions, they are the row space of `V_i ... V_1` for all weights in
    the fiber; in a basis of one's own choice of these spaces, everything else is the solution of a linear system.
    """
    widths, seed = instance
    if widen:
        widths = (widths[0], *(widths[0] + widen for _ in widths[1:-1]), widths[-1])
    ranks = [min(pair) for pair in pairwise(widths)]
    shape = Architecture(widths, widths[:-1], 1)
    weights = Weights.random(shape, seed=seed, denominator=3, attention_matrix_ranks=widths[:-1], value_ranks=ranks)
    given, at = virtual_weights(weights.layers), f"widths {widths}, seed {seed}"
    if hypotheses_hold(widths) and not widen and rank(given.value) != widths[1]:
        raise ProgramError(f"{at}: the rank of V~ must be {widths[1]}")
    bases = random_basis_changes(widths, seed + 1)
    one = np.eye(widths[0], dtype=int).astype(object)
    old = new = old_change = one  # V_i ... V_1 of both weights, and C_i
    for i, layer in enumerate(weights.layers, start=1):
        half = unique_solution(new.T, given.attention[i - 1])
        attention = None if half is None else unique_solution(new.T, half.T)  # new^T A' new = A~, transposed twice
        if i == len(widths) - 1:
            old, after, change = layer.value @ old, given.value, np.eye(widths[-1], dtype=int).astype(object)
        else:
            _, rows = rank_factorization(rows_used(VirtualWeights(given.attention[1:], given.value), i))
            if len(rows) != widths[i]:
                raise Refutation(f"{at}: the virtual weights leave the row space of V_{i} ... V_1 open")
            old, after = layer.value @ old, bases[i][0] @ rows
            solution = unique_solution(old.T, after.T)
            if solution is None or rank(solution) < widths[i]:
                raise Refutation(f"{at}: there is not exactly one C_{i}")
            change = solution.T
        value = unique_solution(new.T, after.T)
        if attention is None or value is None:
            raise Refutation(f"{at}: the weights of layer {i} are not determined")
        expect_equal((value.T @ old_change).tolist(), (change @ layer.value).tolist(), at=f"{at}, V_{i}")
        moved_back = old_change.T @ attention.T @ old_change
        expect_equal(moved_back.tolist(), (layer.key.T @ layer.query).tolist(), at=f"{at}, A_{i}")
        new, old_change = after, change
    if hypotheses_hold(widths):
        return None
    return f"bottleneck widths are sufficient, not needed: the fiber is one orbit at widths {widths}, full ranks, too"


def outside(*, quick: bool) -> Iterator[Architecture]:
    """Yield every other choice of small widths, attention matrices of full rank."""
    for depth, top in ((2, 3), (3, 2)) if quick else ((2, 4), (3, 3), (4, 2)):
        for widths in product(range(1, top + 1), repeat=depth + 1):
            if not hypotheses_hold(widths):
                yield Architecture(widths, widths[:-1], 2)
    if quick:
        yield Architecture((3, 1, 2, 3), (3, 1, 2), 2)
    yield Architecture((5, 4, 1), (5, 1), 2)


def never_grows(network: Architecture) -> bool:
    """Return whether no inner width exceeds the one before it."""
    return all(after <= before for before, after in pairwise(network.widths[:-1]))


def beyond(network: Architecture, *, sharp: bool = False) -> str | None:
    """Return a finding, if any: where the fiber is larger than an orbit of Eq. 9, and where not.

    The widths are no bottleneck.
    """
    group = sum(d * d for d in network.widths[1:-1])
    fiber = fiber_dimension(network)
    low_rank = network.attention_ranks != network.widths[:-1]
    if sharp or low_rank or not never_grows(network):
        expect(fiber > group, f"{network}: the fiber has dimension {fiber}, the group of Eq. 9 {group}")
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


def walk() -> Iterator[Step]:
    yield from change_between_layers()
    new = C @ V1
    inverse = rational([[1, -1], [0, 1]])
    must((V1 @ inverse == identity(2)).all() and (new @ inverse == C).all(), "C can be read off")
    yield Step(
        "Read C off",
        r"Conversely, let two networks have the same virtual weights, and let $V_1$ and $V_1'$ be invertible. Then $C$ "
        r"can only be $V_1' V_1^{-1}$, and with it $A_2'$ and $V_2'$ are known. There is no other freedom.",
        (show("V_1'", new), show("V_1^{-1}", inverse), show("V_1' V_1^{-1}", new @ inverse)),
    )
    rows = [(m.T @ A2 @ V1 + V1.T @ A2 @ m, V2 @ m) for m in unit_directions((2, 2))]
    rows += [(V1.T @ m @ V1, 0 * V2) for m in unit_directions((2, 2))]
    rows += [(0 * A2, m @ V1) for m in unit_directions((1, 2))]
    matrix = np.array([[*a.ravel(), *v.ravel()] for a, v in rows], dtype=object)
    lost = len(null_space(matrix.T))
    must(lost == 4 and rank(matrix) == 6, "four directions are lost")
    yield Step(
        "Count",
        rf"The first layer's $A_1$ is seen as it is. The other ten weights, $v_{{ij}}$ in $V_1$, $a_{{ij}}$ in $A_2$ "
        rf"and $w_j$ in $V_2$, give the six numbers in $\tilde A_2$ and $\tilde V$. The Jacobian of this map has rank "
        rf"{rank(matrix)}, so ${len(rows)} - {rank(matrix)} = {lost}$ directions are lost: exactly the $2^2 = 4$ "
        rf"entries of $C$.",
        (table("J", matrix,
               [*entry_labels("v", 2, 2), *entry_labels("a", 2, 2), "w_1", "w_2"],
               [*entry_labels(r"(\tilde A_2)", 2, 2), r"\tilde v_1", r"\tilde v_2"]),),
    )  # fmt: skip


CLAIM = Claim(
    id="lemma-3.5",
    source="Lemma 3.5",
    title="bottleneck widths: the generic fiber of W -> virtual weights is one orbit of Eq. 9",
    statement=(
        r"d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta,\ \operatorname{rk} \tilde V = \delta \;\Rightarrow\;"
        r" (A_i, V_i) \mapsto (\tilde A_1, \dots, \tilde A_l, \tilde V) \text{ has the fiber }"
        r" \{(C_{i-1}^{-\top} A_i C_{i-1}^{-1},\ C_i V_i C_{i-1}^{-1})\}"
    ),
    hypotheses=(
        "$C_0 = C_l = 1$, the other $C_i$ are invertible; $A_i$ of rank at most $a_i$. Every fiber is counted over "
        "small finite fields only; over the rationals the paper's proof is followed at some weights. What is said "
        "of other widths is said of the shapes that are listed."
    ),
    place=100,
    rests_on=("equation-9",),
    walk=WalkThrough("Between two layers any basis will do, and if no width is too small that is all.", walk),
    parts=(
        Part(
            "the generic fiber has dimension (l - 1) delta^2",
            Scope.GENERIC,
            bottlenecks,
            one_orbit_large,
            {"(l - 2) delta^2": partial(one_orbit_large, layers_counted=-1)},
            certifies=with_softmax,
        ),
        Part(
            "every fiber over V~ of rank delta is one free orbit",
            Scope.EXHAUSTIVE,
            finite_fields,
            every_fiber,
            {
                "C_i diagonal": partial(every_fiber, diagonal=True),
                "V~ of any rank": partial(every_fiber, condition=any_weights),
            },
        ),
        Part(
            "widths that never grow: every fiber is one free orbit where the virtual weights use all of each width",
            Scope.EXHAUSTIVE,
            narrowing_fields,
            partial(every_fiber, condition=all_of_each_width_is_used),
            {
                "C_i diagonal": partial(every_fiber, condition=all_of_each_width_is_used, diagonal=True),
                "all virtual weights": partial(every_fiber, condition=any_weights),
            },
        ),
        Part(
            "one choice of the C_i leads to weights rebuilt from the virtual weights, over the rationals",
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
            certifies=with_softmax,
        ),
    ),
)
