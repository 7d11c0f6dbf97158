"""One softmax token: the function is one linear map, and its fiber all ways to write it."""

from __future__ import annotations

from itertools import product
from math import log, prod
from typing import Any

import pytest

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, fiber
from lightning_sym.fibers.local_dimension import GENERIC, local_dimension

Q = 7
"""Of the field over which points are counted."""


def points(shape: Architecture, value: int) -> int:
    """How many values of V, O, E and U over the field with `Q` elements give the product `value`, of width one."""
    ends = sum(end is not None for end in (shape.embed, shape.unembed))
    inner = (shape.value_ranks or (0,))[0]
    each = shape.heads * max(2 * inner, 1)
    found = 0
    for numbers in product(range(Q), repeat=ends + shape.depth * each):
        total = prod(numbers[:ends])
        for i in range(shape.depth):
            own = numbers[ends + i * each : ends + (i + 1) * each]
            written = sum(a * b for a, b in zip(own[::2], own[1::2], strict=True)) if inner else sum(own)
            total *= shape.skip + written
        found += (total - value) % Q == 0
    return found


SHAPES = [
    Architecture((1, 1), (1,), 1, normalization=SOFTMAX, heads=2, skip=True, embed=1),
    Architecture((1, 1, 1), (1, 1), 1, normalization=SOFTMAX, skip=True, embed=1),
    Architecture((1, 1), (1,), 1, normalization=SOFTMAX, heads=2, value_ranks=(1,), unembed=1),
    Architecture((1, 1), (2,), 1, normalization=SOFTMAX, value_ranks=(2,), embed=1),
]


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_dimension_of_the_whole_fiber_by_points_of_a_finite_field(shape: Architecture, value: int) -> None:
    named: dict[str, Any] = {name: [[1] * c] * r for name, (r, c) in shape.weight_shapes()}
    if not value:
        named["E" if "E" in named else "U"] = [[0]]
    weights = Weights.of(named, NetworkForm(SOFTMAX, skip=shape.skip))
    total = fiber(weights, 1).total
    assert total is not None
    read = 2 * sum(shape.attention_ranks) * shape.heads
    # up to four components
    assert -0.2 < log(points(shape, value), Q) + read - total < 0.8


def test_values_of_bounded_rank_where_the_differential_has_the_generic_rank() -> None:
    shape = Architecture((2, 2, 2), (1, 1), 1, normalization=SOFTMAX, value_ranks=(1, 1), skip=True, embed=1, unembed=1)
    near = local_dimension(Weights.random(shape, seed=1, bound=3), 1)
    assert near is not None
    assert (near.value, near.shown_by) == (shape.parameter_count - 1, GENERIC)


def test_a_rank_that_is_not_the_generic_one_leaves_the_dimension_open() -> None:
    """Where a value and its output are both zero the fiber is singular."""
    named = {"Q1": [[1]], "K1": [[1]], "V1": [[0]], "O1": [[0]], "U": [[1]], "E": [[1]]}
    near = local_dimension(Weights.of(named, NetworkForm(SOFTMAX, skip=True)), 1)
    assert near is not None
    assert near.shown_by == GENERIC
    zero = Weights.of(named | {"U": [[0]], "O1": [[1]], "V1": [[-1]]}, NetworkForm(SOFTMAX, skip=True))
    singular = local_dimension(zero, 1)
    assert singular is not None
    assert singular.value is None
