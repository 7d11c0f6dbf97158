"""Products of two matrices and Gram matrices: their pairs against formulas of others, strata, and the rules."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from least_factors import least_of_all_factors

from lightning_sym.coefficients.lightning_layer import GramRanks, isotropic_pair
from lightning_sym.coefficients.reduced_rank import NOTHING, FactorRanks, LocalPair
from lightning_sym.errors import ProgramError, ShapeError
from lightning_sym.exact.rational import Inertia, rank
from lightning_sym.rings.rationals import RationalMatrix

PAIRS = st.builds(LocalPair, st.fractions(0, 5, max_denominator=6), st.integers(1, 4))


def aoyagi_watanabe(rows: int, columns: int, inner: int, r: int) -> tuple[Fraction, int]:
    """Stochastic complexities of reduced rank regression (2005), main theorem, as it is printed."""
    if rows + inner < columns + r:
        return Fraction(inner * rows - inner * r + columns * r, 2), 1
    if columns + inner < rows + r:
        return Fraction(inner * columns - inner * r + rows * r, 2), 1
    if rows + columns < inner + r:
        return Fraction(rows * columns, 2), 1
    twice = 2 * (inner + r) * (rows + columns) + 2 * rows * columns - (inner + r) ** 2 - rows**2 - columns**2
    odd = (rows + inner + columns + r) % 2
    return Fraction(twice + odd, 8), 1 + odd


def test_the_least_pair_of_all_factors_is_that_of_aoyagi_and_watanabe() -> None:
    compared = 0
    for rows, columns, inner in product(range(1, 9), repeat=3):
        for r in range(min(rows, columns, inner) + 1):
            found = least_of_all_factors(rows, columns, inner, r)
            assert (found.value, found.multiplicity) == aoyagi_watanabe(rows, columns, inner, r)
            compared += 1
    assert compared == 1808


def factors(most: int) -> list[FactorRanks]:
    """All sizes and ranks up to a size."""
    found = []
    for rows, inner, columns in product(range(1, most + 1), repeat=3):
        for left, right in product(range(min(rows, inner) + 1), range(min(inner, columns) + 1)):
            least, most = max(0, left + right - inner), min(left, right)
            found += [FactorRanks(rows, inner, columns, left, right, r) for r in range(least, most + 1)]
    return found


def strata(at: FactorRanks) -> tuple[int, int]:
    """The codimension of the factors of this product near these, and how many strata have it.

    A stratum has factors of given ranks `b`, `a`. The image of the left one contains that of the product, and the right
    one is known up to maps into the kernel of the left one, whose rank on the kernel of the product is `a - r`.
    """
    sizes = []
    for b in range(at.left, min(at.rows, at.inner) + 1):
        for a in range(at.right, min(at.columns, at.inner - b + at.product) + 1):
            r, free = at.product, a - at.product
            left = (b - r) * (at.rows - b) + at.inner * b
            right = r * (at.inner - b) + free * (at.columns - r + at.inner - b - free)
            sizes.append(left + right)
    return (at.rows + at.columns) * at.inner - max(sizes), sizes.count(max(sizes))


def test_twice_the_coefficient_is_the_codimension_of_the_fiber_and_m_counts_its_strata() -> None:
    every = factors(4)
    assert len(every) > 500
    for at in every:
        assert (int(2 * at.pair.value), at.pair.multiplicity) == strata(at), at


def test_factors_may_be_exchanged() -> None:
    for at in factors(4):
        other = FactorRanks(at.columns, at.inner, at.rows, at.right, at.left, at.product)
        assert other.pair == at.pair
        assert other.is_submersion == at.is_submersion == (at.left == at.rows or at.right == at.columns)


def test_ranks_that_no_factors_have_are_refused() -> None:
    for left, right, r in ((2, 0, 0), (0, 2, 0), (1, 1, 2), (1, 0, 1)):
        with pytest.raises(ShapeError, match="ranks must be those of two factors"):
            FactorRanks(1, 1, 1, left, right, r)
    with pytest.raises(ShapeError, match="ranks must be those of two factors"):
        FactorRanks(2, 2, 2, 2, 2, 1)


@given(PAIRS, PAIRS, PAIRS)
def test_rules(a: LocalPair, b: LocalPair, c: LocalPair) -> None:
    assert a + NOTHING == a
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a + b == b + a
    assert a * b == b * a
    assert (a * b).value <= min(a.value, b.value) <= (a + b).value
    assert (a + LocalPair.coordinates(3)).without(3) == a


def test_what_is_not_there_is_not_taken_off() -> None:
    with pytest.raises(ProgramError, match="an orbit of dimension 2"):
        LocalPair.coordinates(1).without(2)


def test_isotropic_pairs_in_small_cases() -> None:
    for columns in range(4):
        for c in range(5):  # a sum of squares of all entries
            assert isotropic_pair(c, 0, columns) == LocalPair(Fraction(c * columns, 4))
    # x^2 + y^2 - z^2 is a smooth function away from 0; xy is a product of two coordinates
    assert isotropic_pair(2, 1, 1) == LocalPair(Fraction(1, 2))
    assert isotropic_pair(1, 1, 1) == LocalPair.coordinates(1) * LocalPair.coordinates(1)
    # q k^T + k q^T is as large as q times k
    for n in range(1, 5):
        assert isotropic_pair(1, 1, n) == LocalPair.coordinates(n) * LocalPair.coordinates(n)


def test_a_gram_matrix_has_at_least_the_rank_of_its_differential() -> None:
    """Half of the rank of `M -> M^T J M`, by its matrix, is a bound that is reached where nothing is left."""
    for rows in product((-1, 0, 1), repeat=4):
        query, key = [list(rows[:2])], [list(rows[2:])]
        at = GramRanks.of(RationalMatrix.of(query), RationalMatrix.of(key))
        places = ((0, 0), (0, 1), (1, 1))
        units = ([1, 0], [0, 1])
        moves = [[v[i] * e[j] + v[j] * e[i] for i, j in places] for v in (*query, *key) for e in units]
        lower = Fraction(rank(moves), 2)
        assert at.pair.value >= lower
        nothing_left = at.stacked == 2 or 2 - 2 * at.stacked + sum(at.squares) == 0
        assert (at.pair.value == lower) == nothing_left


def test_signs_of_squares_count() -> None:
    definite, indefinite = GramRanks(2, 3, 1, Inertia(1, 0)), GramRanks(2, 3, 1, Inertia(0, 0))
    assert definite.pair == LocalPair.coordinates(3) + isotropic_pair(1, 2, 2)
    assert indefinite.pair == LocalPair.coordinates(3) + isotropic_pair(1, 1, 2)
