r"""Lemma A.3: the critical points of the parametrization of one layer.

Let $d \ge 2$, $t \ge 2$. A point $(A, V)$, both non-zero, is critical for $(A, V) \mapsto \varphi_{A,V}$ (the kernel of
the differential is more than the rescalings $(A, -V)$) if and only if $A = h q^\top$ and $V = v h^\top$ for the same
$h$. The kernel is then $\{(u q^\top, -v u^\top)\}$, of dimension $d$. The same holds where $A$ runs through the
matrices of rank at most $a < d$, at the points of rank $a$, where these have a tangent space of the right dimension.

The differential sends $(A', V')$ to $(a'_k v_m + a_k v'_m)_{k,m}$, so its rank does not change along the orbits of
$(g A h, k V g^\top)$: one pair from each orbit stands for every pair of its shape. That none is left out is a part
of its own, over finite fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_sym import Layer, ProgramError, forward
from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.exact.rational import null_space, rank, rank_one_factors
from lightning_sym.geometry.layer_function import differential, tangent_directions
from lightning_sym.geometry.layer_orbits import NormalForm, normal_forms
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.rationals import RationalMatrix
from proofs_check.blackboard.step import SIX, WEIGHT_ROWS, Step, must, one_layer_jacobian, rational, show, table
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, WalkThrough, expect, expect_equal
from proofs_check.claims.geometry.measured import restricted_differential
from proofs_check.claims.geometry.orbits import EVERY_ORBIT, pairs, triples
from proofs_check.samples import listed

Shape = tuple[int, int, int]
Stated = Callable[[int, int, int], bool]


def hypotheses_hold(d: int, alpha: int, rank_a: int, rank_v: int) -> bool:
    """Return whether `d >= 2`, no matrix is zero, and matrices of rank at most `alpha` are smooth at `A`."""
    return d >= 2 and rank_a > 0 and rank_v > 0 and (alpha >= d or rank_a == alpha)


def kernel_vector(_: None, sign: int = -1) -> None:
    """Check that the derivative along `(u q^T, -v u^T)` is `v (s - s^T) q^T X`, `s = h^T X X^T u`: `s = s^T`."""
    h, q, u, v, x = map(Words.letter, "hquvX")
    zero, one, minus = Words(frozenset()), Words.identity(), Words(frozenset({(((), ()), sign)}))
    attention, value = Dual(h @ q.mT, u @ q.mT), Dual(v @ h.mT, minus @ v @ u.mT)
    moved = forward(Dual(x, zero), [Layer(query=attention, key=Dual(one, zero), value=value)])
    s = h.mT @ x @ x.mT @ u
    vanishing = v @ s @ q.mT @ x + Words(frozenset({(((), ()), -1)})) @ v @ s.mT @ q.mT @ x
    expect_equal(str(moved.tangent), str(vanishing), at="the derivative along (u q^T, -v u^T)")


def as_stated(rank_a: int, rank_v: int, rank_both: int) -> bool:
    """Return whether `A = h q^T`, `V = v h^T`.

    Both are of rank one, and the columns of `A` with the rows of `V` span a line.
    """
    return (rank_a, rank_v, rank_both) == (1, 1, 1)


def every_pair(instance: Shape, stated: Stated = as_stated) -> str:
    p, d, d_out = instance
    critical, checked = 0, 0
    for attention, value in pairs(p, d, d_out, block=2**15):
        both = attention.any(axis=(1, 2)) & value.any(axis=(1, 2))
        attention, value = attention[both], value[both]
        found = ranks_mod_p(differential(attention, value), p) < d * d + d_out * d - 1
        rank_a, rank_v, common = triples(attention, value, p).T
        kinds, which = np.unique(np.stack([rank_a, rank_v, rank_a + rank_v - common]), axis=1, return_inverse=True)
        expected = np.array([stated(*map(int, triple)) for triple in kinds.T])[which.ravel()]
        for wrong in np.flatnonzero(found != expected)[:1]:
            raise Refutation(
                f"GF({p}), A = {attention[wrong].tolist()}, V = {value[wrong].tolist()}: "
                f"critical is {bool(found[wrong])}, stated {bool(expected[wrong])}"
            )
        critical, checked = critical + int(found.sum()), checked + len(found)
    return Tally(f"GF({p}), d = {d}, d' = {d_out}: {critical:,} of {checked:,} pairs of non-zero matrices are critical")


class KernelPoint(NamedTuple):
    """A pair, and the dimension of the kernel on the tangent space of the matrices of rank at most `alpha`."""

    alpha: int
    form: NormalForm
    kernel: int

    def __str__(self) -> str:
        return f"alpha = {self.alpha}, A = {self.form.attention.tolist()}, V = {self.form.value.tolist()}"


def point_at(form: NormalForm, alpha: int) -> KernelPoint:
    directions = tangent_directions(form.attention, alpha)
    restricted = restricted_differential(form.attention, form.value, directions)
    return KernelPoint(alpha, form, restricted.shape[0] - rank(restricted))


def points(*, quick: bool) -> Iterator[KernelPoint]:
    """Yield one from each orbit; all of the matrices, and those of rank `alpha < d`.

    Raises:
        ProgramError: for some widths no point was critical, or none of rank one was not.
    """
    for d, d_out in product(range(2, 4 if quick else 6), range(1, 4 if quick else 5)):
        seen = set()
        for alpha in range(1, d + 1):
            for form in normal_forms(d, d_out, alpha):
                if hypotheses_hold(d, alpha, form.attention_rank, form.value_rank):
                    point = point_at(form, alpha)
                    seen.add((point.kernel > 1, form.attention_rank == form.value_rank == 1))
                    yield point
        if not seen >= {(True, True), (False, True), (False, False)}:
            raise ProgramError(f"d = {d}, d' = {d_out}: of (critical, rk A = rk V = 1) only {sorted(seen)} were seen")


def critical_as_stated(
    point: KernelPoint, stated: Stated = as_stated, kernel_dimension: Callable[[int], int] = lambda d: d
) -> None:
    form, (a, v), d = point.form, (point.form.attention, point.form.value), len(point.form.attention)
    critical = stated(form.attention_rank, form.value_rank, form.attention_rank + form.value_rank - form.common)
    expect_equal(point.kernel > 1, critical, at=f"{point}: critical")
    if not critical:
        return
    expect_equal(point.kernel, kernel_dimension(d), at=f"{point}: dimension of the kernel")
    (_, q), (w, _) = rank_one_factors(a), rank_one_factors(v)
    one = np.eye(d, dtype=int)
    exhibited = RationalMatrix.of([[*np.outer(u, q).ravel(), *-np.outer(w, u).ravel()] for u in one])
    expect_equal(rank(exhibited), point.kernel, at=f"{point}: span of the vectors exhibited")
    expect(not exhibited @ RationalMatrix.of(differential(a, v).T), f"{point}: (u q^T, -v u^T) is not in the kernel")


def not_critical_at_width_one(d_out: int, stated: Stated = lambda *ranks: False) -> str:
    """Return the finding just outside the hypotheses, at d = 1."""
    for form in normal_forms(1, d_out, 1):
        if form.is_square:
            critical_as_stated(point_at(form, 1), stated)
            return "the hypothesis d >= 2 is needed: at d = 1 all is of the form A = h q^T, V = v h^T, not critical"
    raise ProgramError(f"d = 1, d' = {d_out}: no pair of non-zero matrices")


def walk() -> Iterator[Step]:
    h, q, w = rational([[1], [1]]), rational([[1], [2]]), rational([[1], [-1]])
    attention = h @ q.T
    usual = one_layer_jacobian(attention, w.T)
    must(rank(usual) == 5, "rank five at different lines")
    yield Step(
        "A point that is not critical",
        r"At almost all weights the Jacobian of $(A, V) \mapsto \varphi$ has rank $5$ (for $d = 2$, $d' = 1$). It "
        r"still does at $A = h\, q^\top$, $V = w^\top$, if $h$ and $w$ are different lines.",
        (show("A", attention), show("V", w.T), table("J", usual, WEIGHT_ROWS, SIX),
         show(r"\operatorname{rk} J", rank(usual))),
    )  # fmt: skip
    matrix = one_layer_jacobian(attention, h.T)
    must(rank(matrix) == 4, "rank four at equal lines")
    yield Step(
        "Let the lines coincide",
        rf"Now $V = h^\top$. The rank falls to ${rank(matrix)}$: this is a critical point.",
        (show("V", h.T), table("J", matrix, WEIGHT_ROWS, SIX), show(r"\operatorname{rk} J", rank(matrix))),
    )
    u = rational([[1], [0]])
    direction = np.concatenate([(u @ q.T).ravel(), -u.ravel()])
    must(not (direction @ matrix).any(), "this direction is lost")
    rescaling = np.concatenate([attention.ravel(), -h.ravel()])
    must(len(null_space(matrix.T)) == 2 and rank([direction, rescaling]) == 2, "the kernel is spanned by the two")
    yield Step(
        "Which direction is lost",
        r"Besides the rescaling a second direction does nothing: turn the $h$ in $A$ one way and the $h$ in $V$ the "
        r"other way, $\dot A = u\, q^\top$, $\dot V = -u^\top$. The product of the lines $(h + s u)(h - s u) = h^2 - "
        r"s^2 u^2$ does not move to first order. This is the swap of Theorem 3.2 at the place where both weights "
        r"become one.",
        (show("u", u), show(r"\dot A", u @ q.T), show(r"\dot V", -u.T)),
    )


CLAIM = Claim(
    id="lemma-a.3",
    source="Lemma A.3",
    title="critical points: A = h q^T, V = v h^T",
    statement=(
        r"d \ge 2,\ t \ge 2,\ A \ne 0 \ne V:\quad (A, V) \text{ critical} \iff \exists\, h, q, v:\ A = h q^\top,\ "
        r"V = v h^\top; \qquad \ker d\varphi = \{(u q^\top, -v u^\top)\}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask. $A$ runs through all matrices, or through those of rank at most "
        "$a < d$ at a point of rank $a$. The kernel is the one at critical points. At $d = 1$ nothing is critical."
    ),
    place=230,
    rests_on=("proposition-a.5",),
    walk=WalkThrough("Where the differential loses more than the rescaling.", walk),
    parts=(
        Part(
            "(u q^T, -v u^T) is in the kernel, vectors of every size",
            Scope.IDENTITY,
            lambda quick: (None,),
            kernel_vector,
            {"(u q^T, v u^T)": partial(kernel_vector, sign=1)},
        ),
        Part(
            "every pair of non-zero matrices",
            Scope.EXHAUSTIVE,
            listed([(3, 2, 1), (3, 2, 2), (5, 2, 1)], [(3, 2, 3)]),
            every_pair,
            {
                "both of rank one": partial(every_pair, stated=lambda a, v, both: a == v == 1),
                "the columns of A and the rows of V span the same": partial(
                    every_pair, stated=lambda a, v, both: a == v == both
                ),
            },
            instance="all weights with p, d, d'",  # p > 2, where squares span quadratic forms
        ),
        EVERY_ORBIT,
        Part(
            "one pair from each orbit, all matrices and those of rank a < d",
            Scope.INSTANCES,
            points,
            critical_as_stated,
            {
                "both of rank one": partial(critical_as_stated, stated=lambda a, v, both: a == v == 1),
                "kernel of dimension d + 1": partial(critical_as_stated, kernel_dimension=lambda d: d + 1),
            },
        ),
        Part(
            "d = 1: nothing is critical",
            Scope.INSTANCES,
            lambda quick: (1, 2, 3),
            not_critical_at_width_one,
            {"as stated": partial(not_critical_at_width_one, stated=as_stated)},
        ),
    ),
)
