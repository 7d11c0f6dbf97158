"""The types of GGUF files with blocks: a scale, sometimes a shift, and small codes; and where the codes lie.

Of the five plain ones every number is computed exactly. The others are what the `gguf` package makes of them, in
float32. A quantiser chooses scale and shift of a block, and for each number the code whose value is the nearest;
whether it did is asked of the next values around each number (`Grid`); whether the scale is a good one is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.lazy import import_extra

Raw = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.float64]
BlockValues = npt.NDArray[np.float64 | np.float32]
"""Of the plain types in float64; in float32 what the package makes."""
Fill = tuple[int, int, Callable[[int], int]]
"""First byte, last byte and one, and what stands in each of them where all codes are the same one."""

AT_ONCE = 2**14
"""Blocks that are read at a time."""


@dataclass(frozen=True)
class BlockType:
    """A type with blocks.

    Attributes:
        holds: the smallest float with all its values.
        values: those of some blocks, a row each.
        codes: how many codes there are; 0 where they are words of a book, none of which is next to another.
        fills: where the codes lie.
        even: whether their values are equally far apart.
        shifted: whether the value of the first code is a shift of its own; else the scale moves all values.
        loose: how far scale and shift may be rounded behind the codes, relative to them.
    """

    holds: str
    values: Callable[[Raw], BlockValues]
    codes: int = 0
    fills: tuple[Fill, ...] = ()
    even: bool = True
    shifted: bool = False
    loose: float = 2.0**-20

    def with_code(self, raw: Raw, code: int) -> Raw:
        """Return the same blocks, each number with this code."""
        changed = raw.copy()
        for start, stop, fill in self.fills:
            changed[:, start:stop] = fill(code)
        return changed


def _halves(blocks: Raw, at: int) -> Numbers:
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float64)


def _nibbles(blocks: Raw, at: int) -> Numbers:
    """Return the lower halves of sixteen bytes, then the upper ones."""
    packed = blocks[:, at : at + 16]
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float64)


def _fifth_bits(blocks: Raw, at: int) -> Numbers:
    return np.asarray(16.0 * np.unpackbits(blocks[:, at : at + 4], axis=1, bitorder="little"))


def _by_the_package(name: str, blocks: Raw) -> npt.NDArray[np.float32]:
    package = import_extra("gguf.quants", "gguf", "reading .gguf")
    kind = import_extra("gguf.constants", "gguf", "reading .gguf").GGMLQuantizationType[name]
    with np.errstate(all="ignore"):  # of scales that are none; who asks for the numbers refuses them
        result: npt.NDArray[np.float32] = package.dequantize(np.ascontiguousarray(blocks), kind)
    return result


def _pair(code: int) -> int:
    return 0x11 * (code & 15)


def _four(code: int) -> int:
    return 0x55 * (code & 3)


def _bit(place: int, code: int) -> int:
    return 255 * (code >> place & 1)


ROUNDED_SCALE = 2.0**-11
"""Half a unit of float16: the plain types choose codes first, and round scale and shift then."""


def _plain(
    holds: str, values: Callable[[Raw], BlockValues], codes: int, *fills: Fill, shifted: bool = False
) -> BlockType:
    return BlockType(holds, values, codes, fills, shifted=shifted, loose=ROUNDED_SCALE)


def _packaged(name: str, codes: int = 0, *fills: Fill, even: bool = True, shifted: bool = False) -> BlockType:
    return BlockType("F32", partial(_by_the_package, name), codes, fills, even, shifted)


BLOCK_TYPES: dict[str, BlockType] = {
    "Q8_0": _plain(
        "F32", lambda b: _halves(b, 0) * b[:, 2:].view(np.int8), 256, (2, 34, lambda code: (code - 128) & 255)
    ),
    "Q4_0": _plain("F32", lambda b: _halves(b, 0) * (_nibbles(b, 2) - 8), 16, (2, 18, _pair)),
    "Q4_1": _plain(
        "F64", lambda b: _halves(b, 0) * _nibbles(b, 4) + _halves(b, 2), 16, (4, 20, _pair), shifted=True
    ),
    "Q5_0": _plain(
        "F32", lambda b: _halves(b, 0) * (_nibbles(b, 6) + _fifth_bits(b, 2) - 16), 32,
        (2, 6, partial(_bit, 4)), (6, 22, _pair),
    ),
    "Q5_1": _plain(
        "F64", lambda b: _halves(b, 0) * (_nibbles(b, 8) + _fifth_bits(b, 4)) + _halves(b, 2), 32,
        (4, 8, partial(_bit, 4)), (8, 24, _pair), shifted=True,
    ),
    "Q2_K": _packaged("Q2_K", 4, (16, 80, _four), shifted=True),
    "Q3_K": _packaged("Q3_K", 8, (0, 32, partial(_bit, 2)), (32, 96, _four)),
    "Q4_K": _packaged("Q4_K", 16, (16, 144, _pair), shifted=True),
    "Q5_K": _packaged("Q5_K", 32, (16, 48, partial(_bit, 4)), (48, 176, _pair), shifted=True),
    "Q6_K": _packaged("Q6_K", 64, (0, 128, _pair), (128, 192, lambda code: 0x55 * (code >> 4))),
    "MXFP4": _packaged("MXFP4", 16, (1, 17, _pair), even=False),
    "NVFP4": _packaged("NVFP4", 16, (4, 36, _pair), even=False),
    **{name: _packaged(name) for name in (
        "TQ1_0", "TQ2_0", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M", "IQ4_NL", "IQ4_XS",
    )},
}  # fmt: skip
"""By name. Of the plain ones the values have exponents from -24 to 15, and at most 45 bits."""


SMALLEST_HALF = 2.0**-25
"""Half the distance of the smallest numbers of float16."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The values around those of a tensor, or of a piece of it.

    Attributes:
        kind: of the tensor, such as `Q8_0`.
        low, high: the next value below and above; where there is none, minus infinity and infinity.
        step: the distance to the next value that there is, on either side; where all codes of a part of a block mean
            one value, the largest of the block; 0 where that is so of all parts.
        loose: how far a value may be off, as scale and shift were rounded behind the codes.
        block: the number of the block.
    """

    kind: str
    low: Numbers
    high: Numbers
    step: Numbers
    loose: Numbers
    block: npt.NDArray[np.int64]

    def each(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Grid:
        """Return the grid with a change made to every array, such as a piece that is cut out."""
        arrays = (self.low, self.high, self.step, self.loose, self.block)
        return Grid(self.kind, *(change(array) for array in arrays))

    def nearest(self, values: Numbers, wanted: Numbers) -> npt.NDArray[np.bool_]:
        """Return whether each value is the one nearest to what is wanted, or beyond it there is none.

        Args:
            values: those of the codes.
            wanted: the numbers that were quantised.
        """
        off = np.abs(wanted - values)
        beyond = np.where(wanted < values, np.isinf(self.low), np.isinf(self.high))
        room = np.where(wanted < values, values - self.low, self.high - values)
        return np.where(self.step == 0, off <= self.loose, (off <= room / 2 + self.loose) | beyond)


def grid_of(kind: str, known: BlockType, raw: Raw, values: Numbers) -> Grid:
    """Return the values around those of some blocks, a row each.

    Args:
        kind: the type.
        known: what is known of it; it has codes.
        raw: the bytes of each block.
        values: of each block, as they are.
    """
    low, high, loose = (np.empty(values.shape) for _ in range(3))
    step = np.empty(values.shape)
    for start in range(0, len(raw), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        low[part], high[part], step[part], loose[part] = _around(known, raw[part], values[part])
    block = np.broadcast_to(np.arange(len(raw))[:, None], values.shape)
    return Grid(kind, low, high, step, loose, block)


def _around(known: BlockType, raw: Raw, values: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return the next values below and above, their distance, and how far values may be off."""

    def all_of(code: int) -> Numbers:
        return np.asarray(known.values(known.with_code(raw, code)), dtype=np.float64)

    first = all_of(0)
    if known.even:
        last = all_of(known.codes - 1)
        step = np.abs(all_of(1) - first)
        low = np.where(values > np.minimum(first, last) + step / 2, values - step, -np.inf)
        high = np.where(values < np.maximum(first, last) - step / 2, values + step, np.inf)
    else:
        low, high = np.full(values.shape, -np.inf), np.full(values.shape, np.inf)
        for code in range(known.codes):
            other = all_of(code)
            low = np.maximum(low, np.where(other < values, other, -np.inf))
            high = np.minimum(high, np.where(other > values, other, np.inf))
        step = np.minimum(values - low, high - values)
        step = np.where(np.isinf(step), 0.0, step)
    # where a part of a block has the scale 0, what its numbers are is measured by the steps of the other parts
    step = np.where(step == 0, step.max(axis=1, keepdims=True), step)
    shift = np.abs(first) if known.shifted else np.zeros(values.shape)
    scaled = np.abs(values - first) if known.shifted else np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        many = np.where(step == 0, known.codes, (scaled + step) / step)
    return low, high, step, known.loose * (scaled + shift + step) + SMALLEST_HALF * many
