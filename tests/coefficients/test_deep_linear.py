"""The cited number of deep linear networks, by roads that do not know it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations, product

import pytest

from lightning_sym import BadInput, deep_linear_coefficient, polynomial_coefficient
from lightning_sym.coefficients.reduced_rank import minimal_regression
from lightning_sym.exact import rational

Interval = tuple[int, int]


def test_two_factors_are_those_of_the_page() -> None:
    for rows, inner, columns in product(range(1, 6), repeat=3):
        for rank in range(min(rows, inner, columns) + 1):
            found, pair = (
                deep_linear_coefficient([columns, inner, rows], rank),
                minimal_regression(rows, columns, inner, rank),
            )
            assert (found.value, found.multiplicity) == (pair.value, pair.multiplicity)


def decompositions(widths: tuple[int, ...]) -> Iterator[dict[Interval, int]]:
    """All ways in which spaces of these dimensions are sums of intervals, none from the first to the last."""
    intervals = [(a, b) for a in range(len(widths)) for b in range(a, len(widths)) if (a, b) != (0, len(widths) - 1)]

    def rest(left: tuple[int, ...], place: int) -> Iterator[dict[Interval, int]]:
        if place == len(intervals):
            if not any(left):
                yield {}
            return
        a, b = intervals[place]
        for count in range(min(left[a : b + 1]) + 1):
            less = tuple(x - count if a <= i <= b else x for i, x in enumerate(left))
            for others in rest(less, place + 1):
                yield others | {(a, b): count}

    yield from rest(widths, 0)


def strata(widths: tuple[int, ...]) -> tuple[int, int]:
    """The smallest codimension of matrices with product zero, by ranks of partial products, and how many have it."""
    codimensions = []
    for counts in decompositions(widths):
        maps = sum(m * n for (a, b), m in counts.items() for (c, d), n in counts.items() if c <= a <= d <= b)
        orbit = sum(x * x for x in widths) - maps
        codimensions.append(sum(x * y for x, y in pairwise(widths)) - orbit)
    return min(codimensions), codimensions.count(min(codimensions))


def test_the_zero_map_has_the_codimension_of_its_weights_and_as_many_strata() -> None:
    """Half of it is a bound from above (rule (f)); that it is reached is Aoyagi's theorem."""
    cases = [w for n in (3, 4) for w in combinations_with_replacement(range(1, 4), n)]
    for widths in cases:
        found = deep_linear_coefficient(list(widths))
        codimension, count = strata(widths)
        assert 2 * found.lower == codimension
        assert found.multiplicity == count


def test_three_factors_by_their_singular_values() -> None:
    """The least at exponents 0 and 1, and the dimension of the hull of the best ones."""
    for widths in [*product(range(1, 4), repeat=4), (2, 5, 4, 6), (6, 4, 5, 5), (4, 7, 4, 4)]:
        first, second, third, last = widths
        ends = min(first, second), min(third, last)
        costs = {
            (k, j): (last - k) * (third - k) + (second - j) * (first - j) + k * j
            for k, j in product(range(ends[1] + 1), range(ends[0] + 1))
        }
        least = min(costs.values())
        best = [[*[0] * k, *[1] * (ends[1] - k), *[0] * j, *[1] * (ends[0] - j)]
                for (k, j), cost in costs.items() if cost == least]  # fmt: skip
        hull = rational.rank([[a - b for a, b in zip(point, best[0], strict=True)] for point in best])
        for more in range(3):
            found = deep_linear_coefficient([w + more for w in widths], more)
            assert found.lower == Fraction(more * (first + last + more) + least, 2)
            assert found.multiplicity == hull + 1


def test_a_map_of_rank_one_in_polynomials() -> None:
    """Bounds that know no rank, at factors that are zero but for a common first entry: the point that is least."""
    b, c, d = ([[f"{n}{i}{j}" for j in range(2)] for i in range(2)] for n in "bcd")
    inner = [[" + ".join(f"{b[i][k]}*{t}*{d[m][j]}" for k, m in product(range(2), repeat=2) for t in [c[k][m]])
              for j in range(2)] for i in range(2)]  # fmt: skip
    inner[0][0] += " - 1"
    bounds = polynomial_coefficient(", ".join(t for row in inner for t in row), {"b00": 1, "c00": 1, "d00": 1})
    found = deep_linear_coefficient([2, 2, 2, 2], 1)
    assert bounds.lower <= found.lower <= bounds.upper
    assert bounds.certified


def test_the_order_of_widths_does_not_matter_for_the_zero_map() -> None:
    for widths in permutations((1, 2, 3, 5)):
        assert deep_linear_coefficient(list(widths)).lower == deep_linear_coefficient([1, 2, 3, 5]).lower


@pytest.mark.parametrize("widths", [(1, 1, 1, 1), (2, 1, 1, 2), (1, 2, 1, 2), (2, 1, 2, 1)])
def test_ideals_of_products(widths: tuple[int, ...]) -> None:
    entries: list[list[str]] = [[f"a{i}{j}" for j in range(widths[0])] for i in range(widths[1])]
    for name, size in zip("bc", widths[2:], strict=True):
        below = len(entries)
        entries = [
            [
                " + ".join(f"{name}{i}{k}*{t}" for k in range(below) for t in entries[k][j].split(" + "))
                for j in range(widths[0])
            ]
            for i in range(size)
        ]
    bounds = polynomial_coefficient(", ".join(t for row in entries for t in row))
    found = deep_linear_coefficient(list(widths))
    assert bounds.lower <= found.lower <= bounds.upper
    assert bounds.certified


def test_what_is_no_network_is_refused() -> None:
    for widths, rank, said in [
        ([2], 0, "from 2 to 4 widths"), ([2, 2, 2, 2, 2], 0, "from 2 to 4 widths, of which it is proved, got 5"),
        ([2, 0], 0, "a width must be an integer of at least 1"),
        ([2, 3, 2], 3, "at most the smallest width, 2"), ([2, 2], -1, "the rank must be an integer of at least 0"),
    ]:  # fmt: skip
        with pytest.raises(BadInput, match=said):
            deep_linear_coefficient(widths, rank)
    assert deep_linear_coefficient([3, 3], 2).value == Fraction(9, 2)
