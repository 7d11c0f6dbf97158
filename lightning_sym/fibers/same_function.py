"""Do two networks compute the same function? By a symmetry, by all coefficients, or by an input where they differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from fractions import Fraction
from typing import NoReturn

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result
from lightning_sym.errors import ProgramError, ShapeError, TooLarge, no_truth_value
from lightning_sym.fibers.comparison_text import comparison_latex, comparison_lines
from lightning_sym.fibers.connection import Connection, connect, with_weights
from lightning_sym.fibers.cost import entry_bits, evaluation_cost, fraction_bits, solving_cost, virtual_weights_cost
from lightning_sym.fibers.softmax import PROVED, first_difference
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.ambient import count_terms_at_most
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import forward
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix

COEFFICIENT_MEMORY = 2**25
"""Bytes that the polynomials may take when all coefficients are compared; a few seconds of work."""

SMALL_INPUT, LARGE_INPUT = 3, 2**31
"""Largest absolute value of the entries of inputs: first for a readable witness, then for a small error bound."""

COEFFICIENT = 2e-6
"""Seconds for a coefficient, for each word of the weights; measured, and rough."""

SMALL_TRIES = 8
MORE_TRIES = 64
"""Inputs that are tried where the functions are known to differ."""

DEEPEST = 9
"""Deeper networks are compared by their virtual weights only: values have some 3^l digits."""


class Answer(Enum):
    """Whether two networks compute the same function."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "answer is Answer.SAME")


class Reason(StrEnum):
    """What shows the answer, by the word that stands for it in JSON; `message` says it in a line."""

    message: str

    def __new__(cls, word: str, message: str) -> Reason:
        """A word with its line."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.message = message
        return member

    IDENTICAL = "identical", "all weights are equal"
    SYMMETRY = "symmetry", "moves and a rescaling lead from one to the other"
    COEFFICIENTS = "coefficients", "all coefficients agree"
    ZERO = "zero", "both are the zero function, or only one of them is"
    DEGREE = "degree", "neither is zero, and they are homogeneous of different degrees"
    INPUT = "input", "the outputs for an integer input differ"
    VISIBLE = (
        "visible",
        "equal functions have the same visible weights, and only they (docs/softmax-fibers.md)",
    )
    EVALUATIONS = "evaluations", "the outputs for random integer inputs agree, which proves nothing"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    r"""The answer, and what shows it.

    Attributes:
        answer: same, different, or undecided.
        reason: what shows it.
        connection: for `SYMMETRY`, how one is mapped to the other.
        input: for `INPUT`, an integer input, $d_0 \times t$.
        outputs: for `INPUT`, the two outputs for it.
        evaluations: exact evaluations at uniformly random inputs, all in agreement.
        error_bound: the probability that different functions agree that often is at most this (Schwartz-Zippel:
            degree over number of values, each time).
        differing: for `VISIBLE` and different functions, the first virtual weight that they show and do not share,
            such as `A~2`.
        networks: the two networks, where the answer is one of `same_function`.
    """

    answer: Answer
    reason: Reason
    connection: Connection | None = None
    input: ObjectArray | None = None
    outputs: tuple[ObjectArray, ObjectArray] | None = None
    evaluations: int = 0
    error_bound: Fraction = Fraction(1)
    differing: str | None = None
    networks: tuple[Architecture, ...] = ()

    def lines(self) -> Lines:
        """As the command `same` prints it."""
        return comparison_lines(self)

    def _latex(self) -> str:
        return comparison_latex(self)

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "comparison.answer is Answer.SAME")


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
        first, second = (exact_virtual_weights(w) for w in self.weights)
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
        one, other = (
            forward(RationalMatrix.of(x), [Layer(*map(RationalMatrix.of, layer)) for layer in w.layers])
            for w in self.weights
        )
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
    for shape, bits in zip(question.shapes, question.bits, strict=True):
        terms = min(count_terms_at_most(shape, symbolic=False), question.memory // 16)
        question.work.spend(COEFFICIENT * terms * (1 + sum(bits.values()) // 64), "all coefficients")
    try:
        first, second = (
            polynomial_map(shape, weights, memory=question.memory).ring_coefficients()
            for shape, weights in zip(question.shapes, question.weights, strict=True)
        )
    except TooLarge:
        return None
    return Comparison(Answer.SAME, Reason.COEFFICIENTS) if first == second else question.witness()


def _by_visible_weights(first: Weights, second: Weights, tokens: int, work: Work) -> Comparison:
    """Softmax, one head: docs/softmax-fibers.md, Theorem 1 and, with a causal mask, Theorem 4 decide every pair."""
    for number, weights in enumerate((first, second)):
        work.spend(
            virtual_weights_cost(weights, entry_bits(weights), fraction_bits(weights)), "virtual weights", number, 2
        )
    named = (list(weights.matrices.values()) for weights in (first, second))
    one, other = (exact_virtual_weights(Layer(*m[i : i + 3]) for i in range(0, len(m), 3)) for m in named)
    found = first_difference(one, other, tokens, first.form.causal)
    answer = Answer.SAME if found is None else Answer.DIFFERENT
    return Comparison(answer, Reason.VISIBLE, differing=found)


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

    Depths and inner widths may differ. Equal virtual weights, up to Eq. 13, mean equal functions for every number of
    tokens. Nothing is rounded up: without a symmetry, an input or room for all coefficients the answer is undecided.
    One softmax head a layer and nothing else added but a causal mask: docs/softmax-fibers.md, Theorems 1, 4, decides.
    Of other networks only equal weights are known to be the same function.

    Args:
        first: exact weights.
        second: exact weights.
        tokens: $t$.
        seed: picks the inputs.
        evaluations: how many inputs to try with entries between -2^31 and 2^31.
        memory: bytes that the polynomials may take, by an estimate made before.
        work: seconds that all exact work may take, by a rough estimate made before each step; the matrices that map
            one network to the other are left out where they would take more.
        progress: called with stage, steps done and steps in all.

    Raises:
        ShapeError: input or output widths differ.
        BadInput: a network is not decided: masked, with skip connections, several heads or embeddings, or softmax and
            lightning.
        TooLarge: the estimate exceeds `work`, or `tokens` need more memory than there is.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> double = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> same_function(w, half).answer, same_function(w, double).answer
        (<Answer.SAME: 'same'>, <Answer.DIFFERENT: 'different'>)
    """
    require_arguments(same_function, locals())
    shapes = first.architecture(tokens), second.architecture(tokens)
    for what in ("input", "output"):
        widths = [getattr(shape, f"{what}_width") for shape in shapes]
        if widths[0] != widths[1]:
            raise ShapeError(f"both networks must have the same {what} width, got {widths[0]} and {widths[1]}")
    require_integer(evaluations, "the number of evaluations")
    require_integer(seed, "the seed")
    budget = Work(work, progress)
    if not (shapes[0].is_plain and shapes[1].is_plain):
        if first == second:
            return Comparison(Answer.SAME, Reason.IDENTICAL, networks=shapes)
        if first.form == second.form and all(s.options in PROVED and s.normalization == SOFTMAX for s in shapes):
            return replace(_by_visible_weights(first, second, tokens, budget), networks=shapes)
        for weights in (first, second):
            weights.require_plain("whether two networks have the same function")
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
