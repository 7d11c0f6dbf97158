"""Random networks for benchmarks: each kind from a seed, always the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Architecture

LARGEST = 150
"""Parameters, at most, of networks of which there are many."""


class Transformers(NamedTuple):
    """How random transformers are drawn: sizes at most, and how often an option is there."""

    parameters: int
    depths: tuple[int, ...]
    heads: tuple[int, ...]
    width: int
    value_rank: int
    embed: int
    unembed: int
    skip: float
    softmax: float
    value_ranks: float
    embedded: float


MIXED = Transformers(LARGEST, (1, 1, 2, 2, 3), (1, 1, 1, 2, 3), 4, 3, 4, 4, 0.4, 0.6, 0.5, 0.4)
"""All options mixed."""

NARROW = Transformers(90, (1, 2, 2, 2, 3), (1, 1, 2, 2, 3), 3, 2, 2, 3, 0.6, 0.4, 0.6, 0.5)
"""Small, most with skip connections, many embedded from one or two rows."""


def transformer(generator: np.random.Generator, kind: Transformers = MIXED) -> Architecture:
    """Return a transformer of a kind, causal or not."""

    def chance(share: float) -> bool:
        return bool(generator.random() < share)

    def size(most: int) -> int:
        return int(generator.integers(1, most + 1))

    while True:
        depth, skip = int(generator.choice(kind.depths)), chance(kind.skip)
        widths = (size(kind.width),) * (depth + 1) if skip else tuple(size(kind.width) for _ in range(depth + 1))
        network = Architecture(
            widths,
            tuple(size(kind.width) for _ in range(depth)),
            int(generator.choice([1, 2, 2, 3])),
            normalization=SOFTMAX if chance(kind.softmax) else None,
            heads=int(generator.choice(kind.heads)),
            value_ranks=tuple(size(kind.value_rank) for _ in range(depth)) if chance(kind.value_ranks) else None,
            skip=skip,
            causal=chance(0.4),
            embed=size(kind.embed) if chance(kind.embedded) else None,
            unembed=size(kind.unembed) if chance(0.4) else None,
        )
        if network.parameter_count <= kind.parameters:
            return network


def plain(generator: np.random.Generator) -> Architecture:
    """Return a plain network, shallow and wide as well as deep and narrow."""
    while True:
        depth = int(generator.integers(1, 7))
        widest = int(generator.integers(1, 10))  # one size for all layers: deep networks would be refused otherwise
        widths = tuple(int(d) for d in generator.integers(1, widest + 1, size=depth + 1))
        ranks = tuple(int(a) for a in generator.integers(1, widest + 1, size=depth))
        network = Architecture(widths, ranks, int(generator.integers(1, 5)))
        if network.parameter_count <= LARGEST:
            return network


KINDS: dict[str, Callable[[np.random.Generator], Architecture]] = {
    "plain": plain,
    "transformers": transformer,
    "narrow": lambda generator: transformer(generator, NARROW),
}


def networks(kind: str, count: int, seed: int) -> list[Architecture]:
    """Return `count` random networks of a kind; plain ones are all different."""
    generator = np.random.default_rng(seed)

    def drawn() -> Iterator[Architecture]:
        while True:
            yield KINDS[kind](generator)

    if kind != "plain":
        return list(islice(drawn(), count))
    found: dict[Architecture, None] = {}
    source = drawn()
    while len(found) < count:
        found[next(source)] = None
    return list(found)
