"""Matrices of real numbers enclosed in balls, as flint holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, ctx

from lightning_sym.display import latex_words, notebook, typed
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.rings.arrays import ObjectArray, Plain, Rows, two_axes
from lightning_sym.rings.balls import ELEMENTARY, Elementary, as_ball, exactly
from lightning_sym.rings.float_products import LARGEST, Digits, Floats, product
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.rotary import RotaryScaling, rotary_tables
from lightning_sym.rings.sizes import LARGE

LONGEST_EXPONENT = 2**20
"""Bits before the point of an exponent of a ball: larger balls are not made decimal."""

ENTRIES_AT_ONCE = 2**20
"""Entries of large matrices that are balls at one time."""


class Unordered(TooLarge):
    """Balls meet, so that it is not known which is larger."""


class BallMatrix:
    """A matrix of balls; the precision is that of `rings.balls.precision` when they are computed.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> zero = BallMatrix.of([[0, 0]])
        >>> zero.evaluate(SOFTMAX).flint
        [1.00000000000000, 1.00000000000000]
    """

    __slots__ = ("_digits", "flint")

    def __init__(self, flint: arb_mat) -> None:
        self.flint = flint
        self._digits: tuple[int, Digits] | None = None

    @classmethod
    def of(cls, matrix: Rows | RationalMatrix) -> BallMatrix:
        """Return rational numbers, rounded outwards to the precision; arrays of floats exactly.

        Raises:
            BadInput: an entry is not a finite number.
        """
        if isinstance(matrix, np.ndarray) and matrix.dtype.kind == "f" and matrix.dtype.itemsize <= 8:
            if not np.isfinite(matrix).all():
                raise BadInput("numbers must be finite, got NaN or infinity")
            return cls(arb_mat(*two_axes(matrix), matrix.ravel().tolist()))
        exact = matrix if isinstance(matrix, RationalMatrix) else RationalMatrix.of(matrix)
        return cls(arb_mat(exact.flint))

    @classmethod
    def around(cls, balls: ObjectArray) -> BallMatrix:
        """Return balls, or rational numbers, as they are.

        Example:
            >>> BallMatrix.around(np.array([[BallMatrix.of([[1]]).flint[0, 0], 2]])).flint
            [1.00000000000000, 2.00000000000000]
        """
        rows, columns = two_axes(balls)
        return cls(arb_mat(rows, columns, list(map(as_ball, balls.ravel()))))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.flint.nrows()), int(self.flint.ncols())

    def __matmul__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.flint * other.flint)

    def __add__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.flint + other.flint)

    def __mul__(self, other: BallMatrix) -> BallMatrix:
        """Return the product entry by entry."""
        pairs = zip(self.flint.entries(), other.flint.entries(), strict=True)
        return BallMatrix(arb_mat(*self.shape, [x * y for x, y in pairs]))

    @property
    def mT(self) -> BallMatrix:  # noqa: N802
        return BallMatrix(self.flint.transpose())

    def like(self, constants: Rows) -> BallMatrix:
        """Return a matrix of integers or fractions."""
        return BallMatrix.of(constants)

    def evaluate(self, normalization: Normalization) -> BallMatrix:
        """Return `S` of every entry.

        Raises:
            BadInput: of this `S` only the Taylor series is known.
        """
        if (function := normalization.function) is None:
            raise BadInput(f"balls need S itself, and of {normalization.name} only the Taylor series is known")
        return BallMatrix(arb_mat(*self.shape, [function(x) for x in self.flint.entries()]))

    def reciprocal(self, _inverse_constants: Rows) -> BallMatrix:
        """Return `1 / entry` for every entry; a ball around zero has the whole line as its reciprocal."""
        return BallMatrix(arb_mat(*self.shape, [1 / x for x in self.flint.entries()]))

    def elementary(self, name: Elementary) -> BallMatrix:
        """Return a function of `rings.balls`, of every entry.

        Example:
            >>> BallMatrix.of([[4]]).elementary("rsqrt").flint
            [0.500000000000000]
        """
        return BallMatrix(arb_mat(*self.shape, [ELEMENTARY[name](x) for x in self.flint.entries()]))

    def largest(self, count: int) -> npt.NDArray[np.object_]:
        """Return where the `count` largest entries of each column stand, as a matrix of 1 and 0.

        Raises:
            Unordered: balls meet, so that it is not known; where entries are equal no precision shows it.

        Example:
            >>> BallMatrix.of([[1, 5], [3, 2], [2, 4]]).largest(2).tolist()
            [[0, 1], [1, 0], [1, 1]]
        """
        rows, columns = self.shape
        found = np.zeros(self.shape, dtype=object)
        for column in range(columns):
            order = sorted(range(rows), key=lambda row: -float(self.flint[row, column].mid()))
            for row in order[:count]:
                if any(not self.flint[row, column] > self.flint[other, column] for other in order[count:]):
                    raise Unordered(f"the {count} largest of a column must be known, and balls meet")
                found[row, column] = 1
        return found

    def after(self, weights: Floats) -> BallMatrix:
        """Return `weights @ self`, for finite floats, large (`rings.float_products`)."""
        bits = int(ctx.prec)
        if self._digits is None or self._digits[0] != bits:
            self._digits = bits, Digits.of(self.flint, bits)  # the same matrix is multiplied by weights of many heads
        return BallMatrix(product(weights, self._digits[1]))

    def rotary(
        self, theta: Fraction, width: int, positions: Sequence[int], scaling: RotaryScaling | None = None
    ) -> tuple[BallMatrix, BallMatrix]:
        """Return cosines and sines of `position * theta^(-2k/width)`, scaled, of shape `width / 2 x t`."""
        cosines, sines = (BallMatrix(arb_mat(rows)) for rows in rotary_tables(theta, width, positions, scaling))
        return cosines, sines

    def accuracy(self) -> int | None:
        """Return the largest number of bits such that all radii are at most `2^-bits`; `None` if one is not finite.

        Example:
            >>> (BallMatrix.of([[1]]) @ BallMatrix.of([[Fraction(1, 3)]])).accuracy() > 50
            True
        """
        entries = self.flint.entries()
        if not all(x.is_finite() for x in entries):
            return None
        mantissa, exponent = map(int, max((x.rad() for x in entries), default=arb(0)).man_exp())
        return -(mantissa.bit_length() + exponent) if mantissa else 2**62

    def apart(self, other: BallMatrix) -> tuple[int, int] | None:
        """Return the first entry, row and column from 0, whose balls do not meet; `None` if there is none."""
        columns = self.shape[1]
        for number, (x, y) in enumerate(zip(self.flint.entries(), other.flint.entries(), strict=True)):
            if not x.overlaps(y):
                return divmod(number, columns)
        return None

    def farthest(self, other: BallMatrix) -> Fraction | None:
        """Return an upper bound for the largest distance of two entries; `None` where none is known.

        Example:
            >>> BallMatrix.of([[1, 5]]).farthest(BallMatrix.of([[2, 3]]))
            Fraction(2, 1)
        """
        largest = arb(0)
        for x, y in zip(self.flint.entries(), other.flint.entries(), strict=True):
            if not (difference := x - y).is_finite():
                return None
            if (bound := difference.abs_upper()) > largest:  # both are points
                largest = bound
        return exactly(largest)

    def clearest(self, other: BallMatrix) -> tuple[Fraction, tuple[int, int]] | None:
        """Return a lower bound for the distance of two entries, positive and the largest, and their place.

        Example:
            >>> BallMatrix.of([[1, 5]]).clearest(BallMatrix.of([[2, 3]]))
            (Fraction(2, 1), (0, 1))
        """
        pairs = zip(self.flint.entries(), other.flint.entries(), strict=True)
        distances = [(x - y).abs_lower() for x, y in pairs]
        best = max(range(len(distances)), key=distances.__getitem__)
        distance = exactly(distances[best]) if distances[best].is_finite() else Fraction(0)
        return (distance, divmod(best, self.shape[1])) if distance else None

    def decimals(self) -> ObjectArray:
        """Return the entries as `DecimalBall`s, each containing the one it is made of.

        Raises:
            BadInput: an entry has no finite radius.
        """
        result = np.empty(self.shape, dtype=object)
        for index, ball in zip(np.ndindex(*self.shape), self.flint.entries(), strict=True):
            result[index] = DecimalBall.around(ball)
        return result


B = TypeVar("B", "LaterBalls", BallMatrix)


class LaterBalls:
    """A product of matrices of machine numbers that are made balls a few rows at a time, when it is multiplied.

    Example:
        >>> product = LaterBalls(np.array([[2, 0.5]])) @ LaterBalls(np.array([[1], [4]]))
        >>> product.shape, (product @ BallMatrix.of([[1]])).flint
        ((1, 1), [4.00000000000000])
    """

    __slots__ = ("_factors", "shape")

    def __init__(self, *factors: Plain) -> None:
        self._factors = factors
        self.shape = factors[0].shape[0], factors[-1].shape[1]

    @property
    def mT(self) -> LaterBalls:  # noqa: N802
        """The transpose."""
        return LaterBalls(*(factor.T for factor in reversed(self._factors)))

    def __matmul__(self, other: B) -> B:
        if isinstance(other, LaterBalls):
            return LaterBalls(*self._factors, *other._factors)
        for factor in reversed(self._factors):
            if factor.dtype.kind == "f" and factor.size >= LARGE and np.abs(factor).max() < LARGEST:
                other = other.after(cast(Floats, factor))
            else:
                other = BallMatrix(arb_mat(factor.shape[0], other.shape[1], _one_by_one(factor, other)))
        return other


def _one_by_one(factor: Plain, other: BallMatrix) -> list[arb]:
    """Return the entries of a product, a few rows at a time."""
    step = max(1, ENTRIES_AT_ONCE // factor.shape[1])
    entries: list[arb] = []
    for start in range(0, factor.shape[0], step):
        entries += (BallMatrix.of(factor[start : start + step]) @ other).flint.entries()
    return entries


@dataclass(frozen=True, repr=False)
class DecimalBall:
    """A real number enclosed: midpoint and radius are decimal fractions, exact.

    Example:
        >>> ball, point = DecimalBall(Fraction(1, 4), Fraction(1, 1000)), DecimalBall(Fraction(1), Fraction(0))
        >>> str(ball), str(point), ball.meets(ball), ball.meets(point)
        ('0.250 +/- 1e-3', '1', True, False)
    """

    midpoint: Fraction
    radius: Fraction

    @classmethod
    def around(cls, ball: arb) -> DecimalBall:
        """Return a decimal ball that contains this one, and is little larger.

        Raises:
            BadInput: it has no finite radius, or is too large to be written.
        """
        if not ball.is_finite() or abs(int(ball.mid().man_exp()[1])) > LONGEST_EXPONENT:
            raise BadInput("a ball must be finite, and not very large, to be written in decimals")
        middle, radius = exactly(ball.mid()), exactly(ball.rad())
        top, low = middle.numerator, middle.denominator  # of both denominators one is a multiple of the other
        common = max(low, radius.denominator)
        digits = 0
        if radius:  # as many as are known, and one more
            size, unit = radius.numerator, radius.denominator
            digits = max(0, (unit.bit_length() - size.bit_length() - 1) * 30102 // 100000)
            while size * 10**digits < unit:
                digits += 1
            digits += 1
        elif low > 1:
            digits = low.bit_length() - 1  # a power of two, so its decimals end there
        scale = 10**digits
        rounded, rest = divmod(top * scale, low)
        rounded += 2 * rest > low or (2 * rest == low and rounded % 2)
        outwards = radius.numerator * scale * (common // radius.denominator)
        outwards += abs(top * scale - rounded * low) * (common // low)
        return cls(Fraction(rounded, scale), Fraction(-(-outwards // common), scale))

    def meets(self, other: DecimalBall) -> bool:
        """Return whether the two have a number in common."""
        return abs(self.midpoint - other.midpoint) <= self.radius + other.radius

    @property
    def _digits(self) -> int:
        digits = 0
        while any((x * 10**digits).denominator > 1 for x in (self.midpoint, self.radius)):
            digits += 1
        return digits

    def written(self) -> tuple[str, str]:
        """Return midpoint and radius as decimals that `Fraction` reads back."""
        digits = self._digits
        whole = abs(self.midpoint) * 10**digits
        text = str(whole.numerator).zfill(digits + 1)
        sign = "-" if self.midpoint < 0 else ""
        middle = sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)
        radius = (self.radius * 10**digits).numerator
        return middle, f"{radius}e-{digits}" if radius and digits else str(radius)

    def __repr__(self) -> str:
        return typed("DecimalBall", {"midpoint": self.midpoint, "radius": self.radius})

    def _repr_latex_(self) -> str:
        return notebook(latex_words(str(self)))

    def __str__(self) -> str:
        middle, radius = self.written()
        return middle if radius == "0" else f"{middle} +/- {radius}"
