"""Truncated power series with rational coefficients, for the board: entries that the forward pass takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.network.attention import Form, forward
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import map_entries
from proofs_check.blackboard.step import layer_of

Taylor = Callable[[int], Fraction]


class Series:
    """A power series up to a degree: `terms[n]` is the coefficient of the n-th power."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Fraction]) -> None:
        self.terms = tuple(terms)

    def __add__(self, other: Series) -> Series:
        return Series([a + b for a, b in zip(self.terms, other.terms, strict=True)])

    def __mul__(self, other: Series) -> Series:
        a, b = self.terms, other.terms
        return Series([sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(len(a))])

    def put_into(self, taylor: Taylor) -> Series:
        """`S` of a series without constant term, by Horner's rule."""
        zero = [Fraction(0)] * len(self.terms)
        result = Series(zero)
        for n in reversed(range(len(self.terms))):
            result = result * self + Series([taylor(n), *zero[1:]])
        return result

    def reciprocal(self) -> Series:
        """`1 / s`, for a constant term that is not zero."""
        first, *others = self.terms
        result: list[Fraction] = [1 / first]
        for n in range(len(others)):
            result.append(-sum((others[i] * result[n - i] for i in range(n + 1)), Fraction(0)) / first)
        return Series(result)


def along(direction: ObjectArray, degree: int) -> ObjectArray:
    """`eps` times a matrix of numbers."""
    return map_entries(lambda x: Series([Fraction(0), Fraction(x), *[Fraction(0)] * (degree - 1)]), direction)


def constant(matrix: ObjectArray, degree: int) -> ObjectArray:
    """Numbers as series."""
    return map_entries(lambda x: Series([Fraction(x), *[Fraction(0)] * degree]), matrix)


def network(
    x: ObjectArray, attention: Sequence[ObjectArray], value: ObjectArray, taylor: Taylor, degree: int
) -> ObjectArray:
    """The outputs for `eps x` of layers with these attention matrices, inner values 1, and `S` in place of exp."""

    def pattern(scores: Any) -> ObjectArray:
        weights = map_entries(lambda s: s.put_into(taylor), scores)
        sums = map_entries(lambda s: s.reciprocal(), weights.sum(axis=0))
        result: ObjectArray = weights * sums
        return result

    one = np.array([[Fraction(int(i == j)) for j in range(len(x))] for i in range(len(x))], dtype=object)
    values = [one] * (len(attention) - 1) + [value]
    layers = [
        type(layer_of(a, v))(*(constant(m, degree) for m in layer_of(a, v)))
        for a, v in zip(attention, values, strict=True)
    ]
    output: ObjectArray = forward(along(x, degree), layers, Form(pattern))
    return output


def mean_output(
    m: ObjectArray, y: ObjectArray, attention: Sequence[ObjectArray], value: ObjectArray, taylor: Taylor, degree: int
) -> tuple[Fraction, ...]:
    """Of two tokens with mean `eps m` and difference `eps y`: the coefficients of the mean of the two outputs."""
    x = np.array([m + y / Fraction(2), m - y / Fraction(2)], dtype=object).T
    first, second = network(x, attention, value, taylor, degree)[0]
    return tuple((a + b) / 2 for a, b in zip(first.terms, second.terms, strict=True))


def spelled(terms: Sequence[Fraction]) -> str:
    r"""The terms that are not zero, as a formula.

    Example:
        >>> print(spelled([Fraction(0), Fraction(1), Fraction(-1, 2)]))
        \varepsilon - \tfrac{1}{2} \varepsilon^{2} + ...
    """
    text = ""
    for n, c in enumerate(terms):
        if c:
            size = abs(c)
            number = str(size) if size.denominator == 1 else rf"\tfrac{{{size.numerator}}}{{{size.denominator}}}"
            power = "" if n == 0 else r"\varepsilon" if n == 1 else rf"\varepsilon^{{{n}}}"
            one = size == 1 and n > 0
            text += (" - " if c < 0 else " + ") + (power if one else f"{number} {power}".strip())
    text = text.removeprefix(" + ")
    return (f"-{text[3:]}" if text.startswith(" - ") else text) + " + ..."
