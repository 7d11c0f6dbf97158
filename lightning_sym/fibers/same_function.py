"""Do two networks compute the same function? By a symmetry, by all coefficients, or by an input where they differ."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import LaterRows, Need, TheoremPrice, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.connection import connect, with_weights
from lightning_sym.fibers.cost import evaluation_cost, number_bits, solving_cost, virtual_weights_cost
from lightning_sym.fibers.pair import LARGE_INPUT, Pair, by_coefficients, coefficients_price
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.virtual_weights import VirtualWeights, rational_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

with lazy_imports(__name__):  # plain networks need none of these files
    from lightning_sym.fibers import ball_pair, same_transformers

__all__ = ["Answer", "Comparison", "Reason", "same_function"]

COEFFICIENT_MEMORY = 2**25
"""Bytes that the polynomials may take when all coefficients are compared; a few seconds of work."""

SMALL_INPUT, SMALL_TRIES = 3, 8
"""Largest absolute value of the entries of the first inputs, for a readable witness, and how many there are."""

DEEPEST = 9
"""Deeper networks are compared by their virtual weights only: values have some 3^l digits."""


class PlainPair(Pair):
    """Two lightning networks with one head and nothing added, and what they depend on."""

    is_plain = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # an evaluation forms t x t scores, exact numbers each
        require_memory(200 * self.tokens**2, DEFAULT_MEMORY, f"an exact evaluation at {self.tokens:,} tokens")
        self._bits = [number_bits(w) for w in self.weights]

    @cached_property
    def exact(self) -> list[list[RationalMatrix]]:
        """All matrices, those that the virtual weights were made of."""
        return [[matrix for layer in w.rational_layers for matrix in layer] for w in self.weights]

    @cached_property
    def lengths(self) -> list[int]:
        """Bits of the longest entry of either."""
        return [max(bits.values()) for bits, _ in self._bits]

    @cached_property
    def virtual(self) -> tuple[VirtualWeights, VirtualWeights]:
        """The virtual weights of both."""
        first, second = (rational_virtual_weights(w) for w in self.weights)
        return first, second

    @cached_property
    def zero(self) -> list[bool]:
        """Which of them is the zero function."""
        return [is_zero_function(virtual, self.tokens) for virtual in self.virtual]

    @property
    def has_polynomials(self) -> bool:
        """Whether the networks can be evaluated."""
        return max(shape.depth for shape in self.shapes) <= DEEPEST

    def exact_cost(self, bound: int) -> float:
        """Return seconds for exact outputs of both at integers up to `bound`."""
        known = zip(self.weights, self._bits, strict=True)
        return sum(evaluation_cost(w, *bits, self.tokens, bound) for w, bits in known)

    def by_inputs(self) -> Comparison | None:
        """Return an input where exact outputs differ, small ones first."""
        tries = [SMALL_INPUT] * (SMALL_TRIES if self.evaluations else 0) + [LARGE_INPUT] * self.evaluations
        tried = (self.exactly(bound) for bound in tries if self.has_polynomials)
        return next((found for found in tried if found is not None), None)

    def virtual_price(self) -> TheoremPrice:
        """Return what the virtual weights cost; all that is said needs them."""
        steps = tuple(virtual_weights_cost(w, *bits) for w, bits in zip(self.weights, self._bits, strict=True))
        return TheoremPrice(steps, "virtual weights", is_needed=True)

    def solving_cost(self) -> float:
        """Return seconds for the group element that leads from one to the other."""
        return sum(solving_cost(w, bits) for w, (bits, _) in zip(self.weights, self._bits, strict=True))


def _both_zero(pair: PlainPair) -> Comparison | None:
    return Comparison(Answer.SAME, Reason.ZERO) if all(pair.zero) else None


def _by_symmetry(pair: PlainPair) -> Comparison | None:
    if (found := connect(*pair.virtual, pair.tokens)) is None:
        return None
    connection, path = found
    if pair.shapes[0] == pair.shapes[1] and pair.has_polynomials:
        if pair.work.begins(pair.solving_cost(), "the group element"):
            connection = with_weights(*pair.weights, connection, path)
        else:  # the answer stands without it
            connection = replace(connection, sought=False)
    return Comparison(Answer.SAME, Reason.SYMMETRY, connection)


def _by_kind(pair: PlainPair) -> Comparison | None:
    """Return that one is zero and the other is not, or the degrees differ, with an input if they can be evaluated."""
    if pair.zero[0] == pair.zero[1] and (any(pair.zero) or pair.of_one_depth):
        return None
    reason = Reason.ZERO if any(pair.zero) else Reason.DEGREE
    return pair.witness() if pair.has_polynomials else Comparison(Answer.DIFFERENT, reason)


SAME: tuple[TheoremRow[Any, Comparison] | LaterRows[Any, Comparison], ...] = (
    TheoremRow("", lambda pair: pair.is_plain, PlainPair.virtual_price, _both_zero),
    TheoremRow(
        "Theorem 3.7, Eq. 13", lambda pair: pair.is_plain, paid_by_steps, _by_symmetry,
        "no moves and no rescaling lead from the virtual weights of one network to those of the other",
        (
            Need("functions that are not zero", lambda pair: not any(pair.zero)),
            Need(
                "as many layers in both", lambda pair: pair.of_one_depth,
                lambda pair: " and ".join(str(shape.depth) for shape in pair.shapes),
            ),
        ),
    ),
    LaterRows(lambda pair: not pair.is_plain, lambda: same_transformers.TRANSFORMERS),
    TheoremRow("", any_question, paid_by_steps, lambda pair: pair.by_inputs()),
    TheoremRow("", lambda pair: pair.is_plain, paid_by_steps, _by_kind),
    TheoremRow("", lambda pair: pair.has_polynomials, coefficients_price, by_coefficients),
)  # fmt: skip
"""In the order of asking."""


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
    """Return whether two networks compute the same function of inputs with `tokens` tokens.

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
    for shape in shapes:
        shape.require("whether two networks have the same function", SHAPED)
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
    are_plain = shapes[0].is_plain and shapes[1].is_plain
    pair_of: type[Pair] = PlainPair if are_plain else ball_pair.PairInBalls
    pair = pair_of((first, second), tokens, evaluations, memory, budget, seed)
    found, tried = ask(pair, SAME, budget)
    return replace(pair.undecided() if found is None else found, networks=shapes, tried=(*tried, *pair.tried))
