"""The components of a fiber: how many, of which dimension, and whether they are all."""

from __future__ import annotations

import numpy as np
import pytest
from virtual_networks import ONE, SUM, E, F, J, M, R, is_same_by_coefficients, network

from lightning_sym import Architecture, Fiber, VirtualWeights, Weights
from lightning_sym.fibers.fiber import fiber


def known(found: Fiber) -> VirtualWeights:
    assert found.virtual is not None
    return found.virtual


RANKS = [
    (d, d_out, r, s) for d, d_out in ((2, 1), (2, 2), (3, 2)) for r in range(d + 1) for s in range(min(d, d_out) + 1)
]


@pytest.mark.parametrize(("d", "d_out", "rk_a", "rk_v"), RANKS)
def test_one_layer_every_pair_of_ranks(d: int, d_out: int, rk_a: int, rk_v: int) -> None:
    shape = Architecture((d, d_out), (d,), 2)
    weights = Weights.random(shape, seed=1, attention_matrix_ranks=[rk_a], value_ranks=[rk_v])
    found = fiber(weights)
    assert found.complete
    if rk_a == 0 or rk_v == 0:
        assert found.source == "Theorem 3.2, case 2"
        assert [c.dimension for c in found.components] == [d * d, d * d_out]
    elif rk_a == rk_v == 1:
        assert found.source == "Theorem 3.2, case 1"
        assert len(found.components) == 2
    else:
        assert found.source == "Theorem 3.2, case 3"
        assert len(found.components) == found.known_dimension == 1
    assert all(is_same_by_coefficients(known(found), c.virtual) for c in found.components)
    assert found.bounds is not None
    assert found.bounds[0] <= found.bounds[1]


def test_one_component_where_the_exchange_changes_nothing() -> None:
    h, q, v = [1, 2], [3, -1], [1, 1]
    assert len(fiber(network(np.outer(h, q), value=np.outer(v, h))).components) == 1


def test_generic_dimension_in_all_weights() -> None:
    """One rescaling and GL_a: nothing else at a generic point."""
    weights = Weights.random(Architecture((3, 2), (2,), 2), seed=0)
    assert fiber(weights).dimension == 1 + 2 * 2


def test_no_dimension_is_made_up() -> None:
    shape = Architecture((3, 3, 2), (3, 3), 1)  # one token, two layers: no theorem says what the whole fiber is
    found = fiber(Weights.random(shape, seed=0, attention_matrix_ranks=[1, 2]), 1)
    assert found.dimension is None
    assert found.bounds is not None
    assert found.bounds[0] < found.bounds[1]
    assert f"at least {found.bounds[0]} and at most {found.bounds[1]} in (Q, K, V)" in str(found)
    wide = Weights.random(Architecture((30, 30, 30), (30, 30), 1), seed=0)
    assert "not computed in (Q, K, V)" in str(fiber(wide, 1))


def test_a_theorem_gives_the_dimension_of_large_networks() -> None:
    """One rescaling and GL_a, also where there are too many parameters for ranks."""
    found = fiber(Weights.random(Architecture((30, 30), (30,), 2), seed=0))
    assert found.dimension == 1 + 30 * 30
    assert found.near is not None
    assert found.near.shown_by == "all ranks are full"


@pytest.mark.parametrize("widths", [(3, 3), (3, 3, 3), (2, 3, 3), (3, 4, 3), (2, 2, 2, 2)])
def test_theorem_and_ranks_agree(widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    weights = Weights.random(Architecture(widths, (2,) * (len(widths) - 1), 2), seed=1)
    monkeypatch.setattr("lightning_sym.fibers.plain_fiber._dimension_by_theorem", lambda *_: None)
    by_ranks = fiber(weights).bounds
    monkeypatch.undo()
    monkeypatch.setattr("lightning_sym.fibers.local_dimension.PARAMETER_LIMIT", 0)
    by_theorem = fiber(weights)
    assert by_ranks is not None
    assert by_theorem.dimension is not None
    assert by_ranks[0] <= by_theorem.dimension <= by_ranks[1]
    if set(widths) == {3}:
        assert by_ranks == by_theorem.bounds


@pytest.mark.parametrize(
    ("form", "row", "components", "irrational"),
    [
        ([[0, 1], [0, 0]], [1, 1], 3, 0),  # x y (x + y): three ways
        ([[0, 1], [0, 0]], [1, 0], 2, 0),  # x y x
        ([[1, 0], [0, 0]], [0, 1], 2, 0),  # x x y
        ([[1, 0], [0, 0]], [1, 0], 1, 0),  # x^3
        ([[1, 0], [0, 1]], [1, 0], 1, 0),  # x^2 + y^2 is irreducible over the reals
        ([[1, 0], [0, -2]], [1, 0], 3, 2),  # x^2 - 2 y^2 splits over the reals only
        ([[1, 5], [-5, -4]], [1, 0], 3, 0),  # (x - 2 y)(x + 2 y), and a skew part
    ],
)
def test_one_token(form: list[list[int]], row: list[int], components: int, irrational: int) -> None:
    found = fiber(network(form, value=[row]), tokens=1)
    assert found.complete
    assert [c.dimension for c in found.components] == [2] * components
    points = [c.virtual for c in found.components if c.virtual is not None]
    assert components - len(points) == irrational
    assert all(is_same_by_coefficients(known(found), point, tokens=1) for point in points)


def test_one_token_with_two_value_rows() -> None:
    assert len(fiber(network([[0, 1], [0, 0]], value=ONE), tokens=1).components) == 1


def test_deep_fibers() -> None:
    m = [[1, 2], [3, 4]]
    applies = fiber(network(m, [[1, 1], [0, 1]], value=[[1, 2]]))
    assert (applies.complete, applies.source, applies.known_dimension) == (True, "Theorem 3.7", 2)
    last = fiber(network(m, [[1, 1], [1, 1]], value=[[1, 2]]))
    assert last.complete
    assert len(last.components) == 2
    assert all(is_same_by_coefficients(known(last), c.virtual) for c in last.components)
    skew = fiber(network(m, J, value=[[1, 2]]))
    assert not skew.complete
    assert "A~2 is skew-symmetric" in skew.tried[0].why
    assert "Theorem" not in skew.reason
    first = fiber(network([[1, 2], [2, 4]], m, value=[[1, 2]]))
    assert not first.complete
    assert first.known_dimension == 2 + 1
    assert not fiber(network(m, m, value=[[1, 2]]), tokens=1).complete
    narrow = fiber(network([[2]], [[3]], value=[[5]]), tokens=1)
    assert (narrow.complete, narrow.known_dimension) == (True, 2)
    zero = fiber(network([[1, 2], [2, 4]], J, value=[[1, 2]]))
    assert zero.complete
    assert all(is_same_by_coefficients(known(zero), c.virtual) for c in zero.components)


def test_two_small_layers_are_complete_over_the_rationals() -> None:
    found = fiber(network(E, F, value=SUM))
    assert (found.complete, found.complete_over, len(found.components)) == (False, "Q", 2)
    assert all(is_same_by_coefficients(known(found), c.virtual) for c in found.components)
    assert len(fiber(network(E, F, value=SUM), tokens=3).components) == 1
    wide = Weights.random(Architecture((5, 5, 1), (5, 5), 2), seed=0, attention_matrix_ranks=[1, 3])
    assert fiber(wide).complete_over is None
    assert fiber(network(M, J, M, value=[R])).complete_over is None
    assert fiber(network(M, M, value=[R]), tokens=1).complete_over is None
