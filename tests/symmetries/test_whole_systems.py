"""Directions of heads in closed form against whole linear systems, at random and at special points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import whole_systems

from lightning_sym import Architecture
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries import attention_motions, families
from lightning_sym.symmetries.families import DirectionFamily
from lightning_sym.symmetries.point import Point

Residues = npt.NDArray[np.int64]
FORMS = ("skew", "cancelling", "skew differences", "symmetric products")


SEEN_SELDOM = [
    Architecture((4, 4, 4), (4, 4), 2, skip=True, embed=2),
    Architecture((4, 4, 4), (1, 4), 3, skip=True, embed=2),
    Architecture((4, 4, 4), (1, 3), 2, skip=True, embed=2, unembed=1),
    Architecture((3,) * 4, (4, 3, 3), 2, normalization=SOFTMAX, skip=True, causal=True, embed=1, unembed=2),
    Architecture((3,) * 4, (3, 2, 4), 2, normalization=SOFTMAX, value_ranks=(3, 3, 2), skip=True, causal=True, embed=1),
    Architecture((4, 4, 4), (4, 4), 2, normalization=SOFTMAX, skip=True, embed=2),
]
"""Symmetric products, skew differences, forms that cancel: random networks have them once in a while."""


def random_networks(rng: np.random.Generator, heads: bool) -> Iterator[Architecture]:
    """Of all families: heads that mix, or one or two heads behind others with skip connections; width one, too."""

    def size(most: int) -> int:
        return int(rng.integers(1, most + 1))

    while True:
        depth = size(2) if heads else 1 + size(2)
        widths, skip = tuple(size(4) for _ in range(depth + 1)), rng.random() < (0.3 if heads else 0.8)
        options: dict[str, Any] = {"heads": 1 + size(3) if heads else max(1, size(4) - 2), "skip": skip}
        options["causal"] = rng.random() < 0.4
        for name, most, often in (("embed", 3, 0.4 if heads else 0.7), ("unembed", 3, 0.3)):
            if rng.random() < often:
                options[name] = size(most)
        if rng.random() < 0.4:
            options["value_ranks"] = tuple(size(4) for _ in range(depth))
        if not heads and rng.random() < 0.5:
            options["normalization"] = SOFTMAX
        widths = widths[:1] * (depth + 1) if skip else widths
        network = Architecture(widths, tuple(size(5) for _ in range(depth)), int(rng.choice([1, 2, 2, 3])), **options)
        if network.parameter_count <= 200:
            yield network


def points(network: Architecture, rng: np.random.Generator, p: int) -> Iterator[Point]:
    """A random one; then small entries, heads with common rows, matrices of smaller rank, and zero."""
    yield Point(network, random_weights(network, rng, p), p)
    names = dict(network.weight_shapes())
    for kind in ("small", "QK", "V", "rank", "zero"):
        found = {n: rng.integers(-1, 2, s) if kind == "small" else rng.integers(0, p, s) for n, s in names.items()}
        for name, matrix in found.items():
            first = name.split(".")[0] + ".1"
            if name[0] in kind and first in found:
                rows = int(rng.integers(1, len(matrix) + 1))
                matrix[:rows] = found[first][:rows]
            if kind == "zero" and name[0] in "QK":
                matrix[:] = 0
            if kind == "rank" and rng.random() < 0.4:
                matrix[-1] = matrix[0] * int(rng.integers(0, 3))
        yield Point(network, [PrimeFieldMatrix.of(w, p) for w in found.values()], p)


def whole(family: DirectionFamily, point: Point, monkeypatch: pytest.MonkeyPatch) -> list[Residues]:
    if family.name in ("skew", "mixing"):
        return list(getattr(whole_systems, family.name)(point))
    with monkeypatch.context() as other:
        other.setattr(attention_motions, "HeadMotions", whole_systems.WholeHead)
        return [block.residues() for block in family.directions(point)]


def compared(names: tuple[str, ...], count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each family has more than the others; all must span the same in both ways."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    chosen = islice(random_networks(rng, names == ("mixing",)), count)
    for network in chain(SEEN_SELDOM if names == FORMS else [], chosen):
        mine = [family for family in families.families_of(network) if family.name in names]
        others = [family for family in families.families_of(network) if family.name not in names]
        for point in points(network, rng, PRIMES[0] if rng.random() < 0.7 else SMALL_PRIMES[0]):
            if not mine or not point.is_generic:
                continue
            rest = [block.residues() for family in others for block in family.at(point)]
            slow = [block for family in mine for block in whole(family, point, monkeypatch)]
            fast = [block.residues() for family in mine for block in family.at(point)]
            ranks = [
                rank_mod_p(np.concatenate(rows), point.prime) for rows in (rest + slow, rest + fast, rest + slow + fast)
            ]
            assert len(set(ranks)) == 1, (network, ranks)
            found.update(family.name for family in mine for _ in family.at(point))
            found["more"] += ranks[0] > rank_mod_p(np.concatenate(rest), point.prime)
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_heads_mix_as_whole_systems_say(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    assert compared(("mixing",), 14, seed, monkeypatch)["more"] > 25


def test_forms_cancel_as_whole_systems_say(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(FORMS, 25, 3, monkeypatch)
    assert min(found[name] for name in (*FORMS, "more")) > 3, found
