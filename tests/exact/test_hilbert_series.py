"""Dimension and degree of ideals: complete intersections, determinantal ideals, embedded points."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from lightning_sym.errors import BadInput
from lightning_sym.exact.determinantal import determinantal, determinantal_degree
from lightning_sym.exact.ideals import hilbert_numerator, size_of_ideal
from lightning_sym.rings.polynomials import PolynomialRing


def standard_monomials(monomials: list[tuple[int, ...]], degree: int) -> int:
    """Counted one by one."""
    places = len(monomials[0])
    return sum(
        not any(all(k <= e for k, e in zip(m, exponents, strict=True)) for m in monomials)
        for exponents in product(range(degree + 1), repeat=places)
        if sum(exponents) == degree
    )


@pytest.mark.parametrize(
    "monomials",
    [[(2, 0, 0), (1, 1, 0)], [(1, 1, 0), (0, 1, 1), (1, 0, 1)], [(3, 0, 1), (0, 2, 2), (1, 1, 1)], [(0, 0, 1)]],
)
def test_the_series_counts_standard_monomials(monomials: list[tuple[int, ...]]) -> None:
    series = hilbert_numerator(monomials) + [0] * 8
    for _ in range(3):  # times 1 / (1 - z)
        series = [sum(series[: k + 1]) for k in range(len(series))]
    assert series[:6] == [standard_monomials(monomials, degree) for degree in range(6)]


def test_minors() -> None:
    for rows, columns in ((2, 2), (2, 3), (2, 4)):
        ring = PolynomialRing([f"x_{i}_{j}" for i in range(rows) for j in range(columns)])
        at = [[ring[f"x_{i}_{j}"] for j in range(columns)] for i in range(rows)]
        minors = [at[0][i] * at[1][j] - at[0][j] * at[1][i] for i, j in combinations(range(columns), 2)]
        size = size_of_ideal(ring, minors)
        assert size == (determinantal(rows, columns, 1), determinantal_degree(rows, columns, 1))


def test_multiplicities_count_and_embedded_points_do_not() -> None:
    ring = PolynomialRing(["a", "b", "c"])
    a, b, c = ring.generators
    assert size_of_ideal(ring, [a**3]) == (2, 3)
    assert size_of_ideal(ring, [a * b, a * c]) == (2, 1)
    assert size_of_ideal(ring, [a**2 - b * c, b**2 - a * c]) == (1, 4)
    assert size_of_ideal(ring, []) == (3, 1)
    assert size_of_ideal(ring, [a, b, c**2]) == (0, 2)


def test_refusals() -> None:
    ring = PolynomialRing(["a", "b"])
    a, b = ring.generators
    with pytest.raises(BadInput, match="homogeneous"):
        size_of_ideal(ring, [a + b**2])
    with pytest.raises(BadInput, match="constant"):
        size_of_ideal(ring, [ring.constant(1)])
