"""Moves of the weights keep the function: changes of basis, rescalings, the exchange."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_networks import ONE, coefficients, invertible, output

from lightning_sym import (
    Architecture,
    Weights,
)
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.same_function import Answer, same_function
from lightning_sym.fibers.transform import change_basis, rescale, swap, transform

shapes = st.builds(
    lambda widths, ranks, tokens: Architecture(tuple(widths), tuple(ranks[: len(widths) - 1]), tokens),
    st.lists(st.integers(1, 3), min_size=2, max_size=4),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.integers(1, 3),
)


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(0, 10**6))
def test_transform_keeps_the_function(shape: Architecture, seed: int) -> None:
    weights = Weights.random(shape, seed=seed, bound=3, denominator=3)
    changed = transform(
        weights,
        query_key={i: invertible(a, seed + i) for i, a in enumerate(shape.attention_ranks, start=1)},
        between={i: invertible(d, seed - i if seed > i else i) for i, d in enumerate(shape.widths[1:-1], start=1)},
        scales={i: Fraction(i + 1, 3) for i in range(1, shape.depth + 1)},
    )
    x = np.random.default_rng(seed).integers(-5, 6, size=(shape.widths[0], shape.tokens))
    assert (output(weights, x) == output(changed, x)).all()
    if shape.depth == 1:
        assert coefficients(weights) == coefficients(changed)
    found = same_function(weights, changed, shape.tokens)
    assert found.answer is Answer.SAME
    if found.connection is not None and found.connection.query_key is not None:
        group = found.connection
        again = transform(weights, query_key=group.query_key, between=group.between, scales=group.scales)
        assert again == changed


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 10**6))
def test_swap_keeps_the_function_of_one_layer(d: int, d_out: int, a: int, seed: int) -> None:
    shape = Architecture((d, d_out), (a,), 2)
    weights = Weights.random(shape, seed=seed, attention_matrix_ranks=[1], value_ranks=[1])
    assert coefficients(swap(weights)) == coefficients(weights)
    assert same_function(weights, swap(weights)).answer is Answer.SAME


@pytest.mark.parametrize("layer", [1, 2, None])
def test_swap_in_deep_networks(layer: int | None) -> None:
    shape = Architecture((2, 3, 2), (2, 2), 2)
    weights = Weights.random(shape, seed=5, attention_matrix_ranks=[1, 1], value_ranks=[1, 1])
    assert coefficients(swap(weights, layer=layer)) == coefficients(weights)


def test_swap_pulls_back_through_the_layers_before() -> None:
    """The virtual weights have rank one though the last layer's own matrices do not."""
    weights = Weights.of(
        {"Q1": ONE, "K1": [[1, 1], [0, 1]], "V1": [[1, 2], [0, 0]], "Q2": ONE, "K2": ONE, "V2": [[1, 0], [0, 3]]}
    )
    assert rank(weights["V2"]) == 2
    changed = swap(weights)
    assert coefficients(changed) == coefficients(weights)
    assert rank(changed["V2"]) == 1


def test_bad_moves() -> None:
    weights = Weights.random(Architecture((2, 2, 2), (2, 2), 2), seed=3, value_ranks=[2, 2])
    moves: list[Callable[[], object]] = [
        lambda: rescale(weights, layer=1, by=0),
        lambda: rescale(weights, layer=3, by=2),
        lambda: change_basis(weights, query_key={1: [[1, 2], [2, 4]]}),
        lambda: change_basis(weights, between={2: ONE}),
        lambda: swap(weights),
        lambda: swap(weights, layer=1),
        lambda: swap(weights, layer=7),
    ]
    for move in moves:
        with pytest.raises(BadInput) as caught:
            move()
        assert "\n" not in str(caught.value)
    with pytest.raises(ShapeError):
        change_basis(weights, query_key={1: [[1]]})
