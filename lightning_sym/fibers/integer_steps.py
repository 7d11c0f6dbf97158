r"""Minima of sums of convex functions of integers and of their differences, by steps.

Let $f(x) = \sum_i f_i(x_i) + \sum_{ij} f_{ij}(x_i - x_j)$ with convex $f_i$, $f_{ij}$ that may be infinite. Then
$f(x) + f(y) \ge f((y - \alpha 1) \vee x) + f(y \wedge (x + \alpha 1))$ for $\alpha \ge 0$. So *if no $x \pm \chi_S$ is
better than $x$, nothing is*: let $f(y) < f(x)$, $y$ with the least $\sum |y_i - x_i|$, and, else exchange signs, $m =
\max (y_i - x_i) > 0$, reached on $S$. With $\alpha = m - 1$ the two points on the right are $x + \chi_S$ and $y -
\chi_S$; the first is not better than $x$, so the second is as good as $y$, and nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

MOST_UNKNOWNS = 10
"""A step looks at all sets of unknowns."""


class DifferenceBounds(NamedTuple):
    """Integers with `low <= x <= high`, and `x[i] - x[j] <= most[i, j]` for some pairs."""

    low: Sequence[int]
    high: Sequence[int]
    most: dict[tuple[int, int], int]

    def least(self) -> tuple[int, ...] | None:
        """Return the smallest of them, which is smallest in each place; `None` if there are none."""
        x, again = list(self.low), True
        while again:
            again = False
            if any(a > b for a, b in zip(x, self.high, strict=True)):
                return None
            for (i, j), most in self.most.items():
                if x[i] - x[j] > most:
                    x[j], again = x[i] - most, True
        return tuple(x)

    def __contains__(self, x: object) -> bool:
        assert isinstance(x, tuple)  # noqa: S101 - for the type checker
        inside = all(a <= b <= c for a, b, c in zip(self.low, x, self.high, strict=True))
        return inside and all(x[i] - x[j] <= most for (i, j), most in self.most.items())


def least_value(cost: Callable[[tuple[int, ...]], int], among: DifferenceBounds) -> int | None:
    """Return the least cost, `None` where there is nothing.

    Args:
        cost: a sum of convex functions of single integers and of differences of two.
        among: at most `MOST_UNKNOWNS` integers.

    Example:
        >>> least_value(lambda x: (x[0] - 5) ** 2 + (x[0] - x[1]) ** 2, DifferenceBounds((0, 0), (9, 3), {(0, 1): 1}))
        2
    """
    point = among.least()
    if point is None:
        return None
    best, n = cost(point), len(point)
    sets = [chosen for size in range(1, n + 1) for chosen in combinations(range(n), size)]
    while True:
        better = None
        for chosen in sets:
            for step in (1, -1):
                moved = tuple(x + step if i in chosen else x for i, x in enumerate(point))
                if moved in among and (value := cost(moved)) < best:
                    better, best = moved, value
        if better is None:
            return best
        point = better
