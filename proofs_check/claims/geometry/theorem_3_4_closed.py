r"""Theorem 3.4, first statement: the neuromanifold of one layer is closed: the projective map has no base points.

For $t \ge 2$ the functions $\varphi_{A,V}(X) = V X X^\top A X$ vanish only if $A = 0$ or $V = 0$, over the complex
numbers as well. With $a_k$ the columns of $A$ and $v_m$ the rows of $V$ the coefficients $b_{km,pq}$ of $x_p x_q$ in
$a_k v_m$ are coefficients of $\varphi$, and

$$ (A_{pk} V_{mq})^2 = A_{pk} V_{mq}\, b_{km,pq} - b_{km,pp}\, b_{km,qq} \quad (p \ne q), \qquad
   A_{pk} V_{mp} = b_{km,pp} . $$

So a zero of all coefficients has $A_{pk} V_{mq} = 0$ for all $p, k, m, q$. Hence $(A, V) \mapsto \varphi_{A,V}$ is
defined everywhere on the product of the two projective spaces, which is compact; the matrices of rank at most $a$ are
closed in it; so the projective image is closed, and $\mathcal M$, the cone over it, is closed (Corollary A.1, where
compactness is replaced by an exact inequality). What is checked are the identities, at the shapes below; compactness is
an argument, and so is that other shapes look the same, since the identity sees no more than two indices $p, q$.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from lightning_sym import PolynomialMap, forward
from lightning_sym.exact.ideals import is_in_radical
from lightning_sym.network.one_layer import attention_layer_weights, product_coefficients, quadratic_monomials
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough, expect
from proofs_check.claims.geometry.corollary_a_1 import norm_identity, norm_shapes, walk
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import listed

Shape = tuple[int, int, int]


def hypotheses_hold(shape: Shape) -> bool:
    """Return whether there are two tokens or more: at `t = 1` only `x^T A x` is seen.

    Skew-symmetric matrices are lost then, which exist unless `d = 1`.
    """
    _, _, tokens = shape
    return tokens >= 2


def symbolic_shapes(*, quick: bool) -> list[Shape]:
    return [*(product((1, 2), (1, 2), (2,)) if quick else product((1, 2, 3), (1, 2), (2, 3))), (3, 1, 2)]


def squares_in_the_ideal(shape: Shape, power: int = 2, correction: int = 1) -> None:
    """Check the cofactors: each product of an entry of A and one of V, squared, combines the coefficients."""
    d, d_out, _ = shape
    phi, _, a, v = symbolic_layer(*shape)
    b = product_coefficients(phi)
    at = {pair: n for n, pair in enumerate(quadratic_monomials(d))}
    for k, m, p, q in np.ndindex(d, d_out, d, d):
        entry = a[p, k] * v[m, q]
        found = b[k, m, at[min(p, q), max(p, q)]] * entry ** (power - 1)
        if p != q:
            found -= correction * b[k, m, at[p, p]] * b[k, m, at[q, q]]
        expect(
            entry**power == found,
            f"d, d', t = {shape}: (A_{p + 1}{k + 1} V_{m + 1}{q + 1})^{power} is not the combination stated",
        )
    bilinear_in_weights(phi, shape)


def bilinear_in_weights(phi: PolynomialMap, shape: Shape) -> None:
    """Check the converse, that A = 0 or V = 0 makes phi vanish.

    Every coefficient has degree one in A and degree one in V.
    """
    entries_of_a = shape[0] ** 2
    for coefficient in phi.ring_coefficients().values():
        for exponents in coefficient.monoms():
            if (sum(exponents[:entries_of_a]), sum(exponents[entries_of_a:])) != (1, 1):
                raise Refutation(f"d, d', t = {shape}: the coefficient {coefficient} is not bilinear")


def base_locus(shape: Shape) -> None:
    """Check the same on another road: radical membership, by Groebner bases over Q of all coefficients.

    It is decided both ways.
    """
    d, d_out, _ = shape
    phi, ring, a, v = symbolic_layer(*shape)
    ideal = list({str(c): c for c in phi.ring_coefficients().values()}.values())
    for p, k, m, q in np.ndindex(d, d, d_out, d):
        expect(
            is_in_radical(ring, a[p, k] * v[m, q], ideal),
            f"d, d', t = {shape}: phi = 0 does not force A_{p + 1}{k + 1} V_{m + 1}{q + 1} = 0, over C",
        )


def skew_matrices_are_base_points(shape: Shape, sign: int = -1) -> str | None:
    """Return the finding just outside: at t = 1 a non-zero A with phi = 0 for symbolic V.

    At t = 2 phi is not zero.
    """
    d, d_out, _ = shape
    if d == 1:
        base_locus(shape)
        return "the hypothesis t >= 2 is sufficient, not needed at d = 1: no base points there for t = 1 either"
    skew = np.zeros((d, d), dtype=int)
    skew[0, 1], skew[1, 0] = 1, sign
    for tokens in (1, 2):
        ring, (v, x) = letters_of({"V": (d_out, d), "x": (d, tokens)})
        phi = forward(x, [attention_layer_weights(ring.constants(skew), v)])
        expect(
            phi.any() == (tokens == 2),
            f"d, d', t = {(d, d_out, tokens)}, A = {skew.tolist()}, V symbolic: phi = {phi.tolist()}",
        )
    if (d, d_out) != (2, 1):
        return None
    return f"t >= 2 is needed for d >= 2: at t = 1, A = {skew.tolist()} gives phi = 0 for every V, a base point"


CLAIM = Claim(
    id="theorem-3.4-closed",
    source="Theorem 3.4, Eq. 19",
    title="one layer, t >= 2: phi = 0 only if A = 0 or V = 0, which is why M is closed",
    statement=(
        r"t \ge 2 \;\Rightarrow\; \left(\varphi_{A,V} = 0 \iff A = 0 \text{ or } V = 0\right) \text{ over } \mathbb C;"
        r"\quad \text{so } \mathcal M \text{ is closed in the Euclidean topology, by compactness}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask, every $a$. At $t = 1$ it is false for skew-symmetric $A$. The "
        "identities are expanded at small sizes; each is about two indices of $A$ and $V$, so it is the same at "
        r"every size. That $\mathcal M$ is closed follows by compactness, which is an argument and no computation."
    ),
    place=50,
    rests_on=("corollary-a.1",),
    walk=WalkThrough("Limits of functions of a layer are functions of a layer.", walk),
    parts=(
        Part(
            "(A_pk V_mq)^2 is in the ideal of the coefficients, with cofactors",
            Scope.IDENTITY,
            lambda quick: filter(hypotheses_hold, symbolic_shapes(quick=quick)),
            squares_in_the_ideal,
            {
                "first powers": partial(squares_in_the_ideal, power=1),
                "the second product left out": partial(squares_in_the_ideal, correction=0),
            },
            instance="d, d', t",
        ),
        Part(
            "the base locus is {A = 0} and {V = 0}, by Groebner bases",
            Scope.IDENTITY,
            listed([(1, 1, 2), (2, 1, 2), (2, 2, 2)], [(1, 2, 3), (2, 1, 3), (2, 2, 3), (3, 1, 2)]),
            base_locus,
            {"one token": lambda shape: base_locus((*shape[:2], 1))},
            instance="d, d', t",
        ),
        Part(
            "2 |phi|^2 = |A|^2 |V|^2 + |V A|^2: bounded functions have bounded weights",
            Scope.IDENTITY,
            norm_shapes,
            norm_identity,
            {"|V A| left out": partial(norm_identity, extra=0)},
            instance="d, d'",
        ),
        Part(
            "one token: skew-symmetric A are base points",
            Scope.INSTANCES,
            listed(product((1, 2, 3), (1, 2), (1,))),
            skew_matrices_are_base_points,
            {"symmetric A": partial(skew_matrices_are_base_points, sign=1)},
            instance="d, d', t",
        ),
    ),
)
