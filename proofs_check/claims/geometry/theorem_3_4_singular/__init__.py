r"""Theorem 3.4, last statement: the singular points of the neuromanifold of one layer.

Let $t \ge 2$, $d \ge 2$, and $a > 1$ or $d' > 1$. The statement: the singular points are $\varphi = 0$ and the
functions with $\operatorname{rk} A = \operatorname{rk} V = 1$. It holds for $a \ge d$ and for $a = 1$. For $2 \le a <
d$ it is refuted: the proof asks the parameter space to be smooth, which the matrices of rank at most $a$ are not at
lower rank. The corrected locus, for every $a$: $\varphi = 0$; or $\operatorname{rk} A = \operatorname{rk} V = 1$; or
$a < d$ and $\operatorname{rk} A < a$.

The two differ where $V \ne 0$, $0 < \operatorname{rk} A < a < d$ and not both ranks are one. At $a = 2$, $d' = 1$
there is no such pair, since $\operatorname{rk} A, \operatorname{rk} V \le 1$; at $a \ge 3$ there is one with
$\operatorname{rk} A = 2$, at $d' \ge 2$ one with $\operatorname{rk} V = 2$.

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
random $g, h, k$ as well), stand for every weight of their shape. That no orbit is left out is a part of its own, over
finite fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from typing import NamedTuple

from lightning_sym import Label, ProgramError, Weights
from lightning_sym.geometry.layer_orbits import NormalForm, normal_forms
from lightning_sym.network.random_matrices import RandomMatrices
from lightning_sym.rings.matrix_words import Words
from proofs_check.blackboard import own_weights
from proofs_check.claim import Claim, Part, Refutation, Scope, Undecided, Verdict, WalkThrough, expect_equal, spell
from proofs_check.claims.geometry.measured import MeasuredPoint, measure
from proofs_check.claims.geometry.orbits import EVERY_ORBIT
from proofs_check.claims.geometry.theorem_3_4_singular.walk import walk


class LayerShape(NamedTuple):
    """Input and output width, query/key width."""

    d: int
    d_out: int
    a: int


class OrbitPoint(NamedTuple):
    """Weights in the orbit of a normal form, decided."""

    shape: LayerShape
    form: NormalForm
    weights: Weights
    decided: MeasuredPoint


Locus = Callable[[LayerShape, NormalForm], bool]


def hypotheses_hold(shape: LayerShape) -> bool:
    return shape.d >= 2 and (shape.a > 1 or shape.d_out > 1)


def vanishes(form: NormalForm) -> bool:
    return form.attention_rank == 0 or form.value_rank == 0


def printed_locus(shape: LayerShape, form: NormalForm) -> bool:
    return vanishes(form) or form.attention_rank == form.value_rank == 1


def corrected_locus(shape: LayerShape, form: NormalForm) -> bool:
    return printed_locus(shape, form) or form.attention_rank < shape.a < shape.d


def changes_linearly(_: None, *, inverse: bool = False) -> None:
    """Check that `(g A h, k V g^T)` changes `V x x^T A` into `k (V y y^T A) h`.

    The entries of the former are the `a_k(x) v_m(x)`.
    """
    a, v, g, h, k, x = map(Words.letter, "AVghkx")
    y = g.mT @ x
    changed = k @ v @ (g.inverse if inverse else g.mT) @ x @ x.mT @ g @ a @ h
    expect_equal(str(changed), str(k @ v @ y @ y.mT @ a @ h), at="(g A h, k V g^T)")


def moved(weights: Weights, seed: int) -> Weights:
    """Return the weights of `(g A h, k V g^T)` for random invertible `g, h, k`."""
    (layer,), (d, d_out) = weights.layers, weights.architecture(2).widths
    random = RandomMatrices(seed=seed, bound=3)
    g, h, k = (random.of_rank(n, n, n) for n in (d, d, d_out))
    return Weights.of({"Q1": layer.query @ h, "K1": layer.key @ g.T, "V1": k @ layer.value @ g.T})


def shapes(*, quick: bool) -> Iterator[LayerShape]:
    for d, d_out in product((1, 2, 3) if quick else (1, 2, 3, 4), (1, 2, 3)):
        yield from (LayerShape(d, d_out, a) for a in range(1, d + 2))


def inside(*, quick: bool) -> Iterator[LayerShape]:
    return filter(hypotheses_hold, shapes(quick=quick))


def smooth_parameters(shape: LayerShape) -> bool:
    """Return whether the matrices of rank at most `a` are smooth, but for zero."""
    return shape.a >= shape.d or shape.a == 1


def printed_is_right(shape: LayerShape) -> bool:
    """Return whether the printed locus and the corrected one are the same."""
    return smooth_parameters(shape) or (shape.a == 2 and shape.d_out == 1)


@cache
def points_of(shape: LayerShape) -> list[OrbitPoint]:
    """Return one pair of each orbit, as it is and moved along the orbit."""
    return [
        OrbitPoint(shape, form, weights, measure(weights))
        for seed, form in enumerate(normal_forms(*shape))
        for weights in (form.weights(shape.a), moved(form.weights(shape.a), seed))
    ]


KINDS = {"phi = 0", "critical", "two points in the fiber", "singular", "regular"}


def kinds(point: OrbitPoint) -> set[str]:
    """Return what was computed of it; phi = 0 is not called critical here."""
    found = {label.value for label in point.decided.labels}
    fiber = point.decided.ranks.fiber_points
    if fiber is None:
        return found - {"critical"} | {"phi = 0"}
    return found | {"two points in the fiber"} if fiber == 2 else found


def points(of: Iterable[LayerShape]) -> Iterator[OrbitPoint]:
    """Yield the points of these shapes.

    Raises:
        ProgramError: the hypotheses hold, all points are decided, and a kind of point was not seen.
    """
    for shape in of:
        yield from points_of(shape)
        seen = set().union(*map(kinds, points_of(shape)))
        decided = all(point.decided.decided for point in points_of(shape))
        if hypotheses_hold(shape) and decided and (missing := KINDS - seen):
            raise ProgramError(f"{shape}: no point was seen of the kind {', '.join(sorted(missing))}")


def is_singular(point: OrbitPoint) -> bool:
    """Return what was decided of it.

    Raises:
        Undecided: nothing was.
    """
    singular = Label.SINGULAR in point.decided
    if singular == (Label.REGULAR in point.decided):
        raise Undecided(f"{point.shape}: {point.decided.reason}")
    return singular


def check(point: OrbitPoint, locus: Locus) -> None:
    shape, form, weights, decided = point
    singular = is_singular(point)
    if singular != locus(shape, form):
        q, k, v = (spell(matrix) for matrix in weights.layers[0])
        raise Refutation(
            f"d = {shape.d}, d' = {shape.d_out}, a = {shape.a}, Q = {q}, K = {k}, V = {v}: rk A = "
            f"{decided.ranks.attention}, rk V = {decided.ranks.value}, dim M = {decided.dimension.value}, tangent "
            f"dimension at least {decided.ranks.tangent}; stated {'regular' if singular else 'singular'}, found "
            f"{'singular' if singular else 'regular'}: {decided.reason}"
        )


def where_the_printed_locus_is_right(
    of: Iterable[LayerShape], right: Callable[[LayerShape], bool] = printed_is_right
) -> str:
    between = [shape for shape in of if not smooth_parameters(shape)]
    for shape in between:
        found = all(is_singular(p) == printed_locus(shape, p.form) for p in points((shape,)))
        expect_equal(found, right(shape), at=f"{shape}: the printed locus is right")
    d, d_out = max(s.d for s in between), max(s.d_out for s in between)
    return f"for 2 <= a < d <= {d}, d' <= {d_out} the printed locus is wrong, except at a = 2, d' = 1"


def outside(
    point: OrbitPoint,
    locus: Locus = lambda shape, form: shape.d > 1 and (vanishes(form) or (shape.d > 2 and form.is_square)),
) -> str:
    """Return the finding outside the hypotheses.

    `d = 1`: nothing is singular. `a = d' = 1`: the forms `p w` are the quadratic forms of rank two at most.
    """
    check(point, locus)
    d, d_out, _ = point.shape
    if d == 1:
        return f"the hypothesis d >= 2 is needed: at d = 1, d' = {d_out} there is no singular point"
    only = "phi = 0 is" if d == 2 else "phi = 0 and A = h q^T, V = v h^T are"
    return f"the hypothesis a > 1 or d' > 1 is needed: at d = {d}, a = d' = 1 only {only} singular"


CLAIM = Claim(
    id="theorem-3.4-singular",
    source="Theorem 3.4",
    title="as printed, the singular points are rk A = rk V = 1 or phi = 0; corrected, also rk A < a < d",
    statement=(
        r"t \ge 2,\ d \ge 2,\ (a > 1 \text{ or } d' > 1):\quad \operatorname{Sing} \mathcal M = \{\varphi_{A,V} :"
        r"\operatorname{rk} A = \operatorname{rk} V = 1\} \cup \{0\}"
    ),
    hypotheses=(
        r"One layer, one head, lightning, no mask. As printed it is right for $a \ge d$ and for $a = 1$, and "
        r"refuted for $2 \le a < d$, but for $a = 2$, $d' = 1$. Corrected, for every $a$: $\varphi = 0$, or both "
        r"ranks are one, or $\operatorname{rk} A < a < d$. The pairs checked, one of each orbit, stand for every "
        "weight of their shapes; for other shapes there is the argument, and no computation."
    ),
    place=70,
    rests_on=("corollary-a.4",),
    walk=WalkThrough(
        r"Where $\mathcal M$ is not smooth: where two sheets cross, and one place more.",
        walk,
        on=own_weights.kind_of_point,
    ),
    parts=(
        Part(
            "(g A h, k V g^T) changes the function by a linear map, matrices of every size",
            Scope.IDENTITY,
            lambda quick: (None,),
            changes_linearly,
            {"k V g^-1": partial(changes_linearly, inverse=True)},
        ),
        EVERY_ORBIT,
        Part(
            "the printed locus, a >= d or a = 1, every orbit",
            Scope.INSTANCES,
            lambda quick: points(filter(smooth_parameters, inside(quick=quick))),
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
            lambda quick: points(s for s in inside(quick=quick) if not printed_is_right(s)),
            partial(check, locus=printed_locus),
            {"only phi = 0": partial(check, locus=lambda shape, form: vanishes(form))},
            expected=Verdict.REFUTED,
        ),
        Part(
            "where for 2 <= a < d the printed locus is right all the same",
            Scope.INSTANCES,
            lambda quick: (tuple(inside(quick=quick)),),
            where_the_printed_locus_is_right,
            {
                "nowhere": partial(where_the_printed_locus_is_right, right=smooth_parameters),
                "at d' = 1 and at a = 2": partial(
                    where_the_printed_locus_is_right, right=lambda s: s.d_out == 1 or s.a == 2
                ),
            },
            instance="all shapes together",
        ),
        Part(
            "the corrected locus, also rk A < a < d; every a, every orbit",
            Scope.INSTANCES,
            lambda quick: points(inside(quick=quick)),
            partial(check, locus=corrected_locus),
            {
                "rank below min(a, d) also where a >= d": partial(
                    check, locus=lambda s, form: printed_locus(s, form) or form.attention_rank < min(s.a, s.d)
                ),
                "without rk A = rk V = 1": partial(
                    check, locus=lambda s, form: vanishes(form) or form.attention_rank < s.a < s.d
                ),
            },
        ),
        Part(
            "outside the hypotheses: d = 1, or a = d' = 1",
            Scope.INSTANCES,
            lambda quick: points(s for s in shapes(quick=quick) if not hypotheses_hold(s)),
            outside,
            {"the printed locus": partial(outside, locus=printed_locus)},
        ),
    ),
)
