"""Ranks of rational matrices modulo as many primes as prove them, against flint's elimination over the integers."""

import random
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_mat

from lightning_sym.rings import rationals
from lightning_sym.rings.rationals import RationalMatrix


@pytest.mark.parametrize("seed", range(3))
def test_ranks_agree_with_elimination(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(60):
        rows, columns, inner = source.randint(9, 18), source.randint(9, 18), source.randint(0, 10)
        bound = 2 ** source.choice([1, 3, 40, 200])
        factors = [
            fmpq_mat(m, n, [fmpq(source.randint(-bound, bound), source.choice([1, 3, 64])) for _ in range(m * n)])
            for m, n in ((rows, inner), (inner, columns))
        ]
        matrix = RationalMatrix(factors[0] * factors[1])
        known = int(matrix.flint.rank())
        assert matrix.rank() == known
        assert [matrix.rank(most) for most in (0, 2, inner, 99)] == [min(known, m) for m in (0, 2, inner, 99)]


def test_a_prime_that_divides_every_minor_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the unit matrix times the first three primes: their ranks are zero, and prove nothing."""
    primes = [rationals._large_prime(i) for i in range(3)]
    product = primes[0] * primes[1] * primes[2]
    matrix = RationalMatrix.of([[Fraction(product * (i == j)) for j in range(10)] for i in range(10)])
    assert matrix.rank() == 10
    monkeypatch.setattr(rationals, "_PRIME_BITS", 10**6)  # one prime would be enough
    assert matrix.rank() == 0
