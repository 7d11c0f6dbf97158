"""A rank modulo a prime is a lower bound: where it falls short, nothing is refuted, and nothing holds by it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

import lightning_sym.dimension.search as search
from lightning_sym.exact.elimination import Echelon, echelon_mod_p
from lightning_sym.exact.krylov import rank_at_least
from lightning_sym.exact.modular import independent_columns, rank_mod_p
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.symmetries.families import orbit_dimension_at
from proofs_check.claim import Claim, Part, Scope, Verdict
from proofs_check.claims.geometry import measured, theorem_3_4_singular
from proofs_check.registry import all_claims
from proofs_check.run import run_part

SHOWN, AMONG = 4, 60
"""Instances of a part that are run, and among how many: undecided ones take several times as long as others."""

RANKS: dict[str, Callable[..., Any]] = {
    "rank_mod_p": rank_mod_p,
    "rank_at_least": rank_at_least,
    "orbit_dimension_at": orbit_dimension_at,
    "echelon_mod_p": echelon_mod_p,
    "independent_columns": independent_columns,
}
"""What computes ranks modulo a prime: numbers, or as many pivots."""

EVERY = [(claim, part) for claim in all_claims() for part in claim.parts]
PARTS = [pytest.param(claim, part, id=f"{claim.id}: {part.name}") for claim, part in EVERY]
BOUNDED = [p for p, (_, part) in zip(PARTS, EVERY, strict=True) if part.scope in (Scope.GENERIC, Scope.EVERY_WIDTH)]

PLACES = sorted(
    (module, name)
    for module, loaded in list(sys.modules.items())
    for name, rank in RANKS.items()
    if module.startswith(("lightning_sym.", "proofs_check.")) and getattr(loaded, name, None) is rank
)
"""The modules that use one of them, by the name it has there."""


def cut(found: Any, kept: slice) -> Any:
    """A rank, or pivots, of which some are lost."""
    if isinstance(found, Echelon):
        return Echelon(found.pivot_rows[kept], found.pivot_columns[kept])
    return len(range(found)[kept]) if isinstance(found, int) else found[kept]


def one_less(rank: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **options: cut(rank(*words, **options), slice(-1))


def nothing(rank: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **options: cut(rank(*words, **options), slice(0))


def forget() -> None:
    measured.dimension_of.cache_clear()
    theorem_3_4_singular.points_of.cache_clear()


@contextmanager
def ranks(fault: Callable[[Any], Any], places: Sequence[tuple[str, str]] = PLACES) -> Iterator[None]:
    """Ranks with this fault in these places."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in places:
            patch.setattr(sys.modules[module], name, fault(RANKS[name]))
        patch.setattr(search, "PRIMES", PRIMES[:1])  # more tries would not help
        forget()
        yield
    forget()


def some(part: Part, shown: int = SHOWN) -> Part:
    """The part on a few of its quick instances."""
    count = sum(1 for _ in islice(part.instances(quick=True), AMONG))
    step = max(1, count // shown)
    return replace(part, instances=lambda quick: islice(part.instances(quick=True), 0, shown * step, step))


def places_of(part: Part) -> tuple[Verdict, list[tuple[str, str]]]:
    """The verdict, and the places where the part computes a rank: a fault elsewhere changes nothing."""
    seen: set[tuple[str, str]] = set()

    def noting(place: tuple[str, str]) -> Callable[..., Any]:
        def rank(*words: Any, **options: Any) -> Any:
            seen.add(place)
            return RANKS[place[1]](*words, **options)

        return rank

    forget()
    with pytest.MonkeyPatch.context() as patch:
        for module, name in PLACES:
            patch.setattr(sys.modules[module], name, noting((module, name)))
        return run_part(part, quick=True).verdict, sorted(seen)


@pytest.mark.parametrize(("claim", "part"), PARTS)
def test_a_rank_that_falls_short_decides_nothing(claim: Claim, part: Part) -> None:
    few = some(part)
    before, places = places_of(few)
    assert before is Verdict.HOLDS or part.expected is not Verdict.HOLDS
    for fault in (one_less, nothing) if places else ():
        with ranks(fault):
            assert run_part(few, quick=True).verdict in (before, Verdict.UNDECIDED)


@pytest.mark.parametrize(("claim", "part"), BOUNDED)
def test_nor_does_one_of_several_ranks(claim: Claim, part: Part) -> None:
    """Two ranks that are compared: one falls short, and the other does not."""
    few = some(part, 2)
    before, places = places_of(few)
    for module, name in places:
        if module.startswith("lightning_sym.") or module.endswith(claim.id.replace("-", "_").replace(".", "_")):
            with ranks(one_less, [(module, name)]):
                assert run_part(few, quick=True).verdict in (before, Verdict.UNDECIDED), (module, name)


COMPARED_WITH_A_RANK = {
    "S(y) = 1 + y: the same rank from values instead of Taylor series",
    "S(y) = y: one less for every layer",
    "S(y) = y at rank one: q is invisible",
    "ten inputs are too few at widths 9 and 10, whatever the arithmetic",
    "ten inputs of the published program, S(y) = 1 + y",
    "generic fibers in virtual weights are finite",
    "too large when the input is narrower than the layers behind it",
}


def test_the_dimensions_rest_on_these_ranks() -> None:
    """Otherwise the tests above could not fail: with a smaller rank what rests on it is undecided."""
    with ranks(one_less):
        open_now = {
            part.name
            for claim in all_claims()
            for part in claim.parts
            if part.certifies is not None and run_part(some(part), quick=True).verdict is Verdict.UNDECIDED
        }
    assert open_now >= COMPARED_WITH_A_RANK
    assert len(open_now) >= 30
