"""Where no theorem applies: a learning coefficient between half of a rank and half of what is left beside the fiber."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from lightning_sym.coefficients.any_depth import orbit_of_bases, rank_by_conditions
from lightning_sym.coefficients.asked_weights import AtWeights
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.lightning_layer import PAGE
from lightning_sym.coefficients.local_pairs import NOTHING, LocalPair
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.fiber import fiber_within
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_differential import differential_rank


def two_bounds(question: AtWeights) -> LearningCoefficient:
    """Bounds at any weights, by Proposition 3 of the page.

    From below a rank; from above the fiber, all weights with the same circuits that are seen, and their symmetries.

    Args:
        question: the network.
    """
    parameters, rank, fiber = question.shape.parameter_count, 0, 0
    for more_rank, more_fiber in _dimensions(question):
        rank, fiber = max(rank, more_rank), max(fiber, more_fiber)
        if rank + fiber == parameters:
            break
    upper = min([Fraction(parameters - fiber, 2), *_zero_blocks(question)])
    lower = max(question.least, Fraction(rank, 2))
    ranks = {"weights": parameters, "rank of the Jacobian": rank, "dimension of the fiber": fiber}
    return LearningCoefficient(lower, upper, 1 if lower == upper else None, f"{PAGE}, Proposition 3", "", ranks)


def _zero_blocks(question: AtWeights) -> Iterator[Fraction]:
    """Half of what a block of weights that are zero counts, over the degree of the function in it.

    Of lightning without skip connections: what is behind `E`, or layer `i`, is of degree three in what it reads, so of
    degree `3^(l - i)` in all values, or queries, keys, projections of the layer.
    """
    shape, matrices = question.shape, question.weights.matrices
    if shape.normalization is not None or shape.skip:
        return
    blocks = [
        ({letter + name for name in question.names(i)}, i) for i in range(1, shape.depth + 1) for letter in "QKVO"
    ]
    for names, i in [({"E"}, 0), ({"U"}, shape.depth), *blocks]:
        block = [matrix for name, matrix in matrices.items() if name in names]
        if block and not any(matrix.any() for matrix in block):
            yield Fraction(sum(matrix.size for matrix in block), 2 * 3 ** (shape.depth - i))


def _dimensions(question: AtWeights) -> Iterator[tuple[int, int]]:
    """Lower bounds of the rank of the Jacobian, and of the dimension of the fiber."""
    weights, shape, budget = question.weights, question.shape, question.budget
    parameters = shape.parameter_count
    yield rank_by_conditions(question), parameters - int(2 * _factors(question).value)
    near = local_dimension(weights, shape.tokens, seed=question.seed, budget=budget)
    if near is not None:
        yield parameters - near.upper, near.lower
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


def _factors(question: AtWeights) -> LocalPair:
    """A pair that is no smaller: that of all circuits that are seen, less the symmetries that are."""
    if (seen := question.seen) is not None:
        return seen.pair()[0].without(orbit_of_bases(question.net, seen))
    pair = NOTHING
    for i, heads in enumerate(question.net.layers, start=1):
        for name, head in zip(question.names(i), heads, strict=True):
            pair += HeadGroup((name,), (head,)).seen()[0]
    ends = (question.weights.matrices[name] for name in "EU" if name in question.weights.matrices)
    return pair + LocalPair.coordinates(sum(end.size for end in ends))
