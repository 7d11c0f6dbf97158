"""Series over balls enclose those over the rationals, and both refuse what they cannot do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX
from lightning_sym.rings.balls import ball, distance, middle_and_radius, precision
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rationals import map_entries
from lightning_sym.rings.taylor import TaylorMatrix
from lightning_sym.varieties.two_tokens import attended, two_token_form

TOKENS = np.array([[1, Fraction(-2, 3)], [Fraction(1, 7), 3]], dtype=object)
MATRIX = np.array([[Fraction(1, 3), -2], [1, Fraction(5, 7)]], dtype=object)
FORM = two_token_form(SOFTMAX, 3)


def test_what_is_printed_of_a_normalization() -> None:
    assert repr(SOFTMAX) == "SOFTMAX"
    assert repr(Normalization("mine", SOFTMAX.taylor, abs)).endswith(", abs, growth=None)")


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_balls_enclose_the_rational_coefficients(layers: int) -> None:
    with precision(200):
        exact, balls = (TaylorMatrix.of({1: TOKENS}, 19, balls=kind) for kind in (False, True))
        for _ in range(layers):
            exact, balls = (attended(s, MATRIX, FORM) for s in (exact, balls))
        for degree in range(20):
            pairs = zip(exact.coefficient(degree).ravel(), balls.coefficient(degree).ravel(), strict=True)
            for number, around in pairs:
                least, most = distance(around, number)
                assert least == 0
                assert most is not None
                assert most < Fraction(1, 10**30)


def test_wide_balls_stay_enclosures() -> None:
    wide: Any = map_entries(lambda x: ball(Fraction(x), Fraction(1, 100)), MATRIX)
    outer = attended(TaylorMatrix.of({1: TOKENS}, 7, balls=True), wide, FORM)
    for move in (Fraction(-1, 100), Fraction(0), Fraction(1, 100)):
        inner = attended(TaylorMatrix.of({1: TOKENS}, 7), MATRIX + move, FORM)
        for degree in (1, 3, 5, 7):
            pairs = zip(inner.coefficient(degree).ravel(), outer.coefficient(degree).ravel(), strict=True)
            assert all(distance(around, number)[0] == 0 for number, around in pairs)


def test_a_ball_contains_what_it_must() -> None:
    for middle, radius in (
        (Fraction(1, 3), Fraction(1, 7)),
        (Fraction(0), Fraction(10**30, 3)),
        (Fraction(-5), Fraction(0)),
    ):
        around = ball(middle, radius)
        for number in (middle - radius, middle, middle + radius):
            assert distance(around, number)[0] == 0
        pair = middle_and_radius(around)
        assert pair is not None
        assert pair[1] <= radius + (abs(middle) + radius) / 2**20
    assert middle_and_radius(ball(Fraction(1)) / ball(Fraction(0))) is None


def test_constant_terms_are_refused() -> None:
    with pytest.raises(ValueError, match="without constant term"):
        TaylorMatrix.of({0: [[1]]}, 3).apply(SOFTMAX.taylor)
