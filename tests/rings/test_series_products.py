"""Products of series against sums of products of their coefficients, of all shapes that broadcast; stacks of series."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym.rings import power_series
from lightning_sym.rings.power_series import PowerSeries, _toeplitz, entry_product, matrix_product, product_bytes
from lightning_sym.rings.prime_field import PRIMES, random_residues

P = PRIMES[0]
LEADING = [((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((3, 1), (1, 2)), ((1, 2, 1), (3, 1, 4)), ((2, 1), (2, 3))]


def residues(rng: np.random.Generator, *shape: int) -> Any:
    return random_residues(rng, shape, P).entries


def coefficient(a: Any, b: Any, n: int, product: Any) -> Any:
    """Of degree `n`, in Python's integers."""
    zero = product(a[..., 0], b[..., 0]) * 0
    pairs = [(a[..., i], b[..., n - i]) for i in range(a.shape[-1]) if 0 <= n - i < b.shape[-1]]
    return sum((product(x, y) for x, y in pairs), zero) % P


@pytest.mark.parametrize(("one", "other"), LEADING)
@pytest.mark.parametrize(("terms", "more"), [(1, 1), (1, 4), (4, 1), (3, 5)])
def test_products_are_sums_of_products(
    one: tuple[int, ...], other: tuple[int, ...], terms: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightning_sym.rings.power_series._TOEPLITZ_BYTES", 1000)  # a few matrices at a time
    rng = np.random.default_rng(terms + 10 * more)
    a, b = residues(rng, *one, 2, 3, terms), residues(rng, *other, 3, 2, more)
    c = residues(rng, *other, 2, 3, more)
    exact_a, exact_b, exact_c = (np.vectorize(int, otypes=[object])(m) for m in (a, b, c))
    count = terms + more - 1
    for start, stop in ((0, count), (count - 1, count), (0, 1)):
        products, entries = matrix_product(a, b, start, stop, P), entry_product(a, c, start, stop, P)
        for n in range(start, stop):
            expected = coefficient(exact_a, exact_b, n, np.matmul)
            assert np.array_equal(products[..., n - start] % P, expected.astype(float))
            expected = coefficient(exact_a, exact_c, n, np.multiply)
            assert np.array_equal(entries[..., n - start] % P, expected.astype(float))


@pytest.mark.parametrize("degree", [0, 1, 3, 20])
@pytest.mark.parametrize("valuation", [2, 4])
def test_a_polynomial_of_a_series_is_its_sum_of_powers(degree: int, valuation: int) -> None:
    rng, order = np.random.default_rng(degree), 14
    s = PowerSeries.of({k: random_residues(rng, (3, 2, 2), P) for k in range(valuation, 11, 2)}, order)

    def taylor(k: int) -> Fraction:
        return Fraction(k - 1, k + 1) if k <= degree else Fraction(0)

    found, power = s.apply(taylor), s.like(np.ones((2, 2), dtype=object))
    expected = s.like(np.full((2, 2), taylor(0)))
    for k in range(1, degree + 1):
        power = power * s
        expected = expected + power * s.like(np.full((2, 2), taylor(k)))
    for k in range(order + 1):
        assert (found.coefficient(k).residues() == expected.coefficient(k).residues()).all()


def test_the_largest_matrix_of_a_product_is_as_large_as_was_said() -> None:
    """A block of 32 coefficients by all of another series, floats of 8 bytes."""
    middle, columns, terms = 30, 40, 35
    made = _toeplitz(np.ones((middle, columns, terms)), range(terms), range(3, terms))
    assert product_bytes(middle, columns, terms) == made.nbytes == 8 * middle * columns * terms * 32


def test_matrices_of_a_batch_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def made(b: Any, inner: range, outer: range) -> Any:
        sizes.append((matrix := _toeplitz(b, inner, outer)).nbytes)
        return matrix

    monkeypatch.setattr(power_series, "_toeplitz", made)
    a = residues(np.random.default_rng(0), 40, 8, 8, 16)
    assert matrix_product(a, a, 0, 16, P).shape == a.shape
    assert max(sizes) <= product_bytes(8, 8, 16) < sum(sizes) == 40 * 8 * (8 * 16) ** 2


def test_series_stand_one_below_the_other() -> None:
    rng = np.random.default_rng(3)
    series = [
        PowerSeries.of({k: random_residues(rng, (2, rows, 3), P) for k in degrees}, 9)
        for rows, degrees in ((1, (1, 3)), (4, (3, 5, 7)), (2, (5,)))
    ]
    whole = series[0].stacked(series)
    assert whole is not None
    for degree in range(10):
        rows = [s.coefficient(degree).entries for s in series]
        assert np.array_equal(whole.coefficient(degree).entries, np.concatenate(rows, axis=-2))
        for i, s in enumerate(series):
            assert np.array_equal(whole.part(series, i).coefficient(degree).entries, s.coefficient(degree).entries)
    assert series[0].stacked([series[0], PowerSeries.of({1: random_residues(rng, (2, 1, 4), P)}, 9)]) is None
    assert series[0].stacked([series[0], PowerSeries.of({1: random_residues(rng, (1, 3), P)}, 9)]) is None
    with pytest.raises(ValueError, match="an even and an odd series"):
        series[0].stacked([series[0], PowerSeries.of({2: random_residues(rng, (2, 1, 3), P)}, 9)])
