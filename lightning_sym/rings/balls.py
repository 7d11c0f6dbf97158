r"""Matrices of real numbers enclosed in balls, each with one derivative: flint's `arb`, rigorous like integers.

A ball `[m +/- r]` contains the true real number, whatever was rounded on the way; `exp` and division included. Where
entries move, their derivatives along one direction in the weights, or along many, are carried along, so that one
forward pass gives the network's outputs and their derivatives; of many networks together, one a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, arb_series, ctx

from lightning_sym.errors import BadInput
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.elementary import ELEMENTARY, Elementary
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rationals import as_fmpq


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Balls made inside have midpoints of this many bits; it decides how small they are, never whether they are right.

    Raises:
        BadInput: fewer than two bits.
    """
    if bits < 2:
        raise BadInput(f"the precision must be at least two bits, got {bits}")
    with ctx.workprec(bits):
        yield


def as_ball(number: Any) -> arb:
    """A rational number, or a ball as it is."""
    return number if isinstance(number, arb) else arb(number) if type(number) is int else arb(as_fmpq(number))


def ball(middle: Fraction, radius: Fraction = Fraction(0)) -> arb:
    """A ball that contains all numbers within the radius of the middle.

    Example:
        >>> around = ball(Fraction(1, 3), Fraction(1, 8))
        >>> around.contains(0.25), around.contains(0)
        (True, False)
    """
    return as_ball(middle) + arb(0, 1) * as_ball(radius)


def middle_and_radius(around: arb) -> tuple[Fraction, Fraction] | None:
    """A rational middle and a radius within which all numbers of a ball are; `None` if it is not finite.

    Example:
        >>> middle_and_radius(ball(Fraction(1, 2), Fraction(1, 4)))[0]
        Fraction(1, 2)
    """
    return (exactly(around.mid()), exactly(around.rad())) if around.is_finite() else None


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
        """Rational numbers, and the direction in which they move: that of `direction`, by default none."""
        return cls(_balls(numbers), None if direction is None else _balls(direction))

    @classmethod
    def around(cls, balls: npt.ArrayLike) -> DualBalls:
        """Balls, or rational numbers, that do not move.

        Example:
            >>> DualBalls.around([[ball(Fraction(1), Fraction(1, 2)), 2]]).values()[0, 1]
            2.00000000000000
        """
        return cls(_balls(balls))

    def values(self) -> ObjectArray:
        """The balls themselves."""
        return self.numbers

    def derivative(self) -> ObjectArray:
        """The balls of the derivative."""
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
        """The product entry by entry."""
        return self._product(np.multiply, other)

    def _product(self, times: Callable[[ObjectArray, ObjectArray], ObjectArray], other: DualBalls) -> DualBalls:
        first = None if self.moves is None else times(self.moves, other.numbers)
        second = None if other.moves is None else times(self.numbers, other.moves)
        return DualBalls(times(self.numbers, other.numbers), _total(first, second))

    @property
    def mT(self) -> DualBalls:  # noqa: N802
        return DualBalls(self.numbers.mT, None if self.moves is None else self.moves.mT)

    def like(self, constants: npt.ArrayLike) -> DualBalls:
        """A constant matrix of integers or fractions."""
        return DualBalls.of(constants)

    def evaluate(self, normalization: Normalization) -> DualBalls:
        """`S` of every entry.

        Raises:
            BadInput: of this `S` only the Taylor series is known.
        """
        if (function := normalization.function) is None:
            raise BadInput(f"balls need S itself, and of {normalization.name} only the Taylor series is known")
        return self._function(function)

    def elementary(self, name: Elementary) -> DualBalls:
        """A function of `rings.elementary`, of every entry.

        Raises:
            BadInput: entries move, and the derivative of this function is not known here.
        """
        if self.moves is not None and name in ("relu", "tanh"):
            raise BadInput(f"derivatives in balls are known for functions of exponentials, got {name}")
        return self._function(ELEMENTARY[name])

    def _function(self, function: Callable[[Any], Any]) -> DualBalls:
        if self.moves is None:
            return DualBalls(_each(function, self.numbers))
        series = _each(lambda x: function(arb_series([x, 1], 2)), self.numbers)
        return DualBalls(_each(lambda s: s[0], series), _each(lambda s: s[1], series) * self.moves)

    def reciprocal(self, _inverse_constants: npt.ArrayLike) -> DualBalls:
        """`1 / entry` for every entry; a ball around zero has the whole line as its reciprocal."""
        inverse = _each(_reciprocal, self.numbers)
        return DualBalls(inverse, None if self.moves is None else -(inverse * inverse * self.moves))


def _balls(numbers: npt.ArrayLike) -> ObjectArray:
    """Return rational numbers, or balls, as balls."""
    return _each(as_ball, np.asarray(numbers, dtype=object))


def _each(function: Callable[..., Any], *arrays: ObjectArray) -> ObjectArray:
    """Return the matrix of a function of every entry."""
    found: ObjectArray = np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)
    return found


def _total(one: ObjectArray | None, other: ObjectArray | None) -> ObjectArray | None:
    return one if other is None else other if one is None else one + other


def _reciprocal(entry: arb) -> arb:
    if entry.contains(0):  # no real number is known to be wrong here
        return arb(0, float("inf"))
    return 1 / entry


def distance(ball: arb, number: Fraction) -> tuple[Fraction, Fraction | None]:
    """Between which bounds the distance of the true number from this one lies; `None` where none above is known.

    Example:
        >>> half = DualBalls.of(np.array([[Fraction(1, 2)]])).values()[0, 0]
        >>> distance(half, Fraction(3))
        (Fraction(5, 2), Fraction(5, 2))
        >>> distance(arb(0, float("inf")), Fraction(3))
        (Fraction(0, 1), None)
    """
    difference = ball - as_ball(number)
    if not difference.is_finite():
        return Fraction(0), None
    return exactly(difference.abs_lower()), exactly(difference.abs_upper())


def exactly(midpoint: arb) -> Fraction:
    """The number that a ball of radius zero is."""
    mantissa, exponent = midpoint.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


_SMALLEST_PIVOT = 2.0**-20
"""Of the largest entry: floats tell pivots down to it."""


def _midpoints(matrix: ObjectArray) -> ObjectArray:
    return _each(lambda ball: ball.mid(), matrix)


def _pivots(matrix: ObjectArray, count: int) -> tuple[list[int], list[int]]:
    """Rows and columns that elimination of the midpoints picks, the largest entry first. It proves nothing.

    Floats pick as long as they tell pivots; what is left behind these is computed with all bits.
    """
    rest = _midpoints(matrix)
    rows, columns = np.arange(rest.shape[0]), np.arange(rest.shape[1])
    chosen: tuple[list[int], list[int]] = [], []
    while len(chosen[0]) < count:
        i, j = _float_pivots(rest, count - len(chosen[0]))
        others, beside = np.delete(np.arange(len(rows)), i), np.delete(np.arange(len(columns)), j)
        for known, picked in zip(chosen, (rows[i], columns[j]), strict=True):
            known.extend(picked.tolist())
        if len(chosen[0]) < count:
            block, right, left = (arb_mat(rest[np.ix_(*at)].tolist()) for at in ((i, j), (i, beside), (others, j)))
            rest = rest[np.ix_(others, beside)]
            with suppress(ZeroDivisionError):  # only where all is zero, or no number
                rest = _midpoints(rest - np.array((left * block.solve(right)).tolist(), dtype=object))
        rows, columns = rows[others], columns[beside]
    return chosen


def _float_pivots(matrix: ObjectArray, most: int) -> tuple[list[int], list[int]]:
    """One pivot at least, and those that are not much smaller than the largest entry."""
    largest = max(map(abs, matrix.ravel()))
    scaled = _each(lambda x: float(x / largest), matrix) if largest > 0 else np.zeros(matrix.shape)
    rest = np.nan_to_num(scaled.astype(np.float64))
    free = np.ones(rest.shape)
    rows: list[int] = []
    columns: list[int] = []
    while len(rows) < most:
        i, j = map(int, np.unravel_index(np.argmax(np.where(free, np.abs(rest), -1)), rest.shape))
        pivot = rest[i, j]
        if rows and abs(pivot) < _SMALLEST_PIVOT:
            break
        rows.append(i)
        columns.append(j)
        if pivot != 0:
            rest = rest - np.outer(rest[:, j] / pivot, rest[i])
        free[i], free[:, j] = 0, 0
    return rows, columns


def _is_not_zero(matrix: ObjectArray, rows: list[int], columns: list[int]) -> bool:
    """Whether the determinant of a minor is a ball without zero; a ball that is no number counts as one with."""
    determinant = arb_mat(matrix[np.ix_(rows, columns)].tolist()).det()
    return bool(determinant.abs_lower() > 0)


def nonzero_minor(matrix: ObjectArray, size: int) -> tuple[list[int], list[int]] | None:
    """Rows and columns of a `size x size` minor that is certainly not zero; `None` if none is found.

    Only the determinant decides, a ball that does not contain zero, however the minor was chosen.

    Example:
        >>> singular = np.array([[arb(1), arb(2)], [arb(2), arb(4)]])
        >>> nonzero_minor(singular, 1), nonzero_minor(singular, 2)
        (([1], [1]), None)
    """
    if not 0 < size <= min(matrix.shape):
        return None
    rows, columns = _pivots(matrix, size)
    return (rows, columns) if _is_not_zero(matrix, rows, columns) else None


def rank_of_balls(matrix: ObjectArray) -> int:
    """A lower bound of the rank: the size of the largest minor found that is certainly not zero.

    Example:
        >>> rank_of_balls(np.array([[arb(1), arb(2)], [arb(2), arb(4)]]))
        1
    """
    found, most = 0, int(min(matrix.shape))
    rows, columns = _pivots(matrix, most)
    size = most
    while found < most:  # minors beyond the rank are zero: the largest other one by bisection
        if _is_not_zero(matrix, rows[:size], columns[:size]):
            found = size
        else:
            most = size - 1
        size = (found + most + 1) // 2
    return found
