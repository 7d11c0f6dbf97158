r"""Beyond the paper: every fiber of one softmax layer with any number of heads.

Theorem 8 of docs/transformer-fibers.md. One layer, any weights, any number of heads, causal or not, skip
$e \in \{0, 1\}$, embedding and unembedding. Let $M_m$ be the sum of $U V_h E$ over the heads with $E^\top A_h E = m$,
for each $n \times n$ matrix $m$. For $t \ge 3$ the function determines $e U E$ and all $M_m$, and is determined by
them; for $t = 2$ $e U E$, $\sum_m M_m$ and all $M_m - M_{-m}$. No condition on the weights, no genericity.

All networks with small entries of some shapes are sorted twice: by this table, and by their functions, with the
exponentials as variables, which decides exactly. Both orders must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.step import Shown, Step, must, rational, show
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided, WalkThrough, expect
from proofs_check.claims.transformers.formal_exponentials import ExactLayer, ResiduePoint, seen_form, seen_value
from proofs_check.claims.transformers.small_networks import (
    A1,
    A2,
    ONE,
    V1,
    V2,
    HeadAV,
    Matrix,
    SmallNetwork,
    as_array,
    as_rows,
    identity,
    mask_and_skip,
    plus,
    times,
    zero,
)

Table = Callable[[SmallNetwork], Hashable]


def sums(network: SmallNetwork) -> dict[Matrix, ObjectArray]:
    """Return all `M_m`."""
    found: dict[Matrix, ObjectArray] = {}
    (heads,) = network.layers
    for head in heads:
        form, value = seen_form(network, head.attention), as_array(seen_value(network, head.value))
        found[form] = found.get(form, 0 * value) + value
    return found


def written(values: dict[Matrix, ObjectArray]) -> frozenset[tuple[Matrix, Matrix]]:
    """Return those that are not zero."""
    return frozenset((form, as_rows(value)) for form, value in values.items() if any(value.ravel()))


def skipped(network: SmallNetwork) -> Matrix:
    """Return `e U E`, where `e` is 1 with skip connections and 0 without."""
    return as_rows(int(network.skip) * as_array(network.unembed) @ as_array(network.embed))


def all_sums(network: SmallNetwork) -> Hashable:
    """Return what three tokens see."""
    return skipped(network), written(sums(network))


def differences(network: SmallNetwork) -> Hashable:
    """Return what two tokens see."""
    every = sums(network)
    total = as_rows(sum(every.values()))
    turned: dict[Matrix, ObjectArray] = {}
    for form, value in every.items():
        opposite = as_rows(-as_array(form))
        if opposite != form:
            first = max(form, opposite)
            turned[first] = turned.get(first, 0 * value) + (value if form == first else -value)
    return skipped(network), total, written(turned)


def stated(network: SmallNetwork) -> Hashable:
    """Return the table of Theorem 8: what one layer's function determines."""
    return differences(network) if network.tokens == 2 else all_sums(network)


def without_constant_heads(network: SmallNetwork) -> Hashable:
    """Return a fault: as if heads without scores were not seen."""
    skip, values = skipped(network), sums(network)
    return skip, written({form: value for form, value in values.items() if any(map(any, form))})


class OneLayerBox(NamedTuple):
    """All networks of one form with entries of a pool."""

    width: int
    heads: int
    tokens: int
    causal: bool
    skip: bool

    def networks(self) -> Iterator[SmallNetwork]:
        """Yield networks of width one with all entries in -1, 0, 1; of width two with rank-one and skew pieces.

        In width two `E = 1`.
        """
        form = self.tokens, self.causal, self.skip
        if self.width == 1:
            numbers = [((a,),) for a in (-1, 0, 1)]
            for embed, unembed in product(numbers, repeat=2):
                for entries in product(product(numbers, repeat=2), repeat=self.heads):
                    yield SmallNetwork(embed, (tuple(HeadAV(*e) for e in entries),), unembed, *form)
            return
        attention: list[Matrix] = [
            ((0, 0), (0, 0)), ((1, 0), (0, 0)), ((-1, 0), (0, 0)), ((0, 1), (0, 0)), ((0, 0), (1, 0)),
            ((0, 1), (-1, 0)), ((0, -1), (1, 0)),
        ]  # fmt: skip
        values: list[Matrix] = [((1, 0), (2, 3)), ((-1, 0), (0, 0)), ((0, 0), (1, 1))]
        for each in product(product(attention, values), repeat=self.heads):
            yield SmallNetwork(identity(2), (tuple(HeadAV(*e) for e in each),), ((1, 0),), *form)


def boxes(*, quick: bool) -> Iterator[OneLayerBox]:
    """Yield both masks, with skip and without."""
    for tokens, causal, skip in product((2, 3), (False, True), (False, True)):
        yield OneLayerBox(1, 2, tokens, causal, skip)
        if tokens == 2 or causal or not quick:
            yield OneLayerBox(2, 2, tokens, causal, skip)
        if not quick:
            yield OneLayerBox(1, 3, tokens, causal, skip)


def sorted_twice(box: OneLayerBox, table: Table = stated) -> Tally:
    """Return a tally of networks that are sorted by the table, and by functions."""
    networks = list(box.networks())
    point = ResiduePoint(len(networks[0].embed[0]), networks[0], seed=5)
    outputs = dict(zip(networks, point.outputs(networks), strict=True))
    classes: dict[Hashable, list[SmallNetwork]] = {}
    for network in networks:
        classes.setdefault(table(network), []).append(network)
    by_residues: dict[tuple[int, ...], SmallNetwork] = {}
    identities = 0
    for first, *others in classes.values():
        output, exact = outputs[first], ExactLayer(first)
        if output in by_residues:
            other = by_residues[output]
            expect(not exact.same_as(ExactLayer(other)), f"{first} and {other} have different tables and one function")
            raise Undecided(f"{first} and {other}: the same residues, and different rational functions")
        by_residues[output] = first
        shown = {presentation(first)}
        for other in others:
            if outputs[other] != output:
                raise Refutation(f"{first} and {other} have one table and different functions")
            if (way := presentation(other)) not in shown:
                shown.add(way)
                identities += 1
                if not exact.same_as(ExactLayer(other)):
                    raise Refutation(f"{first} and {other} have one table and different rational functions")
    return Tally(
        f"d = {box.width}, {box.heads} heads, t = {box.tokens}, {mask_and_skip(box)}: {len(networks)} networks, "
        f"{len(classes)} functions, {identities} identities"
    )


def presentation(network: SmallNetwork) -> Hashable:
    """Return heads as they are seen, in any order: equal ones are one function without a theorem."""
    (heads,) = network.layers
    return skipped(network), tuple(
        sorted((seen_form(network, h.attention), seen_value(network, h.value)) for h in heads)
    )


class TwoTokenPair(NamedTuple):
    """Two networks that are one function for two tokens only."""

    one: SmallNetwork
    other: SmallNetwork
    finding: str


def only_two_tokens(*, quick: bool) -> Iterator[TwoTokenPair]:
    """Yield both masks."""
    a, b, v, w = ((1, 0), (2, 1)), ((0, 1), (1, 1)), ((1, 2), (0, 1)), ((1, 0), (1, -1))
    zero = times(0, a)
    for causal, skip in product((False, True), repeat=2):
        of = partial(SmallNetwork, identity(2), unembed=identity(2), tokens=2, causal=causal, skip=skip)
        yield TwoTokenPair(
            of(((HeadAV(a, v), HeadAV(b, times(-1, v))),)),
            of(((HeadAV(times(-1, a), times(-1, v)), HeadAV(times(-1, b), v)),)),
            "t >= 3 is needed: for two tokens heads with V_1 + V_2 = 0 may both be turned around",
        )  # fmt: skip
        yield TwoTokenPair(
            of(((HeadAV(a, v), HeadAV(times(-1, a), w)),)),
            of(((HeadAV(a, plus(v, times(-1, w))), HeadAV(zero, times(2, w))),)),
            "t >= 3 is needed: for two tokens A_2 = -A_1 is a head without scores",
        )  # fmt: skip
        yield TwoTokenPair(
            of(((HeadAV(a, v),),)), of(((HeadAV(times(-1, a), times(-1, v)), HeadAV(zero, times(2, v))),)),
            "t >= 3 is needed: for two tokens a head is the opposite one and one without scores",
        )  # fmt: skip


def two_but_not_three(pair: TwoTokenPair, fewest: int = 3) -> str:
    """Check that they are one function for two tokens, two for three; the tables say both."""
    for tokens in (2, 3):
        one, other = (n._replace(tokens=tokens) for n in pair[:2])
        equal = ExactLayer(one).same_as(ExactLayer(other))
        expect(
            equal is (tokens < fewest) and (stated(one) == stated(other)) is equal,
            f"{one} and {other}: one function is {equal}",
        )
    return pair.finding


def shown(label: str, matrix: Matrix) -> Shown:
    return show(label, rational(matrix))


def small_network(*layers: tuple[HeadAV, ...], tokens: int = 3, causal: bool = True) -> SmallNetwork:
    return SmallNetwork(ONE, layers, ONE, tokens, causal)


def equal_layers(one: SmallNetwork, other: SmallNetwork) -> bool:
    """Return whether two networks of one layer are equal, by an identity of rational functions."""
    return ExactLayer(one).same_as(ExactLayer(other))


def walk() -> Iterator[Step]:
    apart_heads = small_network((HeadAV(A1, V1), HeadAV(A1, V2), HeadAV(A2, V2)))
    together = small_network((HeadAV(A1, plus(V1, V2)), HeadAV(A2, V2)))
    table = sums(apart_heads)
    must(equal_layers(apart_heads, together), "the same function with two heads as with three")
    must(set(table) == {A1, A2} and as_rows(table[A1]) == plus(V1, V2), "the table of the heads")
    yield Step(
        "A table of heads",
        r"One layer $X + \sum_h V_h X P_h$ with softmax patterns of $X^\top A_h X$. Heads with the same $A$ have the "
        r"same pattern, so only the sum of their $V$ counts. Write $M_m$ for the sum of the $V_h$ over the heads with "
        r"$A_h = m$. Here two of three heads have $A_1$, and a layer with two heads is the same function: with the "
        r"exponentials as variables this is an identity of rational functions.",
        (shown("A_1", A1), shown("A_2", A2), shown("M_{A_1} = V_1 + V_2", plus(V1, V2)), shown("M_{A_2} = V_2", V2)),
    )
    other = small_network((HeadAV(A1, V1), HeadAV(A2, plus(V2, V2))))
    must(not equal_layers(together, other), "another table has another function")
    yield Step(
        "Three tokens see the table",
        r"Exponentials of different scores are independent, and $1/(1 + \omega e^\tau)$ with $\omega = t - 1 \ne 1$ "
        r"are linearly independent for different $\tau$. So the function gives every $M_m$ back, also $M_0$, and "
        r"nothing else: no condition on the weights.",
    )
    minus, constant = times(-1, A1), HeadAV(zero(2), times(2, V1))
    two = small_network((HeadAV(A1, V1),), tokens=2)
    turned = small_network((HeadAV(minus, times(-1, V1)), constant), tokens=2)
    must(equal_layers(two, turned), "for two tokens a head can be turned around")
    must(not equal_layers(two._replace(tokens=3), turned._replace(tokens=3)), "for three tokens it can not")
    yield Step(
        "Two tokens see less",
        r"For two tokens $1/(1 + e^{-\tau}) = 1 - 1/(1 + e^\tau)$: opposite scores have opposite patterns, $P_{-A} = "
        r"2 P_0 - P_A$. So $(A, V)$ is the same as $(-A, -V)$ and $(0, 2V)$ together. What is left are the sum of all "
        r"$M_m$ and the differences $M_m - M_{-m}$.",
        (shown("-A_1", minus), shown("-V_1", times(-1, V1)), shown(r"2 V_1 \text{ without scores}", constant.value)),
    )


CLAIM = Claim(
    id="one-transformer-layer",
    source="beyond the paper: docs/transformer-fibers.md, Theorem 8",
    title="one softmax layer with any heads: which weights have the same function, for all weights",
    statement=(
        r"M_m = \textstyle\sum_{E^\top A_h E = m} U V_h E;\quad t \ge 3:\ f_{W'} = f_W \Leftrightarrow e' U' E' = e U E"
        r",\ M'_m = M_m\ \forall m;\quad t = 2:\ f_{W'} = f_W \Leftrightarrow e' U' E' = e U E,\ \textstyle\sum_m M'_m"
        r" = \sum_m M_m,\ M'_m - M'_{-m} = M_m - M_{-m}\ \forall m"
    ),
    hypotheses=(
        "Any weights, any number of heads, $e$ and $e'$ each 0 or 1, with embedding and unembedding or without, "
        "without mask or causal. Proved for all weights of every size (docs/transformer-fibers.md, Theorem 8). At "
        r"$t = 1$ the function is $U (e + \sum_h V_h) E$."
    ),
    place=350,
    rests_on=("free-exponentials",),
    walk=WalkThrough("Heads of one layer as a table, and what two tokens do not see of it.", walk),
    parts=(
        Part(
            "all networks of a box, sorted by the table and by their functions",
            Scope.EVERY_WIDTH,
            boxes,
            sorted_twice,
            {
                "two tokens see every sum": partial(sorted_twice, table=all_sums),
                "three tokens see differences only": partial(sorted_twice, table=differences),
                "heads without scores are not seen": partial(sorted_twice, table=without_constant_heads),
            },
            instance="all networks of one form with small entries",
        ),
        Part(
            "two tokens see less",
            Scope.INSTANCES,
            only_two_tokens,
            two_but_not_three,
            {
                "three tokens see no more": partial(two_but_not_three, fewest=4),
                "two tokens see as much": partial(two_but_not_three, fewest=2),
            },
            instance="two networks",
        ),
    ),
)
