"""Two networks of one head a layer, without normalization, mask or skip connections (docs/certificate.md, section 4).

The same function is shown by steps from one network to the other, different functions by an input.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import chain
from typing import Any

from proofs_check.checker.functions.matrices import table, zero
from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.functions.rings import RATIONALS, Residues, bits_of_sums, is_multiple, symmetric
from proofs_check.checker.functions.theorems import visible_weights
from proofs_check.checker.verify import (
    BITS,
    LAYERS,
    LONG,
    SIZE,
    Matrix,
    fields,
    keep,
    need,
    odd_prime,
    rational,
    scratch,
    spend,
    take,
    transposed,
)

times = RATIONALS.times


def _weights(data: Any) -> Network:
    """Return weights that are named Q1, K1, V1, Q2, ..."""
    depth = max(1, len(data) // 3 if type(data) is dict else 1)
    take(data, "weights", {f"{s}{i}": object for i in range(1, depth + 1) for s in "QKV"})
    need(depth <= LAYERS, f"the shapes of weights must fit, in at most {LAYERS} layers")
    return Network(data, Form())


def _thin(m: Matrix) -> bool:
    """Whether the rank is at most one: all rows are multiples of one."""
    top, c = next(((row, c) for row in m for c, x in enumerate(row) if x), (m[0], 0))
    return all(row[c] * y == top[c] * x for row in m for x, y in zip(row, top, strict=True))


def _virtual(w: Network, t: int) -> tuple[list[Matrix], Matrix, int]:
    """Return A~_1, ..., A~_l and V~, and how many of the A~ count with their skew parts."""
    A, V = visible_weights(w)
    thin = [i for i, m in enumerate(A, 1) if _thin(m)]  # as it is behind a product of values of rank one
    return A, V, 0 if t == 1 else [*thin, len(A)][0]


def _group(t: int, first: Network, second: Network, C: list[Matrix], G: list[Matrix], x: list[Fraction]) -> None:
    depths = len(first.layers), len(second.layers), len(C), len(G) + 1, len(x)
    need(len(set(depths)) == 1 and all(x), "each layer must have a scale, not 0")
    G = [[], *G, []]  # X_i' = G_i X_i, which is X_i at both ends
    for i, ([(q, k, v, _)], [(q2, k2, v2, _)]) in enumerate(zip(first.layers, second.layers, strict=True)):
        good = is_multiple(times(transposed(C[i]), q2, G[i]), x[i], q)
        good = good and is_multiple(times(k2, G[i]), 1, times(C[i], k))
        good = good and is_multiple(times(G[i + 1], v), x[i], times(v2, G[i]))
        need(good, "the group element must map one network to the other")


def _rescaling(t: int, first: Network, second: Network, x: list[Fraction], y: Fraction) -> None:
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


def _layer(t: int, first: Network, second: Network, i: int) -> None:
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


def _zero(t: int, *networks: Network) -> None:
    for A, V, free in (_virtual(w, t) for w in networks):
        need(any(map(zero, chain([V, *A], map(symmetric, A[free:])))), "both networks must be seen to be zero")


PROOFS: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
    "zero": (_zero, {}),
    "layer": (_layer, {"layer": SIZE}),
    "group": (_group, {"query_key": [table], "between": [table], "scales": [rational]}),
    "rescaling": (_rescaling, {"factors": [rational], "value_factor": rational}),
}


def _pair(data: Any, more: dict[str, Any]) -> tuple[str, int, Network, Network, list[Any]]:
    """Return what a certificate is about, in words, its tokens and networks, and what else it has."""
    t, first, second, *rest = fields(data, {"tokens": SIZE, "first": _weights, "second": _weights} | more)
    need((first.n, first.m) == (second.n, second.m), "both networks must have the same input and output width")
    widths = " and ".join(",".join(map(str, w.widths)) for w in (first, second))
    name = f"{t} tokens, for one-head lightning attention without mask or skip, of widths {widths}"
    return name, t, first, second, rest


def same_by_steps(data: Any) -> str:
    """Say what steps lead from one network to the other."""
    name, t, here, second, (steps,) = _pair(data, {"steps": [dict]})
    for j, item in enumerate(steps, 1):
        need(str(item.get("step")) in PROOFS, f"there must be a step of this name, one of {', '.join(PROOFS)}")
        prove, form = PROOFS[item["step"]]
        there = _weights(item.pop("to", None)) if j < len(steps) else second
        need((there.n, there.m) == (here.n, here.m), f"step {j} must keep the input and output width")
        with scratch():  # what the step makes is gone
            prove(t, here, there, *take(item, f"step {j} of {len(steps)}", {"step": str} | form)[1:])
        here = there
    used = ", ".join(item["step"] for item in steps)
    need(used, "there must be a step")
    return f"the same function of {name}; over every field of characteristic 0, by: {used}"


def different_plainly(data: Any) -> str:
    """Say where outputs for an input differ."""
    name, t, *networks, (x, p) = _pair(data, {"input": object, "prime": (odd_prime,)})
    x, ring = take(x, "the input", [[range(1 - LONG, LONG), t], networks[0].n]), Residues(p) if p else RATIONALS
    outputs = []
    for w in networks:
        y = x
        for (head,) in w.layers:
            keep(sum(64 * len(m) * (2 + len(m[0])) for m in head[:3]))
            q, k, v = ([[ring.of(z) for z in row] for row in m] for m in head[:3])
            y = ring.times(v, y, transposed(y), transposed(k), q, y)
        outputs.append(y)
    need(not is_multiple(outputs[0], 1, outputs[1]), "the outputs must differ, they are equal")
    where = f"over the rationals{f' and modulo {p}' * bool(p)}"
    return f"different functions of {name}; their outputs differ at an input, {where}"
