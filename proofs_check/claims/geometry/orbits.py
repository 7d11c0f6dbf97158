r"""Every pair $(A, V)$ over a finite field, and the part of a claim that lets one normal form stand for its orbit.

The claims about one layer that go through "every orbit" take their pairs from `normal_forms`. That the list leaves
nothing out is checked here without its argument: over a finite field all pairs are joined along generators of the
group of $(g A h, k V g^\top)$, and each class must hold exactly one normal form, of the ranks it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

import numpy as np

from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.geometry.layer_orbits import NormalForm, normal_forms
from proofs_check.claim import Part, Refutation, Scope, expect_equal
from proofs_check.finite_matrices import Integers, every_matrix, numbers
from proofs_check.samples import listed

Instance = tuple[int, int, int]
Forms = Callable[[int, int, int], Iterable[NormalForm]]


def pairs(p: int, d: int, d_out: int, block: int = 2**18) -> Iterator[tuple[Integers, Integers]]:
    """Yield all `(A, V)` over GF(p), in blocks and in the order of their numbers."""
    attention, value = every_matrix(d, d, p), every_matrix(d_out, d, p)
    for start in range(0, len(attention) * len(value), block):
        v, a = np.divmod(np.arange(start, min(start + block, len(attention) * len(value))), len(attention))
        yield attention[a], value[v]


def triples(attention: Integers, value: Integers, p: int) -> Integers:
    """Return `rk A`, `rk V` and the dimension of the intersection, one row a pair.

    It is that of the columns of `A` and the rows of `V`.

    Example:
        >>> triples(np.array([[[1, 0], [0, 0]]]), np.array([[[2, 0]]]), 3).tolist()
        [[1, 1, 1]]
    """
    both = ranks_mod_p(np.concatenate([attention.swapaxes(1, 2), value], axis=1), p)
    ranks = ranks_mod_p(attention, p), ranks_mod_p(value, p)
    return np.stack([*ranks, sum(ranks) - both], axis=1)


def generators(p: int, n: int) -> Iterator[Integers]:
    """Yield elementary matrices, which generate GL_n over GF(p)."""
    one = np.eye(n, dtype=np.int64)
    for i, j in np.ndindex(n, n):
        for c in range(1, p):
            if (i, c) != (j, p - 1):  # 1 + c would be zero
                yield one + c * np.outer(one[i], one[j])


def orbits(p: int, d: int, d_out: int) -> Integers:
    """Return for the number of each pair the least number in its orbit under `(g A h, k V g^T)`."""
    attention, value = every_matrix(d, d, p), every_matrix(d_out, d, p)
    unmoved = np.arange(len(attention)), np.arange(len(value))
    moves = [(numbers([g @ attention], p), numbers([value @ g.T], p)) for g in generators(p, d)]
    moves += [(numbers([attention @ h], p), unmoved[1]) for h in generators(p, d)]
    moves += [(unmoved[0], numbers([k @ value], p)) for k in generators(p, d_out)]
    least = np.arange(len(attention) * len(value)).reshape(len(value), len(attention))
    while True:
        before = least
        for of_a, of_v in moves:
            least = np.minimum(least, least[of_v][:, of_a])  # a move is a permutation: its cycles lie in one orbit
        least = least.ravel()[least]
        if np.array_equal(least, before):
            return least.ravel()


@cache
def triples_and_orbits(p: int, d: int, d_out: int) -> tuple[Integers, Integers]:
    """Return by the number of a pair its triple of dimensions, and the least number in its orbit."""
    ((attention, value),) = pairs(p, d, d_out, block=p ** (d * d + d_out * d))
    return triples(attention, value, p), orbits(p, d, d_out)


def one_form_in_each_orbit(instance: Instance, forms: Forms = normal_forms) -> None:
    """Check that every orbit has one normal form, for every rank allowed of A.

    The three dimensions of a form tell its orbit from all others.
    """
    p, d, d_out = instance
    found, orbit = triples_and_orbits(*instance)
    for alpha in range(1, d + 1):
        at = f"GF({p}), d = {d}, d' = {d_out}, rk A <= {alpha}"
        chosen: list[int] = []
        for form in forms(d, d_out, alpha):
            chosen.append(int(numbers([form.attention.astype(int)[None], form.value.astype(int)[None]], p)[0]))
            stated = [form.attention_rank, form.value_rank, form.common]
            expect_equal(found[chosen[-1]].tolist(), stated, at=f"{at}: rk A, rk V, dim of the intersection")
        allowed = found[:, 0] <= alpha
        held = orbit[chosen].tolist()
        missing = np.flatnonzero(allowed & ~np.isin(orbit, held))
        for n in missing[:1]:
            v, a = divmod(int(n), p ** (d * d))
            attention, value = every_matrix(d, d, p)[a], every_matrix(d_out, d, p)[v]
            raise Refutation(
                f"{at}: A = {attention.tolist()}, V = {value.tolist()} is in the orbit of no normal form, "
                f"rk A, rk V, dim of the intersection = {found[n].tolist()}"
            )
        expect_equal(len(set(held)), len(held), at=f"{at}: orbits with a normal form, stated one each")
        distinct = np.unique(found[allowed] @ (d + 1) ** np.arange(3))  # dimensions up to d
        expect_equal(len(distinct), len(held), at=f"{at}: triples of dimensions, stated one for each orbit")


def some_forms(keep: Callable[[NormalForm, list[NormalForm]], bool]) -> Callable[[Instance], None]:
    """Return the check with normal forms left out."""

    def forms(d: int, d_out: int, alpha: int) -> Iterator[NormalForm]:
        every = list(normal_forms(d, d_out, alpha))
        return (form for form in every if keep(form, every))

    return partial(one_form_in_each_orbit, forms=forms)


def _has_least_common(form: NormalForm, every: list[NormalForm]) -> bool:
    same_ranks = (f.common for f in every if (f.attention_rank, f.value_rank) == (form.attention_rank, form.value_rank))
    return form.common == min(same_ranks)


EVERY_ORBIT = Part(
    "each orbit of pairs holds one normal form, which three dimensions tell",
    Scope.EXHAUSTIVE,
    listed([(2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 1), (2, 3, 1)], [(2, 2, 3), (3, 2, 2), (2, 3, 2), (2, 3, 3)]),
    one_form_in_each_orbit,
    {
        "the smallest intersection only": some_forms(_has_least_common),
        "no pair of rank one": some_forms(lambda form, _: (form.attention_rank, form.value_rank) != (1, 1)),
        "zero pairs only": some_forms(lambda form, _: form.attention_rank * form.value_rank == 0),
    },
    instance="all weights with p, d, d'",
)
