"""Reduced echelon forms: elimination over the integers and residues give one answer, which is checked by products."""

from __future__ import annotations

import numpy as np
import pytest

from lightning_sym.exact.rational import _by_elimination, _by_residues, columns_of, row_echelon
from lightning_sym.exact.subspaces import left_factor
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rationals import RationalMatrix

SHAPES = [(1, 1), (2, 5), (5, 2), (4, 4), (6, 30), (3, 60), (12, 13), (30, 6), (3, 0), (0, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bits", [2, 40])
def test_both_roads_give_the_one_reduced_form(shape: tuple[int, int], bits: int) -> None:
    generator = np.random.default_rng([*shape, bits])
    for most in (0, 1, 2, max(shape)):
        left, right = (generator.integers(-(2**bits), 2**bits, size=s) for s in ((shape[0], most), (most, shape[1])))
        matrix = RationalMatrix.of(left.astype(object).reshape(shape[0], most)) @ RationalMatrix.of(
            right.astype(object)
        )
        found, plain = row_echelon(matrix), _by_elimination(matrix)
        assert found == plain
        if (guessed := _by_residues(matrix)) is not None:
            assert guessed == plain
        assert len(found.pivots) == matrix.rank()
        assert columns_of(found.rows, found.pivots) == RationalMatrix.identity(len(found.pivots))
        assert columns_of(matrix, found.pivots) @ found.rows == matrix


@pytest.mark.parametrize("times", [1, PRIMES[0]])
def test_the_one_left_factor_is_found_where_a_prime_divides_every_minor_too(times: int) -> None:
    generator = np.random.default_rng(1)
    known = RationalMatrix.of(generator.integers(-9, 10, size=(3, 5))).scaled(times)
    factor = RationalMatrix.of(generator.integers(-9, 10, size=(2, 3)))
    assert left_factor(known, factor @ known) == factor
    assert left_factor(known, RationalMatrix.of([[1, 0, 0, 0, 0]])) is None, "not in the row space"
    twice = known.above(known.rows([0]))
    assert left_factor(twice, twice) is None, "there is more than one"
