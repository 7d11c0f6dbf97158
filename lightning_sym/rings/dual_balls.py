r"""Matrices of balls with one derivative: where brackets of halves of a layer are compared, and for second opinions.

Where entries move, their derivatives along one direction in the weights, or along many, are carried along, so that one
forward pass gives the network's outputs and their derivatives; of many networks together, one a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_series

from lightning_sym.errors import BadInput
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import ELEMENTARY, Elementary, as_ball
from lightning_sym.rings.normalization import Normalization


class DualBalls:
    """Matrices of balls with one derivative; leading axes are batches.

    Attributes:
        numbers: the balls.
        moves: balls around their derivatives, `None` where no number moves; with more leading axes for derivatives
            along many directions at once.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> x = DualBalls.of(np.array([[2]]), np.array([[1]]))
        >>> (x @ x.mT).derivative()[0, 0]               # d(x^2) = 2 x dx
        4.00000000000000
        >>> zero = DualBalls.of(np.array([[0]]))
        >>> zero.evaluate(SOFTMAX).values()[0, 0]
        1.00000000000000
    """

    __slots__ = ("moves", "numbers")

    def __init__(self, numbers: ObjectArray, moves: ObjectArray | None = None) -> None:
        self.numbers = numbers
        self.moves = moves

    @classmethod
    def of(cls, numbers: npt.ArrayLike, direction: npt.ArrayLike | None = None) -> DualBalls:
        """Return rational numbers, and the direction in which they move: that of `direction`, by default none."""
        return cls(_balls(numbers), None if direction is None else _balls(direction))

    def values(self) -> ObjectArray:
        """Return the balls themselves."""
        return self.numbers

    def derivative(self) -> ObjectArray:
        """Return the balls of the derivative."""
        moves = np.array(arb(0), dtype=object) if self.moves is None else self.moves
        return np.broadcast_to(moves, np.broadcast_shapes(moves.shape, self.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, rows and columns."""
        return self.numbers.shape

    def __matmul__(self, other: DualBalls) -> DualBalls:
        return self._product(np.matmul, other)

    def __add__(self, other: DualBalls) -> DualBalls:
        return DualBalls(self.numbers + other.numbers, _total(self.moves, other.moves))

    def __mul__(self, other: DualBalls) -> DualBalls:
        """Return the product entry by entry."""
        return self._product(np.multiply, other)

    def _product(self, times: Callable[[ObjectArray, ObjectArray], ObjectArray], other: DualBalls) -> DualBalls:
        first = None if self.moves is None else times(self.moves, other.numbers)
        second = None if other.moves is None else times(self.numbers, other.moves)
        return DualBalls(times(self.numbers, other.numbers), _total(first, second))

    @property
    def mT(self) -> DualBalls:  # noqa: N802
        return DualBalls(self.numbers.mT, None if self.moves is None else self.moves.mT)

    def like(self, constants: npt.ArrayLike) -> DualBalls:
        """Return a constant matrix of integers or fractions."""
        return DualBalls.of(constants)

    def evaluate(self, normalization: Normalization) -> DualBalls:
        """Return `S` of every entry.

        Raises:
            BadInput: of this `S` only the Taylor series is known.
        """
        if (function := normalization.function) is None:
            raise BadInput(f"balls need S itself, and of {normalization.name} only the Taylor series is known")
        return self._function(function)

    def elementary(self, name: Elementary) -> DualBalls:
        """Return a function of `rings.balls`, of every entry.

        Raises:
            BadInput: entries move, and the derivative of this function is not known here.
        """
        if self.moves is not None and name in ("relu", "tanh"):
            raise BadInput(f"derivatives in balls are known for functions of exponentials, got {name}")
        return self._function(ELEMENTARY[name])

    def _function(self, function: Callable[[Any], object]) -> DualBalls:
        if self.moves is None:
            return DualBalls(_each(function, self.numbers))
        series = _each(lambda x: function(arb_series([x, 1], 2)), self.numbers)
        return DualBalls(_each(lambda s: s[0], series), _each(lambda s: s[1], series) * self.moves)

    def reciprocal(self, _inverse_constants: npt.ArrayLike) -> DualBalls:
        """Return `1 / entry` for every entry; a ball around zero has the whole line as its reciprocal."""
        inverse = _each(_reciprocal, self.numbers)
        return DualBalls(inverse, None if self.moves is None else -(inverse * inverse * self.moves))


def _balls(numbers: npt.ArrayLike) -> ObjectArray:
    """Return rational numbers, or balls, as balls."""
    return _each(as_ball, np.asarray(numbers, dtype=object))


def _each(function: Callable[..., object], *arrays: ObjectArray) -> ObjectArray:
    """Return the matrix of a function of every entry."""
    found: ObjectArray = np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)
    return found


def _total(one: ObjectArray | None, other: ObjectArray | None) -> ObjectArray | None:
    return one if other is None else other if one is None else one + other


def _reciprocal(entry: arb) -> arb:
    if entry.contains(0):  # no real number is known to be wrong here
        return arb(0, float("inf"))
    return 1 / entry
