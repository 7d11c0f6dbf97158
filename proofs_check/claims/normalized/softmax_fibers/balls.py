r"""Softmax networks in balls: `arb` of flint encloses the true outputs, at inputs that are not small.

Networks with the same visible weights must not be apart; for any two others an input must be found where their balls do
not meet. A road of its own beside the Taylor series of `proofs_check.boxes`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from lightning_sym.fibers.softmax import is_blind
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.claim import Refutation, Tally, Undecided, spell
from proofs_check.claims.transformers import small_networks
from proofs_check.claims.transformers.small_networks import HeadAV, Matrix, identity

Visible = Callable[["VirtualNetwork"], int]
"""How many attention matrices the function determines, the first ones; minus one for the zero function."""

SKEW: Matrix = ((0, 1), (-1, 0))


class VirtualNetwork(NamedTuple):
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

    def balls(self, x: ObjectArray) -> ObjectArray:
        """The output, entry by entry."""
        one = identity(len(self.attention[0]))
        layers = tuple((HeadAV(attention, one),) for attention in self.attention)
        same = small_networks.SmallNetwork(one, layers, self.value, self.tokens, self.causal, skip=False)
        return same.balls(x).ravel()


def visible(network: VirtualNetwork) -> int:
    """Theorem 1 of docs/softmax-fibers.md, and Theorem 4 for three tokens."""
    *attention, value = network.matrices
    if is_zero(value):
        return -1
    blind = [False if network.causal else is_blind(a, network.tokens) for a in attention]
    return blind.index(True) + 1 if True in blind else len(attention)


def skew_is_always_blind(network: VirtualNetwork) -> int:
    """A fault: also for three tokens."""
    return visible(network._replace(tokens=2))


def one_layer_less(network: VirtualNetwork) -> int:
    """A fault: the last visible layer is not."""
    return max(visible(network) - 1, min(visible(network), 0))


def mask_changes_nothing(network: VirtualNetwork) -> int:
    """A fault: as if there were no mask."""
    return visible(network._replace(causal=False))


def inputs(network: VirtualNetwork, count: int) -> list[ObjectArray]:
    """The same ones for all networks of a shape."""
    return small_networks.points(len(network.attention[0]), network.tokens, count)


class SoftmaxBox(NamedTuple):
    """All networks of width one with entries in -1, 0, 1; or `drawn` ones of width two."""

    width: int
    depth: int
    tokens: int
    causal: bool
    drawn: int

    def networks(self) -> Iterator[VirtualNetwork]:
        """Each once."""
        if self.width == 1:
            for *numbers, last in product((-1, 0, 1), repeat=self.depth + 1):
                yield VirtualNetwork(tuple(((a,),) for a in numbers), ((last,),), self.tokens, self.causal)
            return
        source = random.Random(self.depth)
        rows = list(product((-1, 0, 1), repeat=2))
        # half of the matrices hide something, so that many networks differ only where it is hidden
        hiding: list[Matrix] = [((0, 0), (0, 0)), SKEW]
        others: list[Matrix] = [(source.choice(rows), source.choice(rows)) for _ in range(3)]
        seen: set[VirtualNetwork] = set()
        while len(seen) < min(self.drawn, 5**self.depth):
            attention = tuple(source.choice(source.choice((hiding, others))) for _ in range(self.depth))
            seen.add(VirtualNetwork(attention, ((1, source.choice((2, -2))),), self.tokens, self.causal))
        yield from sorted(seen)


def boxes(*, quick: bool) -> Iterator[SoftmaxBox]:
    """Up to three layers, two tokens or three, with a mask and without."""
    for tokens, causal in [(2, False), (3, False), (3, True)]:
        for depth in (1, 2) if quick else (1, 2, 3):
            yield SoftmaxBox(1, depth, tokens, causal, 0)
            yield SoftmaxBox(2, depth, tokens, causal, 24 if quick else 40)


def functions(box: SoftmaxBox, seen: Visible = visible) -> str:
    """Equal visible weights: never apart. Different ones: apart at one of the inputs."""
    groups: dict[Hashable, list[VirtualNetwork]] = {}
    for network in box.networks():
        count = seen(network)
        key = (network.value, network.attention[:count] if count >= 0 else ())
        groups.setdefault(key, []).append(network)
    outputs: dict[VirtualNetwork, list[ObjectArray]] = {}

    def apart(one: VirtualNetwork, other: VirtualNetwork, tries: int) -> bool:
        for k in range(tries):
            for network in (one, other):
                known = outputs.setdefault(network, [])
                if len(known) == k:
                    known.append(network.balls(inputs(network, k + 1)[k]))
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
