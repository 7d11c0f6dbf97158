r"""Deep linear networks, by a theorem of Aoyagi's that is cited and not proved here.

M. Aoyagi, *Consideration on the learning efficiency of multiple-layered neural networks with linear units*, Neural
Networks 172 (2024). For two factors it is Aoyagi and Watanabe's number, which docs/learning-coefficients.md proves.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from lightning_sym.arguments import require_arguments
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.limits import require_integer

MOST_WIDTHS, LARGEST_WIDTH = 4, 10**6
"""Of more than three matrices the theorem is known here by its formula alone, which nothing confirms."""


def deep_linear_coefficient(widths: Sequence[int], rank: int = 0) -> LearningCoefficient:
    r"""The learning coefficient of a product of matrices, the least over all weights that make a map of this rank.

    Args:
        widths: of the inputs, of all hidden layers, and of the outputs: two to four numbers.
        rank: of the map; at most the smallest width.

    Returns:
        The coefficient with its multiplicity, by a cited theorem; for rank 0 it is that at zero weights.

    Raises:
        BadInput: there are fewer than two widths or more than four, one is none, or no such map has the rank.

    Example:
        >>> found = deep_linear_coefficient([2, 2, 2, 2])
        >>> found.value, found.multiplicity
        (Fraction(3, 2), 3)
    """
    require_arguments(deep_linear_coefficient, locals())
    if not 2 <= len(widths) <= MOST_WIDTHS:
        raise BadInput(f"there must be from 2 to {MOST_WIDTHS} widths, of which it is proved, got {len(widths):,}")
    for width in widths:
        require_integer(width, "a width", 1, LARGEST_WIDTH)
    require_integer(rank, "the rank", 0, LARGEST_WIDTH)
    if rank > min(widths):
        raise BadInput(f"the rank must be at most the smallest width, {min(widths)}; got {rank}")
    rest, order, used = _of_zero([width - rank for width in widths])
    two = rank * (widths[0] + widths[-1] - rank) + rest
    sizes = ",".join(map(str, widths))
    return LearningCoefficient(
        two / 2,
        two / 2,
        order,
        "Aoyagi (2024), cited in docs/learning-coefficients.md, section 2",
        f"of the mean squared error of a deep linear network of widths {sizes}, for inputs with a regular covariance, "
        f"the least one over all weights of a map of rank {rank}",
        {"rank": rank, "widths that count": used},
    )


def _of_zero(widths: Sequence[int]) -> tuple[Fraction, int, int]:
    """Return twice the coefficient of the zero map, its multiplicity, and how many of the smallest widths count."""
    ordered = sorted(widths)
    found = [k for k in range(2, len(ordered) + 1) if _is_chosen(ordered[:k], ordered[k:])]
    if len(found) != 1:
        raise ProgramError(f"one set of widths must count, found {len(found)} of {ordered}")
    chosen = ordered[: found[0]]
    length, total = len(chosen) - 1, sum(chosen)
    a = total - (-(-total // length) - 1) * length
    pairs = (total**2 - sum(x * x for x in chosen)) // 2
    two = Fraction(a * (length - a), 2 * length) - Fraction((length - 1) * total**2, 2 * length) + pairs
    return two, a * (length - a) + 1, len(chosen)


def _is_chosen(few: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether these of the smallest widths count: more would be too large for the sum, fewer too small."""
    length, total = len(few) - 1, sum(few)
    return total >= length * few[-1] and (not others or (few[-1] < others[0] and total < length * others[0]))
