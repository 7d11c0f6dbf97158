"""How alike the maps of two layers are in what no symmetry of a layer changes: a guess, of what is worth a fit.

A head's rows span a space, a frequency's rows have a direction up to a turn, a neuron's row has one up to a scale: all
are looked at along a few random vectors of the stream, so that a map is known again in whatever order its parts stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.layer_parts import Folded, carried, fold, seen
from lightning_sym.checkpoints.matching import as_complex
from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.pieces import LAYER

Arrays = Mapping[str, Array]

VECTORS = 8
"""Random vectors of the stream."""

SAMPLE, MORE = 16, 0.2
"""Parts of a map that are looked for in the other's, and which share of them more makes a change worth a fit."""

NEAR = 0.3
"""A part is found where one is as near; others are some four times as far."""

MAPS = tuple(name for name, piece in LAYER.items() if piece.columns and piece.place("experts") != 0)
NAMES = frozenset(each.name for each in fields(Block))
VARIANTS = (True, False)
"""With the gains of norms in what reads them, and without."""


class Likeness:
    """Which maps of two layers are alike; what was looked at is kept, as most of a layer stays from change to change.

    Args:
        forms: of both layers.
        stream: what was done to the stream of the first.
    """

    def __init__(self, forms: tuple[CheckpointForm, CheckpointForm], stream: StreamMap) -> None:
        self.sides = tuple(zip(forms, (stream, None), strict=True))
        self._kept: dict[tuple[object, ...], tuple[Arrays, Floats]] = {}

    def of(self, first: Arrays, second: Arrays) -> tuple[dict[str, float], ...]:
        """Return by map which share of its parts is found in the other's, with gains folded and without."""
        pairs = [(self._traits(0, first, folded=by), self._traits(1, second, folded=by)) for by in VARIANTS]
        return tuple(
            {name: _share(one[name], other[name]) for name in one.keys() & other.keys()} for one, other in pairs
        )

    def hopeful(self, before: tuple[Arrays, Arrays], after: tuple[Arrays, Arrays]) -> bool:
        """Return whether more is found after a change, or it changes nothing that is seen here."""
        pairs = zip(self.of(*before), self.of(*after), strict=True)
        if any(sum(new.values()) > sum(old.values()) + MORE for old, new in pairs):
            return True
        sides = [(side, before[side], after[side]) for side in (0, 1)]
        seen = [[self._traits(side, arrays, folded=True) for arrays in pair] for side, *pair in sides]
        return all(np.allclose(old[name], new[name], atol=NEAR / 10) for old, new in seen for name in old)

    def _traits(self, side: int, arrays: Arrays, *, folded: bool) -> dict[str, Floats]:
        if not arrays.keys() <= NAMES:  # nothing is said of maps beside a piece that is not known here
            return {}
        gains = {name: array for name, array in arrays.items() if name.endswith("gain")} if folded else {}
        found = {}
        for name in MAPS:
            if name not in arrays:
                continue
            there = {name: arrays[name], **gains}
            key = (side, folded, name, *map(id, there.values()))
            if key not in self._kept:  # the arrays are kept, as their numbers are told by where they are
                self._kept[key] = there, _traits(there, name, *self.sides[side])
            found[name] = self._kept[key][1]
        return found


def alike_maps(first: Block, second: Block, form: CheckpointForm, stream: StreamMap) -> frozenset[str]:
    """Return the maps of two layers of one form of which half or more of the parts are found in the other's."""
    found = Likeness((form, form), stream).of(dict(first.present()), dict(second.present()))
    return frozenset(name for shares in found for name, share in shares.items() if share >= 0.5)


@np.errstate(all="ignore")
def _traits(there: Arrays, name: str, form: CheckpointForm, stream: StreamMap | None) -> Floats:
    """Return a few numbers of each part of a map, `(parts, VECTORS)`."""
    made = getattr(fold(Block.of({key: np.asarray(array) for key, array in there.items()}), form), name)
    folded = seen(Folded(**{name: made}), form)
    array = getattr(folded if stream is None else carried(folded, form, stream), name)
    rows = array if LAYER[name].place("stream") == array.ndim - 1 else array.swapaxes(-1, -2)
    return np.concatenate([*_looked(rows, 0 if LAYER[name].place("query-key") is None else form.turned)])


def _looked(rows: Floats, turned: int) -> Iterator[Floats]:
    """Yield what is seen of neurons `(m, d)`, or of heads `(n, a, d)`, of which positions turn the first rows."""
    vectors = _vectors(rows.shape[-1])
    if rows.ndim == 2 or turned:
        lines = rows if rows.ndim == 2 else as_complex(rows[:, :turned]).reshape(-1, rows.shape[-1])
        yield np.abs(lines @ vectors) / np.linalg.norm(lines, axis=1, keepdims=True)
    if rows.ndim == 3 and turned < rows.shape[1]:
        spaces, _ = np.linalg.qr(rows[:, turned:].swapaxes(1, 2))
        yield np.linalg.norm(spaces.swapaxes(1, 2) @ vectors, axis=1)


@lru_cache(maxsize=8)
def _vectors(width: int) -> Floats:
    return np.random.default_rng(0).standard_normal((width, VECTORS))


def _share(first: Floats, second: Floats) -> float:
    """Return which share of the parts of a map are found in another one."""
    some = second[np.unique(np.linspace(0, len(second) - 1, SAMPLE).astype(int))]
    off = np.square(some[:, None] - first[None]).sum(axis=2).min(axis=1, initial=np.inf)
    return float((off < NEAR**2).mean())
