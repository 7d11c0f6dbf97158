"""Machine numbers modulo many primes, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from lightning_sym.errors import BadInput
from lightning_sym.rings.limbs import BITS, Limbs
from lightning_sym.rings.prime_field import MORE_PRIMES

_SOURCE = np.random.default_rng(5)

MATRICES = {
    "float32": _SOURCE.standard_normal((4, 5)).astype(np.float32),
    "float64": _SOURCE.standard_normal((3, 2)) * 10.0 ** _SOURCE.integers(-40, 40, (3, 2)),
    "float16": _SOURCE.standard_normal((3, 3)).astype(np.float16),
    "smallest and largest": np.array([[5e-324, -1.7976931348623157e308, 0.0]]),
    "subnormal": np.array([[5e-324, 3e-320]]),
    "int64": np.array([[-(2**63), 2**63 - 1, 0, 7]]),
    "uint64": np.array([[2**64 - 1, 1]], dtype=np.uint64),
    "even": np.array([[4, -8]], dtype=np.int8),
    "zero": np.zeros((2, 2)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_limbs_are_the_matrix(name: str) -> None:
    matrix = MATRICES[name]
    limbs = Limbs.of(matrix)
    exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
    found = [[Fraction(0)] * matrix.shape[1] for _ in exact]
    for piece, power in limbs.pieces:
        assert np.abs(piece).max() < 2**BITS
        for i, j in np.ndindex(*matrix.shape):
            found[i][j] += Fraction(float(piece[i, j])) * Fraction(2) ** power
    assert found == exact
    integers = [x / Fraction(2) ** limbs.power for row in exact for x in row]
    assert all(x.denominator == 1 and abs(x) < limbs.bound for x in integers)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("p", [MORE_PRIMES[0], MORE_PRIMES[-1]])
def test_residues_are_those_of_the_numbers(name: str, p: int) -> None:
    matrix = MATRICES[name]
    exact = [[int(x.numerator) * pow(x.denominator, -1, p) % p for x in map(Fraction, row)] for row in matrix.tolist()]
    found = Limbs.of(matrix).residues(p)
    assert np.abs(found).max() <= p // 2 + 1
    assert np.mod(found, p).astype(int).tolist() == exact


def test_what_would_be_rounded_is_refused() -> None:
    for matrix in (np.array([[Fraction(1, 3)]], dtype=object), np.array([[1j]])):
        with pytest.raises(BadInput, match=r"^residues must be those of machine numbers, got an array of"):
            Limbs.of(matrix)
