r"""The degree of the closure of $\mathcal M$, by the theorems of `docs/degree.md`; beyond the paper.

The degree is an intersection number on a product of determinantal varieties, or over a variety of flags, divided by
the number of points over a general function. No number that it is compared with passes through it:

* *a linear section*: all points of M in a special linear space, found by linear algebra over the rationals
  (`linear_sections`): the different functions bound the degree from below, all points over them from above.
* *equations*: they vanish on M identically; where the zeros of those found have the dimension of M, the degree of M
  is at most the degree that a Groebner basis gives for them. A linear section bounds it from below.
* *Hilbert's formula* for binary forms with roots of given multiplicities: depth `l`, one token, width two.
* *two roads to the same integral*: a flag that is forced to appear changes the sum over fixed points, not the number.
* *behind a layer of rank one*: the formulas (1) and (2) of the proof, with symbolic weights and inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, factorial, prod

import numpy as np

from lightning_sym import Architecture, Layer, VarietyDegree, equations, forward, variety_degree
from lightning_sym.exact.ideals import size_of_ideal
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import map_entries
from lightning_sym.varieties.cone_bundles import Cone, intersection_number
from proofs_check.blackboard.step import Step, general_coefficients, must, rational, show, table
from proofs_check.claim import (
    Claim,
    Part,
    ProvedBounds,
    Scope,
    Tally,
    Undecided,
    WalkThrough,
    expect,
    expect_equal,
    expect_value,
)
from proofs_check.claims.varieties.linear_sections import degree_bounds, shares_of
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import listed

Stated = Callable[[VarietyDegree], int]


def as_stated(result: VarietyDegree) -> int:
    """Return what the theorem gives."""
    if result.degree is None:
        raise Undecided(f"{result.architecture}: the degree is open: {result.reason}")
    return result.degree


def halving_forgotten(result: VarietyDegree) -> int:
    """Return the intersection number itself."""
    return as_stated(result) * (result.points or 1)


def wrong_binomial(result: VarietyDegree) -> int:
    """Return `C(n + d d', d d')`, one too many, for one layer: as if `V` were not up to scale."""
    d, d_out = result.architecture.widths
    top = result.dimension or 0
    return as_stated(result) * comb(top, d * d_out) // comb(top - 1, d * d_out - 1)


def one_layer(shape: tuple[int, int, int], tokens: int) -> Architecture:
    d, d_out, a = shape
    return Architecture((d, d_out), (a,), tokens)


SECTIONS = listed(
    [
        *(one_layer(s, 2) for s in [(2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 1, 1), (2, 3, 1), (2, 3, 2)]),
        *(one_layer(s, t) for s, t in [((3, 1, 3), 2), ((2, 1, 1), 1), ((2, 2, 1), 1), ((3, 1, 1), 1), ((3, 1, 2), 1)]),
    ],
    [
        *(one_layer(shape, 2) for shape in ((2, 4, 1), (2, 4, 2), (3, 2, 1))),
        *(one_layer(shape, 1) for shape in ((3, 2, 1), (3, 2, 2), (4, 1, 1), (4, 1, 2))),
    ],
)  # where the factors are free: `a = 1`, or all `A` occur


def section(network: Architecture, stated: Stated = as_stated) -> None:
    expect_value(degree_bounds(network), stated(variety_degree(network)), network)


def by_equations(instance: tuple[Architecture, int], stated: Stated = as_stated) -> str:
    """Return the degree found from above by the zeros of equations, from below by a linear section."""
    network, most = instance
    found = equations(network, most)
    ring = PolynomialRing([c.name for c in found.coordinates])
    polynomials = []
    for terms in (terms for some in found.terms.values() for terms in some):
        counted = {tuple(np.bincount(m, minlength=len(ring.names)).tolist()): c for m, c in terms.items()}
        polynomials.append(ring.from_terms(counted))
    size = size_of_ideal(ring, polynomials)
    expect(
        size.dimension == found.dimension,
        f"{network}: the zeros of the equations have dimension {size.dimension}, M {found.dimension}",
        Undecided,
    )
    bounds = ProvedBounds(degree_bounds(network).lower, size.degree)
    expect_value(bounds, stated(variety_degree(network)), network)
    count = "1 equation" if len(polynomials) == 1 else f"{len(polynomials)} equations"
    return Tally(f"{network}: {count} of degree at most {most}, degree {size.degree}")


def binary_forms(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks of width two, one token and one output: every depth, with `a = 1` and `a = 2`."""
    for depth in range(1, 5 if quick else 9):
        for a in (1, 2):
            yield Architecture((*(2,) * depth, 1), (a,) * depth, 1)


def hilbert(network: Architecture, stated: Stated = as_stated, *, triple: bool = True) -> None:
    """Check Hilbert's formula: `s!` times the multiplicities over the symmetries of the root type.

    There are `s` different roots.
    """
    last = 3 if triple else 2
    roots = [3**e for e in range(1, network.depth) for _ in range(2)] + [1] * last
    symmetries = prod(factorial(n) for n in Counter(roots).values())
    degree = factorial(len(roots)) * prod(roots) // symmetries
    expect_equal(degree, stated(variety_degree(network)), at=f"{network}, roots of multiplicities {roots}")
    if degree == 90:
        expect_equal(variety_degree(network).dimension, 6, at=f"{network}, dimension")


def forced_flags(*, quick: bool) -> Iterator[tuple[int, int, Cone, Cone]]:
    """Yield `n`, how much of the space a matrix of this rank and the values use, and the cones of both.

    It is less than all of it.
    """
    for n, rank, symmetric, exponent, rows in product(
        (3, 4) if quick else (3, 4, 5), (1, 2), (False, True), (1, 3), (1, 2)
    ):
        used = rank * (1 if symmetric else 2) + rows
        if used < n:
            matrix = Cone(1, used, rank, exponent, symmetric)
            yield n, used, matrix, Cone(1, used, min(rows, used), 1, rows=rows)


def two_integrals(instance: tuple[int, int, Cone, Cone], shift: int = 0) -> None:
    """Check two integrals: on the flag variety by fixed points, on a product of varieties by degrees.

    The varieties are determinantal.
    """
    n, used, matrix, value = instance
    on_flags = intersection_number([n, used], [matrix, value])
    whole = [Cone(0, n, cone.rank, cone.exponent + shift, cone.symmetric, cone.rows) for cone in (matrix, value)]
    expect_equal(on_flags, intersection_number([n], whole), at=f"n = {n}, {matrix}, {value}")


def behind_rank_one(instance: tuple[int, int, int], power: int = 3) -> None:
    """Check formulas (1) and (2): a layer behind one of rank one enters by its quadratic form of `y`.

    `y` is one vector.
    """
    d, depth, place = instance
    shapes = {"x": (d, 2), "A": (d, d), "v": (1, d), "r": (d, 1), "s": (d, 1)}
    ring, (x, a, v, r, s) = letters_of(shapes)
    one = ring.constants(np.eye(d, dtype=int).astype(object))
    attention = [a] * depth
    attention[place - 1] = r @ s.T
    layers = [Layer(attention[i], one, v if i == depth - 1 else one) for i in range(depth)]
    found: object = forward(x, layers)
    gram = x @ x.T
    if place == 1:
        y, c, behind = gram @ r, s.T @ x, depth - 1
        scalar = (y.T @ a @ y)[0, 0] * (v @ y)[0, 0]
    else:
        y, c, behind = gram @ a @ gram @ a.T @ gram @ r, s.T @ gram @ a @ x, 0
        scalar = (v @ y)[0, 0]
    scalar *= (c @ c.T)[0, 0] ** ((power**behind - 1) // 2)
    stated = map_entries(lambda entry: scalar * entry, c)
    wrong = sum(len(entry) for entry in (found - stated).ravel())
    expect_equal(wrong, 0, at=f"d = {d}, {depth} layers, layer {place} of rank one, terms in the difference")


def walk() -> Iterator[Step]:
    network = Architecture((2, 1), (2,), 2)
    ring, (a, v) = letters_of({"a": (2, 2), "v": (1, 2)})
    products = general_coefficients(a, v)
    yield Step(
        "Functions are products",
        "Let $d = 2$, $d' = 1$, $a = 2$, $t \\ge 2$. Row $k$ has the coefficients of the product of column $k$ "
        "of $A$ with $V$: "
        "every entry is linear in $A$ and linear in $V$, and if neither is zero, some entry is not.",
        (show("\\varphi", products, ring),),
    )
    bounds = degree_bounds(network)
    must(bounds == (4, 4), "there are four points")
    ways = [[int(j in of_a) for j in range(4)] for of_a, _ in shares_of((0, 1, 2, 3), [3, 1])]
    yield Step(
        "A linear space through products",
        "Up to scale $A$ has 3 dimensions, $V$ has 1. Take four equations, each a linear form of $A$ times one "
        "of $V$: "
        "$A$ can satisfy three of them, and then $V$ satisfies the fourth. There are four ways (1: an equation "
        "for $A$), "
        "each has one solution, and all four functions are different. So the degree is at least 4, and no more "
        "points lie over them.",
        (table("\\text{shares}", rational(ways)), show("\\deg \\mathcal M", bounds.lower)),
    )
    must(variety_degree(network).degree == bounds.lower, "the theorem gives the same")
    halved = Architecture((2, 1), (1,), 2)
    section = degree_bounds(halved)
    must(section == (3, 3) and variety_degree(halved).degree == 3, "there are three functions")
    yield Step(
        "Two points over one function",
        "With $a = 1$ the function is $q$ times the product of the linear forms $p$ and $v$, which can change "
        "places. Three equations for three "
        "factors of one dimension each are shared in $3! = 6$ ways, but only half as many functions are different.",
        (show("\\deg \\mathcal M", section.lower),),
    )
    deep = variety_degree(Architecture((2, 2, 1), (1, 1), 1))
    roots = [3, 3, 1, 1, 1]
    same = prod(factorial(roots.count(e)) for e in set(roots))
    count = Fraction(factorial(len(roots)) * prod(roots), same)
    must(deep.degree == count and deep.dimension == 6, "Hilbert's formula agrees")
    yield Step(
        "Two layers, one token",
        "A binary form of degree nine with roots of multiplicities 3, 3, 1, 1, 1: Hilbert counts $5!$ times the "
        "product of the multiplicities, "
        "over $2!\\, 3!$ for equal ones. The intersection number of the theorem, over the three choices of the "
        "value form, is the same.",
        (table("\\text{roots}", rational([roots])), show("\\deg \\mathcal M", count)),
    )


CLAIM = Claim(
    id="degree",
    source="beyond the paper; docs/degree.md, Theorem 1",
    title="the degree of the closure: one layer, every depth at one token, and more",
    statement=(
        r"d \ge 2,\ t \ge 2,\ \nu = a (2d - a) - 1:\quad \deg \mathcal M = \binom{\nu + d d' - 1}{d d' "
        r"- 1}"
        r" \prod_{i=0}^{d-a-1} \binom{d+i}{a} \Big/ \binom{a+i}{a},\ \text{halved if } a = d' = 1;\quad"
        r" t = 1 \text{ or one of the first two layers of rank one}:\ \int \big(\sum_i 3^{l-i} h_i + h_V\big)^D"
        r" \big/ \#\text{fiber}"
    ),
    hypotheses=(
        r"One head, lightning, degree of the Zariski closure; $a$ stands for $\min(a, d)$ in the first formula. The "
        "integral is over the flags with matrices of docs/degree.md, Lemma 1, $D$ is their dimension, and the "
        r"fiber is that of Lemma 3. Proved (Theorem 1). Deeper networks at $t \ge 2$ whose first two layers have "
        "rank two or more are open, but for two layers of full rank (Theorem 2), which is not part of this claim."
    ),
    place=400,
    rests_on=("theorem-3.2",),
    walk=WalkThrough(r"In how many points $\mathcal M$ meets a linear space.", walk),
    parts=(
        Part(
            "one layer: all points of a linear section",
            Scope.EVERY_WIDTH,
            SECTIONS,
            section,
            {
                "the points of the fiber forgotten": partial(section, stated=halving_forgotten),
                "V not up to scale": partial(section, stated=wrong_binomial),
            },
        ),
        Part(
            "one layer: the zeros of equations, and a linear section",
            Scope.INSTANCES,
            listed(
                [
                    (one_layer((2, 1, 1), 2), 2),
                    (one_layer((2, 1, 2), 2), 4),
                    (one_layer((2, 2, 1), 2), 4),
                    (one_layer((2, 2, 2), 2), 4),
                    (one_layer((3, 1, 1), 2), 3),
                    (one_layer((2, 2, 1), 1), 4),
                    (one_layer((3, 1, 1), 1), 4),
                ],
                [(one_layer((2, 3, 1), 2), 4), (one_layer((2, 3, 2), 2), 4)],
            ),
            by_equations,
            {
                "the points of the fiber forgotten": partial(by_equations, stated=halving_forgotten),
                "V not up to scale": partial(by_equations, stated=wrong_binomial),
            },
            instance="network and degree of equations",
        ),
        Part(
            "one token, width two: Hilbert's formula for root types",
            Scope.EVERY_WIDTH,
            binary_forms,
            hilbert,
            {
                "the points of the fiber forgotten": partial(hilbert, stated=halving_forgotten),
                "two simple roots": partial(hilbert, triple=False),
            },
        ),
        Part(
            "narrow widths: an integral over flags, in two ways",
            Scope.INSTANCES,
            forced_flags,
            two_integrals,
            {"other exponents": partial(two_integrals, shift=1)},
            instance="a flag and two cones",
        ),
        Part(
            "behind a layer of rank one, symbolic weights",
            Scope.IDENTITY,
            listed([(2, 2, 1), (2, 2, 2)], [(3, 2, 1), (3, 2, 2)]),
            behind_rank_one,
            {"another power of the scores": partial(behind_rank_one, power=5)},
            instance="width, depth and place",
        ),
    ),
)
