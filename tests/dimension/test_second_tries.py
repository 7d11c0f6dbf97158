"""The rank of the directions that a function does not feel: one that falls short once is found in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension.certify import Status
from lightning_sym.exact.elimination import Echelon, echelon_mod_p
from lightning_sym.exact.krylov import rank_at_least
from lightning_sym.exact.modular import independent_columns
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.symmetries.families import orbit_dimension_at

FAMILIES = "lightning_sym.symmetries.families"
NETWORKS = {
    "one layer": Architecture((3, 2), (2,), 2),
    "two layers": Architecture((3, 3, 3), (1, 1), 3),
    "softmax": Architecture((2, 2, 2), (1, 1), 2, normalization=SOFTMAX),
    "heads": Architecture((2, 2), (1,), 3, normalization=SOFTMAX, heads=2, value_ranks=(1,)),
    "skip": Architecture((2, 2, 2), (1, 1), 3, skip=True, causal=True),
    "not small": Architecture((8, 8, 8), (3, 3), 2),
}
"""All of them rest on directions: with fewer their bounds do not meet."""


def less(rank: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **options: max(0, rank(*words, **options) - 1)


def fewer(columns: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **options: columns(*words, **options)[:-1]


def shorter(echelon: Callable[..., Echelon]) -> Callable[..., Echelon]:
    def eliminated(*words: Any, **options: Any) -> Echelon:
        found = echelon(*words, **options)
        return Echelon(found.pivot_rows[:-1], found.pivot_columns[:-1])

    return eliminated


@pytest.fixture
def no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_sym.dimension.certify.counted_bounds", lambda architecture: ({}, []))
    monkeypatch.setattr("lightning_sym.dimension.certify.BY_LAYERS", ())


@pytest.mark.usefixtures("no_counts")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_rank_that_falls_short_once_is_found_by_elimination(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = NETWORKS[name]
    expected = certified_dimension(network)
    assert expected.status is Status.CERTIFIED
    monkeypatch.setattr(f"{FAMILIES}.rank_at_least", less(rank_at_least))
    found = certified_dimension(network)
    assert (found.status, found.value) == (Status.CERTIFIED, expected.value)


@pytest.mark.usefixtures("no_counts")
@pytest.mark.parametrize("name", NETWORKS)
def test_one_that_falls_short_twice_leaves_it_undecided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = NETWORKS[name]
    expected = certified_dimension(network)
    monkeypatch.setattr(f"{FAMILIES}.rank_at_least", less(rank_at_least))
    monkeypatch.setattr(f"{FAMILIES}.independent_columns", fewer(independent_columns))
    monkeypatch.setattr(f"{FAMILIES}.echelon_mod_p", shorter(echelon_mod_p))
    found = certified_dimension(network)
    assert (found.status, found.value) == (Status.UNDECIDED, None)
    assert (found.lower, found.upper) == (expected.value, expected.upper + 1)


def test_a_second_try_is_made_only_where_bounds_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def noting(*words: Any, pivots: bool = False) -> int:
        asked.append(pivots)
        return orbit_dimension_at(*words, pivots=pivots)

    monkeypatch.setattr("lightning_sym.dimension.certify.orbit_dimension_at", noting)
    assert certified_dimension(NETWORKS["two layers"], all_bounds=True).status is Status.CERTIFIED
    assert asked == [False]
