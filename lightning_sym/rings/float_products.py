r"""Matrices of floats times matrices of balls: products of integers that BLAS adds without rounding.

The weights of a real network are floats, exact; what they are multiplied with are balls of some hundred bits, for in
arithmetic of 53 bits the radii grow beyond use after a few layers. Weights are cut into integers of 24 bits, midpoints of
balls into digits of 16. All that is then added up is an integer below $2^{53}$, so a float: whatever the order of the
sums, whether multiplications are fused or not, nothing is rounded.

**Proposition.** Let `W` be a matrix of $n \le 2^{14}$ columns, `X` one of balls with midpoints $x$ and radii $r$.

1. *Digits.* With a unit $2^u$ and $b$ bits let $X = \lfloor x\,2^{-u} \rfloor$, $|X| \le 2^b$, so $|x - 2^u X| < 2^u$. With
   $k$ digits, $16 k \ge b + 2$, and $C = \sum_i 2^{15} 2^{16 i}$ the integer $X + C$ is not negative and below $2^{16 k}$;
   less $2^{15}$ each, its digits $D_i$ in base $2^{16}$ have $|D_i| \le 2^{15}$ and $X = \sum_i D_i 2^{16 i}$.
2. *Slices.* With $w = W 2^{-e}$, $|w| \le 1$, let $S_1$ be $2^{24} w$ rounded to integers, and so on with what
   remains: $w = \sum_{s \le q} S_s 2^{-24 s} + \rho\,2^{-24 q}$ with $|S_s| \le 2^{24}$, $|\rho| \le 1/2$. A float less its
   nearest integer is a float, and so is a float times a power of two; $\rho$ is known exactly.
3. *Products.* $S_s D_i$ has entries that are sums of $n$ integers of absolute value at most $2^{24} 2^{15}$. Every partial
   sum is an integer of absolute value at most $2^{53}$, so it is a float, and no operation rounds.
4. *Radii.* Entries of $W x$ are within $2^{e + u} (|w|\,(1 + r\,2^{-u}) + |\rho|\,n\,2^{b - 24 q})$ of
   $2^{e + u} \sum_{s, i} S_s D_i\,2^{16 i - 24 s}$. That is summed in floats from terms that are not negative; sums and
   products of at most $n + 4$ roundings fall short by less than a factor of $1 - 2^{-38}$, for which it is multiplied by
   $1 + 2^{-30}$; and $|w| + 2^{-60}$ in the place of $|w|$ covers what may have underflowed. ∎

Numbers whose exponents differ by more than a thousand may be rounded where `W` is scaled; `_slices` notices it and counts
half a unit of the last slice for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat, fmpz_mat

from lightning_sym.errors import BadInput

Floats = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]

SLICE = 24
"""Bits of a weight that are multiplied at once."""

DIGIT = 16
"""Bits of a midpoint that are multiplied at once."""

MOST_COLUMNS = 2**14
"""Products in a sum: `2^14 * 2^24 * 2^15` is `2^53`."""

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
        """Midpoints to so many bits, counted from the largest of them."""
        n, t = int(balls.nrows()), int(balls.ncols())
        entries = balls.entries()
        finite = all(x.is_finite() for x in entries)
        pairs = [tuple(map(int, x.mid().man_exp())) for x in entries] if finite else [(0, 0)] * len(entries)
        unit = max((m.bit_length() + e for m, e in pairs if m), default=0) - bits
        scale = arb((1, -unit))
        radii = [float(x.rad() * scale) for x in entries] if finite else [np.inf] * len(entries)
        k = -(-(bits + 2) // DIGIT)
        middle = sum(1 << (DIGIT * i + DIGIT - 1) for i in range(k))
        shifted = ((m << (e - unit) if e >= unit else m >> (unit - e), 2 * k) for m, e in pairs)
        text = b"".join((x + middle).to_bytes(size, "little") for x, size in shifted)
        digits = np.frombuffer(text, dtype="<u2").astype(np.float64) - 2.0 ** (DIGIT - 1)
        return cls(bits, unit, digits.reshape(n, t * k), np.array(radii).reshape(n, t) + 1.0, t)


def product(weights: Floats, digits: Digits) -> arb_mat:
    """`weights @ balls`: every product of numbers in the balls is inside of the result.

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
    """The product of a few rows, any number of columns."""
    total = None
    for start in range(0, weights.shape[1], MOST_COLUMNS):
        span = slice(start, start + MOST_COLUMNS)
        part = _product(weights[:, span], digits.digits[span], digits.radii[span], digits)
        total = part if total is None else total + part
    return total


def _product(weights: Doubles, digits: Doubles, radii: Doubles, of: Digits) -> arb_mat:
    m, n = weights.shape
    largest = float(np.abs(weights).max(initial=0))
    if not np.isfinite(largest):
        raise BadInput("weights must be finite, got NaN or infinity")
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(weights, -exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (np.abs(scaled) + 2.0**-60) @ radii
    lost = not np.array_equal(np.ldexp(scaled, exponent), weights)
    slices, remainder = _slices(scaled, -(-of.bits // SLICE) + 1)
    q = len(slices)
    middle = fmpz_mat(m, of.columns)
    for each in slices:
        middle = middle * 2**SLICE + fmpz_mat(m, of.columns, _integers(each @ digits, m * of.columns))
    cut = remainder + (0.5 if lost else 0.0)
    if cut:
        spread += np.ldexp(cut * n, of.bits - SLICE * q)
    spread *= 1 + 2.0**-30
    unit = arb((1, exponent + of.unit))
    if not np.isfinite(spread).all():
        return arb_mat(m, of.columns, [arb(0, float("inf"))] * (m * of.columns))
    balls = arb_mat(middle) * arb((1, exponent + of.unit - SLICE * q))
    return balls + arb_mat(m, of.columns, spread.ravel().tolist()) * (unit * arb(0, 1))


def _slices(scaled: Doubles, most: int) -> tuple[list[Doubles], float]:
    """Integers of `SLICE` bits, the highest first, and the largest remainder in units of the last."""
    slices: list[Doubles] = []
    rest = scaled
    remainder = 1.0
    while remainder and len(slices) < most:
        rest = rest * 2.0**SLICE
        slices.append(np.rint(rest))
        rest = rest - slices[-1]
        remainder = float(np.abs(rest).max(initial=0))
    return slices, remainder


def _integers(sums: Doubles, count: int) -> list[int]:
    """Numbers from sums at their digits, each an integer that may be as long as `2^53`."""
    places = sums.reshape(count, -1).astype(np.int64).T
    written = np.empty((count, len(places) + 4), dtype="<u2")
    carry = np.zeros(count, dtype=np.int64)
    for i, place in enumerate(places):
        carry = carry + place
        written[:, i] = carry & 0xFFFF
        carry >>= DIGIT
    written[:, len(places) :] = carry.astype("<i8").view("<u2").reshape(count, 4)
    size, text = 2 * written.shape[1], written.tobytes()
    return [int.from_bytes(text[i : i + size], "little", signed=True) for i in range(0, len(text), size)]
