r"""Linear programs over the rationals: $\max b \cdot y$ where $A y \le c$, $y \ge 0$, and $c \ge 0$.

The simplex method in fractions, so that both solutions, $y$ and the weights $w \ge 0$ with $w A \ge b$, are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from lightning_sym.errors import ProgramError, TooLarge
from lightning_sym.rings.arrays import ObjectArray

MOST_ENTRIES = 400_000
"""Entries of the matrix of a program; each step looks at all of them."""

MOST_PIVOTS = 20_000


@dataclass(frozen=True)
class ProgramSolution:
    """The value of a program with the two solutions that prove it.

    Attributes:
        value: of both.
        multipliers: one for each column, not negative.
        weights: one for each row, not negative.
    """

    value: Fraction
    multipliers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]


def maximize(
    columns: Sequence[Sequence[int]], limits: Sequence[Fraction | int], objective: Sequence[int] | None = None
) -> ProgramSolution:
    """Return the largest value of the sum of `objective` times multipliers whose columns add up to at most the limits.

    Args:
        columns: each one as long as `limits`, integers.
        limits: not negative.
        objective: a number for each column, 1 if not given.

    Raises:
        TooLarge: the program has too many entries.
        ProgramError: it has no largest value.

    Example:
        >>> found = maximize([(2, 0), (1, 2)], (1, 1))
        >>> found.value, [str(w) for w in found.weights]
        (Fraction(3, 4), ['1/2', '1/4'])
    """
    size, count = len(limits), len(columns)
    if size * max(count, size) > MOST_ENTRIES:
        raise TooLarge(f"a linear program must have at most {MOST_ENTRIES:,} entries, this has {size * count:,}")
    worth = [1] * count if objective is None else list(objective)
    simplex = _Simplex(np.array([*map(list, columns)], dtype=object).reshape(count, size), list(map(Fraction, limits)))
    for _ in range(MOST_PIVOTS):
        weights = simplex.weights(worth)
        entering = simplex.entering(worth, weights)
        if entering is None:
            held = dict(zip(simplex.basis, simplex.levels, strict=True))
            multipliers = tuple(held.get(k, Fraction(0)) for k in range(count))
            best = sum((b * y for b, y in zip(worth, multipliers, strict=True)), Fraction(0))
            return ProgramSolution(best, multipliers, tuple(weights))
        simplex.pivot(entering)
    raise TooLarge(f"a linear program must be solved in {MOST_PIVOTS:,} steps")


class _Simplex:
    """The inverse of the basis, and what it holds; column `count + i` is the slack of row `i`."""

    def __init__(self, columns: ObjectArray, limits: list[Fraction]) -> None:
        self.columns, self.count, self.size = columns, len(columns), len(limits)
        self.inverse = [[Fraction(int(i == j)) for j in range(self.size)] for i in range(self.size)]
        self.basis, self.levels = [self.count + i for i in range(self.size)], limits
        self.stuck = False  # after a step that gained nothing the first column that gains is taken: no circles

    def weights(self, worth: list[int]) -> list[Fraction]:
        """Return the weights of rows that price the basis at its worth."""
        total = [Fraction(0)] * self.size
        for k, row in zip(self.basis, self.inverse, strict=True):
            price = worth[k] if k < self.count else 0
            if price:
                total = [t + price * x for t, x in zip(total, row, strict=True)]
        return total

    def entering(self, worth: list[int], weights: list[Fraction]) -> int | None:
        """Return a column that gains, or nothing at the end."""
        common = lcm(*(w.denominator for w in weights)) if weights else 1
        whole = np.array([int(w * common) for w in weights], dtype=object)
        gains = [common * b for b in worth]
        if self.count:
            gains = [g - int(x) for g, x in zip(gains, self.columns @ whole, strict=True)]
        gains += [-int(w) for w in whole]
        if self.stuck:
            return next((k for k, gain in enumerate(gains) if gain > 0), None)
        best = max(range(len(gains)), key=gains.__getitem__, default=None)
        return best if best is not None and gains[best] > 0 else None

    def pivot(self, entering: int) -> None:
        """Take a column into the basis."""
        if entering < self.count:
            column = self.columns[entering]
            used = [j for j, x in enumerate(column) if x]
            way = [sum((row[j] * column[j] for j in used), Fraction(0)) for row in self.inverse]
        else:
            way = [row[entering - self.count] for row in self.inverse]
        ratios = [(level / x, k, i) for i, (level, x, k) in enumerate(zip(self.levels, way, self.basis, strict=True))
                  if x > 0]  # fmt: skip
        if not ratios:
            raise ProgramError("a linear program of bounded multipliers has a largest value")
        step, _, leaving = min(ratios)
        self.stuck = step == 0
        top = [x / way[leaving] for x in self.inverse[leaving]]
        for i, x in enumerate(way):
            if i != leaving and x:
                self.inverse[i] = [a - x * b for a, b in zip(self.inverse[i], top, strict=True)]
                self.levels[i] -= x * step
        self.inverse[leaving], self.levels[leaving], self.basis[leaving] = top, step, entering
