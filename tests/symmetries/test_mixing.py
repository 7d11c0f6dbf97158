"""Heads that mix: one output row, cubic forms, first layers; what is certified with a family and not without it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension import certify
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.attention import network_output
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries import families, head_mixing, stream_directions
from lightning_sym.symmetries.point import Point
from proofs_check.claims.transformers.section_4_heads import NARROW_ROWS, network_of, one_output

P = PRIMES[0]
Residues = npt.NDArray[np.int64]


def nothing(*_: Any) -> Iterator[Any]:
    return iter(())


def bounds(network: Architecture) -> tuple[int, int]:
    found = certified_dimension(network)
    return found.lower, found.upper


@pytest.mark.parametrize(("shape", "without"), list(zip(NARROW_ROWS, (50, 74, 138, 186), strict=True)))
def test_one_output_row_needs_what_two_row_spaces_share(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int, int, int], without: int
) -> None:
    stated = one_output(shape)
    assert bounds(network_of(shape)) == (stated, stated)
    monkeypatch.setattr(head_mixing, "_syzygies", nothing)
    assert bounds(network_of(shape)) == (stated, without)


def rank_of_forms(d: int, a: int, heads: int) -> int:
    """Of the differential of `(Q, K, v) -> sum_h a_hk v_h` at a random point, written out."""
    rng = np.random.default_rng([d, a, heads])
    rows = []
    for _ in range(heads):
        key, query, v = (rng.integers(0, P, size=size) for size in ((a, d), (a, d), (d,)))
        matrix = key.T @ query % P
        units = np.eye(a * d, dtype=np.int64).reshape(-1, a, d)
        moved = [np.einsum("mik,j->mkij", m % P, v) for m in (key.T @ units, units.mT @ query)]
        moved.append(np.einsum("ik,mj->mkij", matrix, np.eye(d, dtype=np.int64)))
        forms = np.concatenate(moved) % P
        both = (forms + forms.swapaxes(-1, -2)) % P
        rows.append(both[..., *np.triu_indices(d)].reshape(len(both), -1))
    return rank_mod_p(np.concatenate(rows), P)


@pytest.mark.parametrize("d", range(2, 9))
def test_the_formula_for_one_output_row_is_the_rank_of_the_forms(d: int) -> None:
    """A rank modulo a prime is a lower bound only: this tries the formula, and proves half of it."""
    for a, heads in product(range(1, d + 1), range(1, d + 1)):
        assert rank_of_forms(d, a, heads) == one_output((d, 1, a, heads, 1)), (d, a, heads)


# one token, or one row without mask: dimension, and the bound that is left if all of each matrix counts
CUBIC = [
    (Architecture((3, 3), (2,), 1, heads=2), 26, 28),
    (Architecture((3, 1), (1,), 1, heads=2, unembed=2), 11, 15),  # all ten cubic forms
    (Architecture((2, 3), (1,), 1, heads=2, value_ranks=(1,)), 10, 12),  # 3 x 4 matrices of rank two
    (Architecture((2, 2, 2), (1, 3), 1, heads=2, skip=True), 16, 22),
    (Architecture((2, 2, 2), (1, 1), 1, heads=2, skip=True, causal=True), 16, 24),
    (Architecture((4, 1), (1,), 1, heads=2, value_ranks=(1,)), 20, 20),
    (Architecture((1, 2, 1), (1, 1), 3, heads=3), 1, 1),
]


@pytest.mark.parametrize(("network", "dimension", "without"), CUBIC, ids=str)
def test_on_a_line_heads_count_by_cubic_forms(
    monkeypatch: pytest.MonkeyPatch, network: Architecture, dimension: int, without: int
) -> None:
    assert bounds(network) == (dimension, dimension)
    monkeypatch.setattr(head_mixing, "sees_one_direction", lambda _: False)
    monkeypatch.setattr(certify, "BY_PLACES", ())  # a bound from elsewhere
    assert bounds(network) == (dimension, without)


FIRST_LAYERS = [
    (Architecture((2, 2, 2), (2, 1), 2, skip=True, embed=1, value_ranks=(2, 1)), 8, 9),
    (Architecture((3, 3, 3), (1, 1), 3, skip=True, embed=1, value_ranks=(1, 1)), 11, 12),
    (Architecture((2, 2, 2, 2), (1, 1, 1), 2, skip=True, embed=1, value_ranks=(1, 1, 1)), 13, 14),
    (Architecture((2, 2, 2), (1, 1), 2, heads=2, skip=True, causal=True, embed=1), 14, 16),
    (Architecture((2, 2, 2), (1, 1), 1, skip=True, causal=True, embed=1, value_ranks=(2, 1)), 8, 9),
]


@pytest.mark.parametrize(("network", "dimension", "without"), FIRST_LAYERS, ids=str)
def test_two_layers_write_the_same_term(
    monkeypatch: pytest.MonkeyPatch, network: Architecture, dimension: int, without: int
) -> None:
    assert bounds(network) == (dimension, dimension)
    table = tuple(family for family in families.TABLE if family.name != "first layers")
    monkeypatch.setattr(families, "TABLE", table)
    assert bounds(network) == (dimension, without)


@pytest.mark.parametrize("network", [n for n, *_ in (*CUBIC, *FIRST_LAYERS)], ids=str)
def test_outputs_do_not_move_to_first_order(network: Architecture) -> None:
    """Outputs along a direction: polynomials in the step whose linear terms are zero, by interpolation."""
    rng = np.random.default_rng(7)
    weights = random_weights(network, rng, P)
    point = Point(network, weights, P)
    x = PrimeFieldMatrix.of(rng.integers(0, P, size=(network.input_width, network.tokens)), P)
    found = [d for family in ("mixing", "first layers") for d in directions_of(family, point)]
    assert found or network.widths == (4, 1)
    for direction in found[:3]:
        assert not moved_outputs(network, weights, x, direction).any()
        bent = direction.copy()
        bent[np.flatnonzero(direction)[0]] += 1
        assert moved_outputs(network, weights, x, bent).any()  # so that the test can fail


def moved_outputs(
    network: Architecture, weights: list[PrimeFieldMatrix], x: PrimeFieldMatrix, direction: Residues
) -> Residues:
    """The linear terms of all outputs at weights plus a step times the direction."""
    values = []
    for step in range(3 ** (network.depth + 1) * 5):  # more than the degree in the step
        moved, place = [], 0
        for weight in weights:
            size = weight.entries.size
            part = direction[place : place + size].reshape(weight.entries.shape)
            moved.append(PrimeFieldMatrix.of((weight.residues() + step * part) % P, P))
            place += size
        values.append(network_output(x, network, moved).residues().ravel())
    return linear_term(np.array(values))


def directions_of(name: str, point: Point) -> list[Residues]:
    (family,) = (family for family in families.TABLE if family.name == name)
    if not family.belongs_to(point.architecture):
        return []
    return [row for block in family.at(point) for row in block.residues() if row.any()]


def linear_term(values: Residues) -> Residues:
    """Of the polynomials with these values at 0, 1, 2, ...: sum of (-1)^(k-1) / k times the k-th difference at 0."""
    total, row = np.zeros(values.shape[1], dtype=np.int64), values
    for k in range(1, len(values)):
        row = (row[1:] - row[:-1]) % P
        total = (total + (-1) ** (k - 1) * pow(k, -1, P) * row[0]) % P
    return total


def test_networks_without_such_layers_have_no_such_directions() -> None:
    assert not stream_directions.has_one_row(Architecture((2, 2), (1,), 2, skip=True, embed=1))
    assert not stream_directions.has_one_row(Architecture((2, 2, 2), (1, 1), 2, skip=True, embed=2))
    assert not stream_directions.has_one_row(Architecture((2, 2, 2), (1, 1), 2, embed=1))
