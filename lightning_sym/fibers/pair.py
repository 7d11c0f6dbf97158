"""Two networks that are compared: their outputs for the same input, in balls or exact."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lightning_sym.errors import BadInput
from lightning_sym.fibers.arrangement import Arrangement
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.cost import outputs_cost
from lightning_sym.limits import DEFAULT_MEMORY, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.circuits import Circuits
from lightning_sym.network.weights import Weights
from lightning_sym.rings.ball_matrices import BallMatrix, DecimalBall
from lightning_sym.rings.balls import precision
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix

PREFIX = 8
"""Tokens of inputs where `t x t` scores are too many: the first outputs of a causal network are of these alone."""


@dataclass(eq=False)
class Pair:
    """Two networks of one form, and what is found out about them on the way."""

    weights: tuple[Weights, Weights]
    tokens: int
    evaluations: int
    memory: int
    work: Work
    source: random.Random
    shapes: tuple[Architecture, Architecture] = field(init=False)
    prefix: int | None = field(init=False, default=None)
    circuits: tuple[Circuits, Circuits] = field(init=False)
    arrangements: tuple[Arrangement, Arrangement] | None = field(init=False, default=None)
    exact: list[list[RationalMatrix]] = field(init=False)
    evaluated: tuple[Architecture, ...] = field(init=False)
    bits: int = field(init=False, default=0)
    agreed: int = field(init=False, default=0)
    distance: Fraction | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        first, second = self.weights
        self.shapes = first.architecture(self.tokens), second.architecture(self.tokens)
        self.circuits = Circuits.of(first), Circuits.of(second)
        self.exact = [[RationalMatrix.of(m) for m in w.matrices.values()] for w in self.weights]
        cost = 10 * sum(outputs_cost(shape, 128) for shape in self.shapes)
        if self.shapes[0].causal and (200 * self.tokens**2 > DEFAULT_MEMORY or not self.work.allows(cost)):
            self.prefix = min(PREFIX, self.tokens)
        self.evaluated = tuple(w.architecture(self.prefix or self.tokens) for w in self.weights)

    @property
    def form_is_softmax(self) -> bool:
        """Whether the theorems about softmax apply."""
        return self.shapes[0].normalization == SOFTMAX

    def draw(self, bound: int, denominator: int) -> RationalMatrix:
        """A random input."""
        rows, columns = self.shapes[0].input_width, self.evaluated[0].tokens
        entries = [
            [Fraction(self.source.randint(-bound, bound), denominator) for _ in range(columns)] for _ in range(rows)
        ]
        return RationalMatrix.of(entries)

    def by_balls(self, x: RationalMatrix, bits: int) -> Comparison | None:
        """Whether balls tell the outputs apart."""
        for number, shape in enumerate(self.evaluated):
            self.work.spend(outputs_cost(shape, bits), f"outputs in balls of {bits} bits", number, 2)
        if bits > self.bits:  # what is said of agreement is about the highest precision
            self.bits, self.agreed, self.distance = bits, 0, None
        with precision(bits):
            one, other = (
                network_output(BallMatrix.of(x), shape, map(BallMatrix.of, matrices))
                for shape, matrices in zip(self.evaluated, self.exact, strict=True)
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
        entry = place[0] + 1, place[1] + 1
        found = Comparison(Answer.DIFFERENT, Reason.BALLS, input=x.fractions(), outputs=outputs)
        return replace(found, entry=entry, precision=bits, prefix=self.prefix)

    def exactly(self, x: RationalMatrix) -> Comparison | None:
        """Whether exact outputs of lightning networks differ."""
        one, other = (network_output(x, s, m) for s, m in zip(self.evaluated, self.exact, strict=True))
        if one == other:
            self.agreed += 1
            return None
        outputs = one.fractions(), other.fractions()
        return Comparison(Answer.DIFFERENT, Reason.INPUT, input=x.fractions(), outputs=outputs, prefix=self.prefix)

    def affords_balls(self, bits: int) -> bool:
        """Whether outputs in balls of so many bits can be had: there are `t x t` scores in each head."""
        known = self.shapes[0].normalization is None or self.shapes[0].normalization.function is not None
        cost = sum(outputs_cost(shape, bits) for shape in self.evaluated)
        return known and self._few_tokens and self.work.allows(cost)

    @property
    def polynomial(self) -> bool:
        """Whether these are lightning networks, shallow enough for exact outputs."""
        if self.shapes[0].normalization is not None or not self._few_tokens:
            return False
        return self.work.allows(2 * self.evaluations * self._exact_cost())

    @property
    def _few_tokens(self) -> bool:
        return 200 * self.evaluated[0].tokens ** 2 <= DEFAULT_MEMORY

    def _exact_cost(self) -> float:
        return sum(
            outputs_cost(s, 3**s.depth * longest_bits(m)) for s, m in zip(self.evaluated, self.exact, strict=True)
        )


def longest_bits(matrices: Iterable[RationalMatrix]) -> int:
    """Bits of the longest entry."""
    return max(m.bits for m in matrices)
