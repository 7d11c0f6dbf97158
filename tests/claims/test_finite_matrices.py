"""Matrices over finite fields by their numbers, against plain definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lightning_sym.exact.modular import rank_mod_p
from proofs_check.claims.deep.theorem_3_7 import exhaustive as theorem_3_7_exhaustive
from proofs_check.claims.geometry.orbits import orbits, pairs, triples
from proofs_check.claims.one_layer.theorem_3_2_weights import numbered
from proofs_check.finite_matrices import every_matrix, numbers


@pytest.mark.parametrize(("p", "rows", "columns"), [(2, 2, 3), (3, 2, 2), (5, 1, 3), (7, 2, 1)])
def test_every_matrix_stands_where_its_number_says(p: int, rows: int, columns: int) -> None:
    every = every_matrix(rows, columns, p)
    assert len({tuple(m.ravel().tolist()) for m in every}) == len(every) == p ** (rows * columns)
    shifted = every + p * np.random.default_rng(0).integers(-3, 4, size=every.shape)
    assert numbers([shifted], p).tolist() == list(range(len(every)))
    assert numbers([every, every[1:2]], p).tolist() == list(range(len(every), 2 * len(every)))


@pytest.mark.parametrize("d_out", [1, 2])
def test_weights_of_two_layers_stand_in_the_order_of_their_numbers(d_out: int) -> None:
    every = theorem_3_7_exhaustive.all_weights(d_out)
    assert np.array_equal(every.numbers(), np.arange(len(every.first)))
    shifted = type(every)(every.first - 3, every.second[:1] + 6, every.value)
    assert np.array_equal(shifted.numbers(), every._replace(second=0 * every.second).numbers())


@pytest.mark.parametrize("instance", [(2, 2, 1), (3, 2, 1), (2, 2, 2)])
def test_orbits_are_those_of_the_whole_group(instance: tuple[int, int, int]) -> None:
    """Element by element: every invertible g, h, k moves every pair, and the least number that is reached is known."""
    p, d, d_out = instance
    ((attention, value),) = pairs(*instance, block=p ** (d * d + d_out * d))
    groups = [[m for m in every_matrix(n, n, p) if rank_mod_p(m, p) == n] for n in (d, d, d_out)]
    moves = (numbers([g @ attention @ h, k @ value @ g.T], p) for g, h, k in product(*groups))
    assert orbits(*instance).tolist() == np.min(list(moves), axis=0).tolist()


def test_pairs_come_in_blocks_in_the_order_of_their_numbers() -> None:
    blocks = list(pairs(3, 2, 1, block=100))
    assert [len(a) for a, _ in blocks] == [100] * 7 + [29]
    assert np.concatenate([numbers([a, v], 3) for a, v in blocks]).tolist() == list(range(729))
    attention, value = blocks[5]
    for a, v, found in zip(attention, value, triples(attention, value, 3), strict=True):
        rank_a, rank_v, both = (rank_mod_p(m, 3) for m in (a, v, np.concatenate([a.T, v])))
        assert found.tolist() == [rank_a, rank_v, rank_a + rank_v - both]


@pytest.mark.parametrize(("count", "columns", "p"), [(500, 3, 3), (2000, 70, 2), (2000, 40, 7), (300, 5, 1), (0, 4, 3)])
def test_equal_rows_get_equal_numbers(count: int, columns: int, p: int) -> None:
    rows = np.random.default_rng(p).integers(0, p, size=(count, columns))
    rows[::3], rows[1::5] = rows[:1], rows[4:5]
    assert numbered(rows).tolist() == np.unique(rows, axis=0, return_inverse=True)[1].ravel().tolist()
