"""A wrong equation, one too few, a rank too low: nothing of it may end in a certified number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, equations
from lightning_sym.exact.modular import independent_columns, rank_mod_p
from lightning_sym.exact.rational import rank, short_basis
from lightning_sym.exact.reconstruction import rational_vector
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.varieties import by_degree
from lightning_sym.varieties.by_degree import Ideal
from lightning_sym.varieties.coordinates import coordinate_system
from lightning_sym.varieties.normal_weights import normal_weights

NETWORK = Architecture((2, 2), (2,), 2)
"""Five quadrics and ten quartics."""


def test_a_wrong_equation_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(residues: Sequence[Any], primes: Sequence[int]) -> tuple[int, ...] | None:
        found = rational_vector(residues, primes)
        return None if found is None else (*found[:-1], found[-1] + 1)

    monkeypatch.setattr(by_degree, "rational_vector", wrong)
    found = equations(NETWORK, 2)
    assert found.hilbert_function == (1, 12, None)
    assert dict(found.counts) == {2: None}
    assert found.complete_to_degree == 1


def test_a_dropped_equation_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Ideal._new_generators

    def fewer(self: Ideal, *arguments: Any) -> Any:
        new, is_minimal = whole(self, *arguments)
        return new[1:], is_minimal

    monkeypatch.setattr(Ideal, "_new_generators", fewer)
    found = equations(NETWORK, 2)
    assert found.hilbert_function[2] is None
    assert found.counts[2] is None


def test_a_rank_one_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_degree, "independent_columns", lambda matrix, p: independent_columns(matrix, p)[1:])
    found = equations(NETWORK, 2)
    assert found.hilbert_function[2] is None
    assert found.counts[2] is None


def test_a_multiple_is_no_new_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a multiple of a known equation is overlooked, it turns up as new: then nobody says that it is needed."""
    whole = Ideal._row_basis

    def overlooked(self: Ideal, *arguments: Any) -> Any:
        return whole(self, *arguments)[1:]

    monkeypatch.setattr(Ideal, "_row_basis", overlooked)
    found = equations(NETWORK, 3)
    assert found.counts[2] == 5
    assert found.counts[3] is None
    assert found.hilbert_function == (1, 12, 73, 304)  # the equations themselves are right


def test_a_functional_that_is_wrong_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ideal, "_are_zero_on_multiples", lambda *arguments: False)
    found = equations(NETWORK, 4)
    assert found.counts[4] is None
    assert found.hilbert_function == (1, 12, 73, 304, 975)


@pytest.mark.parametrize(
    "network",
    [
        NETWORK,
        Architecture((3, 2), (2,), 2),
        Architecture((2, 2, 1), (1, 1), 2),
        Architecture((1, 2, 2), (1, 2), 1),
        Architecture((2, 2), (1,), 2, heads=2, value_ranks=(1,)),
        Architecture((2, 2), (1,), 2, skip=True),
        Architecture((2, 2), (1,), 2, skip=True, embed=3),
        Architecture((2, 2), (1,), 2, skip=True, embed=1, unembed=2),
        Architecture((2, 3), (1,), 2, embed=3, unembed=2, causal=True),
    ],
    ids=str,
)
def test_normal_weights_reach_all_of_the_span(network: Architecture) -> None:
    """The coordinates are independent at weights in no normal form as well, and no coefficient is left out."""
    system = coordinate_system(network)
    values = system.at_random_points(np.random.default_rng(0), len(system) + 5, PRIMES[0])
    assert rank_mod_p(values, PRIMES[0]) == len(system)
    assert dict(normal_weights(network)).keys() == dict(network.weight_shapes()).keys()


def test_vectors_come_back_from_their_residues() -> None:
    vector = (3, 0, -14, 22)
    thirds = [np.array([x * pow(7, -1, p) % p for x in vector]) for p in PRIMES[:2]]
    assert rational_vector(thirds, PRIMES[:2]) == vector
    assert rational_vector([np.array([2**21 + 1, 1])], PRIMES[:1]) != (2**21 + 1, 1)


def test_short_vectors_span_the_same() -> None:
    first, second = np.array([1, 0, 2, -1]), np.array([0, 3, 1, 1])
    rows = [(5 * first + 2 * second).tolist(), (1265 * first + 2 * second).tolist()]  # of index 2^3 3^2 5 7
    found = short_basis(rows)
    assert rank([*rows, *found]) == rank(found) == 2
    assert max(abs(x) for row in found for x in row) <= 3
