"""Degrees of factors modulo p on the lines of certificates of layer tensors, and what finding them may take."""

from __future__ import annotations

import pytest

from proofs_check.checker.kinds.tensors.lines import degrees
from proofs_check.checker.verify import BUDGET, STEPS, Budget

P = 4194301


def order(q: int) -> int:
    """Of P modulo a prime: all factors of 1 + x + ... + x^(q - 1) modulo P have this degree."""
    return next(k for k in range(1, q) if pow(P, k, q) == 1)


@pytest.mark.parametrize("q", [5, 7, 31, 101, 211])
def test_factors_of_cyclotomic_polynomials(q: int) -> None:
    budget = Budget()
    BUDGET.set(budget)
    assert degrees([1] * q, q - 1, P) == [order(q)] * ((q - 1) // order(q))
    # a whole file may take STEPS: lines of degree 210 took a quarter of them each
    assert STEPS - budget.steps < STEPS // 40


def test_factors_of_several_degrees() -> None:
    BUDGET.set(Budget())
    found = [0] * 11
    for i in range(5):  # (x - 3)(1 + ... + x^4)(1 + ... + x^6) without its last step
        for j in range(7):
            found[i + j] += 1
    both = [(a - 3 * b) % P for a, b in zip([0, *found], [*found, 0], strict=True)]
    assert sorted(degrees(both, 11, P)) == sorted([1] + [order(5)] * (4 // order(5)) + [order(7)] * (6 // order(7)))
