"""Where no theorem applies: a learning coefficient between half of a rank and half of what is left beside the fiber."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

from lightning_sym.coefficients.any_depth import orbit_of_bases, rank_by_conditions
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.lightning_heads import rank_of_heads
from lightning_sym.coefficients.lightning_layer import PAGE
from lightning_sym.coefficients.local_pairs import LocalPair
from lightning_sym.coefficients.seen_circuits import AtWeights, SeenCircuits
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.fiber import fiber_within
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_differential import differential_rank


def two_bounds(question: AtWeights, *, counted: bool = True) -> LearningCoefficient:
    """Return bounds at any weights, by Proposition 3 of the page.

    Args:
        question: the network.
        counted: also by circuits that are seen; else by Jacobians and fibers alone, in which no theorem about learning
            coefficients has a part.
    """
    parameters, rank, fiber = question.shape.parameter_count, 0, 0
    for more_rank, more_fiber in chain(_rank_and_fiber_bounds(question), _counted(question) if counted else ()):
        rank, fiber = max(rank, more_rank), max(fiber, more_fiber)
        if rank + fiber == parameters:
            break
    half, upper = Fraction(rank, 2), min([Fraction(parameters - fiber, 2), *_bounds_of_zero_blocks(question)])
    lower, proof = half, f"{PAGE}, Proposition 3"
    if counted and (question.least > half or any(most < upper for most in question.most)):
        lower, upper = max(half, question.least), min([upper, *question.most])
        proof = "; ".join([proof, *question.statements])
    ranks = {"weights": parameters, "rank of the Jacobian": rank, "dimension of the fiber": fiber}
    return LearningCoefficient(lower, upper, 1 if half == upper else None, proof, "", ranks)


def _bounds_of_zero_blocks(question: AtWeights) -> Iterator[Fraction]:
    """Yield half of what a block of zero weights counts, over the power of it that the function is small like.

    That is 1 for `U`, for `E` with skip connections, and of softmax for `E` and all values or projections of a layer. A
    lightning layer cubes what it reads: `3^(l - i)` for all values, or queries, keys, projections of layer `i`.
    """
    shape, matrices = question.shape, question.weights.matrices
    power, letters = (3, "QKVO") if shape.normalization is None else (1, "VO")
    layers = () if shape.skip else range(1, shape.depth + 1)
    blocks = [({letter + name for name in question.shape.head_names(i)}, i) for i in layers for letter in letters]
    for names, i in [({"E"}, shape.depth if shape.skip else 0), ({"U"}, shape.depth), *blocks]:
        block = [matrix for name, matrix in matrices.items() if name in names]
        if block and not any(matrix.any() for matrix in block):
            yield Fraction(sum(matrix.size for matrix in block), 2 * power ** (shape.depth - i))


def _rank_and_fiber_bounds(question: AtWeights) -> Iterator[tuple[int, int]]:
    """Yield lower bounds of the rank of the Jacobian, each with one of the dimension of the fiber."""
    weights, shape, budget = question.weights, question.shape, question.budget
    parameters = shape.parameter_count
    near = local_dimension(weights, shape.tokens, seed=question.seed, budget=budget)
    if near is not None:
        yield parameters - near.upper, near.lower
    else:
        yield rank_of_heads(question), 0
    if shape.normalization is not None or shape.heads > 1:
        return
    try:
        if shape.is_plain:
            generic = virtual_weight_variety(shape).dimension
            yield differential_rank(weights, shape.tokens, generic, budget) or 0, 0
        found = fiber_within(AskedFiber(weights, shape.tokens, budget, question.seed, question.memory, None)).near
    except TooLarge:
        return
    if found is not None:
        yield 0, found.lower


def _counted(question: AtWeights) -> Iterator[tuple[int, int]]:
    """Yield the same by circuits: those that conditions show to be seen, and all weights with the same ones."""
    yield 0, question.shape.parameter_count - int(2 * _factors(question).value)
    yield rank_by_conditions(question), 0


def _factors(question: AtWeights) -> LocalPair:
    """Return a pair that is no smaller: that of all circuits that are seen, less the symmetries that are."""
    if (seen := question.seen) is not None:
        return seen.pair()[0].without(orbit_of_bases(question.net, seen))
    layers = enumerate(question.net.layers, start=1)
    heads = ([*zip(question.shape.head_names(i), layer, strict=True)] for i, layer in layers)
    groups = tuple(tuple(HeadGroup((name,), (head,)) for name, head in layer) for layer in heads)
    ends = {name: end for name, end in question.net.ends.items() if name in question.weights.matrices}
    return SeenCircuits(groups, ends).pair()[0]
