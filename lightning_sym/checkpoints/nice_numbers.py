"""Exact numbers near floats: guesses, which an exact comparison confirms or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_rings import Floats, Ratio

CLOSE = (-46, -42, -38, -34, -30)
"""Powers of two: how near, of its size, a number must be. The first one counts at which all are simple enough."""

CHANCE = 12
"""A number is simple if it has so many bits less than one that is as near by chance."""

LARGEST_ODD = 2**21
"""Odd factors of denominators are smaller than this: no prime divides them that weights are compared modulo."""


def nice(array: Floats, apiece: bool = False) -> Ratio | None:
    """The simplest fractions near floats, `None` if they are not simple: a guess.

    Args:
        array: what a fit found.
        apiece: each entry is a scale of its own, known to its own precision, and may have a denominator of its own.

    Example:
        >>> nice(np.array([0.75, -2.0])).denominator, nice(np.array([1 / 3])).denominator, nice(np.array([2**0.5]))
        (4, 3, None)
    """
    if not np.isfinite(array).all():
        return None
    sizes = np.abs(array)
    for close in CLOSE:
        near = np.ldexp(sizes if apiece else np.broadcast_to(sizes.max(initial=0), array.shape), close)
        found = _simplest(array, near)
        if found is not None:
            return _over_one(*found, apiece)
    return None


def _over_one(numerators: Floats, denominators: Any, apiece: bool) -> Ratio | None:
    """Fractions over one denominator, or, apiece, over their own where that is long."""
    common = math.lcm(*map(int, np.unique(denominators)))
    if common < 2**52 and (not apiece or common & (common - 1) == 0 or common < 2**24):
        numbers = numerators * (common // denominators)
        if np.abs(numbers).max(initial=0) < 2**52:
            return Ratio(numbers, common)
    return Ratio(numerators, denominators) if apiece else None


def _simplest(array: Floats, near: Floats) -> tuple[Floats, Any] | None:
    """Numerators and denominators of simple numbers at most `near` floats, `None` if there is none for one of them."""
    part, exponent = np.frexp(np.where(np.abs(array) <= near, 0.0, np.abs(array)))
    zero = part == 0
    part = np.where(zero, 1.0, part * 2)  # from 1 to 2
    exponent = np.where(zero, 0, exponent - 1)
    with np.errstate(over="ignore"):
        close = np.ldexp(near, -exponent)
        bits = np.where(zero, 2, np.floor(-np.log2(np.maximum(close, 1e-300))) - CHANCE)
    top, low, cost = _dyadic(part, close)
    further = _fraction(part, close)
    better = further[2] < cost
    top, low, cost = (np.where(better, b, a) for a, b in zip((top, low, cost), further, strict=True))
    if (cost > bits).any() or (exponent > 40).any() or (exponent < -40).any():
        return None
    numerators = np.where(zero, 0.0, np.copysign(np.ldexp(top, np.maximum(exponent, 0)), array))
    denominators = np.where(zero, 1, np.ldexp(low, np.maximum(-exponent, 0)))
    fits = np.abs(numerators).max(initial=0) < 2**52 and denominators.max(initial=1) < 2**62
    if not fits:
        return None
    lowest = denominators.astype(np.int64)
    shared = np.gcd(numerators.astype(np.int64), lowest)
    return numerators / shared, lowest // shared


NEVER = 200
"""Bits of what was not found."""


def _dyadic(part: Floats, close: Floats) -> tuple[Floats, Floats, Floats]:
    """For numbers from 1 to 2: numerator and denominator of the shortest binary number that is close, and its bits."""
    top, low, cost = np.ones_like(part), np.ones_like(part), np.full(part.shape, float(NEVER))
    for places in range(35):
        scaled = np.ldexp(part, places)
        fits = (cost == NEVER) & (np.abs(scaled - np.rint(scaled)) <= np.ldexp(close, places))
        top, low = np.where(fits, np.rint(scaled), top), np.where(fits, 2.0**places, low)
        cost = np.where(fits, places + 1, cost)
        if (cost < NEVER).all():
            break
    return top, low, cost


def _fraction(part: Floats, close: Floats) -> tuple[Floats, Floats, Floats]:
    """The same for the first convergent of the continued fraction that is close; powers of two cost nothing."""
    tops, lows = (np.zeros_like(part), np.ones_like(part)), (np.ones_like(part), np.zeros_like(part))
    rest, found = part, np.zeros(part.shape, dtype=bool)
    top, low = np.ones_like(part), np.ones_like(part)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(24):
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


def _twos(numbers: Floats) -> Any:
    """How often each whole number can be halved."""
    whole = numbers.astype(np.int64)
    return np.frexp((whole & -whole).astype(np.float64))[1] - 1


def round_number(array: Floats) -> Floats | None:
    """Multiples of 1, 1/2, .., or 1/16 not far from floats: a guess where everything was rounded.

    Example:
        >>> round_number(np.array([0.99, 0.51])), round_number(np.array([0.3]))
        (array([1. , 0.5]), None)
    """
    for halvings in range(5):
        found = np.asarray(np.ldexp(np.rint(np.ldexp(array, halvings)), -halvings))
        if np.abs(found - array).max(initial=0) <= 2.0 ** -(halvings + 4):
            return found
    return None
