r"""Softmax networks in balls: `arb` of flint encloses the true outputs, at inputs that are not small.

Networks with the same visible weights must not be apart; for any two others an input must be found where their balls do
not meet. A road of its own beside the Taylor series of `proofs_check.boxes`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from lightning_sym.fibers.softmax import is_blind
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.claim import Refutation, Tally, Undecided
from proofs_check.claims.transformers.small_networks import (
    HeadAV,
    Matrix,
    SmallNetwork,
    as_array,
    identity,
    may_be_equal,
    points,
)

Visible = Callable[[SmallNetwork], int]
"""How many attention matrices the function determines, the first ones; minus one for the zero function."""

SKEW: Matrix = ((0, 1), (-1, 0))


def virtual_network(attention: Sequence[Matrix], value: Matrix, tokens: int, causal: bool) -> SmallNetwork:
    """Return the network of virtual weights as they are: inner values are 1."""
    one = identity(len(value[0]))
    return SmallNetwork(one, tuple((HeadAV(a, one),) for a in attention), value, tokens, causal, skip=False)


def visible(network: SmallNetwork) -> int:
    """Return how many matrices are visible (Theorem 1 of docs/softmax-fibers.md, for three tokens Theorem 4)."""
    if is_zero(as_array(network.unembed)):
        return -1
    blind = [not network.causal and is_blind(as_array(h.attention), network.tokens) for (h,) in network.layers]
    return blind.index(True) + 1 if True in blind else len(blind)


def skew_is_always_blind(network: SmallNetwork) -> int:
    """Return a fault: also for three tokens."""
    return visible(network._replace(tokens=2))


def one_layer_less(network: SmallNetwork) -> int:
    """Return a fault: the last visible layer is not."""
    return max(visible(network) - 1, min(visible(network), 0))


def mask_changes_nothing(network: SmallNetwork) -> int:
    """Return a fault: as if there were no mask."""
    return visible(network._replace(causal=False))


@lru_cache(maxsize=2**10)
def output(network: SmallNetwork, number: int) -> ObjectArray:
    """Return the output in balls, at one of the inputs that all networks of a shape have."""
    return network.balls(points(len(network.embed), network.tokens, number + 1)[number])


def told_apart(one: SmallNetwork, other: SmallNetwork, tries: int) -> bool:
    """Return whether balls prove that the outputs differ at one of the first inputs."""
    return any(not may_be_equal(output(one, k), output(other, k)) for k in range(tries))


class SoftmaxBox(NamedTuple):
    """All networks of width one with entries in -1, 0, 1; or `drawn` ones of width two."""

    width: int
    depth: int
    tokens: int
    causal: bool
    drawn: int

    def networks(self) -> Iterator[SmallNetwork]:
        """Yield each once."""
        if self.width == 1:
            for *numbers, last in product((-1, 0, 1), repeat=self.depth + 1):
                yield virtual_network([((a,),) for a in numbers], ((last,),), self.tokens, self.causal)
            return
        source = random.Random(self.depth)
        rows = list(product((-1, 0, 1), repeat=2))
        # half of the matrices hide something, so that many networks differ only where it is hidden
        hiding: list[Matrix] = [((0, 0), (0, 0)), SKEW]
        others: list[Matrix] = [(source.choice(rows), source.choice(rows)) for _ in range(3)]
        seen: set[SmallNetwork] = set()
        while len(seen) < min(self.drawn, 5**self.depth):
            attention = tuple(source.choice(source.choice((hiding, others))) for _ in range(self.depth))
            seen.add(virtual_network(attention, ((1, source.choice((2, -2))),), self.tokens, self.causal))
        yield from sorted(seen)


def boxes(*, quick: bool) -> Iterator[SoftmaxBox]:
    """Yield boxes of up to three layers, two tokens or three, with a mask and without."""
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        for depth in (1, 2) if quick else (1, 2, 3):
            yield SoftmaxBox(1, depth, tokens, causal, 0)
            yield SoftmaxBox(2, depth, tokens, causal, 24 if quick else 40)


def functions(box: SoftmaxBox, seen: Visible = visible) -> str:
    """Check that equal visible weights are never apart, and different ones are at one of the inputs."""
    groups: dict[Hashable, list[SmallNetwork]] = {}
    for network in box.networks():
        count = seen(network)
        key = (network.unembed, network.layers[:count] if count >= 0 else ())
        groups.setdefault(key, []).append(network)
    for first, *others in groups.values():
        for other in others:
            if told_apart(first, other, 2):
                raise Refutation(f"{first} and {other} have the same visible weights and different functions")
    for one, other in combinations([group[0] for group in groups.values()], 2):
        if not told_apart(one, other, 12):
            raise Undecided(f"{one} and {other}: no input was found that shows them apart")
    return Tally(f"{sum(map(len, groups.values()))} networks, {len(groups)} functions")
