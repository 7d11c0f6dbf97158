"""Units in the last place of a stored type, and how far a tensor is from what a symmetry makes of another one.

The unit of an entry is the distance of neighbouring numbers of the stored type at the largest entry of its row (of the
matrix as `(out, in)`; of a bias, of its head, and of one that the stream's rotation mixes, of all of it; of a norm at
the entry itself). A rewriting that is rounded once to the nearest number of the type is off by half a unit at most.
Where a whole column is small beside its rows, and off by an eighth of itself or more, its own largest entry counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.pieces import LAYER, READERS, table

DIGITS = {"F16": (11, -24), "BF16": (8, -133), "F32": (24, -149), "F64": (53, -1074)}
"""Bits of the significand, and the exponent of the smallest positive number."""

DEFAULT_UNITS = 4.0
"""Units up to which a difference counts as rounding, if nobody says otherwise.

A tensor is touched by at most four steps (a norm folded, the stream turned, a gauge, a scale), each rounded to nearest:
two units. The checkpoint it is compared with may have been rounded as well, which the turn mixes: two more.
"""


def coarsest(*kinds: str) -> str:
    """The type with the fewest digits.

    Example:
        >>> coarsest("F32", "BF16", "F64"), coarsest("F64")
        ('BF16', 'F64')
    """
    return min(kinds, key=lambda kind: DIGITS[kind][0])


def unit_at(size: Any, stored: str) -> Floats:
    """The unit in the last place of a type at numbers of this size.

    Example:
        >>> unit_at([1.0, 1.5, 0.0], "BF16").tolist() == [2.0**-7, 2.0**-7, 2.0**-133]
        True
    """
    digits, least = DIGITS[stored]
    _, exponent = np.frexp(np.abs(np.asarray(size, dtype=np.float64)))
    exponents = np.where(np.asarray(size) == 0, least, np.maximum(exponent - digits, least))
    return np.ldexp(1.0, exponents)


def with_mean(sizes: Floats, axis: int) -> Floats:
    """Sizes of terms with that of their mean along an axis, which is taken out of each: of what it may have lost."""
    mean = np.sqrt(np.square(sizes).sum(axis=axis, keepdims=True)) / sizes.shape[axis]
    return np.asarray(np.hypot(sizes, mean))


def block_units(block: Block, kinds: Mapping[str, str], others: dict[str, Floats], centred: bool) -> dict[str, Floats]:
    """The units of all tensors of a `whole` block, by piece, of shapes that broadcast.

    Args:
        block: the second.
        kinds: the types, by piece.
        others: sizes of the first's biases, in the order and the gauge of the second.
        centred: the norm is a LayerNorm.
    """
    sizes = {name: np.maximum(size, others[name]) for name, size in bias_sizes(block).items()}
    if centred:
        sizes |= {name: with_mean(sizes[name], 0) for name in ("output_bias", "moved_bias", "down_bias")}
    for name, piece in LAYER.items():
        if name not in sizes and (array := getattr(block, name)) is not None:
            by_row = np.abs(array).max(axis=piece.columns, keepdims=True, initial=0)
            sizes[name] = by_row if piece.columns else array
    return {name: unit_at(size, kinds[name]) for name, size in sizes.items()}


COLUMNS = {name: piece.rows for name, piece in LAYER.items() if piece.columns}
"""The axes along which a column lies: what one coordinate of the stream, of a head, or one neuron has in a tensor."""

GROSS = 2.0**-3
"""What is off by more of the largest entry of its column is no rounding, however large the row's largest is."""


def units_of_columns(differences: Floats, units: Floats, array: Any, axes: Any, stored: str) -> Floats:
    """Units, in columns that are off grossly those of the column's largest entry where they are smaller."""
    most = np.abs(array).max(axis=axes, keepdims=True, initial=0).astype(np.float64)
    off = np.abs(differences).max(axis=axes, keepdims=True, initial=0)
    return np.where(off > GROSS * most, np.minimum(units, unit_at(most, stored)), units)


def without_gain(differences: Any, weights: Any, gain: Any) -> Floats:
    """Differences of rows times a gain, as differences of the rows `weights`.

    Where the gain is 0 no row makes a difference: there it counts as it does beside the row times its gain.

    Example:
        >>> without_gain(np.array([[4.0, 3.0]]), np.array([[1.0, 8.0]]), np.array([2.0, 0.0])).tolist()
        [[2.0, 12.0]]
    """
    gain, sizes = np.asarray(gain, dtype=np.float64), np.abs(np.asarray(weights, dtype=np.float64))
    largest = sizes.max(axis=-1, keepdims=True, initial=0)
    read = (sizes * np.abs(gain)).max(axis=-1, keepdims=True, initial=0)
    beside = np.where((read > 0) & (largest > 0), read / np.where(largest > 0, largest, 1.0), 1e-300)
    return np.asarray(differences / np.where(gain == 0, beside, gain))


def bias_sizes(block: Block) -> dict[str, Floats]:
    """How large the terms are that a bias is compared in, with all that the norm's bias or the values' bias adds to it.

    The root of the sum of their squares: roundings of many terms add up like that.
    """
    found = {}
    for name, norm in READERS.items():
        weight = getattr(block, name)
        if weight is None:
            continue
        bias = np.asarray(getattr(block, f"{norm}_bias"), np.float64)
        sizes = np.sqrt(np.square(_floats(getattr(block, f"{name}_bias"))) + np.square(_floats(weight)) @ bias**2)
        found[f"{name}_bias"] = sizes
    ratio = len(block.output) // len(block.value_bias) if block.value_bias is not None else 1
    through = np.square(_floats(block.output)) * np.repeat(found["value_bias"] ** 2, ratio, axis=0)[:, None]
    own = np.square(_floats(np.zeros(block.output.shape[1]) if block.output_bias is None else block.output_bias))
    found["output_bias"], found["moved_bias"] = np.sqrt(own), np.sqrt(own + through.sum(axis=(0, 2)))
    found["down_bias"] = np.abs(_floats(block.down_bias))
    return found


def _floats(array: Any) -> Floats:
    return np.asarray(array, dtype=np.float64)


@dataclass(frozen=True)
class Residual:
    """How far one tensor is from what the symmetry makes of the other checkpoint.

    Attributes:
        piece: such as `3.value` or `embedding`.
        called: what the second checkpoint's files call it.
        units: the largest difference, in units in the last place of `stored`.
        stored: the coarser of the two types that the tensor is stored in.
        entry: where that is: row and column of the matrix as `(out, in)`, or the place in a bias or gain.
        difference: the entry less what the symmetry makes of the other checkpoint.
        differing: how many entries are not equal, where that is known exactly.
        own: the difference in units at this entry itself, which are smaller where the entry is.
    """

    piece: str
    called: str
    units: float
    stored: str
    entry: tuple[int, ...] | None = None
    difference: float = 0.0
    differing: int | None = None
    own: float | None = None

    @classmethod
    def of(
        cls,
        piece: str,
        called: str,
        units: float,
        stored: str,
        entry: tuple[int, ...] | None,
        difference: float,
        differing: int | None,
        value: float,
    ) -> Residual:
        """A residual at an entry that has this value."""
        own = float(abs(difference) / unit_at(value or difference, stored)) if units and differing else None
        return cls(piece, called, units, stored, entry, difference, differing, own)

    def said(self) -> str:
        """The tensor, how far off, and where."""
        where = "" if self.entry is None else f" at [{', '.join(map(str, self.entry))}]"
        count = (
            "" if self.differing is None else f", {self.differing:,} {'entry' if self.differing == 1 else 'entries'}"
        )
        own = "" if self.own is None or self.differing != 1 else f" ({self.own:.3g} of the entry's own)"
        return f"{self.called} ({self.piece}): {self.units:.3g} units of {self.stored}{own}{where}{count}"


@dataclass(eq=False)
class Worst:
    """The largest difference of one tensor, gathered over its parts."""

    units: float = 0.0
    entry: tuple[int, ...] | None = None
    difference: float = 0.0
    differing: int = 0
    value: float = 0.0
    rows: list[Floats] = field(default_factory=list)
    columns: Any = None

    def look_at_columns(self, stored: str) -> None:
        """A column that is small beside its rows, and grossly off, counts in units of its own largest entry."""
        if self.columns is None:
            return
        off, most, places = self.columns
        units = np.where(off > GROSS * most, off / unit_at(most, stored), 0.0)
        j = int(np.nan_to_num(units, nan=np.inf).argmax())
        if units[j] > self.units:
            self.units, self.difference, self.value = float(units[j]), float(off[j]), float(most[j])
            self.entry = (int(places[j]), j)

    def residual(self, piece: str, called: str, stored: str, exact: bool) -> Residual:
        """The residual of the whole tensor; entries that differ are counted where they were compared exactly."""
        count = self.differing if exact else None
        return Residual.of(piece, called, self.units, stored, self.entry, self.difference, count, self.value)

    @property
    def typical(self) -> float:
        """The median over rows of their largest differences, in units."""
        return float(np.median(np.concatenate(self.rows))) if self.rows else 0.0

    def add(self, differences: Floats, unit: Any, values: Any, start: int = 0, mask: Any = None) -> None:
        """Look at some rows, the first of which is row `start`; `values` are the entries themselves."""
        if mask is not None:
            self.differing += int(mask.sum())
            differences = np.where(mask, differences, 0.0)
        off = np.abs(differences) / unit
        self.rows.append(off.reshape(len(off), -1).max(axis=1, initial=0))
        if off.size and (largest := float(np.nan_to_num(off, nan=np.inf).max())) > self.units:
            index = np.unravel_index(int(off.argmax()), off.shape)
            self.units, self.difference, self.value = largest, float(differences[index]), float(values[index])
            self.entry = (int(index[0]) + start, *map(int, index[1:]))
        if values.ndim == 2 and values.shape[1] > 1:
            sizes = np.abs(differences)
            found = sizes.max(axis=0), np.abs(np.asarray(values, np.float64)).max(axis=0), sizes.argmax(axis=0) + start
            if self.columns is not None:
                (off, most, places), further = self.columns, found[0] > self.columns[0]
                found = np.maximum(off, found[0]), np.maximum(most, found[1]), np.where(further, found[2], places)
            self.columns = found


NUMBERS = {"epsilon": "epsilon of the norms", "theta": "base of the rotary frequencies"}
"""What the numbers of a configuration are called."""


def number_type(first: Checkpoint, second: Checkpoint) -> str:
    """The type whose units numbers of the configurations have: never a coarser one than float32.

    It is float32 where a side stores such tensors or narrower ones, for which nobody computes with more digits, or is a
    GGUF file, which holds no others.
    """
    return "F64" if all(each.stored("epsilon") == "F64" for each in (first, second)) else "F32"


def number_residual(name: str, expected: Fraction, given: Fraction, stored: str) -> Residual:
    """How far a positive number of the second configuration is from the expected one.

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


def _float(number: Fraction) -> float:
    """The nearest float, infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def entry_of(piece: str, index: tuple[int, ...], form: CheckpointForm) -> tuple[int, ...]:
    """A place in a piece as row and column of the matrix `(out, in)`, or as the place in a vector.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> entry_of("output", (1, 2, 3), small_checkpoint("gpt2").form)
        (2, 7)
    """
    return table(form)[piece].matrix_entry(index)
