"""What is left of a large layer of two checkpoints, as its parts come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lightning_sym.checkpoints.layer_parts import Cut, letter_space
from lightning_sym.checkpoints.measured import Measured, value_of
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import LAYER, NUMBERS
from lightning_sym.checkpoints.units import Worst
from lightning_sym.checkpoints.walk import Settled, differing, look_at

MATRICES = tuple(name for name, piece in LAYER.items() if piece.columns)

NORMS = {f"{part}{number}": f"norm{number}_{part}" for number in NUMBERS for part in ("gain", "bias")} | {
    "attention_bias": "output_bias"
}
"""By part of a symmetry, the piece of the second that it is."""


class LayerTold:
    """What is left of a layer, part by part, in units or exactly.

    Args:
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
    """

    def __init__(self, stored: Callable[[str], str], limit: float) -> None:
        self._stored, self._limit = stored, limit
        self.tensors: dict[str, Worst] = {}
        self.unread = ""
        self._numbers: dict[str, list[Any]] = {}
        self._differing: dict[str, tuple[int, int]] = {}

    @property
    def off(self) -> frozenset[str]:
        """The pieces that are off by more than the limit, or by what is no number."""
        return frozenset(name for name, worst in self.tensors.items() if worst.units > self._limit)

    def add(
        self, cut: Cut, settled: Settled, units: Callable[[], Settled] | None, second: Block, form: CheckpointForm
    ) -> None:
        """Look at a part.

        Args:
            cut: the part.
            settled: what is left of it.
            units: gives the same in units, where it is left exactly.
            second: the whole layer of the second.
            form: of it.
        """
        measured: Settled | None = None
        self.unread = self.unread or settled.unread
        for name, part in settled.parts.items():
            if cut.has_kind(letter_space(name)):
                self._numbers.setdefault(name, []).append(value_of(part) if isinstance(part, Measured) else part)
        entries = dict(vars(cut.of(second, form)))
        for name, left in settled.left.items():
            if not cut.has(name):
                continue
            worst = self.tensors.setdefault(name, Worst())
            where = cut.start(name, form)
            if units is None:
                look_at(worst, left, None, entries.get(name), *where)
                if "rows" not in vars(left):  # else it is fitted, and nobody compares it exactly
                    self._count(name, left)
            elif np.asarray(left != 0, dtype=bool).any():
                measured = measured or units()
                look_at(worst, measured.left[name], left, entries.get(name), *where)

    def _count(self, name: str, left: Measured) -> None:
        """Count entries that differ by far more than floats lose."""
        far = differing(left, self._stored(name))
        before = self._differing.get(name, (0, 0))
        self._differing[name] = before[0] + int(np.count_nonzero(far)), before[1] + far.size

    def is_mostly_off(self) -> bool:
        """Return whether most maps differ nearly everywhere by far more than floats lose: nothing is equal exactly."""
        counts = [self._differing[name] for name in MATRICES if name in self._differing]
        dense = [2 * far > size for far, size in counts]
        return 2 * sum(dense) > len(dense)

    def differs(self) -> bool:
        """Return whether any entry differs by far more than floats lose."""
        return any(count for count, _ in self._differing.values())

    def numbers(self) -> Iterator[tuple[str, Any]]:
        """Yield the parts of the symmetry that were read off, by name."""
        for name, parts in self._numbers.items():
            yield name, parts[0] if len(parts) == 1 else np.concatenate(parts)
