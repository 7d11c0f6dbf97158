"""Multiples of equations that are called independent are, and there are as many as their rank modulo the prime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lightning_sym import Architecture
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.limits import DEFAULT_MEMORY
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.varieties.by_degree import Ideal
from lightning_sym.varieties.coordinates import coordinate_system

P = PRIMES[0]


@pytest.mark.parametrize("seed", range(20))
def test_any_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse and dense rows, repeated ones, their sums, and rows that are zero modulo the prime."""
    generator = np.random.default_rng(seed)
    width = int(generator.integers(1, 40))
    rows = generator.integers(-3, 4, (int(generator.integers(1, 40)), width)) * generator.integers(0, 2, width)
    sparse = rows * (generator.random(rows.shape) < 0.1)
    blocks = [P * rows, sparse, rows[::2], rows, sparse + np.roll(sparse, 1, axis=0), P * rows[:1] + sparse[:1]]

    def multiples(self: Ideal, code: int, monomials: Any) -> Iterator[npt.NDArray[Any]]:
        yield from blocks

    monkeypatch.setattr(Ideal, "_multiples", multiples)
    ideal = Ideal(coordinate_system(Architecture((2, 1), (1,), 1)), 0, DEFAULT_MEMORY, lambda *_: None)
    whole = rank_mod_p(np.concatenate(blocks), P)
    # all columns are free: a larger space than the rows may span
    monomials = np.zeros((width, 1), dtype=np.int64)
    first, last = ideal._with_different_last(0, monomials, P)
    assert len(first) == rank_mod_p(first, P) == last.sum()
    basis = ideal._row_basis(0, monomials, first, last, np.arange(width), P)
    assert len(basis) == rank_mod_p(basis, P) == whole


@pytest.mark.parametrize(("widths", "ranks"), [((2, 2), (2,)), ((3, 1), (1,)), ((3, 1), (3,))], ids=str)
def test_known_equations_are_independent(widths: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    ideal = Ideal(coordinate_system(Architecture(widths, ranks, 2)), 0, DEFAULT_MEMORY, lambda *_: None)
    for _ in range(3):
        ideal.advance(ideal.plan())
    for pieces in ideal.pieces[2:]:
        for piece in pieces.values():
            assert piece.is_exact
            assert rank_mod_p(piece.equations, P) == len(piece.equations)
