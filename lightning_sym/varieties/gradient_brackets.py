r"""The Lie algebra that gradients of a network generate: its rank, from below, at a point modulo a prime.

A field is a gradient $W \mapsto \nabla \langle c, \phi_W(X) \rangle$, or a bracket $[F, G] = DG\, F - DF\, G$ of two
fields, evaluated over dual numbers: $DG\, F$ is the tangent of $G(W + \varepsilon F(W))$. Fields are functions of the
weights over any ring, so brackets nest; the forward pass is the one of every other question. All fields are polynomial
in the weights, with softmax also in exponentials that stay free (`docs/transformers.md`, Theorem A), so a minor that is
not zero modulo a prime is not zero: the rank is a lower bound of the rank at generic weights (`docs/conserved.md`,
Proposition 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, attended, network_output
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.derivatives import Dual, Recorded, gradients
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues

Field = Callable[[Sequence[Any]], list[Any]]


def _negative(matrix: Any) -> Any:
    if isinstance(matrix, Dual):
        return Dual(_negative(matrix.value), None if matrix.tangent is None else _negative(matrix.tangent))
    return PrimeFieldMatrix(-matrix.entries, matrix.prime)


def _constant(matrix: PrimeFieldMatrix, like: Any) -> Any:
    """A matrix over the prime field as one over the ring of `like`: nothing of it moves."""
    return Dual(_constant(matrix, like.value)) if isinstance(like, Dual) else matrix


def _tangent(matrix: Dual) -> Any:
    """Zero where nothing moves."""
    if matrix.tangent is not None:
        return matrix.tangent
    residues = _residues(matrix)
    return _constant(PrimeFieldMatrix(np.zeros_like(residues.entries), residues.prime), matrix.value)


def _residues(matrix: Any) -> PrimeFieldMatrix:
    """The value below all derivatives."""
    while isinstance(matrix, Dual):
        matrix = matrix.value
    result: PrimeFieldMatrix = matrix
    return result


class _FixedPatterns:
    """Softmax patterns with given residues, head by head; `dP = P (ds - sum P ds)`, column by column."""

    def __init__(self, patterns: Sequence[PrimeFieldMatrix]) -> None:
        self._left = iter(patterns)

    def _moved(self, pattern: Any, scores: Any) -> Any:
        product = pattern * scores
        residues = _residues(product)
        ones = PrimeFieldMatrix(np.ones((residues.shape[-2],) * 2), residues.prime)
        return product + _negative(pattern * (_constant(ones, product) @ product))

    def _at(self, scores: Any, pattern: PrimeFieldMatrix) -> Any:
        if not isinstance(scores, Dual):
            return pattern
        value = self._at(scores.value, pattern)
        return Dual(value, None if scores.tangent is None else self._moved(value, scores.tangent))

    def __call__(self, scores: Recorded) -> Recorded:
        pattern = self._at(scores.value, next(self._left))
        return Recorded.derived(pattern, (scores, lambda g: self._moved(pattern, g)))


class Gradients:
    """A batch of gradients of random functionals of outputs, each at a random input, as fields.

    Args:
        architecture: the network.
        weights: where exponentials of softmax are drawn: scores that are equal there have equal ones.
        size: how many.
        generator: source of inputs, functionals and exponentials.
    """

    def __init__(
        self, architecture: Architecture, weights: Sequence[PrimeFieldMatrix], size: int, generator: np.random.Generator
    ) -> None:
        architecture.require("gradients as fields", SHAPED)
        p, t = weights[0].prime, architecture.tokens
        self.architecture, self.size = architecture, size
        self._input = random_residues(generator, (size, architecture.input_width, t), p)
        self._functional = random_residues(generator, (size, architecture.output_width, t), p)
        self._patterns: list[PrimeFieldMatrix] | None = None
        if architecture.normalization is not None:
            drawn: list[PrimeFieldMatrix] = []
            free = FreeExponentials(generator, attended(architecture), p)

            def pattern(scores: Recorded) -> Recorded:
                result = free(scores)
                drawn.append(result.value)
                return result

            recorded = [Recorded(w) for w in weights]
            x = Recorded(self._input, constant=True)
            network_output(x, architecture, recorded, Form(pattern, architecture.skip))
            self._patterns = drawn

    def __call__(self, weights: Sequence[Any]) -> list[Any]:
        form = None
        if self._patterns is not None:
            form = Form(_FixedPatterns(self._patterns), self.architecture.skip)
        recorded = [Recorded(w) for w in weights]
        x = Recorded(_constant(self._input, weights[0]), constant=True)
        output = network_output(x, self.architecture, recorded, form)
        found = gradients([output], [_constant(self._functional, weights[0])], recorded)
        zeros = (PrimeFieldMatrix(np.zeros(_residues(w).shape), _residues(w).prime) for w in weights)
        return [_constant(zero, w) if g is None else g for g, w, zero in zip(found, weights, zeros, strict=True)]


@dataclass(frozen=True)
class Bracket:
    """The bracket of two batches of fields, pair by pair."""

    first: Field
    second: Field

    def __call__(self, weights: Sequence[Any]) -> list[Any]:
        along_a = self.second([Dual(*pair) for pair in zip(weights, self.first(weights), strict=True)])
        along_b = self.first([Dual(w, b.value) for w, b in zip(weights, along_a, strict=True)])
        return [_tangent(u) + _negative(_tangent(v)) for u, v in zip(along_a, along_b, strict=True)]


def bracket_rows(
    architecture: Architecture,
    weights: Sequence[PrimeFieldMatrix],
    length: int,
    size: int,
    generator: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Values at the weights of random brackets `[F_1, [F_2, ... F_length]]` of gradients, one a row.

    Args:
        architecture: the network.
        weights: residues, in canonical order.
        length: how many gradients; 1 for the gradients themselves.
        size: how many rows.
        generator: source of the gradients.

    Returns:
        Residues, `size x parameters`.

    Raises:
        BadInput: the network has an option for which this is not proved.

    Example:
        >>> from lightning_sym.network.jacobian import random_weights
        >>> network, generator = Architecture((2, 1), (1,), 2), np.random.default_rng(0)
        >>> point = random_weights(network, generator, 4194301)
        >>> bracket_rows(network, point, 2, 5, generator).shape
        (5, 6)
    """
    architecture.require("brackets of gradients", SHAPED)
    field: Field = Gradients(architecture, weights, size, generator)
    for _ in range(length - 1):
        field = Bracket(Gradients(architecture, weights, size, generator), field)
    blocks = [np.broadcast_to(m.residues(), (size, *m.shape[-2:])).reshape(size, -1) for m in field(weights)]
    return np.concatenate(blocks, axis=1)
