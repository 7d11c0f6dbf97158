"""The same function of two networks: by what their streams have in common, by theorems, or step by step.

Steps lead from one network to the other, of one head a layer, without normalization, mask or skip connections
(docs/certificate.md, section 4).
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import chain

from proofs_check.checker.functions.matrices import rational_matrix, zero
from proofs_check.checker.functions.network import Weights
from proofs_check.checker.functions.proofs import PAIR, PLAIN, PLAIN_PAIR, SAME, about, plain_weights, with_a_form
from proofs_check.checker.functions.rings import RATIONALS, bits_of_sums, is_multiple, symmetric
from proofs_check.checker.functions.theorems import visible_weights
from proofs_check.checker.verify import (
    BITS,
    SIZE,
    SOME,
    Matrix,
    Rows,
    Table,
    need,
    proved,
    rational,
    scratch,
    spend,
    take,
    transposed,
)

times = RATIONALS.times


def _thin(m: Matrix) -> bool:
    """Return whether the rank is at most one: all rows are multiples of one."""
    top, c = next(((row, c) for row in m for c, x in enumerate(row) if x), (m[0], 0))
    return all(row[c] * y == top[c] * x for row in m for x, y in zip(row, top, strict=True))


def _virtual(w: Weights, t: int) -> tuple[list[Matrix], Matrix, int]:
    """Return A~_1, ..., A~_l and V~, and how many of the A~ count with their skew parts."""
    A, V = visible_weights(w)
    thin = [i for i, m in enumerate(A, 1) if _thin(m)]  # as it is behind a product of values of rank one
    return A, V, 0 if t == 1 else [*thin, len(A)][0]


def _group(t: int, first: Weights, second: Weights, C: list[Matrix], G: list[Matrix], x: list[Fraction]) -> str:
    depths = len(first.layers), len(second.layers), len(C), len(G) + 1, len(x)
    need(len(set(depths)) == 1 and all(x), "each layer must have a scale, not 0")
    G = [[], *G, []]  # X_i' = G_i X_i, which is X_i at both ends
    for i, ([(q, k, v, _)], [(q2, k2, v2, _)]) in enumerate(zip(first.layers, second.layers, strict=True)):
        good = is_multiple(times(transposed(C[i]), q2, G[i]), x[i], q)
        good = good and is_multiple(times(k2, G[i]), 1, times(C[i], k))
        good = good and is_multiple(times(G[i + 1], v), x[i], times(v2, G[i]))
        need(good, "the group element must map one network to the other")
    return "group"


def _rescaling(t: int, first: Weights, second: Weights, x: list[Fraction], y: Fraction) -> str:
    depth, (A, V, free), (A2, V2, free2) = len(first.layers), _virtual(first, t), _virtual(second, t)
    good = all(x) and y and depth == len(second.layers) == len(x)
    need(good, "factors must not be zero, one for each layer of both networks")
    powers = [(y, 1), *((z, 3 ** (depth - 1 - i)) for i, z in enumerate(x))]
    size = sum((z.numerator.bit_length() + z.denominator.bit_length() - 2) * e for z, e in powers)
    need(size <= BITS and math.prod(z**e for z, e in powers) == 1, "the factors must multiply to 1, and be short")
    for i in range(depth):
        good = is_multiple(A2[i], x[i], A[i])
        good = good or (i >= max(free, free2) and is_multiple(symmetric(A2[i]), x[i], symmetric(A[i])))
        need(good, f"layer {i + 1} must be rescaled by its factor")
    need(is_multiple(V2, y, V), "the values must be rescaled by their factor")
    return "rescaling"


def _layer(t: int, first: Weights, second: Weights, i: int) -> str:
    good = i <= len(first.layers) == len(second.layers)
    good = good and all(a == b or j == i for j, (a, b) in enumerate(zip(first.layers, second.layers, strict=True), 1))
    need(good, f"there must be a layer {i}, and the other layers must be equal")
    (v, a), (w, b) = (
        (head.v, times(transposed(head.k), head.q)) for (head,) in (first.layers[i - 1], second.layers[i - 1])
    )
    need((len(v), len(a)) == (len(w), len(b)), f"layer {i} must have the same widths")
    d, bits = range(len(a)), max(bits_of_sums(2, v, a), bits_of_sums(2, w, b))
    spend(len(v) * len(d) ** 3 * (40 + (bits // 256) ** 2))
    good = all(
        x[n] * a[h][j] + x[h] * a[n][j] == y[n] * b[h][j] + y[h] * b[n][j]
        for x, y in zip(v, w, strict=True)
        for h in d
        for n in d[: h + 1]
        for j in d
    )  # all that a layer depends on
    need(good, f"the forms of layer {i} must be equal")
    return "layer"


def _zero(t: int, *networks: Weights) -> str:
    for A, V, free in (_virtual(w, t) for w in networks):
        need(any(map(zero, chain([V, *A], map(symmetric, A[free:])))), "both networks must be seen to be zero")
    return "zero"


MOVES: dict[str, Rows] = {
    "zero": (({}, _zero),),
    "layer": (({"layer": SIZE}, _layer),),
    "group": (({"query_key": [rational_matrix], "between": [rational_matrix], "scales": [rational]}, _group),),
    "rescaling": (({"factors": [rational], "value_factor": rational}, _rescaling),),
}
STEP = Table("a step", "step", lambda: MOVES, begin={"to?": PLAIN})


def _links(t: int, here: Weights, last: Weights, steps: list[object]) -> Iterator[str]:
    """Yield what leads from network to network; all but the last step say where to."""
    for j, item in enumerate(steps, 1):
        rest = dict(take(item, "a step", dict))
        there = plain_weights(rest.pop("to", None)) if j < len(steps) else last
        need((there.n, there.m) == (here.n, here.m), f"step {j} must keep the input and output width")
        with scratch():  # what the step makes is gone
            yield proved(STEP, rest, t, here, there)
        here = there


def by_steps(t: int, one: object, other: object, steps: list[object]) -> str:
    """Say what steps lead from one network to the other."""
    name, first, second = about(t, one, other)
    used = ", ".join(_links(t, first, second, steps))
    return f"the same function of {name}; over every field of characteristic 0, by: {used}"


ROWS = (
    (PAIR | {"proof": SAME}, partial(with_a_form, "the same function", SAME)),
    (PLAIN_PAIR | {"steps": [STEP, SOME]}, by_steps),
)
