"""Dimensions with the compiled kernel and without it: the same numbers from the same points, in fewer bytes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lightning_sym.dimension import search
from lightning_sym.dimension.certify import Status, certified_dimension
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import TooLarge
from lightning_sym.exact import kernel
from lightning_sym.exact.kernel import Kernel
from lightning_sym.exact.modular import buffer_bytes_for, entries_for, rank_mod_p
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES

NETWORKS = [
    Architecture((4, 4, 4), (2, 2), 3),
    Architecture((5, 4, 3, 3), (2, 2, 3), 2),
    Architecture((3, 2), (3,), 1),
    Architecture((4, 4, 4), (2, 2), 3, heads=2),
    Architecture((3, 3), (2,), 3, SOFTMAX),
    Architecture((3, 3, 3), (2, 2), 2, SOFTMAX, skip=True),
    Architecture((8, 8, 8, 8), (3, 3, 3), 4),
]


@pytest.fixture
def kernels(kernel_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[Kernel | None]:
    """No kernel, then one with each instruction set; small primes come first for networks of every size."""
    monkeypatch.setattr(search, "SMALL_PRIMES_FROM", 0)
    return [None, *(Kernel(kernel_module, name) for name in kernel_module.instruction_sets())]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_same_bounds_with_a_kernel_and_without(
    network: Architecture, kernels: list[Kernel | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        found = set()
        for one in kernels:
            monkeypatch.setattr(kernel, "COMPILED", one)
            result = certified_dimension(network, seed=seed)
            found.add((result.lower, result.upper, result.prime, result.rows, result.status))
        assert len(found) == 1, found


@pytest.mark.parametrize("lost", [1, 2])
def test_ranks_lost_by_a_small_prime_are_found_again(
    kernels: list[Kernel | None], monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """At some points the first tries fall short; another point and prime mends it."""
    short, primes = SMALL_PRIMES[:lost], [*SMALL_PRIMES[:2], PRIMES[0]]

    def rank(matrix: np.ndarray, p: int, **options: Any) -> int:
        if p in short:
            matrix[:2] = matrix[2]  # one row more than the rank is taken
        return rank_mod_p(matrix, p, **options)

    monkeypatch.setattr(search, "rank_mod_p", rank)
    for one in kernels:
        monkeypatch.setattr(kernel, "COMPILED", one)
        result = certified_dimension(NETWORKS[0])
        assert (result.value, result.status, result.prime) == (38, Status.CERTIFIED, primes[lost])


def test_large_ranks_are_found_in_bytes(kernels: list[Kernel | None], monkeypatch: pytest.MonkeyPatch) -> None:
    network, p, ranks = Architecture((12, 12, 12, 12), (4, 4, 4), 4), SMALL_PRIMES[0], set()
    for one in kernels:
        monkeypatch.setattr(kernel, "COMPILED", one)
        in_bytes = one is not None and one.instruction_set != "plain"
        assert entries_for(p) == (np.int8 if in_bytes else np.float32)
        assert entries_for(4194301) == np.float64
        rows = RandomJacobian(network, np.random.default_rng(2), p).matrix(700, dtype=entries_for(p))
        assert rows.dtype == entries_for(p)
        ranks.add(rank_mod_p(rows, p, overwrite=True))
    assert ranks == {virtual_weight_variety(network).dimension}


def test_the_estimate_of_memory_counts_bytes(kernels: list[Kernel | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused without a kernel may fit with one, and what fits is still computed without one."""
    network = Architecture((91,) * 5, (22,) * 4, 4)
    needed = {}
    for one in kernels:
        monkeypatch.setattr(kernel, "COMPILED", one)
        name = "none" if one is None else one.instruction_set
        needed[name] = search.bytes_needed(network, 22_373, 22_357, None, SMALL_PRIMES[0])
        assert buffer_bytes_for(22_373, 22_357, SMALL_PRIMES[0]) < 22_373 * 22_357 / 2
        with pytest.raises(TooLarge, match=r"must fit into 0\.25 GiB"):
            certified_dimension(network, memory=2**28)
    assert needed["none"] == needed["plain"]
    for name in needed.keys() - {"none", "plain"}:
        assert needed[name] < 0.4 * needed["none"]
