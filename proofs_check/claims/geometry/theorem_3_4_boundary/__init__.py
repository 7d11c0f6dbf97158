r"""Theorem 3.4, second statement: the relative boundary of the neuromanifold of one layer ($d, t \ge 2$).

The points of $\mathcal M$ that are limits of points of $\overline{\mathcal M} \setminus \mathcal M$ (closure in the
sense of Zariski) are $\varphi = 0$ and the functions with $A = h q^\top$, $V = v h^\top$, the same $h$.

*They are limits.* The complex weights $A = (h + i \epsilon g) q^\top$, $V = v (h - i \epsilon g)^\top$ give the real
array $q_k v_m (h(x)^2 + \epsilon^2 g(x)^2)$ of products of linear forms (Proposition A.5). Images of complex weights
with real coefficients are in the Zariski closure, because real weights are dense among complex ones. The discriminants
$f_{pq}^2 - 4 f_{pp} f_{qq}$ of a product of real linear forms $a_k v_m$ are the squares
$(A_{pk} V_{mq} - A_{qk} V_{mp})^2$; here they are $-4 \epsilon^2 q_k^2 v_m^2 (h_p g_q - h_q g_p)^2$. So for independent
$h, g$ the function is outside $\mathcal M$ if $\epsilon \ne 0$, and as $\epsilon \to 0$ it tends to $A = h q^\top$,
$V = v h^\top$.

*Nothing else is,* granted that all points of $\overline{\mathcal M} \setminus \mathcal M$ are of this form (the
argument is in Corollary A.6, with a finite check; Figure 1 has another proof for $d = 2$, $d' = 1$). Then all
discriminants of limits are at most zero; on $\mathcal M$ they are squares; so they vanish at a limit in $\mathcal M$:
all columns of $A$ and rows of $V$ are proportional, unless $A = 0$ or $V = 0$.

The paper also asks for $a > 1$ or $d' > 1$, which this does not need: the conjugate pairs have $A$ of rank one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Architecture, PolynomialMap, forward
from lightning_sym.exact.rational import rank
from lightning_sym.network.one_layer import (
    attention_layer_weights,
    discriminants,
    one_layer_map,
    product_coefficients,
    products_of_linear_forms,
)
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from proofs_check.blackboard import own_weights
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided, WalkThrough, expect, expect_equal
from proofs_check.claims.geometry.figure_1 import minors
from proofs_check.claims.geometry.theorem_3_4_boundary.walk import walk
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import array_of
from proofs_check.samples import listed

Shape = tuple[int, int]
Numbers = npt.NDArray[np.int64 | np.object_]
"""Matrices of exact numbers."""

Stated = Callable[[Numbers, Numbers], bool]


def hypotheses_hold(d: int, d_out: int, a: int) -> bool:
    """Return whether the hypotheses hold as printed."""
    return d >= 2 and (a > 1 or d_out > 1)


def shapes(*, quick: bool) -> Iterator[Shape]:
    """Return widths `d >= 2` and `d'`; the conjugate pairs have `A` of rank one, and so serve for every `a`."""
    return product((2, 3) if quick else (2, 3, 4), (1, 2))


def conjugate_pair(ring: PolynomialRing, d: int, d_out: int, sign: int) -> tuple[ObjectArray, ObjectArray]:
    """Return `A = (h + i eps g) q^T` and `V = v (h + sign i eps g)^T` with symbols h, g, q, v, eps and i."""
    h, g = ring.matrix("h", d, 1), ring.matrix("g", d, 1)
    step = array_of([[ring["i"] * ring["eps"]]])
    return (h + g @ step) @ ring.matrix("q", 1, d), ring.matrix("v", d_out, 1) @ (h + sign * (g @ step)).T


def conjugate_pairs(shape: Shape, sign: int = -1) -> None:
    """Check conjugate pairs, symbolic in everything: real coefficients, discriminants and the limit.

    All discriminants are minus squares.
    """
    d, d_out = shape
    sizes = [("h", d, 1), ("g", d, 1), ("q", 1, d), ("v", d_out, 1)]
    names = [name for size in sizes for name in entry_names(*size)] + ["eps", "i"]
    inputs = entry_names("x", d, 2)
    ring = PolynomialRing(names + inputs)
    output = forward(ring.matrix("x", d, 2), [attention_layer_weights(*conjugate_pair(ring, d, d_out, sign))])
    phi = PolynomialMap(Architecture((d, d_out), (d,), 2), output, ring, tuple(names), tuple(inputs))
    weights = PolynomialRing(names)
    i, eps = weights["i"], weights["eps"]
    h, g, q, v = (weights.matrix(*size) for size in sizes)
    limit = products_of_linear_forms(h @ q, v @ h.T)
    pairs = [(p, r) for p in range(d) for r in range(p + 1, d)]
    array = product_coefficients(phi)
    for k, m in np.ndindex(d, d_out):
        form = [f % (i**2 + 1) for f in array[k, m]]
        if any(f.derivative("i") != 0 for f in form):
            raise Refutation(f"d, d' = {shape}: a_{k + 1} v_{m + 1} is not real: {form}")
        stated = [-4 * (eps * q[0, k] * v[m, 0] * (h[p, 0] * g[r, 0] - h[r, 0] * g[p, 0])) ** 2 for p, r in pairs]
        expect_equal(discriminants(form, d), stated, at=f"d, d' = {shape}, discriminants of a_{k + 1} v_{m + 1}")
        expect_equal([f.subs({"eps": 0}) for f in form], list(limit[k, m]), at=f"d, d' = {shape}, limit as eps -> 0")


def squares_on_m(shape: Shape, sign: int = -1) -> None:
    """Check that on M every discriminant is a square, with symbolic real weights.

    It is zero or positive, and zero for all only if A || V.
    """
    d, d_out = shape
    phi, _, a, v = symbolic_layer(d, d_out)
    array = product_coefficients(phi)
    for k, m in np.ndindex(d, d_out):
        stated = [(a[p, k] * v[m, r] + sign * a[r, k] * v[m, p]) ** 2 for p in range(d) for r in range(p + 1, d)]
        expect_equal(discriminants(array[k, m], d), stated, at=f"d, d' = {shape}, discriminants of a_{k + 1} v_{m + 1}")


class Sequence(NamedTuple):
    """`A_n = n^-s (h + i g / n) q^T`, `V_n = v (h - i g / n)^T`, `n = 1, 2, ...`, with integer h, g, q, v."""

    h: list[int]
    g: list[int]
    q: list[int]
    v: list[int]
    s: int

    def array(self, n: int) -> ObjectArray:
        """Return coefficients of member number `n`, rational numbers; a refutation if they are not real."""
        d, d_out = len(self.h), len(self.v)
        inputs = entry_names("x", d, 2)
        ring = PolynomialRing(["i", *inputs])
        h, g, q, v = (ring.constants(np.array([vector])).T for vector in self[:4])
        step = np.vectorize(lambda c: c * ring["i"] / n, otypes=[object])(g)
        scale = ring.constants(np.array([[Fraction(1, n**self.s)]]))
        layer = attention_layer_weights((h + step) @ scale @ q.T, v @ (h - step).T)
        output = forward(ring.matrix("x", d, 2), [layer])
        phi = PolynomialMap(Architecture((d, d_out), (d,), 2), output, ring, ("i",), tuple(inputs))
        i = PolynomialRing(["i"])["i"]
        array = product_coefficients(phi)
        for index, value in np.ndenumerate(array):
            if (value % (i**2 + 1)).total_degree() > 0:
                raise Refutation(f"{self}, n = {n}: the coefficient {value} is not real")
            array[index] = (value % (i**2 + 1))(0)
        return array


def rational_sequences(*, quick: bool) -> Iterator[Sequence]:
    """Yield random independent h, g and non-zero q, v; `s = 0` has the limit `A = h q^T, V = v h^T`, `s = 1` is 0."""
    for d, d_out in [(2, 1), (2, 2), (3, 1)] if quick else [(2, 1), (2, 2), (3, 1), (3, 2), (4, 3)]:
        for seed in range(2 if quick else 6):
            generator = np.random.default_rng([d, d_out, seed])
            h, g, q = generator.integers(-5, 6, size=(3, d)).tolist()
            v = generator.integers(-5, 6, size=d_out).tolist()
            if rank([h, g]) == 2 and any(q) and any(v):
                yield from (Sequence(h, g, q, v, s) for s in (0, 1))


def outside_and_convergent(sequence: Sequence, *, limit_in_g: bool = False) -> None:
    """Check that the members are real, with a negative discriminant, and how far they are from the limit.

    For d = 2, d' = 1 they are on the hypersurface.
    """
    d, d_out = len(sequence.h), len(sequence.v)
    h, g, q, v = (np.array([vector]).T for vector in sequence[:4])
    limit = products_of_linear_forms(h @ q.T, v @ (g if limit_in_g else h).T)
    distance = sequence.array(1) - limit
    for n in (1, 2, 3, 10, 1000):
        member = sequence.array(n)
        # n^s times the member is exactly 1/n^2 of the first distance away from the limit
        expect(
            np.array_equal(member * n**sequence.s * n**2, limit * n**2 + distance),
            f"{sequence}, n = {n}: not at 1/n^2 of the first distance to the limit",
        )
        expect(
            any(value < 0 for form in member.reshape(d * d_out, -1) for value in discriminants(form, d)),
            f"{sequence}, n = {n}: no discriminant is negative, so nothing shows it to be outside M",
        )
        if (d, d_out) == (2, 1):
            p01, p02, p12 = minors(member[0, 0], member[1, 0])
            expect_equal(p02 * p02 - p01 * p12, 0, at=f"{sequence}, n = {n}, resultant")


def is_limit(attention: Numbers, value: Numbers) -> bool:
    """Return whether the function is a limit of points outside M.

    A positive discriminant shows that it is not, `A = h q^T`, `V = v h^T` or zero that it is, by conjugate pairs.
    """
    d = len(attention)
    forms = products_of_linear_forms(attention, value).reshape(d * len(value), -1)
    if any(discriminant > 0 for form in forms for discriminant in discriminants(form, d)):
        return False
    expect(
        not (attention.any() and value.any() and (rank(np.hstack([attention, value.T])) > 1)),
        f"A = {attention.tolist()}, V = {value.tolist()}: neither a limit nor certified to be none",
        Undecided,
    )
    return True


def as_stated(attention: Numbers, value: Numbers) -> bool:
    return not attention.any() or not value.any() or rank(np.hstack([attention, value.T])) == 1


def of_rank_one(attention: Numbers, value: Numbers) -> bool:
    return not attention.any() or not value.any() or rank(attention) == rank(value) == 1


def entries(rows: int, columns: int) -> list[npt.NDArray[np.int64]]:
    """Return all matrices with entries -1, 0, 1."""
    return [np.array(point).reshape(rows, columns) for point in product((-1, 0, 1), repeat=rows * columns)]


def only_these(shape: Shape, alpha: int | None = None, stated: Stated = as_stated) -> str:
    """Return how many weights give limits: only these do, for all `A`, or for those of rank one.

    The latter are products of vectors with such entries.
    """
    d, d_out = shape
    attentions = [p @ q for p in entries(d, 1) for q in entries(1, d)] if alpha == 1 else entries(d, d)
    values = entries(d_out, d)
    count = 0
    for a, v in product(attentions, values):
        limit = is_limit(a, v)
        expect(limit == stated(a, v), f"A = {a.tolist()}, V = {v.tolist()}: a limit of points outside M: {limit}")
        count += limit
    checked = len(attentions) * len(values)
    return Tally(f"d = {d}, d' = {d_out}, entries -1, 0, 1: {count} of {checked} weights give boundary points")


def without_the_printed_hypothesis(d: int, stated: Stated = as_stated) -> str:
    """Return the finding at `a = d' = 1`: limits of both types, and no others among small weights.

    They are limits of sequences whose `A` has rank one.
    """
    h, g, q = ([int(i == j) for i in range(d)] for j in (0, 1, 0))
    for s in (0, 1):
        outside_and_convergent(Sequence(h, g, q, [1], s))
    only_these((d, 1), alpha=1, stated=stated)
    return (
        f"the hypothesis a > 1 or d' > 1 is sufficient, not needed: at d = {d}, a = d' = 1 the same points are limits, "
        "and no others with entries -1, 0, 1"
    )


def width_one(d_out: int, *, expected: bool = True) -> str:
    """Return the finding at d = 1: M is the whole linear space, so it has no relative boundary.

    Still A = h q^T, V = v h^T always.
    """
    phi = one_layer_map(1, d_out, 2)
    found = [str(c.subs({"A_1_1": 1})) for c in product_coefficients(phi).ravel()]
    expect(
        (found == list(phi.weight_names[1:])) == expected, f"d = 1, d' = {d_out}, A = 1: the coefficients are {found}"
    )
    return "the hypothesis d >= 2 is needed: at d = 1, A = 1 and V give every point of the span, so M has no boundary"


CLAIM = Claim(
    id="theorem-3.4-boundary",
    source="Theorem 3.4",
    title=("one layer, d, t >= 2: relative boundary: phi = 0 and A = h q^T, V = v h^T; no more, given Corollary A.6"),
    statement=(
        r"d, t \ge 2,\ (a > 1 \text{ or } d' > 1):\quad \mathcal M \cap \lim\left(\overline{\mathcal M} \setminus"
        r"\mathcal M\right) \supseteq \{0\} \cup \{\varphi_{A,V} : A = h q^\top,\ V = v h^\top\}, \quad"
        r"\text{with equality if } \overline{\mathcal M} \setminus \mathcal M \text{ is as in Corollary A.6}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask. That the points named are limits is an identity, expanded at "
        r"small sizes. That there are no others rests on the form of the points outside $\mathcal M$ in its "
        "closure, which is argued for every size and counted weight by weight over $GF(3)$ only. The hypothesis $a "
        "> 1$ or $d' > 1$ is the paper's, and not needed."
    ),
    place=60,
    rests_on=("corollary-a.6",),
    walk=WalkThrough(r"Where $\mathcal M$ ends although its equations go on.", walk, on=own_weights.kind_of_point),
    parts=(
        Part(
            "conjugate pairs: real, minus squares as discriminants, limit A = h q^T, V = v h^T",
            Scope.IDENTITY,
            shapes,
            conjugate_pairs,
            {"twice h + i eps g": partial(conjugate_pairs, sign=1)},
            instance="d, d'",
        ),
        Part(
            "on M the discriminants are squares, of the 2 x 2 minors of a_k and v_m",
            Scope.IDENTITY,
            shapes,
            squares_on_m,
            {"the other sign": partial(squares_on_m, sign=1)},
            instance="d, d'",
        ),
        Part(
            "rational sequences outside M with limits of each type",
            Scope.INSTANCES,
            rational_sequences,
            outside_and_convergent,
            {
                "g parallel to h": lambda sequence: outside_and_convergent(sequence._replace(g=sequence.h)),
                "the limit V = v g^T": partial(outside_and_convergent, limit_in_g=True),
            },
        ),
        Part(
            "d = 2, entries -1, 0, 1: a positive discriminant at all other points",
            Scope.INSTANCES,
            listed([(2, 1)], [(2, 2)]),
            only_these,
            {"rk A = rk V = 1": partial(only_these, stated=of_rank_one)},
            instance="all weights with d, d'",
        ),
        Part(
            "a = d' = 1, outside the printed hypotheses",
            Scope.INSTANCES,
            lambda quick: (d for d in ((2,) if quick else (2, 3)) if not hypotheses_hold(d, 1, 1)),
            without_the_printed_hypothesis,
            {"rk A = rk V = 1": partial(without_the_printed_hypothesis, stated=of_rank_one)},
        ),
        Part(
            "d = 1: no boundary",
            Scope.IDENTITY,
            lambda quick: (1, 2, 3),
            width_one,
            {"M is not the whole space": partial(width_one, expected=False)},
        ),
    ),
)
