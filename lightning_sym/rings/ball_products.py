r"""Matrices of machine numbers times balls, by products of digits in float64: flint would be handed numbers one by one.

The middles of balls are integers times one power of two, and so are the numbers of the matrix. Both are cut into digits
of 21 bits; sums of 2,048 products of digits are exact in float64, and all of them together in 64-bit integers. Radii
are bounded from above: $\sum_k |W_{ik}| r_k$, times a little more than all roundings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat

from lightning_sym.rings.dyadic import Plain
from lightning_sym.rings.limbs import BITS, Floats, Limbs

_CHUNK = 2048
"""Products of digits that add up below 2^53."""

_ENTRIES = 2**20
"""Of the matrix, that are cut into digits at one time."""

_MOST_BITS = 2**14
"""Of the middles as integers times one power of two."""

_LEAST = -200
"""Radii are no smaller than two to this power times the largest one."""

_MOST_SUMS = 2**9
"""Products of digits that are added up in 64 bits."""

_ONE, _ANY = arb(1), arb(0, float("inf"))

_MOST_INNER = 2**22
"""Products in a sum whose rounding is allowed for."""


@dataclass(frozen=True, eq=False)
class BallDigits:
    """A matrix of balls, `k x t`, with digits.

    Attributes:
        digits: of the middles, `k x (t D)`, signed: lowest first.
        columns: `t`.
        power: of two, that the middles as integers are multiplied with.
        radii: at most one; `None` where all are 0.
        scale: the power of two that radii are multiplied with.
        lost: by column, whether a ball is not finite: all that is made of it may be anything.
    """

    digits: Floats
    columns: int
    power: int
    radii: Floats | None
    scale: int
    lost: tuple[bool, ...]

    @classmethod
    def of(cls, balls: arb_mat) -> BallDigits | None:
        """`None` where numbers are of very different lengths."""
        entries, t = balls.entries(), int(balls.ncols())
        lost = tuple(not all(x.is_finite() for x in entries[j::t]) for j in range(t))
        if any(lost):
            entries = [_ONE if lost[number % t] else x for number, x in enumerate(entries)]
        middles = [x.mid().man_exp() for x in entries]
        known = [(int(m), int(e)) for m, e in middles]
        power = min((e for m, e in known if m), default=0)
        if max((m.bit_length() + e - power for m, e in known if m), default=0) > _MOST_BITS:
            return None
        numbers = [m << (e - power) if m else 0 for m, e in known]
        radii, scale = _radii(entries)
        shape = int(balls.nrows()), t
        return cls(_cut(numbers).reshape(shape[0], -1), t, power, _reshaped(radii, shape), scale, lost)


def _radii(entries: list[arb]) -> tuple[Floats | None, int]:
    exact = [x.rad().man_exp() for x in entries]
    known = [(int(m), int(e)) for m, e in exact]
    scale = max((m.bit_length() + e for m, e in known if m), default=None)
    if scale is None:
        return None, 0
    top = np.array([m for m, _ in known], dtype=np.float64)  # at most 30 bits
    shift = np.array([max(e - scale, -2000) if m else 0 for m, e in known])
    return np.where(top > 0, np.maximum(np.ldexp(top, shift), 2.0**_LEAST), 0.0), scale


def _cut(numbers: list[int]) -> Floats:
    """Digits of integers, a row each."""
    longest = max((abs(x).bit_length() for x in numbers), default=1)
    size = -(-max(longest, 1) // (8 * BITS)) * BITS  # bytes: whole digits
    data = b"".join(abs(x).to_bytes(size, "little") for x in numbers)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little").reshape(len(numbers), -1, BITS)
    sign = np.array([-1.0 if x < 0 else 1.0 for x in numbers])
    used = -(-max(longest, 1) // BITS)
    digits = bits[:, :used].astype(np.float32) @ (2.0 ** np.arange(BITS)).astype(np.float32)  # below 2^21: exact
    result: Floats = digits.astype(np.float64) * sign[:, None]
    return result


def product(matrix: Plain, balls: BallDigits) -> list[arb] | None:
    """The entries of the product, row by row, rounded to the precision; `None` where there would be too many digits.

    Args:
        matrix: of finite machine numbers, `m x k`.
        balls: `k x t`.

    Example:
        >>> found = product(np.array([[0.5, -3.0]]), BallDigits.of(arb_mat([[arb(4)], [arb(1, 0.25)]])))
        >>> [x.contains(y) for x in found for y in (-1, -1.7, -1.8)]
        [True, True, False]
    """
    m, k = matrix.shape
    count = balls.digits.shape[1] // balls.columns
    found: list[arb] = []
    step = max(1, _ENTRIES // k)
    for start in range(0, m, step):
        block = matrix[start : start + step]
        limbs = Limbs.of(block)
        lowest = limbs.pieces[-1][1]
        places = [(power - lowest) // BITS for _, power in limbs.pieces]
        if k > _MOST_INNER or -(-k // _CHUNK) * len(places) > _MOST_SUMS:
            return None
        size = places[0] + count + 1
        total = np.zeros((size + (1 - size) % 3, len(block), balls.columns), dtype=np.int64)
        for (piece, _), place in zip(limbs.pieces, places, strict=True):
            for low in range(0, k, _CHUNK):
                part = piece[:, low : low + _CHUNK] @ balls.digits[low : low + _CHUNK]
                shaped = part.astype(np.int64).reshape(len(block), balls.columns, count)
                total[place : place + count] += np.moveaxis(shaped, 2, 0)
        middles = _carried(total)
        power = lowest + balls.power
        if balls.radii is None:
            found += [arb((x, power)) * _ONE for x in middles]
            continue
        radii, scale = _bounds(block, balls.radii, limbs.pieces[0][1] + BITS)
        scale += balls.scale
        found += [
            arb(arb((x, power)), arb((int(r), int(e) + scale))) * _ONE
            for x, r, e in zip(middles, *(part.ravel().tolist() for part in radii), strict=True)
        ]
    if any(balls.lost):
        found = [_ANY if balls.lost[number % balls.columns] else x for number, x in enumerate(found)]
    return found


def _reshaped(radii: Floats | None, shape: tuple[int, int]) -> Floats | None:
    return None if radii is None else radii.reshape(shape)


def _carried(total: npt.NDArray[np.int64]) -> list[int]:
    """The numbers with these digits, which may be longer than 21 bits: a multiple of three of them, and one above."""
    for place in range(len(total) - 1):
        total[place + 1] += total[place] >> BITS
        total[place] &= 2**BITS - 1
    *lower, top = total.reshape(len(total), -1)
    words = [x | y << BITS | z << 2 * BITS for x, y, z in zip(lower[::3], lower[1::3], lower[2::3], strict=True)]
    numbers = []
    for number, *below in zip(top.tolist(), *(word.tolist() for word in reversed(words)), strict=True):
        for word in below:
            number = number << 3 * BITS | word
        numbers.append(number)
    return numbers


def _bounds(block: Plain, radii: Floats, scale: int) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], int]:
    """Integers and exponents of two, and a power of two besides: no radius of the product is larger."""
    sizes = np.ldexp(np.abs(block.astype(np.float64)), -scale)  # at most one
    bounds = (sizes @ radii) * (1 + 2.0**-30) + 2.0**-800 * np.any(block, axis=1, keepdims=True)
    mantissa, exponent = np.frexp(bounds)
    return (np.ceil(np.ldexp(mantissa, 30)).astype(np.int64), exponent.astype(np.int64) - 30), scale
