"""The symmetry group: the word identity, finite actions on exact weights, tangent directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import architectures, integer_input

import lightning_sym.symmetries.group as symmetries
from lightning_sym import Architecture, Layer, Weights, forward
from lightning_sym.errors import ProgramError
from lightning_sym.network.attention import attention_layer
from lightning_sym.network.jacobian import random_layers, random_weights, weight_gradients
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import rational_matrix
from lightning_sym.symmetries.families import orbit_dimension_at, symmetry_count, tangent_directions_mod_p
from lightning_sym.symmetries.group import HeadSymmetry, verify_identity


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
    layers = [Layer(*map(rational_matrix, layer)) for layer in Weights.random(shape, seed=seed, bound=3).layers]
    between = [unimodular(d, generator) for d in shape.widths]
    for end in (0, -1):
        one = rational_matrix(np.eye(shape.widths[end], dtype=object))
        between[end] = (one, one.copy())
    changed = []
    for i, layer in enumerate(layers):
        grow = rational_matrix(np.eye(shape.attention_ranks[i], dtype=object)) * 3
        shrink = rational_matrix(np.eye(shape.widths[i + 1], dtype=object)) / 3
        element = HeadSymmetry(
            unimodular(shape.attention_ranks[i], generator), between[i], between[i + 1], (grow, shrink)
        )
        changed.append(element.act(layer))
    x = rational_matrix(integer_input(shape, seed, bound=3))
    assert np.array_equal(forward(x, changed), forward(x, layers))


def test_the_identity_is_verified_and_a_wrong_action_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify_identity().endswith("= H layer[W](X)")

    def wrong(self: HeadSymmetry, layer: Layer) -> Layer:
        assert self.query_key is not None
        return Layer(layer.query, self.query_key[0] @ layer.key, layer.value)

    monkeypatch.setattr(symmetries.HeadSymmetry, "act", wrong)
    with pytest.raises(ProgramError, match="the symmetry is not one"):
        symmetries.verify_identity.__wrapped__()


@given(architectures(), st.integers(0, 5))
def test_tangent_directions_are_in_the_kernel_of_the_jacobian(shape: Architecture, seed: int) -> None:
    p = PRIMES[0]
    generator = np.random.default_rng(seed)
    layers = random_layers(shape, generator, p)
    tangents = [
        block.residues() for block in tangent_directions_mod_p(shape, [w for layer in layers for w in layer], p)
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
    shape = Architecture((2, 3), (2,), 2)
    layer = Layer(*map(rational_matrix, Weights.random(shape, seed=1).layers[0]))
    g, h, c = unimodular(2, generator), unimodular(3, generator), unimodular(2, generator)
    one = (rational_matrix(np.eye(2, dtype=object)), rational_matrix(np.eye(3, dtype=object)))
    x = rational_matrix(integer_input(shape, 1))
    changed = HeadSymmetry(c, g, h, one).act(layer)
    assert np.array_equal(attention_layer(g[0] @ x, changed), h[0] @ attention_layer(x, layer))
