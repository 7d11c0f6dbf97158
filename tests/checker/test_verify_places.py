"""What the checker computes at the places of a network, against sums and products by hand."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from proofs_check.checker.functions.fibers import places
from proofs_check.checker.functions.fibers.places import Field, Spaces, numbers
from proofs_check.checker.functions.network import Form, Weights

P = 101
HALVES: dict[str, Any] = {
    "Q1": [[1, 2]], "K1": [[1, 1]], "V1": [["1/2", "1/3"], [1, 0]],
    "Q2": [[2, 1]], "K2": [[3, 1]], "V2": [[1, 2], [0, 1]],
    "Q3": [[2, 1]], "K3": [[3, 1]], "V3": [[1, 0], [0, 1]],
}  # fmt: skip


@pytest.mark.parametrize("skip", [False, True])
def test_sums_of_a_layer_have_denominators(skip: bool) -> None:
    """(1 +) V of the first layer on a basis, up to one factor."""
    form = Form(softmax=True, causal=True, skip=skip)
    columns = Spaces(Field(), form, 2, Weights(HALVES, form)).at["S"][1]
    want = [[3 + 6 * skip, 6], [2, 6 * skip]]  # six times the columns
    factors = {x * 10**6 // y if y else x for row, other in zip(columns, want, strict=True) for x, y in
               zip(row, other, strict=True) if x or y}  # fmt: skip
    assert len(factors) == 1


@pytest.mark.parametrize("skip", [False, True])
def test_squares_are_those_of_words_at_points(skip: bool) -> None:
    form = Form(softmax=True, skip=skip)
    net = Spaces(Field(P), form, 3, Weights(HALVES, form), seed=7)
    drawn, count = numbers(7, P), places.MORE + 2
    gamma, above, _ = (list(islice(drawn, count)) for _ in range(3))  # a head in each layer
    xi = [list(islice(drawn, 2)) for _ in range(count)]
    v = [[51, 34], [1, 0]]  # 1/2 and 1/3
    assert [2 * 51 % P, 3 * 34 % P] == [1, 1]
    second, third = [], []
    for g, h, x in zip(gamma, above, xi, strict=True):
        n = [g * sum(a * b for a, b in zip(row, x, strict=True)) for row in v]
        m = [a + skip * b for a, b in zip(n, x, strict=True)]
        m = [h * (m[0] + 2 * m[1]), h * m[1]]  # V of the second layer
        second.append((3 * n[0] + n[1]) * (2 * n[0] + n[1]) % P)
        third.append((3 * m[0] + m[1]) * (2 * m[0] + m[1]) % P)
    assert net.squares(1) == [[(a + b) * (a + 2 * b) % P for a, b in xi]]
    assert (net.squares(2), net.squares(3)) == ([second], [third])
