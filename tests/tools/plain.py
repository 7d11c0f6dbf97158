"""The network once more, by Eq. 1 and nothing else: sums over tokens and coordinates of plain numbers of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lightning_sym import Architecture

Rows = list[list[Any]]
Column = Sequence[Any]


def product(a: Sequence[Column], b: Sequence[Column]) -> Rows:
    return [
        [sum((row[k] * b[k][j] for k in range(1, len(b))), row[0] * b[0][j]) for j in range(len(b[0]))] for row in a
    ]


def plain_network(
    x: Rows,
    shape: Architecture,
    weights: Mapping[str, Rows],
    pattern: Callable[[Column], Column] = lambda scores: scores,
) -> Rows:
    """The output, from the numbers that `weights` names; `pattern` makes the weights of a token of its scores."""
    if shape.embed is not None:
        x = product(weights["E"], x)
    for i in range(1, shape.depth + 1):
        total = [list(row) for row in x] if shape.skip else None
        for h in range(1, shape.heads + 1):
            name = f"{i}" if shape.heads == 1 else f"{i}.{h}"
            queries, keys, values = (product(weights[letter + name], x) for letter in "QKV")
            values = values if shape.value_ranks is None else product(weights["O" + name], values)
            output = [[] for _ in values]  # type: Rows
            for token in range(shape.tokens):
                others = range(token + 1) if shape.causal else range(shape.tokens)
                scores = [product([[row[j] for row in keys]], [[row[token]] for row in queries])[0][0] for j in others]
                attention = pattern(scores)
                for row, made in zip(values, output, strict=True):
                    made.append(product([[row[j] for j in others]], [[a] for a in attention])[0][0])
            summands = output if total is None else [
                [a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, output, strict=True)
            ]  # fmt: skip
            total = summands
        assert total is not None
        x = total
    return x if shape.unembed is None else product(weights["U"], x)


@dataclass(frozen=True)
class Tangent:
    """`value + slope h` with `h h = 0`."""

    value: Fraction
    slope: Fraction

    def __add__(self, other: Tangent) -> Tangent:
        return Tangent(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other: Tangent) -> Tangent:
        return Tangent(self.value * other.value, self.slope * other.value + self.value * other.slope)


@dataclass(frozen=True)
class Series:
    """A truncated power series with rational coefficients, all of them stored."""

    coefficients: tuple[Fraction, ...]

    def __add__(self, other: Series) -> Series:
        return Series(tuple(a + b for a, b in zip(self.coefficients, other.coefficients, strict=True)))

    def __mul__(self, other: Series) -> Series:
        a, b = self.coefficients, other.coefficients
        return Series(tuple(sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(len(a))))

    def scaled(self, factor: Fraction) -> Series:
        return Series(tuple(factor * c for c in self.coefficients))

    def inverse(self) -> Series:
        """`1 / self`, coefficient by coefficient."""
        a = self.coefficients
        found = [1 / a[0]]
        for k in range(1, len(a)):
            found.append(-sum((a[i] * found[k - i] for i in range(1, k + 1)), Fraction(0)) / a[0])
        return Series(tuple(found))

    def put_into(self, taylor: Callable[[int], Fraction]) -> Series:
        """The series with these Taylor coefficients, of this one, which has no constant term."""
        one = Series((Fraction(1), *[Fraction(0)] * (len(self.coefficients) - 1)))
        total, power = one.scaled(taylor(0)), one
        for k in range(1, len(self.coefficients)):
            power = power * self
            total = total + power.scaled(taylor(k))
        return total
