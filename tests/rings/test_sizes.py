"""The ring of sizes: shapes as over every ring, prices that add up, and what it cannot do is refused by name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from conformance import NETWORKS, numbers_for
from hypothesis import given
from hypothesis import strategies as st

from lightning_sym.errors import RingError
from lightning_sym.rings.protocol import operation
from lightning_sym.rings.rates import RATES, Rates
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import LARGEST, Price, Sizes

sizes = st.integers(1, 50)


@given(sizes, sizes, sizes, st.integers(1, 5000), st.integers(1, 5000))
def test_a_product_is_as_long_as_it_can_be(m: int, k: int, n: int, bits: int, more: int) -> None:
    price = Price("rationals")
    product = Sizes((m, k), price, bits=bits) @ Sizes((k, n), price, bits=more)
    largest = k * (2**bits - 1) * (2**more - 1)
    assert largest.bit_length() <= product.bits <= largest.bit_length() + 2
    assert price.done == {"call": 1, "product": m * k * n, "entry": m * n}


@pytest.mark.parametrize("name", NETWORKS)
def test_entries_are_no_longer_than_sizes_say(name: str) -> None:
    numbers = {each: matrix * Fraction(10**30 + 57) for each, matrix in numbers_for(NETWORKS[name], 3).items()}
    one = RationalMatrix.of(next(iter(numbers.values())))
    product = Sizes(one.shape, Price("rationals"), bits=one.bits)
    found = one
    for _ in range(3):
        found, product = found @ found.mT @ one, product @ product.mT @ Sizes(one.shape, product.price, bits=one.bits)
    assert found.shape == product.shape
    assert found.bits <= product.bits


@given(st.integers(1, 200), st.integers(0, 9))
def test_what_is_repeated_takes_as_often_as_long(times: int, degree: int) -> None:
    one, many, at_once = (Price("series", series=5) for _ in range(3))
    for price in (one, many, at_once):
        Sizes((2, 3), price, degree=degree) @ Sizes((3, 4), price, degree=1)
    many.repeated(times)
    at_once.repeated(times, at_once=True)
    assert many.done == {what: times * count for what, count in one.done.items()}
    assert at_once.done == {**many.done, "call": 1}
    assert many.seconds == pytest.approx(times * one.seconds)
    assert at_once.seconds <= many.seconds


def test_a_series_is_cut_off_and_a_polynomial_is_not() -> None:
    series, polynomials = Price("series", series=4), Price("polynomials", variables=2)
    assert (series.pairs(1, 1), series.pairs(0, 1), series.pairs(0, 0)) == (10, 4, 1)
    assert (polynomials.pairs(1, 1), polynomials.pairs(3, 1), polynomials.pairs(0, 2)) == (4, 8, 3)


def test_ranks_and_systems_have_a_price_that_grows() -> None:
    def price(size: int, bits: int) -> tuple[float, float]:
        rank, system = Price("rationals"), Price("rationals")
        assert Sizes((size, size + 2), rank, bits=bits).rank() == size
        assert Sizes((size, size + 2), rank, bits=bits).rank(1) == 1
        assert Sizes((size, size), system, bits=bits).solved(3).shape == (size, 3)
        return rank.seconds, system.seconds

    small, wide, long = price(10, 8), price(40, 8), price(10, 8000)
    assert wide[0] > 2 * small[0]
    assert wide[1] > 2 * small[1]
    assert long[1] > 2 * small[1]


def test_a_solution_is_as_long_as_the_rows_together() -> None:
    """Of systems whose solutions do not cancel: of 1 / a, b / c, ... the second equation has all numbers."""
    a, b, c = 2**50 - 27, 2**50 - 35, 2**50 - 51  # primes
    x = Fraction(1, a)
    y = (c - b * x) / c  # b x + c y = c
    solution = Sizes((2, 2), Price("rationals"), bits=50).solved(1)
    assert y.numerator.bit_length() <= solution.bits == 100
    assert y.numerator.bit_length() + y.denominator.bit_length() == solution.lowest == 200


@pytest.mark.parametrize("ring", RATES)
def test_no_rate_is_negative_and_something_takes_time(ring: str) -> None:
    rates = RATES[ring]._asdict()
    assert set(rates) == set(Rates._fields)
    assert all(rate >= 0 for rate in rates.values())
    assert rates["product"] + rates["entry"] > 0
    assert rates["call"] > 0


@pytest.mark.parametrize("name", ["elementary", "rotary", "stacked"])
def test_what_sizes_cannot_do_is_refused_by_name(name: str) -> None:
    with pytest.raises(RingError, match=f"Sizes has none|{name}"):
        operation(Sizes((1, 1), Price("balls")), name, "a norm")


def test_numbers_beyond_all_floats_have_a_price() -> None:
    price: Any = Price("rationals")
    matrix = Sizes((3, 3), price, bits=10**400, lowest=10**400)
    assert (matrix @ matrix).bits == LARGEST
