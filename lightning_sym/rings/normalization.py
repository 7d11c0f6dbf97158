"""Normalizations: the functions that scores are put into before they are divided by their sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import factorial
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import ShapeError


@dataclass(frozen=True, repr=False)
class Normalization:
    r"""Scores `s` become `S(s)`, divided by their sum over the tokens attended to (Eq. 15).

    Attributes:
        name: how it is printed.
        taylor: from `k` to the `k`-th Taylor coefficient of $S$ at 0; $S(0)$ must not be 0.
        function: $S$ itself, for numbers that can be put into it (balls of real numbers); `None` where only the
            series is known.
        growth: $c \ne 0$ if $S' = c S$, an exponential, which is checked up to degree 64; `None` else.

    Raises:
        BadInput: one of them is of another type.
        ShapeError: $S(0) = 0$, or the growth is not that of the series.

    Example:
        >>> SOFTMAX.taylor(3)
        Fraction(1, 6)
    """

    name: str
    taylor: Callable[[int], Fraction]
    function: Callable[[Any], Any] | None = None
    growth: Fraction | None = None

    def __repr__(self) -> str:
        """Return a name where it has one; functions have none that could be typed."""
        if self == SOFTMAX:
            return "SOFTMAX"
        taylor, function = (getattr(f, "__qualname__", f) for f in (self.taylor, self.function))
        return f"Normalization({self.name!r}, {taylor}, {function}, growth={self.growth!r})"

    def __str__(self) -> str:
        return self.name

    def _repr_latex_(self) -> str:
        return notebook(latex_words(self.name))

    def __post_init__(self) -> None:
        require_arguments(Normalization, vars(self))
        if self.taylor(0) == 0:
            raise ShapeError(f"S(0) must not be 0, or S divided by its sum has no Taylor series; got {self.name}")
        c = self.growth
        if c is None:
            return
        series = enumerate(pairwise(map(self.taylor, range(65))), 1)
        if c == 0 or any(k * behind != c * before for k, (before, behind) in series):
            raise ShapeError(f"growth must be c with S' = c S, not 0, or None; got {c} for {self.name}")

    @property
    def is_exponential(self) -> bool:
        """Whether it is softmax up to a factor of the scores."""
        return self.growth is not None


def divided_by(scores: Normalization | None, p: int, order: int | None) -> bool:
    """Return whether a prime divides `S(0)`, or a denominator up to an order: then there is no series modulo it.

    Example:
        >>> third = Normalization("1 + y/3", lambda k: Fraction(1, 3**k) if k < 2 else Fraction(0))
        >>> divided_by(third, 3, 5), divided_by(third, 5, 5), divided_by(None, 3, None)
        (True, False, False)
    """
    if scores is None or order is None:
        return False
    series = [Fraction(scores.taylor(k)) for k in range(order + 1)]
    return series[0].numerator % p == 0 or any(c.denominator % p == 0 for c in series)


def _exponential(k: int) -> Fraction:
    return Fraction(1, factorial(k))


def _exp(number: Any) -> Any:
    return number.exp()


SOFTMAX = Normalization("softmax", _exponential, _exp, growth=Fraction(1))
