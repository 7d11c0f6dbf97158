"""The symmetry group: the word identity, finite actions on exact weights, tangent directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import architectures, integer_input

import lightning_sym.symmetries.group as symmetries
from lightning_sym import SOFTMAX, Architecture, Layer, Weights
from lightning_sym.errors import ProgramError
from lightning_sym.network.attention import attention_layer, network_output
from lightning_sym.network.jacobian import random_layers, random_weights, weight_gradients
from lightning_sym.network.pieces import WeightPiece, pieces, spaces, stream
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import rational_matrix
from lightning_sym.symmetries import families
from lightning_sym.symmetries.families import directions_mod_p, orbit_dimension_at, symmetry_count
from lightning_sym.symmetries.group import act, verify_identity
from lightning_sym.symmetries.point import Point


def unimodular(size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random integer matrix of determinant one and its inverse, from elementary steps."""
    matrix, inverse = np.eye(size, dtype=object), np.eye(size, dtype=object)
    for _ in range(3 * (size > 1)):
        i, j = generator.permutation(size)[:2]
        step = int(generator.integers(-2, 3))
        matrix[i] = matrix[i] + step * matrix[j]
        inverse[:, j] = inverse[:, j] - step * inverse[:, i]
    assert (matrix @ inverse == np.eye(size, dtype=object)).all()
    return rational_matrix(matrix), rational_matrix(inverse)


@given(architectures(), st.integers(0, 50))
def test_the_whole_group_leaves_the_function_alone(shape: Architecture, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = {name: rational_matrix(m) for name, m in Weights.random(shape, seed=seed, bound=3).named().items()}
    element = {space: unimodular(space.size, generator) for space in spaces(shape) if space.kind != "scale"}
    changed = act(weights, element, pieces(shape))
    for space, (grown, *_, shrunk) in spaces(shape, "scale").items():
        assert [piece.name[0] for piece in (grown, shrunk)] == ["Q", "V"], space
        changed[grown.name], changed[shrunk.name] = changed[grown.name] * 3, changed[shrunk.name] / 3
    x = rational_matrix(integer_input(shape, seed, bound=3))
    old, new = (network_output(x, shape, [some[piece.name] for piece in pieces(shape)]) for some in (weights, changed))
    assert np.array_equal(old, new)


def broken(piece: WeightPiece, how: str) -> WeightPiece:
    """The same weight with one mistake in its row of the table."""
    if how == "scale":
        return piece._replace(scale=None if piece.scale is None else (piece.scale[0], -piece.scale[1]))
    rows, columns = piece.rows, piece.columns
    if how == "rows":
        return piece._replace(rows=rows._replace(up=not rows.up))
    return piece._replace(columns=columns._replace(up=not columns.up))


MISTAKES = [(letter, how) for letter in "QKVOEU" for how in ("rows", "columns")] + [("Q", "scale"), ("V", "scale")]
SEEN_BY_NOTHING = {("E", "columns"), ("U", "rows")}  # the spaces of inputs and outputs, which never move


@pytest.mark.parametrize(("letter", "how"), MISTAKES)
def test_every_axis_and_every_scale_of_the_table_matters(
    letter: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(network: Architecture, heads: int | None = None) -> Iterator[WeightPiece]:
        for piece in pieces(network, heads):
            yield broken(piece, how) if piece.name[0] == letter else piece

    assert verify_identity().endswith("= H layer[W](X)")
    monkeypatch.setattr(symmetries, "pieces", wrong)
    if (letter, how) in SEEN_BY_NOTHING:
        symmetries.verify_identity.__wrapped__()
    else:
        with pytest.raises(ProgramError, match="the symmetry is not one"):
            symmetries.verify_identity.__wrapped__()


def test_a_wrong_action_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets_the_query(weights: Mapping[str, Any], element: Any, moved: Iterator[WeightPiece]) -> dict[str, Any]:
        return act(weights, element, moved) | {name: m for name, m in weights.items() if name[0] == "Q"}

    monkeypatch.setattr(symmetries, "act", forgets_the_query)
    with pytest.raises(ProgramError, match="the symmetry is not one"):
        symmetries.verify_identity.__wrapped__()


@pytest.mark.parametrize("normalization", [None, SOFTMAX])
def test_at_special_weights_only_the_group_is_known_to_move_nothing(normalization: Any) -> None:
    """At zero nothing is written, so that much more is unread than where a proposition was proved."""
    network = Architecture((3, 3, 3), (2, 2), 3, normalization, heads=2, value_ranks=(2, 2))
    zero = [PrimeFieldMatrix.of(np.zeros(shape, dtype=int), PRIMES[0]) for _, shape in network.weight_shapes()]
    known = families.families_of(network)
    assert any(not family.symmetry for family in known)
    for family in known:
        assert bool(list(family.at(Point(network, zero, PRIMES[0])))) <= family.symmetry, family.name


@given(architectures(), st.integers(0, 5))
def test_tangent_directions_are_in_the_kernel_of_the_jacobian(shape: Architecture, seed: int) -> None:
    p = PRIMES[0]
    generator = np.random.default_rng(seed)
    layers = random_layers(shape, generator, p)
    tangents = [
        block.residues() for block in directions_mod_p(shape, [w for layer in layers for w in layer], p, symmetry=True)
    ]
    directions = np.concatenate(tangents)
    assert directions.shape == (symmetry_count(shape), shape.parameter_count)
    x = random_residues(generator, (6, shape.widths[0], shape.tokens), p)
    functional = random_residues(generator, (6, shape.widths[-1], shape.tokens), p)
    parts = weight_gradients(layers, x, functional)
    jacobian = np.concatenate([g.residues().reshape(6, -1) for g in parts], axis=1)
    product = jacobian.astype(object) @ directions.T.astype(object) % p
    assert not product.any()


@pytest.mark.parametrize(
    ("widths", "ranks", "orbit"),
    [
        ((3, 3), (3,), 9 + 1),
        ((3, 3), (5,), 25 - 4 + 1),  # the stabilizer of two generic 5 x 3 matrices has dimension (5 - 3)^2
        ((3, 3, 3), (2, 2), 4 + 4 + 9 + 2),
        ((1, 1, 1), (1, 1), 1 + 1 + 1 + 2),
    ],
)
def test_known_orbit_dimensions(widths: tuple[int, ...], ranks: tuple[int, ...], orbit: int) -> None:
    shape = Architecture(widths, ranks, 2)
    generator = np.random.default_rng(0)
    weights = random_weights(shape, generator, PRIMES[0])
    assert orbit_dimension_at(shape, weights, generator, PRIMES[0]) == orbit


def test_an_orbit_at_a_special_point_is_only_smaller() -> None:
    shape = Architecture((3, 3), (2,), 2)
    zero = [PrimeFieldMatrix.of(np.zeros(s, dtype=np.int64), PRIMES[0]) for _, s in shape.weight_shapes()]
    assert orbit_dimension_at(shape, zero, np.random.default_rng(0), PRIMES[0]) == 0


def test_one_layer_alone_is_covariant() -> None:
    """What the word identity says, at an exact instance."""
    generator = np.random.default_rng(4)
    shape = Architecture((2, 3), (2,), 2, embed=1, unembed=1)
    weights = {name: rational_matrix(m) for name, m in Weights.random(shape, seed=1).named().items()}
    element = {space: unimodular(space.size, generator) for space in spaces(shape) if space.kind != "scale"}
    changed = act(weights, element, pieces(shape))
    g, h = element[stream(shape, 0)], element[stream(shape, 1)]
    old, new = (Layer(*(some[name] for name in ("Q1", "K1", "V1"))) for some in (weights, changed))
    x = rational_matrix(integer_input(Architecture((2, 3), (2,), 2), 1))
    assert np.array_equal(attention_layer(g[0] @ x, new), h[0] @ attention_layer(x, old))
