"""Bounds near weights whose numbers have thousands of digits."""

from __future__ import annotations

import random
from fractions import Fraction

from lightning_sym import NetworkForm, Weights, fiber
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.limits import Work


def long_weights(form: NetworkForm | None = None) -> Weights:
    """Rank one, entries of 3,000 bits: products have more digits than Python's own `str` spells."""
    source = random.Random(0)
    named = {}
    for name in ("Q1", "K1", "V1"):
        columns = [Fraction(source.getrandbits(3000), source.getrandbits(3000) | 1) for _ in range(4)]
        named[name] = [[x * y for y in columns[2:]] for x in columns[:2]]
    return Weights.of(named, form or NetworkForm())


def test_they_have_the_dimension_of_short_ones() -> None:
    ones = Weights.of({name: [[1, 2], [3, 6]] if name == "V1" else [[1, 2], [2, 4]] for name in ("Q1", "K1", "V1")})
    assert fiber(ones).dimension == fiber(long_weights()).dimension


def test_what_is_not_paid_for_is_left_out() -> None:
    weights = long_weights(NetworkForm(skip=True))
    found, less = local_dimension(weights, 2), local_dimension(weights, 2, budget=Work(1e-3))
    assert found is not None
    assert less is None or less.lower <= found.lower <= found.upper <= less.upper
