r"""The moves between virtual weights with one function (Theorem 3.7), as identities in symbolic weights and inputs.

A network is $F(X X^\top) X$ with a matrix $F$ of polynomials. If two agree for $t = d_0$, their $F$ agree, because a
generic $X$ is invertible and every generic symmetric matrix is an $X X^\top$ over $\mathbb{C}$; so they agree for every
$t$. The coefficients are integers, so the identities hold over every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TypeVar

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.protocol import RingMatrix
from lightning_sym.rings.rationals import map_entries
from proofs_check.claim import expect, expect_equal
from proofs_check.ring_matrices import letters_of

M = TypeVar("M", bound=RingMatrix)


def rescaled(depth: int, base: int = 3) -> None:
    """Check Eq. 13 over formal words: for matrices of every shape."""
    x, v, scale = Words.letter("X"), Words.letter("V"), Words.scalar
    attention = [Words.letter(f"A{i}") for i in range(1, depth + 1)]
    changed = [scale(f"c{i}") @ a for i, a in enumerate(attention, start=1)]
    for i in range(1, depth + 1):  # mu is the inverse of the product
        v = scale(f"c{i}", -(base ** (depth - i))) @ v
    after = _compose(x, changed, v, Words.identity())
    expect_equal(str(after), str(_compose(x, attention, Words.letter("V"), Words.identity())), at=f"{depth} layers")


def _compose(x: M, attention: list[M], value: M, one: M) -> M:
    """Return the forward pass of a network with these virtual weights."""
    return forward(x, [Layer(a, one, one) for a in attention[:-1]] + [Layer(attention[-1], one, value)])


def identities(*, quick: bool) -> Iterator[tuple[str, int, int]]:
    """Yield names of the identities, with `d_0` and `t`."""
    shapes = [(2, 1), (2, 2)] if quick else [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2)]
    for name, (d, t) in product(("skew layer", "squares", "swap", "symmetric part", "value zero"), shapes):
        if name != "skew layer" or d == 2:  # one of the two layers is J: its size is two
            yield name, d, t
    yield from (("one token", d, 1) for d in (2, 3))


def identity(instance: tuple[str, int, int], faulty: str = "") -> str | None:
    """Return two networks with one function, all entries variables; one row of V~ is enough, rows do not mix."""
    name, d, t = instance
    sizes = {"M": (d, d), "N": (d, d), "S": (d, d), "R": (d, d), "v": (1, d), "p": (d, 1), "q": (d, 1), "r": (d, 1)}
    ring, (M, N, S, R, v, p, q, r, x) = letters_of({**sizes, "x": (d, t)})
    S, R, wrong = S - S.T, R - R.T, faulty == name
    J = ring.constants([[0, 1], [-1, 0]])
    finding = None
    if name == "skew layer":
        determinant = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
        left, right = (M, J, v), (J, M if wrong else map_entries(lambda entry: determinant * entry, M), v)
    elif name == "squares":
        left, right = (p @ q.T, r @ r.T + S, r.T), (r @ q.T, p @ p.T + R, r.T if wrong else p.T)
    elif name == "swap":
        left, right = (M, p @ q.T, r.T), (M, q @ r.T if wrong else r @ q.T, p.T)
    elif name == "symmetric part":
        first = M if wrong else p @ q.T
        left, right = (first, N, v), (first, N + S, v)
    elif name == "value zero":
        left, right = (M, N, v if wrong else v - v), (M - M, N, v)
        finding = "V~ != 0 is needed: all (A~_1, ..., A~_l, 0) have the function 0"
    else:
        left, right = (M, N, v), (M + S, N + R if not wrong else N.T @ N, v)
        finding = "t >= 2 is needed: with one token only the symmetric parts of the A~_i are visible"
    one = ring.constants(np.eye(d, dtype=int))
    outputs = [_compose(x, [first, second], value, one) for first, second, value in (left, right)]
    expect(np.array_equal(outputs[0], outputs[1]), f"{name}, d_0 = {d}, t = {t}: the functions differ")
    return finding
