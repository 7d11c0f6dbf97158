r"""Where no theorem applies: a learning coefficient between half of a rank and half of what is left beside the fiber.

Of one lightning layer with many heads, however large, the rank is bounded from below. Its function is $W(x) A(x)$, for
matrices of linear forms, `outputs x heads` and `heads x width`. What a direction in the kernel of the differential does
to a few outputs and columns fixes what it does to all others, where these are independent
(docs/learning-coefficients.md, Proposition 18): ranks of the size of a few outputs suffice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from lightning_sym.coefficients.any_depth import orbit_of_bases, rank_by_conditions
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.lightning_layer import PAGE
from lightning_sym.coefficients.reduced_rank import FactorRanks, LocalPair
from lightning_sym.coefficients.seen_circuits import AtWeights, SeenCircuits
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.answer import AskedFiber
from lightning_sym.fibers.fiber import fiber_within
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_differential import differential_rank
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.system.circuits import HeadOver, residue_network
from lightning_sym.system.fields import prime_field

MOST_UNKNOWNS, MORE = 3000, 4
"""Entries of a few outputs and columns up to which the rank is asked for, and points beside those that are needed."""

RANK = 2e-10
"""Seconds of a rank modulo a prime, about, by the cube of its size."""

Forms = npt.NDArray[np.int64]
"""Linear forms of the heads at points, `outputs or columns x points x heads`."""


def rank_of_heads(question: AtWeights) -> int:
    """Return a lower bound of the rank of the Jacobian, 0 but for one lightning layer with two tokens or more."""
    shape = question.shape
    if shape.depth > 1 or shape.tokens < 2 or (shape.normalization, shape.embed, shape.unembed) != (None, None, None):
        return 0
    (heads,) = question.net.layers
    width, behind, count = shape.widths[0], shape.widths[1], shape.heads
    few = [min(size, count + 1) for size in (behind, width)]
    entries, unknowns = count * width, count * width * sum(few)
    if unknowns > MOST_UNKNOWNS or not question.budget.begins(RANK * unknowns**3, "the rank of heads"):
        return 0
    net, p = residue_network(question.weights)
    generator = np.random.default_rng(question.seed)
    enough = -(-width * sum(few) // max(sum(few) - count, 1)) + MORE  # at a point all but count^2 are seen
    points = random_residues(generator, (width, enough), p)
    outputs, columns = (random_residues(generator, (size, n), p) for size, n in zip((behind, width), few, strict=True))
    (own,) = net.layers
    values = np.stack([(head.carried(points).mT @ outputs).residues().T for head in own], axis=-1)
    scores = np.stack([(points.mT @ head.attended(columns)).residues().T for head in own], axis=-1)
    x = points.residues().T
    of_values, of_scores = (_multiples(forms, x, p) for forms in (scores, values))
    rows = [
        [_placed(of_values[j], k, few[0]), _placed(of_scores[k], j, few[1])]
        for k in range(few[0])
        for j in range(few[1])
    ]
    kernel = unknowns - rank_mod_p(np.concatenate([np.concatenate(row, axis=1) for row in rows]), p)
    for forms, others in ((of_values, behind - few[0]), (of_scores, width - few[1])):
        kernel += others * (entries - rank_mod_p(np.concatenate(list(forms)), p))
    groups = [HeadGroup((name,), (head,)) for name, head in zip(question.shape.head_names(1), heads, strict=True)]
    if kernel == count**2 and rank_mod_p(values.reshape(-1, count), p) == count:  # the mixtures of heads
        kernel = sum(count - _not_mixed(own, h, group.score_factors[0], p) for h, group in enumerate(groups))
    return max(sum(group.differential for group in groups) - kernel, 0)


def _not_mixed(heads: Sequence[HeadOver[PrimeFieldMatrix]], place: int, ranks: FactorRanks, p: int) -> int:
    """Return how many conditions its ranks put on what is added to the scores of a head, from scores of the others."""
    own, field = heads[place], prime_field(p)
    keys, queries = (field.no_columns(m.shape[1]).extended(m.mT).orthogonal() for m in (own.key, own.query))
    width = own.query.shape[1]
    if (width - keys.shape[1], width - queries.shape[1]) != (ranks.left, ranks.right):
        return 0  # residues are of a smaller rank
    return rank_mod_p(np.stack([head.scores(keys, queries).residues().ravel() for head in heads], axis=-1), p)


def _multiples(forms: Forms, x: npt.NDArray[np.int64], p: int) -> Forms:
    """Return products of forms with all variables, at points: by output or column a `points x (heads width)`."""
    products = forms[:, :, :, None] * x[None, :, None, :] % p
    return products.reshape(*products.shape[:2], -1)


def _placed(block: Forms, place: int, count: int) -> Forms:
    """Return a block among zeros."""
    found = np.zeros((len(block), count, block.shape[1]), dtype=np.int64)
    found[:, place] = block
    return found.reshape(len(block), -1)


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
