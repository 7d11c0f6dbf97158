r"""Theorem 3.4, last statement: the singular points of the neuromanifold of one layer.

Let $t \ge 2$, $d \ge 2$, and $a > 1$ or $d' > 1$. The statement: the singular points are $\varphi = 0$ and the
functions with $\operatorname{rk} A = \operatorname{rk} V = 1$. It holds for $a \ge d$ and for $a = 1$. For $2 \le a <
d$ it is refuted: the proof asks the parameter space to be smooth, which the matrices of rank at most $a$ are not at
lower rank. The corrected locus, for every $a$: $\varphi = 0$; or $\operatorname{rk} A = \operatorname{rk} V = 1$; or
$a < d$ and $\operatorname{rk} A < a$.

*Why a point is regular.* $f : (A, V) \mapsto \varphi$ from $X$ (projective, $\operatorname{rk} A \le \alpha = \min(a,
d)$) to the projective neuromanifold $Y$ is finite. If the fiber over $y$ is one point $x$, also over the complex
numbers, and $df$ is injective on $T_x X$, then $\mathcal O_{X,x} = \mathcal O_{Y,y}$ by Nakayama's lemma: near $y$
the two are isomorphic, and $X$ is smooth at $x$ where $\operatorname{rk} A = \alpha$ or $\alpha = d$. Computed: the
ranks of $A$ and $V$, the second point of the fiber if there is one, and the rank of the differential on the tangent
space of the matrices of rank at most $\alpha$, which must be $\dim \mathcal M$ (certified).

*Why a point is singular.* Curves inside $\mathcal M$ through the point have leading vectors that span more than $\dim
\mathcal M$ dimensions. At $\operatorname{rk} A < a$ these are all of the image of the differential in $(A, V)$: the
curves $A + s\, u v^\top$ stay inside. Or the fiber has two points, or the point is a limit of such: $f$ is birational,
and at a regular, hence normal, point of $Y$ it would be an isomorphism.

Everything is the same along an orbit of $(g A h, k V g^\top)$, so the pairs checked, one from each orbit (moved by
random $g, h, k$ as well), stand for every weight of their shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

from lightning_sym import Architecture, Layer, Weights
from lightning_sym.geometry import Classification, Label, NormalForm, classify, normal_forms
from lightning_sym.rings.words import Words
from proofs_check.claim import Claim, Part, Refutation, Scope, Undecided, Verdict, expect_equal, spell


class Shape(NamedTuple):
    """Input and output width, query/key width."""

    d: int
    d_out: int
    a: int


Locus = Callable[[Shape, NormalForm], bool]


def hypotheses_hold(shape: Shape) -> bool:
    return shape.d >= 2 and (shape.a > 1 or shape.d_out > 1)


def vanishes(form: NormalForm) -> bool:
    return form.attention_rank == 0 or form.value_rank == 0


def printed_locus(shape: Shape, form: NormalForm) -> bool:
    return vanishes(form) or form.attention_rank == form.value_rank == 1


def corrected_locus(shape: Shape, form: NormalForm) -> bool:
    return printed_locus(shape, form) or form.attention_rank < shape.a < shape.d


def locus_outside(shape: Shape, form: NormalForm) -> bool:
    """`d = 1`: nothing. `a = d' = 1`: the forms `p w` are the quadratic forms of rank two at most."""
    return shape.d > 1 and (vanishes(form) or (shape.d > 2 and form.is_square))


def changes_linearly(_: None, inverse: bool = False) -> None:
    """`(g A h, k V g^T)` changes `V x x^T A`, whose entries are the `a_k(x) v_m(x)`, into `k (V y y^T A) h`."""
    a, v, g, h, k, x = map(Words.letter, "AVghkx")
    y = g.mT @ x
    changed = k @ v @ (g.inverse if inverse else g.mT) @ x @ x.mT @ g @ a @ h
    expect_equal(str(changed), str(k @ v @ y @ y.mT @ a @ h), at="(g A h, k V g^T)")


def moved(weights: Weights, seed: int) -> Weights:
    """The weights of `(g A h, k V g^T)` for random invertible `g, h, k`."""
    (layer,), (d, d_out) = weights.layers, weights.architecture(2).widths
    square = Architecture((d, d, d, d), (1, 1, 1), 2)
    g, h, _ = (part.value for part in Weights.random(square, seed=seed, bound=3, value_ranks=[d, d, d]).layers)
    k = Weights.random(Architecture((d_out, d_out), (1,), 2), seed=seed, bound=3, value_ranks=[d_out])["V1"]
    return Weights((Layer(query=layer.query @ h, key=layer.key @ g.T, value=k @ layer.value @ g.T),))


def shapes(quick: bool) -> Iterator[Shape]:
    for d in (1, 2, 3) if quick else (1, 2, 3, 4):
        for d_out in (1, 2, 3):
            for a in range(1, d + 2):
                yield Shape(d, d_out, a)


def smooth_parameters(quick: bool) -> Iterator[Shape]:
    return (s for s in shapes(quick) if hypotheses_hold(s) and (s.a >= s.d or s.a == 1))


def singular_parameters(quick: bool) -> Iterator[Shape]:
    return (s for s in shapes(quick) if s.d_out > 1 and 2 <= s.a < s.d)


@cache
def points(shape: Shape) -> list[tuple[NormalForm, Weights, Classification]]:
    """One pair of each orbit, as it is and moved along the orbit, decided."""
    return [
        (form, weights, classify(weights))
        for seed, form in enumerate(normal_forms(shape.d, shape.d_out, shape.a))
        for weights in (form.weights(shape.a), moved(form.weights(shape.a), seed))
    ]


def check(shape: Shape, locus: Locus) -> None:
    for form, weights, point in points(shape):
        singular = Label.SINGULAR in point
        if point.ranks is None or singular == (Label.REGULAR in point):
            raise Undecided(f"{shape}: {point.reasons}")
        if singular != locus(shape, form):
            q, k, v = (spell(matrix) for matrix in weights.layers[0])
            raise Refutation(
                f"d = {shape.d}, d' = {shape.d_out}, a = {shape.a}, Q = {q}, K = {k}, V = {v}: rk A = "
                f"{point.ranks.attention}, rk V = {point.ranks.value}, dim M = {point.dimension.value}, tangent "
                f"dimension at least {point.ranks.tangent}; stated {'regular' if singular else 'singular'}, found "
                f"{'singular' if singular else 'regular'}: {point.reasons[0]}"
            )


def corrected(shape: Shape, locus: Locus = corrected_locus) -> str | None:
    """The locus, and where below it the printed one is right although the parameter space is not smooth."""
    check(shape, locus)
    if not 2 <= shape.a < shape.d:
        return None
    printed_too = all((Label.SINGULAR in point) == printed_locus(shape, form) for form, _, point in points(shape))
    expect_equal(printed_too, shape.d_out == 1 and shape.a == 2, at=f"{shape}: the printed locus is right")
    return "for 2 <= a < d the printed locus is wrong, except at a = 2, d' = 1" if printed_too else None


def outside(shape: Shape, locus: Locus = locus_outside) -> str:
    check(shape, locus)
    if shape.d == 1:
        return "the hypothesis d >= 2 is needed: at d = 1 M is a linear space, without a singular point"
    if shape.d == 2:
        return "the hypothesis a > 1 or d' > 1 is needed: at d = 2, a = d' = 1 only phi = 0 is singular"
    return "the hypothesis a > 1 or d' > 1 is needed: at d > 2, a = d' = 1 only A = h q^T, V = v h^T are singular"


CLAIM = Claim(
    id="theorem-3.4-singular",
    source="Theorem 3.4",
    title="singular points: rk A = rk V = 1 or phi = 0",
    statement=(
        r"t \ge 2,\ d \ge 2,\ (a > 1 \text{ or } d' > 1):\quad \operatorname{Sing} \mathcal M = \{\varphi_{A,V} :"
        r"\operatorname{rk} A = \operatorname{rk} V = 1\} \cup \{0\}; \qquad \text{corrected: for } a < d \text{ also }"
        r"\{\varphi_{A,V} : \operatorname{rk} A < a\}"
    ),
    parts=(
        Part(
            "(g A h, k V g^T) changes the function by a linear map, matrices of every size",
            Scope.IDENTITY,
            lambda quick: (None,),
            changes_linearly,
            {"k V g^-1": partial(changes_linearly, inverse=True)},
        ),
        Part(
            "the printed locus, a >= d or a = 1, every orbit",
            Scope.INSTANCES,
            smooth_parameters,
            partial(check, locus=printed_locus),
            {
                "only critical points": partial(check, locus=lambda shape, form: vanishes(form) or form.is_square),
                "one of the ranks is one": partial(
                    check, locus=lambda shape, form: min(form.attention_rank, form.value_rank) <= 1
                ),
            },
        ),
        Part(
            "the printed locus, 2 <= a < d",
            Scope.INSTANCES,
            singular_parameters,
            partial(check, locus=printed_locus),
            {"only phi = 0": partial(check, locus=lambda shape, form: vanishes(form))},
            expected=Verdict.REFUTED,
        ),
        Part(
            "the corrected locus, every a, every orbit",
            Scope.INSTANCES,
            lambda quick: filter(hypotheses_hold, shapes(quick)),
            corrected,
            {
                "rank below min(a, d) also where a >= d": partial(
                    corrected, locus=lambda s, form: printed_locus(s, form) or form.attention_rank < min(s.a, s.d)
                ),
                "without rk A = rk V = 1": partial(
                    corrected, locus=lambda s, form: vanishes(form) or form.attention_rank < s.a < s.d
                ),
            },
        ),
        Part(
            "outside the hypotheses: d = 1, or a = d' = 1",
            Scope.INSTANCES,
            lambda quick: (s for s in shapes(quick) if not hypotheses_hold(s)),
            outside,
            {"the printed locus": partial(outside, locus=printed_locus)},
        ),
    ),
)
