"""Columns kept instead of combined: as many as the bound says, of the same rank as all, and nothing changes by it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from drawn import NARROW, networks, transformer

from lightning_sym import Architecture, CertifiedDimension, certified_dimension, threads
from lightning_sym.dimension import certify, search
from lightning_sym.dimension.search import Search, bytes_needed, gauge_columns
from lightning_sym.dimension.varieties import has_virtual_weights, virtual_weight_variety
from lightning_sym.errors import BadInput
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.columns import Indices, kept_entries
from lightning_sym.network.jacobian import RandomJacobian, random_weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES
from lightning_sym.symmetries.families import determined_columns_at

P = PRIMES[0]

Change = Callable[[Indices], Indices]


def bare_networks(count: int) -> list[Architecture]:
    """One head, nothing added: deep and narrow, one token, ranks larger than widths; half of them normalized."""
    plain = networks("plain", count, seed=1)
    return [
        n if i % 2 else Architecture(n.widths, n.attention_ranks, n.tokens, SOFTMAX, causal=i % 4 == 0)
        for i, n in enumerate(plain)
    ]


def ranks_at_a_point(network: Architecture, keep: Indices) -> tuple[int, int]:
    """Of all columns and of those kept, in the same rows."""
    rows = RandomJacobian(network, np.random.default_rng(3), P).matrix(network.parameter_count + 16)
    return rank_mod_p(rows, P), rank_mod_p(np.ascontiguousarray(rows[:, keep]), P) if len(keep) else 0


def test_gauge_columns_have_the_rank_of_all() -> None:
    for network in bare_networks(400):
        keep = gauge_columns(network)
        every, kept = ranks_at_a_point(network, keep)
        assert len(keep) == virtual_weight_variety(network).dimension, network
        assert every == kept, network


CHANGES: dict[str, Change] = {
    "one column too few": lambda keep: keep[:-1],
    "first block of keys for the rest": lambda keep: np.arange(len(keep)),
    "the next column for each": lambda keep: np.unique(np.minimum(keep + 1, keep[-1])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_other_columns_lose_rank(change: Change) -> None:
    lost = 0
    for network in bare_networks(40):
        every, kept = ranks_at_a_point(network, change(gauge_columns(network)))
        lost += kept < every
    assert lost > 20


@pytest.mark.parametrize(
    "draw", [transformer, partial(transformer, kind=NARROW)], ids=["random_transformer", "narrow_transformer"]
)
def test_columns_that_directions_determine_are_not_missed(draw: Callable[[np.random.Generator], Architecture]) -> None:
    """Every option, at another point than that of the directions."""
    generator = np.random.default_rng(8)
    options: set[str] = set()
    for _ in range(150):
        network = draw(generator)
        if network.is_bare or network.parameter_count > 90:
            continue
        weights = random_weights(network, generator, P)
        found = determined_columns_at(network, weights, generator, P)
        every, kept = ranks_at_a_point(network, np.delete(np.arange(network.parameter_count), found))
        assert every == kept, network
        options |= network.options
    assert options == {"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"}


def old_road(network: Architecture, upper: int) -> int:
    """The lower bound from combinations of all columns, modulo large primes."""
    found = Search(network, 0, 2**32, lambda stage, done, total: None)
    for _ in found.attempts(upper, None, PRIMES):
        if found.lower >= upper:
            break
    return found.lower


@pytest.mark.parametrize("small_from", [0, 10**9])
def test_answers_are_those_of_all_columns(monkeypatch: pytest.MonkeyPatch, small_from: int) -> None:
    """Modulo small primes first, too: where one falls short another point or prime repairs it."""
    monkeypatch.setattr(search, "SMALL_PRIMES_FROM", small_from)
    generator, primes = np.random.default_rng(9), set()
    for network in [*bare_networks(60), *(transformer(generator) for _ in range(60))]:
        with monkeypatch.context() as all_sizes:  # of small networks all columns would be taken
            all_sizes.setattr(search, "LARGEST", -1)
            all_sizes.setattr(certify, "LARGEST", -1)
            result = certified_dimension(network)
        assert result.lower == old_road(network, result.upper), network
        primes.add(result.prime)
    assert bool(primes & set(SMALL_PRIMES)) == (small_from == 0)


def large() -> Architecture:
    return Architecture((16, 14, 14, 12), (5, 4, 3), 3)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr("lightning_sym.network.prices._BATCH_BYTES", 2**20)
    monkeypatch.setattr(search, "SMALL_PRIMES_FROM", 400)
    found: list[CertifiedDimension] = []
    for number in ("1", "2"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", number)
        for network in (large(), Architecture((9, 9), (5,), 3, heads=4, skip=True, normalization=SOFTMAX)):
            rows = [RandomJacobian(network, np.random.default_rng(1), P, columns=99).matrix(500) for _ in range(2)]
            assert (rows[0] == rows[1]).all()
            found.append(certified_dimension(network))
    assert [(f.value, f.rows, f.prime) for f in found[:2]] == [(f.value, f.rows, f.prime) for f in found[2:]]
    assert [f.prime for f in found[:2]] == [SMALL_PRIMES[0]] * 2


@pytest.mark.parametrize("p", [PRIMES[0], SMALL_PRIMES[0]])
@pytest.mark.parametrize("number", ["1", "2"])
def test_memory_is_not_more_than_estimated(monkeypatch: pytest.MonkeyPatch, number: str, p: int) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", number)
    monkeypatch.setattr(search, "SMALL_PRIMES_FROM", 10**9 if p == PRIMES[0] else 0)
    network = Architecture((22,) * 5, (5,) * 4, 4)  # 2,816 parameters
    tracemalloc.start()
    result = certified_dimension(network)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (result.value, result.prime) == (1260, p)
    estimate = bytes_needed(network, result.rows, 1260, None, p)
    # two threads need not be at their largest at once: with them the estimate is a bound, and may be far above
    assert peak < estimate < (5 * peak if number == "1" else 2 * one_thread(monkeypatch, network, result.rows, p))


def one_thread(monkeypatch: pytest.MonkeyPatch, network: Architecture, rows: int, p: int) -> int:
    """Return what is estimated of one thread."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    return bytes_needed(network, rows, 1260, None, p)


def test_small_primes_choose_points_where_gauges_are_invertible() -> None:
    network = Architecture((3, 3, 3), (2, 3), 2)
    for seed in range(300):
        for matrix in random_weights(network, np.random.default_rng(seed), SMALL_PRIMES[3]):
            size = min(matrix.shape)
            assert matrix.entries[0, 0]
            assert rank_mod_p(matrix.entries[:size, :size], SMALL_PRIMES[3]) == size


def test_entries_are_stored_as_asked_for() -> None:
    network = large()
    keep = gauge_columns(network)
    rows = RandomJacobian(network, np.random.default_rng(1), 251, keep=keep).matrix(40, dtype=np.int8)
    same = RandomJacobian(network, np.random.default_rng(1), 251, keep=keep).matrix(40)
    assert rows.dtype == np.int8
    assert rows.shape == (40, len(keep))
    assert (rows == same).all()
    every = RandomJacobian(network, np.random.default_rng(1), 251).matrix(40)
    assert (every[:, keep] == same).all()
    with pytest.raises(BadInput, match="must fit into the entries, got int8"):
        RandomJacobian(network, np.random.default_rng(1), P).matrix(4, dtype=np.int8)
    with pytest.raises(BadInput, match="must fit into the entries, got complex128"):
        RandomJacobian(network, np.random.default_rng(1), P).matrix(4, dtype=complex)


def test_columns_are_different_ones_in_order() -> None:
    for wrong in ([1, 1], [2, 1], [-1, 1], [0, 10]):
        with pytest.raises(BadInput, match="in increasing order"):
            kept_entries([4, 6], np.array(wrong))
    assert kept_entries([4, 6], np.array([], dtype=np.int64)) == ()


def test_other_networks_have_no_gauge_columns() -> None:
    for network in (Architecture((2, 2), (1,), 2, heads=2), Architecture((2, 2), (1,), 2, causal=True)):
        assert not has_virtual_weights(network)
        with pytest.raises(BadInput, match="one head with nothing added"):
            gauge_columns(network)
