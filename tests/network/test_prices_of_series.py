"""What a Jacobian of Taylor series is said to take: by coefficients that are stored, every other one."""

from __future__ import annotations

import pytest

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.network.prices import price_of_jacobian

SHAPE = Architecture((2, 3, 2), (1, 2), 2, SOFTMAX)


@pytest.mark.parametrize("order", [3, 4, 7, 8, 31])
def test_odd_series_have_half_of_all_coefficients(order: int) -> None:
    one, more = (price_of_jacobian(SHAPE, 5, k).done for k in (1, order))
    count = len(range(1, order + 1, 2))
    pairs = sum(1 for i in range(count) for j in range(count) if i + j < count)
    assert more["function"] == pairs * one["function"]
    assert count * one["product"] < 2 * more["product"] < 2 * pairs * one["product"]
