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

Steps 1 and 2 are identities, checked below; step 3 is the argument as it stands here. The sequences in the last part
illustrate it: their weights diverge while the functions converge, and the weights of the limit, recovered from its
coefficients, are those of the balanced sequence, of rank at most $a$.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from operator import mul
from typing import NamedTuple

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, Weights, forward, polynomial_map
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.recovery import is_rescaling, reconstruct
from lightning_sym.network.one_layer import product_coefficients, quadratic_monomials
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.rationals import as_fraction, map_entries
from proofs_check.blackboard.step import (
    Step,
    function_of,
    general_coefficients,
    layer_of,
    must,
    quadratic_forms,
    rational,
    show,
    six_coefficients,
)
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect, expect_equal, spell
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import letters_of


def bihomogeneous(value_degree: int) -> None:
    """Check phi(lambda A, mu V) = lambda mu phi(A, V), for matrices of every shape.

    In Q and K it is checked separately as well.
    """
    x, scale, other = Words.letter("X"), Words.scalar("lambda"), Words.scalar("mu")
    query, key, value = (Words.letter(name) for name in "QKV")
    plain = forward(x, [Layer(query, key, value)])
    expected = Words.scalar("lambda") @ Words.scalar("mu", value_degree) @ plain
    for name, layer in (
        ("Q", Layer(scale @ query, key, other @ value)),
        ("K", Layer(query, scale @ key, other @ value)),
    ):
        expect_equal(str(forward(x, [layer])), str(expected), at=f"lambda {name}, mu V")


def norm_shapes(*, quick: bool) -> Iterator[tuple[int, int]]:
    return ((d, d_out) for d in ((1, 2) if quick else (1, 2, 3)) for d_out in (1, 2))


def norm_identity(shape: tuple[int, int], extra: int = 1) -> None:
    """Check with symbolic weights that twice the squared norm of coefficients is |A|^2 |V|^2 + |V A|^2."""
    d, d_out = shape
    phi, ring, a, v = symbolic_layer(d, d_out)

    def square(matrix: ObjectArray) -> Polynomial:
        return sum((x * x for x in matrix.ravel()), ring.constant(0))

    weight = [2 if p == q else 1 for p, q in quadratic_monomials(d)]
    found = sum((weight[n] * b * b for (_, _, n), b in np.ndenumerate(product_coefficients(phi))), ring.constant(0))
    expect(
        found == square(a) * square(v) + extra * square(v @ a),
        f"d, d' = {shape}: 2 |phi|^2 is not |A|^2 |V|^2 + {extra} |V A|^2",
    )


class WeightSequence(NamedTuple):
    """`Q_n = n^s (Q + Q'/n)`, `K_n = n^r (K + K'/n)`, `V_n = n^(-r-s) (V + V'/n)`."""

    limit: Weights
    drift: Weights
    powers: tuple[int, int]

    def member(self, n: int, extra_power: int = 0) -> Weights:
        s, r = self.powers
        matrices = {
            name: Fraction(n) ** power * (matrix + self.drift[name] * Fraction(1, n))
            for (name, matrix), power in zip(self.limit.numbers().items(), (s, r, extra_power - r - s), strict=True)
        }
        return Weights.of(matrices)

    def __str__(self) -> str:
        def matrices(weights: Weights) -> str:
            return ", ".join(f"{name} = {spell(m)}" for name, m in weights.numbers().items())

        s, r = self.powers
        return f"n^{s} Q, n^{r} K, n^{-r - s} V, limit {matrices(self.limit)}, drift {matrices(self.drift)}"


def sequences(*, quick: bool) -> Iterator[WeightSequence]:
    """Yield sequences of weights that stay, diverge or vanish, with limits of every rank, zero included."""
    for d, d_out, a in [(1, 1, 1), (2, 1, 1), (2, 2, 2)] if quick else [(2, 1, 1), (2, 2, 2), (3, 2, 2), (3, 1, 3)]:
        shape = Architecture((d, d_out), (a,), 2)
        for r in range(min(a, d) + 1):
            for seed, powers in enumerate([(0, 0), (2, -1), (-1, 3)]):
                limit = Weights.random(shape, seed=seed, bound=3, attention_matrix_ranks=[r])
                drift = Weights.random(shape, seed=seed + 7, bound=3, attention_matrix_ranks=[min(a, d)])
                yield WeightSequence(limit, drift, powers)


def limit_is_in_m(
    sequence: WeightSequence, *, same_rank: bool = False, limit_at: int = 0, extra_power: int = 0
) -> None:
    """Check the limit of the functions, from members of the sequence, and all weights that have it as function.

    Coefficients of the members are polynomials of degree at most three in `e = 1/n`: four members give them, a fifth
    and a sixth confirm, and the limit is the value at `e = 0`.
    """
    shape = sequence.limit.architecture(2)
    members = [polynomial_map(shape, sequence.member(n, extra_power)) for n in range(1, 7)]

    def at_parameter(e: Fraction) -> ObjectArray:
        """Return Lagrange's interpolation of the first four members, at a parameter."""
        nodes = [Fraction(1, n) for n in range(1, 5)]
        weights = [prod((e - other) / (node - other) for other in nodes if other != node) for node in nodes]
        parts = [
            map_entries(partial(mul, phi.ring.constant(w)), phi.entries)
            for w, phi in zip(weights, members, strict=False)
        ]
        return sum(parts[1:], parts[0])

    for n in (5, 6):
        expect(
            np.array_equal(at_parameter(Fraction(1, n)), members[n - 1].entries),
            f"{sequence}: member {n} is not on the curve of the first four: does it converge?",
        )
    limit = replace(members[0], entries=at_parameter(Fraction(limit_at)))
    (layer,) = sequence.limit.layers
    attention = layer.key.T @ layer.query
    balanced = VirtualWeights((attention,), layer.value)
    if not (attention.any() and layer.value.any()):
        expect_equal(limit.term_count, 0, at=f"terms of the limit of {sequence}, which has zero weights")
        return
    solutions = reconstruct(limit)
    expect(
        any(is_rescaling(s.weights, balanced) for s in solutions),
        f"{sequence}: none of the {len(solutions)} weights of the limit is the limit of the weights",
    )
    highest = max(rank(s.weights.attention[0]) for s in solutions)
    (member_layer,) = sequence.member(7).layers
    member_rank = rank(member_layer.key.T @ member_layer.query)
    expect(
        highest <= shape.attention_ranks[0] and (not same_rank or highest == member_rank),
        f"{shape}: the limit has rank {highest}, member 7 of the sequence rank {member_rank}",
    )


def walk() -> Iterator[Step]:
    value = rational([[1, 1]])
    ring, (a, v) = letters_of({"a": (2, 2), "v": (1, 2)})
    products = general_coefficients(a, v)
    sample = rational([[1, 3], [2, 5]])
    numbers = [as_fraction(p(*map(int, [*sample.ravel(), *value.ravel()]))) for p in products.ravel()]
    must(
        numbers == six_coefficients(quadratic_forms(function_of(layer_of(sample, value)))[0]),
        "these are the coefficients of the function",
    )
    yield Step(
        "The question",
        r"Let a sequence of functions $\varphi_n$ converge. Is the limit the function of a layer again? The weights "
        r"could run away on the journey.",
    )
    first, last = [(rational([[n, 0], [0, 1]]), value / n) for n in (1, 100)]
    yield Step(
        "Weights that run away",
        r"Take $A_n = \operatorname{diag}(n, 1)$ and $V_n = (1/n, 1/n)$. $A_n$ grows without end, $V_n$ goes to zero. "
        r"The function does neither: at $n = 100$ it is almost that of the limit.",
        (
            show("A_{100}", last[0]), show("V_{100}", last[1]),
            show(r"\varphi_1 \text{ at } n = 1", function_of(layer_of(*first))[0, 0]),
            show(r"\varphi_1 \text{ at } n = 100", function_of(layer_of(*last))[0, 0]),
        ),
    )  # fmt: skip
    tamed = last[0] / 100, last[1] * 100
    must(np.array_equal(function_of(layer_of(*tamed)), function_of(layer_of(*last))), "rescaling changes nothing")
    limit = rational([[1, 0], [0, 0]]), value
    yield Step(
        "Call them back",
        r"Rescaling is free: $(A_n / n,\, n V_n)$ has the same function. These weights stay bounded and have a limit, "
        r"$A = \operatorname{diag}(1, 0)$, $V = (1, 1)$. Its function is the limit of the functions. Nothing is lost.",
        (
            show(r"A_{100} / 100", tamed[0]), show(r"100\, V_{100}", tamed[1]), show("A", limit[0]),
            show("V", limit[1]),
            show(r"\varphi_1", function_of(layer_of(*limit))[0, 0]),
        ),
    )  # fmt: skip
    yield Step(
        "What could go wrong",
        r"Rescale so that $A$ and $V$ both have length one, and put the remaining factor in front. If that factor ran "
        r"away while the function of the unit weights went to zero, a limit could be missed. So the question is: can "
        r"$\varphi$ be zero although $A \ne 0$ and $V \ne 0$?",
    )
    yield Step(
        "No base points",
        r"The coefficients of $\varphi$ are products of linear forms (call them lines), column of $A$ times row "
        r"of $V$. A product of two lines "
        r"that are not zero is not zero. In letters, for $d = 2$: let $v_1 \ne 0$. The first entries force $a_{11} = "
        r"a_{12} = 0$, then the second ones $a_{21} = a_{22} = 0$. The same from the other end if $v_2 \ne 0$. So no "
        r"unit weights give zero, and the limit is never missed: $\mathcal M$ is closed.",
        (show(r"\text{coefficients, row } k \text{ from column } k", products, ring),),
    )


CLAIM = Claim(
    id="corollary-a.1",
    source="Corollary A.1",
    title="one layer: the identities by which bounded functions have bounded balanced weights, so that M is closed",
    statement=(
        r"t \ge 2:\quad \varphi_{\lambda A, \mu V} = \lambda\mu\, \varphi_{A,V}, \quad"
        r" 2 \sum_{k,m} |a_k v_m|^2 = |A|^2 |V|^2 + |V A|^2, \quad \text{hence, by compactness, }"
        r" \mathcal M \text{ is closed}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask; norms are Frobenius norms. The second identity is expanded at "
        "small sizes. Compactness is an argument and no computation; the sequences illustrate it."
    ),
    place=210,
    rests_on=("proposition-a.5",),
    walk=WalkThrough(
        r"$\mathcal M$ is closed, because no weights but zero give the zero function: the map of projective spaces is "
        "defined everywhere, and the image of a compact space is compact.",
        walk,
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
            "sequences whose weights diverge: their limits, and the weights of these",
            Scope.INSTANCES,
            sequences,
            limit_is_in_m,
            {
                "limits of the same rank as the members": partial(limit_is_in_m, same_rank=True),
                "the first member in place of the limit": partial(limit_is_in_m, limit_at=1),
                "V_n larger by n": partial(limit_is_in_m, extra_power=1),
            },
        ),
    ),
)
