"""Two networks of one function, and the symmetry that leads from one to the other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from virtual_networks import PP, RR, SKEW, J, M, P, Q, R, coefficients, invertible, is_same_by_coefficients, network

from lightning_sym import (
    Architecture,
    Weights,
    virtual_weights,
)
from lightning_sym.fibers.fiber import fiber
from lightning_sym.fibers.same_function import Answer, same_function
from lightning_sym.fibers.transform import swap, transform
from lightning_sym.fibers.virtual_moves import known_partners, same_orbit


def test_same_by_equal_virtual_weights_of_other_shapes() -> None:
    wide = Weights.of({"Q1": [[1, 2], [0, 0], [0, 0]], "K1": [[3, 1], [1, 1], [0, 2]], "V1": [[1, 1]]})
    thin = Weights.of({"Q1": [[2, 4]], "K1": [[3, 1]], "V1": [[0.5, 0.5]]})
    found = same_function(wide, thin)
    assert found.answer is Answer.SAME
    assert found.connection is not None
    assert found.connection.factors == (Fraction(2),)
    assert found.connection.query_key is None


def test_symmetric_parts_behind_rank_one() -> None:
    one = network([[1, 1], [1, 1]], [[1, 2], [3, 4]], value=[[1, 2]])
    other = network([[1, 1], [1, 1]], [[1, 0], [5, 4]], value=[[1, 2]])
    found = same_function(one, other)
    assert found.reason == "symmetry"
    assert found.connection is not None
    assert found.connection.symmetric_parts
    assert coefficients(one) == coefficients(other)


MOVABLE = {
    "Theorem 3.2": (network(np.outer(P, Q), value=[R]), 2),
    "Theorem 3.2, last layer": (network(M, np.outer(P, Q), value=[R]), 2),
    "squares": (network(np.outer(P, Q), RR + SKEW, value=np.outer([2, 5], R)), 2),
    "squares, three layers": (network(np.outer(P, Q), RR + SKEW, 3 * RR, value=[R]), 2),
    "squares, behind a layer": (network(M, np.outer(P, Q), RR - SKEW, value=[R]), 2),
    "skew": (network(M, 2 * np.array(J), value=[R]), 2),
    "skew, back": (network(3 * np.array(J), [[-2, -4], [-6, -8]], value=[R]), 2),
    "skew, three layers": (network(M, J, [[1, 1], [0, 1]], value=[R]), 3),
    "skew, last": (network([[1, 1], [0, 1]], M, J, value=[R]), 3),
    "linear factors": (network(np.outer(P, Q), [[0, 1], [0, 0]], value=[R]), 3),
    "both": (network(np.outer(P, Q), np.outer(P, R), value=[R]), 2),
}


@pytest.mark.parametrize("name", MOVABLE)
def test_moves_keep_the_function(name: str) -> None:
    weights, orbits = MOVABLE[name]
    virtual = virtual_weights(weights.layers)
    paths = list(known_partners(virtual, 2))
    assert len(paths) >= 2
    for path in paths[1:]:
        assert is_same_by_coefficients(virtual, path[-1][1])
        assert not same_orbit(virtual, path[-1][1], 2)
        found = same_function(weights, network(*path[-1][1].attention, value=path[-1][1].value), memory=0)
        assert found.reason == "symmetry"
        assert found.connection is not None
        assert found.connection.moves
        assert len(found.connection.moves) <= len(path)
    described = fiber(weights)
    assert [len(described.components), described.complete_over is None] == [orbits, weights.architecture(2).depth == 3]


@pytest.mark.parametrize(
    ("attention_ranks", "value_ranks", "layer"),
    [([1, 2], [1, 2], 1), ([1, 1], [1, 1], 1), ([2, 1], [6, 1], 2), ([2, 1], [6, 1], None)],
)
def test_the_moves_of_the_library_are_found(
    attention_ranks: list[int], value_ranks: list[int], layer: int | None
) -> None:
    """No room for the coefficients: it must be a symmetry, with weights that a reader can apply."""
    shape = Architecture((6, 6, 2), (3, 3), 3)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=attention_ranks, value_ranks=value_ranks)
    swapped = swap(weights, layer=layer)
    found = same_function(weights, swapped, tokens=3)
    assert (found.answer, found.reason) == (Answer.SAME, "symmetry")
    group = found.connection
    assert group is not None
    assert [move.name for move in group.moves] == ["exchange"]
    assert group.moved is not None
    assert group.query_key is not None
    again = transform(group.moved, query_key=group.query_key, between=group.between, scales=group.scales)
    assert again == swapped


def test_swap_then_transform_is_mapped_by_matrices() -> None:
    shape = Architecture((3, 3, 2), (2, 2), 2)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=[2, 1], value_ranks=[3, 1])
    other = transform(swap(weights), query_key={1: M, 2: M}, between={1: invertible(3, 7)}, scales={1: 3, 2: 5})
    group = same_function(weights, other).connection
    assert group is not None
    assert group.moved is not None
    assert group.query_key is not None
    assert transform(group.moved, query_key=group.query_key, between=group.between, scales=group.scales) == other


def test_moved_weights_have_the_skew_parts_of_the_second() -> None:
    one = network(np.outer(P, Q), RR + SKEW, value=[R])
    other = network(np.outer(R, Q), PP - 3 * np.array(SKEW), value=[P])
    group = same_function(one, other).connection
    assert group is not None
    assert group.symmetric_parts
    assert group.moved is not None
    assert coefficients(group.moved) == coefficients(one)
    changed, target = virtual_weights(group.moved.layers), virtual_weights(other.layers)
    for factor, a, b in zip(group.factors, changed.attention, target.attention, strict=True):
        assert (factor * a == b).all()
    assert (group.value_factor * changed.value == target.value).all()
