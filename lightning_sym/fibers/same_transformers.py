"""Do two networks with heads, skip connections, masks, embeddings or normalized scores compute the same function?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy.typing as npt

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.arrangement import Arrangement, arranged, padded
from lightning_sym.fibers.common_streams import common_streams
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.cost import arrangement_cost, outputs_cost, streams_cost, streams_memory
from lightning_sym.fibers.softmax import first_difference
from lightning_sym.fibers.stream_symmetry import StreamSymmetry, group_element, head_classes
from lightning_sym.limits import DEFAULT_MEMORY, Work, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.circuits import Circuits
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.ball_matrices import BallMatrix, DecimalBall, LaterBalls
from lightning_sym.rings.balls import precision
from lightning_sym.rings.dyadic import dyadic_bits, is_plain
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.symmetries.group import head_name

FIRST_BITS, MOST_BITS = 128, 2048
"""Precisions of balls: four times as high each time that the outputs could not be told apart."""

READABLE = 3
"""Largest absolute value of the integers that inputs are made of; they are divided by powers of two."""

INPUT_SCALES = (1, 4, 16, 64, 256)
"""Denominators of inputs: where scores are large, softmax attends to one token alone, and outputs hardly differ."""

WIDE = Fraction(1, 2**16)
"""Outputs that may be farther apart are worth more bits at once."""

LARGE_INPUT = 2**31
"""Entries of integer inputs of lightning networks, for a small error bound."""


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
    circuits: tuple[Circuits, Circuits] = field(init=False)
    arrangements: tuple[Arrangement, Arrangement] | None = field(init=False, default=None)
    lengths: list[int] = field(init=False)
    bits: int = field(init=False, default=0)
    agreed: int = field(init=False, default=0)
    distance: Fraction | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        first, second = self.weights
        self.shapes = first.architecture(self.tokens), second.architecture(self.tokens)
        self.circuits = Circuits.of(first), Circuits.of(second)
        self.lengths = [max(map(_length, w.all_held.values())) for w in self.weights]

    @cached_property
    def exact(self) -> list[list[RationalMatrix]]:
        """All matrices.

        Raises:
            TooLarge: there are too many entries.
        """
        return [[RationalMatrix.of(m) for m in w.matrices.values()] for w in self.weights]

    def in_balls(self, number: int) -> list[BallMatrix] | list[LaterBalls]:
        """All matrices of a network; those of a large one when they are needed."""
        if self.weights[number].too_many:
            return list(map(LaterBalls, self.weights[number].all_held.values()))
        return list(map(BallMatrix.of, self.exact[number]))

    @property
    def form_is_softmax(self) -> bool:
        """Whether the theorems about softmax apply."""
        return self.shapes[0].normalization == SOFTMAX

    def draw(self, bound: int, denominator: int) -> RationalMatrix:
        """A random input."""
        rows, columns = self.shapes[0].input_width, self.tokens
        entries = [
            [Fraction(self.source.randint(-bound, bound), denominator) for _ in range(columns)] for _ in range(rows)
        ]
        return RationalMatrix.of(entries)

    def by_balls(self, x: RationalMatrix, bits: int) -> Comparison | None:
        """Whether balls tell the outputs apart."""
        for number in range(2):
            self.work.spend(self._outputs_cost(number, bits), f"outputs in balls of {bits} bits", number, 2)
        if bits > self.bits:  # what is said of agreement is about the highest precision
            self.bits, self.agreed, self.distance = bits, 0, None
        with precision(bits):
            one, other = (
                network_output(BallMatrix.of(x), shape, self.in_balls(number))
                for number, shape in enumerate(self.shapes)
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
        return replace(found, entry=entry, precision=bits)

    def exactly(self, x: RationalMatrix) -> Comparison | None:
        """Whether exact outputs of lightning networks differ."""
        one, other = (network_output(x, s, m) for s, m in zip(self.shapes, self.exact, strict=True))
        if one == other:
            self.agreed += 1
            return None
        outputs = one.fractions(), other.fractions()
        return Comparison(Answer.DIFFERENT, Reason.INPUT, input=x.fractions(), outputs=outputs)

    def _outputs_cost(self, number: int, bits: int) -> float:
        return outputs_cost(self.shapes[number], bits, combined=not self.weights[number].too_many)

    def affords_balls(self, bits: int) -> bool:
        """Whether outputs in balls of so many bits can be had: there are `t x t` scores in each head."""
        known = self.shapes[0].normalization is None or self.shapes[0].normalization.function is not None
        cost = sum(self._outputs_cost(number, bits) for number in range(2))
        return known and 200 * self.tokens**2 <= DEFAULT_MEMORY and self.work.allows(cost)

    @property
    def polynomial(self) -> bool:
        """Whether these are lightning networks, shallow enough for exact outputs."""
        if self.shapes[0].normalization is not None or 200 * self.tokens**2 > DEFAULT_MEMORY:
            return False
        return self.work.allows(2 * self.evaluations * self._exact_cost())

    def _exact_cost(self) -> float:
        return sum(outputs_cost(s, 3**s.depth * bits) for s, bits in zip(self.shapes, self.lengths, strict=True))


def _length(matrix: npt.NDArray[Any]) -> int:
    """Bits of the longest entry over a common denominator."""
    return dyadic_bits(matrix) if is_plain(matrix) else RationalMatrix.of(matrix).bits


def _names(shape: Architecture) -> list[list[str]]:
    return [[head_name(shape, i, h) for h in range(shape.heads)] for i in range(shape.depth)]


def _by_few_inputs(pair: Pair) -> Comparison | None:
    """Different networks are most often told apart at once."""
    for scale in INPUT_SCALES[::3]:
        found = pair.exactly(pair.draw(READABLE, 1)) if pair.polynomial else _with_bits_enough(pair, scale)
        if found is not None:
            return found
    return None


def _with_bits_enough(pair: Pair, scale: int) -> Comparison | None:
    """Balls at one input, with more bits as long as they are too large to say anything."""
    bits = FIRST_BITS
    if not pair.affords_balls(bits):
        return None
    x = pair.draw(READABLE, scale)
    while bits <= MOST_BITS and pair.affords_balls(bits):
        if (found := pair.by_balls(x, bits)) is not None:
            return found
        if pair.distance is not None and pair.distance < WIDE:
            return None
        bits *= 4
    return None


def _by_streams(pair: Pair) -> Comparison | None:
    first, second = pair.circuits
    if pair.shapes[0].depth != pair.shapes[1].depth:
        return None
    for number, (shape, bits) in enumerate(zip(pair.shapes, pair.lengths, strict=True)):
        pair.work.spend(streams_cost(shape, bits), "common streams", number, 2)
    needed = sum(streams_memory(s, bits, s.heads) for s, bits in zip(pair.shapes, pair.lengths, strict=True))
    require_memory(needed, DEFAULT_MEMORY, "the heads of a layer")
    streams = common_streams(first, second, pair.tokens, pair.work.tell)
    if not streams.same:
        return None
    symmetry = StreamSymmetry(head_classes(streams, (_names(pair.shapes[0]), _names(pair.shapes[1]))))
    element = group_element(*pair.weights, pair.circuits, streams)
    return Comparison(
        Answer.SAME, Reason.STREAMS, symmetry=symmetry if element is None else replace(symmetry, **element)
    )


def _by_virtual_weights(pair: Pair) -> Comparison | None:
    """Softmax, one head in each layer and no skip connections: docs/softmax-fibers.md, Theorems 1 and 4."""
    if not pair.form_is_softmax or pair.shapes[0].skip or pair.shapes[0].heads > 1 or pair.shapes[1].heads > 1:
        return None
    for number, (shape, bits) in enumerate(zip(pair.shapes, pair.lengths, strict=True)):
        pair.work.spend(streams_cost(shape, shape.depth * bits), "virtual weights", number, 2)
    return _decided_by_virtual_weights(pair, pair.circuits)


def _decided_by_virtual_weights(pair: Pair, circuits: tuple[Circuits, Circuits]) -> Comparison:
    one, other = map(_virtual_weights, circuits)
    differing = first_difference(one, other, pair.tokens, pair.shapes[0].causal)
    answer = Answer.SAME if differing is None else Answer.DIFFERENT
    return Comparison(answer, Reason.VISIBLE, differing=differing)


def _virtual_weights(circuits: Circuits) -> VirtualWeights:
    """Of one head a layer: scores and output in terms of the input."""
    stream, attention = circuits.embed, []
    for [head] in map(list, circuits.layers):
        attention.append((stream.mT @ head.attention @ stream).fractions())
        stream = head.value @ stream
    return VirtualWeights(tuple(attention), (circuits.unembed @ stream).fractions())


def _by_arrangement(pair: Pair) -> Comparison | None:
    """Heads merged, left out and moved to earlier layers, in both."""
    for shape, bits in zip(pair.shapes, pair.lengths, strict=True):
        cost = arrangement_cost(shape, bits)
        needed = streams_memory(shape, bits, shape.depth * shape.heads)
        if not pair.work.allows(cost) or needed > DEFAULT_MEMORY // 2:
            return None
        pair.work.spend(cost, "heads in the earliest layers")
    one, other = (arranged(circuits, pair.tokens) for circuits in pair.circuits)
    pair.arrangements = one, other
    if one.zero and other.zero:
        return Comparison(Answer.SAME, Reason.ZERO)
    if one.zero != other.zero:
        return None
    first, second = one.circuits, other.circuits
    heads = [len(list(layer)) for c in (first, second) for layer in c.layers]
    if pair.form_is_softmax and not pair.shapes[0].skip and all(n == 1 for n in heads):
        return _decided_by_virtual_weights(pair, (first, second))
    if (both := padded(first, second)) is None:
        return None
    streams = common_streams(*both, pair.tokens)
    if not streams.same:
        return None
    names = tuple(
        [["+".join(head_name(shape, i - 1, h - 1) for i, h in made_of) for made_of in layer] for layer in a.places]
        + [[]] * (len(both[0].layers) - len(a.places))
        for shape, a in zip(pair.shapes, (one, other), strict=True)
    )
    return Comparison(
        Answer.SAME,
        Reason.STREAMS,
        symmetry=StreamSymmetry(head_classes(streams, names), arranged=True),  # type: ignore[arg-type]
    )


def _by_one_layer(pair: Pair) -> Comparison | None:
    """Softmax, one layer: streams that do not move together are different functions, by Theorem 8."""
    if not pair.form_is_softmax:
        return None
    depths = [shape.depth for shape in pair.shapes]
    if pair.arrangements is not None:
        both = padded(*(a.circuits for a in pair.arrangements))
        depths = depths if both is None else [len(c.layers) for c in both]
    if max(depths) > 1:
        return None
    found = _by_inputs(pair, FIRST_BITS)
    return Comparison(Answer.DIFFERENT, Reason.ONE_LAYER) if found is None else found


def _by_inputs(pair: Pair, most_bits: int = MOST_BITS) -> Comparison | None:
    if pair.polynomial:
        return next(
            (c for _ in range(pair.evaluations) if (c := pair.exactly(pair.draw(LARGE_INPUT, 1))) is not None), None
        )
    bits = FIRST_BITS
    while bits <= most_bits:
        for scale in INPUT_SCALES:
            if not pair.affords_balls(bits):
                return None
            if (found := pair.by_balls(pair.draw(READABLE, scale), bits)) is not None:
                return found
        bits *= 4
    return None


def _by_coefficients(pair: Pair) -> Comparison | None:
    """Lightning networks that are small: all coefficients of both polynomials."""
    if not pair.polynomial:
        return None
    try:
        first, second = (
            polynomial_map(shape, weights, memory=pair.memory).ring_coefficients()
            for shape, weights in zip(pair.shapes, pair.weights, strict=True)
        )
    except TooLarge:
        return None
    if first == second:
        return Comparison(Answer.SAME, Reason.COEFFICIENTS)
    while True:
        if (found := pair.exactly(pair.draw(LARGE_INPUT, 1))) is not None:
            return found


STRATEGIES: tuple[Callable[[Pair], Comparison | None], ...] = (
    _by_virtual_weights,
    _by_few_inputs,
    _by_streams,
    _by_arrangement,
    _by_one_layer,
    _by_inputs,
    _by_coefficients,
)
"""Each gives an answer that it has proved, or none; the first answer stands."""


def compare(pair: Pair) -> Comparison:
    """The first answer that is proved, else undecided with what was tried."""
    for strategy in STRATEGIES:
        if (found := strategy(pair)) is not None:
            return found
    if pair.shapes[0].normalization is None and pair.polynomial:
        each = min(Fraction(1), Fraction(max(s.degree for s in pair.shapes), 2 * LARGE_INPUT + 1))
        tried = pair.evaluations
        return Comparison(Answer.UNDECIDED, Reason.EVALUATIONS, evaluations=tried, error_bound=each**tried)
    found = Comparison(Answer.UNDECIDED, Reason.AGREEMENT, evaluations=pair.agreed)
    return replace(found, distance=pair.distance, precision=pair.bits or None)
