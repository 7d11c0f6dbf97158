"""Small networks: another road to the rank, the same answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.dimension import certify, search
from lightning_sym.dimension.varieties import counted_bounds
from lightning_sym.errors import ProgramError
from lightning_sym.exact.modular import null_space_of_rank, rank_mod_p
from lightning_sym.network.jacobian import RandomJacobian, random_weights
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.symmetries import families, head_mixing
from lightning_sym.symmetries.attention_motions import sees_one_direction
from lightning_sym.symmetries.point import Point

P = PRIMES[0]


def random_network(rng: np.random.Generator) -> Architecture:
    """Of any options, at most 150 parameters."""
    while True:
        depth, skip = int(rng.integers(1, 4)), bool(rng.random() < 0.35)
        widths = tuple([int(rng.integers(1, 5))] * (depth + 1) if skip else rng.integers(1, 6, size=depth + 1).tolist())
        options: dict[str, Any] = {"skip": skip, "causal": bool(rng.random() < 0.3)}
        options["normalization"] = SOFTMAX if rng.random() < 0.35 else None
        options["heads"] = int(rng.integers(1, 4)) if rng.random() < 0.5 else 1
        options["value_ranks"] = rng.integers(1, 4, size=depth).tolist() if rng.random() < 0.3 else None
        for name in ("embed", "unembed"):
            options[name] = int(rng.integers(1, 5)) if rng.random() < 0.3 else None
        ranks = tuple(rng.integers(1, 4, size=depth).tolist())
        network = Architecture(widths, ranks, int(rng.integers(1, 5)), **options)
        if network.parameter_count <= 150:
            return network


def test_the_same_answers_as_by_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        network = random_network(rng)
        found = certified_dimension(network, all_bounds=True)
        with monkeypatch.context() as without:
            without.setattr(certify, "LARGEST", -1)
            without.setattr(families, "LARGEST", -1)
            without.setattr(search, "LARGEST", -1)
            expected = certified_dimension(network, all_bounds=True)
        assert (found.lower, dict(found.upper_bounds)) == (expected.lower, dict(expected.upper_bounds)), network
        assert expected.rows >= found.rows


def test_the_lower_bound_is_the_rank_of_many_more_rows() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        network = random_network(rng)
        rows = RandomJacobian(network, np.random.default_rng(5), P).matrix(network.parameter_count + 8)
        assert certified_dimension(network).lower == rank_mod_p(rows, P), network


def test_a_bound_that_is_too_small_by_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Architecture((4, 4, 4), (2, 2), 3)
    right, _ = counted_bounds(network)
    monkeypatch.setattr(certify, "counted_bounds", lambda _: ({name: bound - 1 for name, bound in right.items()}, []))
    with pytest.raises(ProgramError, match="lower bound 38 exceeds upper bound 37"):
        certified_dimension(network)


def test_forms_are_filled_only_where_the_heads_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not even tried: the rank of all motions is at most the sum of what each head can write."""
    systems: list[tuple[np.ndarray[Any, Any], int]] = []

    def recorded(system: Any, rank: int, p: int) -> Any:
        systems.append((system, rank))
        return iter(())

    rng = np.random.default_rng(2)
    monkeypatch.setattr(head_mixing, "null_space_of_rank", recorded)
    monkeypatch.setattr(head_mixing, "_largest_filling", lambda heads: 0)
    for _ in range(40):
        d, d_out, a, heads = (int(n) for n in rng.integers(1, 4, size=4))
        network = Architecture((d, d_out), (a,), int(rng.integers(1, 3)), heads=heads + 1)
        point = Point(network, random_weights(network, rng, P), P)
        matrices = [[point.weights[letter + f"1.{h + 1}"] for letter in "QKV"] for h in range(heads + 1)]
        seen: Any = {"written": point.written[0], "read": point.read[1], "p": P}
        seen["symmetric"] = sees_one_direction(network)
        each = [head_mixing.head_motion(query, key, value, None, **seen) for query, key, value in matrices]
        systems.clear()
        list(head_mixing._filling(each, P))
        (system, _), bound = systems[0], sum(h.attention_dimension + h.value_dimension - 1 for h in each)
        assert rank_mod_p(system, P) <= bound, network


@pytest.mark.parametrize("size", [5, 90])
def test_null_space_of_a_rank(size: int) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.integers(-3, 4, size=(size, 2)) @ rng.integers(-3, 4, size=(2, size))
    assert not list(null_space_of_rank(matrix, 1, P))
    assert not list(null_space_of_rank(matrix, size + 1, P))
    (found,) = null_space_of_rank(matrix, 2, P)
    assert found.shape == (size - 2, size)
    assert not (matrix @ found.T % P).any()
