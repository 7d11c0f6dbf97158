"""Exact numbers near floats, as integers over denominators: guesses, which an exact comparison confirms or not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_arrays import Numbers, narrow
from lightning_sym.rings.prime_field import MORE_PRIMES

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ratio:
    """A matrix of rational numbers: integers below 2^53 as float64, over one denominator.

    Where nothing is added, as where each neuron has a scale, each entry may have a denominator of its own, and integers
    may be of any length, as objects.
    """

    numerators: Any
    denominator: Any

    @property
    def floats(self) -> Floats:
        """The nearest floats."""
        return np.asarray(self.numerators / self.denominator, dtype=np.float64)

    @property
    def mT(self) -> Ratio:  # noqa: N802
        return Ratio(self.numerators.mT, self.denominator.mT if np.ndim(self.denominator) else self.denominator)

    def reshape(self, *shape: int) -> Ratio:
        """Return the same numbers in another shape."""
        low = self.denominator.reshape(*shape) if np.ndim(self.denominator) else self.denominator
        return Ratio(self.numerators.reshape(*shape), low)


CLOSE = (-46, -42, -38, -34, -30)
"""Powers of two: how near, of its size, a number must be. The first one counts at which all are simple enough."""

CHANCE = 12
"""A number is simple if it has so many bits less than one that is as near by chance."""

FEW = 8
"""Entries that are looked at before all the others."""

LARGEST_ODD = 2**21
"""Odd factors of denominators are smaller than this: no prime divides them that weights are compared modulo."""


def nice(array: Floats, *, apiece: bool = False) -> Ratio | None:
    """Return the simplest fractions near floats, `None` if they are not simple: a guess.

    Args:
        array: what a fit found.
        apiece: each entry is a scale of its own, known to its own precision, and may have a denominator of its own.

    Example:
        >>> nice(np.array([0.75, -2.0])).denominator, nice(np.array([1 / 3])).denominator, nice(np.array([2**0.5]))
        (4, 3, None)
    """
    if not np.isfinite(array).all():
        return None
    sizes = np.abs(array) if apiece else np.broadcast_to(np.abs(array).max(initial=0), array.shape)
    levels = np.array(CLOSE)[:, None]
    few, most = array.reshape(-1)[:FEW], sizes.reshape(-1)[:FEW]
    hopeful = _simplest(np.broadcast_to(few, (len(CLOSE), len(few))), np.ldexp(most, levels))[2].all(axis=1)
    for close in levels[hopeful, 0]:
        numerators, denominators, simple = _simplest(array, np.ldexp(sizes, close))
        if simple.all():
            return _over_one(numerators, denominators, apiece=apiece)
    return None


def _over_one(numerators: Floats, denominators: Whole, *, apiece: bool) -> Ratio | None:
    """Return fractions over one denominator or, apiece, over their own where that is long; else `None`."""
    common = math.lcm(*map(int, np.unique(denominators)))
    if common < 2**52 and (not apiece or common & (common - 1) == 0 or common < 2**24):
        numbers = numerators * (common // denominators)
        if np.abs(numbers).max(initial=0) < 2**52:
            return Ratio(numbers, common)
    return Ratio(numerators, denominators) if apiece else None


def _simplest(array: Floats, near: Floats) -> tuple[Floats, Whole, npt.NDArray[np.bool_]]:
    """Return numerators and denominators of the simplest numbers near floats, and where these are simple.

    They are at most `near` off; simple are those that chance does not explain.
    """
    part, exponent = np.frexp(np.where(np.abs(array) <= near, 0.0, np.abs(array)))
    zero = part == 0
    part = np.where(zero, 1.0, part * 2)  # from 1 to 2
    exponent = np.where(zero, 0, exponent - 1)
    with np.errstate(over="ignore"):
        close = np.ldexp(near, -exponent)
        bits = np.where(zero, 2, np.floor(-np.log2(np.maximum(close, 1e-300))) - CHANCE)
    most = max(int(bits.max(initial=0)), 1)
    top, low, cost = _dyadic(part, close, most)
    further = _fraction(part, close, most)
    better = further[2] < cost
    top, low, cost = (np.where(better, b, a) for a, b in zip((top, low, cost), further, strict=True))
    simple = (cost <= bits) & (np.abs(exponent) <= 40)
    top, low, exponent = (np.where(simple, x, 0) for x in (top, low, exponent))
    numerators = np.where(zero, 0.0, np.copysign(np.ldexp(top, np.maximum(exponent, 0)), array))
    denominators = np.where(zero | ~simple, 1, np.ldexp(low, np.maximum(-exponent, 0)))
    simple &= (np.abs(numerators) < 2**52) & (denominators < 2**62)
    lowest = np.where(simple, denominators, 1).astype(np.int64)
    shared = np.gcd(np.where(simple, numerators, 1).astype(np.int64), lowest)
    return numerators / shared, lowest // shared, simple


NEVER = 200
"""Bits of what was not found."""

AT_ONCE = 2**13
"""Entries, each at so many places of bits, that are looked at together."""


def _dyadic(part: Floats, close: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Return numerator and denominator of the shortest binary number that is close, and its bits.

    The given numbers are from 1 to 2.

    Those with more than `most` bits are not looked for.
    """
    top, low, cost = np.ones_like(part), np.ones_like(part), np.full(part.shape, float(NEVER))
    step = max(1, AT_ONCE // max(part.size, 1))
    for start in range(0, most, step):
        places = np.arange(start, min(start + step, most)).reshape(-1, *[1] * part.ndim)
        scaled = np.ldexp(part, places)
        fits = np.abs(scaled - np.rint(scaled)) <= np.ldexp(close, places)
        found, first = (cost == NEVER) & fits.any(axis=0), start + fits.argmax(axis=0)
        low, cost = np.where(found, np.ldexp(1.0, first), low), np.where(found, first + 1.0, cost)
        top = np.where(found, np.rint(part * low), top)
        if (cost < NEVER).all():
            break
    return top, low, cost


def _fraction(part: Floats, close: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Return the same for the first convergent of the continued fraction that is close; powers of two cost nothing."""
    tops, lows = (np.zeros_like(part), np.ones_like(part)), (np.ones_like(part), np.zeros_like(part))
    rest, found = part, np.zeros(part.shape, dtype=bool)
    top, low = np.ones_like(part), np.ones_like(part)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(most):  # each step has a bit or more
            whole = np.floor(rest)
            tops, lows = (tops[1], whole * tops[1] + tops[0]), (lows[1], whole * lows[1] + lows[0])
            fits = ~found & (np.abs(tops[1] / lows[1] - part) <= close) & (tops[1] < 2**40)
            top, low, found = np.where(fits, tops[1], top), np.where(fits, lows[1], low), found | fits
            rest = 1 / (rest - whole)
            if found.all():
                break
    odd = [np.abs(x / np.exp2(_twos(x))) for x in (top, low)]
    cost = sum(np.floor(np.log2(x)) + 1 for x in odd)
    return top, low, np.where(found & (odd[1] < LARGEST_ODD), cost, NEVER)


def _twos(numbers: Floats) -> npt.NDArray[np.integer]:
    """Return how often each whole number can be halved."""
    whole = numbers.astype(np.int64)
    return np.frexp((whole & -whole).astype(np.float64))[1] - 1


def stored_ratios(old: npt.NDArray[np.inexact], new: npt.NDArray[np.inexact]) -> tuple[Ratio, Ratio] | None:
    """Return exact `z` with `new = z old` for each row, and `z / |z|^2`, from two numbers of the row; or `None`.

    Args:
        old, new: `(n, k)`, real, or complex for `z` as pairs; as they are stored, or products that floats hold.

    Example:
        >>> z, inverse = stored_ratios(np.array([[3.0, 6.0]]), np.array([[7.0, 14.0]]))
        >>> z.numerators.tolist(), z.denominator.tolist(), inverse.numerators.tolist()
        ([7], [3], [3])
    """
    found, inverses = [], []
    for row, image in zip(old, new, strict=True):
        places = np.argsort(np.abs(row))[:-3:-1]
        (x, y), *others = ((_exact(row[j]), _exact(image[j])) for j in places)
        length = x[0] ** 2 + x[1] ** 2
        if length == 0 and any(y):
            return None
        z = _times(y, (x[0] / length, -x[1] / length)) if length else (Fraction(1), Fraction(0))
        size = z[0] ** 2 + z[1] ** 2
        if size == 0 or any(_times(z, other) != wanted for other, wanted in others):
            return None
        found.append(z if np.iscomplexobj(old) else z[:1])
        inverses.append(tuple(part / size for part in found[-1]))
    if not all(math.gcd(x.denominator, _PRIMES) == 1 for row in (*found, *inverses) for x in row):
        return None
    shape = (len(found), 2) if np.iscomplexobj(old) else (len(found),)
    return as_ratio(found, shape), as_ratio(inverses, shape)


_PRIMES = math.prod(MORE_PRIMES)


def _exact(number: complex) -> tuple[Fraction, Fraction]:
    """Return the real and the imaginary part."""
    return Fraction(float(np.real(number))), Fraction(float(np.imag(number)))


def _times(x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """Return the product of two complex numbers."""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def as_ratio(rows: Iterable[Iterable[Fraction]], shape: tuple[int, ...]) -> Ratio:
    """Return numbers of any length, each over a denominator of its own."""
    parts = [x for row in rows for x in row]
    top, low = ([getattr(x, name) for x in parts] for name in ("numerator", "denominator"))
    return Ratio(*(np.array(numbers, dtype=object).reshape(shape) for numbers in (top, low)))


def round_number(array: Floats) -> Floats | None:
    """Return multiples of 1, 1/2, .., or 1/16 near floats, or `None`: a guess where all was rounded.

    Example:
        >>> round_number(np.array([0.99, 0.51])), round_number(np.array([0.3]))
        (array([1. , 0.5]), None)
    """
    for halvings in range(5):
        found = np.asarray(np.ldexp(np.rint(np.ldexp(array, halvings)), -halvings))
        if np.abs(found - array).max(initial=0) <= 2.0 ** -(halvings + 4):
            return found
    return None


def as_part(numbers: object) -> Numbers:
    """Return a part of a symmetry from a guess: floats that hold it, or fractions."""
    if not isinstance(numbers, Ratio):
        return np.asarray(numbers, dtype=np.float64)
    if np.all(numbers.denominator & (numbers.denominator - 1) == 0):  # powers of two
        return numbers.floats
    parts = np.broadcast_arrays(numbers.numerators, numbers.denominator)
    return narrow(np.frompyfunc(lambda top, low: Fraction(int(top), int(low)), 2, 1)(*parts))
