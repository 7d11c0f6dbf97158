"""The values that a number of a quantised tensor could have had: the next ones below and above that of its code.

A quantiser chooses scale and shift of a block, and for each number the code whose value is the nearest. Whether it did
is asked here, of the scale that stands in the block; whether that is a good one is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.block_types import AT_ONCE, BlockType, Raw

Numbers = npt.NDArray[np.float64]
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
        """With a change made to every array, such as a piece that is cut out."""
        arrays = (self.low, self.high, self.step, self.loose, self.block)
        return Grid(self.kind, *(change(array) for array in arrays))

    def nearest(self, values: Numbers, wanted: Numbers) -> npt.NDArray[np.bool_]:
        """Whether each value is the one nearest to what is wanted, or beyond it there is none.

        Args:
            values: those of the codes.
            wanted: the numbers that were quantised.
        """
        off = np.abs(wanted - values)
        beyond = np.where(wanted < values, np.isinf(self.low), np.isinf(self.high))
        room = np.where(wanted < values, values - self.low, self.high - values)
        return np.where(self.step == 0, off <= self.loose, (off <= room / 2 + self.loose) | beyond)


def grid_of(kind: str, known: BlockType, raw: Raw, values: Numbers) -> Grid:
    """The values around those of some blocks, a row each.

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
    """The next values below and above, their distance, and how far values may be off."""

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
