r"""Lemma A.3: the critical points of the parametrization of one layer.

Let $d \ge 2$, $t \ge 2$. A point $(A, V)$, both non-zero, is critical for $(A, V) \mapsto \varphi_{A,V}$ (the kernel of
the differential is more than the rescalings $(A, -V)$) if and only if $A = h q^\top$ and $V = v h^\top$ for the same
$h$. The kernel is then $\{(u q^\top, -v u^\top)\}$, of dimension $d$. The same holds where $A$ runs through the
matrices of rank at most $a < d$, at the points of rank $a$, where these have a tangent space of the right dimension.

The differential sends $(A', V')$ to $(a'_k v_m + a_k v'_m)_{k,m}$, so its rank does not change along the orbits of
$(g A h, k V g^\top)$: one pair from each orbit stands for every pair of its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.geometry import differential, normal_forms, tangent_directions
from lightning_sym.linalg import rank, ranks_mod_p
from lightning_sym.moves import rank_one_factors
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.words import Words
from proofs_check.claim import Claim, Part, Refutation, Scope, expect_equal

Shape = tuple[int, int, int]
Stated = Callable[[int, int, int], bool]


def hypotheses_hold(d: int) -> bool:
    """At `d = 1` all matrices are of the stated form."""
    return d >= 2


def kernel_vector(_: None, sign: int = -1) -> None:
    """The derivative along `(u q^T, -v u^T)` is `v (s - s^T) q^T X` with `s = h^T X X^T u`, a number: `s = s^T`."""
    h, q, u, v, x = map(Words.letter, "hquvX")
    zero, one, minus = Words(frozenset()), Words.identity(), Words(frozenset({(((), ()), sign)}))
    attention, value = Dual(h @ q.mT, u @ q.mT), Dual(v @ h.mT, minus @ v @ u.mT)
    moved = forward(Dual(x, zero), [Layer(query=attention, key=Dual(one, zero), value=value)])
    s = h.mT @ x @ x.mT @ u
    vanishing = v @ s @ q.mT @ x + Words(frozenset({(((), ()), -1)})) @ v @ s.mT @ q.mT @ x
    expect_equal(str(moved.tangent), str(vanishing), at="the derivative along (u q^T, -v u^T)")


def as_stated(rank_a: int, rank_v: int, rank_both: int) -> bool:
    """`A = h q^T`, `V = v h^T`: both of rank one, and the columns of `A` with the rows of `V` span a line."""
    return (rank_a, rank_v, rank_both) == (1, 1, 1)


def finite_fields(quick: bool) -> Iterator[Shape]:
    """Fields and widths `p, d, d'`; the characteristic must not be two, where squares do not span quadratic forms."""
    yield from ((3, 2, 1), (3, 2, 2), (5, 2, 1))
    if not quick:
        yield 3, 2, 3


def every_pair(instance: Shape, stated: Stated = as_stated) -> str:
    p, d, d_out = instance
    entries = d * d + d_out * d
    codes, critical, checked = np.arange(p**entries), 0, 0
    for block in np.array_split(codes, 1 + len(codes) // 2**15):
        digits = block[:, None] // p ** np.arange(entries) % p
        attention, value = digits[:, : d * d].reshape(-1, d, d), digits[:, d * d :].reshape(-1, d_out, d)
        both = attention.any(axis=(1, 2)) & value.any(axis=(1, 2))
        attention, value = attention[both], value[both]
        found = ranks_mod_p(differential(attention, value), p) < entries - 1
        ranks = [
            ranks_mod_p(m, p) for m in (attention, value, np.concatenate([attention.swapaxes(1, 2), value], axis=1))
        ]
        expected = np.array([stated(*map(int, triple)) for triple in zip(*ranks, strict=True)])
        for wrong in np.flatnonzero(found != expected)[:1]:
            raise Refutation(
                f"GF({p}), A = {attention[wrong].tolist()}, V = {value[wrong].tolist()}: "
                f"critical is {bool(found[wrong])}, stated {bool(expected[wrong])}"
            )
        critical, checked = critical + int(found.sum()), checked + len(found)
    return f"GF({p}), d = {d}, d' = {d_out}: {critical:,} of {checked:,} pairs of non-zero matrices are critical"


def shapes(quick: bool) -> Iterator[Shape]:
    """Widths and attention rank `d, d', alpha`."""
    for d in filter(hypotheses_hold, range(1, 4 if quick else 6)):
        for d_out in (1, 2, 3) if quick else (1, 2, 3, 4):
            for alpha in range(1, d + 1):
                yield d, d_out, alpha


def every_orbit(shape: Shape, stated: Stated = as_stated, kernel_dimension: Callable[[int], int] = lambda d: d) -> None:
    """All of the matrices at `alpha = d`; else the tangent space of the matrices of rank `alpha`, at rank `alpha`."""
    d, d_out, alpha = shape
    for form in normal_forms(d, d_out, alpha):
        a, v = form.attention, form.value
        if form.value_rank == 0 or form.attention_rank == 0 or (alpha < d and form.attention_rank < alpha):
            continue
        at = f"alpha = {alpha}, A = {a.tolist()}, V = {v.tolist()}"
        directions, jacobian = tangent_directions(a, alpha), differential(a, v)
        restricted = np.concatenate([directions @ jacobian[:, : d * d].T, jacobian[:, d * d :].T])
        kernel = len(restricted) - rank(restricted)
        critical = stated(form.attention_rank, form.value_rank, form.attention_rank + form.value_rank - form.common)
        expect_equal(kernel > 1, critical, at=f"{at}: critical")
        if not critical:
            continue
        expect_equal(kernel, kernel_dimension(d), at=f"{at}: dimension of the kernel")
        (_, q), (w, _) = rank_one_factors(a), rank_one_factors(v)
        exhibited = [np.concatenate([np.outer(u, q).ravel(), -np.outer(w, u).ravel()]) for u in np.eye(d, dtype=int)]
        expect_equal(rank(exhibited), kernel, at=f"{at}: span of the vectors exhibited")
        if (jacobian @ np.array(exhibited).T).any():
            raise Refutation(f"{at}: (u q^T, -v u^T) is not in the kernel")


def width_one(quick: bool) -> Iterator[Shape]:
    return ((1, d_out, 1) for d_out in (1, 2, 3))


def not_critical_at_width_one(shape: Shape, stated: Stated = lambda *ranks: False) -> str:
    every_orbit(shape, stated)
    return "the hypothesis d >= 2 is needed: at d = 1 all is of the form A = h q^T, V = v h^T, nothing is critical"


CLAIM = Claim(
    id="lemma-a.3",
    source="Lemma A.3",
    title="critical points: A = h q^T, V = v h^T",
    statement=(
        r"d \ge 2,\ t \ge 2,\ A \ne 0 \ne V:\quad (A, V) \text{ critical} \iff \exists\, h, q, v:\ A = h q^\top,\ "
        r"V = v h^\top; \qquad \ker d\varphi = \{(u q^\top, -v u^\top)\}"
    ),
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
            finite_fields,
            every_pair,
            {
                "both of rank one": partial(every_pair, stated=lambda a, v, both: a == v == 1),
                "the columns of A and the rows of V span the same": partial(
                    every_pair, stated=lambda a, v, both: a == v == both
                ),
            },
        ),
        Part(
            "one pair from each orbit, all matrices and those of rank a < d",
            Scope.INSTANCES,
            shapes,
            every_orbit,
            {
                "both of rank one": partial(every_orbit, stated=lambda a, v, both: a == v == 1),
                "kernel of dimension d + 1": partial(every_orbit, kernel_dimension=lambda d: d + 1),
            },
        ),
        Part(
            "d = 1: nothing is critical",
            Scope.INSTANCES,
            width_one,
            not_critical_at_width_one,
            {"as stated": partial(not_critical_at_width_one, stated=as_stated)},
        ),
    ),
)
