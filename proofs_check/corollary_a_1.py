r"""Corollary A.1: the neuromanifold of one layer is closed in the Euclidean topology ($t \ge 2$).

The paper: a continuous image of a compact space is closed, and $\mathcal M$ is the cone over such an image. What is
checked here is what that argument rests on, in a form that gives the same with no more than bounded sequences:

1. $\varphi_{\lambda A, \mu V} = \lambda \mu\, \varphi_{A,V}$, so $\mathcal M$ is a cone and weights can be balanced,
   $|A| = |V|$ (Frobenius norms), without changing the function;
2. in the norm $|f|^2 = \sum_p f_{pp}^2 + \tfrac12 \sum_{p<q} f_{pq}^2$ of quadratic forms,
   $2 \sum_{k,m} |a_k v_m|^2 = |A|^2 |V|^2 + |V A|^2$, and the products $a_k v_m$ of columns of $A$ and rows of $V$ are
   coefficients of $\varphi$; so a bounded sequence in $\mathcal M$ has bounded balanced weights;
3. hence, if $\varphi_n \to \varphi$, balanced weights converge along a subsequence, the limit of the attention matrices
   has rank at most $a$ (its minors are limits of zeros), and $\varphi$ is the function of the limit weights.

The sequences in the last part show why balancing is needed: their weights diverge while the functions converge.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, Layer, Weights, forward, polynomial_map
from lightning_sym.linalg import rank
from lightning_sym.one_layer import one_layer_map, product_coefficients, quadratic_monomials
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import map_entries, rational_matrix
from lightning_sym.rings.words import Words
from lightning_sym.weights import ObjectArray
from proofs_check.claim import Claim, Part, Refutation, Scope, expect_equal, spell


def bihomogeneous(value_degree: int) -> None:
    """phi(lambda A, mu V) = lambda mu phi(A, V), matrices of every shape; in Q and K separately as well."""
    x, scale, other = Words.letter("X"), Words.scalar("lambda"), Words.scalar("mu")
    query, key, value = (Words.letter(name) for name in "QKV")
    plain = forward(x, [Layer(query, key, value)])
    expected = Words.scalar("lambda") @ Words.scalar("mu", value_degree) @ plain
    for name, layer in (
        ("Q", Layer(scale @ query, key, other @ value)),
        ("K", Layer(query, scale @ key, other @ value)),
    ):
        expect_equal(str(forward(x, [layer])), str(expected), at=f"lambda {name}, mu V")


def norm_shapes(quick: bool) -> Iterator[tuple[int, int]]:
    return ((d, d_out) for d in ((1, 2) if quick else (1, 2, 3)) for d_out in (1, 2))


def norm_identity(shape: tuple[int, int], extra: int = 1) -> None:
    """Twice the squared norm of the coefficients is |A|^2 |V|^2 + |V A|^2, symbolic weights."""
    d, d_out = shape
    phi = one_layer_map(d, d_out, 2)
    ring = PolynomialRing(phi.weight_names)
    a, v = ring.matrix("A", d, d), ring.matrix("V", d_out, d)

    def square(matrix: ObjectArray) -> object:
        return sum((x * x for x in matrix.ravel()), ring.constant(0))

    weight = [2 if p == q else 1 for p, q in quadratic_monomials(d)]
    found = sum((weight[n] * b * b for (_, _, n), b in np.ndenumerate(product_coefficients(phi))), ring.constant(0))
    if found != square(a) * square(v) + extra * square(v @ a):  # type: ignore[operator]
        raise Refutation(f"d, d' = {shape}: 2 |phi|^2 is not |A|^2 |V|^2 + {extra} |V A|^2")


class WeightSequence(NamedTuple):
    """`Q_n = n^s (Q + Q'/n)`, `K_n = n^r (K + K'/n)`, `V_n = n^(-r-s) (V + V'/n)`."""

    limit: Weights
    drift: Weights
    powers: tuple[int, int]

    def member(self, n: int) -> Weights:
        s, r = self.powers
        matrices = {
            name: Fraction(n) ** power * (matrix + self.drift[name] * Fraction(1, n))
            for (name, matrix), power in zip(self.limit.named().items(), (s, r, -r - s), strict=True)
        }
        return Weights.of(matrices)

    def __str__(self) -> str:
        def matrices(weights: Weights) -> str:
            return ", ".join(f"{name} = {spell(m)}" for name, m in weights.named().items())

        s, r = self.powers
        return f"n^{s} Q, n^{r} K, n^{-r - s} V, limit {matrices(self.limit)}, drift {matrices(self.drift)}"


def sequences(quick: bool) -> Iterator[WeightSequence]:
    """Limits of every rank, zero included, of weights that stay, diverge or vanish."""
    for d, d_out, a in [(1, 1, 1), (2, 1, 1), (2, 2, 2)] if quick else [(2, 1, 1), (2, 2, 2), (3, 2, 2), (3, 1, 3)]:
        shape = Architecture((d, d_out), (a,), 2)
        for r in range(min(a, d) + 1):
            for seed, powers in enumerate([(0, 0), (2, -1), (-1, 3)]):
                limit = Weights.random(shape, seed=seed, bound=3, attention_matrix_ranks=[r])
                drift = Weights.random(shape, seed=seed + 7, bound=3, attention_matrix_ranks=[min(a, d)])
                yield WeightSequence(limit, drift, powers)


def limit_is_in_m(sequence: WeightSequence, same_rank: bool = False, balanced: bool = True) -> None:
    """The functions are polynomials in 1/n, computed as such, so their limit is the value at 1/n = 0, exactly."""
    shape = sequence.limit.architecture(2)
    d = shape.widths[0]
    ring = PolynomialRing(["e", *(f"x_{i}_{j}" for i in range(1, d + 1) for j in (1, 2))])
    e = ring["e"]
    pairs = zip(sequence.limit.layers[0], sequence.drift.layers[0], strict=True)
    layer = Layer(*(ring.constants(m) + map_entries(lambda c: e * c, ring.constants(drift)) for m, drift in pairs))
    functions = forward(ring.matrix("x", d, 2), [layer])
    x = rational_matrix(np.random.default_rng(0).integers(-5, 6, size=(d, 2)))

    def value(parameter: Fraction) -> list[object]:
        point = [*rational_matrix(np.array([parameter])), *x.ravel()]
        return [f(*point) for f in functions.ravel()]

    for n in (1, 2, 10):
        member = Layer(*map(rational_matrix, sequence.member(n).layers[0]))
        if not balanced:
            member = member._replace(value=member.value * n)
        expect_equal(value(Fraction(1, n)), list(forward(x, [member]).ravel()), at=f"{sequence}, n = {n}")
    limit = polynomial_map(shape, sequence.limit)
    at_zero = [f.subs({"e": 0}).project_to_context(limit.ring.generators[0].context()) for f in functions.ravel()]
    expect_equal(at_zero, list(limit.entries.ravel()), at=f"limit of {sequence}")
    (limit_layer,), (member_layer,) = sequence.limit.layers, sequence.member(7).layers
    limit_rank, member_rank = (rank(layer.key.T @ layer.query) for layer in (limit_layer, member_layer))
    if limit_rank > shape.attention_ranks[0] or (same_rank and limit_rank != member_rank):
        raise Refutation(f"{shape}: the limit has rank {limit_rank}, member 7 of the sequence rank {member_rank}")


CLAIM = Claim(
    id="corollary-a.1",
    source="Corollary A.1",
    title="one layer: bounded functions have bounded balanced weights, so M is closed",
    statement=(
        r"t \ge 2 \;\Rightarrow\; \mathcal M \text{ is closed}; \quad \varphi_{\lambda A, \mu V} = \lambda\mu\,"
        r" \varphi_{A,V}, \quad 2 \sum_{k,m} |a_k v_m|^2 = |A|^2 |V|^2 + |V A|^2"
    ),
    parts=(
        Part(
            "M is a cone: linear in A and in V, matrices of every shape",
            Scope.IDENTITY,
            lambda quick: [1],
            bihomogeneous,
            {"quadratic in V": lambda _: bihomogeneous(2)},
        ),
        Part(
            "2 |phi|^2 = |A|^2 |V|^2 + |V A|^2: bounded functions have bounded weights",
            Scope.IDENTITY,
            norm_shapes,
            norm_identity,
            {"|V A| counted twice": partial(norm_identity, extra=2)},
        ),
        Part(
            "sequences whose weights diverge, and their limits in M",
            Scope.INSTANCES,
            sequences,
            limit_is_in_m,
            {
                "limits of the same rank as the members": partial(limit_is_in_m, same_rank=True),
                "V_n larger by n": partial(limit_is_in_m, balanced=False),
            },
        ),
    ),
)
