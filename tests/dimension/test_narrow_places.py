"""No skip connections: functions that are composed at a narrow place of the stream."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.ask import failing
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.dimension.narrow import NARROW, narrow_compositions

CLOSED = {
    13: Architecture((2, 3, 1), (1, 3), 1, heads=2, embed=3, unembed=2),
    12: Architecture((2, 3, 1, 4), (3, 1, 3), 1, heads=2, unembed=3),
    11: Architecture((3, 4, 1), (2, 3), 1, heads=2, value_ranks=(2, 1), embed=2, unembed=2),
    33: Architecture((2, 4, 1), (1, 1), 2, heads=3, embed=3, unembed=2),
    18: Architecture((2, 3, 4, 1), (3, 2, 2), 1, heads=2, value_ranks=(1, 2, 1), embed=3, unembed=3),
    38: Architecture((4, 2, 4, 1), (1, 3, 2), 3, heads=2, embed=2, unembed=1),
}


@pytest.mark.parametrize("dimension", CLOSED)
def test_what_no_other_bound_closes(dimension: int) -> None:
    found = certified_dimension(CLOSED[dimension])
    assert found.value == dimension
    assert found.upper_evidence == (Evidence.NARROW,)


OUTSIDE = {
    "no skip connections": Architecture((1, 1, 1), (1, 1), 1, heads=2, skip=True, embed=2, unembed=2),
    "one token, or no mask": Architecture((2, 4, 1), (2, 2), 2, heads=3, causal=True),
}


@pytest.mark.parametrize("must", OUTSIDE)
def test_outside_of_its_hypotheses_the_bound_is_too_small(must: str) -> None:
    shape = OUTSIDE[must]
    (need,) = (need for need in NARROW if need.must == must)
    assert need.failing(shape)
    assert failing(shape, [each for each in NARROW if each is not need]) is None
    plain = replace(shape, skip=False, causal=False)
    assert narrow_compositions(plain) < certified_dimension(shape).lower


def test_the_bound_is_no_smaller_than_a_rank() -> None:
    for number, widths in enumerate(((1, 2, 1), (2, 1, 2), (3, 1), (2, 2, 2), (1, 1, 1, 1), (2, 1, 1))):
        shape = Architecture(widths, (1,) * (len(widths) - 1), 1 + number % 3, heads=2, embed=3, unembed=3)
        assert narrow_compositions(shape) >= certified_dimension(shape).lower
