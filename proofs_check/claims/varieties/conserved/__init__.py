r"""Quantities that gradient flow keeps: which they are, and how many.

Along $W' = -\nabla L$ the moments of linear symmetries are kept, for every loss and all data: $Q Q^\top - K K^\top$,
between layers what is written less what is read, $V V^\top - O^\top O$ for each head. Their number is the number of
parameters less the rank of the Lie algebra that gradients generate (Marcotte, Gribonval and Peyré). That each is kept
is expanded as a polynomial identity on small networks. The numbers are those of two bounds that meet; no formula enters
either of them. For one layer and any width `docs/conserved.md`, Theorems 7 and 8, prove the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Architecture, conserved_quantities
from lightning_sym.network.attention import form_of, network_output
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.symmetries.moments import MatrixKind, Quantity, Term, moments_of
from proofs_check.claim import (
    Claim,
    Part,
    ProvedBounds,
    Scope,
    Undecided,
    WalkThrough,
    expect,
    expect_value,
)
from proofs_check.claims.varieties.conserved.walk import walk
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import Dice, distinct, listed

Change = Callable[[Quantity], Quantity]


class KeptQuantity(NamedTuple):
    """One quantity of one network."""

    network: Architecture
    place: int


def same(quantity: Quantity) -> Quantity:
    return quantity


def wrong_sign(quantity: Quantity) -> Quantity:
    *first, last = quantity.terms
    return replace(quantity, terms=(*first, last._replace(sign=-last.sign)))


def other_factor(quantity: Quantity) -> Quantity:
    """Return a quantity with `Q K^T`-like products: it belongs to rotations, not to symmetric generators.

    The products are symmetric and not.
    """
    first, last = quantity.terms[0], quantity.terms[-1]
    if first.left == last.left or first.form != last.form or quantity.kind is not MatrixKind.SYMMETRIC:
        return wrong_sign(quantity)
    terms = (Term(1, first.form, first.left, last.right), Term(-1, first.form, last.left, first.right))
    return replace(quantity, kind=MatrixKind.FULL, terms=terms)


SMALL_NETWORKS = listed(
    [
        Architecture((2, 1), (2,), 2),
        Architecture((2, 2), (2,), 2, causal=True),
        Architecture((2, 2), (2,), 1),
        Architecture((1, 2, 1), (1, 2), 2),
        Architecture((2, 2), (1,), 2, heads=2, value_ranks=(2,)),
        Architecture((2, 2), (1,), 2, value_ranks=(1,), skip=True, embed=2, unembed=2),
    ],
    [
        Architecture((1, 2, 1), (2, 1), 2, causal=True),
        Architecture((1, 1, 1), (2, 2), 2, heads=2, value_ranks=(1, 1), embed=2, unembed=1),
        Architecture((1, 1, 1), (1, 1), 2, skip=True, embed=1, unembed=2),
        Architecture((2, 1, 2), (1, 2), 1),
        Architecture((3, 2), (3,), 2),
    ],
)


def quantities(*, quick: bool) -> Iterator[KeptQuantity]:
    for network in SMALL_NETWORKS(quick=quick):
        for place, _ in enumerate(moments_of(network)):
            yield KeptQuantity(network, place)


def is_kept(kept: KeptQuantity, change: Change = same) -> None:
    """Expand the derivative along every gradient of an entry of the output, at symbolic weights and inputs."""
    network, quantity = kept.network, change(list(moments_of(kept.network))[kept.place])
    shapes = dict(network.weight_shapes())
    ring, (*letters, inputs) = letters_of({**shapes, "x": (network.input_width, network.tokens)})
    matrices, x = dict(zip(shapes, letters, strict=True)), Recorded(inputs, constant=True)
    for i, j in product(range(network.output_width), range(network.tokens)):
        recorded = [Recorded(matrix) for matrix in matrices.values()]
        output = network_output(x, network, recorded, form_of(network))
        flow = gradients([output], [_unit(ring, output.value.shape, (i, j))], recorded)
        for place in quantity.indices():
            along = _inner(ring, flow, _differential(ring, quantity, matrices, place))
            expect(along == ring.constant(0), f"{network}: {quantity.name} at {place} changes, by {len(along)} terms")


def _unit(ring: PolynomialRing, shape: tuple[int, ...], place: tuple[int, int] | None, sign: int = 1) -> ObjectArray:
    """Return the functional that reads an entry, or the trace, with a sign."""
    result: ObjectArray = (np.zeros(shape) if place else np.eye(shape[0])).astype(int)
    if place is not None:
        result[place] = 1
    return ring.constants(sign * result)


def _differential(
    ring: PolynomialRing, quantity: Quantity, matrices: dict[str, ObjectArray], place: tuple[int, int]
) -> list[ObjectArray | None]:
    recorded = {name: Recorded(matrix) for name, matrix in matrices.items()}
    outputs = [term.over(recorded) for term in quantity.terms]
    traced = quantity.kind is MatrixKind.SCALAR
    functionals = [
        _unit(ring, output.value.shape, None if traced else place, term.sign)
        for output, term in zip(outputs, quantity.terms, strict=True)
    ]
    return gradients(outputs, functionals, list(recorded.values()))


def _inner(ring: PolynomialRing, left: list[ObjectArray | None], right: list[ObjectArray | None]) -> Polynomial:
    """Return the sum of all products of entries; `None` is zero."""
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if one is not None and other is not None]
    return sum(((one * other).sum() for one, other in pairs), ring.constant(0))


def symmetric_of_rank(a: int, n: int) -> int:
    """Return the dimension of the symmetric `a x a` matrices of rank at most `n`."""
    m = min(a, n)
    return m * a - m * (m - 1) // 2


def per_head(network: Architecture) -> int:
    (d, d_out), (a,) = network.widths, network.attention_ranks
    inside = 0 if network.value_ranks is None else symmetric_of_rank(network.value_ranks[0], d + d_out)
    return symmetric_of_rank(a, 2 * d) + inside


def softmax_count(network: Architecture) -> int:
    return network.heads * per_head(network)


def any_rank(network: Architecture) -> int:
    """Return the count as if `Q Q^T - K K^T` could have any rank."""
    (a,) = network.attention_ranks
    b = network.value_ranks[0] if network.value_ranks is not None else 0
    more = 1 if network.normalization is None else 0
    return network.heads * (a * (a + 1) // 2 + b * (b + 1) // 2) + more


def as_stated(network: Architecture, count: Callable[[Architecture], int]) -> None:
    found = conserved_quantities(network)
    expect_value(ProvedBounds(found.lower, found.upper), count(network), network)


def number(network: Architecture) -> int:
    found = conserved_quantities(network)
    if found.count is None:
        raise Undecided(f"{network}: between {found.lower} and {found.upper}")
    return found.count


def lightning_layers(*, quick: bool) -> Iterator[Architecture]:
    top = 2 if quick else 4
    for d, d_out, a in product(range(1, top + 1), range(1, top + 1), (1, 2, 5) if quick else range(1, 10)):
        for b in (None, 1, 5):
            yield Architecture((d, d_out), (a,), 2, value_ranks=None if b is None else (b,))
    if not quick:
        for d, a, t, causal, skip in product((1, 2, 3), (1, 3), (2, 3), (False, True), (False, True)):
            yield Architecture((d, d), (a,), t, causal=causal, skip=skip)
        yield Architecture((12, 8), (5,), 2, value_ranks=(4,))


def softmax_layers(*, quick: bool) -> Iterator[Architecture]:
    for heads in (1, 2) if quick else (1, 2, 3, 4):
        for network in lightning_layers(quick=quick):
            if heads == 1 or max(network.attention_ranks) < 6:
                yield replace(network, normalization=SOFTMAX, heads=heads)


def deep_networks(*, quick: bool) -> Iterator[Architecture]:
    yield from (
        Architecture((2, 2, 2), (2, 2), 2),
        Architecture((2, 3, 2), (1, 2), 2),
        Architecture((3, 2, 2), (2, 2), 2, SOFTMAX),
        Architecture((3, 3, 3), (2, 1), 2, SOFTMAX, heads=2, value_ranks=(1, 2), skip=True, embed=4, unembed=4),
        Architecture((2, 2), (2,), 2, heads=2),
    )

    def draw(dice: Dice) -> Architecture:
        depth, skip = dice.number((1, 3)), dice.chance(0.3)
        widths = (dice.number((2, 4)),) * (depth + 1) if skip else dice.numbers((2, 4), depth + 1)
        ends = [dice.number((2, 4)) if dice.chance(0.5) else None for _ in range(2)]
        return Architecture(
            widths, dice.numbers((1, 5), depth), dice.number((2, 3)), SOFTMAX if dice.chance(0.5) else None,
            heads=dice.number((1, 3)), value_ranks=dice.numbers((2, 4), depth) if dice.chance(0.4) else None,
            skip=skip, causal=dice.chance(0.3), embed=ends[0], unembed=ends[1],
        )  # fmt: skip

    if not quick:
        yield from distinct(draw, 150, 20261122)


def all_are_listed(network: Architecture, less: int = 0) -> None:
    """Check that the number of all kept quantities is the number of independent ones among the moments."""
    found = conserved_quantities(network)
    expect_value(ProvedBounds(found.lower, found.upper), found.listed - less, network)


def skips(*, quick: bool) -> Iterator[Architecture]:
    for d, a, kind in product((1, 2, 3), (1, 2), (None, SOFTMAX)):
        yield Architecture((d, d), (a,), 2, kind)


def same_with_skip(network: Architecture, more: int = 0) -> None:
    as_stated(replace(network, skip=True), count=lambda _: number(network) + more)


def deep_skips(*, quick: bool) -> Iterator[Architecture]:
    for d, a, kind in product((2,) if quick else (2, 3), (1, 2), (None, SOFTMAX)):
        yield Architecture((d, d, d), (a, a), 2, kind)


def fewer_with_skip(network: Architecture, *, kept_by_both: bool = False) -> str:
    d = network.widths[0]
    lost = 0 if kept_by_both else d * (d + 1) // 2
    as_stated(replace(network, skip=True), count=lambda _: number(network) - lost)
    return "skip connections keep what one block keeps; between layers the symmetric matrices are lost"


CLAIM = Claim(
    id="conserved-quantities",
    source="arXiv 2307.00144, 2506.06194, 2606.17816; docs/conserved.md",
    title=(
        "gradient flow keeps the moments of linear symmetries, and nothing else in one layer of softmax heads "
        "or of one lightning head"
    ),
    statement=(
        r"Q Q^\top - K K^\top \text{ and the moments of all linear symmetries are kept; with } s(a, n) = "
        r"\dim \{S = S^\top \in \mathbb R^{a \times a} : \mathrm{rk} S \le n\},\ t \ge 2: \text{ one layer of } h "
        r"\text{ softmax heads keeps } h (s(a, 2 d) + s(b, d + d')), \text{ one of one lightning head } "
        r"s(a, 2 d) + s(b, d + d') + 1"
    ),
    hypotheses=(
        r"Near generic weights, for every loss and all data. One layer, $t \ge 2$, without mask or causal, with a "
        "skip connection or without; without output projections put $s(b, d + d') = 0$. Proved for $h$ softmax "
        "heads and for one lightning head at every size (docs/conserved.md, Theorems 7 and 8). Several lightning "
        "heads, one token and deeper networks are computed one by one, as listed."
    ),
    place=440,
    rests_on=("equation-9",),
    walk=WalkThrough("What training by gradient flow does not change, whatever the loss and the data are.", walk),
    parts=(
        Part(
            "each quantity of small lightning networks is kept",
            Scope.IDENTITY,
            quantities,
            is_kept,
            {
                "a wrong sign": partial(is_kept, change=wrong_sign),
                "a missing term": partial(
                    is_kept, change=lambda quantity: replace(quantity, terms=quantity.terms[:-1])
                ),
                "products of queries with keys": partial(is_kept, change=other_factor),
            },
        ),
        Part(
            "one layer of lightning attention: s(a, 2d) + s(b, d + d') + 1",
            Scope.EVERY_WIDTH,
            lightning_layers,
            partial(as_stated, count=lambda network: per_head(network) + 1),
            {
                "matrices of any rank": partial(as_stated, count=any_rank),
                "without the rescaling": partial(as_stated, count=per_head),
            },
        ),
        Part(
            "one layer of softmax attention, h heads: h (s(a, 2d) + s(b, d + d'))",
            Scope.EVERY_WIDTH,
            softmax_layers,
            partial(as_stated, count=softmax_count),
            {
                "matrices of any rank": partial(as_stated, count=any_rank),
                "with a rescaling": partial(as_stated, count=lambda network: softmax_count(network) + 1),
                "one head's worth": partial(as_stated, count=per_head),
            },
        ),
        Part(
            "other networks, nothing in them of width one, t >= 2: the moments are all",
            Scope.GENERIC,
            deep_networks,
            all_are_listed,
            {"one less": partial(all_are_listed, less=1)},
        ),
        Part(
            "a residual block keeps what it keeps without the skip connection",
            Scope.GENERIC,
            skips,
            same_with_skip,
            {"one more": partial(same_with_skip, more=1)},
        ),
        Part(
            "two residual blocks keep less than two layers",
            Scope.GENERIC,
            deep_skips,
            fewer_with_skip,
            {"as many": partial(fewer_with_skip, kept_by_both=True)},
        ),
    ),
)
