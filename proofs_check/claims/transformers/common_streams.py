r"""Beyond the paper: when two softmax transformers are one function: Theorem 1 of docs/transformer-fibers.md.

Two networks of one form read the same input; stack their streams, $z = (x, x')$. Keep two spaces layer by layer: $D$,
in which the differences of tokens lie, and $B$, in which the first column lies if there is a mask, the mean of the
columns if there is none; both are at first the columns of $(E; E')$, and $L = B + D$ contains all columns. Put heads of
both networks into one class whose score forms agree on $D \times L$, each read on its own half; let $C_m$ be the sum of
the $V$ of a class, one block for each network. Then

$$D_i = e D_{i-1} + \sum_{m \text{ not blind}} C_m D_{i-1},\quad B_i = (e + \textstyle\sum_m C_m) B_{i-1}
\ \Big[+ \sum_{m \text{ not uniform}} C_m D_{i-1} \text{ without mask}\Big].$$

Without mask a class is uniform if its form is zero, and blind if it is uniform, or $t = 2$ and its form is skew on $D$;
with mask no class is. If $[U, -U']$ vanishes on $L_l$, the functions are equal, for all weights. For $t = 2$ the
patterns of opposite forms have $P_{-M} = 2 P_0 - P_M$, masked or not: a head with form $-M$ counts as $-V$ in the class
of $M$ and as $2 V$ in that of the form zero. Columns need not lie in $S x_1 + D$ with $S_i = (e + \sum_m C_m) S_{i-1}$:
a uniform layer adds $V$ times the mean of the columns, which has moved.

This covers heads in another order, other bases, heads merged, missing or padded, narrow embeddings and other inner
widths; with skips, layers that write nothing are left out first. Of heads moved to another layer part (i) says nothing
(part (v) does). Pairs said to be equal are run over balls, which must overlap, and modulo a prime with a random
function in the place of the exponential.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.exact.echelon import row_echelon
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from proofs_check.claim import Claim, Kind, Part, Refutation, Scope, Tally, Undecided
from proofs_check.claims.transformers.made_equal import Pair, equal_pairs
from proofs_check.claims.transformers.small_networks import (
    Head,
    Matrix,
    Network,
    apart,
    identity,
    may_be_equal,
    points,
    same_for_any_exponential,
    side_by_side,
)

Criterion = Callable[[Network, Network], bool]
Form = tuple[Any, ...]
"""The entries of a matrix."""


def column_basis(first: RationalMatrix, *others: RationalMatrix) -> RationalMatrix:
    """Columns that span what the columns of all of them span."""
    return row_echelon(first.mT.above(*(m.mT for m in others))).rows.mT


@lru_cache(maxsize=2**12)  # networks of a box share their matrices
def on_both(matrix: Matrix, which: int, heights: tuple[int, int]) -> RationalMatrix:
    """A matrix on the stream of one of the two, as one on both."""
    before, behind = (0, heights[1]) if which == 0 else (heights[0], 0)
    return RationalMatrix.of(np.pad(np.array(matrix, dtype=object), (before, behind), constant_values=0))


class Stacked(NamedTuple):
    """Two streams, one above the other: columns that span `D` and `L`; for mutants `S = (e + sum C) .. E`."""

    differences: RationalMatrix
    columns: RationalMatrix
    first: RationalMatrix

    def form(self, attention: RationalMatrix, compared: str) -> Form:
        """The scores that count, of differences of keys."""
        if compared == "nowhere":
            return (1,)
        queries = self.columns if compared == "everywhere" else self.first
        return (self.differences.mT @ attention @ queries).sort_key()

    def is_skew(self, attention: RationalMatrix) -> bool:
        """Whether the form is, on `D`."""
        return not self.differences.mT @ (attention + attention.mT) @ self.differences


def opposite(form: Form) -> Form:
    """`-M`."""
    return tuple(-x for x in form)


def lowest_first(network: Network) -> list[tuple[Head, ...]]:
    """The layers; with skips those that write nothing are the identity, and come last."""
    writes = [any(any(map(any, head.value)) for head in heads) or not network.skip for heads in network.layers]
    order = sorted(range(len(writes)), key=lambda i: not writes[i])
    return [network.layers[i] for i in order]


def common_streams(
    one: Network,
    other: Network,
    *,
    flips_at: int = 2,
    blind_at: int = 2,
    mean_stays: bool = False,
    compared: str = "everywhere",
) -> bool:
    """Theorem 1: whether it says that the two functions are equal.

    Args:
        one, other: of one form, with the same tokens, mask, skip and number of layers.
        flips_at, blind_at: for how many tokens opposite forms are one class, and skew ones blind; others than two are
            a fault.
        mean_stays: a fault, columns are taken to lie in `S x_1 + D_i`.
        compared: where forms are; faults are `at S`, on `D x S` only, and `nowhere`.
    """
    heights = len(one.embed), len(other.embed)
    start = RationalMatrix.of(one.embed).above(RationalMatrix.of(other.embed))
    nothing, same = RationalMatrix.zero(sum(heights), sum(heights)), RationalMatrix.identity(sum(heights))
    keep = same if one.skip else nothing
    base = column_basis(start)
    at = Stacked(base, base, start)
    for layers in zip(lowest_first(one), lowest_first(other), strict=True):
        classes: dict[Form, RationalMatrix] = {}
        blind: set[Form] = set()
        for which, heads in enumerate(layers):
            for head in heads:
                attention, value = (on_both(m, which, heights) for m in head)
                form = at.form(attention, compared)
                if one.tokens == flips_at and (turned := opposite(form)) in classes and turned != form:
                    none = tuple(0 * x for x in form)
                    classes[none] = classes.get(none, nothing) + value.scaled(2)
                    form, value = turned, -value
                classes[form] = classes.get(form, nothing) + value
                if not one.causal and one.tokens == blind_at and at.is_skew(attention):
                    blind.add(form)
        seen = {form: c for form, c in classes.items() if one.causal or any(form)}
        moving = [c for form, c in seen.items() if one.causal or form not in blind]
        total = sum(classes.values(), keep)
        differences = column_basis(*(m @ at.differences for m in (keep, *moving)))
        added = [] if one.causal else [c @ at.differences for c in seen.values()]
        base, first = column_basis(total @ base, *added), total @ at.first
        at = Stacked(differences, column_basis(first if mean_stays else base, differences), first)
    ends = RationalMatrix.of(one.unembed).mT.above((-RationalMatrix.of(other.unembed)).mT).mT
    return not ends @ at.columns


def inputs_of(network: Network, number: int) -> list[ObjectArray]:
    """The same for all networks of one input."""
    return points(len(network.embed[0]), network.tokens, number)


def made_equal(pair: Pair, criterion: Criterion = common_streams) -> Kind:
    """The pair is one function on both roads, and is said to be, if its kind is covered; the spoiled one is not."""
    inputs = inputs_of(pair.one, 6)
    for other, equal in ((pair.other, True), (pair.spoiled, False)):
        said, differ = criterion(pair.one, other), apart(pair.one, other, inputs)
        if said and differ:
            raise Refutation(f"{pair.kind}: {pair.one} and {other} are said to be equal, and are not")
        if (said is not equal and (pair.covered or said)) or differ is equal:
            raise Undecided(f"{pair.kind}: {pair.one} and {other}: said to be equal {said}, apart {differ}")
        if same_for_any_exponential(pair.one, other, inputs) is not equal:
            raise Undecided(f"{pair.kind}: {pair.one} and {other}: with any exponential it is the other way round")
    if not pair.covered and not criterion(pair.one, pair.other):
        return Kind(f"sufficient only, nothing is said of {pair.kind}")
    return Kind(pair.kind)


class Box(NamedTuple):
    """Pairs of networks of one form with two layers; all of width one with entries in -1, 0, 1, if none are drawn."""

    tokens: int
    causal: bool
    skip: bool
    drawn: int

    def pairs(self) -> Iterator[tuple[Network, Network]]:
        """Pairs; those drawn differ in one or two matrices."""
        if not self.drawn:
            every = [
                Network(((1,),), ((Head(((a,),), ((b,),)),), (Head(((c,),), ((e,),)),)), ((1,),), *self[:3])
                for a, b, c, e in product((-1, 0, 1), repeat=4)
            ]
            yield from combinations(every, 2)
            return
        source = random.Random(f"{self}")
        for _ in range(self.drawn):
            matrices = [[source.choice(POOL) for _ in range(8)] for _ in range(2)]
            for place in range(8):
                if source.random() < 0.7:
                    matrices[1][place] = matrices[0][place]
            layers = [((Head(*m[:2]), Head(*m[2:4])), (Head(*m[4:6]), Head(*m[6:]))) for m in matrices]
            ends = source.choice([(((1,), (0,)), ((1, 1),)), (identity(2), ((1, 0),))])
            yield tuple(Network(ends[0], of, ends[1], *self[:3]) for of in layers)  # type: ignore[misc]


ZERO, SKEW = ((0, 0), (0, 0)), ((0, 1), (-1, 0))
POOL = (ZERO, ZERO, SKEW, ((1, 0), (0, 0)), ((-1, 0), (0, 0)), ((0, 0), (1, 0)), ((-1, 0), (0, -1)), ((1, -1), (0, 0)))


def boxes(quick: bool) -> Iterator[Box]:
    """Both masks, with skips and without."""
    for tokens, causal, skip in product((2, 3), (False, True), (True, False)):
        if not quick or (tokens == 3 and skip):
            yield Box(tokens, causal, skip, 0)
        yield Box(tokens, causal, skip, 40 if quick else 600)


def outputs_at(number: int, networks: Iterable[Network]) -> dict[Network, ObjectArray]:
    """Balls around the outputs of networks of one form at an input; those with inputs of one width side by side."""
    found: dict[Network, ObjectArray] = {}
    by_width: dict[int, list[Network]] = {}
    for network in networks:
        by_width.setdefault(len(network.embed[0]), []).append(network)
    for alike in by_width.values():
        found |= zip(alike, side_by_side(alike).balls(inputs_of(alike[0], number + 1)[number]), strict=True)
    return found


def never_apart(box: Box, criterion: Criterion = common_streams) -> Tally:
    """Of all pairs of a box: what is said to be equal is not apart."""
    pairs = list(box.pairs())
    not_apart = set(range(len(pairs)))
    for number in range(3):
        outputs = outputs_at(number, {network for i in not_apart for network in pairs[i]})
        not_apart = {i for i in not_apart if may_be_equal(*(outputs[network] for network in pairs[i]))}
    said = {i for i, pair in enumerate(pairs) if criterion(*pair)}
    for i in sorted(said - not_apart):
        one, other = pairs[i]
        raise Refutation(f"{one} and {other} are said to be equal, and are not")
    mask, skip = "causal" if box.causal else "no mask", "skip" if box.skip else "no skip"
    return Tally(
        f"t = {box.tokens}, {mask}, {skip}: of {len(pairs)} pairs {len(said)} said to be equal, "
        f"{len(not_apart - said)} others not apart"
    )


class Trap(NamedTuple):
    """Two functions that a fault in the criterion takes for one."""

    one: Network
    other: Network
    fault: Criterion
    finding: str


MEAN_STAYS = partial(common_streams, mean_stays=True)
FLIPS_AT_THREE = partial(common_streams, flips_at=3)
BLIND_AT_THREE = partial(common_streams, blind_at=3)
AT_THE_BASE = partial(common_streams, compared="at S")


def traps(quick: bool) -> Iterator[Trap]:
    """One for each fault, and more."""
    plus, minus, turn = ((1,),), ((-1,),), ((2,),)
    for tokens, causal in product((2, 3), (False, True)):
        ends = (((1,), (0,)), ((1, 0),), tokens, causal)
        bottom = (Head(((1, 0), (0, 0)), ((0, 0), (1, 0))),)
        one, other = (
            Network(ends[0], (bottom, (Head(ZERO, value),)), *ends[1:]) for value in (ZERO, ((1, -1), (0, 0)))
        )
        if not causal:
            yield Trap(
                one, other, MEAN_STAYS,
                "L is needed besides D: behind a uniform layer the mean of the columns counts, and it moves",
            )  # fmt: skip
        narrow = (plus, ((Head(plus, minus),), (Head(plus, plus),)), plus, tokens, causal)
        one, other = Network(*narrow), Network(*narrow)._replace(layers=(narrow[1][0], (Head(turn, plus),)))
        yield Trap(one, other, AT_THE_BASE, "forms must agree on D x L: the sum of all V may hide what the stream is")
        if tokens == 3 and not causal:
            bottom = (Head(SKEW, identity(2)),)
            one, other = (
                Network(identity(2), (bottom, (Head(a, identity(2)),)), identity(2), 3, False, False)
                for a in (SKEW, ((1, 0), (0, 0)))
            )
            yield Trap(one, other, BLIND_AT_THREE, "t = 2 is needed for skew scores to be blind")
        if tokens == 3:
            one, other = (
                Network(plus, ((Head(((s,),), ((s,),)), Head(((2 * s,),), ((-s,),))),), plus, tokens, causal)
                for s in (1, -1)
            )
            yield Trap(one, other, FLIPS_AT_THREE, "t = 2 is needed for opposite scores")


def taken_for_one(trap: Trap, criterion: Criterion = common_streams) -> str:
    """They are apart, nothing is said, and the fault would say that they are equal."""
    if not apart(trap.one, trap.other, inputs_of(trap.one, 6)):
        raise Undecided(f"{trap.one} and {trap.other}: no input was found that shows them apart")
    if criterion(trap.one, trap.other):
        raise Refutation(f"{trap.one} and {trap.other} are said to be equal, and are not")
    if not trap.fault(trap.one, trap.other):
        raise Undecided(f"{trap.one} and {trap.other}: no trap")
    return trap.finding


CLAIM = Claim(
    id="common-streams",
    source="beyond the paper: docs/transformer-fibers.md, Theorem 1",
    title=(
        "softmax transformers: a criterion that two networks of any weights, widths and numbers of heads are "
        "one function"
    ),
    statement=(
        r"D_i = e D_{i-1} + \textstyle\sum_{m \text{ not blind}} C_m D_{i-1},\ B_i = (e + \sum_m C_m) B_{i-1} \big[+"
        r" \sum_{m \ne 0} C_m D_{i-1} \text{ without mask}\big],\ L_i = B_i + D_i,\ C_m = \operatorname{diag}"
        r"\big(\sum_{A_h \equiv m} V_h, \sum_{A'_h \equiv m} V'_h\big),\ A \equiv m \text{ on } D_{i-1} \times L_{i-1};"
        r"\quad [U, -U'] L_l = 0 \;\Rightarrow\; f_W = f_{W'}"
    ),
    hypotheses=(
        "Both networks have the same tokens, mask, layers and $e$; $D_0 = B_0$ is the column space of $(E; E')$, "
        r"$t \ge 2$. Proved for all weights of every size (docs/transformer-fibers.md, Theorem 1). It is "
        "sufficient: there are equal functions of which it says nothing."
    ),
    parts=(
        Part(
            "pairs made equal are said to be equal, spoiled ones are not",
            Scope.EVERY_WIDTH,
            equal_pairs,
            made_equal,
            {
                "values decide alone": partial(made_equal, criterion=partial(common_streams, compared="nowhere")),
            },
            instance="two networks and a spoiled one",
        ),
        Part(
            "what is said to be equal is never apart",
            Scope.EVERY_WIDTH,
            boxes,
            never_apart,
            {
                "forms are compared at S": partial(never_apart, criterion=AT_THE_BASE),
                "values decide alone": partial(never_apart, criterion=partial(common_streams, compared="nowhere")),
            },
            instance="pairs of networks of one form",
        ),
        Part(
            "what the criterion asks is needed: L, all queries, two tokens",
            Scope.INSTANCES,
            traps,
            taken_for_one,
            {
                "columns lie in S x_1 + D": partial(taken_for_one, criterion=MEAN_STAYS),
                "forms are compared at S": partial(taken_for_one, criterion=AT_THE_BASE),
                "opposite scores with three tokens": partial(taken_for_one, criterion=FLIPS_AT_THREE),
                "skew scores with three tokens": partial(taken_for_one, criterion=BLIND_AT_THREE),
            },
            instance="two networks with two functions",
        ),
    ),
)
