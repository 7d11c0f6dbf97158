"""Do two networks compute the same function? By a symmetry, by all coefficients, or by an input where they differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.connection import connect, with_weights
from lightning_sym.fibers.cost import entry_bits, evaluation_cost, fraction_bits, solving_cost, virtual_weights_cost
from lightning_sym.fibers.transformer_cost import coefficients_cost
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.attention import forward
from lightning_sym.network.virtual_weights import VirtualWeights, rational_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

__all__ = ["Answer", "Comparison", "Reason", "same_function"]

COEFFICIENT_MEMORY = 2**25
"""Bytes that the polynomials may take when all coefficients are compared; a few seconds of work."""

SMALL_INPUT, LARGE_INPUT = 3, 2**31
"""Largest absolute value of the entries of inputs: first for a readable witness, then for a small error bound."""

SMALL_TRIES = 8
MORE_TRIES = 64
"""Inputs that are tried where the functions are known to differ."""

DEEPEST = 9
"""Deeper networks are compared by their virtual weights only: values have some 3^l digits."""


@dataclass(eq=False)
class _Question:
    """Two networks, and what the strategies share."""

    weights: tuple[Weights, Weights]
    tokens: int
    evaluations: int
    memory: int
    work: Work
    source: random.Random
    virtual: tuple[VirtualWeights, VirtualWeights] = field(init=False)
    zero: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.shapes = [w.architecture(self.tokens) for w in self.weights]
        self.depths = [shape.depth for shape in self.shapes]
        # both before the first: what is refused has not begun
        self.bits = [entry_bits(w) for w in self.weights]
        self.fractions = [fraction_bits(w) for w in self.weights]
        sizes = zip(self.weights, self.bits, self.fractions, strict=True)
        costs = [virtual_weights_cost(w, bits, fractions) for w, bits, fractions in sizes]
        for number, cost in enumerate(costs):
            self.work.spend(cost, "virtual weights", number, 2)
        first, second = (rational_virtual_weights(w) for w in self.weights)
        self.virtual = first, second
        self.zero = [is_zero_function(v, self.tokens) for v in self.virtual]

    def _evaluation_cost(self, bound: int) -> float:
        known = zip(self.weights, self.bits, self.fractions, strict=True)
        return sum(evaluation_cost(w, bits, fractions, self.tokens, bound) for w, bits, fractions in known)

    @property
    def shallow(self) -> bool:
        """Whether the networks can be evaluated."""
        return max(self.depths) <= DEEPEST

    def difference(self, bound: int) -> Comparison | None:
        """Evaluate both at one random integer input, exactly."""
        rows = self.shapes[0].widths[0]
        self.work.spend(self._evaluation_cost(bound), "exact evaluations")
        entries = [[self.source.randint(-bound, bound) for _ in range(self.tokens)] for _ in range(rows)]
        x = np.array(entries, dtype=object)
        one, other = (forward(RationalMatrix.of(x), w.rational_layers) for w in self.weights)
        if one == other:
            return None
        return Comparison(Answer.DIFFERENT, Reason.INPUT, input=x, outputs=(one.fractions(), other.fractions()))

    def witness(self) -> Comparison:
        """An input where the outputs differ, for functions that are known to differ."""
        for _ in range(MORE_TRIES):
            if (found := self.difference(LARGE_INPUT)) is not None:
                return found
        raise ProgramError(f"the functions differ and {MORE_TRIES} evaluations agree")


def _both_zero(question: _Question) -> Comparison | None:
    return Comparison(Answer.SAME, Reason.ZERO) if all(question.zero) else None


def _by_symmetry(question: _Question) -> Comparison | None:
    if question.depths[0] != question.depths[1] or any(question.zero):
        return None
    if (found := connect(*question.virtual, question.tokens)) is None:
        return None
    connection, path = found
    if question.shapes[0] == question.shapes[1] and question.shallow:
        cost = sum(solving_cost(w, b) for w, b in zip(question.weights, question.bits, strict=True))
        if question.work.allows(cost):
            question.work.spend(cost, "the group element")
            connection = with_weights(*question.weights, connection, path)
        else:  # the answer stands without it
            connection = replace(connection, sought=False)
    return Comparison(Answer.SAME, Reason.SYMMETRY, connection)


def _by_inputs(question: _Question) -> Comparison | None:
    tries = question.evaluations if question.shallow else 0
    for bound in [SMALL_INPUT] * (SMALL_TRIES if tries else 0) + [LARGE_INPUT] * tries:
        if (found := question.difference(bound)) is not None:
            return found
    return None


def _by_kind(question: _Question) -> Comparison | None:
    """One is zero and the other is not, or both are homogeneous of different degrees: different, with an input if
    they can be evaluated."""
    one_is_zero = question.zero[0] != question.zero[1]
    if not one_is_zero and (any(question.zero) or question.depths[0] == question.depths[1]):
        return None
    if question.shallow:
        return question.witness()
    return Comparison(Answer.DIFFERENT, Reason.ZERO if one_is_zero else Reason.DEGREE)


def _by_coefficients(question: _Question) -> Comparison | None:
    if not question.shallow:
        return None
    from lightning_sym.network.polynomial_map import polynomial_map  # here: most answers need no coefficients

    cost = sum(coefficients_cost(s, max(b.values())) for s, b in zip(question.shapes, question.bits, strict=True))
    if not question.work.allows(cost):
        return None
    question.work.spend(cost, "all coefficients")
    try:
        first, second = (
            polynomial_map(shape, weights, memory=question.memory).ring_coefficients()
            for shape, weights in zip(question.shapes, question.weights, strict=True)
        )
    except TooLarge:
        return None
    return Comparison(Answer.SAME, Reason.COEFFICIENTS) if first == second else question.witness()


STRATEGIES: tuple[Callable[[_Question], Comparison | None], ...] = (
    _both_zero,
    _by_symmetry,
    _by_inputs,
    _by_kind,
    _by_coefficients,
)
"""Each gives an answer that it has proved, or none; the first answer stands."""


def same_function(
    first: Weights,
    second: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    evaluations: int = 8,
    memory: int = COEFFICIENT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Comparison:
    """Whether two networks compute the same function of inputs with `tokens` tokens.

    Depths, inner widths and numbers of heads may differ; the form (normalization, mask, skip connections) may not.
    Nothing is rounded up: without a symmetry, an input or a theorem the answer is undecided. Plain lightning networks:
    equal virtual weights, up to Eq. 13, mean equal functions for every number of tokens. One softmax head a layer and
    no skip connections: docs/softmax-fibers.md, Theorems 1 and 4, decides. All others: streams that move together in
    all layers mean equal functions (docs/transformer-fibers.md, Theorem 1), also after heads are merged, left out or
    moved to earlier layers; balls that contain the outputs for an input and do not meet, or exact outputs of lightning
    networks, mean different ones; one softmax layer is decided by Theorem 8 there, and more layers by Theorem 4,
    Corollary 5 and Theorem 11 where one network fulfils their conditions.

    Args:
        first: exact weights.
        second: exact weights.
        tokens: $t$.
        seed: picks the inputs.
        evaluations: how many inputs of lightning networks to try with entries between -2^31 and 2^31.
        memory: bytes that the polynomials may take, by an estimate made before.
        work: seconds that all exact work may take, by a rough estimate made before each step; the matrices that map
            one network to the other are left out where they would take more.
        progress: called with stage, steps done and steps in all.

    Raises:
        ShapeError: input or output widths differ.
        BadInput: the networks are not of one form, or there are letters.
        TooLarge: the estimate exceeds `work`, or `tokens` need more memory than there is.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> double = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> same_function(w, half).answer, same_function(w, double).answer
        (<Answer.SAME: 'same'>, <Answer.DIFFERENT: 'different'>)
    """
    require_arguments(same_function, locals())
    for weights in (first, second):
        weights.require_numbers("whether two networks have the same function")
    require_integer(tokens, "the number of tokens", 1)
    shapes = first.architecture(tokens), second.architecture(tokens)
    for what in ("input", "output"):
        widths = [getattr(shape, f"{what}_width") for shape in shapes]
        if widths[0] != widths[1]:
            raise ShapeError(f"both networks must have the same {what} width, got {widths[0]} and {widths[1]}")
    require_integer(evaluations, "the number of evaluations")
    require_integer(seed, "the seed")
    budget = Work(work, progress)
    if first == second and not shapes[0].is_plain:
        return Comparison(Answer.SAME, Reason.IDENTICAL, networks=shapes)
    if first.form != second.form:
        raise BadInput(f"both networks must be of one form, got {first.form} and {second.form}")
    if not (shapes[0].is_plain and shapes[1].is_plain):
        from lightning_sym.fibers.pair import Pair
        from lightning_sym.fibers.same_transformers import compare  # here: plain networks need none of its files

        pair = Pair((first, second), tokens, evaluations, memory, budget, random.Random(seed))
        return replace(compare(pair), networks=shapes)
    # an evaluation forms t x t scores, exact numbers each
    require_memory(200 * tokens * tokens, DEFAULT_MEMORY, f"an exact evaluation at {tokens:,} tokens")
    question = _Question((first, second), tokens, evaluations, memory, budget, random.Random(seed))
    for strategy in STRATEGIES:
        if (found := strategy(question)) is not None:
            return replace(found, networks=shapes)
    tried = evaluations if question.shallow else 0
    bound_each = min(Fraction(1), Fraction(max(shape.degree for shape in shapes), 2 * LARGE_INPUT + 1))
    return Comparison(
        Answer.UNDECIDED, Reason.EVALUATIONS, evaluations=tried, error_bound=bound_each**tried, networks=shapes
    )
