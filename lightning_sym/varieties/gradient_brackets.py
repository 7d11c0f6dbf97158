r"""The Lie algebra that gradients of a network generate: its rank, from below, at a point modulo a prime.

A field is a gradient $W \mapsto \nabla \langle c, \phi_W(X) \rangle$, or a bracket $[F, G] = DG\, F - DF\, G$ of two
fields, evaluated over dual numbers: $DG\, F$ is the tangent of $G(W + \varepsilon F(W))$. Fields are functions of the
weights over any ring, so brackets nest; the forward pass is the one of every other question. All fields are polynomial
in the weights, with softmax also in exponentials that stay free (`docs/transformers.md`, Theorem A), so a minor that is
not zero modulo a prime is not zero: the rank is a lower bound of the rank at generic weights (`docs/conserved.md`,
Proposition 4). From above it is known of networks with few kinds of functions (Propositions 5 and 9 there).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.ask import Need, TheoremRow, any_question, paid_by_steps
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import Form, attended, network_output
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import fewer_in_its_place, weights_over_sizes
from lightning_sym.rings.derivatives import Dual, Recorded, gradients
from lightning_sym.rings.free_exponentials import FreeExponentials
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.rings.protocol import EntryMatrix
from lightning_sym.rings.sizes import Price, Sizes


class FieldMatrix(EntryMatrix, Protocol):
    """A matrix over the field, its size, or one over dual numbers above these."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __neg__(self) -> Self: ...
    def like(self, numbers: npt.NDArray[np.int64], /) -> Self: ...


M = TypeVar("M", bound=FieldMatrix)


class VectorField(Protocol):
    """A field: what it is at weights, one matrix for each of them."""

    def __call__(self, weights: Sequence[M], /) -> list[M]: ...


def _constant(matrix: FieldMatrix, like: FieldMatrix) -> FieldMatrix:
    """Return a matrix over the field as one over the ring of `like`: nothing of it moves."""
    return Dual(_constant(matrix, like.value)) if isinstance(like, Dual) else matrix


def _tangent(matrix: Dual) -> Any:
    """Return where a matrix moves: zero where nothing does."""
    return _zero_like(matrix.value) if matrix.tangent is None else matrix.tangent


def _zero_like(matrix: M) -> M:
    """Return zero over the ring of a matrix, of its shape; a batch has one zero for all."""
    return matrix.like(np.zeros(matrix.shape[-2:], dtype=np.int64))


class _FixedPatterns:
    """Softmax patterns that are given, head by head; `dP = P (ds - sum P ds)`, column by column."""

    def __init__(self, patterns: Sequence[FieldMatrix]) -> None:
        self._left = iter(patterns)

    def _moved(self, pattern: M, scores: M) -> M:
        product = pattern * scores
        ones = product.like(np.ones((product.shape[-2],) * 2, dtype=np.int64))
        return product + -(pattern * (ones @ product))

    def _at(self, scores: FieldMatrix, pattern: FieldMatrix) -> FieldMatrix:
        if not isinstance(scores, Dual):
            return pattern
        value = self._at(scores.value, pattern)
        return Dual(value, None if scores.tangent is None else self._moved(value, scores.tangent))

    def __call__(self, scores: Recorded) -> Recorded:
        pattern = self._at(scores.value, next(self._left))
        return Recorded.derived(pattern, (scores, lambda g: self._moved(pattern, g)))


@dataclass(frozen=True)
class Gradients:
    """Gradients of functionals of outputs at inputs, as fields: of a batch of residues, or of their sizes.

    Attributes:
        architecture: the network.
        input: `n x t`, or a batch of such.
        functional: of the shape of the output, as many.
        patterns: those of all softmax heads, in their order; empty for lightning attention.
    """

    architecture: Architecture
    input: FieldMatrix
    functional: FieldMatrix
    patterns: Sequence[FieldMatrix] = ()

    def __post_init__(self) -> None:
        self.architecture.require("gradients as fields", SHAPED)

    @classmethod
    def drawn(
        cls, architecture: Architecture, weights: Sequence[PrimeFieldMatrix], size: int, generator: np.random.Generator
    ) -> Gradients:
        """Return a batch of random ones.

        Args:
            architecture: the network.
            weights: where exponentials of softmax are drawn: scores that are equal there have equal ones.
            size: how many.
            generator: source of inputs, functionals and exponentials.
        """
        architecture.require("gradients as fields", SHAPED)
        p, t = weights[0].prime, architecture.tokens
        x = random_residues(generator, (size, architecture.input_width, t), p)
        functional = random_residues(generator, (size, architecture.output_width, t), p)
        patterns: list[PrimeFieldMatrix] = []
        if architecture.normalization is not None:
            free = FreeExponentials(generator, attended(architecture), p)

            def pattern(scores: Recorded) -> Recorded:
                result = free(scores)
                patterns.append(result.value)
                return result

            recorded = [Recorded(w) for w in weights]
            network_output(Recorded(x, constant=True), architecture, recorded, Form(pattern, architecture.skip))
        return cls(architecture, x, functional, patterns)

    def __call__(self, weights: Sequence[M], /) -> list[M]:
        form = Form(_FixedPatterns(self.patterns), self.architecture.skip) if self.patterns else None
        recorded = [Recorded(w) for w in weights]
        x = Recorded(_constant(self.input, weights[0]), constant=True)
        output = network_output(x, self.architecture, recorded, form)
        found = gradients([output], [_constant(self.functional, weights[0])], recorded)
        return [_zero_like(w) if g is None else g for g, w in zip(found, weights, strict=True)]


@dataclass(frozen=True)
class Bracket:
    """The bracket of two batches of fields, pair by pair."""

    first: VectorField
    second: VectorField

    def __call__(self, weights: Sequence[M], /) -> list[M]:
        along_a = self.second([Dual(*pair) for pair in zip(weights, self.first(weights), strict=True)])
        along_b = self.first([Dual(w, b.value) for w, b in zip(weights, along_a, strict=True)])
        return [_tangent(u) + -_tangent(v) for u, v in zip(along_a, along_b, strict=True)]


def bracket_rows(
    architecture: Architecture,
    weights: Sequence[PrimeFieldMatrix],
    length: int,
    size: int,
    generator: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Return values at the weights of random brackets `[F_1, [F_2, ... F_length]]` of gradients, one a row.

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
    field = _nested(length, lambda: Gradients.drawn(architecture, weights, size, generator))
    blocks = [np.broadcast_to(m.residues(), (size, *m.shape[-2:])).reshape(size, -1) for m in field(weights)]
    return np.concatenate(blocks, axis=1)


def _nested(length: int, gradient: Callable[[], VectorField]) -> VectorField:
    """Return `[F_1, [F_2, ... F_length]]`, the last one drawn first."""
    field = gradient()
    for _ in range(length - 1):
        field = Bracket(gradient(), field)
    return field


def price_of_brackets(architecture: Architecture, length: int, rows: int) -> Price:
    """Return what so many rows of brackets take: the fields of one row over sizes, so often.

    Example:
        >>> network = Architecture((8, 8), (2,), 2)
        >>> price_of_brackets(network, 1, 100).seconds < price_of_brackets(network, 3, 100).seconds < 1
        True
    """
    architecture.require("the price of brackets", SHAPED)
    return _price_of_a_bracket(architecture, length).repeated(rows, at_once=True)


def _price_of_a_bracket(architecture: Architecture, length: int) -> Price:
    """Return what one row takes."""
    price, t = Price("residues"), architecture.tokens
    if parts := fewer_in_its_place(architecture):
        for fewer, times in parts:
            price.add(_price_of_a_bracket(fewer, length), times)
        return price
    x, functional = (Sizes((rows, t), price) for rows in (architecture.input_width, architecture.output_width))
    heads = architecture.heads * architecture.depth
    patterns = [] if architecture.normalization is None else [Sizes((t, t), price)] * heads
    field = Gradients(architecture, x, functional, patterns)
    _nested(length, lambda: field)(weights_over_sizes(architecture, price))
    price.enter("row", length)
    return price


ONE_FUNCTION: TheoremRow[Architecture, int] = TheoremRow(
    "Proposition 5 of docs/conserved.md", any_question, paid_by_steps, lambda shape: int(shape.parameter_count - 1),
    needs=(
        Need("one row of input and one of output", lambda shape: shape.input_width == shape.output_width == 1),
        Need("scores that are not normalized", lambda shape: shape.normalization is None),
        Need(  # which adds the input then, and that has no gradient
            "no skip connection, or one around one layer without embeddings",
            lambda shape: not shape.skip or (shape.depth == 1 and shape.embed is None is shape.unembed),
        ),
    ),
)  # fmt: skip
"""All functions of the kind are multiples of one, so that more is kept than moments."""


def _kept_at_width_one(shape: Architecture) -> int:
    """Return all weights, less a number for each layer and the entries of both ends, but for what is kept there."""
    ends = [size for size in (shape.embed, shape.unembed) if size is not None]
    scales = shape.depth - 1 + len(ends)
    if shape.skip and shape.normalization is None:
        scales = len(ends) // 2
    return shape.parameter_count - shape.depth - sum(ends) + scales


MORE_THAN_MOMENTS: tuple[TheoremRow[Architecture, int], ...] = (
    ONE_FUNCTION,
    TheoremRow(
        "Proposition 9 of docs/conserved.md", lambda shape: max(shape.widths) == 1, paid_by_steps, _kept_at_width_one,
        needs=(
            Need(
                "scores that are not normalized, or one token",
                lambda shape: shape.normalization is None or shape.tokens == 1,
            ),
        ),
    ),
)  # fmt: skip
"""Networks of which more may be kept than moments."""
