"""Balls of floats contain what is true, whatever is rounded, cancels or overflows; wrong radii are found out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.rings import midpoint_radius
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import precision
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.rings.normalization import SOFTMAX, Normalization

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SMALL = st.floats(-8, 8, allow_subnormal=True)


def fractions(array: Any) -> Any:
    return np.array([Fraction(float(x)) for x in np.ravel(array)], dtype=object).reshape(np.shape(array))


@st.composite
def matrices(draw: Any, rows: int, columns: int, of: Any = FLOATS) -> Any:
    return np.array(draw(st.lists(of, min_size=rows * columns, max_size=rows * columns))).reshape(rows, columns)


@st.composite
def balls(draw: Any, rows: int, columns: int, of: Any = SMALL) -> tuple[MidpointRadius, Any]:
    """Balls, and a rational number in each."""
    middle = draw(matrices(rows, columns, of))
    radius = abs(draw(matrices(rows, columns, st.sampled_from([0.0, 2.0**-1074, 1e-16, 1e-3, 5.0]))))
    inside = draw(st.lists(st.integers(-8, 8), min_size=rows * columns, max_size=rows * columns))
    share = np.array([Fraction(k, 8) for k in inside], dtype=object).reshape(rows, columns)
    return MidpointRadius(middle, radius), fractions(middle) + fractions(radius) * share


@given(matrices(3, 4), matrices(4, 2))
@settings(max_examples=300, deadline=None)
def test_products_of_floats_of_any_size(a: Any, b: Any) -> None:
    exact = fractions(a) @ fractions(b)
    assert (MidpointRadius.of(a) @ MidpointRadius.of(b)).contains(exact).all()
    assert MidpointRadius.of(b).after(a).contains(exact).all()


@given(matrices(2, 2), matrices(2, 2))
@settings(max_examples=300, deadline=None)
def test_sums_and_entrywise_products_of_floats_of_any_size(a: Any, b: Any) -> None:
    one, other = MidpointRadius.of(a), MidpointRadius.of(b)
    assert (one + other).contains(fractions(a) + fractions(b)).all()
    assert (one * other).contains(fractions(a) * fractions(b)).all()


@given(balls(2, 3), balls(3, 2), balls(2, 3))
@settings(deadline=None)
def test_polynomials_of_balls(a: Any, b: Any, c: Any) -> None:
    (x, p), (y, q), (z, r) = a, b, c
    assert ((x + z) @ y @ (x * z)).contains((p + r) @ q @ (p * r)).all()
    assert ((x @ y).mT + y.mT @ z.mT).contains((p @ q).T + q.T @ r.T).all()


@pytest.mark.parametrize("n", [1, 100, 5000])
def test_what_cancels(n: int) -> None:
    """Terms that cancel to the last, of sizes from 1 to 2^60: the midpoint may be anything, the ball is right."""
    source = np.random.default_rng(n)
    half = source.standard_normal((2, n)) * 2.0 ** source.integers(0, 60, n)
    a, b = np.concatenate([half, half], axis=1), source.standard_normal((n, 3))
    b = np.concatenate([b, -b]) + np.where(np.arange(2 * n) == 0, 2.0**-40, 0)[:, None]
    found = MidpointRadius.of(a) @ MidpointRadius.of(b)
    assert found.contains(fractions(a) @ fractions(b)).all()
    assert found.radius.max() < 1e-15 * 4 * n * (np.abs(a) @ np.abs(b)).max()


EXTREMES = [0.0, 2.0**-1074, -(2.0**-1074), 2.0**-1030, -(2.0**-540), 2.0**-537, 1.0, 2.0**512, -(2.0**1023), 1.7e308]


def test_extreme_numbers() -> None:
    every = np.array(EXTREMES)
    a, b = np.repeat(every, len(every))[:, None], np.tile(every, len(every))[None, :]
    found = MidpointRadius.of(a) @ MidpointRadius.of(b)
    assert found.contains(fractions(a) @ fractions(b)).all()
    assert not np.isnan(found.middle).any()
    assert not np.isnan(found.radius).any()
    assert (MidpointRadius.of(a) + MidpointRadius.of(a)).contains(2 * fractions(a)).all()


def test_the_whole_line_stays_it() -> None:
    line = MidpointRadius(np.array([[np.nan, np.inf], [1.0, 2.0]]), np.array([[0.0, 0.0], [np.inf, np.nan]]))
    assert (line.middle == 0).all()
    assert (line.radius == np.inf).all()
    zero, one = MidpointRadius.of(np.zeros((2, 2))), MidpointRadius.of(np.ones((2, 2)))
    results = [line + one, line * one, line @ one, one @ line, line.elementary("silu"), line.reciprocal([[1]]), line.mT]
    results += [line.evaluate(SOFTMAX), MidpointRadius.around(line.balls()), one.reciprocal([[1]]) * line, line * zero]
    for found in results:
        assert (found.radius == np.inf).all()
    assert np.isinf(zero.reciprocal([[1]]).radius).all()
    assert np.isinf(MidpointRadius.of([[10**300]]).evaluate(SOFTMAX).radius).all()
    huge = MidpointRadius(np.array([[1e308]]), np.array([[1e308]]))
    assert np.isinf((huge + huge).radius).all()


NAMES = ["rsqrt", "gelu", "gelu_new", "silu"]


@given(st.floats(-40, 40), st.sampled_from([0.0, 1e-300, 1e-12, 0.1]), st.integers(-16, 16))
@settings(max_examples=200, deadline=None)
def test_functions(middle: float, radius: float, share: int) -> None:
    """At a number in the ball, in 300 bits, by formulas of their own."""
    inside = Fraction(middle) + Fraction(radius) * Fraction(share, 16)
    ball = MidpointRadius(np.array([[middle]]), np.array([[radius]]))
    found = {name: ball.elementary(name) for name in NAMES}  # type: ignore[arg-type]
    with precision(300):
        x = BallMatrix.of([[inside]]).flint[0, 0]
        minus = x / arb(2).sqrt()
        known = {
            "gelu": x * (-minus).erfc() / 2,
            "gelu_new": x / (1 + (-2 * (arb(2) / arb.pi()).sqrt() * (x + arb("0.044715") * x**3)).exp()),
            "silu": x - x / (1 + x.exp()),
        }
        if inside > 0:
            known["rsqrt"] = 1 / x.sqrt()
        for name, value in known.items():
            assert found[name].balls().flint[0, 0].overlaps(value), name
            if radius < 1e-9 and name != "rsqrt":
                assert found[name].radius[0, 0] < 1e-8


def test_rotary_tables() -> None:
    theta, positions = Fraction(10000), [0, 1, 5, 8191]
    cosines, sines = MidpointRadius.of([[1]]).rotary(theta, 6, positions)
    angles = 10000.0 ** (-np.arange(3)[:, None] / 3) * np.array(positions)
    assert np.abs(cosines.middle - np.cos(angles)).max() < 1e-11
    assert np.abs(sines.middle - np.sin(angles)).max() < 1e-11
    assert cosines.radius.max() < 1e-11
    one = cosines * cosines + sines * sines
    assert one.contains(np.ones((3, 4), dtype=object)).all()


def test_numbers_come_in_and_go_out() -> None:
    exact = MidpointRadius.of(np.array([[0.1, -3.0]], dtype=np.float32))
    assert (exact.radius == 0).all()
    long = [[Fraction(1, 3), 5, 2**60 + 1]]
    assert MidpointRadius.of(long).contains(np.array(long, dtype=object)).all()
    for bad in ([[np.nan]], np.array([[np.inf]]), [["1"]]):
        with pytest.raises(BadInput):
            MidpointRadius.of(bad)
    with pytest.raises(TooLarge, match="below 2"):
        MidpointRadius.of([[10**400]])
    with pytest.raises(BadInput, match="only the Taylor series"):
        exact.evaluate(Normalization("series", lambda k: Fraction(1)))
    many = MidpointRadius(np.zeros((1, 2**20 + 1)), np.zeros((1, 2**20 + 1)))
    with pytest.raises(TooLarge, match="at most 1,048,576 terms"):
        many @ many.mT
    with precision(200):
        far = BallMatrix.of([[Fraction(1, 3), 2**2000]])
        near = MidpointRadius.around(far)
    assert near.contains(np.array([[Fraction(1, 3), 0]], dtype=object)).all()
    assert near.radius[0, 1] == np.inf


# ---- mutants: radii that are too small are found out by a product that is off by as much as it can be


def worst() -> tuple[Any, Any]:
    """Products that all round the same way."""
    u = 2.0**-53
    a = np.full((1, 64), 1 + 2.0**-52)
    b = np.full((64, 1), 1 + 2.0**-52)
    a[0, 1:], b[1:, 0] = 1.0, 1.5 * u  # each is lost beside what was added before
    return a, b


MUTANTS: dict[str, Callable[[Any], Any]] = {
    "no rounding error": lambda patch: patch.setattr(midpoint_radius, "UNIT", 0.0),
    "radius dropped": lambda patch: patch.setattr(midpoint_radius, "_rounded_up", lambda radius: 0 * radius),
    "nothing for underflow": lambda patch: patch.setattr(midpoint_radius, "TINY", 0.0),
}


def holds() -> bool:
    """Whether three questions are answered rightly."""
    a, b = worst()
    tiny = np.array([[2.0**-537]])
    one = MidpointRadius(np.ones((1, 1)), np.full((1, 1), 0.5))
    return bool(
        (MidpointRadius.of(a) @ MidpointRadius.of(b)).contains(fractions(a) @ fractions(b)).all()
        and (MidpointRadius.of(tiny) * MidpointRadius.of(3 * tiny / 4)).contains(
            3 * fractions(tiny) * fractions(tiny) / 4
        ).all()
        and (one @ one).contains(np.array([[Fraction(9, 4)]])).all()
    )  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert holds()
    MUTANTS[name](monkeypatch)
    assert not holds()
