r"""Deep linear networks: products of matrices, at given factors, or at the most singular factors of a map.

Factors of a map of rank $r$ are, in other coordinates, factors of the zero map with $r$ less at each width; of these
the coefficient is a smallest codimension (docs/learning-coefficients.md, Theorem 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from lightning_sym.arguments import require_arguments
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.lightning_layer import PAGE
from lightning_sym.coefficients.partial_products import PartialProducts
from lightning_sym.errors import BadInput, ProgramError, ShapeError
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.rings.arrays import Rows, exact_matrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes

MOST_WIDTHS, LARGEST_WIDTH, MOST_GIVEN = 32, 10**6, 12
"""Widths of a network by its sizes, the largest one, and matrices that are given; all work grows with these alone."""

THEOREM_11 = f"{PAGE}, Theorem 11"


def deep_linear_coefficient(widths: Sequence[int], rank: int = 0) -> LearningCoefficient:
    r"""Return the learning coefficient of a product of matrices, the least over all weights with a map of this rank.

    Args:
        widths: of the inputs, of all hidden layers, and of the outputs: from 2 to 32 numbers.
        rank: of the map; at most the smallest width.

    Returns:
        The coefficient with its multiplicity; for rank 0 it is that at zero weights.

    Raises:
        BadInput: there are fewer than two widths or more than 32, one is none, or no such map has the rank.

    Example:
        >>> found = deep_linear_coefficient([2, 2, 2, 2])
        >>> found.value, found.multiplicity
        (Fraction(3, 2), 3)
    """
    require_arguments(deep_linear_coefficient, locals())
    if not 2 <= len(widths) <= MOST_WIDTHS:
        raise BadInput(f"there must be from 2 to {MOST_WIDTHS} widths, got {len(widths):,}")
    for width in widths:
        require_integer(width, "a width", 1, LARGEST_WIDTH)
    require_integer(rank, "the rank", 0, LARGEST_WIDTH)
    if rank > min(widths):
        raise BadInput(f"the rank must be at most the smallest width, {min(widths)}; got {rank}")
    near = PartialProducts.all_zero([width - rank for width in widths])
    return _answer(near, widths, rank, f"the least one over all weights of a map of rank {rank}")


def factorization_coefficient(
    factors: Sequence[Rows], *, work: float = DEFAULT_WORK, progress: Progress | None = None
) -> LearningCoefficient:
    r"""Return the learning coefficient of a product of matrices at these: factorization at a point of the fiber.

    Args:
        factors: exact matrices, at most 12; the first one is applied to the inputs, $W_L \cdots W_1 x$.
        work: seconds that exact work may take, by a rough estimate made before.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: there are none or more than 12, or an entry is not a finite number.
        ShapeError: two next to each other do not fit.
        TooLarge: the estimate exceeds `work`.

    Example:
        >>> found = factorization_coefficient([[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 0], [0, 0]]])
        >>> found.value, found.multiplicity
        (Fraction(3, 2), 3)
    """
    require_arguments(factorization_coefficient, locals())
    if not 1 <= len(factors) <= MOST_GIVEN:
        raise BadInput(f"there must be from 1 to {MOST_GIVEN} matrices, got {len(factors):,}")
    exact = [RationalMatrix.of(exact_matrix(factor, f"matrix {n}")) for n, factor in enumerate(factors, 1)]
    for place, (before, factor) in enumerate(pairwise(exact), 2):
        if before.shape[0] != factor.shape[1]:
            raise ShapeError(
                f"matrix {place} must have {before.shape[0]} columns, as many as matrix {place - 1} has rows, "
                f"got {factor.shape[1]}"
            )
    return factorization_within(exact, Work(work, progress))


def factorization_within(exact: Sequence[RationalMatrix], budget: Work) -> LearningCoefficient:
    """Return the same of at most 12 matrices that fit, within a budget that others spend too.

    Raises:
        TooLarge: the estimate exceeds the budget.
    """
    widths = [exact[0].shape[1], *(factor.shape[0] for factor in exact)]
    budget.spend(_ranks_cost(exact), "exact ranks of all partial products")
    ranks: list[list[int]] = []
    for first in range(len(exact)):
        product, row = exact[first], [exact[first].rank()]
        for factor in exact[first + 1 :]:
            product = factor @ product
            row.append(product.rank())
        ranks.append(row)
    rank = ranks[0][-1]
    near = PartialProducts(tuple(w - rank for w in widths), tuple(tuple(r - rank for r in row) for row in ranks))
    return _answer(near, widths, rank, "at these matrices")


def _ranks_cost(factors: Sequence[RationalMatrix]) -> float:
    """Return seconds for the ranks of all partial products."""
    price = Price("rationals")
    sizes = [Sizes(factor.shape, price, bits=factor.bits, lowest=factor.bits) for factor in factors]
    for first, product in enumerate(sizes):
        product.rank()
        for factor in sizes[first + 1 :]:
            product = factor @ product
            product.rank()
    return price.seconds


def _answer(near: PartialProducts, widths: Sequence[int], rank: int, where: str) -> LearningCoefficient:
    """Return the coefficient of a map of this rank, whose other directions are a product that is zero."""
    chain = near.best()
    codimension = near.codimension(chain[0])
    if not near.allows(chain[0]):
        raise ProgramError(f"ranks {chain[0]} of partial products must be possible near {near}")
    order = near.longest_nested(chain)
    value = Fraction(rank * (widths[0] + widths[-1] - rank) + codimension, 2)
    sizes = ",".join(map(str, widths))
    named = {f"rk W{k}..W1" if k > 1 else "rk W1": rank + z for k, z in enumerate(chain[0][1:-1], 1)}
    if order is None:
        named["multiplicity at most"] = len(chain)
    return LearningCoefficient(
        value,
        value,
        order,
        THEOREM_11,
        f"of the mean squared error of a deep linear network of widths {sizes}, for inputs with a regular covariance, "
        f"{where}",
        {"rank": rank, "codimension": codimension, **named},
    )
