r"""Conjecture 3.10, Eq. 16: deep normalized networks, here with softmax.

For $t \ge 2$ the generic fiber in virtual weights is a single point; hence for bottleneck widths ($d_i = \delta$ for
$0 < i < l$ and $d_0, d_l \ge \delta$) the dimension is that of Eq. 14 without $- l$. Unlike there, attention matrices
of rank one are allowed.

The fiber: a theorem, docs/softmax-fibers.md, Theorem 1. If $\tilde V \ne 0$ and no form $x^\top \tilde A_i x$,
$i < l$, is zero, weights with the same function have the same virtual weights, for every depth, all widths, all $a_i$
and every $t \ge 2$; at $t \ge 3$ it is enough that no $\tilde A_i$, $i < l$, is zero. Here all weights with entries
-1, 0, 1 of small networks are put side by side, degenerate ones too, and told apart by Taylor series in which no
virtual weights occur.

The dimension: the function depends on the virtual weights alone, and they do not change along the orbits of the basis
changes inside and between layers (Eq. 9), so
$\dim \mathcal M \le \dim \{\text{virtual weights}\} \le \#\text{parameters} - \dim(\text{orbit})$. Where the ends are
equal, generic fibers of virtual weights $\mapsto$ function have dimension zero, by computation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from lightning_sym import SOFTMAX, Architecture, Normalization
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.symmetries.families import orbit_dimension_at
from proofs_check.blackboard import own_weights
from proofs_check.boxes import Stack, compare, fingerprints, small_matrices
from proofs_check.certificates import itself_by_orbit, itself_if
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Scope,
    Tally,
    WalkThrough,
    dimension_by_orbit,
    expect_dimension,
    expect_less,
    expect_value,
    meeting_bounds,
    spell,
)
from proofs_check.claims.deep.corollary_3_8 import printed_formula as equation_14
from proofs_check.claims.normalized.conjecture_3_10.walk import walk
from proofs_check.finite_matrices import Integers
from proofs_check.samples import random_bottlenecks
from proofs_check.visible import up_to_the_first_blind, virtual_of


def equation_16(network: Architecture, rescalings: int = 0) -> int:
    """Return the value of Eq. 14 without $- l$, or with so many rescalings a layer."""
    return equation_14(network) + (1 - rescalings) * network.depth


def hypotheses_hold(network: Architecture) -> bool:
    d, delta = network.widths, min(network.widths)
    return all(x == delta for x in d[1:-1]) and network.tokens >= 2


def sized(normalization: Normalization = SOFTMAX, *, quick: bool) -> Iterator[Architecture]:
    """Yield networks with equal inner widths, other hypotheses holding or not; ranks below and above the widths."""
    for depth in (1, 2, 3):
        for delta, extra_in, extra_out in product((1, 2) if quick else (1, 2, 3), (0, 1), (0, 1)):
            for ranks in product((1, 2, 4) if depth < 3 else (1, 2), repeat=depth):
                widths = (delta + extra_in, *(delta,) * (depth - 1), delta + extra_out)
                if not quick or depth < 3 or (extra_in, extra_out) in {(0, 0), (1, 1)}:
                    yield Architecture(widths, ranks, 2 + sum(ranks) % 2, normalization=normalization)


def deep(*, quick: bool) -> Iterator[Architecture]:
    yield from (n for n in sized(quick=quick) if n.depth > 1)
    more = [((3, 3, 3), (2, 5), 3), ((4, 3, 3, 5), (2, 1, 3), 3)]
    if not quick:
        more += [((2, 2, 2, 2, 2), (2, 1, 2, 3), 2), ((4, 4, 4, 4), (2, 3, 1), 2), ((6, 5, 6), (3, 9), 4)]
    yield from (Architecture(widths, ranks, tokens, normalization=SOFTMAX) for widths, ranks, tokens in more)


def instances(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks where the hypotheses hold.

    At the full size also random shapes with inner widths from four to eight.
    """
    yield from filter(hypotheses_hold, deep(quick=quick))
    if not quick:
        yield from random_bottlenecks(30, 20261121, fits=hypotheses_hold, normalization=SOFTMAX)


def check(network: Architecture, formula: Formula = equation_16) -> str | None:
    expect_dimension(dimension_by_orbit(network), formula(network))
    alpha = [min(a, d) for a, d in zip(network.attention_ranks, network.widths, strict=False)]
    if alpha[0] == 1 and max(alpha) > 1:
        return "no rank needs to be two: Eq. 16 holds at a_1 = 1 with a later a_i >= 2, where Eq. 14 is too large"
    return None


def finite_fibers(network: Architecture, rescalings: int = 0) -> None:
    """Check that an orbit of basis changes has the dimension of the generic fiber of weights, in which it lies."""
    p = PRIMES[0]
    weights = random_weights(network, np.random.default_rng(0), p)
    orbit = orbit_dimension_at(network, weights, np.random.default_rng(1), p)
    found = dimension_by_orbit(network)
    fiber = network.parameter_count - meeting_bounds(found.lower, found.upper, network)
    expect_value(ProvedBounds(orbit, fiber), fiber - rescalings * network.depth, at=f"{network}, dimension of an orbit")


def small_shapes(*, quick: bool) -> Iterator[Architecture]:
    """Yield bottlenecks, and wider networks: ranks below, at and above the widths."""
    shapes = [((1, 1), (2,)), ((2, 1), (1,)), ((1, 2), (1,)), ((1, 1, 1), (1, 1))]
    if not quick:
        shapes += [
            ((1, 1, 1), (1, 2)),
            ((2, 1, 1), (1, 1)),
            ((1, 1, 1, 1), (1, 1, 1)),
            ((2, 2), (1,)),
            ((1, 2, 1), (1, 1)),
        ]
    for (widths, ranks), tokens in product(shapes, (2, 3)):
        yield Architecture(widths, ranks, tokens, normalization=SOFTMAX)


def all_small_weights(network: Architecture, keys: Callable[..., list[bytes]] = up_to_the_first_blind) -> str:
    """Check weights with entries -1, 0, 1: equal functions exactly where the visible virtual weights are equal."""
    choices = [small_matrices(*size, (-1, 0, 1)) for _, size in network.weight_shapes()]
    places = np.indices(tuple(map(len, choices))).reshape(len(choices), -1)
    stack = Stack(network, tuple(m[i] for m, i in zip(choices, places, strict=True)))

    def name(number: int) -> str:
        return f"{network}, weights {', '.join(spell(m[number].tolist()) for m in stack.weights)}"

    visible = keys(virtual_of(stack), network.tokens, network.causal)
    found = compare(fingerprints(stack, 2 * 3 ** (network.depth - 1) + 1), visible, name)
    return Tally(f"{network}: {found}")


def symmetric_parts(virtual: Sequence[Integers], tokens: int, causal: bool) -> list[bytes]:
    """Return a fault: of attention matrices only the quadratic form is seen."""
    *attention, value = virtual
    return up_to_the_first_blind([*(m + m.mT for m in attention), value], tokens, causal)


def one_token(*, quick: bool) -> Iterator[Architecture]:
    for widths in [(2, 2, 2), (3, 2, 3), (2, 2, 2, 2)] if quick else [(2, 2, 2), (3, 2, 3), (4, 3, 5), (3, 2, 2, 2)]:
        for a in (1, 2):
            yield Architecture(widths, (a,) * (len(widths) - 1), 1, normalization=SOFTMAX)


def linear_only(network: Architecture, *, attention: bool = False) -> str:
    """Check that one token attends to itself with weight one: the function is the linear map V~ of rank delta."""
    d, delta = network.widths, network.widths[1]
    expect_dimension(dimension_by_orbit(network), equation_16(network) if attention else delta * (d[0] + d[-1] - delta))
    return "t >= 2 is needed: at t = 1 the function is the linear map V~, attention matrices are invisible"


def narrow(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks whose input is narrower than the layers behind it."""
    for widths in [(1, 2, 2), (2, 3, 2), (2, 3, 3)] + ([] if quick else [(1, 3, 3), (2, 4, 3), (2, 3, 3, 3)]):
        for ranks in product((1, 2), repeat=len(widths) - 1):
            yield Architecture(widths, ranks, 2, normalization=SOFTMAX)


def cut_to_the_input(network: Architecture) -> Architecture:
    first, *inner, last = network.widths
    return replace(network, widths=(first, *(min(first, d) for d in inner), last))


def too_large(network: Architecture, formula: Formula = equation_16) -> str:
    found = dimension_by_orbit(network)
    expect_less(ProvedBounds.of(found), formula(network), at=network)
    expect_dimension(found, equation_16(cut_to_the_input(network)))
    return "d_0 >= delta is needed: with a narrower input Eq. 16 is too large; with d_i cut to d_0 it is right again"


def narrow_output(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks whose output is narrower than the layers before it; the last one has many ranks, or one."""
    yield from (Architecture((d, 3, 1), (2, a), 2, normalization=SOFTMAX) for d in (3, 4) for a in (1, 2))
    yield Architecture((5, 4, 1), (1, 1), 2, normalization=SOFTMAX)
    if not quick:
        yield from (Architecture((6, 5, 2), (1, a), 2, normalization=SOFTMAX) for a in (1, 2))


def output_may_be_narrow(network: Architecture, *, everywhere: bool = False) -> str:
    """Check that Eq. 16 holds below the printed bound while the last layer, 2 a_l + d_l forms, sees all before."""
    d, rank = network.widths, network.attention_ranks[-1]
    found, stated = dimension_by_orbit(network), equation_16(network)
    if everywhere or d[0] == d[1] or 2 * rank + d[-1] >= d[1]:
        expect_dimension(found, stated)
        return "d_l >= delta is sufficient, not needed: Eq. 16 holds if d_0 = delta or 2 a_l + d_l >= delta (l = 2)"
    expect_less(ProvedBounds.of(found), stated, at=network)
    return (
        f"without it Eq. 16 can fail: widths {','.join(map(str, d))}, ranks {network.attention_ranks[0]},{rank}: "
        f"{ProvedBounds.of(found)}, not {stated}"
    )


CLAIM = Claim(
    id="conjecture-3.10",
    source="Conjecture 3.10, Eq. 16",
    title=(
        "deep softmax networks, t >= 2: the generic fiber in virtual weights is a point; for bottleneck "
        "widths the dimension is that of Eq. 14 without - l"
    ),
    statement=(
        r"t \ge 2,\ \tilde V \ne 0,\ x^\top \tilde A_i x \ne 0\ (i < l) \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W"
        r" \Leftrightarrow (\tilde A', \tilde V') = (\tilde A, \tilde V)\right);\quad "
        r"t \ge 2,\ d_i = \delta\ (0 < i < l),\ d_0, d_l \ge \delta \;\Rightarrow\;"
        r"\dim \mathcal M = \sum_{i=1}^l \alpha_i (2 d_{i-1} - \alpha_i) + \delta (d_0 + d_l - \delta)"
    ),
    hypotheses=(
        r"$S = \exp$, one head, no mask, no skip connection, networks of one depth; $\alpha_i = \min(a_i, "
        "d_{i-1})$. Proved for every depth and all widths (docs/softmax-fibers.md, Theorem 1 and Corollary 2). At "
        r"$t = 1$ no $\tilde A_i$ is seen. Where inputs or outputs are narrower than the layers between them Eq. 16 "
        "can be false; the claim softmax-all-widths has the dimension for all widths. For other $S$ see the claim "
        "softmax-normalizers."
    ),
    place=160,
    rests_on=("lemma-3.5", "softmax-fibers"),
    walk=WalkThrough(
        "Basis changes between layers stay invisible. Everything else is read off, one layer after the other.",
        walk,
        on=own_weights.softmax_layers,
    ),
    parts=(
        Part(
            "all weights with entries -1, 0, 1: equal functions exactly for equal visible virtual weights",
            Scope.EVERY_WIDTH,
            small_shapes,
            all_small_weights,
            {
                "quadratic forms only": partial(all_small_weights, keys=symmetric_parts),
                "without the last matrix": partial(
                    all_small_weights,
                    keys=lambda virtual, tokens, causal: up_to_the_first_blind(
                        [*virtual[:-2], virtual[-1]], tokens, causal
                    ),
                ),
            },
        ),
        Part(
            "Eq. 16 for bottleneck widths",
            Scope.GENERIC,
            instances,
            check,
            {
                "Eq. 14, with the rescalings": partial(check, formula=partial(equation_16, rescalings=1)),
                "one more": partial(check, formula=lambda n: equation_16(n) + 1),
            },
            certifies=itself_by_orbit,
            at=itself_if(
                lambda n: n.normalization is SOFTMAX and n.depth > 1 and hypotheses_hold(n), {"normalization"}
            ),
        ),
        Part(
            "generic fibers in virtual weights are finite",
            Scope.GENERIC,
            instances,
            finite_fibers,
            {"one rescaling a layer": partial(finite_fibers, rescalings=1)},
            certifies=itself_by_orbit,
        ),
        Part(
            "one token: a linear map",
            Scope.GENERIC,
            one_token,
            linear_only,
            {"Eq. 16 at t = 1": partial(linear_only, attention=True)},
            certifies=itself_by_orbit,
        ),
        Part(
            "too large when the input is narrower than the layers behind it",
            Scope.GENERIC,
            narrow,
            too_large,
            {"widths cut to d_0": partial(too_large, formula=lambda n: equation_16(cut_to_the_input(n)))},
            certifies=itself_by_orbit,
        ),
        Part(
            "outputs narrower than the layers before",
            Scope.GENERIC,
            narrow_output,
            output_may_be_narrow,
            {"Eq. 16 at every output width": partial(output_may_be_narrow, everywhere=True)},
            certifies=itself_by_orbit,
        ),
    ),
)
