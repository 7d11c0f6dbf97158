"""One action of the group on all networks: the function stays, and what is no element of the group is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture, Weights, network_output, transform
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.rings.rationals import RationalMatrix

WHOLE = Architecture((2, 2, 2), (1, 2), 2, heads=2, value_ranks=(2, 1), embed=3, unembed=2)
SKIPPED = Architecture((2, 2, 2), (1, 2), 2, heads=2, value_ranks=(2, 1), embed=3, unembed=2, skip=True, causal=True)
BARE = Architecture((2, 3, 2), (1, 2), 2, heads=2)
G, H = [[1, 2], [0, 1]], [[2, 1], [1, 1]]


def output(weights: Weights) -> Any:
    shape = weights.architecture(2)
    x = RationalMatrix.of(np.arange(1, 2 * shape.input_width + 1).reshape(shape.input_width, 2) % 5 - 2)
    return network_output(x, shape, [RationalMatrix.of(m) for m in weights.named().values()])


@pytest.mark.parametrize(
    ("shape", "group"),
    [
        (WHOLE, {"query_key": {"1.2": [[3]], "2.1": G}, "value_output": {"1.1": H, "2.2": [[-2]]}}),
        (WHOLE, {"between": {0: G, 1: H, 2: G}, "scales": {"1.1": Fraction(2, 3)}, "heads": {1: [2, 1]}}),
        (SKIPPED, {"between": {1: H}, "scales": {"2.2": -2}, "heads": {2: [2, 1]}, "query_key": {"2.2": H}}),
        (BARE, {"between": {1: [[1, 0, 1], [0, 1, 0], [0, 3, 1]]}, "heads": {1: [2, 1]}, "query_key": {"2.1": G}}),
    ],
)
def test_the_function_stays(shape: Architecture, group: dict[str, Any]) -> None:
    weights = Weights.random(shape, seed=1, bound=2)
    moved = transform(weights, **group)
    assert moved != weights
    assert output(moved) == output(weights)
    again = Weights.of(moved.named(), moved.form)
    assert (again, list(again.matrices)) == (moved, list(moved.matrices)), "as if it had been given"
    assert not any(matrix.flags.writeable for matrix in moved.matrices.values())


@pytest.mark.parametrize(
    ("shape", "group", "message"),
    [
        (WHOLE, {"query_key": {1: [[3]]}}, "query_key must name heads between 1.1 and 2.2, got 1"),
        (WHOLE, {"query_key": {"3.1": [[3]]}}, "query_key must name heads between"),
        (WHOLE, {"value_output": {"1.1": [[1, 1], [1, 1]]}}, "B1.1 must be invertible"),
        (BARE, {"value_output": {"1.1": G}}, "value_output must be empty for a network without output projections O"),
        (BARE, {"between": {0: G}}, "between must name layers between 1 and 1, got 0"),
        (SKIPPED, {"between": {0: G, 1: H}}, "one matrix for all layers"),
        (
            Architecture((2, 2), (1,), 2, skip=True),
            {"between": {0: G}},
            "between must be empty where a network with skip",
        ),
        (Architecture((2, 2), (1,), 2), {"between": {1: G}}, "one layer has nothing between"),
        (WHOLE, {"heads": {1: [1, 1]}}, "heads of layer 1 must be the numbers 1 to 2 in some order"),
        (WHOLE, {"heads": {1: 5}}, "heads of layer 1 must be the numbers 1 to 2 in some order, got 5"),
        (WHOLE, {"heads": {4: [1, 2]}}, "heads must name layers between 1 and 2, got 4"),
        (WHOLE, {"scales": {"1.1": 0}}, "the scale of head 1.1 must not be 0"),
        (Architecture((2, 2), (1,), 2, normalization=SOFTMAX), {"scales": {1: 2}}, "cannot be rescaled"),
    ],
)
def test_what_is_refused(shape: Architecture, group: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        transform(Weights.random(shape, seed=1), **group)


def test_sizes_are_asked_for() -> None:
    with pytest.raises(ShapeError, match=r"C1\.1 must be 1 x 1, got 2 x 2"):
        transform(Weights.random(WHOLE, seed=1), query_key={"1.1": G})
