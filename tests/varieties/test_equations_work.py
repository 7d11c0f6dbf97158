"""What `equations` may take: counted before each step, in all, and what was found until then is kept."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest

from lightning_sym import Architecture, Equations, TooLarge, Weights, equations
from lightning_sym.limits import Work
from lightning_sym.varieties import equations as module
from lightning_sym.varieties.coordinates import coordinate_system
from lightning_sym.varieties.graded import Grading

WIDE = Architecture((2, 2, 1), (2, 1), tokens=3, heads=2, value_ranks=(2, 1), unembed=2)
"""Its coordinates and the expansion of its quadrics take many times as long as everything else."""


@contextmanager
def budgets(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Work]]:
    """The budgets that questions make, the whole one first."""
    made: list[Work] = []

    def make(*arguments: Any) -> Work:
        made.append(Work(*arguments))
        return made[-1]

    monkeypatch.setattr(module, "Work", make)
    yield made


@contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Fails once more functions were called: no clock, and the same on every machine."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > calls:
            sys.setprofile(None)
            pytest.fail(f"more than {calls:,} calls")

    sys.setprofile(counted)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("degree", [None, 2])
def test_coordinates_are_counted_before_they_are_computed(degree: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with budgets(monkeypatch) as made, at_most(600_000), pytest.raises(TooLarge, match=r"at most 0\.3 s in all"):
        equations(WIDE, degree, work=0.3)
    assert 0.1 < made[0].spent <= 0.3


STEPS = {
    "the coefficients of the polynomial map": Architecture((3, 1, 2), (1, 3), 4),
    "linear relations between coefficients": Architecture((2, 2, 2), (1, 1), 1, heads=3, skip=True),
    "values of the coefficients": Architecture((2, 1, 1), (2, 2), 4, value_ranks=(1, 1)),
    "expanding equations": Architecture((2, 1, 1), (1, 1), 2, heads=2),
}
"""By step, a network of which it takes the longest by far."""


@pytest.mark.parametrize("step", STEPS)
def test_each_step_is_counted_before_it_is_begun(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with budgets(monkeypatch) as made, at_most(800_000):
        try:
            stopped = equations(STEPS[step], 2, work=0.4).stopped
        except TooLarge as error:
            stopped = str(error)
    assert stopped is not None
    assert stopped.startswith(step)
    assert 0.1 < made[0].spent <= 0.4


def test_a_degree_that_was_asked_for_is_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with budgets(monkeypatch) as made:
        found = equations(Architecture((3, 1), (2,), 2), 9, work=1.0)
    assert found.stopped is not None
    assert "--work" in found.stopped
    assert 2 <= found.complete_to_degree < 9
    assert made[0].spent <= 1


def random_shape(generator: random.Random) -> Architecture:
    """One to three layers, all options."""
    depth, skip = generator.choice((1, 1, 2, 3)), generator.random() < 0.3
    widths = [generator.randint(1, 3) for _ in range(depth + 1)]
    options: dict[str, Any] = {"skip": skip, "causal": generator.random() < 0.3, "heads": generator.choice((1, 1, 2))}
    if generator.random() < 0.4:
        options["value_ranks"] = tuple(generator.randint(1, 3) for _ in range(depth))
    for end in ("embed", "unembed"):
        if generator.random() < 0.25:
            options[end] = generator.randint(1, 3)
    ranks = tuple(generator.randint(1, 3) for _ in range(depth))
    return Architecture(tuple(widths[:1] * (depth + 1) if skip else widths), ranks, generator.randint(1, 4), **options)


@pytest.mark.parametrize("seed", range(30))
def test_calls_are_no_more_than_what_is_counted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shape, refused or answered: two million calls for each second by the estimates, no more."""
    shape = random_shape(random.Random(seed))
    with budgets(monkeypatch) as made, at_most(400_000):
        try:
            equations(shape, 4, work=0.2)
        except TooLarge:
            made.clear()
    assert all(budget.spent <= 0.2 for budget in made)


CUT = [
    Architecture((2, 1), (1,), 2),
    Architecture((2, 2), (2,), 2),
    Architecture((2, 2), (1,), 2, skip=True, causal=True),
    Architecture((2, 1, 1), (1, 1), 1),
]


@pytest.mark.parametrize("shape", CUT, ids=str)
def test_wherever_it_stops_it_says_a_part_of_the_answer(shape: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, refused = equations(shape, 3), 0
    with budgets(monkeypatch) as made:
        equations(shape, 3)
    parts: list[Equations] = []
    for share in range(1, 40):
        try:
            parts.append(equations(shape, 3, work=made[0].spent * share / 39.5))
        except TooLarge:
            refused += 1
    assert refused + len(parts) == 39
    assert parts
    for found in parts:
        reached = len(found.hilbert_function)
        assert found.hilbert_function == whole.hilbert_function[:reached]
        assert found.terms == {degree: terms for degree, terms in whole.terms.items() if degree < reached}
        assert found.coordinates == whole.coordinates
        assert found.dimension == whole.dimension
        assert (found.stopped is None) == (reached == 4)
    assert all(len(a.hilbert_function) <= len(b.hilbert_function) for a, b in pairwise(parts))


def test_orbits_of_many_places_are_not_made_of_all_permutations() -> None:
    grading = Grading(coordinate_system(Architecture((9, 1), (1,), 1)))
    code = int(grading.codes[0])
    with at_most(100_000):
        orbit = grading.orbit(code)
    assert len(orbit) == grading.orbit_size(code) == len(set(orbit))


def test_more_equations_than_fit_are_not_listed() -> None:
    """The permutations make tens of thousands of equations of a few."""
    with at_most(2_000_000):
        found = equations(Architecture((9, 1), (1,), 2), 2, work=1.5)
    assert found.stopped is not None
    assert found.complete_to_degree == 1


def test_membership_does_not_write_down_what_every_token_repeats() -> None:
    shape = Architecture((2, 1), (2,), tokens=300)
    found = equations(shape, 2)
    weights = Weights.random(shape, seed=3)
    one = {(1, 300, tuple(3 if i == 299 else 0 for i in range(600))): 1}
    with at_most(1_000_000):
        assert found.vanishes_at(weights)
        assert not found.vanishes_at(one)
        assert found.vanishes_at({})
