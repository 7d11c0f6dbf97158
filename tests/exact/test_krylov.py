"""Ranks by Krylov sequences: never above the rank, and nearly always the rank."""

from __future__ import annotations

import numpy as np
import pytest

from lightning_sym.errors import ShapeError
from lightning_sym.exact.krylov import LARGEST, _most_invertible_hankel, rank_at_least
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import MORE_PRIMES, PRIMES, PrimeFieldMatrix, random_residues


def some_matrix(rng: np.random.Generator, kind: str, p: int, largest: int) -> PrimeFieldMatrix:
    rows, columns = (int(n) for n in rng.integers(1, largest, size=2))
    if kind == "of a rank":
        rank = int(rng.integers(0, min(rows, columns) + 1))
        return random_residues(rng, (rows, rank), p) @ random_residues(rng, (rank, columns), p)
    if kind == "nilpotent":
        return PrimeFieldMatrix(np.triu(rng.integers(-1, 2, size=(rows, columns)), 1).astype(np.float64), p)
    if kind == "sparse":
        entries = random_residues(rng, (rows, columns), p).entries
        return PrimeFieldMatrix(np.where(rng.random((rows, columns)) < 0.1, entries, 0.0), p)
    return PrimeFieldMatrix(np.zeros((rows, columns)), p)


@pytest.mark.parametrize("kind", ["of a rank", "nilpotent", "sparse", "zero"])
@pytest.mark.parametrize("p", [PRIMES[0], PRIMES[-1], MORE_PRIMES[-1]])
def test_rank_of_any_matrix(kind: str, p: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        matrix, most = some_matrix(rng, kind, p, 45), int(rng.integers(0, 50))
        rank = rank_mod_p(matrix.entries, p)
        assert rank_at_least(matrix) == rank
        assert rank_at_least(matrix, most) == min(rank, most)


def test_rank_of_large_matrices() -> None:
    rng, p = np.random.default_rng(2), PRIMES[1]
    for rank in (1, 60, LARGEST):
        matrix = random_residues(rng, (LARGEST + 16, rank), p) @ random_residues(rng, (rank, LARGEST + 40), p)
        assert rank_at_least(matrix, LARGEST) == rank


def test_the_largest_invertible_hankel_matrix_modulo_a_prime_so_small_that_most_are_not() -> None:
    rng, p = np.random.default_rng(3), 3
    for _ in range(600):
        n = int(rng.integers(1, 7))
        sequence = rng.integers(0, p, size=2 * n - 1)
        hankel = [np.array([sequence[i : i + m] for i in range(m)]) for m in range(1, n + 1)]
        expected = max([m for m, h in enumerate(hankel, start=1) if rank_mod_p(h, p) == m], default=0)
        assert _most_invertible_hankel(sequence.tolist(), n, p) == expected


def test_it_is_a_bound_whatever_the_random_numbers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, p = np.random.default_rng(4), PRIMES[0]
    few = [random_residues(rng, (20, 18), p) @ random_residues(rng, (18, 25), p) for _ in range(10)]
    for numbers in (np.zeros(2**12), np.ones(2**12), np.repeat([0.0, 1.0], 2**11), rng.integers(0, 2, 2**12) * 1.0):
        monkeypatch.setattr("lightning_sym.exact.krylov._random_numbers", lambda power, numbers=numbers: numbers)
        assert all(rank_at_least(matrix) <= 18 for matrix in few)
        assert numbers.any() or not any(map(rank_at_least, few))


def test_a_batch_is_refused() -> None:
    with pytest.raises(ShapeError, match="two axes"):
        rank_at_least(PrimeFieldMatrix(np.zeros((2, 2, 2)), PRIMES[0]))
