"""A largest rank that is stated too small counts directions at special points that generic points do not have."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture
from lightning_sym.exact.modular import null_space_of_rank, rank_mod_p
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries import families, head_mixing, stream_directions
from lightning_sym.symmetries.point import Point

P = PRIMES[0]

# where only directions of one kind are looked for: two or three heads, ranks above and below the widths
HEADS = [
    Architecture((3, 1), (1,), 2, heads=3),
    Architecture((3, 1), (2,), 2, heads=2),
    Architecture((4, 1), (3,), 2, heads=2, value_ranks=(2,)),
    Architecture((3, 2), (4,), 2, heads=2, value_ranks=(4,)),
    Architecture((3, 3), (2,), 1, heads=2),
    Architecture((4, 1), (1,), 1, heads=2, value_ranks=(1,)),
    Architecture((2, 2, 2), (1, 3), 1, heads=2, skip=True),
    Architecture((1, 2, 1), (1, 1), 3, heads=3),
]
ONE_ROW = [
    Architecture((2, 2, 2), (2, 1), 2, skip=True, embed=1, value_ranks=(2, 1)),
    Architecture((3, 3, 3), (1, 3), 2, heads=2, skip=True, causal=True, embed=1, value_ranks=(1, 1)),
    Architecture((2, 2, 2, 2), (1, 1, 1), 2, skip=True, embed=1),
    Architecture((2, 2, 2), (1, 1), 1, heads=2, skip=True, causal=True, embed=1),
]
KINDS = [(head_mixing, kind, HEADS) for kind in ("_filling", "_mixing", "_syzygies")] + [
    (stream_directions, "first_layers", ONE_ROW)
]


def special_weights(network: Architecture, rng: np.random.Generator) -> Iterator[list[PrimeFieldMatrix]]:
    """Small entries, many of them zero; and heads with common rows of queries and keys, or values."""
    names = dict(network.weight_shapes())
    for letters in ("", "", "", "Q", "K", "QK", "QK", "V"):
        small = not letters
        found = {n: rng.integers(-1, 2, s) if small else rng.integers(0, P, s) for n, s in names.items()}
        for name in names:
            first = name.split(".")[0] + ".1"
            if name[0] in letters and first in found:
                rows = int(rng.integers(1, len(found[name]) + 1))
                found[name][:rows] = found[first][:rows]
        yield [PrimeFieldMatrix.of(w, P) for w in found.values()]


def count_at(network: Architecture, weights: list[PrimeFieldMatrix]) -> int:
    """Of all families together: what one has at special points another may have at generic ones."""
    point = Point(network, weights, P)
    blocks = [block.residues() for family in families.families_of(network) for block in family.at(point)]
    return rank_mod_p(np.concatenate(blocks), P)


def special_points_with_more(networks: list[Architecture]) -> int:
    rng, found = np.random.default_rng(3), 0
    for network in networks:
        generic = count_at(network, random_weights(network, rng, P))
        found += sum(count_at(network, w) > generic for _ in range(3) for w in special_weights(network, rng))
    return found


@pytest.mark.parametrize(("module", "kind", "networks"), KINDS, ids=[kind for _, kind, _ in KINDS])
def test_no_special_point_has_more_directions(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, kind: str, networks: list[Architecture]
) -> None:
    def nothing(*_: Any) -> Iterator[Any]:
        return iter(())

    for other in ("_filling", "_mixing", "_syzygies"):
        if other != kind:
            monkeypatch.setattr(head_mixing, other, nothing)
    assert special_points_with_more(networks) == 0
    # as if the largest rank were stated one smaller
    monkeypatch.setattr(module, "null_space_of_rank", lambda system, rank, p: null_space_of_rank(system, rank - 1, p))
    assert special_points_with_more(networks) > 0
