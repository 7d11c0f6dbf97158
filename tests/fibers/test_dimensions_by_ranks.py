"""Dimensions in (Q, K, V) from ranks of factors, Propositions 7 and 8, against Jacobians and local rings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_plain_differential import drawn, generic_rank

from lightning_sym import Architecture, Weights, fiber, virtual_weights
from lightning_sym.fibers import plain_differential
from lightning_sym.fibers.chain_ranks import Chain
from lightning_sym.fibers.local_dimension import LocalDimension, local_dimension
from lightning_sym.fibers.plain_differential import dimension_at_one_token, dimension_by_differential
from lightning_sym.fibers.plain_fiber import virtual_fiber
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.limits import Work

LOCAL_RINGS: list[tuple[dict[str, Any], int, int]] = [
    ({"Q1": [[1, 1]], "K1": [[-1, -1]], "V1": [[-1, 0], [-1, 0]]}, 1, 2),
    ({"Q1": [[1, 0, -1]], "K1": [[1, 0, -1]], "V1": [[1, 1, 1]]}, 1, 2),
    ({"Q1": [[0, -2], [0, 2]], "K1": [[0, -2], [0, 2]], "V1": [[1, -2], [-1, 2]]}, 1, 6),
    ({"Q1": [[0, 0], [0, 1]], "K1": [[0, 0], [-1, -1]], "V1": [[1, 0], [0, -1], [-1, 0]]}, 2, 5),
    ({"Q1": [[0, 1]], "K1": [[0, 1]], "V1": [[0, -1]]}, 2, 2),
    (
        {"Q1": [[-1, 0]], "K1": [[1, -1]], "V1": [[0, -1], [1, -1]], "Q2": [[-1, 1], [1, -1]],
         "K2": [[-1, 1], [1, -1]], "V2": [[-1, -1]]},
        2,
        11,
    ),
    (
        {"Q1": [[-1, 0], [1, 1]], "K1": [[-1, 0], [1, 1]], "V1": [[0, -1], [0, 0]], "Q2": [[-1, 0]], "K2": [[-1, 0]],
         "V2": [[-1, 0], [0, -1]]},
        2,
        13,
    ),
]  # fmt: skip
"""Weights, tokens, and the dimension at them by a standard basis, in the local ring, of what keeps the virtual weights
up to scale."""


def by_ranks(weights: Weights, tokens: int) -> LocalDimension | None:
    if tokens == 1:
        return dimension_at_one_token(weights, Work())
    return dimension_by_differential(weights, tokens, generic_rank(weights), Work(), whole=True)


@pytest.mark.parametrize("case", range(len(LOCAL_RINGS)))
def test_it_is_the_dimension_of_the_local_ring(case: int) -> None:
    matrices, tokens, dimension = LOCAL_RINGS[case]
    weights = Weights.of(matrices)
    found = by_ranks(weights, tokens)
    assert found is not None
    assert found.value == dimension


def test_over_the_reals_a_definite_form_leaves_less() -> None:
    """Over the complex numbers the third column could be isotropic and orthogonal to two others: 7, and not 6."""
    half = [[1, 0, 0], [0, 1, 0]]
    value = {"V1": [[1, 2, 3], [4, 5, 6]]}
    definite, both = Weights.of({"Q1": half, "K1": half} | value), Weights.of({"Q1": half, "K1": half[::-1]} | value)
    assert fiber(definite, 1).dimension == 6
    assert fiber(both, 1).dimension == 7


def cases(seed: int, count: int) -> Iterator[tuple[Weights, int]]:
    """Nonzero functions for which the fiber is known to be rescalings near the weights."""
    source = random.Random(seed)
    while count:
        weights = drawn(source)
        tokens = 1 if len(weights.layers) == 1 and source.random() < 0.5 else 2
        if is_zero_function(virtual_weights(weights), tokens):
            continue
        if virtual_fiber(weights, tokens, Work(), search=False).complete_over == "R":
            count -= 1
            yield weights, tokens


@pytest.mark.parametrize("seed", range(2))
def test_jacobians_and_known_directions_never_contradict(seed: int) -> None:
    kinds: Counter[str] = Counter()
    for weights, tokens in cases(seed, 30):
        found = by_ranks(weights, tokens)
        other = local_dimension(weights, tokens)
        assert other is not None
        assert found is not None
        assert other.lower <= found.lower <= found.upper <= other.upper, (weights, tokens)
        kinds["one token" if tokens == 1 else "more"] += found.value is not None
        kinds["new"] += found.value is not None and other.value is None
    assert min(kinds[kind] for kind in ("one token", "more", "new")) >= 2, kinds


@pytest.mark.parametrize("name", ["all ranks are fixed", "squares cancel"])
def test_mutants_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "all ranks are fixed":
        monkeypatch.setattr(Chain, "ranks_are_fixed", lambda _: True)
    else:
        monkeypatch.setattr(plain_differential, "inertia", lambda form: ((form.rank() + 1) // 2, form.rank() // 2))
    wrong = 0
    half = [[1, 0, 0], [0, 1, 0]]
    everything: list[tuple[Weights, int, int | None]] = [(Weights.of(m), t, d) for m, t, d in LOCAL_RINGS]
    everything.append((Weights.of({"Q1": half, "K1": half, "V1": [[1, 2, 3]]}), 1, 6))
    # the value may have a larger rank nearby, where the layer behind lets it through to nothing
    named: dict[str, Any] = {"Q1": np.eye(3, dtype=int), "K1": np.eye(3, dtype=int), "V1": np.diag([1, 1, 0]),
             "Q2": [[1, 0, 0], [0, 1, 0]], "K2": [[1, 0, 0], [0, 1, 0]], "V2": [[1, 0, 0]]}  # fmt: skip
    more = Weights.of(named)
    everything.append((more, 2, None))
    for weights, tokens, dimension in everything:
        found = by_ranks(weights, tokens)
        wrong += (None if found is None else found.value) != dimension
    assert wrong, name


def test_low_ranks_at_width_64_have_a_dimension() -> None:
    """The scale, and pairs of factors with `k` between 20 and 64 rows: `(k - 20)(64 - k) + 64^2` is largest at 42."""
    weights = Weights.random(Architecture((64, 64), (64,), 2), seed=0, attention_matrix_ranks=[20])
    assert fiber(weights).dimension == 1 + 22 * 22 + 64 * 64
    assert dimension_by_differential(weights, 2, generic_rank(weights), Work(1e-9), whole=True) is None
