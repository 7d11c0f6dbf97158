"""Neurons of large layers are matched by sketches, and where these do not decide, as they are."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints import matching
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint

SIZES = (300, 40)


def layer(random: np.random.Generator, gated: bool) -> Any:
    """Return a layer with copies of a neuron, and neurons that do nothing, or read nothing."""
    m, d = SIZES
    read = {name: random.standard_normal((m, d)) for name in ("up", "gate")}
    down, bias = random.standard_normal((d, m)), random.standard_normal(m)
    for array in (read["up"], read["gate"], down.T, bias):
        array[20:24] = array[19]
    down[:, 5:9] = 0
    read["up"][30] = 0
    gate = read["gate"] if gated else None
    return SimpleNamespace(up=read["up"], up_bias=bias, down=down, gate=gate, gate_bias=bias)


def permuted(x: Any, order: Any, by: Any, noise: Any) -> Any:
    gate = None if x.gate is None else x.gate[order] * noise()
    up, down = x.up[order] * by[:, None] * noise(), x.down[:, order] / by * noise().T
    return SimpleNamespace(up=up, up_bias=x.up_bias[order] * by, down=down, gate=gate, gate_bias=x.gate_bias[order])


class Parts:
    """Neurons of a layer, a hundred at a time."""

    def __init__(self, layer: Any) -> None:
        self.layer, self.count = layer, len(layer.up)

    def neurons(self) -> Iterator[Any]:
        for start in range(0, self.count, 100):
            yield self.some_neurons(np.arange(start, min(start + 100, self.count)))

    def router(self) -> Any:
        raise AssertionError("there are no experts")

    def some_neurons(self, places: Any) -> Any:
        return permuted(self.layer, places, np.ones(len(places)), lambda: np.ones((1, 1)))


def in_parts(layer: Any) -> Any:
    return Parts(layer)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1e-2])
def test_sketches_find_the_order_that_all_pairs_find(monkeypatch: pytest.MonkeyPatch, gated: bool, size: float) -> None:
    random = np.random.default_rng(7)
    one = layer(random, gated)
    order = random.permutation(SIZES[0])
    by = np.exp(random.standard_normal(SIZES[0])) if gated else np.ones(SIZES[0])
    two = permuted(one, order, by, lambda: 1 + size * random.standard_normal(SIZES))
    monkeypatch.setattr(matching, "PAIRS", 0)
    found = matching.match_neurons(in_parts(one), in_parts(two), scaled=gated)
    assert len(np.unique(found)) == SIZES[0]
    decided = np.ones(SIZES[0], dtype=bool)
    decided[[5, 6, 7, 8, 19, 20, 21, 22, 23]] = False  # copies, and what does nothing
    assert (found == order)[decided[order]].all()
    assert {*found[np.isin(order, range(19, 24))]} == {*range(19, 24)}


def test_only_what_sketches_leave_open_is_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    random, sizes = np.random.default_rng(3), list[tuple[int, ...]]()
    one, order, inner = layer(random, gated=True), random.permutation(SIZES[0]), matching.assigned
    two = permuted(one, order, np.ones(SIZES[0]), lambda: np.ones(SIZES))
    monkeypatch.setattr(matching, "PAIRS", 0)

    def assigned(cost: Any) -> Any:
        sizes.append(cost.shape)
        return inner(cost)

    monkeypatch.setattr(matching, "assigned", assigned)
    matching.match_neurons(in_parts(one), in_parts(two), scaled=True)
    assert len(sizes) == 1
    assert 0 < sizes[0][0] == sizes[0][1] < 20


@pytest.mark.parametrize("family", FAMILIES)
def test_a_comparison_by_sketches_gives_the_same_answers(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    monkeypatch.setattr(matching, "PAIRS", 0)
    one = small_checkpoint(family, seed=3, layers=1, stored="F64")
    assert same_checkpoints(one, apply(random_symmetry(one, seed=3), one)).answer is CheckpointAnswer.SAME


@pytest.mark.parametrize("seed", range(40))
def test_a_few_are_matched_as_well_as_the_package_matches_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    rows, columns = sorted(random.integers(1, matching.FEW + 1, 2))[::-1]
    cost = random.integers(0, 4, (rows, columns)).astype(float)
    few = matching.assigned(cost)
    monkeypatch.setattr(matching, "FEW", 0)
    by_package = matching.assigned(cost)
    assert len(set(few.tolist())) == columns
    places = np.arange(columns)
    assert cost[few, places].sum() == cost[by_package, places].sum()
