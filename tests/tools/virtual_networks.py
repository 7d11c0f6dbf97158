"""Networks given by their virtual weights, and their functions compared by coefficients."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym import (
    Architecture,
    Layer,
    VirtualWeights,
    Weights,
    forward,
    polynomial_map,
)
from lightning_sym.network.virtual_weights import recursive_form
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from lightning_sym.rings.rationals import rational_matrix

J, ONE = [[0, 1], [-1, 0]], [[1, 0], [0, 1]]


def network(*attention: Any, value: Any) -> Weights:
    """A network of equal widths, given by attention matrices; only the last layer has values other than 1."""
    matrices: dict[str, Any] = {}
    size = len(attention[0])
    one = np.eye(size, dtype=int)
    for i, a in enumerate(attention, start=1):
        matrices |= {f"Q{i}": a, f"K{i}": one, f"V{i}": value if i == len(attention) else one}
    return Weights.of(matrices)


def output(weights: Weights, x: Any) -> ObjectArray:
    return forward(rational_matrix(x), [Layer(*map(rational_matrix, layer)) for layer in weights.layers])


def coefficients(weights: Weights, tokens: int = 2) -> dict[Any, Fraction]:
    return polynomial_map(weights.architecture(tokens), weights).ring_coefficients()


def is_same_by_coefficients(virtual: VirtualWeights, other: VirtualWeights | None, tokens: int = 2) -> bool:
    """Two points of a fiber in virtual weights, compared as polynomials by the closed form."""
    assert other is not None

    d = virtual.value.shape[1]
    ring = PolynomialRing(entry_names("x", d, tokens))
    x = ring.matrix("x", d, tokens)

    def entries(v: VirtualWeights) -> ObjectArray:
        return recursive_form(x, type(v)(tuple(map(ring.constants, v.attention)), ring.constants(v.value)))

    return bool((entries(virtual) == entries(other)).all())


def invertible(size: int, seed: int) -> ObjectArray:
    return Weights.random(Architecture((size, size), (size,), 1), seed=seed, denominator=2, value_ranks=[size])["V1"]


E, F, SUM = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]], [[1, 2, 3]]
P, Q, R, SKEW = [1, 2], [3, -1], [1, 1], [[0, 5], [-5, 0]]
RR, PP, M = np.outer(R, R), np.outer(P, P), [[1, 2], [3, 4]]
