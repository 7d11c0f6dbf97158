"""Two networks of one form: their outputs for the same input in balls, and their circuits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, log2
from typing import Any, cast

import numpy.typing as npt

from lightning_sym.errors import BadInput
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.pair import LARGE_INPUT, PREFIX, Pair
from lightning_sym.fibers.transformer_cost import exact_outputs_cost, outputs_cost
from lightning_sym.limits import DEFAULT_MEMORY, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import dyadic_bits, is_plain
from lightning_sym.rings.ball_matrices import BallMatrix, DecimalBall, LaterBalls
from lightning_sym.rings.balls import precision
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.arrangement import Arrangement
from lightning_sym.system.circuits import NetworkCircuits

READABLE = 3
"""Largest absolute value of the integers that inputs are made of; they are divided by powers of two."""

FIRST_BITS, MOST_BITS = 128, 2048
"""Precisions of balls: four times as high each time that the outputs could not be told apart."""

INPUT_SCALES = (1, 4, 16, 64, 256)
"""Denominators of inputs: where scores are large, softmax attends to one token alone, and outputs hardly differ."""

MOST_SCALES = 12
"""More of them that are tried, for heads whose scores are larger by far, or smaller."""


class PairInBalls(Pair):
    """Two networks of any form.

    Attributes:
        prefix: with a mask, and too many tokens: inputs are of the first so many tokens alone.
        arrangements: both with heads merged, left out and moved to earlier layers, once that is known.
        bits: the highest precision of balls; outputs at `agreed` inputs were not told apart with it.
        distance: these outputs are no farther apart; `None` if that is not known.
    """

    def __init__(
        self, weights: tuple[Weights, Weights], tokens: int, evaluations: int, memory: int, work: Work, seed: int
    ) -> None:
        super().__init__(weights, tokens, evaluations, memory, work, seed)
        self.arrangements: tuple[Arrangement, Arrangement] | None = None
        self.bits = 0
        self.distance: Fraction | None = None
        cost = 10 * sum(self._outputs_cost(number, 128) for number in range(2))
        if self.shapes[0].causal and (200 * tokens**2 > DEFAULT_MEMORY or not work.allows(cost)):
            self.prefix = min(PREFIX, tokens)
            self.evaluated = weights[0].architecture(self.prefix), weights[1].architecture(self.prefix)

    @cached_property
    def circuits(self) -> tuple[NetworkCircuits, NetworkCircuits]:
        """What the functions see."""
        return NetworkCircuits.of(self.weights[0]), NetworkCircuits.of(self.weights[1])

    @cached_property
    def lengths(self) -> list[int]:
        """Bits of the longest entry of either."""
        return [max(map(_length, w.all_held.values())) for w in self.weights]

    def in_balls(self, number: int) -> list[BallMatrix] | list[LaterBalls]:
        """Return all matrices of a network; those of a large one when they are needed."""
        if self.weights[number].as_given:
            return list(map(LaterBalls, self.weights[number].all_held.values()))
        return list(map(BallMatrix.of, self.exact[number]))

    @cached_property
    def scales(self) -> tuple[Fraction | int, ...]:
        """Denominators of inputs, for each head one at which its scores are moderate, whatever the seed."""
        found = {k for w, shape in zip(self.weights, self.shapes, strict=True) for k in _moderate(w, shape)}
        more = sorted((k for k in found if not 0 <= k <= 8), key=abs)[:MOST_SCALES]  # the others are near those above
        return (*INPUT_SCALES, *(Fraction(2) ** k for k in more))

    @property
    def form_is_softmax(self) -> bool:
        """Whether the theorems about softmax apply."""
        return self.shapes[0].normalization == SOFTMAX

    def by_balls(self, x: RationalMatrix, bits: int) -> Comparison | None:
        """Return whether balls tell the outputs apart."""
        for number in range(2):
            self.work.spend(self._outputs_cost(number, bits), f"outputs in balls of {bits} bits", number, 2)
        if bits > self.bits:  # what is said of agreement is about the highest precision
            self.bits, self.agreed, self.distance = bits, 0, None
        with precision(bits):
            one, other = (
                network_output(BallMatrix.of(x), shape, cast(list[BallMatrix], self.in_balls(number)))
                for number, shape in enumerate(self.evaluated)
            )
            place, farthest = one.apart(other), one.farthest(other)
            if place is None or farthest is None:
                known = farthest is not None and (self.distance is not None or not self.agreed)
                self.distance = max(farthest, self.distance or Fraction(0)) if known and farthest is not None else None
                self.agreed += 1
                return None
            try:
                outputs = one.decimals(), other.decimals()
            except BadInput:  # numbers of millions of digits
                return None
        first, second = (y[place] for y in outputs)
        if not isinstance(first, DecimalBall) or first.meets(second):  # rounded outwards too far
            return None
        return Comparison(
            Answer.DIFFERENT, Reason.BALLS, input=x.fractions(), outputs=outputs, entry=(place[0] + 1, place[1] + 1),
            precision=bits, prefix=self.prefix,
        )  # fmt: skip

    def by_inputs(self, most_bits: int = MOST_BITS) -> Comparison | None:
        """Return an input where outputs differ: exact ones, or balls with more and more bits."""
        if self.polynomial:
            return next((c for _ in range(self.evaluations) if (c := self.exactly(LARGE_INPUT)) is not None), None)
        bits = FIRST_BITS
        while bits <= most_bits:
            for scale in self.scales:
                if not self.affords_balls(bits):
                    return None
                if (found := self.by_balls(self.draw(READABLE, scale), bits)) is not None:
                    return found
            bits *= 4
        return None

    def _outputs_cost(self, number: int, bits: int) -> float:
        return outputs_cost(self.evaluated[number], bits, combined=not self.weights[number].as_given)

    def affords_balls(self, bits: int) -> bool:
        """Return whether outputs in balls of so many bits can be had: there are `t x t` scores in each head."""
        known = self.shapes[0].normalization is None or self.shapes[0].normalization.function is not None
        return known and self._few_tokens and self.work.allows(self.balls_cost(bits))

    def balls_cost(self, bits: int) -> float:
        """Return seconds for the outputs of both in balls of so many bits, at one input."""
        return sum(self._outputs_cost(number, bits) for number in range(2))

    @property
    def polynomial(self) -> bool:
        """Whether these are lightning networks, shallow enough for exact outputs."""
        if self.shapes[0].normalization is not None or not self._few_tokens:
            return False
        return self.work.allows(2 * self.evaluations * self.exact_cost(LARGE_INPUT))

    @property
    def _few_tokens(self) -> bool:
        return 200 * self.evaluated[0].tokens ** 2 <= DEFAULT_MEMORY

    def exact_cost(self, bound: int) -> float:
        """Return seconds for exact outputs of both, whatever the bound."""
        del bound
        return sum(exact_outputs_cost(s, bits) for s, bits in zip(self.evaluated, self.lengths, strict=True))

    @property
    def has_polynomials(self) -> bool:
        """Whether these are lightning networks that are compared at all tokens."""
        return self.shapes[0].normalization is None and self.prefix is None

    def undecided(self) -> Comparison:
        """Return what is said where nothing was proved: how far outputs agreed."""
        if self.large and self.prefix is None:
            return super().undecided()
        found = Comparison(Answer.UNDECIDED, Reason.AGREEMENT, evaluations=self.agreed)
        return replace(found, distance=self.distance, precision=self.bits or None, prefix=self.prefix)


def _moderate(weights: Weights, shape: Architecture) -> Iterator[int]:
    """Yield for each head the power of two by which inputs are divided so that its scores are about 1, roughly."""
    held = weights.all_held

    def size(*names: str) -> float:
        return sum(_size(held[name]) for name in names)

    stream = size("E") if "E" in held else 0.0
    for i in range(1, shape.depth + 1):
        written = stream if shape.skip else -inf
        for name in (shape.head_name(i, h) for h in range(1, shape.heads + 1)):
            scores = 2 * stream + size("Q" + name, "K" + name)
            if isfinite(scores):
                yield round(scores / 2)
            values = size(*(letter + name for letter in "VO" if letter + name in held))
            written = max(written, stream + values)
        stream = written


def _size(matrix: npt.NDArray[Any]) -> float:
    """Return the logarithm of the largest absolute value, to the base 2; for zero that of nothing."""
    if is_plain(matrix):
        largest = float(abs(matrix.astype(float)).max())
        return log2(largest) if largest else -inf
    largest = max((abs(x) for x in matrix.ravel()), default=0)
    return log2(largest.numerator) - log2(largest.denominator) if largest else -inf


def _length(matrix: npt.NDArray[Any]) -> int:
    """Return bits of the longest entry over a common denominator."""
    return dyadic_bits(matrix) if is_plain(matrix) else RationalMatrix.of(matrix).bits
