r"""Corollary A.6: a function is on the relative boundary exactly if it is a critical value of the parametrization.

One layer, $d, t \ge 2$; $A$ a smooth point of the matrices of rank at most $a$: of rank $a$, or any if $a \ge d$. The
paper also asks for $a > 1$ or $d' > 1$, and does not ask for smoothness: elsewhere the differential in $(Q, K, V)$
drops rank although the function is not on the boundary.

*The Zariski closure outside $\mathcal M$.* There the array of Proposition A.5 is real, $b_{km} = a_k v_m$ with complex
linear forms, and no real forms will do. If a non-zero $v_m$ is not a multiple of a real form, unique factorization of
the real $a_k v_m$ makes every $a_k$ a multiple of its conjugate, and then every $v_m$ a multiple of $v_1$. So
$b_{km} = q_k e_m f$ with one definite form $f = h^2 + g^2$. The argument uses no more than a field and a quadratic
extension of it; with GF(3) and GF(9) in place of the real and the complex numbers it is checked here weight by weight.

*Limits.* See Theorem 3.4, boundary: with this form of $\overline{\mathcal M} \setminus \mathcal M$ a positive
discriminant shows that a point of $\mathcal M$ is not a limit, and conjugate pairs show that it is, if $A = h q^\top$,
$V = v h^\top$ or $\varphi = 0$. One of the two is found for each point below.

*Critical points.* The differential of $(A, V) \mapsto \varphi$ on the tangent space of the matrices of rank at most $a$
has a kernel of more than one dimension; its rank is then below $\dim \mathcal M$, certified. All ranks are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture, Layer, Weights, certified_dimension, classify
from lightning_sym.exact.rational import rank
from lightning_sym.geometry.layer_function import tangent_directions
from lightning_sym.network.one_layer import products_of_linear_forms
from lightning_sym.rings.arrays import ObjectArray, clear_denominators
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided, WalkThrough, expect, spell
from proofs_check.claims.geometry.measured import restricted_differential
from proofs_check.claims.geometry.theorem_3_4_boundary import (
    Stated,
    conjugate_pairs,
    is_limit,
    of_rank_one,
    shapes,
    squares_on_m,
)
from proofs_check.claims.geometry.theorem_3_4_boundary import hypotheses_hold as printed_hypotheses_hold
from proofs_check.claims.geometry.theorem_3_4_boundary.walk import walk


def batch(points: npt.NDArray[np.int16], rows: int, axis: int) -> ObjectArray:
    """Return many matrices in one: an entry is the array of its values, along the given one of two axes."""
    result = np.empty((rows, points.shape[1] // rows), dtype=object)
    for index, column in zip(np.ndindex(*result.shape), points.T, strict=True):
        result[index] = np.expand_dims(column, 1 - axis)
    return result


def all_points(p: int, size: int) -> npt.NDArray[np.int16]:
    return np.array(list(product(range(p), repeat=size)), dtype=np.int16)


def arrays_in_the_subfield(p: int, d_out: int) -> set[tuple[int, ...]]:
    """Return arrays of all weights over GF(p)[i], i^2 = -1, d = 2, that have all their entries in GF(p)."""
    both = all_points(p, 4 * d_out)
    real, imaginary = both[:, : 2 * d_out], both[:, 2 * d_out :]
    # (A, V) and (s A, V / s) have the same array: the first entry of V over GF(p^2) that is not zero is 1
    nonzero = (real != 0) | (imaginary != 0)
    first = (np.arange(len(real)), nonzero.argmax(axis=1))
    keep = nonzero.any(axis=1) & (real[first] == 1) & (imaginary[first] == 0)
    v_real, v_imaginary = batch(real[keep], d_out, 1), batch(imaginary[keep], d_out, 1)
    both = all_points(p, 8)
    a_real, a_imaginary = batch(both[:, :4], 2, 0), batch(both[:, 4:], 2, 0)
    forms = products_of_linear_forms
    across = forms(a_real, v_imaginary) + forms(a_imaginary, v_real)
    is_real = np.logical_and.reduce([entry % p == 0 for entry in across.ravel()])
    along = forms(a_real, v_real) - forms(a_imaginary, v_imaginary)
    found = np.stack([entry[is_real] % p for entry in along.ravel()], axis=1)
    return set(map(tuple, np.unique(found, axis=0).tolist()))


def arrays_over(p: int, d_out: int) -> set[tuple[int, ...]]:
    """Return arrays of all weights over GF(p), d = 2."""
    a, v = batch(all_points(p, 4), 2, 0), batch(all_points(p, 2 * d_out), d_out, 1)
    values = [(entry % p).ravel() for entry in products_of_linear_forms(a, v).ravel()]
    return set(map(tuple, np.unique(np.stack(values, axis=1), axis=0).tolist()))


def closure_outside(instance: tuple[int, int], *, irreducible: bool = True) -> str:
    """Return a tally of functions over GF(p) that have weights over GF(p^2), and none over GF(p).

    They are exactly the `q_k e_m f`, f without zeros.
    """
    p, d_out = instance
    outside = arrays_in_the_subfield(p, d_out) - arrays_over(p, d_out)
    line = [(1, y) for y in range(p)] + [(0, 1)]
    forms = [
        f
        for f in product(range(p), repeat=3)
        if any(f) and (not irreducible or all((f[0] * x * x + f[1] * x * y + f[2] * y * y) % p for x, y in line))
    ]
    vectors = [list(filter(any, product(range(p), repeat=size))) for size in (2, d_out)]
    stated = {
        tuple(x * y * z % p for x in q for y in e for z in f) for q in vectors[0] for e in vectors[1] for f in forms
    }
    if outside != stated:
        witness = min(outside ^ stated)
        raise Refutation(f"GF({p}), d = 2, d' = {d_out}: the array {witness} is on one side only")
    weights = p ** (8 + 4 * d_out)
    return Tally(
        f"GF({p * p}), d = 2, d' = {d_out}: {weights:,} weights give {len(outside)} functions outside M, all pairs"
    )


class LayerPoint(NamedTuple):
    """Weights of one layer."""

    architecture: Architecture
    layer: Layer[ObjectArray]

    @property
    def attention(self) -> ObjectArray:
        return clear_denominators(self.layer.key.T @ self.layer.query)

    @property
    def value(self) -> ObjectArray:
        return clear_denominators(self.layer.value)

    def __str__(self) -> str:
        return f"{self.architecture}, A = {spell(self.attention)}, V = {spell(self.value)}"


def hypotheses_hold(d: int, a: int, rank_a: int) -> bool:
    """Return whether `d >= 2`, and the matrices of rank at most `a` are smooth at A."""
    return d >= 2 and (a >= d or rank_a == a)


def point_of(shape: Architecture, rank_a: int, rank_v: int, seed: int) -> LayerPoint:
    return LayerPoint(
        shape,
        Weights.random(shape, seed=seed, bound=3, attention_matrix_ranks=[rank_a], value_ranks=[rank_v]).layers[0],
    )


def points(*, quick: bool) -> Iterator[LayerPoint]:
    """Yield weights of every pair of ranks, zero included, and some with A and V parallel."""
    sizes = [(2, 1, 1), (2, 2, 1), (2, 1, 2), (2, 2, 2), (3, 2, 2)]
    for d, d_out, a in sizes if quick else [*sizes, (3, 1, 1), (3, 1, 3), (3, 2, 3), (4, 2, 2)]:
        shape = Architecture((d, d_out), (a,), 2)
        for rank_a, rank_v, seed in product(range(a + 1), range(min(d, d_out) + 1), range(2)):
            if not hypotheses_hold(d, a, rank_a):
                continue
            point = point_of(shape, rank_a, rank_v, seed)
            yield point
            if rank_a == rank_v == 1:  # the same, with the row space of V moved to the column space of A
                column = next(filter(any, point.attention.T))
                scale = [next(filter(None, row), 0) for row in point.value]
                yield LayerPoint(shape, point.layer._replace(value=np.outer(scale, column)))


def dimension_of(shape: Architecture) -> int:
    certified = certified_dimension(shape)
    if certified.value is None:
        raise Undecided(f"{shape}: dim M is between {certified.lower} and {certified.upper}")
    return certified.value


def kernel_and_rank(point: LayerPoint) -> tuple[int, int]:
    alpha = min(point.architecture.attention_ranks[0], point.architecture.widths[0])
    directions = tangent_directions(point.attention, alpha)
    differential = restricted_differential(point.attention, point.value, directions)
    found = rank(differential)
    return differential.shape[0] - found, found


def boundary_iff_critical(point: LayerPoint, boundary: Stated = is_limit) -> str | None:
    kernel, found = kernel_and_rank(point)
    dimension = dimension_of(point.architecture)
    if not (kernel > 1) == (found < dimension) == boundary(point.attention, point.value):
        raise Refutation(
            f"{point}: kernel of dimension {kernel}, rank {found}, dim M = {dimension}, "
            f"on the boundary: {boundary(point.attention, point.value)}"
        )
    (d, d_out), (a,) = point.architecture.widths, point.architecture.attention_ranks
    if printed_hypotheses_hold(d, d_out, a):
        return None
    return f"the hypothesis a > 1 or d' > 1 is sufficient, not needed: at d = {d}, a = d' = 1 the statement holds"


def width_one(d_out: int, *, stated: bool = False) -> str:
    """Return the finding at d = 1: weights are not critical, though A = h q^T, V = v h^T for all."""
    kernel, _ = kernel_and_rank(point_of(Architecture((1, d_out), (1,), 2), 1, 1, d_out))
    expect((kernel > 1) == stated, f"d = 1, d' = {d_out}, A and V not zero: kernel of dimension {kernel}")
    return "the hypothesis d >= 2 is needed for 'critical exactly if A = h q^T, V = v h^T' (Lemma A.3): fails at d = 1"


def both_identities(shape: tuple[int, int], sign: int = -1) -> None:
    """Check what a limit in M satisfies: minus squares outside M, squares on M."""
    conjugate_pairs(shape)
    squares_on_m(shape, sign)


def critical_all_the_same(rank_a: int) -> str:
    """Return the finding just outside, at d = 3, a = 2.

    The differential in Q, K, V drops rank, and the function is not on the boundary.
    """
    point = point_of(Architecture((3, 2), (2,), 2), rank_a, 2, 0)
    found, dimension = (
        classify(Weights.of(dict(zip(("Q1", "K1", "V1"), point.layer, strict=True)))).weight_rank_upper,
        dimension_of(point.architecture),
    )
    expect(
        found < dimension and (not is_limit(point.attention, point.value)),
        f"{point}: rank {found} in Q, K, V, dim M = {dimension}, the statement holds",
    )
    return (
        f"the paper does not ask for rk A = a or a >= d: at {point} the rank in Q, K, V is {found}, dim M = "
        f"{dimension}, not on the boundary; in (A, V), A in all directions, the kernel has dimension "
        f"{kernel_and_rank(point)[0]}"
    )


CLAIM = Claim(
    id="corollary-a.6",
    source="Corollary A.6",
    title="d, t >= 2, rk A = a or a >= d: boundary points are exactly the critical values",
    statement=(
        r"d, t \ge 2,\ (\operatorname{rk} A = a \text{ or } a \ge d):\quad"
        r"\varphi_{A,V} \in \partial \mathcal M \iff (A, V) \text{ critical}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask. The paper asks for $a > 1$ or $d' > 1$ instead. Without "
        r"$\operatorname{rk} A = a$ or $a \ge d$ it is false in $(Q, K, V)$. The form of the points outside "
        r"$\mathcal M$ in its Zariski closure is argued for every size and counted over $GF(3)$; limits are found "
        "at the points that are listed."
    ),
    place=260,
    rests_on=("corollary-a.1", "lemma-a.3"),
    walk=WalkThrough(
        r"The boundary consists of the critical values, $A = h\, q^\top$ and $V = v\, h^\top$; here is how the outside "
        r"comes "
        "near them, and only them.",
        walk,
    ),
    parts=(
        Part(
            "the points outside M are q_k e_m f, with GF(9) over GF(3) for C over R",
            Scope.EXHAUSTIVE,
            lambda quick: [(3, 1)] if quick else [(3, 1), (3, 2)],
            closure_outside,
            {"any form f": partial(closure_outside, irreducible=False)},
        ),
        Part(
            "limits in M: discriminants at most zero and squares",
            Scope.IDENTITY,
            shapes,
            both_identities,
            {"the other sign": partial(both_identities, sign=1)},
        ),
        Part(
            "limits of conjugate pairs, and no positive discriminant, exactly where the differential drops",
            Scope.INSTANCES,
            points,
            boundary_iff_critical,
            {"rk A = rk V = 1": partial(boundary_iff_critical, boundary=of_rank_one)},
        ),
        Part(
            "2 <= a < d, rk A < a: critical in Q, K, V, not on the boundary",
            Scope.INSTANCES,
            lambda quick: (1,),
            critical_all_the_same,
            {"rk A = a": lambda rank_a: critical_all_the_same(2)},
        ),
        Part(
            "d = 1: A = h q^T, V = v h^T, and not critical",
            Scope.INSTANCES,
            lambda quick: (1, 2, 3),
            width_one,
            {"critical": partial(width_one, stated=True)},
        ),
    ),
)
