r"""Corollary A.6: a function is on the relative boundary exactly if it is a critical value of the parametrization.

One layer, $d, t \ge 2$; $A$ a smooth point of the matrices of rank at most $a$: of rank $a$, or any if $a \ge d$.

*The Zariski closure outside $\mathcal M$.* There the array of Proposition A.5 is real, $b_{km} = a_k v_m$ with complex
linear forms, and no real forms will do. If a non-zero $v_m$ is not a multiple of a real form, unique factorization of
the real $a_k v_m$ makes every $a_k$ a multiple of its conjugate, and then every $v_m$ a multiple of $v_1$. So
$b_{km} = q_k e_m f$ with one definite form $f = h^2 + g^2$. The argument uses no more than a field and a quadratic
extension of it; with GF(3) and GF(9) in place of the real and the complex numbers it is checked here weight by weight.

*Limits.* See Theorem 3.4, boundary: in $\mathcal M$ the limits of such arrays are 0 and $A = h q^\top$,
$V = v h^\top$.

*Critical points.* The rank of the differential is computed exactly and compared with $\dim \mathcal M$.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lightning_sym import Architecture, Weights, certified_dimension, polynomial_map
from lightning_sym.linalg import rank
from lightning_sym.one_layer import product_coefficients, products_of_linear_forms
from lightning_sym.weights import Layer, ObjectArray
from proofs_check.claim import Claim, Part, Refutation, Scope, spell
from proofs_check.theorem_3_4_boundary import conjugate_pairs, shapes, squares_on_m


def batch(points: Any, rows: int, axis: int) -> ObjectArray:
    """Many matrices in one: an entry is the array of its values, along the given one of two axes."""
    result = np.empty((rows, points.shape[1] // rows), dtype=object)
    for index, column in zip(np.ndindex(*result.shape), points.T, strict=True):
        result[index] = np.expand_dims(column, 1 - axis)
    return result


def all_points(p: int, size: int) -> Any:
    return np.array(list(product(range(p), repeat=size)), dtype=np.int16)


def up_to_scale(real: Any, imaginary: Any) -> Any:
    """Which vectors over GF(p^2) are normalized: the first entry that is not zero is 1."""
    nonzero = (real != 0) | (imaginary != 0)
    first = (np.arange(len(real)), nonzero.argmax(axis=1))
    return nonzero.any(axis=1) & (real[first] == 1) & (imaginary[first] == 0)


def arrays_in_the_subfield(p: int, d_out: int) -> set[tuple[int, ...]]:
    """Arrays of all weights over GF(p)[i], i^2 = -1, d = 2, that have all their entries in GF(p)."""
    both = all_points(p, 4 * d_out)
    v_real, v_imaginary = both[:, : 2 * d_out], both[:, 2 * d_out :]
    keep = up_to_scale(v_real, v_imaginary)  # (A, V) and (s A, V / s) have the same array
    v_real, v_imaginary = batch(v_real[keep], d_out, 1), batch(v_imaginary[keep], d_out, 1)
    both = all_points(p, 8)
    a_real, a_imaginary = batch(both[:, :4], 2, 0), batch(both[:, 4:], 2, 0)
    forms = products_of_linear_forms
    imaginary = forms(a_real, v_imaginary) + forms(a_imaginary, v_real)
    is_real = np.logical_and.reduce([entry % p == 0 for entry in imaginary.ravel()])
    real = forms(a_real, v_real) - forms(a_imaginary, v_imaginary)
    found = np.stack([entry[is_real] % p for entry in real.ravel()], axis=1)
    return set(map(tuple, np.unique(found, axis=0).tolist()))


def arrays_over(p: int, d_out: int) -> set[tuple[int, ...]]:
    """Arrays of all weights over GF(p), d = 2."""
    a, v = batch(all_points(p, 4), 2, 0), batch(all_points(p, 2 * d_out), d_out, 1)
    values = [(entry % p).ravel() for entry in products_of_linear_forms(a, v).ravel()]
    return set(map(tuple, np.unique(np.stack(values, axis=1), axis=0).tolist()))


def closure_outside(instance: tuple[int, int], irreducible: bool = True) -> str:
    """Over GF(p^2): in GF(p), and not from weights over GF(p), are exactly the `q_k e_m f`, f without zeros."""
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
    return f"GF({p * p}), d = 2, d' = {d_out}: {weights:,} weights give {len(outside)} functions outside M, all pairs"


class Point(NamedTuple):
    """Weights of one layer, `A = K^T Q` smooth in the matrices of rank at most `a`."""

    architecture: Architecture
    layer: Layer


def hypotheses_hold(d: int, a: int, rank_a: int) -> bool:
    """The matrices of rank at most `a` are smooth at A."""
    return d >= 2 and (a >= d or rank_a == a)


def points(quick: bool) -> Iterator[Point]:
    """Weights of every pair of ranks, zero included, and some with A and V parallel."""
    sizes = [(2, 1, 1), (2, 2, 1), (2, 1, 2), (2, 2, 2)] + (
        [] if quick else [(3, 1, 1), (3, 1, 3), (3, 2, 2), (3, 2, 3)]
    )
    for d, d_out, a in sizes:
        shape = Architecture((d, d_out), (a,), 2)
        for rank_a, rank_v, seed in product(range(a + 1), range(min(d, d_out) + 1), range(2)):
            if not hypotheses_hold(d, a, rank_a):
                continue
            (layer,) = Weights.random(
                shape, seed=seed, bound=3, attention_matrix_ranks=[rank_a], value_ranks=[rank_v]
            ).layers
            candidates = [layer]
            if rank_a == rank_v == 1:  # the same, with the row space of V moved to the column space of A
                column = next(filter(any, (layer.key.T @ layer.query).T))
                scale = [next(filter(None, row), 0) for row in layer.value]
                candidates.append(layer._replace(value=np.array([[s * c for c in column] for s in scale])))
            for candidate in candidates:
                # with a = d and K = 1 moving Q moves A in every direction
                square = candidate._replace(query=candidate.key.T @ candidate.query, key=np.eye(d, dtype=int))
                yield Point(shape, square if a >= d else candidate)


@cache
def derivatives(shape: Architecture) -> list[list[Any]]:
    phi = polynomial_map(shape)
    return [[c.derivative(name) for name in phi.weight_names] for c in product_coefficients(phi).ravel()]


def boundary_iff_critical(point: Point, kind: str = "parallel") -> str | None:
    shape, layer = point
    values = [int(x) for matrix in layer for x in matrix.ravel()]
    differential = [[entry(*values) for entry in row] for row in derivatives(shape)]
    a = layer.key.T @ layer.query
    zero = not a.any() or not layer.value.any()
    if kind == "parallel":
        on_boundary = zero or rank(np.hstack([a, layer.value.T])) == 1
    else:
        on_boundary = zero or rank(a) == rank(layer.value) == 1
    dimension = certified_dimension(shape).value
    if dimension is None or (rank(differential) < dimension) != on_boundary:
        raise Refutation(
            f"{shape}, A = {spell(a)}, V = {spell(layer.value)}: "
            f"rank {rank(differential)} of the differential, dim M = {dimension}, on the boundary: {on_boundary}"
        )
    if shape.widths[1] == shape.attention_ranks[0] == 1:
        return "the hypothesis 'a > 1 or d' > 1' is sufficient, not needed here: at a = d' = 1 the statement holds"
    return None


def width_one(d_out: int, stated: bool = False) -> str:
    """d = 1: weights that are not critical, though A = h q^T, V = v h^T for all weights."""
    shape = Architecture((1, d_out), (1,), 2)
    one = np.ones((1, 1), dtype=int)
    values = [1, 1, *range(1, d_out + 1)]
    found = rank([[entry(*values) for entry in row] for row in derivatives(shape)])
    if (found < d_out) != stated:
        raise Refutation(f"{shape}, A = {one.tolist()}, V = {values[2:]}: rank {found} of the differential")
    return "the hypothesis d >= 2 is needed for 'critical exactly if A = h q^T, V = v h^T' (Lemma A.3): fails at d = 1"


def both_identities(shape: tuple[int, int], sign: int = -1) -> None:
    """What a limit in M satisfies: minus squares outside M, squares on M."""
    conjugate_pairs(shape)
    squares_on_m(shape, sign)


def not_smooth(seed: int) -> Iterator[Point]:
    """Just outside: 2 <= a < d and rk A < a."""
    shape = Architecture((3, 2), (2,), 2)
    (layer,) = Weights.random(shape, seed=seed, bound=3, attention_matrix_ranks=[2], value_ranks=[2]).layers
    key = np.array(layer.key)
    key[1] = 2 * key[0]
    yield Point(shape, layer._replace(key=key))


def critical_all_the_same(point: Point) -> str:
    """The differential in Q, K, V drops rank although the function is not on the boundary."""
    try:
        boundary_iff_critical(point)
    except Refutation as witness:
        return f"A must be smooth in the matrices of rank <= a: {witness}"
    raise Refutation(f"{point.architecture}: the statement holds, A smooth or not")


CLAIM = Claim(
    id="corollary-a.6",
    source="Corollary A.6",
    title="boundary points are exactly the critical values",
    statement=(
        r"d, t \ge 2 \;\Rightarrow\; \left(\varphi_{A,V} \in \partial \mathcal M \iff (A, V) \text{ critical}\right),"
        r"\quad \overline{\mathcal M} \setminus \mathcal M = \{(q_k e_m f)_{k,m} : f = h^2 + g^2 \text{ of rank } 2\}"
    ),
    parts=(
        Part(
            "the closure outside M, with GF(9) over GF(3) for C over R",
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
            "boundary exactly where the differential drops rank",
            Scope.INSTANCES,
            points,
            boundary_iff_critical,
            {"rk A = rk V = 1": partial(boundary_iff_critical, kind="ranks")},
        ),
        Part(
            "2 <= a < d, rk A < a: critical in Q, K, V, not on the boundary",
            Scope.INSTANCES,
            lambda quick: not_smooth(0),
            critical_all_the_same,
            {
                "rk A = a": lambda _: critical_all_the_same(
                    next(p for p in points(True) if p.architecture.widths[1] == 2)
                )
            },
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
