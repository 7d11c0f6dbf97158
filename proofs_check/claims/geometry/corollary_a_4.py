r"""Corollary A.4: $\varphi_{A,V} \ne 0$ is singular if and only if $\operatorname{rk} A = \operatorname{rk} V = 1$.

Here $\varphi_{A,V} \ne 0$, $t \ge 2$, $d \ge 2$, and $a > 1$ or $d' > 1$. It holds for $a \ge d$ and for $a = 1$. For
$2 \le a < d$ it is refuted, except at $a = 2$, $d' = 1$: the proof needs a smooth parameter space, and the matrices $A$
of rank at most $a$ are not smooth at lower rank. Corrected, for every $a$: singular if and only if
$\operatorname{rk} A = \operatorname{rk} V = 1$ or $\operatorname{rk} A < a < d$ (see Theorem 3.4, singular points).

For a finite birational map from a smooth variety a point is singular exactly if its fiber has more than one point or it
is a critical value. Both are counted here without Theorem 3.2 or Lemma A.3: over a finite field every fiber is found by
comparing the functions of all weights, and every rank is computed.

A second road needs no parametrization. For $d = 2$, $d' = 1$, $a \ge 2$ the closure of $\mathcal M$ is the hypersurface
of pairs of binary quadratic forms with resultant zero, irreducible of degree 4. At $(a_1 v, a_2 v)$ its gradient is,
with $r = (v_2, -v_1)$ the zero of $v$, up to sign $\det A$ times $(a_2(r), -a_1(r)) \otimes (r_1^2, r_1 r_2, r_2^2)$.
For $V \ne 0$ and $\det A \ne 0$ this is not zero; so, for $A \ne 0 \ne V$, the point is singular if and only if $\det A
= 0$, which is $\operatorname{rk} A = \operatorname{rk} V = 1$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.geometry.layer_function import differential, layer_function
from lightning_sym.network.one_layer import product_coefficients
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import sylvester
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Verdict, WalkThrough, expect, expect_equal
from proofs_check.claims.geometry import theorem_3_4_singular as theorem
from proofs_check.claims.geometry.orbits import EVERY_ORBIT, pairs
from proofs_check.claims.geometry.theorem_3_4_singular import (
    LayerShape,
    OrbitPoint,
    check,
    corrected_locus,
    printed_is_right,
    smooth_parameters,
    where_the_printed_locus_is_right,
)
from proofs_check.claims.geometry.theorem_3_4_singular.walk import walk
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import determinant
from proofs_check.samples import listed

Locus = Callable[[int, int], bool]


def hypotheses_hold(point: OrbitPoint) -> bool:
    """Return whether `d >= 2`, `a > 1` or `d' > 1`, and `phi` is not zero."""
    return theorem.hypotheses_hold(point.shape) and not theorem.vanishes(point.form)


def as_stated(rank_a: int, rank_v: int) -> bool:
    return rank_a == rank_v == 1


def every_function(
    instance: tuple[int, int, int], locus: Locus = as_stated, *, count_fibers: bool = True, count_kernels: bool = True
) -> str:
    p, d, d_out = instance
    entries = d * d + d_out * d
    ((attention, value),) = pairs(p, d, d_out, block=p**entries)
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
    return Tally(
        f"GF({p}), d = {d}, d' = {d_out}: of {len(distinct) - 1:,} non-zero functions {double:,} have two points in "
        f"the projective fiber, {cusp:,} are critical values"
    )


def gradient_of_the_resultant(_: object, power: int = 1) -> None:
    """Check the gradient of the Sylvester determinant at the pairs of quadratic forms that the layer gives."""
    names = [f"{letter}{i}" for letter in "fg" for i in range(3)]
    ring = PolynomialRing(names)
    resultant = determinant(sylvester(ring.generators, ring.constant(0)))
    expect_equal(resultant.total_degree(), 4, at="degree of the resultant")

    phi, _, a, (v,) = symbolic_layer(2, 1)
    point = list(product_coefficients(phi)[:, 0].ravel())  # a_1 v and a_2 v
    expect_equal(len(resultant.compose(*point)), 0, at="terms of the resultant of a_1 v and a_2 v")
    r = (v[1], -v[0])
    at_root = [a[0, k] * r[0] + a[1, k] * r[1] for k in range(2)]
    power_of_the_determinant = (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) ** power
    monomials = (r[0] * r[0], r[0] * r[1], r[1] * r[1])
    expected = [power_of_the_determinant * factor * m for factor in (at_root[1], -at_root[0]) for m in monomials]
    found = [resultant.derivative(i).compose(*point) for i in range(6)]
    expect(
        found in (expected, [-entry for entry in expected]),
        f"the gradient is {found[0]}, ..., stated {expected[0]}, ... up to sign",
    )


def shapes(*, quick: bool) -> Iterator[LayerShape]:
    return (shape for shape in theorem.inside(quick=True) if shape.d_out <= 2 or not quick)


def points(*, quick: bool, of: Callable[[LayerShape], bool]) -> Iterator[OrbitPoint]:
    """Return one from each orbit, where phi is not zero; an error of the program if a kind of point is not seen."""
    return filter(hypotheses_hold, theorem.points(filter(of, shapes(quick=quick))))


def as_printed(point: OrbitPoint, locus: Locus = as_stated) -> None:
    check(point, lambda shape, form: locus(form.attention_rank, form.value_rank))


CLAIM = Claim(
    id="corollary-a.4",
    source="Corollary A.4",
    title="as printed, singular if and only if rk A = rk V = 1; corrected, also if rk A < a < d",
    statement=(
        r"t \ge 2,\ d \ge 2,\ (a > 1 \text{ or } d' > 1),\ \varphi_{A,V} \ne 0:\quad"
        r"\varphi_{A,V} \in \operatorname{Sing} \mathcal M \iff \operatorname{rk} A = \operatorname{rk} V = 1"
    ),
    hypotheses=(
        r"One layer, one head, lightning, no mask. As printed it is right for $a \ge d$ and for $a = 1$, and "
        r"refuted for $2 \le a < d$, but for $a = 2$, $d' = 1$. Corrected, for every $a$: both ranks are one, or "
        r"$\operatorname{rk} A < a < d$. The pairs checked, one of each orbit, stand for every weight of their "
        "shapes."
    ),
    place=240,
    rests_on=("corollary-a.2", "lemma-a.3"),
    walk=WalkThrough(
        "The singular points are those with two weights, up to rescaling, and their limits: $A$ and $V$ of rank one.",
        walk,
    ),
    parts=(
        Part(
            "d = 2 <= a: two points in the fiber or critical, every function",
            Scope.EXHAUSTIVE,
            listed([(3, 2, 1), (3, 2, 2)], [(5, 2, 1)]),
            every_function,
            {
                "fibers only": partial(every_function, count_kernels=False),
                "critical values only": partial(every_function, count_fibers=False),
                "rk V = 1": partial(every_function, locus=lambda rank_a, rank_v: rank_v == 1),
            },
            instance="all weights with p, d, d'",  # p > 2, where values determine forms
        ),
        Part(
            "d = 2 <= a, d' = 1: the gradient of the resultant, every weight",
            Scope.IDENTITY,
            lambda quick: (None,),
            gradient_of_the_resultant,
            {"the square of the determinant": partial(gradient_of_the_resultant, power=2)},
        ),
        EVERY_ORBIT,
        Part(
            "as printed, a >= d or a = 1, every orbit",
            Scope.INSTANCES,
            partial(points, of=smooth_parameters),
            as_printed,
            {
                "rk A = 1": partial(as_printed, locus=lambda rank_a, rank_v: rank_a == 1),
                "rk V = 1": partial(as_printed, locus=lambda rank_a, rank_v: rank_v == 1),
            },
        ),
        Part(
            "as printed, 2 <= a < d",
            Scope.INSTANCES,
            partial(points, of=lambda shape: not printed_is_right(shape)),
            as_printed,
            expected=Verdict.REFUTED,
        ),
        Part(
            "where for 2 <= a < d it holds all the same",
            Scope.INSTANCES,
            lambda quick: (tuple(shapes(quick=quick)),),
            where_the_printed_locus_is_right,
            {"nowhere": partial(where_the_printed_locus_is_right, right=smooth_parameters)},
            instance="all shapes together",
        ),
        Part(
            "corrected: rk A = rk V = 1 or rk A < a < d; every a, every orbit",
            Scope.INSTANCES,
            partial(points, of=lambda shape: True),
            partial(check, locus=corrected_locus),
            {
                "rk A < a also where a >= d": partial(
                    check, locus=lambda shape, form: corrected_locus(shape, form) or form.attention_rank < shape.a
                )
            },
        ),
    ),
)
