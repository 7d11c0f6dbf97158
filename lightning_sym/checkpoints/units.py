"""Units in the last place of a stored type, and how far a tensor is from what a symmetry makes of another one.

The unit of an entry is the distance of neighbouring numbers of the stored type at the entry, or, where that is more,
what such distances of all the numbers that it was made of make of it: the root of the sum of their squares
(`measured.py`). A rewriting that is rounded once to the nearest number of the type is off by half a unit at most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.pieces import table
from lightning_sym.rings.rotary import largest_change

DIGITS = {"F16": (11, -24), "BF16": (8, -133), "F32": (24, -149), "F64": (53, -1074)}
"""Bits of the significand, and the exponent of the smallest positive number."""

BIAS = 1023
"""What the exponent of a float64 has in its bits beside itself."""

LESS_ONE = " less one"
"""Behind a type: the file holds what a gain is more than 1, so that its units are those of the gain less one."""

WIDE_LESS_ONE = "F32" + LESS_ONE
"""The type of such gains whose units are at least those of the gains, in which programs add the one."""

DEFAULT_UNITS = 4.0
"""Units up to which a difference counts as rounding, if nobody says otherwise.

A tensor is touched by at most four steps (a norm folded, the stream turned, a gauge, a scale), each rounded to nearest:
two units. The checkpoint it is compared with may have been rounded as well, which the turn mixes: two more.
"""


def coarsest(*kinds: str) -> str:
    """Return the type with the fewest digits.

    Example:
        >>> coarsest("F32", "BF16", "F64"), coarsest("F64")
        ('BF16', 'F64')
    """
    return min(kinds, key=lambda kind: (digits_of(kind)[0], kind != WIDE_LESS_ONE))


def digits_of(stored: str) -> tuple[int, int]:
    """Return what `DIGITS` says of a type, less one or not."""
    return DIGITS[stored.removesuffix(LESS_ONE)]


def unit_at(size: npt.ArrayLike, stored: str) -> Floats:
    """Return the unit in the last place of a type at numbers of this size.

    Example:
        >>> unit_at([1.0, 1.5, 0.0], "BF16").tolist() == [2.0**-7, 2.0**-7, 2.0**-133]
        True
        >>> unit_at([1.0, 1.5, 3.0], "BF16 less one").tolist() == [2.0**-133, 2.0**-8, 2.0**-6]
        True
    """
    digits, least = digits_of(stored)
    held = np.asarray(size, dtype=np.float64) - stored.endswith(LESS_ONE)
    if stored == WIDE_LESS_ONE:
        held = np.maximum(np.abs(held), np.abs(size))
    exponents = ((held.view(np.int64) >> 52) & 0x7FF) - (BIAS - 1 + digits)
    exponents = np.maximum(exponents, least)
    if least <= -BIAS:  # the smallest units of float64 have no exponent of their own
        return np.asarray(np.ldexp(1.0, exponents), dtype=np.float64)
    return np.asarray((exponents + BIAS) << 52).view(np.float64)


@dataclass(frozen=True)
class Residual:
    """How far one tensor is from what the symmetry makes of the other checkpoint.

    Attributes:
        piece: such as `3.value` or `embedding`.
        called: what the second checkpoint's files call it.
        units: the largest difference, in units in the last place of `stored`.
        stored: the coarser of the two types that the tensor is stored in; of a quantisation of the other side its
            type, whose units are the steps from code to code.
        entry: where that is: row and column of the matrix as `(out, in)`, or the place in a bias or gain.
        difference: the entry less what the symmetry makes of the other checkpoint.
        differing: how many entries are not equal, where that is known exactly.
        own: the difference in units at this entry itself, which are smaller where the entry is.
        blocks: of a quantised tensor whose codes are not all the nearest, which blocks hold one; not in the one line.
    """

    piece: str
    called: str
    units: float
    stored: str
    entry: tuple[int, ...] | None = None
    difference: float = 0.0
    differing: int | None = None
    own: float | None = None
    blocks: str = field(default="", repr=False, compare=False)

    def said(self) -> str:
        """Return the tensor, how far off, and where."""
        where = "" if self.entry is None else f" at [{', '.join(map(str, self.entry))}]"
        count = (
            "" if self.differing is None else f", {self.differing:,} {'entry' if self.differing == 1 else 'entries'}"
        )
        own = "" if self.own is None or self.differing != 1 else f" ({self.own:.3g} of the entry's own)"
        blocks = f"; {self.blocks}" if self.blocks else ""
        return f"{self.called} ({self.piece}): {self.units:.3g} units of {self.stored}{own}{where}{count}{blocks}"


@dataclass(eq=False)
class Worst:
    """The largest difference of one tensor, gathered over its parts."""

    units: float = 0.0
    entry: tuple[int, ...] | None = None
    difference: float = 0.0
    differing: int = 0
    value: float = 0.0

    def residual(self, piece: str, called: str, stored: str, form: CheckpointForm, *, exact: bool) -> Residual:
        """Return the residual of the whole tensor; entries that differ are counted where they were compared exactly."""
        count = self.differing if exact else None
        entry = None if self.entry is None else entry_of(piece.rpartition(".")[2], self.entry, form)
        own = None
        if self.units and count:
            own = float(abs(self.difference) / unit_at(self.value or self.difference, stored))
        return Residual(piece, called, self.units, stored, entry, self.difference, count, own)

    def add(
        self,
        differences: Floats,
        units: Array,
        values: Array,
        start: int = 0,
        mask: npt.NDArray[np.bool_] | None = None,
        axis: int = 0,
        at: Sequence[npt.NDArray[np.intp]] | EllipsisType = ...,
    ) -> None:
        """Look at some rows, or entries along an axis, the first of which is `start`; `values` are those themselves.

        Or at entries alone, of which `at` says where they stand.
        """
        if mask is not None:
            self.differing += int(mask.sum())
            differences = np.where(mask, differences, 0.0)
        off = np.where(differences == 0, 0.0, np.where(np.isfinite(units), np.abs(differences) / units, np.inf))
        off = np.nan_to_num(off, nan=np.inf, posinf=np.inf)
        if off.size and (largest := float(off.max())) > self.units:
            index = np.unravel_index(int(off.argmax()), off.shape)
            self.units, self.difference, self.value = largest, float(differences[index]), float(values[index])
            index = index if isinstance(at, EllipsisType) else tuple(places[index] for places in at)
            self.entry = tuple(int(place) + start * (number == axis) for number, place in enumerate(index))


NUMBERS = {
    "epsilon": "epsilon of the norms", "theta": "base of the rotary frequencies",
    "scaling": "scaling of the rotary frequencies", "score_width": "scale of the scores",
    "embedding_square": "scale of the embeddings", "residual": "scale of what layers add",
    "logit_divisor": "divisor of the logits", "score_cap": "cap on scores", "logit_cap": "cap on logits",
    "local_theta": "base of the rotary frequencies in layers with a window",
}  # fmt: skip
"""What the numbers of a configuration are called."""


def number_type(first: Checkpoint, second: Checkpoint) -> str:
    """Return the type whose units numbers of the configurations have: never a coarser one than float32.

    It is float32 where a side stores such tensors or narrower ones, for which nobody computes with more digits, or is a
    GGUF file, which holds no others.
    """
    return "F64" if all(each.stored("epsilon") == "F64" for each in (first, second)) else "F32"


def number_residual(name: str, expected: Fraction, given: Fraction, stored: str) -> Residual:
    """Return how far a positive number of the second configuration is from the expected one.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> single = Fraction(float(np.float32(1e-5)))
        >>> number_residual("epsilon", Fraction(1, 10**5), single, "F32").units < 0.5
        True
    """
    exponent = given.numerator.bit_length() - given.denominator.bit_length()
    exponent += Fraction(2) ** exponent <= given
    difference = given - expected
    units = math.inf if given <= 0 else _float(abs(difference) / Fraction(2) ** (exponent - DIGITS[stored][0]))
    return Residual(name, NUMBERS.get(name, name), units, stored, None, _float(difference))


def form_residual(name: str, first: CheckpointForm, second: CheckpointForm, stored: str) -> Residual | None:
    """Return how far a part of two forms, a number or a scaling of frequencies, is apart; `None` for others.

    Example:
        >>> from dataclasses import replace
        >>> from lightning_sym.rings.rotary import RotaryScaling
        >>> from lightning_sym.testing import small_checkpoint
        >>> form = small_checkpoint("llama").form
        >>> linear = replace(form, scaling=RotaryScaling("linear", Fraction(3)))
        >>> third = Fraction(float(np.float32(1 / 3)))
        >>> listed = replace(form, scaling=RotaryScaling("factors", factors=(1 / third,) * 2))
        >>> form_residual("scaling", linear, listed, "F32").units < 1, form_residual("tied", form, form, "F32")
        (True, None)
    """
    old, new = getattr(first, name), getattr(second, name, None)
    if isinstance(old, Fraction) and isinstance(new, Fraction):
        return number_residual(name, old, new, stored)
    if name != "scaling" or first.theta is None or second.theta is None:
        return None
    pair = largest_change(old, new, second.theta, second.rotary_width or second.head_width) or (
        Fraction(1),
        Fraction(1),
    )
    return number_residual(name, *pair, stored)


def _float(number: Fraction) -> float:
    """Return the nearest float, infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def entry_of(piece: str, index: tuple[int, ...], form: CheckpointForm) -> tuple[int, ...]:
    """Return a place in a piece as row and column of the matrix `(out, in)`, or as the place in a vector.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> entry_of("output", (1, 2, 3), small_checkpoint("gpt2").form)
        (2, 7)
    """
    return table(form)[piece].matrix_entry(index)


def off(tensors: Mapping[str, Worst], limit: float) -> int:
    """Return how many pieces are off by more than the limit."""
    return sum(not worst.units <= limit for worst in tensors.values())


def exact_is_told(exactly: Mapping[str, Worst], units: Mapping[str, Worst], limit: float) -> bool:
    """Return whether what is left exactly explains as much as what is left in units: never the best of both is told.

    Multiples of ones that three entries tell exactly are off by more than a mean where everything was rounded.
    """
    if off(exactly, limit) != off(units, limit):
        return off(exactly, limit) < off(units, limit)
    largest = [max((worst.units for worst in tensors.values()), default=0.0) for tensors in (exactly, units)]
    return largest[0] <= 1.01 * largest[1] + 1e-6
