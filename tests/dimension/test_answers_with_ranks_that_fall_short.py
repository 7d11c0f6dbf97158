"""What is answered where ranks modulo a prime fall short: undecided, or the same; never another number."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import lightning_sym.dimension.search as search
import lightning_sym.varieties.by_degree
import lightning_sym.varieties.conserved
import lightning_sym.varieties.equations  # noqa: F401 - all that use ranks are there
from lightning_sym import (
    Architecture,
    Weights,
    certified_dimension,
    classify,
    conserved_quantities,
    equations,
    fiber,
    variety_degree,
)
from lightning_sym.dimension.certify import Status
from lightning_sym.exact.elimination import Echelon, echelon_mod_p
from lightning_sym.exact.krylov import rank_at_least
from lightning_sym.exact.modular import independent_columns, rank_mod_p
from lightning_sym.rings.prime_field import PRIMES

RANKS: dict[str, Callable[..., Any]] = {
    "rank_mod_p": rank_mod_p,
    "rank_at_least": rank_at_least,
    "echelon_mod_p": echelon_mod_p,
    "independent_columns": independent_columns,
}
PLACES = sorted(
    (module, name)
    for module, loaded in list(sys.modules.items())
    for name, rank in RANKS.items()
    if module.startswith("lightning_sym.") and getattr(loaded, name, None) is rank
)


def cut(found: Any, kept: slice) -> Any:
    if isinstance(found, Echelon):
        return Echelon(found.pivot_rows[kept], found.pivot_columns[kept])
    return len(range(found)[kept]) if isinstance(found, int) else found[kept]


@contextmanager
def short(kept: slice, places: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Ranks, and pivots, of which some are lost; and where one was asked for."""
    seen: list[tuple[str, str]] = []

    def faulty(place: tuple[str, str]) -> Callable[..., Any]:
        def rank(*words: Any, **options: Any) -> Any:
            seen.append(place)
            return cut(RANKS[place[1]](*words, **options), kept)

        return rank

    with pytest.MonkeyPatch.context() as patch:
        for module, name in places:
            patch.setattr(sys.modules[module], name, faulty((module, name)))
        patch.setattr(search, "PRIMES", PRIMES[:1])  # more tries would not help
        yield seen


WEIGHTS = Weights.of({"Q1": [[1, 2, 0]], "K1": [[3, 1, 1]], "V1": [[1, -1, 0], [0, 1, 2]]})
SMALL = [
    Architecture((2, 2), (1,), 2),
    Architecture((3, 3, 3), (1, 1), 3),
    Architecture((2, 2), (1,), 3, heads=2, value_ranks=(1,), skip=True),
]
LARGE = Architecture((8, 8, 8), (3, 3), 2)
"""Its ranks are found by elimination."""
Answer = dict[Any, Any]
ANSWERS: dict[str, Callable[[], Answer]] = {
    "small dimensions": lambda: {n: certified_dimension(n, all_bounds=True).value for n in SMALL},
    "a large dimension": lambda: {LARGE: certified_dimension(LARGE).value},
    "equations": lambda: _found(equations(Architecture((2, 1), (2,), 2), degree=3)),
    "more equations": lambda: _found(equations(Architecture((2, 2, 1), (1, 1), 1), degree=2)),
    "conserved": lambda: {n: conserved_quantities(n).count for n in SMALL[:2]},
    "degree": lambda: {"degree": variety_degree(Architecture((2, 2, 1), (1, 1), 1)).degree},
    "fiber": lambda: {"dimension": fiber(WEIGHTS, 2).dimension},
    "classify": lambda: {"point": _decided(classify(WEIGHTS, 2))},
}


def _decided(found: Any) -> Any:
    return found.labels if found.decided else None


def _found(found: Any) -> Answer:
    """Every number of an answer about equations, `None` where it is undecided."""
    values = dict(enumerate(found.hilbert_function))
    return {"dimension": found.dimension, **values, **{f"degree {k}": v for k, v in found.counts.items()}}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("kept", [slice(-1), slice(0)], ids=["one less", "none"])
def test_a_number_is_the_same_or_undecided(name: str, kept: slice) -> None:
    expected = ANSWERS[name]()
    with short(kept, PLACES) as seen:
        _compare(ANSWERS[name](), expected)
    for place in sorted(set(seen)):  # of several ranks that are compared one falls short
        with short(kept, [place]):
            _compare(ANSWERS[name](), expected)


def _compare(found: Answer, expected: Answer) -> None:
    for key, one in found.items():
        assert one is None or one == expected[key], (key, found, expected)


def test_the_dimensions_rest_on_them() -> None:
    assert {name for _, name in PLACES} == set(RANKS)
    with short(slice(-1), PLACES):
        found = [certified_dimension(network) for network in (*SMALL, LARGE)]
    assert all(one.status is Status.UNDECIDED for one in found)
    assert all(one.lower <= one.upper for one in found)
