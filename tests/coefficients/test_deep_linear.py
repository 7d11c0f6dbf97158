"""Products of matrices, by roads that do not know how the number is found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations, product

import numpy as np
import pytest
from least_factors import least_of_all_factors

from lightning_sym import (
    BadInput,
    ShapeError,
    TooLarge,
    deep_linear_coefficient,
    factorization_coefficient,
    polynomial_coefficient,
)
from lightning_sym.coefficients.deep_linear import PartialProducts
from lightning_sym.coefficients.reduced_rank import FactorRanks

Interval = tuple[int, int]


def test_two_factors_are_those_of_the_page() -> None:
    for rows, inner, columns in product(range(1, 6), repeat=3):
        for rank in range(min(rows, inner, columns) + 1):
            found, pair = (
                deep_linear_coefficient([columns, inner, rows], rank),
                least_of_all_factors(rows, columns, inner, rank),
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


def ranks_of(counts: dict[Interval, int], size: int) -> dict[Interval, int]:
    """The ranks of all partial products of a sum of intervals."""
    places = [(i, k) for i in range(size) for k in range(i + 1, size)]
    return {(i, k): sum(m for (a, b), m in counts.items() if a <= i and k <= b) for i, k in places}


def strata(widths: tuple[int, ...], near: dict[Interval, int] | None = None) -> tuple[int, int]:
    """The smallest codimension of orbits of matrices with product zero, near given ones, and how many have it."""
    codimensions = []
    for counts in decompositions(widths):
        own = ranks_of(counts, len(widths))
        if near is not None and any(own[place] < rank for place, rank in ranks_of(near, len(widths)).items()):
            continue
        maps = sum(m * n for (a, b), m in counts.items() for (c, d), n in counts.items() if c <= a <= d <= b)
        orbit = sum(x * x for x in widths) - maps
        codimensions.append(sum(x * y for x, y in pairwise(widths)) - orbit)
    return min(codimensions), codimensions.count(min(codimensions))


def test_the_zero_map_has_the_codimension_of_its_weights_and_as_many_strata() -> None:
    """With up to three factors the largest strata are one chain."""
    for widths in [w for n in (3, 4) for w in combinations_with_replacement(range(1, 4), n)]:
        found = deep_linear_coefficient(list(widths))
        codimension, count = strata(widths)
        assert 2 * found.lower == codimension
        assert found.multiplicity == count


def factors_of(counts: dict[Interval, int], widths: tuple[int, ...], draw: random.Random) -> list[list[list[int]]]:
    """Matrices that map lines as the intervals say, in other bases."""
    lines = [(interval, n) for interval, count in counts.items() for n in range(count)]
    here = [[line for line in lines if line[0][0] <= s <= line[0][1]] for s in range(len(widths))]
    plain = [np.array([[int(a == b) for a in before] for b in after]) for before, after in pairwise(here)]
    turns = [
        np.array([[int(i == j) or (i > j) * draw.randrange(-2, 3) for j in range(w)] for i in range(w)]) for w in widths
    ]
    inverses = [np.rint(np.linalg.inv(turn)).astype(int) for turn in turns]
    return [(turns[k + 1] @ matrix @ inverses[k]).tolist() for k, matrix in enumerate(plain)]


def test_given_factors_have_the_codimension_of_what_is_near_them() -> None:
    """All orbits whose ranks are at least as large, by their own dimensions."""
    draw, seen = random.Random(2), 0
    for widths in [(2, 2, 2, 2), (2, 2, 2), (3, 3, 3), (2, 3, 2, 1), (1, 2, 2, 2, 1)]:
        cases = list(decompositions(widths))
        for counts in draw.sample(cases, min(40, len(cases))):
            factors = factors_of(counts, widths, draw)
            found = factorization_coefficient(factors)
            assert 2 * found.lower == strata(widths, counts)[0]
            least = deep_linear_coefficient(list(widths))
            assert found.lower >= least.lower
            seen += found.lower > least.lower
            if len(widths) == 3:
                second, first = factors[1], factors[0]
                r = [int(np.linalg.matrix_rank(x)) for x in (second, first, np.array(second) @ first)]
                pair = FactorRanks(widths[2], widths[1], widths[0], *r).pair
                assert (found.value, found.multiplicity) == (pair.value, pair.multiplicity)
    assert seen > 5  # else the given matrices might not count at all


def test_bounds_of_polynomials_at_given_factors() -> None:
    """An ideal that knows no rank, at factors of which no product is zero but that of all."""
    b, c, d = ([[f"{n}{i}{j}" for j in range(2)] for i in range(2)] for n in "bcd")
    inner = [[" + ".join(f"{d[i][k]}*{c[k][m]}*{b[m][j]}" for k, m in product(range(2), repeat=2)) for j in range(2)]
             for i in range(2)]  # fmt: skip
    bounds = polynomial_coefficient(", ".join(t for row in inner for t in row), {"b00": 1, "c00": 1, "d11": 1})
    found = factorization_coefficient([[[1, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 1]]])
    assert bounds.lower <= found.lower <= bounds.upper
    assert found.value == Fraction(3, 2)


def brute(widths: tuple[int, ...], ranks: dict[Interval, int]) -> tuple[int, int]:
    """The smallest codimension over all allowed numbers, one by one, and the longest chain of the best."""
    last = len(widths) - 1
    costs: dict[tuple[int, ...], int] = {}
    for inner in product(*(range(w + 1) for w in widths[1:last])):
        z = (widths[0], *inner, 0)
        falls = all(b <= a for a, b in pairwise(z))
        if falls and all(z[k] - z[i] >= r - widths[i] for (i, k), r in ranks.items()):
            costs[z] = sum((w - b) * (a - b) for w, (a, b) in zip(widths[1:], pairwise(z), strict=True))
    best = sorted((z for z, cost in costs.items() if cost == min(costs.values())), key=sum)
    longest: dict[tuple[int, ...], int] = {}
    for z in best:
        below = (longest[y] for y in longest if all(a <= b for a, b in zip(y, z, strict=True)))
        longest[z] = 1 + max(below, default=0)
    return min(costs.values()), max(longest.values())


def test_steps_find_the_least_and_the_longest_chain() -> None:
    draw = random.Random(4)
    for _ in range(60):
        size = draw.randint(2, 5)
        intervals = [(i, k) for i in range(size) for k in range(i, size) if (i, k) != (0, size - 1)]
        counts = {interval: draw.choice([0, 0, 1, 2]) for interval in intervals}
        widths = tuple(sum(m for (a, b), m in counts.items() if a <= s <= b) for s in range(size))
        ranks = ranks_of(counts, size)
        near = PartialProducts(widths, tuple(tuple(ranks[i, k] for k in range(i + 1, size)) for i in range(size - 1)))
        chain = near.best()
        assert (near.codimension(chain[0]), len(chain)) == brute(widths, ranks)


def cited(widths: tuple[int, ...]) -> tuple[Fraction, int]:
    """Aoyagi's formula for the zero map, as public code has it."""
    ordered = sorted(widths)
    for count in range(2, len(ordered) + 1):
        few, length, total = ordered[:count], count - 1, sum(ordered[:count])
        after = ordered[count] if count < len(ordered) else None
        if total >= length * few[-1] and (after is None or (few[-1] < after and total < length * after)):
            a = total - (-(-total // length) - 1) * length
            pairs = sum(x * y for i, x in enumerate(few) for y in few[:i])
            return Fraction(a * (length - a) - (length - 1) * total**2, 2 * length) + pairs, a * (length - a) + 1
    raise AssertionError(widths)


def test_the_formula_that_is_cited_is_the_same() -> None:
    some = [(3, 3, 3, 3, 3, 3, 3), (6, 6, 7, 7, 8, 8), (1000, 900, 1000, 950), tuple(range(20, 40))]
    for widths in [
        *combinations_with_replacement(range(1, 5), 4),
        *combinations_with_replacement(range(1, 4), 5),
        *some,
    ]:
        found = deep_linear_coefficient([w + 2 for w in widths], 2)
        two, order = cited(widths)
        assert found.lower == (2 * (widths[0] + widths[-1] + 2) + two) / 2
        assert found.multiplicity == order


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
        ([2], 0, "from 2 to 32 widths, got 1"), ([2] * 33, 0, "from 2 to 32 widths, got 33"),
        ([2, 0], 0, "a width must be an integer of at least 1"),
        ([2, 3, 2], 3, "at most the smallest width, 2"), ([2, 2], -1, "the rank must be an integer of at least 0"),
    ]:  # fmt: skip
        with pytest.raises(BadInput, match=said):
            deep_linear_coefficient(widths, rank)
    assert deep_linear_coefficient([3, 3], 2).value == Fraction(9, 2)
    with pytest.raises(BadInput, match="from 1 to 12 matrices, got 0"):
        factorization_coefficient([])
    with pytest.raises(ShapeError, match="matrix 2 must have 2 columns"):
        factorization_coefficient([[[1, 0], [0, 1]], [[1]]])
    with pytest.raises(TooLarge, match="exact ranks of all partial products"):
        factorization_coefficient([np.ones((300, 300), dtype=int)] * 3, work=1e-3)
