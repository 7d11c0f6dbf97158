"""What is left of a layer, or of the ends, of two checkpoints, as its parts come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from lightning_sym.checkpoints.measured import Measured, value_of
from lightning_sym.checkpoints.pieces import LAYER
from lightning_sym.checkpoints.units import Worst
from lightning_sym.checkpoints.walk import Settled, differing, look_at

MATRICES = tuple(name for name, piece in LAYER.items() if piece.columns)


class LeftOver:
    """What is left, part by part, in units or exactly.

    Args:
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
    """

    def __init__(self, stored: Mapping[str, str], limit: float) -> None:
        self._stored, self._limit = stored, limit
        self.tensors: dict[str, Worst] = {}
        self.unread = self.why_not = ""
        self._numbers: dict[str, list[Any]] = {}
        self._differing: dict[str, tuple[int, int]] = {}

    @property
    def off(self) -> frozenset[str]:
        """The pieces that are off by more than the limit, or by what is no number."""
        return frozenset(name for name, worst in self.tensors.items() if worst.units > self._limit)

    def add(
        self,
        settled: Settled,
        where: Mapping[str, tuple[int, int]],
        entries: Mapping[str, Any],
        units: Callable[[], Settled] | None = None,
    ) -> None:
        """Look at a part.

        Args:
            settled: what is left of it.
            where: by piece, and part of the symmetry, that belongs to it, along which axis it is cut, and from where.
            entries: by piece, those of the second.
            units: gives the same in units, where it is left exactly.
        """
        measured: Settled | None = None
        self.unread, self.why_not = self.unread or settled.unread, self.why_not or settled.why_not
        for name, part in settled.parts.items():
            if name in where:
                self._numbers.setdefault(name, []).append(value_of(part) if isinstance(part, Measured) else part)
        for name, left in settled.left.items():
            if name not in where:
                continue
            worst = self.tensors.setdefault(name, Worst())
            if units is None:
                look_at(worst, left, None, entries.get(name), *where[name])
                if "rows" not in vars(left):  # else it is fitted, and nobody compares it exactly
                    far, size = differing(left, self._stored[name]), self._differing.get(name, (0, 0))
                    self._differing[name] = size[0] + int(np.count_nonzero(far)), size[1] + far.size
            elif np.asarray(left != 0, dtype=bool).any():
                measured = measured or units()
                look_at(worst, measured.left[name], left, entries.get(name), *where[name])

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
