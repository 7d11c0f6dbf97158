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

The steps of `explain`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.step import Step, must, rational, show
from proofs_check.claim import Claim, Kind, Part, Refutation, Scope, Tally, Undecided, WalkThrough, expect, expect_apart
from proofs_check.claims.transformers.common_streams.criterion import (
    common_streams,
    inputs_of,
)
from proofs_check.claims.transformers.made_equal import EqualPair, equal_pairs
from proofs_check.claims.transformers.one_transformer_layer import shown, small_network
from proofs_check.claims.transformers.small_networks import (
    A1,
    A2,
    ONE,
    SKEW,
    V1,
    V2,
    ZERO,
    HeadAV,
    Matrix,
    SmallNetwork,
    apart,
    identity,
    mask_and_skip,
    may_be_equal,
    plus,
    same_for_any_exponential,
    side_by_side,
    zero,
)


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 1 of docs/transformer-fibers.md."""
    one = small_network((HeadAV(A1, V1), HeadAV(A1, V2)), (HeadAV(A2, V2),))
    other = small_network((HeadAV(A1, plus(V1, V2)), HeadAV(SKEW, zero(2))), (HeadAV(A2, V2),))
    must(common_streams(one, other), "merged heads are said to be equal")
    must(same_for_any_exponential(one, other, inputs_of(one, 3)), "they are for any exponential")
    yield Step(
        "Two streams, one above the other",
        r"When are two given networks one function? Stack their streams. Tokens differ in a space $D$, at first the "
        r"columns of $(E; E')$. Heads of both with the same scores there have the same pattern $P$, so that "
        r"$\operatorname{diag}(\sum V, \sum V') z P$ is what both add. Here $A_1$ has $V_1 + V_2$ above and below.",
        (shown("V_1", V1), shown("V_2", V2), shown("V_1 + V_2", plus(V1, V2))),
    )
    yield Step(
        "What is asked at the end",
        r"Columns of patterns add up to one, so the columns of the stacked stream stay in a space $L$, which follows "
        r"from $D$ and the $\sum V$ of the classes alone. If $U$ above and $U'$ below agree on $L$, the functions are "
        r"equal. No exponential was looked at, and no condition on the weights is asked.",
        (show("L_0 = D_0 = (E; E')", rational([*ONE, *ONE])),),
    )
    drift = SmallNetwork(
        ((1,), (0,)),
        ((HeadAV(((1, 0), (0, 0)), ((0, 0), (1, 0))),), (HeadAV(zero(2), zero(2)),)),
        ((1, 0),),
        3,
        False,
    )
    value: Matrix = ((1, -1), (0, 0))
    moved = drift._replace(layers=(drift.layers[0], (HeadAV(zero(2), value),)))
    must(common_streams(drift, moved, mean_stays=True), "differences alone do not tell them apart")
    must(not common_streams(drift, moved), "the criterion does not call them equal")
    must(apart(drift, moved, inputs_of(drift, 6)), "they are apart")
    yield Step(
        "Why differences are not enough",
        r"Without mask a head without scores adds $V$ times the mean: all tokens get the same, and no difference. But "
        r"the mean has moved in the layers before. A first layer that copies $x$ to a second coordinate, with "
        r"weights, and then $V = (1, -1; 0, 0)$ on the mean: the mean of $x_k$ and the mean of its averages are two "
        r"numbers.",
        (shown("V", value),),
    )


Criterion = Callable[[SmallNetwork, SmallNetwork], bool]


def made_equal(pair: EqualPair, criterion: Criterion = common_streams) -> Kind:
    """Check that the pair is one function on both roads, and said to be, if its kind is covered; the spoiled not."""
    inputs = inputs_of(pair.one, 6)
    for other, equal in ((pair.other, True), (pair.spoiled, False)):
        said, differ = criterion(pair.one, other), apart(pair.one, other, inputs)
        expect(not said or not differ, f"{pair.kind}: {pair.one} and {other} are said to be equal, and are not")
        expect(
            not (said is not equal and (pair.covered or said)) and differ is not equal,
            f"{pair.kind}: {pair.one} and {other}: said to be equal {said}, apart {differ}",
            Undecided,
        )
        expect(
            same_for_any_exponential(pair.one, other, inputs) is equal,
            f"{pair.kind}: {pair.one} and {other}: with any exponential it is the other way round",
            Undecided,
        )
    if not pair.covered and not criterion(pair.one, pair.other):
        return Kind(f"sufficient only, nothing is said of {pair.kind}")
    return Kind(pair.kind)


class TwoLayerBox(NamedTuple):
    """Pairs of networks of one form with two layers; all of width one with entries in -1, 0, 1, if none are drawn."""

    tokens: int
    causal: bool
    skip: bool
    drawn: int

    def pairs(self) -> Iterator[tuple[SmallNetwork, SmallNetwork]]:
        """Yield pairs of networks; those drawn differ in a few matrices."""
        if not self.drawn:
            every = [
                SmallNetwork(((1,),), ((HeadAV(((a,),), ((b,),)),), (HeadAV(((c,),), ((e,),)),)), ((1,),), *self[:3])
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
            layers = [((HeadAV(*m[:2]), HeadAV(*m[2:4])), (HeadAV(*m[4:6]), HeadAV(*m[6:]))) for m in matrices]
            ends = source.choice([(((1,), (0,)), ((1, 1),)), (identity(2), ((1, 0),))])
            yield tuple(SmallNetwork(ends[0], of, ends[1], *self[:3]) for of in layers)  # type: ignore[misc]


POOL = (ZERO, ZERO, SKEW, ((1, 0), (0, 0)), ((-1, 0), (0, 0)), ((0, 0), (1, 0)), ((-1, 0), (0, -1)), ((1, -1), (0, 0)))


def boxes(*, quick: bool) -> Iterator[TwoLayerBox]:
    """Yield both masks, with skips and without."""
    for tokens, causal, skip in product((2, 3), (False, True), (True, False)):
        if not quick or (tokens == 3 and skip):
            yield TwoLayerBox(tokens, causal, skip, 0)
        yield TwoLayerBox(tokens, causal, skip, 40 if quick else 600)


def outputs_at(number: int, networks: Iterable[SmallNetwork]) -> dict[SmallNetwork, ObjectArray]:
    """Return balls around outputs of networks of one form at an input; those with inputs of one width side by side."""
    found: dict[SmallNetwork, ObjectArray] = {}
    by_width: dict[int, list[SmallNetwork]] = {}
    for network in networks:
        by_width.setdefault(len(network.embed[0]), []).append(network)
    for alike in by_width.values():
        found |= zip(alike, side_by_side(alike).balls(inputs_of(alike[0], number + 1)[number]), strict=True)
    return found


def never_apart(box: TwoLayerBox, criterion: Criterion = common_streams) -> Tally:
    """Return a tally of all pairs of a box: what is said to be equal is not apart."""
    pairs = list(box.pairs())
    not_apart = set(range(len(pairs)))
    for number in range(3):
        outputs = outputs_at(number, {network for i in not_apart for network in pairs[i]})
        not_apart = {i for i in not_apart if may_be_equal(*(outputs[network] for network in pairs[i]))}
    said = {i for i, pair in enumerate(pairs) if criterion(*pair)}
    for i in sorted(said - not_apart):
        one, other = pairs[i]
        raise Refutation(f"{one} and {other} are said to be equal, and are not")
    return Tally(
        f"t = {box.tokens}, {mask_and_skip(box)}: of {len(pairs)} pairs {len(said)} said to be equal, "
        f"{len(not_apart - said)} others not apart"
    )


class Trap(NamedTuple):
    """Two functions that a fault in the criterion takes for one."""

    one: SmallNetwork
    other: SmallNetwork
    fault: Criterion
    finding: str


MEAN_STAYS = partial(common_streams, mean_stays=True)
FLIPS_AT_THREE = partial(common_streams, flips_at=3)
BLIND_AT_THREE = partial(common_streams, blind_at=3)
AT_THE_BASE = partial(common_streams, compared="at S")


def traps(*, quick: bool) -> Iterator[Trap]:
    """Yield one for each fault, and more."""
    plus, minus, turn = ((1,),), ((-1,),), ((2,),)
    for tokens, causal in product((2, 3), (False, True)):
        ends = (((1,), (0,)), ((1, 0),), tokens, causal)
        bottom = (HeadAV(((1, 0), (0, 0)), ((0, 0), (1, 0))),)
        one, other = (
            SmallNetwork(ends[0], (bottom, (HeadAV(ZERO, value),)), *ends[1:]) for value in (ZERO, ((1, -1), (0, 0)))
        )
        if not causal:
            yield Trap(
                one, other, MEAN_STAYS,
                "L is needed besides D: behind a uniform layer the mean of the columns counts, and it moves",
            )  # fmt: skip
        narrow = (plus, ((HeadAV(plus, minus),), (HeadAV(plus, plus),)), plus, tokens, causal)
        one, other = (
            SmallNetwork(*narrow),
            SmallNetwork(*narrow)._replace(layers=(narrow[1][0], (HeadAV(turn, plus),))),
        )
        yield Trap(one, other, AT_THE_BASE, "forms must agree on D x L: the sum of all V may hide what the stream is")
        if tokens == 3 and not causal:
            bottom = (HeadAV(SKEW, identity(2)),)
            one, other = (
                SmallNetwork(identity(2), (bottom, (HeadAV(a, identity(2)),)), identity(2), 3, False, False)
                for a in (SKEW, ((1, 0), (0, 0)))
            )
            yield Trap(one, other, BLIND_AT_THREE, "t = 2 is needed for skew scores to be blind")
        if tokens == 3:
            one, other = (
                SmallNetwork(plus, ((HeadAV(((s,),), ((s,),)), HeadAV(((2 * s,),), ((-s,),))),), plus, tokens, causal)
                for s in (1, -1)
            )
            yield Trap(one, other, FLIPS_AT_THREE, "t = 2 is needed for opposite scores")


def trap_is_avoided(trap: Trap, criterion: Criterion = common_streams) -> str:
    """Return the finding of a trap: both are apart, nothing is said, and the fault would call them equal."""
    expect_apart(apart(trap.one, trap.other, inputs_of(trap.one, 6)), stated=True, at=f"{trap.one} and {trap.other}")
    expect(not criterion(trap.one, trap.other), f"{trap.one} and {trap.other} are said to be equal, and are not")
    expect(trap.fault(trap.one, trap.other), f"{trap.one} and {trap.other}: no trap", Undecided)
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
    place=370,
    rests_on=("definition-1",),
    walk=WalkThrough("Two networks side by side: when they are one function.", walk),
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
            trap_is_avoided,
            {
                "columns lie in S x_1 + D": partial(trap_is_avoided, criterion=MEAN_STAYS),
                "forms are compared at S": partial(trap_is_avoided, criterion=AT_THE_BASE),
                "opposite scores with three tokens": partial(trap_is_avoided, criterion=FLIPS_AT_THREE),
                "skew scores with three tokens": partial(trap_is_avoided, criterion=BLIND_AT_THREE),
            },
            instance="two networks with two functions",
        ),
    ),
)
