"""What a degree is said to take, against the products, fractions and pairs that are counted while it is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from math import comb
from typing import Any
from unittest.mock import PropertyMock, patch

import pytest

from lightning_sym import Architecture, TooLarge, variety_degree
from lightning_sym.limits import Work
from lightning_sym.varieties import cone_bundles, degree
from lightning_sym.varieties.cone_bundles import Cone

FACTOR = 3


def random_shape(source: random.Random) -> Architecture:
    """One to five layers of rank one somewhere in the first two, so that a theorem applies."""
    depth = source.randint(1, 5)
    widths = tuple(source.randint(1, 5) for _ in range(depth + 1))
    ranks = (1, *(source.randint(1, 3) for _ in range(depth - 1)))
    return Architecture(widths, ranks, source.randint(1, 3))


def ratio(shape: Architecture) -> float | None:
    """What is estimated by what is counted; nothing where no sum is made, or a long one."""
    spent, done, spend = list[float](), [0], Work.spend

    def paid(work: Work, seconds: float, *step: Any) -> None:
        spend(work, seconds, *step)
        spent.append(seconds)

    def counted(inner: Callable[..., Any], cost: Callable[..., int]) -> Callable[..., Any]:
        def told(*given: Any) -> Any:
            done[0] += cost(*given)
            return inner(*given)

        return told

    homogeneous = counted(cone_bundles._complete_homogeneous, lambda values, most: len(values) * most)
    with (
        patch.object(cone_bundles, "_complete_homogeneous", homogeneous),
        patch.object(cone_bundles, "Fraction", counted(Fraction, lambda *_: cone_bundles.FRACTION)),
        patch.object(cone_bundles, "comb", counted(comb, lambda *_: cone_bundles.PAIR)),
        patch.object(Work, "spend", paid),
        suppress(TooLarge),
    ):
        variety_degree(shape, work=0.004)
    return sum(spent) / (degree.SECONDS_A_PRODUCT * done[0]) if spent else None


def test_the_estimate_is_what_is_counted_within_a_factor_of_three() -> None:
    found = [ratio(random_shape(random.Random(seed))) for seed in range(30)]
    sums = [each for each in found if each is not None]
    assert len(sums) > 5
    assert all(1 / FACTOR <= each <= FACTOR for each in sums), sums


def test_fixed_points_that_are_forgotten_are_seen() -> None:
    shape = Architecture((4, 3, 3), (1, 2), 2)
    assert 1 / FACTOR <= (ratio(shape) or 0) <= FACTOR
    with patch.object(Cone, "choices", PropertyMock(return_value=0)):
        assert (ratio(shape) or 1) < 1 / FACTOR


def test_long_numbers_count_as_more() -> None:
    """At width 40 the classes have hundreds of bits, which took three times as long as there are sums of them."""
    size = 40
    longest = cone_bundles._complete_homogeneous([2 * (size - 1)], 3 * (size - 1))[-1].bit_length()
    fractions = size * size**2 * size  # by flag, fixed point over it, and class
    least = cone_bundles.FRACTION * fractions * longest / 300
    assert cone_bundles.products_of_sum([size, size - 1], [Cone(0, size, 1, 3)]) > least
    with pytest.raises(TooLarge, match="the sum over the flags 70,70,69"):
        variety_degree(Architecture((70, 69, 1), (1, 69), 2))


def test_what_takes_too_long_is_refused_before_it_is_begun() -> None:
    with pytest.raises(TooLarge, match=r"the sum over the flags .* at most 0\.01 s in all"):
        variety_degree(Architecture((6, 4, 4, 2, 4), (1, 2, 2, 2), 2), work=0.01)
