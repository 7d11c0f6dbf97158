"""A large layer of two checkpoints in parts: some groups of heads, or some neurons, at a time; what is told of it.

What heads, or neurons, are made of is added up in the stream, so a layer is rewritten and compared part by part once it
is known which of them belong together. What all share, norms and biases of what is written, is in the first part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import Places, sets_in_order
from lightning_sym.checkpoints.measured import Measured, value_of
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Ratio
from lightning_sym.checkpoints.pieces import LAYER
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry
from lightning_sym.checkpoints.units import Worst
from lightning_sym.checkpoints.walk import Settled, differing, look_at

PART = 2**22
"""Numbers of a layer that are compared at a time, or those of one group of heads, where these are more."""

LETTERS = {"H": "heads", "G": "groups", "m": "neurons", "E": "experts"}
"""By the letter of the first size of a part of a symmetry, the space that is cut."""


def cut_along(name: str) -> tuple[str, int] | None:
    """The space along which a piece is cut, and its axis; `None` for what all parts share, and what is no piece.

    Example:
        >>> cut_along("down"), cut_along("norm1_gain")
        (('neurons', 1), None)
    """
    piece = LAYER.get(name)
    there = () if piece is None else ((kind, piece.place(kind)) for kind in LETTERS.values())
    return next(((kind, axis) for kind, axis in there if axis is not None), None)


@dataclass(frozen=True)
class Cut:
    """Which groups and neurons, counted as in the second checkpoint, a part has; `None`: no heads, or no neurons.

    Attributes:
        groups, neurons: those.
        first: it has what all parts share.
    """

    groups: slice | None
    neurons: slice | None
    first: bool

    def places(self, form: CheckpointForm) -> dict[str, slice]:
        """By kind of space, what of it is in the part."""
        found: dict[str, slice] = {}
        if self.groups is not None:
            share = form.heads // form.groups
            found = {"groups": self.groups, "heads": slice(self.groups.start * share, self.groups.stop * share)}
        if self.first and form.experts is not None:  # one router for all of them
            found |= {"experts": slice(0, form.experts)}
        return found if self.neurons is None else found | {"neurons": self.neurons}

    def form(self, form: CheckpointForm) -> CheckpointForm:
        """The form of the part."""
        sizes = {kind: each.stop - each.start for kind, each in self.places(form).items()}
        if "neurons" in sizes:
            sizes["inner"] = sizes.pop("neurons")
        return replace(form, **sizes)

    def has(self, name: str) -> bool:
        """Whether a piece, or what is told of it, belongs to this part."""
        kind = cut_along(name)
        return self.has_kind(None if kind is None or kind[0] == "experts" else kind[0])

    def has_kind(self, kind: str | None) -> bool:
        """Whether it has some of a space, or, for `None`, what all parts share."""
        return self.first if kind is None else (self.neurons if kind == "neurons" else self.groups) is not None

    def start(self, name: str, form: CheckpointForm) -> tuple[int, int]:
        """The axis along which a piece is cut, and where this part of it begins."""
        kind = cut_along(name)
        return (0, 0) if kind is None else (kind[1], self.places(form)[kind[0]].start)

    def of(self, block: Any, form: CheckpointForm, orders: dict[str, Places] | None = None) -> Any:
        """The part of a layer whose heads and neurons stand in another order."""
        there, found = self.places(form), dict.fromkeys(vars(block))
        for name, array in vars(block).items():
            kind = cut_along(name)
            if array is None or (kind is not None and kind[0] not in there):
                continue
            if kind is None:  # a bias of what is written is nowhere without its map
                lonely = name in LAYER and LAYER[name].added_to in LAYER and not self.has(LAYER[name].added_to)
                found[name] = None if lonely or (name not in LAYER and not self.first) else array
                continue
            some: Any = there[kind[0]]
            if orders and kind[0] in orders:
                some = orders[kind[0]][some]
            elif some == slice(0, array.shape[kind[1]]):
                found[name] = array
                continue
            found[name] = array[(*(slice(None),) * kind[1], some)]
        return type(block)(**found)

    def inner(self, symmetry: LayerSymmetry, form: CheckpointForm) -> LayerSymmetry:
        """What is done to the part behind all orders."""
        there, parts = self.places(form), dict[str, Any](heads=None, neurons=None)
        for name, array in symmetry.named():
            if name not in parts and (kind := LETTERS.get((*KINDS[name].shape, "")[0])) is not None:
                parts[name] = np.asarray(array)[there[kind]] if kind in there else None
        return replace(symmetry, **parts)


def orders_of(symmetry: LayerSymmetry, form: CheckpointForm) -> dict[str, Places]:
    """Old heads, groups and neurons at the new places, where they moved."""
    found: dict[str, Places] = {}
    if symmetry.heads is not None:
        heads, share = np.asarray(symmetry.heads, dtype=np.int64), form.heads // form.groups
        found |= {"heads": heads, "groups": heads[::share] // share}
    if symmetry.neurons is not None:
        found["neurons"] = np.asarray(symmetry.neurons, dtype=np.int64)
        if form.experts is not None:
            found["experts"] = sets_in_order(found["neurons"], form.experts)
    return found


def cuts_of(block: Block, form: CheckpointForm) -> list[Cut]:
    """The parts of a layer: one, where it is small; heads are not parted where their values have biases.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> len(cuts_of(one.block(0), one.form))
        1
    """
    group = form.width * form.head_width * 2 * (form.heads // form.groups + 1)
    neuron = form.width * (3 if form.has_gate else 2)
    if form.groups * group + form.inner * neuron <= PART:
        return [Cut(slice(0, form.groups), slice(0, form.inner), first=True)]
    groups = [slice(0, form.groups)] if block.value_bias is not None else _slices(form.groups, group)
    neurons = _slices(form.inner, neuron)
    heads = (Cut(some, None, first=False) for some in groups[1:])
    rest = (Cut(None, some, first=False) for some in neurons[1:])
    return [Cut(groups[0], neurons[0], first=True), *heads, *rest]


def _slices(count: int, size: int) -> list[slice]:
    """Places up to a count, so many together as `PART` allows, of things of this size."""
    step = max(1, PART // size)
    return [slice(start, min(start + step, count)) for start in range(0, max(count, 1), step)]


def joined(name: str, parts: list[Any]) -> Any:
    """A piece, or what is left of it, of its parts."""
    kind = cut_along(name)
    if len(parts) == 1:
        return parts[0]
    axis = 0 if kind is None else kind[1]
    if not isinstance(parts[0], Measured):
        return np.concatenate(parts, axis=axis)
    value, square = ([getattr(each, part) for each in parts] for part in ("value", "square"))
    return Measured(np.concatenate(value, axis=axis), np.concatenate(square, axis=axis))


def joined_numbers(parts: Iterable[Any]) -> Any:
    """Numbers of a gauge, of its parts: a `Ratio` if all of them are."""
    numbers = list(parts)
    if len(numbers) == 1:
        return numbers[0]
    if not all(isinstance(each, Ratio) for each in numbers):
        return np.concatenate([each.floats if isinstance(each, Ratio) else each for each in numbers])
    top = [each.numerators for each in numbers]
    if all(np.ndim(each.denominator) == 0 for each in numbers):
        common = lcm(*(int(each.denominator) for each in numbers))
        wide = [each.numerators * (common // int(each.denominator)) for each in numbers]
        if common < 2**52 and max(np.abs(each).max(initial=0) for each in wide) < 2**52:
            return Ratio(np.concatenate(wide), common)
    low = [np.broadcast_to(each.denominator, np.shape(each.numerators)) for each in numbers]
    return Ratio(np.concatenate(top), np.concatenate(low))


MATRICES = tuple(name for name, piece in LAYER.items() if piece.columns)


class LayerTold:
    """What is left of a layer, part by part, in units or exactly.

    Args:
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
    """

    def __init__(self, stored: Callable[[str], str], limit: float) -> None:
        self._stored, self._limit = stored, limit
        self.off: set[str] = set()
        self.there: set[str] = set()
        self.tensors: dict[str, Worst] = {}
        self.unread = ""
        self._numbers: dict[str, list[Any]] = {}
        self._differing: dict[str, tuple[int, int]] = {}

    def look(self, cut: Cut, settled: Settled) -> None:
        """Which pieces of a part are off by more than the limit, or by what is no number."""
        for name, left in settled.left.items():
            if cut.has(name):
                self.there.add(name)
                self.off |= {name} if name not in self.off and left.beyond(self._limit).any() else set()

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
            if _told_by(cut, name):
                self._numbers.setdefault(name, []).append(value_of(part) if isinstance(part, Measured) else part)
        entries = dict(vars(cut.of(second, form)))
        for name, left in settled.left.items():
            if not cut.has(name):
                continue
            worst = self.tensors.setdefault(name, Worst())
            where = cut.start(name, form)
            if units is None:
                look_at(worst, left, None, entries.get(name), *where)
                if not _is_one(cut, form):
                    self._count(name, left)
            elif np.asarray(left != 0, dtype=bool).any():
                measured = measured or units()
                look_at(worst, measured.left[name], left, entries.get(name), *where)

    def _count(self, name: str, left: Measured) -> None:
        """Count entries that differ by far more than floats lose."""
        far = differing(left, self._stored(name))
        before = self._differing.get(name, (0, 0))
        self._differing[name] = before[0] + int(np.count_nonzero(far)), before[1] + far.size

    def _counted(self, kept: Settled | None) -> dict[str, tuple[int, int]]:
        """By piece, how many entries differ by far more than floats lose, and how many there are."""
        if kept is not None and not self._differing:
            for name, left in kept.left.items():
                self._count(name, left)
        return self._differing

    def is_mostly_off(self, kept: Settled | None) -> bool:
        """Whether most maps differ nearly everywhere by far more than floats lose: nothing is equal exactly."""
        counts = self._counted(kept)
        dense = [2 * counts[name][0] > counts[name][1] for name in MATRICES if name in counts]
        return 2 * sum(dense) > len(dense)

    def differs(self, kept: Settled | None) -> bool:
        """Whether any entry differs by far more than floats lose; `kept`: what is left, where it is one part."""
        return any(count for count, _ in self._counted(kept).values())

    def numbers(self) -> Iterator[tuple[str, Any]]:
        """The parts of the symmetry that were read off, by name."""
        for name, parts in self._numbers.items():
            yield name, parts[0] if len(parts) == 1 else np.concatenate(parts)


def _is_one(cut: Cut, form: CheckpointForm) -> bool:
    """Whether a part is the whole layer."""
    return cut.form(form) == form and cut.first


def _told_by(cut: Cut, name: str) -> bool:
    """Whether a part of a symmetry that is read off belongs to this part of a layer."""
    return cut.has_kind(LETTERS.get((*KINDS[name].shape, "")[0]))
