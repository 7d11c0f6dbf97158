"""The dimension for every width: the patterns of the note, and its theorem against certified dimensions."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import numpy as np
import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension.varieties import virtual_weight_variety
from proofs_check.claim import Scope, Verdict
from proofs_check.claims.any_width.dimension_all_widths import rank_pattern, variety_dimension
from proofs_check.claims.any_width.dimension_every_width import (
    CLAIM,
    all_virtual_weights,
    patterns,
    virtual_weight_rank,
)
from proofs_check.run import run_claim


def first_narrow(network: Architecture) -> int:
    """`k` of the note: the first index with `r_k = 1`."""
    return list(accumulate(network.widths, min)).index(1)


def first_rank_one(network: Architecture) -> int:
    """`m` of the note, `k + 1` where no layer has rank one."""
    _, alpha, _ = rank_pattern(network)
    return [*alpha, 1].index(1) + 1


def test_the_claim_holds_and_every_width_is_said_of_the_patterns_only() -> None:
    result = run_claim(CLAIM, quick=True)
    assert result.error is None
    assert result.verdict is Verdict.HOLDS
    assert [part.instances for part in result.parts if part.scope is Scope.EVERY_WIDTH] == [114, 15]


def test_the_patterns_are_those_of_the_table() -> None:
    two_tokens, one_token = list(patterns(2, quick=True)), list(patterns(1, quick=True))
    assert Counter(n.depth for n in two_tokens) == {1: 2, 2: 6, 3: 14, 4: 30, 5: 62}
    assert Counter(n.depth for n in one_token) == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    assert len(set(two_tokens)) == 114
    varieties = {(n.depth, first_narrow(n), first_rank_one(n)) for n in two_tokens}
    assert Counter(depth for depth, _, _ in varieties) == {1: 2, 2: 5, 3: 9, 4: 14, 5: 20}


@pytest.mark.parametrize("tokens", [1, 2])
def test_the_variety_of_a_pattern_has_the_dimension_of_the_table(tokens: int) -> None:
    for network in patterns(tokens, quick=True):
        depth, k, m = network.depth, first_narrow(network), first_rank_one(network)
        if tokens == 1:
            expected = 3 * k + (depth - k) + 2
        elif k == depth:
            expected = 4 * depth + 2 if m > depth else 4 * (m - 1) + 3 + 3 * (depth - m) + 2
        else:
            expected = 4 * k + (depth - k) + 2 if m > k else 4 * (m - 1) + 3 + 3 * (k - m) + (depth - k) + 2
        assert variety_dimension(network) == expected
        assert expected <= all_virtual_weights(network)


def larger_networks() -> list[Architecture]:
    generator = np.random.default_rng(7)
    result = []
    for _ in range(25):
        depth = int(generator.integers(2, 8))
        widths = [int(x) for x in generator.integers(1, 9 if depth < 5 else 5, size=depth + 1)]
        if generator.integers(2):
            widths.sort(reverse=True)
        ranks = tuple(int(x) for x in generator.choice([1, 2, 3, 5], size=depth, p=[0.15, 0.35, 0.3, 0.2]))
        result.append(Architecture(tuple(widths), ranks, int(generator.integers(1, 5))))
    return result


def test_the_theorem_on_larger_and_deeper_networks() -> None:
    for network in larger_networks():
        assert certified_dimension(network).value == variety_dimension(network) - network.depth, network


def test_the_theorem_at_depths_beyond_the_finite_checks() -> None:
    for widths, ranks in [
        ((2,) * 6 + (1,), (2,) * 6),
        ((2,) * 7 + (1,), (2, 2, 2, 1, 2, 2, 2)),
        ((3, 3, 3, 2, 2, 2, 1), (2, 3, 2, 2, 2, 1)),
        ((5, 4, 4, 3, 3, 2, 2, 1), (2, 2, 2, 2, 2, 2, 2)),
    ]:
        network = Architecture(widths, ranks, 2)
        assert certified_dimension(network).value == variety_dimension(network) - network.depth


def test_the_count_agrees_with_the_library_and_with_the_rank_of_the_virtual_weights() -> None:
    for network in larger_networks():
        count = variety_dimension(network)
        assert count == virtual_weight_variety(network).dimension + network.depth
        assert virtual_weight_rank(network, count + 8) == count, network
