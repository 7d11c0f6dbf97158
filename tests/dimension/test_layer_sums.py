"""Dimensions of lightning networks with skip connections as sums over their layers."""

from __future__ import annotations

from typing import Any

import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension import layers
from lightning_sym.dimension.layers import BY_LAYERS, THEOREM_2, NetworkByLayers, heads_dimension, layers_alike

SHAPES: list[tuple[int, tuple[int, ...], int, dict[str, Any]]] = [
    (2, (1, 2), 2, {"heads": 2, "value_ranks": (2, 1)}),
    (2, (1, 1, 2), 3, {"causal": True, "embed": 3, "unembed": 2}),
    (3, (2, 1), 2, {"heads": 2, "unembed": 4}),
    (1, (1, 1), 2, {"heads": 2, "embed": 2}),
    (3, (1, 1), 2, {"heads": 3, "value_ranks": (1, 2), "causal": True}),
]


def by_sum(shape: Architecture) -> int:
    """The sum, with layers by their own Jacobians."""

    def alone(layer: Architecture) -> tuple[int, int]:
        found = certified_dimension(layer)
        return found.lower, found.upper

    lower, upper = BY_LAYERS[0].prove(NetworkByLayers(shape, alone)) or (0, -1)
    assert lower == upper
    return lower


@pytest.mark.parametrize(("d", "ranks", "tokens", "options"), SHAPES)
def test_the_sum_is_the_rank_of_the_jacobian_of_the_whole(
    d: int, ranks: tuple[int, ...], tokens: int, options: dict[str, Any]
) -> None:
    shape = Architecture((d,) * (len(ranks) + 1), ranks, tokens, skip=True, **options)
    found = certified_dimension(shape)
    assert found.layers is None
    assert found.value == by_sum(shape)


OUTSIDE = {
    "two tokens or more": Architecture((2, 2, 2), (1, 2), 1, skip=True, embed=2, unembed=2),
    "skip connections": Architecture((2, 2, 2), (2, 2), 2),
    "an embedding and an unembedding that are not narrower than the stream": Architecture(
        (2, 2, 2), (2, 1), 3, skip=True, causal=True, embed=1
    ),
}


@pytest.mark.parametrize("must", OUTSIDE)
def test_outside_of_the_hypotheses_the_sum_is_another_number(must: str) -> None:
    shape = OUTSIDE[must]
    (need,) = (need for need in THEOREM_2 if need.must == must)
    assert need.failing(NetworkByLayers(shape, lambda layer: (0, 0)))
    assert certified_dimension(shape).value != by_sum(shape)


def test_a_count_is_what_a_layer_alone_has() -> None:
    for a, b, heads in ((1, 2, 2), (2, 1, 2), (2, 2, 2), (2, None, 2), (3, None, 1), (1, 1, 1)):
        values = None if b is None else (b,)
        shape = Architecture((4, 4), (a,), 2, heads=heads, value_ranks=values)
        assert heads_dimension(shape) == certified_dimension(shape).value
    assert heads_dimension(Architecture((4, 4), (1,), 2, heads=2, value_ranks=(1,))) is None
    assert heads_dimension(Architecture((3, 3), (2,), 2, heads=2, value_ranks=(2,))) is None


def test_a_transformer_of_real_size_takes_no_jacobian() -> None:
    options: dict[str, Any] = {"skip": True, "causal": True, "embed": 50257, "unembed": 50257}
    shape = Architecture((768,) * 13, (64,) * 12, 1024, heads=12, value_ranks=(64,) * 12, **options)
    found = certified_dimension(shape)
    assert (found.value, found.layers, found.rows) == (103_736_688, 12, 0)
    assert [each.count for each in layers_alike(shape)] == [12]


def test_layers_that_are_not_counted_are_certified_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Architecture((3, 3, 3, 3), (2, 1, 2), 2, heads=2, value_ranks=(2, 2, 2), skip=True, embed=3, unembed=3)
    whole = certified_dimension(shape)
    row = BY_LAYERS[0]._replace(about=lambda asked: asked.shape.depth > 1)
    monkeypatch.setattr("lightning_sym.dimension.certify.BY_LAYERS", (row,))
    found = certified_dimension(shape)
    assert (found.layers, found.value) == (3, whole.value)
    assert layers.heads_dimension(next(layers_alike(shape)).shape) is None
