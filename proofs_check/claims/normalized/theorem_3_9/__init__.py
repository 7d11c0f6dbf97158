r"""Theorem 3.9: one normalized layer is identifiable.

Output token $i$ is $\sum_j S(x_j^\top A x_i)\, V x_j \,/ \sum_j S(x_j^\top A x_i)$ (Eq. 15). For $t \ge 2$: if $V = 0$
the function is 0, otherwise the fiber of $(A, V)$ is a single point.

Checked for $S(y) = s_0 + s_1 y + \dots$ with $s_0, s_1 \ne 0$ as formal series in the inputs: every identity below uses
terms of degree at most three, which no further coefficient of $S$ enters. This includes $S(y) = 1 + y$, a formal
rational map, and also $S = \exp$. Let $N_i, D_i$ be numerator and denominator, $N'_i, D'_i$ those of $(A', V')$. If
$N_1 D'_1 = N'_1 D_1$ (output token 1 is enough), then

* in degree one: $t s_0^2 (V - V') \sum_j x_j = 0$, so $V = V'$;
* in degree three, with $V = V'$ and $B = A' - A$, the terms linear in $x_1$ and quadratic in $x_2$ of output token 1:
  $s_0 s_1 (1 - t) \sum_k x_{k,1}\, b_k(x_2)\, v_m(x_2) = 0$ with $b_k$ the columns of $B$; so $B = 0$ or $V = 0$
  (Theorem 3.4, closed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lightning_sym import Architecture, Weights
from lightning_sym.exact.rational import null_space
from lightning_sym.network.one_layer import (
    key_of_product,
    part_of_degree,
    products_of_linear_forms,
    quadratic_monomials,
    terms_by_inputs,
    values_at,
)
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient, entry_names
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, WalkThrough, expect, expect_equal, spell
from proofs_check.claims.normalized.theorem_3_9.walk import walk
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import listed

Score = Callable[[Any], Any]
Quotients = tuple[list[Polynomial], Polynomial]
"""Numerators over one denominator."""

Shape = tuple[int, int, int]


def hypotheses_hold(shape: Shape, score: Score = lambda y: 1 + y) -> bool:
    """Return whether there are two tokens or more, and S(0), S'(0) are not zero: a line S shows it."""
    return shape[2] >= 2 and score(0) != 0 and score(1) != score(0)


def normalized_output(x: ObjectArray, a: ObjectArray, v: ObjectArray, s: Score) -> Quotients:
    """Return output token 1 of Eq. 15 as it stands: numerators, one an output coordinate, and the denominator."""
    tokens = range(x.shape[1])
    scores = [s(x[:, j] @ a @ x[:, 0]) for j in tokens]
    return [sum(scores[j] * (row @ x[:, j]) for j in tokens) for row in v], sum(scores)


def symbolic(d: int, d_out: int, t: int) -> tuple[PolynomialRing, ObjectArray, ObjectArray, ObjectArray]:
    """Return a ring, and in its variables `X`, `A` and `V`."""
    ring, (a, v, x) = letters_of({"A": (d, d), "V": (d_out, d), "x": (d, t)})
    return ring, x, a, v


def crossed(one: Quotients, other: Quotients) -> list[Polynomial]:
    """Return N D' - N' D, all zero exactly if the two rational functions are equal."""
    (n, den), (n_prime, den_prime) = one, other
    return [p * den_prime - q * den for p, q in zip(n, n_prime, strict=True)]


def same_function_same_weights(shape: Shape, *, constant: bool = True, tokens_counted: int = -1) -> None:
    """Check the two identities, symbolic in A, V, A', V' and the first two coefficients of S."""
    d, d_out, t = shape
    sizes = [("A", d, d), ("V", d_out, d), ("B", d, d), ("W", d_out, d)]
    names = [name for size in sizes for name in entry_names(*size)] + ["s0", "s1"]
    ring = PolynomialRing(names + entry_names("x", d, t))
    weights = PolynomialRing(names)
    s0, s1 = (weights[s] if constant or s == "s1" else weights.constant(0) for s in ("s0", "s1"))
    x = ring.matrix("x", d, t)

    def score(y: Polynomial) -> Polynomial:
        return (ring["s0"] + ring["s1"] * y) if constant else ring["s1"] * y

    def difference(value_prime: str) -> list[Polynomial]:
        a, b = ring.matrix("A", d, d), ring.matrix("B", d, d)
        v, v_prime = ring.matrix("V", d_out, d), ring.matrix(value_prime, d_out, d)
        return crossed(normalized_output(x, a, v, score), normalized_output(x, a + b, v_prime, score))

    nothing = ring.constants(np.zeros((d_out, d), dtype=int))
    expect(
        not any(normalized_output(x, ring.matrix("A", d, d), nothing, score)[0]),
        f"d, d', t = {shape}: V = 0 and the function is not zero",
    )
    v, w, b = (weights.matrix(*size) for size in (sizes[1], sizes[3], sizes[2]))
    for m, entry in enumerate(difference("W")):
        found = part_of_degree(entry, 1, ring, d * t)
        for k in range(d):
            monomial = tuple(int(i == k * t) for i in range(d * t))
            stated = t * s0 * s0 * (v[m, k] - w[m, k])
            expect(not stated.is_zero(), f"d, d', t = {shape}: the terms of degree one do not determine V")
            expect_equal(str(found.get(monomial, 0)), str(stated), at=f"d, d', t = {shape}, degree one, x_{k + 1}1")
    forms, monomials = products_of_linear_forms(b, v), quadratic_monomials(d)
    for m, entry in enumerate(difference("V")):
        found = part_of_degree(entry, 3, ring, d * t)
        for (k, _, n), form in np.ndenumerate(forms[:, m : m + 1]):
            _, _, key = key_of_product(d, t, k, m, *monomials[n])
            stated = s0 * s1 * (1 + tokens_counted * t) * form
            expect(not stated.is_zero(), f"d, d', t = {shape}: the terms of degree three do not determine A")
            expect_equal(str(found.get(key, 0)), str(stated), at=f"d, d', t = {shape}, degree three, monomial {key}")


def rational_weights(*, quick: bool) -> Iterator[tuple[int, Weights]]:
    """Yield exact random weights of every pair of ranks, V not zero."""
    sizes = [(1, 1, 2), (2, 1, 2), (2, 2, 3)] if quick else [(1, 2, 3), (2, 1, 2), (2, 2, 3), (3, 2, 2)]
    for d, d_out, t in filter(hypotheses_hold, sizes):
        shape = Architecture((d, d_out), (d,), t)
        for rank_a, rank_v in product(range(d + 1), range(1, min(d, d_out) + 1)):
            for seed in range(1 if quick else 3):
                yield (
                    t,
                    Weights.random(
                        shape,
                        seed=seed,
                        bound=4,
                        denominator=3,
                        attention_matrix_ranks=[rank_a],
                        value_ranks=[rank_v],
                    ),
                )


def fiber_over_q(instance: tuple[int, Weights], shift: int = 1) -> None:
    """Solve N D' = N' D for S(y) = shift + y: first for V' alone, then, V' known, for A'; both systems are linear."""
    t, weights = instance
    (layer,) = weights.layers
    (d_out, d), attention = layer.value.shape, layer.key.T @ layer.query
    ring, x, unknown_a, unknown_v = symbolic(d, d_out, t)
    a, v = ring.constants(attention), ring.constants(layer.value)
    at = f"S(y) = {shift} + y, t = {t}, A = {spell(attention)}, V = {spell(layer.value)}"

    def solve(other_v: ObjectArray, degree: int | None, unknowns: range) -> list[Fraction]:
        def low(polynomial: Polynomial) -> Polynomial:
            terms = polynomial.to_dict().items()
            return ring.from_terms({e: c for e, c in terms if sum(e[-d * t :]) <= (degree or 0)})

        given, unknown = (normalized_output(x, *w, lambda y: shift + y) for w in ((a, v), (unknown_a, other_v)))
        if degree is not None:  # no higher terms of factors enter
            given, unknown = ((list(map(low, n)), low(den)) for n, den in (given, unknown))
        # by exponents of the unknowns: a place for each unknown alone, and the last one for what has none
        places = {tuple(int(i == u) for i in range(d * d + d_out * d)): n for n, u in enumerate(unknowns)}
        places[(0,) * (d * d + d_out * d)] = len(unknowns)
        rows = []
        for entry in crossed(given, unknown):
            for monomial, terms in terms_by_inputs(entry, d * t).items():
                if degree is not None and sum(monomial) != degree:
                    continue
                expect(terms.keys() <= places.keys(), f"{at}: the equation at {monomial} is not linear in the unknowns")
                row: list[RationalCoefficient | int] = [0] * len(places)
                for exponents, coefficient in terms.items():
                    row[places[exponents]] = coefficient
                rows.append(row)
        solutions = null_space(rows or [[0] * (len(unknowns) + 1)])
        expect(
            len(solutions) == 1 and solutions[0][-1] != 0,
            f"{at}: the other weights are not determined, {len(solutions)} free parameters in all",
        )
        return [value / solutions[0][-1] for value in solutions[0][:-1]]

    found_v = solve(unknown_v, 1, range(d * d, d * d + d_out * d))
    expect_equal(found_v, list(layer.value.ravel()), at=f"{at}, V'")
    expect_equal(solve(v, None, range(d * d)), list(attention.ravel()), at=f"{at}, A'")


def every_fiber(instance: Shape, t: int = 2) -> str:
    """Return how many functions all weights over GF(p) give, S(y) = 1 + y, as formal series.

    Those up to degree three differ already.
    """
    p, d, d_out = instance
    weights = d * d + d_out * d
    ring, x, a, v = symbolic(d, d_out, t)
    n, den = normalized_output(x, a, v, lambda y: 1 + y)
    # with N = N1 + N3 and D = t + D2 the series of N / D begins N1 / t + (t N3 - N1 D2) / t^2
    series = [c for entry in n for c in part_of_degree(entry, 1, ring, d * t).values()]
    series += [c for entry in n for c in part_of_degree(t * entry - entry * (den - t), 3, ring, d * t).values()]
    points = np.array(list(product(range(p), repeat=weights)))
    values = np.stack([values_at(c, points) % p for c in series], axis=1)
    zero = (points[:, d * d :] == 0).all(axis=1)
    expect(not values[zero].any(), f"GF({p}), d, d' = {d}, {d_out}: V = 0 and the function is not zero")
    _, first, counts = np.unique(values[~zero], axis=0, return_index=True, return_counts=True)
    if counts.max() > 1 or not values[~zero].any(axis=1).all():
        witness = points[~zero][first[counts.argmax()]].tolist()
        raise Refutation(
            f"GF({p}), d, d' = {d}, {d_out}: {counts.max()} weights with the function of (A, V) = {witness}"
        )
    return Tally(f"GF({p}), d = {d}, d' = {d_out}, t = 2: {len(points)} weights give {len(first) + 1} functions")


def one_token(shape: Shape, *, visible: bool = False) -> str:
    """Return the finding just outside: at t = 1 the scores cancel, the function is V x for every A."""
    ring, x, a, v = symbolic(*shape)
    output = normalized_output(x, a, v, lambda y: 1 + y)
    expect(
        any(crossed(output, (list((v @ x).ravel()), ring.constant(1)))) == visible,
        f"d, d', t = {shape}: the function is V x, whatever A is",
    )
    return "the hypothesis t >= 2 is needed: at t = 1 the function is V x, whatever A is"


def score_without_constant(shape: Shape, score: Score = lambda y: y) -> str:
    """Return the finding for S(y) = y: the rescaled attention matrix has the same function.

    So S(0) = 0 is not allowed.
    """
    _, x, a, v = symbolic(*shape)
    expect(
        not any(crossed(normalized_output(x, a, v, score), normalized_output(x, a + a, v, score))),
        f"d, d', t = {shape}: (2 A, V) has another function than (A, V)",
    )
    return "S(0) = 0 is not allowed: with S(y) = y the weights (A, V) and (2 A, V) have the same function"


CLAIM = Claim(
    id="theorem-3.9",
    source="Theorem 3.9, Eq. 15",
    title="one normalized layer, t >= 2, S(0) and S'(0) not 0: the fiber of (A, V), V != 0, is a single point",
    statement=(
        r"\varphi_{A,V}(X)_i = \frac{\sum_j S(x_j^\top A x_i)\, V x_j}{\sum_j S(x_j^\top A x_i)},\quad"
        r" S(y) = s_0 + s_1 y + \dots,\ s_0, s_1 \ne 0,\ t \ge 2 \;\Rightarrow\;"
        r" \left(V = 0 \Rightarrow \varphi = 0\right),\quad"
        r"\left(V \ne 0,\ \varphi_{A,V} = \varphi_{A',V'} \Rightarrow (A', V') = (A, V)\right)"
    ),
    hypotheses=(
        r"One layer, one head, no mask, no skip connection. $S$ is a formal series at zero, so $1 + y$ and $\exp$ "
        "are covered. The paper asks instead that $S$ is injective and positive: the checks do not cover such an "
        "$S$ where $S'(0) = 0$ or without a derivative."
    ),
    place=150,
    rests_on=("definition-1",),
    walk=WalkThrough("A normalized layer gives all of its weights away.", walk),
    parts=(
        Part(
            "equal functions have V = V' and (b_k v_m) = 0, any S with S(0), S'(0) not zero",
            Scope.IDENTITY,
            listed(
                filter(hypotheses_hold, [(1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 1, 3), (2, 2, 2)]),
                filter(hypotheses_hold, [(2, 2, 3), (3, 1, 2), (3, 2, 2), (2, 1, 4)]),
            ),
            same_function_same_weights,
            {
                "S(y) = y": partial(same_function_same_weights, constant=False),
                "1 + t in place of 1 - t": partial(same_function_same_weights, tokens_counted=1),
            },
            instance="d, d', t",
        ),
        Part(
            "the whole fiber over Q, S(y) = 1 + y, every pair of ranks",
            Scope.INSTANCES,
            rational_weights,
            fiber_over_q,
            {"S(y) = y": partial(fiber_over_q, shift=0), "one token": lambda at: fiber_over_q((1, at[1]))},
            instance="number of tokens and weights",
        ),
        Part(
            "all weights over finite fields, S(y) = 1 + y",
            Scope.EXHAUSTIVE,
            listed([(3, 1, 1), (3, 1, 2), (3, 2, 1), (5, 1, 2)], [(3, 2, 2), (5, 2, 1), (7, 1, 3)]),
            every_fiber,
            {"one token": partial(every_fiber, t=1)},
            instance="all weights with p, d, d'",
        ),
        Part(
            "one token: A is invisible",
            Scope.IDENTITY,
            lambda quick: [(1, 1, 1), (2, 2, 1)],
            one_token,
            {"A is visible": partial(one_token, visible=True)},
            instance="d, d', t",
        ),
        Part(
            "S(y) = y: A only up to a factor",
            Scope.IDENTITY,
            lambda quick: [(1, 1, 2), (2, 1, 2), (2, 2, 2)],
            score_without_constant,
            {"S(y) = 1 + y": partial(score_without_constant, score=lambda y: 1 + y)},
            instance="d, d', t",
        ),
    ),
)
