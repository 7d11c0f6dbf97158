r"""Corollary A.4: $\varphi_{A,V} \ne 0$ is singular if and only if $\operatorname{rk} A = \operatorname{rk} V = 1$.

Here $t \ge 2$, $d \ge 2$, $a > 1$ or $d' > 1$, and, as the proof needs it, $a \ge d$ or $a = 1$, so that the parameter
space is smooth. For a finite birational map from a smooth variety a point is singular exactly if its fiber has more
than one point or it is a critical value. Both are counted here without Theorem 3.2 or Lemma A.3: over a finite field
every fiber is found by comparing the functions of all weights, and every rank is computed.

A second road needs no parametrization. For $d = 2$, $d' = 1$, $a \ge 2$ the closure of $\mathcal M$ is the hypersurface
of pairs of binary quadratic forms with resultant zero, irreducible of degree 4. At $(a_1 v, a_2 v)$ its gradient is,
with $r = (v_2, -v_1)$ the zero of $v$, up to sign $\det A$ times $(a_2(r), -a_1(r)) \otimes (r_1^2, r_1 r_2, r_2^2)$.
For $V \ne 0$ and $\det A \ne 0$ this is not zero; so, for $A \ne 0 \ne V$, the point is singular if and only if $\det A
= 0$, which is $\operatorname{rk} A = \operatorname{rk} V = 1$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from math import prod

import numpy as np

from lightning_sym.geometry import Label, classify, differential, layer_function, normal_forms
from lightning_sym.linalg import ranks_mod_p
from lightning_sym.one_layer import one_layer_map, product_coefficients
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.claim import Claim, Part, Refutation, Scope, expect_equal

Shape = tuple[int, int, int]
Locus = Callable[[int, int], bool]


def hypotheses_hold(d: int, d_out: int, a: int) -> bool:
    return d >= 2 and (a > 1 or d_out > 1) and (a >= d or a == 1)


def as_stated(rank_a: int, rank_v: int) -> bool:
    return rank_a == rank_v == 1


def finite_fields(quick: bool) -> Iterator[Shape]:
    """Fields and widths `p, d, d'`, with `a >= d`; not characteristic two, where values do not determine forms."""
    yield from ((3, 2, 1), (3, 2, 2))
    if not quick:
        yield 5, 2, 1


def every_function(
    instance: Shape, locus: Locus = as_stated, count_fibers: bool = True, count_kernels: bool = True
) -> str:
    p, d, d_out = instance
    entries = d * d + d_out * d
    digits = np.arange(p**entries)[:, None] // p ** np.arange(entries) % p
    attention, value = digits[:, : d * d].reshape(-1, d, d), digits[:, d * d :].reshape(-1, d_out, d)
    function = layer_function(attention, value) % p
    codes = function @ p ** np.arange(function.shape[1])
    distinct, where, weights = np.unique(codes, return_inverse=True, return_counts=True)
    points = weights[where] // (p - 1)  # one point of the projective fiber is p - 1 rescalings
    many = points > 1
    critical = ranks_mod_p(differential(attention, value), p) < entries - 1
    singular = np.zeros(len(codes), dtype=bool)
    for fault, counted in ((many, count_fibers), (critical, count_kernels)):
        singular |= fault & counted
    rank_a, rank_v = ranks_mod_p(attention, p), ranks_mod_p(value, p)
    stated = np.array([locus(int(r), int(s)) for r, s in zip(rank_a, rank_v, strict=True)])
    nonzero = codes != 0
    expect_equal(set(points[nonzero].tolist()), {1, 2}, at=f"GF({p}): points of the projective fibers")
    for wrong in np.flatnonzero(nonzero & (singular != stated))[:1]:
        raise Refutation(
            f"GF({p}), A = {attention[wrong].tolist()}, V = {value[wrong].tolist()}: {weights[where][wrong]} weights "
            f"in the fiber, critical is {bool(critical[wrong])}, stated singular is {bool(stated[wrong])}"
        )
    double, cusp = (len(np.unique(codes[nonzero & kind])) for kind in (many, critical))
    return (
        f"GF({p}), d = {d}, d' = {d_out}: of {len(distinct) - 1:,} non-zero functions {double:,} have two points in "
        f"the projective fiber, {cusp:,} are critical values"
    )


def gradient_of_the_resultant(_: None, power: int = 1) -> None:
    """The Sylvester determinant, its gradient at the pairs of quadratic forms that the layer gives."""
    names = [f"{letter}{i}" for letter in "fg" for i in range(3)]
    ring = PolynomialRing(names)
    zero = ring.constant(0)
    rows = [[ring[f"{letter}{i}"] for i in range(3)] for letter in "fg"]
    sylvester = [[zero] * shift + row + [zero] * (1 - shift) for row in rows for shift in range(2)]
    resultant = zero
    for order in permutations(range(4)):
        inversions = sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4))
        resultant += (-1) ** inversions * prod(row[column] for row, column in zip(sylvester, order, strict=True))
    expect_equal(resultant.total_degree(), 4, at="degree of the resultant")

    phi = one_layer_map(2, 1, 2)
    weights = PolynomialRing(phi.weight_names)
    point = list(product_coefficients(phi)[:, 0].ravel())  # a_1 v and a_2 v
    a, v = weights.matrix("A", 2, 2), weights.matrix("V", 1, 2)[0]
    expect_equal(len(resultant.compose(*point)), 0, at="terms of the resultant of a_1 v and a_2 v")
    r = (v[1], -v[0])
    at_root = [a[0, k] * r[0] + a[1, k] * r[1] for k in range(2)]
    determinant = (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) ** power
    monomials = (r[0] * r[0], r[0] * r[1], r[1] * r[1])
    expected = [determinant * factor * m for factor in (at_root[1], -at_root[0]) for m in monomials]
    found = [resultant.derivative(i).compose(*point) for i in range(6)]
    if found not in (expected, [-entry for entry in expected]):
        raise Refutation(f"the gradient is {found[0]}, ..., stated {expected[0]}, ... up to sign")


def shapes(quick: bool) -> Iterator[Shape]:
    for d in (2, 3):
        for d_out in (1, 2) if quick else (1, 2, 3):
            for a in (1, d) if quick else (1, d, d + 1):
                if hypotheses_hold(d, d_out, a):
                    yield d, d_out, a


def every_orbit(shape: Shape, locus: Locus = as_stated) -> None:
    d, d_out, a = shape
    for form in normal_forms(d, d_out, a):
        if form.attention_rank and form.value_rank:
            point = classify(form.weights(a))
            at = f"a = {a}, A = {form.attention.tolist()}, V = {form.value.tolist()}: singular"
            expect_equal(Label.SINGULAR in point, locus(form.attention_rank, form.value_rank), at=at)


def fails_at_low_rank(shape: Shape, locus: Locus = as_stated) -> str:
    """A point that breaks the statement for `2 <= a < d`, if there is one."""
    try:
        every_orbit(shape, locus)
    except Refutation as witness:
        return f"a >= d or a = 1 is needed: for 2 <= a < d a function with rk A < a is singular ({witness})"
    raise Refutation(f"d, d', a = {shape}: every point is as stated")


CLAIM = Claim(
    id="corollary-a.4",
    source="Corollary A.4",
    title="singular if and only if rk A = rk V = 1",
    statement=(
        r"t \ge 2,\ d \ge 2,\ (a > 1 \text{ or } d' > 1),\ (a \ge d \text{ or } a = 1),\ \varphi_{A,V} \ne 0:\quad"
        r"\varphi_{A,V} \in \operatorname{Sing} \mathcal M \iff \operatorname{rk} A = \operatorname{rk} V = 1"
    ),
    parts=(
        Part(
            "two points in the fiber or critical, every function",
            Scope.EXHAUSTIVE,
            finite_fields,
            every_function,
            {
                "fibers only": partial(every_function, count_kernels=False),
                "critical values only": partial(every_function, count_fibers=False),
                "rk V = 1": partial(every_function, locus=lambda rank_a, rank_v: rank_v == 1),
            },
        ),
        Part(
            "d = 2, d' = 1: the gradient of the resultant, every weight",
            Scope.IDENTITY,
            lambda quick: (None,),
            gradient_of_the_resultant,
            {"the square of the determinant": partial(gradient_of_the_resultant, power=2)},
        ),
        Part(
            "one weight from each orbit, over the rationals",
            Scope.INSTANCES,
            shapes,
            every_orbit,
            {"rk A = 1": partial(every_orbit, locus=lambda rank_a, rank_v: rank_a == 1)},
        ),
        Part(
            "it fails for 2 <= a < d",
            Scope.INSTANCES,
            lambda quick: ((3, 2, 2),),
            fails_at_low_rank,
            {"rk A < 2 or as stated": partial(fails_at_low_rank, locus=lambda r, s: r < 2 or as_stated(r, s))},
        ),
    ),
)
