"""Floats times balls: sums of integers that are exact, and radii that contain what was cut off."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat
from grouped import grouped
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym.errors import BadInput
from lightning_sym.rings import float_products
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import middle_and_radius, precision
from lightning_sym.rings.float_products import Digits, product

WEIGHTS = {
    "float32": lambda s, shape: s.standard_normal(shape).astype(np.float32),
    "float16": lambda s, shape: s.standard_normal(shape).astype(np.float16),
    "wide": lambda s, shape: s.standard_normal(shape) * 2.0 ** s.integers(-300, 300, shape),
    "huge and tiny": lambda s, shape: s.choice([2.0**999, 2.0**-1074, 3e-310, -1.5, 0.0], shape),
    "tiny": lambda s, shape: s.choice([2.0**-1074, -3e-320], shape),
    "zero": lambda s, shape: np.zeros(shape),
    "powers": lambda s, shape: -(2.0 ** s.integers(-30, 30, shape)),
    "integers": lambda s, shape: s.integers(-(2**24), 2**24, shape, endpoint=True).astype(np.float32),
}
Numbers = np.ndarray[Any, Any]


def numbers(source: np.random.Generator, shape: tuple[int, int]) -> tuple[BallMatrix, Numbers]:
    """Balls, and a number in each, at its end."""
    middle = source.standard_normal(shape) * 2.0 ** source.integers(-40, 40, shape)
    radius = source.choice([0.0, 1e-30, 1e-3], shape)
    pairs = list(zip(middle.ravel(), radius.ravel(), strict=True))
    rounded = [arb(float(m), float(r)) for m, r in pairs]
    sides = source.choice([-1, 1], len(pairs))
    inside = [Fraction(float(m)) + int(side) * Fraction(float(r)) for (m, r), side in zip(pairs, sides, strict=True)]
    return BallMatrix(arb_mat(*shape, rounded)), np.array(inside, dtype=object).reshape(shape)


def exactly(array: Any) -> Numbers:
    return np.array([Fraction(float(x)) for x in array.ravel()], dtype=object).reshape(array.shape)


def contained(balls: Any, values: Numbers) -> bool:
    """Whether each number is in its ball, in rational numbers."""
    for ball, value in zip(balls.entries(), values.ravel(), strict=True):
        known = middle_and_radius(ball)
        if known is not None and abs(known[0] - value) > known[1]:
            return False
    return True


@pytest.mark.parametrize("name", WEIGHTS)
@grouped("bits", [2, 20, 53, 64, 333, 3000], by=lambda _: "all precisions")
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (3, 40, 2)], ids=str)
def test_products_contain_what_they_are_of(name: str, bits: int, shape: tuple[int, int, int]) -> None:
    source = np.random.default_rng([bits, *shape])
    weights = WEIGHTS[name](source, shape[:2])  # type: ignore[no-untyped-call]
    with precision(bits):
        balls, inside = numbers(source, shape[1:])
        assert contained(balls.after(weights).flint, exactly(weights) @ inside)


@given(st.lists(st.floats(-(2.0**999), 2.0**999), min_size=6, max_size=6), st.integers(2, 400), st.integers(0, 99))
@settings(max_examples=200, deadline=None)
def test_weights_of_any_size(weights: list[float], bits: int, seed: int) -> None:
    matrix = np.array(weights).reshape(2, 3)
    with precision(bits):
        balls, inside = numbers(np.random.default_rng(seed), (3, 2))
        assert contained(balls.after(matrix).flint, exactly(matrix) @ inside)


def test_sums_at_the_limit_are_exact() -> None:
    """As many columns as are added at once, digits and weights as large as can be, and one column more."""
    n = float_products.MOST_COLUMNS + 1
    weights = np.full((1, n), 2.0**24 - 1, dtype=np.float32)
    weights[0, -1] = 1
    value = Fraction(2**200 - 1)
    with precision(200):
        ball = BallMatrix.of(np.full((n, 1), value, dtype=object))
        found = ball.after(weights).flint
        assert contained(found, exactly(weights) @ np.full((n, 1), value, dtype=object))
        assert found[0, 0].rel_accuracy_bits() > 180


def test_nothing_is_lost_that_was_known() -> None:
    """Of weights of any type the result is as good as that of flint, but for a few bits."""
    source = np.random.default_rng(1)
    for name in ("float32", "float16", "wide", "integers"):
        weights = WEIGHTS[name](source, (4, 30))  # type: ignore[no-untyped-call]
        with precision(300):
            third = BallMatrix.of(np.full((30, 2), Fraction(1, 3), dtype=object))
            found = third.after(weights)
            known = BallMatrix.of(weights.astype(np.float64)) @ third
            for a, b in zip(found.flint.entries(), known.flint.entries(), strict=True):
                assert a.overlaps(b)
                assert float(a.rad() / abs(weights).max().astype(float)) < 2.0**-280


def test_what_underflows_is_lost_and_no_more() -> None:
    """Weights are halved so that the largest is below 1, and the smallest float has no half."""
    with precision(64):
        found = BallMatrix.of([[1], [1]]).after(np.array([[3.0, 2.0**-1074]])).flint
    assert contained(found, np.array([[3 + Fraction(2) ** -1074]], dtype=object))
    assert found[0, 0].rel_accuracy_bits() > 50


def test_balls_without_end_and_bad_weights() -> None:
    line = BallMatrix(arb_mat([[arb(0, float("inf"))], [arb(1)]]))
    assert not line.after(np.ones((2, 2))).flint[0, 0].is_finite()
    assert line.accuracy() is None
    for bad in (np.nan, np.inf, -np.inf, 2.0**1001):
        with pytest.raises(BadInput, match="finite and below 2"):
            BallMatrix.of([[1], [2]]).after(np.array([[1.0, bad]]))


def test_digits_are_those_of_the_numbers() -> None:
    source = np.random.default_rng(2)
    with precision(100):
        balls, _ = numbers(source, (6, 4))
        cut = Digits.of(balls.flint, 100)
    k = cut.digits.shape[1] // 4
    assert np.abs(cut.digits).max() <= 2**15
    for row in range(6):
        for column in range(4):
            digits = cut.digits[row, column * k : (column + 1) * k]
            total = sum(Fraction(int(d)) * 2 ** (16 * i) for i, d in enumerate(digits)) * Fraction(2) ** cut.unit
            known = middle_and_radius(balls.flint[row, column])
            assert known is not None
            assert abs(known[0] - total) + known[1] <= Fraction(cut.radii[row, column]) * Fraction(2) ** cut.unit


# ---- mutants


def mutant_half_slices(scaled: Any, most: int) -> Any:
    slices, _ = ORIGINAL(scaled, 1)
    return slices, 0.0


def mutant_forgets_sign(sums: Any, count: int) -> list[int]:
    return [abs(x) for x in INTEGERS(sums, count)]


ORIGINAL, INTEGERS = float_products._slices, float_products._integers
MUTANTS: dict[str, tuple[str, Any]] = {
    "one slice": ("_slices", mutant_half_slices),
    "no signs": ("_integers", mutant_forgets_sign),
    "too long": ("SLICE", 40),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(3)
    weights = source.standard_normal((5, 300))
    with precision(200):
        numbers = source.standard_normal((300, 2))
        balls, values = BallMatrix.of(numbers), exactly(weights) @ exactly(numbers)
        assert contained(product(weights, Digits.of(balls.flint, 200)), values)
        monkeypatch.setattr(float_products, *MUTANTS[name])
        assert not contained(product(weights, Digits.of(balls.flint, 200)), values)


def test_a_radius_without_what_was_cut_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits down to the radius only: what is below them is counted."""
    third = arb_mat([[arb(1) / 3]])
    cut = Digits.of(third, 16)
    assert contained(product(np.ones((1, 1)), cut), np.array([[Fraction(1, 3)]], dtype=object))
    wrong = Digits(cut.bits, cut.unit, cut.digits, cut.radii * 0, cut.columns)
    assert not contained(product(np.ones((1, 1)), wrong), np.array([[Fraction(1, 3)]], dtype=object))
