"""Rational functions in variables that are named as they come, over the rationals: for identities of small networks."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx


class RationalFunction:
    """A quotient of polynomials in lowest terms that meets integers, fractions and floats as what they are."""

    __slots__ = ("over", "under")

    def __init__(self, over: fmpq_mpoly, under: fmpq_mpoly) -> None:
        if not under.is_constant():
            common = over.gcd(under)
            if not common.is_constant():
                over, under = over / common, under / common
        leading = under.leading_coefficient()
        self.over, self.under = over / leading, under / leading  # so that equal ones look alike

    def _other(self, other: Any) -> RationalFunction:
        if isinstance(other, RationalFunction):
            return other
        number = Fraction(other)
        context = self.over.context()
        return RationalFunction(context.constant(fmpq(number.numerator, number.denominator)), context.constant(1))

    def __add__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._other(other)
        if self.under == b.under:
            return RationalFunction(self.over + b.over, self.under)
        return RationalFunction(self.over * b.under + b.over * self.under, self.under * b.under)

    def __sub__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._other(other)
        return RationalFunction(self.over * b.under - b.over * self.under, self.under * b.under)

    def __rsub__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self._other(other) - self

    def __mul__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._other(other)
        return RationalFunction(self.over * b.over, self.under * b.under)

    def __truediv__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        b = self._other(other)
        return RationalFunction(self.over * b.under, self.under * b.over)

    def __rtruediv__(self, other: Any) -> RationalFunction:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self._other(other) / self

    def __pow__(self, power: int) -> RationalFunction:
        return RationalFunction(self.over**power, self.under**power)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.over, self.under)

    def __eq__(self, other: object) -> bool:
        b = self._other(other)
        return bool(self.over == b.over and self.under == b.under)

    def __hash__(self) -> int:
        return hash((str(self.over), str(self.under)))

    def __repr__(self) -> str:
        return f"({self.over})/({self.under})"

    __radd__ = __add__
    __rmul__ = __mul__


class Variables:
    """A field with so many variables, handed out one by one."""

    def __init__(self, count: int = 160) -> None:
        context = fmpq_mpoly_ctx.get([f"z{i}" for i in range(count)])
        self._left = [RationalFunction(x, context.constant(1)) for x in reversed(context.gens())]

    def one(self) -> RationalFunction:
        """The next variable."""
        return self._left.pop()

    def array(self, *shape: int) -> np.ndarray[Any, Any]:
        """An array of the next ones."""
        size = int(np.prod(shape, dtype=int))
        found = np.empty(size, dtype=object)
        found[:] = [self.one() for _ in range(size)]
        return found.reshape(shape)


class FreeFunctions:
    """Everything in a transformer that is no polynomial as a free variable: one for each function and argument.

    Two forward passes that share these functions and agree are equal for all functions in their place, so long as
    `length(square, epsilon)` is `epsilon^(-1/2)` times a function of `square / epsilon`, as a norm's is, and `weights`
    has sum 1 and depends on differences of scores, as softmax.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._known: dict[Any, RationalFunction] = {}

    def _value(self, *key: Any) -> RationalFunction:
        if key not in self._known:
            self._known[key] = self._variables.one()
        return self._known[key]

    def length(self, square: Any, epsilon: Fraction) -> Any:
        root = Fraction(*(int(n**0.5) for n in (epsilon.numerator, epsilon.denominator)))
        assert root**2 == epsilon
        return self._value("length", square / epsilon) / root

    def weights(self, scores: Iterable[Any]) -> list[Any]:
        first, *rest = scores
        differences = tuple(score - first for score in rest)
        others = [self._value("weight", number, differences) for number in range(len(rest))]
        return [1 - sum(others), *others]

    def activation(self, x: Any) -> Any:
        return self._value("activation", x)

    def turn(self, position: int, k: int) -> tuple[Any, Any]:
        if not position:
            return 1, 0
        return self._value("cos", position, k), self._value("sin", position, k)
