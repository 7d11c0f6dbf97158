"""The rank of the differential from ranks of products, against ranks of Jacobians that know no formula."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, Label, Weights, classify, fiber
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.chain_ranks import Chain, chain_mod_p, exact_chain
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_differential import differential_rank, dimension_by_differential
from lightning_sym.limits import Work
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix

P = PRIMES[0]


def low(source: random.Random, rows: int, columns: int) -> Any:
    """A matrix of full or of lower rank, now and then zero."""
    chance, most = source.random(), min(rows, columns)
    rank = 0 if chance < 0.08 else most if chance < 0.6 else source.randint(1, most)
    left = [[source.randint(-2, 2) for _ in range(rank)] for _ in range(rows)]
    right = [[source.randint(-2, 2) for _ in range(columns)] for _ in range(rank)]
    return np.array(left, dtype=object).reshape(rows, rank) @ np.array(right, dtype=object).reshape(rank, columns)


def drawn(source: random.Random) -> Weights:
    """Weights of one to three layers, many of them special."""
    depth = source.choice([1, 2, 2, 2, 3])
    most = 4 if depth < 3 else 3
    widths = [source.randint(1, most) for _ in range(depth + 1)]
    matrices: dict[str, Any] = {}
    for i, (d, d_out) in enumerate(pairwise(widths), start=1):
        a = source.randint(1, most)
        matrices |= {f"Q{i}": low(source, a, d), f"K{i}": low(source, a, d), f"V{i}": low(source, d_out, d)}
        chance = source.random()
        if chance < 0.15:
            matrices[f"Q{i}"] = matrices[f"K{i}"]
        elif chance < 0.25 and a == 2:  # a skew form
            matrices[f"Q{i}"] = np.array([[0, 1], [-1, 0]], dtype=object) @ matrices[f"K{i}"]
    if source.random() < 0.25:  # the last layer a square: the same h in the columns of A and the rows of V
        h = low(source, 1, widths[-2])
        matrices[f"V{depth}"] = low(source, widths[-1], 1) @ h
        matrices[f"K{depth}"] = low(source, len(matrices[f"K{depth}"]), 1) @ h
    return Weights.of(matrices)


ONE, TURN = [[1, 0], [0, 1]], [[0, 1], [-1, 0]]
SKEW = Weights.of({"Q1": TURN, "K1": ONE, "V1": ONE, "Q2": TURN, "K2": ONE, "V2": ONE})


def generic_rank(weights: Weights) -> int:
    return virtual_weight_variety(weights.architecture(2)).dimension


def jacobian_rank(weights: Weights) -> int:
    """By gradients at random inputs, modulo a prime: a lower bound that only bad luck makes differ."""
    shape = weights.architecture(2)
    residues = [
        PrimeFieldMatrix.of(np.array([[int(x) for x in row] for row in m]), P) for m in weights.named().values()
    ]
    rows = RandomJacobian(shape, np.random.default_rng(0), P, weights=residues).rows(shape.parameter_count + 8)
    return rank_mod_p(rows, P)


def cases(seed: int, count: int) -> Iterator[tuple[Weights, int | None]]:
    """Weights, and the rank by products over the rationals."""
    source = random.Random(seed)
    for weights in (SKEW, *(drawn(source) for _ in range(count))):
        yield weights, exact_chain(weights).rank()


def test_a_square_behind_a_layer_that_writes_less() -> None:
    """The value and the form of the last layer share a factor, which a layer of rank one leaves free."""
    weights = Weights.of({
        "Q1": [[4, 2, 2], [3, 3, -1]], "K1": [[1, 0, 0], [1, -1, 1]], "V1": [[0, 0, 0], [0, 0, 0], [2, 1, 1]],
        "Q2": [[1, 2, 2]], "K2": [[2, 0, -2]], "V2": [[1, 2, 1]],
    })  # fmt: skip
    assert exact_chain(weights).rank() == jacobian_rank(weights)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_rank_of_the_jacobian(seed: int) -> None:
    kinds: Counter[str] = Counter()
    for weights, found in cases(seed, 100):
        chain, largest = exact_chain(weights), generic_rank(weights)
        if found is None:
            kinds["undecided"] += 1
            continue
        assert found == jacobian_rank(weights), weights
        assert found <= largest
        kinds["largest" if found == largest else "lower"] += 1
        kinds["narrower inside"] += any(x > y for x, y in pairwise(chain.ranks[:-1]))
        kinds["square"] += bool(chain.ranks[-1] and chain.attention_ranks[-1] and chain._is_square())
        assert differential_rank(weights, 2, largest) == found
        if (below := chain_mod_p(weights).rank_at_least()) is not None:  # type: ignore[union-attr]
            kinds["modulo a prime"] += 1
            assert below == found
    assert min(kinds.values()) >= 5, kinds
    assert len(kinds) == 6


ROWS_BEHIND = Chain._rows_behind
MUTANTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "all is read": (
        "_rows_behind",
        lambda self, j, **which: [
            RationalMatrix.identity(self.layers[j].query.shape[1]),
            *ROWS_BEHIND(self, j, **which),
        ],
    ),
    "a square is like all others": ("_is_square", lambda _: False),
    "every last layer of rank one is a square": (
        "_is_square",
        lambda self: self.attention_ranks[-1] == self.ranks[-1] == 1,
    ),
    "skew forms are like all others": ("_is_skew", lambda _: False),
    "the kernel of a square is d_0": ("_square_kernel", lambda self: self.ranks[0]),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chain, *MUTANTS[name])
    wrong = 0
    for weights, found in cases(0, 150):
        wrong += found is not None and found != jacobian_rank(weights)
    assert wrong, name


@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_fibers_hold_beside_those_of_directions(seed: int) -> None:
    """Each lower bound is at most each upper one; where the differential is as large as anywhere they agree."""
    met = 0
    source = random.Random(seed)
    for _ in range(80):
        weights = drawn(source)
        found = dimension_by_differential(weights, 2, generic_rank(weights), Work())
        other = local_dimension(weights, 2)
        if found is None or other is None:
            continue
        assert found.lower <= found.upper == other.upper
        assert other.lower <= found.upper
        assert found.orbit <= other.orbit
        if other.value is not None:
            assert found.lower <= other.value
            met += found.value == other.value
    assert met >= 5


def test_strata_find_more_than_known_directions() -> None:
    """Values of low rank: the fiber is larger than the orbit, and all of it is known by its strata alone."""
    weights = Weights.random(Architecture((3, 3, 3), (2, 2), 2), seed=1, value_ranks=[2, 3])
    found = dimension_by_differential(weights, 2, generic_rank(weights), Work())
    other = local_dimension(weights, 2)
    assert found is not None
    assert other is not None
    assert (found.value, other.lower, other.upper) == (23, 22, 23)
    assert fiber(weights).dimension == 23


@pytest.mark.parametrize("layers", [2, 4])
def test_wide_networks_within_the_default_work(layers: int) -> None:
    shape = Architecture((64,) * (layers + 1), (64,) * layers, 2)
    whole = Weights.random(shape, seed=0)
    point = classify(whole)
    assert point.labels == ()
    assert point.weight_rank.value == point.dimension.value == (layers + 1) * 64**2 - layers
    lower = Weights.random(shape, seed=0, bound=2, attention_matrix_ranks=[40] * layers, value_ranks=[32] * layers)
    assert classify(lower).labels == (Label.CRITICAL,)
    found = fiber(lower)
    assert found.bounds is not None
    assert found.bounds[1] == shape.parameter_count - (classify(lower).weight_rank.value or 0)


def test_one_output_and_narrow_layers_have_a_dimension() -> None:
    for widths in ((64, 64, 1), (64, 16, 64)):
        weights = Weights.random(Architecture(widths, widths[:-1], 2), seed=0)
        assert fiber(weights).dimension == weights.architecture(2).parameter_count - generic_rank(weights)
