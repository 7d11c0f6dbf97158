"""Normalizers by their Taylor series at zero: what takes the place of the exponential in softmax.

All coefficients are rational with denominators that no prime of the program divides. Those of `INJECTIVE` are positive,
injective and real-analytic on the whole line.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial

from lightning_sym import SOFTMAX, Normalization


def _by_recursion(first: Fraction, following: Callable[[list[Fraction]], Fraction]) -> Callable[[int], Fraction]:
    """Return Taylor coefficients from S(0), and S' in terms of the coefficients so far."""
    known = [first]

    def taylor(k: int) -> Fraction:
        while len(known) <= k:
            known.append(following(known) / len(known))
        return known[k]

    return taylor


def _square(s: list[Fraction]) -> Fraction:
    """Return the last coefficient of the square."""
    return sum((a * b for a, b in zip(s, reversed(s), strict=True)), Fraction(0))


def _in_power(taylor: Callable[[int], Fraction], power: int) -> Callable[[int], Fraction]:
    """Return the Taylor coefficients of S(y^power)."""
    return lambda k: Fraction(0) if k % power else taylor(k // power)


LOGISTIC = Normalization("1 / (1 + exp(-y))", _by_recursion(Fraction(1, 2), lambda s: s[-1] - _square(s)))
FALLING = Normalization(
    "2 - tanh(y)",  # S' = (2 - S)^2 - 1 = S^2 - 4 S + 3
    _by_recursion(Fraction(2), lambda s: _square(s) - 4 * s[-1] + (3 if len(s) == 1 else 0)),
)
ARCTANGENT = Normalization(
    "2 + arctan(y^3)",
    _in_power(lambda k: Fraction(2) if k == 0 else Fraction((-1) ** (k // 2), k) if k % 2 else Fraction(0), 3),
)
CUBE = Normalization("exp(y^3)", _in_power(SOFTMAX.taylor, 3))
FLAT = Normalization(
    "exp(sinh(y) - y)",
    _by_recursion(
        Fraction(1),
        lambda s: sum((s[len(s) - 1 - j] / factorial(j) for j in range(2, len(s), 2)), Fraction(0)),
    ),
)
FIFTH = Normalization("exp(y^5)", _in_power(SOFTMAX.taylor, 5))
EVEN = Normalization("exp(y^2)", _in_power(SOFTMAX.taylor, 2))
TILTED = Normalization(
    "exp(y^2 + y^3)",
    _by_recursion(Fraction(1), lambda s: sum((k * s[-k] for k in (2, 3) if k <= len(s)), Fraction(0))),
)
CAUCHY = Normalization("1 / (1 + y^2)", lambda k: Fraction(0) if k % 2 else Fraction((-1) ** (k // 2)))
LINEAR = Normalization("1 + y", lambda k: Fraction(int(k <= 1)))

INJECTIVE = (SOFTMAX, LOGISTIC, FALLING, CUBE, ARCTANGENT, FLAT, FIFTH)


@cache
def order(normalization: Normalization) -> int:
    """Return the `k` of S(y) = S(0) (1 + c y^k + higher terms).

    Example:
        >>> [order(s) for s in (SOFTMAX, LOGISTIC, CUBE, FIFTH, EVEN)]
        [1, 1, 3, 5, 2]
    """
    return next(k for k in range(1, 64) if normalization.taylor(k))


def slope(normalization: Normalization) -> Fraction:
    """Return the `c`.

    Example:
        >>> slope(LOGISTIC), slope(FALLING), slope(FLAT)
        (Fraction(1, 2), Fraction(-1, 2), Fraction(1, 6))
    """
    return normalization.taylor(order(normalization)) / normalization.taylor(0)
