r"""Real numbers enclosed by two floats each, a midpoint and a radius: the bound of the error is part of the value.

Products of matrices are Rump's (Verification methods, Acta Numerica 2010): one product of midpoints, as fast as BLAS,
and products of absolute values for the radius. Rounding is to nearest throughout; what a radius falls short by is
multiplied and added back. `docs/balls.md` proves the bounds, Propositions 1 and 2. Functions of one number are those of
flint's `arb`, whose balls are enlarged by the rounding to floats.

A ball whose midpoint or radius is not finite is the whole line: midpoint 0, radius infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.rings.arrays import Rows, exact_number
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import ELEMENTARY, Elementary
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.rotary import RotaryScaling, rotary_tables

Doubles = npt.NDArray[np.float64]

UNIT = 2.0**-53
"""Half the distance of 1 to the next float: the relative error of one operation."""

UP = 1 + 2.0**-30
"""What a sum of at most `MOST_PRODUCTS` is multiplied by, so that it is not too small."""

TINY = 2.0**-1040
"""What covers all that underflowed in a sum of at most `MOST_PRODUCTS`."""

MOST_PRODUCTS = 2**20
"""Products in one sum; there `gamma_n` is below `2^-32`."""

ENTRIES_AT_ONCE = 2**20
"""Entries of weights that are copied to float64 at one time."""


class MidpointRadius:
    """A matrix of real numbers, each within `radius` of `middle`; leading axes are batches.

    Example:
        >>> third = MidpointRadius.of([[Fraction(1, 3)]])
        >>> bool(third.contains(np.array([[Fraction(1, 3)]], dtype=object)).all()), float(third.radius[0, 0]) < 1e-15
        (True, True)
    """

    __slots__ = ("middle", "radius")

    def __init__(self, middle: Doubles, radius: Doubles) -> None:
        lost = ~(np.isfinite(middle) & (radius < np.inf))  # a radius that is no number is lost too
        self.middle: Doubles = np.where(lost, 0.0, middle) if lost.any() else middle
        self.radius: Doubles = np.where(lost, np.inf, radius) if lost.any() else radius

    @classmethod
    def of(cls, numbers: Rows) -> MidpointRadius:
        """Return rational numbers, rounded to the nearest floats; floats and small integers exactly.

        Raises:
            BadInput: an entry is not a finite number.
        """
        source = numbers if isinstance(numbers, np.ndarray) else np.array(numbers, dtype=object)
        if source.dtype.kind == "f" and source.dtype.itemsize <= 8:
            middle = source.astype(np.float64)
            if not np.isfinite(middle).all():
                raise BadInput("numbers must be finite, got NaN or infinity")
            return cls(middle, np.zeros(middle.shape))
        exact = [exact_number(x, "a number") for x in source.ravel()]
        try:
            nearest = np.array([float(x) for x in exact], dtype=np.float64).reshape(source.shape)
        except OverflowError as error:
            raise TooLarge("numbers must be below 2^1024 to be balls of floats") from error
        rounded = np.array([x != Fraction(float(y)) for x, y in zip(exact, nearest.flat, strict=True)], dtype=bool)
        return cls(nearest, np.where(rounded.reshape(source.shape), np.abs(nearest) * (2 * UNIT) + TINY, 0.0))

    @classmethod
    def around(cls, balls: BallMatrix) -> MidpointRadius:
        """Return floats around balls of any precision."""
        return cls._of_arbs(balls.flint.entries(), balls.shape)

    @classmethod
    def _of_arbs(cls, balls: Sequence[arb], shape: tuple[int, ...]) -> MidpointRadius:
        middle = np.array([float(x.mid()) for x in balls], dtype=np.float64).reshape(shape)
        radius = np.array([float(x.rad()) for x in balls], dtype=np.float64).reshape(shape)
        # float() of a midpoint or a radius is within one part in 2^52 of it, or within 2^-1074 of it
        return cls(middle, _rounded_up(radius + np.abs(middle) * (2 * UNIT)))

    def __repr__(self) -> str:
        """Return the shape and the largest radius: balls are many."""
        sizes = " x ".join(map(str, self.shape))
        return f"<balls of floats, {sizes}, radii at most {float(self.radius.max(initial=0)):.1e}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, rows and columns."""
        return self.middle.shape

    @property
    def mT(self) -> MidpointRadius:  # noqa: N802
        """The transpose."""
        return MidpointRadius(self.middle.mT, self.radius.mT)

    def __matmul__(self, other: MidpointRadius) -> MidpointRadius:
        return _product(self.middle, self.radius if self.radius.any() else None, other)

    def __add__(self, other: MidpointRadius) -> MidpointRadius:
        with np.errstate(over="ignore", invalid="ignore"):
            middle = self.middle + other.middle
            return MidpointRadius(middle, _rounded_up(self.radius + other.radius + np.abs(middle) * UNIT))

    def __mul__(self, other: MidpointRadius) -> MidpointRadius:
        """Return the product entry by entry."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            middle = self.middle * other.middle
            size = np.abs(self.middle) * other.radius + self.radius * (np.abs(other.middle) + other.radius)
            return MidpointRadius(middle, _rounded_up(size + np.abs(middle) * UNIT))

    def like(self, constants: Rows) -> MidpointRadius:
        """Return a matrix of rational numbers."""
        return MidpointRadius.of(constants)

    def _each(self, function: Callable[[arb], arb]) -> MidpointRadius:
        line = arb(0, float("inf"))
        pairs = zip(self.middle.ravel().tolist(), self.radius.ravel().tolist(), strict=True)
        values = [function(arb(m, r)) if r < np.inf else line for m, r in pairs]
        return MidpointRadius._of_arbs(values, self.shape)

    def evaluate(self, normalization: Normalization) -> MidpointRadius:
        """Return `S` of every entry.

        Raises:
            BadInput: of this `S` only the Taylor series is known.
        """
        if (function := normalization.function) is None:
            raise BadInput(f"balls need S itself, and of {normalization.name} only the Taylor series is known")
        return self._each(function)

    def elementary(self, name: Elementary) -> MidpointRadius:
        """Return a function of `rings.balls`, of every entry."""
        return self._each(ELEMENTARY[name])

    def reciprocal(self, _inverse_constants: Rows) -> MidpointRadius:
        """Return `1 / entry` for every entry; a ball around zero has the whole line as its reciprocal."""
        return self._each(lambda x: 1 / x)

    def after(self, weights: npt.NDArray[np.generic]) -> MidpointRadius:
        """Return `weights @ self`, for finite floats, which are copied a few rows at a time."""
        rows = max(1, ENTRIES_AT_ONCE // max(1, weights.shape[-1]))
        parts = [
            _product(weights[start : start + rows].astype(np.float64), None, self)
            for start in range(0, weights.shape[0], rows)
        ]
        return MidpointRadius(np.concatenate([p.middle for p in parts]), np.concatenate([p.radius for p in parts]))

    def rotary(
        self, theta: Fraction, width: int, positions: Sequence[int], scaling: RotaryScaling | None = None
    ) -> tuple[MidpointRadius, MidpointRadius]:
        """Return cosines and sines of `position * theta^(-2k/width)`, scaled, of shape `width / 2 x t`."""
        shape = width // 2, len(positions)
        tables = rotary_tables(theta, width, positions, scaling)
        cosines, sines = (MidpointRadius._of_arbs([x for row in rows for x in row], shape) for rows in tables)
        return cosines, sines

    def contains(self, numbers: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        """Return whether each ball contains the rational number at its place."""
        result = np.empty(self.shape, dtype=bool)
        for index, number in np.ndenumerate(np.asarray(numbers, dtype=object)):
            m, r = float(self.middle[index]), float(self.radius[index])
            result[index] = r == np.inf or abs(exact_number(number) - Fraction(m)) <= Fraction(r)
        return result

    def balls(self) -> BallMatrix:
        """Return the same balls in flint, a matrix without batches."""
        pairs = zip(self.middle.ravel().tolist(), self.radius.ravel().tolist(), strict=True)
        rows, columns = self.shape
        return BallMatrix(arb_mat(rows, columns, [arb(m, r) for m, r in pairs]))


def _rounded_up(radius: Doubles) -> Doubles:
    """Return an upper bound of a radius that floats computed as a sum of few products."""
    return radius * UP + TINY


def _product(left: Doubles, left_radius: Doubles | None, right: MidpointRadius) -> MidpointRadius:
    """Return Rump's product; there is no radius on the left where it is zero."""
    n = left.shape[-1]
    if n > MOST_PRODUCTS:
        raise TooLarge(f"products of balls must have at most {MOST_PRODUCTS:,} terms, got {n:,}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        middle = left @ right.middle
        size = np.abs(right.middle)
        # 2 n u > gamma_n; where that underflows, TINY is more
        spread = np.abs(left) @ (right.radius + size * (2 * n * UNIT) + TINY)
        if left_radius is not None:
            spread += left_radius @ (size + right.radius)
    return MidpointRadius(middle, _rounded_up(spread))
