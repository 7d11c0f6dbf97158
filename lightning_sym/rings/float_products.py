r"""Matrices of floats times matrices of balls: products of integers that BLAS adds without rounding.

The weights of a real network are floats, exact; what they are multiplied with are balls of some hundred bits, for in
arithmetic of 53 bits the radii grow beyond use after a few layers. Weights are cut into integers of 24 bits, midpoints
of balls into digits of 16. All that is then added up is an integer of at most $2^{53}$, so a float: whatever the order
of the sums, whether multiplications are fused or not, nothing is rounded. `docs/balls.md`, Proposition 3, is the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, ctx, fmpz_mat

from lightning_sym.errors import BadInput

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]

SLICE = 24
"""Bits of a weight that are multiplied at once."""

DIGIT = 16
"""Bits of a midpoint that are multiplied at once."""

SPARE = 16
"""Bits of a midpoint that are kept below the largest radius."""

MOST_COLUMNS = 2**13
"""Products in a sum: `2^13 * 2^24 * 2^15` is `2^52`."""

SLICES_AT_ONCE = 12
"""Slices whose sums are added up as integers of 64 bits."""

LARGEST = 2.0**1000
"""Weights are below it, so that powers of two by which they are scaled are floats."""

ENTRIES_AT_ONCE = 2**18
"""Entries of a weight matrix that are cut at one time: what bounds memory."""


@dataclass(frozen=True)
class Digits:
    """The midpoints of a matrix of balls as integers times `2^unit`, cut into digits.

    Attributes:
        bits: of the largest integer.
        unit: the exponent.
        digits: of shape `n x (t k)`, the lowest digit of each first.
        radii: `n x t`, in units: those of the balls and one for what was cut off.
        columns: `t`.
    """

    bits: int
    unit: int
    digits: Doubles
    radii: Doubles
    columns: int

    @classmethod
    def of(cls, balls: arb_mat, bits: int) -> Digits:
        """Return the midpoints to so many bits, counted from the largest of them, cut into digits.

        There are no more bits than the largest radius asks.
        """
        n, t = int(balls.nrows()), int(balls.ncols())
        entries = balls.entries()
        finite = all(x.is_finite() for x in entries)
        pairs = [tuple(map(int, x.mid().man_exp())) for x in entries] if finite else [(0, 0)] * len(entries)
        top = max((m.bit_length() + e for m, e in pairs if m), default=0)
        widest, exponent = map(int, max((x.rad() for x in entries), default=arb(0)).man_exp()) if finite else (0, 0)
        if widest:
            bits = min(bits, max(DIGIT, top - widest.bit_length() - exponent + SPARE))
        unit = top - bits
        with ctx.workprec(64):  # radii have 30 bits, so this is exact
            scale = arb((1, -unit))
            radii = [float(x.rad() * scale) for x in entries] if finite else [np.inf] * len(entries)
        k = -(-(bits + 2) // DIGIT)
        middle = sum(1 << (DIGIT * i + DIGIT - 1) for i in range(k))
        shifted = ((m << (e - unit) if e >= unit else m >> (unit - e), 2 * k) for m, e in pairs)
        text = b"".join((x + middle).to_bytes(size, "little") for x, size in shifted)
        digits = np.frombuffer(text, dtype="<u2").astype(np.float64) - 2.0 ** (DIGIT - 1)
        return cls(bits, unit, digits.reshape(n, t * k), np.array(radii).reshape(n, t) + 1.0, t)


def product(weights: Floats, digits: Digits) -> arb_mat:
    """Return `weights @ balls`: every product of numbers in the balls is inside of the result.

    Args:
        weights: finite, `m x n`.
        digits: of balls, `n x t`.

    Raises:
        BadInput: a weight is not finite.

    Example:
        >>> weights, balls = np.array([[0.5, 3.0]]), arb_mat([[arb(2)], [arb(1) / 3]])
        >>> product(weights, Digits.of(balls, 64))[0, 0].contains(2)
        True
    """
    rows, columns = weights.shape
    step = max(1, ENTRIES_AT_ONCE // max(columns, 1))
    parts = [
        _rows_times(np.asarray(weights[start : start + step], dtype=np.float64), digits)
        for start in range(0, rows, step)
    ]
    if len(parts) == 1:
        return parts[0]
    return arb_mat(rows, digits.columns, [entry for part in parts for entry in part.entries()])


def _rows_times(weights: Doubles, digits: Digits) -> arb_mat:
    """Return the product of a few rows, any number of columns."""
    spans = [slice(start, start + MOST_COLUMNS) for start in range(0, weights.shape[1], MOST_COLUMNS)]
    first, *more = (_product(weights[:, s], digits.digits[s], digits.radii[s], digits) for s in spans)
    for part in more:
        first = first + part
    return first


def _product(weights: Doubles, digits: Doubles, radii: Doubles, of: Digits) -> arb_mat:
    m, n = weights.shape
    largest = float(np.abs(weights).max(initial=0))
    if not largest < LARGEST:
        raise BadInput(f"weights must be finite and below 2^1000 to be multiplied by balls, got {largest:g}")
    exponent = max(int(np.frexp(largest)[1]), -1000)
    scaled = weights * 2.0**-exponent
    lost = exponent > 0 and not np.array_equal(scaled * 2.0**exponent, weights)
    size = np.abs(scaled)
    size += 2.0**-60
    with np.errstate(over="ignore", invalid="ignore"):
        spread = size @ radii
    slices, remainder = _slices(scaled, -(-of.bits // SLICE) + 1)
    q = len(slices)
    middle = fmpz_mat(m, of.columns)
    for start in range(0, q, SLICES_AT_ONCE):
        sums = [_few_rows(each, digits) for each in slices[start : start + SLICES_AT_ONCE]]
        middle = middle * 2 ** (SLICE * len(sums)) + fmpz_mat(m, of.columns, _integers(sums, m * of.columns))
    with np.errstate(over="ignore"):
        # what was not cut into slices, and what underflowed as it was scaled
        spread += np.ldexp(remainder * n, of.bits - SLICE * q)
        spread += np.ldexp(float(lost) * n, of.bits - 1074)
        spread *= 1 + 2.0**-30
    unit = arb((1, exponent + of.unit))
    if not np.isfinite(spread).all():
        return arb_mat(m, of.columns, [arb(0, float("inf"))] * (m * of.columns))
    balls = arb_mat(middle) * arb((1, exponent + of.unit - SLICE * q))
    return balls + arb_mat(m, of.columns, spread.ravel().tolist()) * (unit * arb(0, 1))


def _few_rows(weights: Doubles, digits: Doubles) -> Doubles:
    """Return the product; the last slice of a matrix often has only a few rows that are not zero."""
    rows = np.flatnonzero(weights.any(axis=1))
    if 2 * len(rows) > len(weights):
        return weights @ digits
    result = np.zeros((len(weights), digits.shape[1]))
    result[rows] = weights[rows] @ digits
    return result


def _slices(scaled: Doubles, most: int) -> tuple[list[Doubles], float]:
    """Return integers of `SLICE` bits, the highest first, and the largest remainder in units of the last."""
    slices: list[Doubles] = []
    rest = scaled
    remainder = 1.0
    while remainder and len(slices) < most:
        rest = rest * 2.0**SLICE
        slices.append(np.rint(rest))
        rest = rest - slices[-1]
        remainder = float(np.abs(rest).max(initial=0))
    return slices, remainder


def _integers(sums: list[Doubles], count: int) -> list[int]:
    """Return numbers from the sums of their digits, of slices from the highest to the lowest.

    Sums are at most `2^52`, those of slices behind the first at most `2^51`; shifted by 8 bits where a slice does not
    begin at a digit, twelve of them add up to less than `2^63`.
    """
    k = sums[0].size // count
    places = np.zeros((k + SLICE * len(sums) // DIGIT, count), dtype=np.int64)
    for number, each in enumerate(reversed(sums)):
        digit, bits = divmod(SLICE * number, DIGIT)
        places[digit : digit + k] += each.reshape(count, k).T.astype(np.int64) << bits
    written = np.empty((count, len(places) + 4), dtype="<u2")
    carry = np.zeros(count, dtype=np.int64)
    for i, place in enumerate(places):
        carry += place
        written[:, i] = carry & 0xFFFF
        carry >>= DIGIT
    written[:, len(places) :] = carry.astype("<i8").view("<u2").reshape(count, 4)
    size, text = 2 * written.shape[1], written.tobytes()
    return [int.from_bytes(text[i : i + size], "little", signed=True) for i in range(0, len(text), size)]
