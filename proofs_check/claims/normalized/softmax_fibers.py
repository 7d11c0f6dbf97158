r"""Every fiber of softmax networks with one head a layer: Theorems 1 and 4 of docs/softmax-fibers.md.

Let $t \ge 2$ and $\tilde V \ne 0$. *Without mask* a layer is blind if $\tilde A_i = 0$, or $t = 2$ and $\tilde A_i$ is
skew. The function determines $\tilde V$ and $\tilde A_1, \dots, \tilde A_b$ up to the first blind layer (all layers, if
there is none), and nothing else. *With a causal mask* and $t \ge 3$ it determines all virtual weights. Both are proved
there for all weights, without genericity; Conjecture 3.10 is a corollary.

What is checked here could refute them. Networks with the same visible weights must not be apart: balls that enclose
the true outputs decide, flint's `arb`. Networks with different ones must be: an input is found where their balls do not
meet. At given weights, degenerate ones above all, the rank of the differential is the number of visible weights: the
rank of balls bounds it from below; the directions that are not visible have derivatives whose balls contain zero.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.fibers.softmax import is_blind
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.network.attention import network_output
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import Balls, certified_rank, precision
from proofs_check.claim import Claim, Part, Refutation, Scope, Tally, Undecided
from proofs_check.expect import Bounds, expect_value, spell

Visible = Callable[["Network"], int]
"""How many attention matrices the function determines, the first ones; minus one for the zero function."""

BITS = 250


Matrix = tuple[tuple[int, ...], ...]

SKEW: Matrix = ((0, 1), (-1, 0))


class Network(NamedTuple):
    """Virtual weights as they are: inner values are 1. Matrices are tuples of rows."""

    attention: tuple[Matrix, ...]
    value: Matrix
    tokens: int
    causal: bool

    @property
    def matrices(self) -> list[ObjectArray]:
        """All virtual weights, `V~` last."""
        return [np.array(m, dtype=object) for m in (*self.attention, self.value)]

    def __str__(self) -> str:
        mask = "causal" if self.causal else "no mask"
        return f"{mask}, t = {self.tokens}, A~ = {', '.join(map(spell, self.attention))}, V~ = {spell(self.value)}"

    def balls(self, x: ObjectArray, direction: tuple[int, tuple[int, int]] | None = None) -> Balls:
        """The output, with its derivative along one entry of one of `matrices`."""
        depth, d, d_out = len(self.attention), len(self.attention[0]), len(self.value)
        moved = [0 * m for m in self.matrices]
        if direction is not None:
            moved[direction[0]][direction[1]] = 1
        *attention, value = (Balls.of(m, to) for m, to in zip(self.matrices, moved, strict=True))
        one = Balls.of(np.eye(d, dtype=int))
        values = [one] * (depth - 1) + [value]
        shape = Architecture((*(d,) * depth, d_out), (d,) * depth, self.tokens, SOFTMAX, causal=self.causal)
        with precision(BITS):
            weights = [m for a, v in zip(attention, values, strict=True) for m in (a, one, v)]
            return network_output(Balls.of(x), shape, weights)  # type: ignore[no-any-return]


def visible(network: Network) -> int:
    """Theorem 1, and Theorem 4 for three tokens."""
    *attention, value = network.matrices
    if is_zero(value):
        return -1
    blind = [False if network.causal else is_blind(a, network.tokens) for a in attention]
    return blind.index(True) + 1 if True in blind else len(attention)


def skew_is_always_blind(network: Network) -> int:
    """A fault: also for three tokens."""
    return visible(network._replace(tokens=2))


def one_layer_less(network: Network) -> int:
    """A fault: the last visible layer is not."""
    return max(visible(network) - 1, min(visible(network), 0))


def mask_changes_nothing(network: Network) -> int:
    """A fault: as if there were no mask."""
    return visible(network._replace(causal=False))


def inputs(network: Network, count: int) -> list[ObjectArray]:
    """The same ones for all networks of a shape; small, so that no token's weight is close to zero or one."""
    source, d = random.Random(7), len(network.attention[0])
    numbers = [Fraction(n, 4) for n in range(-7, 8) if n]
    rows = [[[source.choice(numbers) for _ in range(network.tokens)] for _ in range(d)] for _ in range(count)]
    return [np.array(x, dtype=object) for x in rows]


class Box(NamedTuple):
    """All networks of width one with entries in -1, 0, 1; or `drawn` ones of width two."""

    width: int
    depth: int
    tokens: int
    causal: bool
    drawn: int

    def networks(self) -> Iterator[Network]:
        """Each once."""
        if self.width == 1:
            for *numbers, last in product((-1, 0, 1), repeat=self.depth + 1):
                yield Network(tuple(((a,),) for a in numbers), ((last,),), self.tokens, self.causal)
            return
        source = random.Random(self.depth)
        rows = list(product((-1, 0, 1), repeat=2))
        # half of the matrices hide something, so that many networks differ only where it is hidden
        hiding: list[Matrix] = [((0, 0), (0, 0)), SKEW]
        others: list[Matrix] = [(source.choice(rows), source.choice(rows)) for _ in range(3)]
        seen: set[Network] = set()
        while len(seen) < min(self.drawn, 5**self.depth):
            attention = tuple(source.choice(source.choice((hiding, others))) for _ in range(self.depth))
            seen.add(Network(attention, ((1, source.choice((2, -2))),), self.tokens, self.causal))
        yield from sorted(seen)


def boxes(quick: bool) -> Iterator[Box]:
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        for depth in (1, 2) if quick else (1, 2, 3):
            yield Box(1, depth, tokens, causal, 0)
            yield Box(2, depth, tokens, causal, 24 if quick else 40)


def functions(box: Box, seen: Visible = visible) -> str:
    """Equal visible weights: never apart. Different ones: apart at one of the inputs."""
    groups: dict[Hashable, list[Network]] = {}
    for network in box.networks():
        count = seen(network)
        key = (network.value, network.attention[:count] if count >= 0 else ())
        groups.setdefault(key, []).append(network)
    outputs: dict[Network, list[ObjectArray]] = {}

    def apart(one: Network, other: Network, tries: int) -> bool:
        for k in range(tries):
            for network in (one, other):
                known = outputs.setdefault(network, [])
                if len(known) == k:
                    known.append(network.balls(inputs(network, k + 1)[k]).values().ravel())
            if any(not a.overlaps(b) for a, b in zip(outputs[one][k], outputs[other][k], strict=True)):
                return True
        return False

    for first, *others in groups.values():
        for other in others:
            if apart(first, other, 2):
                raise Refutation(f"{first} and {other} have the same visible weights and different functions")
    for one, other in combinations([group[0] for group in groups.values()], 2):
        if not apart(one, other, 12):
            raise Undecided(f"{one} and {other}: no input was found that shows them apart")
    return Tally(f"{sum(map(len, groups.values()))} networks, {len(groups)} functions")


def degenerate(quick: bool) -> Iterator[Network]:
    """Two layers, each zero, skew, of rank one, or not; at the full size three layers too, the first two of them so."""
    one, zero, thin, mixed = ((1, 0), (0, 1)), ((0, 0), (0, 0)), ((1, 1), (0, 0)), ((1, 1), (-1, 0))
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        for attention in product((one, zero, thin, SKEW, mixed), repeat=2):
            if not quick or attention[0] != attention[1]:
                yield Network(attention, ((1, 2),), tokens, causal)
            if not quick:
                yield Network(attention, ((1, 0), (0, 0)), tokens, causal)
                if mixed not in attention:
                    yield Network((*attention, mixed), ((1, 2),), tokens, causal)


def rank_of_differential(network: Network, seen: Visible = visible) -> None:
    """At these very weights: visible directions are independent, the others are not felt."""
    matrices, count = network.matrices, seen(network)
    columns: list[ObjectArray] = []
    hidden: list[ObjectArray] = []
    points = inputs(network, 8 + sum(m.size for m in matrices))
    for number, matrix in enumerate(matrices):
        felt = number < count or number == len(matrices) - 1
        for index in np.ndindex(*matrix.shape):
            column = np.concatenate([network.balls(x, (number, index)).derivative().ravel() for x in points])
            (columns if felt else hidden).append(column)
    for column in hidden:
        if any(not ball.contains(0) for ball in column):
            raise Refutation(f"{network}: a direction that is said to be invisible changes the output")
    with precision(BITS):
        lower = certified_rank(np.stack(columns, axis=1))
    expect_value(Bounds(lower, len(columns)), len(columns), at=f"{network}, rank of the differential")


class Pair(NamedTuple):
    """Two networks with the same function, and the mask with which, for three tokens, they are two."""

    one: Network
    other: Network
    causal: bool
    finding: str


def second_networks(quick: bool) -> Iterator[Pair]:
    one, zero, twice = ((1, 0), (0, 1)), ((0, 0), (0, 0)), ((0, 2), (-2, 0))
    value = ((1, 3),)
    yield Pair(
        Network((SKEW, one), value, 2, False), Network((SKEW, zero), value, 2, False), False,
        "t >= 3 is needed for skew layers: without mask, two tokens do not see what is behind one",
    )  # fmt: skip
    yield Pair(
        Network((SKEW, zero), value, 2, True), Network((zero, twice), value, 2, True), True,
        "t >= 3 is needed with a causal mask: for two tokens (B, 0) and (0, 2 B) with skew B have the same function",
    )  # fmt: skip
    yield Pair(
        Network((zero, one), value, 3, False), Network((zero, SKEW), value, 3, False), True,
        "a mask is needed to see behind a zero layer: without one all tokens are equal there",
    )  # fmt: skip
    yield Pair(
        Network((one,), value, 1, False), Network((SKEW,), value, 1, False), False,
        "t >= 2 is needed: one token shows V~ alone",
    )  # fmt: skip


def same_here_only(pair: Pair, restored: bool = False) -> str:
    """The two are not apart; with the hypothesis back they are."""
    for back in (False, True):
        one, other = (n._replace(tokens=3, causal=pair.causal) if back else n for n in pair[:2])
        points = inputs(one, 8)
        apart = any(
            not a.overlaps(b)
            for x in points
            for a, b in zip(one.balls(x).values().ravel(), other.balls(x).values().ravel(), strict=True)
        )
        if apart and (restored or not back):
            raise Refutation(f"{one} and {other} have different functions")
        if back and not apart:
            raise Undecided(f"{one} and {other}: no input was found that shows them apart")
    return pair.finding


CLAIM = Claim(
    id="softmax-fibers",
    source="beyond the paper: all fibers behind Conjecture 3.10",
    title="softmax, one head: which virtual weights the function determines, for all weights",
    statement=(
        r"t \ge 2,\ \tilde V \ne 0,\ b = \min\{i : \tilde A_i = 0 \text{ or } (t = 2,\ \tilde A_i \text{ skew})\}"
        r" \text{ or } l \;\Rightarrow\; \left(\varphi_{W'} = \varphi_W \Leftrightarrow \tilde V' = \tilde V,\ "
        r"\tilde A'_i = \tilde A_i\ (i \le b)\right);\quad"
        r" \text{causal},\ t \ge 3:\ \varphi_{W'} = \varphi_W \Leftrightarrow"
        r" (\tilde V', \tilde A') = (\tilde V, \tilde A)"
    ),
    parts=(
        Part(
            "equal visible weights are never apart, different ones are",
            Scope.INSTANCES,
            boxes,
            functions,
            {
                "skew layers are blind for three tokens": partial(functions, seen=skew_is_always_blind),
                "the last visible layer is not": partial(functions, seen=one_layer_less),
                "a mask changes nothing": partial(functions, seen=mask_changes_nothing),
            },
            instance="all networks of a width and depth with small entries",
        ),
        Part(
            "the differential at degenerate weights has the rank that the visible weights say",
            Scope.INSTANCES,
            degenerate,
            rank_of_differential,
            {
                "skew layers are blind for three tokens": partial(rank_of_differential, seen=skew_is_always_blind),
                "the last visible layer is not": partial(rank_of_differential, seen=one_layer_less),
            },
            instance="virtual weights",
        ),
        Part(
            "without the hypotheses there are second networks",
            Scope.INSTANCES,
            second_networks,
            same_here_only,
            {"with the hypotheses too": partial(same_here_only, restored=True)},
            instance="two networks",
        ),
    ),
)
