r"""Corollary A.2: $\mathbb P(A) \times \mathbb P(V) \to \mathbb P(\varphi)$ is birational onto its image.

Special fibers have two points, over $A = p q^\top$, $V = v w^\top$ with `p`, `w` not proportional; all others have one.
Birational needs $d \ge 2$ to say anything, $t \ge 2$, and $a > 1$ or $d' > 1$, as in Theorem 3.4: for `a = d' = 1`
every `A` and `V` is of rank one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product, starmap
from typing import NamedTuple

import numpy as np

from lightning_sym import ProgramError
from lightning_sym.network.one_layer import product_coefficients, quadratic_monomials
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, WalkThrough, expect, expect_equal
from proofs_check.claims.one_layer import theorem_3_2_weights as finite
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.claims.one_layer.theorem_3_2 import walk
from proofs_check.claims.one_layer.theorem_3_2_weights import AllWeights, LayerOverField
from proofs_check.finite_matrices import Integers, Truths
from proofs_check.samples import listed


class Projective(NamedTuple):
    """Pairs of a projective point `A` of rank at most `a` and a projective point `V`, and the sizes of their fibers."""

    name: str
    pairs: AllWeights
    sizes: Integers


def hypotheses_hold(field: LayerOverField, a: int) -> bool:
    return field.d >= 2 and field.tokens >= 2 and (a > 1 or field.d_out > 1)


def projective(field: LayerOverField, a: int) -> Projective:
    every = finite.all_weights(field)
    count = len(every.attention)
    ones = [finite.leading(m.reshape(count, -1))[:, 0] == 1 for m in (every.attention, every.value)]
    chosen = ones[0] & ones[1]
    if a == 1:
        chosen &= finite.is_rank_one(every.attention, field.p)
    pairs = every[chosen]
    lead = finite.leading(pairs.coefficients)
    if not lead.all():
        raise Refutation(f"{field}: {pairs.show(int(lead.argmin()))} has the zero function: no projective map")
    points = finite.numbered(pairs.coefficients * finite.inverses(field.p)[lead] % field.p)
    return Projective(f"{field}, a = {a}", pairs, np.bincount(points)[points])


def two_points(pairs: AllWeights, *, also_proportional: bool = False) -> Truths:
    """Return where the corollary, by Theorem 3.2, sees two points."""
    p, result = pairs.p, np.zeros(len(pairs.attention), dtype=np.bool_)
    chosen = np.flatnonzero(finite.is_rank_one(pairs.attention, p) & finite.is_rank_one(pairs.value, p))
    left, _ = finite.rank_one_factors(pairs.attention[chosen], p)
    _, row = finite.rank_one_factors(pairs.value[chosen], p)
    proportional = finite.is_rank_one(np.stack([left, row], axis=1), p)
    result[chosen] = True if also_proportional else ~proportional
    return result


def fields(*, quick: bool) -> Iterator[tuple[LayerOverField, int]]:
    sizes = starmap(LayerOverField, [(3, 2, 1), (3, 2, 2), (5, 2, 1), (7, 2, 1), (5, 2, 2)][: 3 if quick else 5])
    return (instance for instance in product(sizes, (2, 1)) if hypotheses_hold(*instance))


def fiber_sizes(instance: tuple[LayerOverField, int], stated: Callable[[AllWeights], Truths] = two_points) -> str:
    name, pairs, sizes = projective(*instance)
    expected = 1 + stated(pairs)
    if (wrong := np.flatnonzero(sizes != expected)).size:
        i = int(wrong[0])
        raise Refutation(f"{name}: {pairs.show(i)} has {sizes[i]} points in its fiber, stated {expected[i]}")
    single, double = int((sizes == 1).sum()), int((sizes == 2).sum()) // 2
    return Tally(f"{name}: {single:,} functions with one point, {double:,} with two")


def pencils(*, quick: bool) -> Iterator[tuple[int, int, str]]:
    for d, d_out in product((2, 3) if quick else (2, 3, 4), (1, 2, 3)):
        yield d, d_out, "columns"
        if d_out > 1:
            yield d, d_out, "rows"


def rational_inverse(instance: tuple[int, int, str], sign: int = -1) -> None:
    r"""Check that the common factor of two products is rational in their coefficients: so is the inverse map.

    Let $f = a_1 v_1$, $g = a_2 v_1$, in the coordinates $(y_1, y_j)$ alone, with coefficients of
    $y_1^2, y_1 y_j, y_j^2$. Then $f_0 g - g_0 f$ is $y_1$ times a multiple of the common factor $v_1$, which gives
    $v_{1j} / v_{11}$; comparing $y_1^2$ and $y_1 y_j$ gives the $a_k$, and from $a_1$ the other $v_m$. The same with
    the rows $v_1, v_2$ and common factor $a_1$, which also works where `A` has rank one.
    """
    d, d_out, how = instance
    phi, _, a, v = symbolic_layer(d, d_out)
    at = {pair: n for n, pair in enumerate(quadratic_monomials(d))}
    array = product_coefficients(phi)
    # the forms with a common factor, what this is, and the other factors
    pencil, common, others = (array[:, 0], v[0], a.T) if how == "columns" else (array[0], a[:, 0], v)
    for j in range(1, d):
        (f0, f1, f2), (g0, g1, g2) = (form[[at[0, 0], at[0, j], at[j, j]]] for form in pencil[:2])
        below, above = f0 * g1 + sign * g0 * f1, f0 * g2 + sign * g0 * f2
        expect(
            below != 0 and above * common[0] == below * common[j],
            f"d = {d}, d' = {d_out}, {how}: ratio {j + 1} : 1 of the common factor is not recovered",
        )
        for n, (form, other) in enumerate(zip(pencil, others, strict=True), start=1):
            where = f"d = {d}, d' = {d_out}, {how}, form {n}, coordinate {j + 1}"
            expect_equal(form[at[0, 0]], other[0] * common[0], where)
            expect_equal(form[at[0, j]], other[j] * common[0] + other[0] * common[j], where)


def two_to_one(field: LayerOverField, d_out: int = 1) -> str:
    """Check that points off the closed set `p`, `w` proportional have one other with their function, others none."""
    name, pairs, sizes = projective(field._replace(d_out=d_out), 1)
    left, _ = finite.rank_one_factors(pairs.attention, field.p)
    off = ~finite.is_rank_one(np.stack([left, pairs.value[:, 0]], axis=1), field.p)
    if not off.any():
        raise ProgramError(f"{name}: there must be points with p and w not proportional")
    if (wrong := np.flatnonzero(sizes != 1 + off)).size:
        i = int(wrong[0])
        raise Refutation(f"{name}: {pairs.show(i)} has {sizes[i]} points in its fiber, stated {1 + off[i]}")
    return "a > 1 or d' > 1 is needed: at a = d' = 1 all but the pairs A = h q^T, V = v h^T have fibers of two points"


CLAIM = Claim(
    id="corollary-a.2",
    source="Corollary A.2",
    title=(
        "one layer, d, t >= 2, a > 1 or d' > 1: the projective map is birational, with special fibers of two points"
    ),
    statement=(
        r"d, t \ge 2,\ a > 1 \text{ or } d' > 1:\quad \mathbb P(A) \times \mathbb P(V) \to \mathbb P(\varphi)"
        r" \text{ is birational onto its image; } \#\varphi^{-1} = 2 \text{ iff } A = p q^\top,\ V = v w^\top,"
        r"\ p \not\parallel w, \text{ else } 1"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask. For $a = d' = 1$ the map is two to one. Fibers are counted over "
        "small finite fields; for the real and the complex numbers they follow from Theorem 3.2."
    ),
    place=220,
    rests_on=("theorem-3.2",),
    walk=WalkThrough(
        r"Let $a > 1$ or $d' > 1$. Up to rescaling, $(A, V) \mapsto \varphi$ has one point over almost every function "
        r"and two over the swapped ones: "
        "it is finite, and one-to-one almost everywhere.",
        walk,
    ),
    parts=(
        Part(
            "fibers have one point, and two exactly where stated",
            Scope.EXHAUSTIVE,
            fields,
            fiber_sizes,
            {
                "one point everywhere": partial(fiber_sizes, stated=lambda pairs: np.zeros(len(pairs.value), bool)),
                "two points for proportional p, w too": partial(
                    fiber_sizes, stated=partial(two_points, also_proportional=True)
                ),
            },
        ),
        Part(
            "the inverse is a rational map, symbolic A and V",
            Scope.IDENTITY,
            pencils,
            rational_inverse,
            {"f_0 g + g_0 f": partial(rational_inverse, sign=1)},
        ),
        Part(
            "a = d' = 1: two to one",
            Scope.EXHAUSTIVE,
            listed([LayerOverField(3, 2, 1), LayerOverField(5, 2, 1)], [LayerOverField(7, 2, 1)]),
            two_to_one,
            {"d' = 2": partial(two_to_one, d_out=2)},
        ),
    ),
)
