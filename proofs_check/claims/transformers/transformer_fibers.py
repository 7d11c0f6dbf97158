r"""Beyond the paper: the exact fiber of softmax transformers: Theorem 4 and Corollary 5 of docs/transformer-fibers.md.

$X_0 = E x$, $X_i = e X_{i-1} + \sum_h V_{ih} X_{i-1} P_{ih}$ with softmax patterns of $X_{i-1}^\top A_{ih} X_{i-1}$,
$f = U X_l$; masked or not, with skips ($e = 1$) or without, $t \ge 2$. Let the weights fulfil (a) the scores of each
layer are rationally independent where the layer before writes, (a') without mask their symmetric parts too, below the
last layer, (b) every head is seen, (c) for $t = 2$ no flip of signs leaves the first token as it is; and let words fill
the stream from both sides, and $C_{i} \cdots C_1 E$. Then weights of the same shape have the same function if and only
if they are $V'_{i \pi(h)} = g_i V_{ih} g_{i-1}^{-1}$, $A'_{i \pi(h)} = g_{i-1}^{-\top} A_{ih} g_{i-1}^{-1}$,
$E' = g_0 E$, $U' = U g_l^{-1}$, all $g_i$ equal with skips: no genericity.

What is checked could refute it: at given weights that fulfil the conditions, degenerate matrices among them, the kernel
of the differential is the tangent space of the orbit, with a rank of Taylor series modulo a prime from below and of the
orbit's tangent vectors from above; in boxes of small integers all others are apart from such a network. Without the
hypotheses there are second networks; some conditions are sufficient only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise, permutations, product
from typing import NamedTuple

import numpy as np

from lightning_sym.rings.balls import Ball, precision
from proofs_check.blackboard import own_weights
from proofs_check.blackboard.step import Step, must, number
from proofs_check.claim import (
    Claim,
    Kind,
    Part,
    Refutation,
    Scope,
    Tally,
    Undecided,
    WalkThrough,
    expect,
    expect_apart,
    expect_value,
)
from proofs_check.claims.transformers.conditions import failing
from proofs_check.claims.transformers.one_transformer_layer import equal_layers, shown, small_network
from proofs_check.claims.transformers.second_networks import Case, Given, second_networks, still_the_orbit
from proofs_check.claims.transformers.small_networks import (
    A1,
    A2,
    BITS,
    ONE,
    V1,
    V2,
    HeadAV,
    Matrix,
    SmallNetwork,
    apart,
    as_array,
    as_rows,
    mask_and_skip,
    plus,
    points,
    rank_of_differential,
    same_for_any_exponential,
    side_by_side,
    times,
)

Orbit = Callable[[SmallNetwork], set[SmallNetwork]]


def given_weights(*, quick: bool) -> Iterator[Given]:
    """Yield the first networks with entries in -1, 0, 1 that fulfil the conditions, of each form and all ranks."""
    forms = [((1, 1), 2), ((2,), 2), ((1, 1, 1), 1)] + ([] if quick else [((2, 1), 2), ((2, 2), 2), ((1, 2), 2)])
    for (heads, d), tokens, causal, skip in product(forms, (2, 3), (False, True), (True, False)):
        source = random.Random(f"{heads} {d} {tokens} {causal} {skip}")

        def matrix(d: int = d, source: random.Random = source) -> Matrix:
            return tuple(tuple(source.choice((-1, 0, 1)) for _ in range(d)) for _ in range(d))

        found = 0
        while found < (1 if quick else 2 if sum(heads) < 3 else 1):
            layers = tuple(tuple(HeadAV(matrix(), matrix()) for _ in range(h)) for h in heads)
            network = SmallNetwork(matrix(), layers, matrix(), tokens, causal, skip)
            if not failing(network):
                found += 1
                yield Given(network, found % 2 == 1, "")


def kernel_is_the_orbit(given: Given, bases: int = 1, rescaled: int = 0) -> None:
    """Check the rank of the differential: all weights but the basis changes."""
    weights, group, bounds = rank_of_differential(given.network, ends=given.ends)
    heads = sum(map(len, given.network.layers))
    expect_value(bounds, weights - bases * group - rescaled * heads, at=f"{given.network}: rank of the differential")


class WidthOneBox(NamedTuple):
    """All networks of width one with so many heads in each layer, entries in -1, 0, 1, `E = U = 1`."""

    heads: tuple[int, ...]
    tokens: int
    causal: bool
    skip: bool

    def networks(self) -> Iterator[SmallNetwork]:
        """Yield each once."""
        one: Matrix = ((1,),)
        for numbers in product((-1, 0, 1), repeat=2 * sum(self.heads)):
            each = (HeadAV(((a,),), ((v,),)) for a, v in zip(numbers[::2], numbers[1::2], strict=True))
            yield SmallNetwork(one, tuple(tuple(islice(each, h)) for h in self.heads), one, *self[1:])


def boxes(*, quick: bool) -> Iterator[WidthOneBox]:
    """Yield two layers of one head; at the full size three layers, and two heads in the last of two."""
    for tokens, causal, skip in product((2, 3), (False, True), (True, False)):
        yield WidthOneBox((1, 1), tokens, causal, skip)
        if not quick:
            yield WidthOneBox((1, 1, 1), tokens, causal, skip)
        if not quick and tokens == 3:  # for two tokens +1 and -1 are opposite, and none fulfils the conditions
            yield WidthOneBox((1, 2), tokens, causal, skip)


def clusters(
    outputs: list[tuple[SmallNetwork, list[Ball]]], place: int = 0
) -> Iterator[list[tuple[SmallNetwork, list[Ball]]]]:
    """Yield clusters: two of them are certainly apart, as between them is a gap wider than all balls."""
    if len(outputs) == 1 or place == len(outputs[0][1]):
        yield outputs
        return
    outputs = sorted(outputs, key=lambda pair: pair[1][place].mid())
    width = max((balls[place].rad() for _, balls in outputs), default=0)
    group = outputs[:1]
    for before, after in pairwise(outputs):
        if after[1][place].mid() - before[1][place].mid() > 4 * width:
            yield from clusters(group, place + 1)
            group = []
        group.append(after)
    yield from clusters(group, place + 1)


def reordered(network: SmallNetwork) -> set[SmallNetwork]:
    """Return the orbit of Corollary 5 in width one with `E = U = 1` and small integers.

    Heads stand in any order; without skip there are inner signs.
    """
    depth = len(network.layers)
    found = set()
    for inner in product((1,) if network.skip else (1, -1), repeat=depth - 1):
        signs = (1, *inner, 1)
        layers = tuple(
            tuple(h._replace(value=as_rows(after * as_array(h.value) * before)) for h in heads)
            for heads, before, after in zip(network.layers, signs, signs[1:], strict=False)
        )
        found |= {network._replace(layers=order) for order in product(*map(permutations, layers))}
    return found


def turned(network: SmallNetwork) -> set[SmallNetwork]:
    """Return a fault: for two tokens all signs may change."""
    opposite = tuple(
        tuple(HeadAV(as_rows(-as_array(h.attention)), as_rows(-as_array(h.value))) for h in heads)
        for heads in network.layers
    )
    return {network, network._replace(layers=opposite)}


def exchanged(network: SmallNetwork) -> set[SmallNetwork]:
    """Return a fault: layers in any order."""
    return {network._replace(layers=layers) for layers in permutations(network.layers)}


def no_other_in_the_box(box: WidthOneBox, orbit: Orbit = reordered) -> Tally:
    """Return a tally of a box: who is not apart from a network with the conditions is in its orbit."""
    inputs = points(1, box.tokens, 3)
    with precision(BITS):
        networks = list(box.networks())
        balls = side_by_side(networks).balls(np.array(inputs)[:, None]).swapaxes(0, 1).reshape(len(networks), -1)
        outputs = list(zip(networks, balls.tolist(), strict=True))
        found = list(clusters(outputs))
    within = alone = 0
    for cluster in found:
        members = {network for network, _ in cluster}
        alone += any(members == reordered(network) for network in members)
        for network in members:
            if failing(network):
                continue
            within += 1
            stated = orbit(network)
            for other in stated - members:
                if apart(network, other, inputs):
                    raise Refutation(f"{network} and {other} are in one orbit, and apart")
            if others := members - stated:
                raise Undecided(f"{network} and {min(others)}: no input was found that shows them apart")
    return Tally(
        f"heads {box.heads}, t = {box.tokens}, {mask_and_skip(box)}: {len(outputs)} networks, "
        f"{within} with the conditions, "
        f"{len(found)} functions at most told apart, {alone} of them of one orbit"
    )


def a_second_one(case: Case, *, needed: bool = True) -> str:
    """Return the finding of a case: one function without the hypothesis, on both roads.

    With the hypothesis the same change gives another function.
    """
    for pair, equal in ((case.pair, True), (case.restored, False)):
        one, other = pair
        inputs = points(len(one.embed[0]), one.tokens, 6)
        differ = apart(one, other, inputs) or (equal and not same_for_any_exponential(one, other, inputs))
        expect_apart(differ, stated=not equal, at=f"{case.finding}: {one} and {other}")
    fails, holds = (set(failing(pair[0]).split(", ")) for pair in (case.pair, case.restored))
    as_said = case.condition in fails - holds if case.condition else fails == {""}
    expect(as_said, f"{case.finding}: failing are {fails}, and {holds}", Undecided)
    expect(needed, f"{case.finding}: a second network is {case.pair[1]}")
    return case.finding


def sufficient_only(given: Given, more: int = 0) -> Kind:
    """Check that the condition fails, and that the kernel is the tangent space of the orbit all the same."""
    if given.fails not in failing(given.network).split(", "):
        raise Undecided(f"{given.network}: failing are {failing(given.network)}, not {given.fails}")
    weights, group, bounds = rank_of_differential(given.network, ends=given.ends)
    expect_value(bounds, weights - group - more, at=f"{given.network}: rank of the differential")
    if not given.fails:
        return Kind("no second network for V_1 + V_2 = 0 and three tokens: the kernel is the orbit's")
    return Kind(f"({given.fails}) is sufficient only: it fails, and the kernel is the orbit's")


def walk() -> Iterator[Step]:
    network = small_network((HeadAV(A1, V1),), (HeadAV(A2, V2),), tokens=2)
    must(failing(network) == "", "all conditions hold")
    sum_1 = plus(ONE, V1)
    yield Step(
        "Two layers, given weights",
        r"Two causal layers with skips, $E = U = 1$, two tokens. The theorem has conditions on these very weights, "
        r"and each is a determinant: $A_1 \ne 0$; $V_1^\top A_2 (1 + V_1) \ne 0$, the second layer sees what the "
        r"first writes; $V_1, V_2 \ne 0$; $1 + V_1$ invertible; no sign may flip.",
        (shown("A_1", A1), shown("V_1", V1), shown("A_2", A2), shown("V_2", V2), shown("1 + V_1", sum_1),
         shown(r"V_1^\top A_2 (1 + V_1)", as_rows(as_array(V1).T @ as_array(A2) @ as_array(sum_1)))),
    )  # fmt: skip
    weights, group, bounds = rank_of_differential(network, ends=True)
    must((weights, group, bounds.lower, bounds.upper) == (24, 4, 20, 20), "24 weights, 4 basis changes, rank 20")
    yield Step(
        "The fiber is an orbit",
        r"Then all weights of this shape with this function come from a change of basis of the stream and, with "
        r"several heads, another order. To first order: of the $24$ entries of $E, A_1, V_1, A_2, V_2, U$ four "
        r"directions are changes of basis. The rank of the differential at these weights is at least that of "
        r"Taylor series modulo a prime, and at most $24$ minus the tangent vectors of the orbit.",
        (number("weights", weights), number("changes of basis", group), number("rank", bounds.lower)),
    )
    flipped = HeadAV(times(-1, A1), times(-1, V1)), HeadAV(times(-1, A2), V1)
    one = small_network((HeadAV(A1, V1), HeadAV(A2, times(-1, V1))), tokens=2)
    other = small_network(flipped, tokens=2)
    must(failing(one) == "c", "the condition on flips fails, and no other")
    must(equal_layers(one, other), "the second network is the same function")
    yield Step(
        "Without a condition",
        r"Two heads with $V_1 + V_2 = 0$ and two tokens: both may be turned around, $(-A_1, -V_1)$, $(-A_2, -V_2)$. "
        r"This is no change of basis. The conditions find it: the first token does not notice the flips.",
        (shown("V_1", V1), shown("V_2", times(-1, V1))),
    )


CLAIM = Claim(
    id="transformer-fibers",
    source="beyond the paper: docs/transformer-fibers.md, Theorem 4 and Corollary 5",
    title="softmax transformers: all weights with the same function, under conditions on given weights",
    statement=(
        r"t \ge 2,\ \text{(a), (a') without mask, (b), (c) for } t = 2,\ \text{words of full rank} \;\Rightarrow\;"
        r" \left(f_{W'} = f_W \Leftrightarrow V'_{i \pi_i(h)} = g_i V_{ih} g_{i-1}^{-1},\ A'_{i \pi_i(h)} ="
        r" g_{i-1}^{-\top} A_{ih} g_{i-1}^{-1},\ E' = g_0 E,\ U' = U g_l^{-1},\ g_i = g_{i-1} \text{ if } e_i = 1"
        r"\right)"
    ),
    hypotheses=(
        "Without mask or causal, each $e_i$ 0 or 1; $W'$ has the same $n$, $m$, $t$, mask, layers and $e_i$, at "
        "most as many heads in each layer, and inner widths that are not larger. The conditions are those of "
        r"docs/transformer-fibers.md, section 1; words are of full rank if $\hat U_i$, $\hat E_i$ have rank $d_i$ "
        "for all $i$, and $S_i$ for $i < l$. Proved at every size (Corollary 5). The conditions are sufficient: "
        "where one fails the fiber can be larger or the same."
    ),
    place=360,
    rests_on=("words-and-blocks", "common-streams"),
    walk=WalkThrough(
        "Given weights, their conditions, and all weights with the same function.", walk, on=own_weights.conditions
    ),
    parts=(
        Part(
            "at given weights the kernel of the differential is the tangent space of the orbit",
            Scope.EVERY_WIDTH,
            given_weights,
            kernel_is_the_orbit,
            {
                "no basis change of the stream": partial(kernel_is_the_orbit, bases=0),
                "heads may be rescaled": partial(kernel_is_the_orbit, rescaled=1),
            },
            instance="weights",
        ),
        Part(
            "no other network in a box of small integers",
            Scope.EVERY_WIDTH,
            boxes,
            no_other_in_the_box,
            {
                "signs of A and V may change": partial(no_other_in_the_box, orbit=turned),
                "layers may be exchanged": partial(no_other_in_the_box, orbit=exchanged),
            },
            instance="all networks of one form with small entries",
        ),
        Part(
            "without a hypothesis there are second networks",
            Scope.INSTANCES,
            second_networks,
            a_second_one,
            {"the hypotheses are not needed": partial(a_second_one, needed=False)},
            instance="two networks with one function",
        ),
        Part(
            "conditions that are sufficient only: none was found",
            Scope.INSTANCES,
            still_the_orbit,
            sufficient_only,
            {"one direction more": partial(sufficient_only, more=1)},
            instance="weights",
        ),
    ),
)
