"""The way back from the function: complete on whole boxes of small weights, and clear about what it cannot do."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, VirtualWeights, Weights, forward, polynomial_map, virtual_weights
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.exact.rational import null_space
from lightning_sym.fibers import recovery
from lightning_sym.fibers.recovery import Solution, is_rescaling, network_of, reconstruct
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import exact_matrix


def exact(*matrices: Any) -> VirtualWeights:
    *attention, value = (exact_matrix(np.array(m).tolist()) for m in matrices)
    return VirtualWeights(tuple(attention), value)


def solutions(weights: VirtualWeights, tokens: int = 2) -> list[Solution]:
    network = network_of(weights)
    return reconstruct(polynomial_map(network.architecture(tokens), network))


def explained(weights: VirtualWeights, found: list[Solution]) -> bool:
    """Whether the weights are a rescaling of exactly one solution."""
    hits = 0
    for solution in found:
        compared = weights
        if solution.skew_part_is_free:
            *first, last = weights.attention
            compared = VirtualWeights((*first, (last + last.T) / Fraction(2)), weights.value)
        nonzero = all((m != 0).any() for m in (*compared.attention, compared.value))
        hits += nonzero and is_rescaling(compared, solution.weights)
    return hits == 1


def box(depth: int) -> tuple[np.ndarray, ...]:
    """All weights with entries -1, 0, 1, d_0 = 2, d' = 1."""
    squares = np.array(list(product((-1, 0, 1), repeat=4))).reshape(-1, 2, 2)
    rows = np.array(list(product((-1, 0, 1), repeat=2))).reshape(-1, 1, 2)
    sizes = [81] * depth + [9]
    choice = np.indices(sizes).reshape(depth + 1, -1)
    return tuple((squares if i < depth else rows)[choice[i]] for i in range(depth + 1))


@pytest.mark.parametrize(("depth", "groups"), [(1, 200), (2, 150)])
def test_complete_on_a_box_of_weights(depth: int, groups: int) -> None:
    """Whatever in the box agrees at many points is one of the solutions, or the polynomials differ after all."""
    *attention, value = box(depth)
    one = np.eye(2, dtype=np.int64)
    values = [one] * (depth - 1) + [value]
    layers = [Layer(a, one, v) for a, v in zip(attention, values, strict=True)]
    points = np.random.default_rng(0).integers(-3, 4, size=(12, 2, 2))
    outputs = np.concatenate([forward(x, layers).reshape(len(value), -1) for x in points], axis=1)
    _, fiber = np.unique(outputs, axis=0, return_inverse=True)
    zero = fiber[np.flatnonzero(~outputs.any(axis=1))[0]]
    order = np.random.default_rng(1).permutation(np.setdiff1d(np.unique(fiber), [zero]))
    sizes = np.bincount(fiber.ravel())
    # half of them at random, half the largest: there the unusual fibers are
    chosen = [*order[: groups // 2], *sorted(order, key=lambda k: -sizes[k])[: groups // 2]]
    for k in chosen:
        members = np.flatnonzero(fiber.ravel() == k)
        found = solutions(exact(*(m[members[0]] for m in (*attention, value))))
        for i in members:
            assert explained(exact(*(m[i] for m in (*attention, value))), found)


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("ranks", list(product((1, 2, 3), repeat=2)))
def test_finds_the_weights_themselves(ranks: tuple[int, ...], tokens: int) -> None:
    for seed in range(2):
        network = Weights.random(Architecture((3, 3, 2), ranks, tokens), seed=seed, bound=3)
        given = virtual_weights(network.layers)
        found = reconstruct(polynomial_map(network.architecture(tokens), network))
        assert explained(given, found)


def test_singular_attention_matrices_of_width_three() -> None:
    """Rank two and three with small entries: the linear system of the last layer always has one solution."""
    generator = np.random.default_rng(0)
    for _ in range(40):
        weights = exact(*generator.integers(-1, 2, size=(2, 3, 3)), generator.integers(-1, 2, size=(1, 3)))
        network = network_of(weights)
        phi = polynomial_map(network.architecture(2), network)
        if phi.term_count:
            assert explained(weights, reconstruct(phi))


def test_one_layer() -> None:
    assert len(solutions(exact([[1, 2], [2, 4]], [[1, 3]]))) == 2  # the swap of Theorem 3.2
    assert len(solutions(exact([[1, 2], [3, 4]], [[1, 3]]))) == 1
    assert len(solutions(exact([[0, 1], [-1, 0]], [[1, 3]]))) == 1  # skew-symmetric is no exception here


def test_network_of_has_these_virtual_weights() -> None:
    weights = exact([[1, 2], [3, 4]], [[0, 1], [5, 0]], [[0, 1], [0, 2]], [[7, 8]])
    again = virtual_weights(network_of(weights).layers)
    assert all(np.array_equal(a, b) for a, b in zip(again.attention, weights.attention, strict=True))
    assert np.array_equal(again.value, weights.value)
    with pytest.raises(ShapeError, match="A~1 must be 2 x 2"):
        network_of(VirtualWeights(([[1]],), [[1, 2]]))


def test_is_rescaling() -> None:
    old = exact([[1, 2], [0, 1]], [[0, 1], [1, 1]], [[1, 1]])
    first, second = old.attention
    assert is_rescaling(VirtualWeights((2 * first, 3 * second), old.value / Fraction(24)), old)
    assert not is_rescaling(VirtualWeights((2 * first, 3 * second), old.value / Fraction(6)), old)
    assert not is_rescaling(VirtualWeights((first, first), old.value), old)
    with pytest.raises(BadInput, match="must not be zero"):
        is_rescaling(old, exact([[0, 0], [0, 0]], [[0, 1], [1, 1]], [[1, 1]]))


def test_refusals() -> None:
    weights = exact([[1, 2], [3, 4]], [[0, 1], [5, 0]], [[1, 1]])
    three = VirtualWeights((*weights.attention, weights.attention[0]), weights.value)
    with pytest.raises(BadInput, match="one or two layers"):
        reconstruct(polynomial_map(network_of(three).architecture(2), network_of(three)))
    with pytest.raises(BadInput, match="two tokens or more"):
        solutions(weights, tokens=1)
    with pytest.raises(BadInput, match="symbolic"):
        reconstruct(polynomial_map(Architecture((2, 1), (1,), 2)))
    with pytest.raises(BadInput, match="must not be zero"):
        solutions(exact([[1, 2], [3, 4]], [[0, 1], [5, 0]], [[0, 0]]))


def test_more_points_where_the_first_do_not_determine_the_last_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    given, sizes = exact([[1, 2], [0, 3]], [[1, 1], [0, 1]], [[1, 2]]), []
    expected = solutions(given)

    def undetermined(equations: Any) -> Any:
        return [[1] + [0] * (equations.shape[1] - 1)]

    def undetermined_first(equations: Any) -> Any:
        sizes.append(len(equations))
        return undetermined(equations) if len(sizes) == 1 else null_space(equations)

    monkeypatch.setattr(recovery, "null_space", undetermined_first)
    found = solutions(given)
    few, more = sizes
    assert few < more
    assert [s.weights.value.tolist() for s in found] == [s.weights.value.tolist() for s in expected] != []
    monkeypatch.setattr(recovery, "null_space", undetermined)
    with pytest.raises(ProgramError, match="the points do not determine the last layer"):
        solutions(given)
