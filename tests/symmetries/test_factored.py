"""Motions of products of matrices in closed form against all of them, written down."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PRIMES, SMALL_PRIMES
from lightning_sym.symmetries.factored import EchelonForm, FreeMatrix, Product, SymmetricProduct

Residues = npt.NDArray[np.int64]


def some_matrix(rng: np.random.Generator, rows: int, columns: int, p: int) -> Residues:
    """Of full rank as a rule, or of any, also zero."""
    if rng.random() < 0.5:
        return rng.integers(0, p, size=(rows, columns))
    inner = int(rng.integers(0, 3))
    found: Residues = rng.integers(0, p, size=(rows, inner)) @ rng.integers(0, p, size=(inner, columns)) % p
    return found


def flat(matrices: Residues) -> Residues:
    return matrices.reshape(len(matrices), matrices.shape[1] * matrices.shape[2])


def products(rng: np.random.Generator, p: int) -> list[Product]:
    a, r, f = (int(n) for n in rng.integers(1, 5, size=3))
    one = Product(some_matrix(rng, a, r, p), some_matrix(rng, a, f, p), p)
    return [one, SymmetricProduct(some_matrix(rng, a, f, p), some_matrix(rng, a, f, p), p), FreeMatrix(one.matrix, p)]


@pytest.mark.parametrize("p", [PRIMES[0], SMALL_PRIMES[0], 7])
def test_motions_are_all_there_are(p: int) -> None:
    rng = np.random.default_rng(p)
    for one in (one for _ in range(60) for one in products(rng, p)):
        count = one.still(1).shape[1]
        moved = one.moved(np.eye(count, dtype=np.int64))
        rank = rank_mod_p(flat(moved), p)
        assert one.dimension == rank
        basis, kernel = one.basis(), one.kernel()
        assert len(basis) == rank == rank_mod_p(np.concatenate([flat(one.moved(basis)), flat(moved)]), p)
        assert len(kernel) == count - rank == rank_mod_p(kernel, p)
        assert not one.moved(kernel).any()


@pytest.mark.parametrize("p", [PRIMES[0], SMALL_PRIMES[0], 7])
def test_what_is_left_of_a_matrix_is_zero_just_if_it_is_a_motion(p: int) -> None:
    rng, others = np.random.default_rng(p + 1), 0
    for one in (one for _ in range(60) for one in products(rng, p)):
        moved = one.moved(np.eye(one.still(1).shape[1], dtype=np.int64))
        motions, rest = one.split(moved)
        assert not rest.any()
        assert (one.moved(motions) == moved).all()
        given = rng.integers(0, p, size=(4, *one.matrix.shape))
        given = (given + given.mT) % p if isinstance(one, SymmetricProduct) else given
        motions, rest = one.split(given)
        missed = ((given - one.moved(motions)) % p).reshape(4, -1).any(axis=1)
        assert (missed == rest.any(axis=1)).all()
        n = len(one.matrix)
        assert rest.shape[1] == (n * (n + 1) // 2 if type(one) is SymmetricProduct else one.matrix.size) - one.dimension
        others += int(missed.sum())
    assert others > 100


def test_an_echelon_form_says_how_it_is_made() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows, columns = (int(n) for n in rng.integers(1, 5, size=2))
        matrix = some_matrix(rng, rows, columns, 7)
        found = EchelonForm(matrix, 7)
        assert (found.steps @ matrix % 7 == found.form).all()
        assert (found.form[:, found.pivots] == np.eye(len(found.pivots))).all()
        assert not (found.relations @ matrix % 7).any()
        assert len(found.form) == rank_mod_p(matrix, 7) == rows - len(found.relations)
        assert found.is_full == (len(found.form) == min(rows, columns))
        assert sorted([*found.pivots, *found.free]) == list(range(columns))
