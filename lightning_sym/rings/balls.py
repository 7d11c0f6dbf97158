r"""Matrices of real numbers enclosed in balls, each with one derivative: flint's `arb`, rigorous like integers.

A ball `[m +/- r]` contains the true real number, whatever was rounded on the way; `exp` and division included. Every
entry is a series $x + \varepsilon x'$ modulo $\varepsilon^2$ of balls, so that one forward pass gives the network's
outputs and their derivative along one direction in the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, arb_series, ctx

from lightning_sym.errors import BadInput
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rationals import as_fmpq, map_entries


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
    return number if isinstance(number, arb) else arb(as_fmpq(number))


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
    """A matrix of balls with one derivative.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> x = DualBalls.of(np.array([[2]]), np.array([[1]]))
        >>> (x @ x.mT).derivative()[0, 0]               # d(x^2) = 2 x dx
        4.00000000000000
        >>> zero = DualBalls.of(np.array([[0]]))
        >>> zero.evaluate(SOFTMAX).values()[0, 0]
        1.00000000000000
    """

    __slots__ = ("entries",)

    def __init__(self, entries: ObjectArray) -> None:
        self.entries = entries

    @classmethod
    def of(cls, numbers: npt.ArrayLike, direction: npt.ArrayLike | None = None) -> DualBalls:
        """Rational numbers, and the direction in which they move: that of `direction`, by default none."""
        source = np.asarray(numbers, dtype=object)
        moves = np.zeros(source.shape, dtype=object) if direction is None else np.asarray(direction, dtype=object)
        entries = np.empty(source.shape, dtype=object)
        for index, number in np.ndenumerate(source):
            entries[index] = arb_series([as_ball(number), as_ball(moves[index])], 2)
        return cls(entries)

    @classmethod
    def around(cls, balls: npt.ArrayLike) -> DualBalls:
        """Balls, or rational numbers, that do not move.

        Example:
            >>> DualBalls.around([[ball(Fraction(1), Fraction(1, 2)), 2]]).values()[0, 1]
            2.00000000000000
        """
        return cls(map_entries(lambda x: arb_series([as_ball(x), arb(0)], 2), balls))

    def values(self) -> ObjectArray:
        """The balls themselves."""
        return map_entries(lambda s: s[0], self.entries)

    def derivative(self) -> ObjectArray:
        """The balls of the derivative."""
        return map_entries(lambda s: s[1], self.entries)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, rows and columns."""
        return self.entries.shape

    def __matmul__(self, other: DualBalls) -> DualBalls:
        return DualBalls(self.entries @ other.entries)

    def __add__(self, other: DualBalls) -> DualBalls:
        return DualBalls(self.entries + other.entries)

    def __mul__(self, other: DualBalls) -> DualBalls:
        """The product entry by entry."""
        return DualBalls(self.entries * other.entries)

    @property
    def mT(self) -> DualBalls:  # noqa: N802
        return DualBalls(self.entries.T)

    def like(self, constants: npt.ArrayLike) -> DualBalls:
        """A constant matrix of integers or fractions."""
        return DualBalls.of(constants)

    def evaluate(self, normalization: Normalization) -> DualBalls:
        """`S` of every entry.

        Raises:
            BadInput: of this `S` only the Taylor series is known.
        """
        if normalization.function is None:
            raise BadInput(f"balls need S itself, and of {normalization.name} only the Taylor series is known")
        return DualBalls(map_entries(normalization.function, self.entries))

    def reciprocal(self, _inverse_constants: npt.ArrayLike) -> DualBalls:
        """`1 / entry` for every entry; a ball around zero has the whole line as its reciprocal."""
        return DualBalls(map_entries(_reciprocal, self.entries))


def _reciprocal(entry: arb_series) -> arb_series:
    if entry[0].contains(0):  # flint refuses to divide; no real number is known to be wrong here
        return arb_series([arb(0, float("inf"))] * 2, 2)
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


def _pivots(matrix: ObjectArray, count: int) -> tuple[list[int], list[int]]:
    """Rows and columns that elimination of the midpoints picks, the largest entry first. It proves nothing."""
    midpoints = np.frompyfunc(lambda ball: ball.mid(), 1, 1)
    rest = midpoints(matrix)
    rows, columns = list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    chosen_rows, chosen_columns = [], []
    for _ in range(count):
        i, j = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
        chosen_rows.append(rows.pop(i))
        chosen_columns.append(columns.pop(j))
        row, column = np.delete(rest[i], j), np.delete(rest[:, j], i)
        pivot = rest[i, j]
        rest = np.delete(np.delete(rest, i, axis=0), j, axis=1)
        if pivot != 0 and rest.size:
            rest = midpoints(rest - np.outer(midpoints(column / pivot), row))
    return chosen_rows, chosen_columns


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
    size = int(min(matrix.shape))
    rows, columns = _pivots(matrix, size)
    while size and not _is_not_zero(matrix, rows[:size], columns[:size]):
        size -= 1
    return size
