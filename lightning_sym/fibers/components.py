"""The families that a fiber is made of: orbits, the zero function, and one layer of one token."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym.exact.rational import rank, rank_one_factors
from lightning_sym.fibers.points import Component, Parameter
from lightning_sym.fibers.virtual_moves import (
    known_partners,
    layers_seen_symmetrically,
    linear_factors,
    symmetric_part,
)
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.rings.arrays import ObjectArray


def orbits(shape: Architecture, virtual: VirtualWeights) -> Iterator[Component]:
    """Yield the rescalings, and what moves lead to."""
    shape.require_plain("the orbits of a fiber")
    for path in known_partners(virtual, shape.tokens):
        steps = tuple(move.described(shape.depth) for move, _ in path)
        description = f"the same for the weights with {'; then '.join(steps)}" if steps else ""
        yield orbit(shape, path[-1][1] if path else virtual, description, steps)


def orbit(shape: Architecture, point: VirtualWeights, description: str, steps: tuple[str, ...] = ()) -> Component:
    """Return all that rescalings, and skew-symmetric parts that do not matter, lead to."""
    shape.require_plain("an orbit of a fiber")
    depth, d = shape.depth, shape.widths[0]
    generators: tuple[str, ...]
    if depth == 1:
        family, generators = "(lambda A, V / lambda)", ("A -> lambda A, V -> V / lambda",)
    else:
        family = "(lambda_i A~_i, mu V~) with mu prod lambda_i^(3^(l-i)) = 1"
        generators = tuple(f"A~{i} -> lambda A~{i}, V~ -> lambda^-{3 ** (depth - i)} V~" for i in range(1, depth + 1))
    hidden = [i for i, seen in enumerate(layers_seen_symmetrically(point, shape.tokens), start=1) if seen]
    if hidden and d > 1:
        names = ", ".join(f"A~{i}" for i in hidden)
        family += f", any skew-symmetric matrix added to {names}"
        generators += tuple(f"A~{i} -> A~{i} + skew" for i in hidden)
    dimension = depth + len(hidden) * d * (d - 1) // 2
    parameters = _scales(depth) + tuple(_parameter("skew", i, depth) for i in hidden if d > 1)
    return Component(description or family, (*steps, *generators), dimension, point, parameters)


def _parameter(kind: str, layer: int, depth: int) -> Parameter:
    """Return a parameter by its usual name: `lam`, `S`, `A`, `V`, `p`, `q`, and the layer if there are several."""
    letter = {"scale": "lam", "skew": "S", "any": "A" if layer else "V", "left": "p", "right": "q"}[kind]
    return Parameter(letter if depth == 1 or not layer else f"{letter}_{layer}", kind, layer)


def _scales(depth: int) -> tuple[Parameter, ...]:
    return tuple(_parameter("scale", i, depth) for i in range(1, depth + 1))


def zero_function(shape: Architecture, virtual: VirtualWeights) -> tuple[tuple[Component, ...], str, str]:
    """Return every way to be zero, from the criterion at the head of `fiber`."""
    shape.require_plain("the fiber of the zero function")
    depth, d, d_out = shape.depth, shape.widths[0], shape.widths[-1]
    square, skew, values = d * d, d * (d - 1) // 2, d * d_out
    zero = np.full((d, d), Fraction(0), dtype=object)

    def replaced(i: int, matrix: ObjectArray) -> VirtualWeights:
        return VirtualWeights((*virtual.attention[: i - 1], matrix, *virtual.attention[i:]), virtual.value)

    no_value = VirtualWeights(virtual.attention, np.full_like(virtual.value, Fraction(0)))
    free_layers = {i: _parameter("any", i, depth) for i in range(1, depth + 1)}
    free_value = _parameter("any", 0, depth)

    def but(*layers: int) -> tuple[Parameter, ...]:
        return (*(each for i, each in free_layers.items() if i not in layers), free_value)

    everything = tuple(free_layers.values())
    components = [Component("V~' = 0, the rest any", ("everything but V~",), depth * square, no_value, everything)]
    for i in range(1, depth + 1):
        what, own = ("skew-symmetric", skew) if shape.tokens == 1 and d > 1 else ("= 0", 0)
        free = own + (depth - 1) * square + values
        components.append(
            Component(
                f"A~{i}' {what}, the rest any", (f"everything but A~{i}",), free, replaced(i, zero),
                (*((_parameter("skew", i, depth),) if own else ()), *but(i)),
            )
        )  # fmt: skip
    if shape.tokens > 1 and d > 1:
        for i in range(1, depth):
            one = zero.copy()
            one[0, 0] = Fraction(1)
            for j in range(i + 1, depth + 1):
                point = VirtualWeights(
                    tuple(one if k == i else zero if k == j else a for k, a in enumerate(virtual.attention, start=1)),
                    virtual.value,
                )
                description = f"rk A~{i}' <= 1 and A~{j}' skew-symmetric, the rest any"
                moving = (f"A~{i} of rank one", f"A~{j} skew-symmetric", "everything else")
                free = (2 * d - 1) + skew + (depth - 2) * square + values
                kinds = (("left", i), ("right", i), ("skew", j))
                parameters = (*(_parameter(kind, layer, depth) for kind, layer in kinds), *but(i, j))
                components.append(Component(description, moving, free, point, parameters))
    if depth == 1 and shape.tokens > 1:
        return tuple(components), "Theorem 3.2, case 2", "A = 0 or V = 0"
    return tuple(components), "the zero function", "V~ = 0, or a score that vanishes for every input"


def one_token(virtual: VirtualWeights) -> Iterator[Component]:
    r"""Yield one layer, one token: all ways to write $(x^\top A x)\, V x$, which is not zero, as such a product.

    The quadratic form `q` is determined up to scale if the rows of `V` have no common factor, that is if
    $\operatorname{rk} V \ge 2$. Otherwise $V = v w^\top$, and the new form is any product of two of the three linear
    factors of $q(x)\, w^\top x$; `q` has linear factors over the reals iff it has rank one, or rank two and is
    indefinite.
    """
    form, value = symmetric_part(virtual.attention[0]), virtual.value
    d = form.shape[0]
    dimension = 1 + d * (d - 1) // 2
    moves = ("A -> A + skew", "A -> lambda A, V -> V / lambda") if d > 1 else ("A -> lambda A, V -> V / lambda",)
    parameters = _scales(1) + ((_parameter("skew", 1, 1),) if d > 1 else ())
    yield Component("(lambda A + skew, V / lambda)", moves, dimension, virtual, parameters)
    if rank(value) > 1:
        return
    v, w = rank_one_factors(value)
    split = linear_factors(form)
    if split is None:
        return
    if not isinstance(split, tuple):
        for sign in "+-":
            description = f"as above, V's linear form exchanged with the factor m {sign} sqrt({split}) n of x^T A x"
            yield Component(description, moves, dimension, None)
        return
    first, second = split
    pairs = [(first, second)] if rank(np.stack([first, second])) == 1 else [(first, second), (second, first)]
    for kept, given in pairs:
        if rank(np.stack([given, w])) == 2:
            point = VirtualWeights((symmetric_part(np.outer(kept, w)),), np.outer(v, given))
            linear = " + ".join(f"{c} x_{i}" for i, c in enumerate(given, start=1) if c)
            description = f"as above, V's linear form exchanged with the factor {linear} of x^T A x"
            yield Component(description, moves, dimension, point, parameters)
