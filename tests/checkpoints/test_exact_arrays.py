"""Exact arithmetic on arrays: the same as fractions, floats wherever a result is one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_sym.checkpoints import exact_arrays
from lightning_sym.checkpoints.exact_arrays import Exact, Rounded, exact_product, narrow, to_objects
from lightning_sym.errors import BadInput, TooLarge

NUMBERS = st.one_of(
    st.integers(-(2**30), 2**30).map(float),
    st.tuples(st.integers(-(2**24), 2**24), st.integers(-60, 60)).map(lambda p: float(np.ldexp(*p))),
    st.floats(-1e20, 1e20, allow_subnormal=False),
    st.just(0.0),
)


def matrices(rows: int, columns: int) -> Any:
    return st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns).map(
        lambda numbers: np.array(numbers).reshape(rows, columns)
    )


def held(found: Any, exact: Any) -> None:
    assert (to_objects(found) == exact).all()
    is_floats = all(Fraction(float(x)) == x for x in exact.ravel())
    assert (found.dtype == np.float64) is is_floats


@settings(deadline=None)
@given(matrices(2, 3), matrices(3, 2))
def test_products_are_exact(first: Any, second: Any) -> None:
    held(Exact().product(first, second), to_objects(first) @ to_objects(second))


@settings(deadline=None)
@given(matrices(2, 2), matrices(2, 2))
def test_sums_and_quotients_are_exact(first: Any, second: Any) -> None:
    held(Exact().plus(first, second), to_objects(first) + to_objects(second))
    held(Exact().times(first, second), to_objects(first) * to_objects(second))
    second = np.where(second == 0, 1.0, second)
    held(Exact().over(first, second), to_objects(first) / to_objects(second))


@pytest.mark.parametrize("seed", range(6))
def test_long_products_of_few_bits_stay_floats(seed: int) -> None:
    random = np.random.default_rng(seed)
    first = np.ldexp(random.integers(-(2**24), 2**24, size=(5, 300)), random.integers(-30, 5, size=(5, 300)))
    second = random.integers(-1, 2, size=(300, 4)) / 2.0
    found = exact_product(first, second)
    exact = to_objects(first) @ to_objects(second)
    if found is None:
        assert not all(Fraction(float(x)) == x for x in exact.ravel())
    else:
        assert (to_objects(found) == exact).all()


def test_a_rounded_product_is_not_taken_for_exact() -> None:
    first, second = np.array([[1.0, 2.0**-60]]), np.array([[1.0], [1.0]])
    assert exact_product(first, second) is None
    assert Rounded().product(first, second) == 1
    assert Exact().product(first, second)[0, 0] == 1 + Fraction(1, 2**60)
    assert exact_product(np.array([[2.0**60, 1.0, -(2.0**60)]]), np.ones((3, 1))) == [[1.0]]


@pytest.mark.parametrize("size", [2.0**-500, 2.0**500, 2.0**-1070])
def test_extreme_numbers_are_fractions_or_right(size: float) -> None:
    first = np.array([[size, 3.0]])
    held(Exact().product(first, first.T), to_objects(first) @ to_objects(first.T))
    held(Exact().times(first, first), to_objects(first) * to_objects(first))
    held(Exact().plus(first, first), to_objects(first) + to_objects(first))


def test_thirds_go_through_integers() -> None:
    third = narrow(np.array([[Fraction(1, 3), Fraction(2, 3)]], dtype=object))
    found = Exact().product(third, np.array([[3.0], [6.0]]))
    assert found.dtype == np.float64
    assert found == [[5.0]]


def test_inverses() -> None:
    gauge = np.array([[[1, 2], [0, 4]], [[0, 3], [1, 0]]], dtype=object)
    assert (Exact().product(gauge, Exact().inverse(gauge)) == np.eye(2)).all()
    for ring in (Exact(), Rounded()):
        with pytest.raises(BadInput, match="invertible"):
            ring.inverse(ring.numbers(np.zeros((1, 2, 2))))


def test_slow_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_arrays, "LARGEST", 10)
    with pytest.raises(TooLarge, match="operations on fractions"):
        Exact().over(np.ones(11), np.full(11, 3.0))


def test_division_by_zero_is_said() -> None:
    with pytest.raises(BadInput, match="must not divide by zero"):
        Exact().over(np.ones(2), np.zeros(2))


def test_a_float_among_fractions_is_one() -> None:
    long = np.array([Fraction(1, 3), 0.1], dtype=object)
    held(Exact().plus(Exact().numbers(long), np.array([1e-20])), to_objects(np.array([1e-20])) + to_objects_of(long))
    assert type(Exact().numbers(long)[1]) is Fraction


def to_objects_of(numbers: Any) -> Any:
    return np.array([Fraction(x) for x in numbers], dtype=object)


def test_numbers_beyond_all_floats_are_refused_where_they_are_rounded() -> None:
    huge = np.array([[10**400]], dtype=object)
    with pytest.raises(BadInput, match="must be below 2\\^1024"):
        Rounded().numbers(huge)
    assert Rounded().numbers(huge // 10**300)[0, 0] == 1e100
