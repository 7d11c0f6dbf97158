"""Products of machine numbers with balls contain all that they must, and little more than flint's."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import arb, arb_mat

from lightning_sym.rings import ball_products
from lightning_sym.rings.ball_matrices import BallMatrix, LaterBalls
from lightning_sym.rings.ball_products import BallDigits, product
from lightning_sym.rings.balls import exactly, precision
from lightning_sym.rings.rationals import RationalMatrix


def _drawn(kind: int, shape: tuple[int, int], source: np.random.Generator) -> npt.NDArray[Any]:
    normal = source.standard_normal(shape)
    kinds: list[npt.NDArray[Any]] = [
        normal,
        normal.astype(np.float32),
        source.integers(-(2**62), 2**62, shape),
        normal * 10.0 ** source.integers(-80, 80, shape),
        np.zeros(shape),
        source.integers(-3, 3, shape).astype(np.int8),
    ]
    return kinds[kind]


def _balls(k: int, t: int, source: random.Random, radius: bool) -> arb_mat:
    def one() -> arb:
        middle = arb(source.randint(-(10**9), 10**9)) / 7 * arb(10) ** source.randint(-5, 5)
        return middle + arb(0, source.random()) * arb(10) ** source.randint(-60, 3) if radius else middle.mid()

    return arb_mat(k, t, [one() for _ in range(k * t)])


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("bits", [53, 128, 512])
@pytest.mark.parametrize("radius", [False, True])
def test_products_contain_all_products(kind: int, bits: int, radius: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ball_products, "_CHUNK", 7)
    monkeypatch.setattr(ball_products, "_ENTRIES", 40)
    source, more = np.random.default_rng(kind), random.Random(bits)
    m, k, t = 5, int(source.integers(1, 20)), 2
    matrix = _drawn(kind, (m, k), source)
    with precision(bits):
        balls = _balls(k, t, more, radius)
        digits = BallDigits.of(balls)
        assert digits is not None
        found = product(matrix, digits)
        assert found is not None
    entries = balls.entries()
    exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
    for number, ball in enumerate(found):
        i, j = divmod(number, t)
        column = entries[j::t]
        pairs = list(zip(exact[i], column, strict=True))
        middle = sum((w * exactly(x.mid()) for w, x in pairs), Fraction(0))
        reach = sum((abs(w) * exactly(x.rad()) for w, x in pairs), Fraction(0))
        assert abs(exactly(ball.mid()) - middle) + reach <= exactly(ball.rad())
        slack = abs(middle) * Fraction(1, 2 ** (bits - 2)) + reach * Fraction(1, 2**20)
        largest = max((abs(w) for w in exact[i]), default=Fraction(0))
        furthest = max(exactly(x.rad()) for x in column)
        assert exactly(ball.rad()) <= reach + slack + largest * furthest * k * Fraction(1, 2**199)


def test_balls_that_are_not_finite_say_nothing() -> None:
    assert BallDigits.of(arb_mat([[arb(1)], [arb(2) ** 10**6]])) is None
    whole = LaterBalls(np.array([[1.0, 0.5]])) @ BallMatrix(arb_mat([[arb(1), arb(3)], [arb(1) / 0, arb(4)]]))
    assert not whole.flint[0, 0].is_finite()
    assert whole.flint[0, 0].contains(10**9)
    assert whole.flint[0, 1] == 5


def test_numbers_of_very_different_sizes_take_the_other_road() -> None:
    """Both roads lead to balls around the same number."""
    matrix = np.array([[5e-324, 1.7e308]])
    digits = BallDigits.of(arb_mat([[arb(3)], [arb(5)]]))
    assert digits is not None
    with precision(64), pytest.MonkeyPatch.context() as patch:
        [near] = product(matrix, digits) or []
        patch.setattr(ball_products, "_MOST_SUMS", 1)
        assert product(matrix, digits) is None
        far = (LaterBalls(matrix) @ BallMatrix(arb_mat([[arb(3)], [arb(5)]]))).flint[0, 0]
    exact = RationalMatrix.of(matrix).fractions()[0] @ np.array([3, 5])
    assert all(abs(exactly(ball.mid()) - exact) <= exactly(ball.rad()) for ball in (near, far))
