"""A large layer in parts: some groups of heads, or some neurons, at a time.

What heads, or neurons, are made of is added up in the stream, so a layer is rewritten and compared part by part once it
is known which of them belong together. What all share, norms and biases of what is written, is in the first part alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from types import SimpleNamespace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import Places, StreamMap, moved, sets_in_order
from lightning_sym.checkpoints.coded import along
from lightning_sym.checkpoints.exact_arrays import Rounded
from lightning_sym.checkpoints.measured import value_of
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, CheckpointForm, P
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import HALVES, LAYER, table
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry
from lightning_sym.checkpoints.understood import Walker, block_of

PART = 2**22
"""Numbers of a layer that are compared at a time, or those of one group of heads, where these are more."""

LETTERS = {"H": "heads", "G": "groups", "m": "neurons", "E": "experts"}
"""By the letter of the first size of a part of a symmetry, the space that is cut."""


def cuts_along(layer: Mapping[str, CheckpointPiece]) -> dict[str, tuple[str, int]]:
    """Return by piece, or part of a symmetry, the space along which it is cut, and its axis; not what all parts share.

    Example:
        >>> cuts_along(LAYER)["down"], cuts_along(LAYER)["turns"], "norm1_gain" in CUT_ALONG
        (('neurons', 1), ('groups', 0), False)
    """
    first = {name: kind.shape[0] for name, kind in KINDS.items() if kind.shape}
    found = {name: (LETTERS[letter], 0) for name, letter in first.items() if letter in LETTERS}
    there = ((name, kind, piece.place(kind)) for name, piece in layer.items() for kind in LETTERS.values())
    return found | {name: (kind, axis) for name, kind, axis in there if axis is not None}


CUT_ALONG = cuts_along(LAYER)


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
        """Return by kind of space what of it is in the part."""
        found: dict[str, slice] = {}
        if self.groups is not None:
            share = form.heads // form.groups
            found = {"groups": self.groups, "heads": slice(self.groups.start * share, self.groups.stop * share)}
        if self.first and form.experts is not None:  # one router for all of them
            found |= {"experts": slice(0, form.experts)}
        return found if self.neurons is None else found | {"neurons": self.neurons}

    def form(self, form: CheckpointForm) -> CheckpointForm:
        """Return the form of the part."""
        sizes = {kind: each.stop - each.start for kind, each in self.places(form).items()}
        if "neurons" in sizes:
            sizes["inner"] = sizes.pop("neurons")
        return replace(form, **sizes)

    def has(self, name: str) -> bool:
        """Return whether a piece, or what is told of it, belongs to this part."""
        kind, _ = CUT_ALONG.get(name, ("", 0))
        if kind in ("", "experts"):
            return self.first
        return (self.neurons if kind == "neurons" else self.groups) is not None

    def start(self, name: str, form: CheckpointForm) -> tuple[int, int]:
        """Return the axis along which a piece is cut, and where this part of it begins."""
        kind, axis = CUT_ALONG.get(name, ("", 0))
        return axis, self.places(form)[kind].start if kind else 0

    def where(self, names: Iterable[str], form: CheckpointForm) -> dict[str, tuple[int, int]]:
        """Return of those pieces, and parts of a symmetry, that belong to this part, what `start` says of them."""
        return {name: self.start(name, form) for name in names if self.has(name)}

    def of(self, block: P, form: CheckpointForm, orders: dict[str, Places] | None = None) -> P:
        """Return the part of a layer whose heads and neurons stand in another order."""
        there, found = self.places(form), dict[str, Array]()
        for name, array in block.present():
            kind, axis = CUT_ALONG.get(name, ("", 0))
            if kind and kind not in there:
                continue
            if not kind:  # a bias of what is written is nowhere without its map
                lonely = name in LAYER and LAYER[name].added_to in LAYER and not self.has(LAYER[name].added_to)
                if not lonely and (name in LAYER or self.first):
                    found[name] = array
                continue
            some: slice | Places = there[kind]
            if orders and kind in orders:
                some = orders[kind][some]
            elif some == slice(0, array.shape[axis]):
                found[name] = array
                continue
            found[name] = array[along(axis, some)]
        return block.of(found)

    def inner(self, symmetry: LayerSymmetry, form: CheckpointForm) -> LayerSymmetry:
        """Return what is done to the part behind all orders."""
        there, parts = self.places(form), dict[str, object](heads=None, neurons=None)
        for name, array in symmetry.named():
            if name not in parts and name in CUT_ALONG and not isinstance(array, Fraction | float):
                some = there.get(CUT_ALONG[name][0])
                whole = some == slice(0, len(array))
                parts[name] = None if some is None else array if whole else np.asarray(array)[some]
        return symmetry.having(parts)


def orders_of(symmetry: LayerSymmetry, form: CheckpointForm) -> dict[str, Places]:
    """Return old heads, groups and neurons at the new places, where they moved."""
    found: dict[str, Places] = {}
    if symmetry.heads is not None:
        heads, share = np.asarray(symmetry.heads, dtype=np.int64), form.heads // form.groups
        found |= {"heads": heads, "groups": heads[::share] // share}
    if symmetry.neurons is not None:
        found["neurons"] = np.asarray(symmetry.neurons, dtype=np.int64)
        if form.experts is not None:
            found["experts"] = sets_in_order(found["neurons"], form.experts)
    return found


SHARED = Cut(None, None, first=True)
"""What all parts share: norms."""


def parts_of(
    checkpoint: Checkpoint, layer: int, walker: Walker, cuts: list[Cut] | None = None
) -> Iterator[tuple[Cut, Block]]:
    """Yield a layer in parts, each read, or rewritten, when it is asked for.

    Args:
        checkpoint: from a file, or made.
        layer: from 0.
        walker: who asks.
        cuts: the parts; without them the layer is cut so that each is small.

    Raises:
        BadInput: a piece that the walker does not know, that is missing, or of another shape than the form's.
    """
    if (own := getattr(checkpoint, "parts", None)) is not None:
        yield from own(layer, cuts)
        return
    block = block_of(checkpoint, layer, walker, coded=True)
    yield from ((cut, cut.of(block, checkpoint.form)) for cut in cuts or cuts_of(block, checkpoint.form))


def cuts_of(block: Block, form: CheckpointForm, *, alone: bool = False) -> list[Cut]:
    """Return the parts of a layer: one, where it is small.

    Heads are not parted where their values have biases, or read latents.

    Args:
        block: the layer.
        form: of it.
        alone: whether all of it is to be one part.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> len(cuts_of(one.block(0), one.form))
        1
    """
    group = form.width * form.head_width * 2 * (form.heads // form.groups + 1)
    neuron = form.width * (3 if form.has_gate else 2)
    if alone or form.groups * group + form.inner * neuron <= PART:
        return [Cut(slice(0, form.groups), slice(0, form.inner), first=True)]
    whole = block.value_bias is not None or form.latent is not None
    groups = [slice(0, form.groups)] if whole else _slices(form.groups, group)
    neurons = _slices(form.inner, neuron)
    heads = (Cut(some, None, first=False) for some in groups[1:])
    rest = (Cut(None, some, first=False) for some in neurons[1:])
    return [Cut(groups[0], neurons[0], first=True), *heads, *rest]


def _slices(count: int, size: int) -> list[slice]:
    """Return slices of places up to a count, of as many things of this size as `PART` allows."""
    step = max(1, PART // size)
    return [slice(start, min(start + step, count)) for start in range(0, max(count, 1), step)]


def joined(name: str, parts: list[Any]) -> Any:
    """Return a piece, or what is left of it, of its parts."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=CUT_ALONG.get(name, ("", 0))[1])


def joined_numbers(parts: Iterable[Floats | Ratio]) -> Floats | Ratio:
    """Return numbers of a gauge, of its parts: a `Ratio` if all of them are."""
    numbers = list(parts)
    if len(numbers) == 1:
        return numbers[0]
    nice = [each for each in numbers if isinstance(each, Ratio)]
    if len(nice) < len(numbers):
        return np.concatenate([each.floats if isinstance(each, Ratio) else each for each in numbers])
    if all(np.ndim(each.denominator) == 0 for each in nice):
        common = lcm(*(int(each.denominator) for each in nice))
        wide = [each.numerators * (common // int(each.denominator)) for each in nice]
        if common < 2**52 and max(np.abs(each).max(initial=0) for each in wide) < 2**52:
            return Ratio(np.concatenate(wide), common)
    low = [np.broadcast_to(each.denominator, np.shape(each.numerators)) for each in nice]
    return Ratio(np.concatenate([each.numerators for each in nice]), np.concatenate(low))


# ---- folded in floats: gains and biases of norms in the maps that read them


class Folded(SimpleNamespace):
    """A layer in floats: its maps and their biases, by name and shaped as in `Block`; `None` where there is none."""


SIGNED_BY = {
    "behind1_gain": "output", "behind2_gain": "down", "query_norm_gain": "query", "key_norm_gain": "key",
    "query_row_gain": "query", "key_row_gain": "key",
}  # fmt: skip
"""By the gain of a norm, the map in front of it."""


def fold(block: Block, form: CheckpointForm) -> Folded:
    """Return the folded layer of a `whole` block, or of some of its pieces."""
    made: dict[str, Any] = dict.fromkeys(name for half in HALVES.values() for name in half.maps)
    for half in table(form).halves.values():
        gain, bias = (None if norm is None else _floats(norm) for norm in half.norm_of(block))
        for piece, added in half.affine:
            if (stored := getattr(block, piece.name)) is None:
                continue
            weight = _floats(stored)
            own = None if added is None else _floats(getattr(block, added.name))
            if piece.norm and bias is not None and bias.any():
                own = own + weight @ bias
            made |= {
                piece.name: weight * gain if piece.norm and gain is not None else weight,
                f"{piece.name}_bias": own,
            }
    for by, name in SIGNED_BY.items():  # rows change signs with their gain
        if (gain := made.get(by)) is not None and made[name] is not None:
            signs = np.where(gain < 0, -1.0, 1.0)
            made[name] = made[name] * signs[..., None]
            if (own := made[f"{name}_bias"]) is not None:
                made[f"{name}_bias"] = own * signs
    return Folded(**made)


def _floats(array: Any) -> Any:
    return np.asarray(array, dtype=np.float64)


NO_TURNS: Mapping[str, StreamMap] = {}


def seen(folded: Folded, form: CheckpointForm) -> Folded:
    """Return a folded layer as a norm sees the stream: with LayerNorm, maps without their part along ones."""
    if form.norm == "rms":
        return folded
    changed = {}
    for name, array in vars(folded).items():
        if array is not None and (axis := LAYER[name].place("stream")) is not None:
            changed[name] = array - array.mean(axis=axis, keepdims=True)
    return Folded(**vars(folded) | changed)


def carried(
    folded: Folded, form: CheckpointForm, stream: StreamMap, inside: Mapping[str, StreamMap] = NO_TURNS
) -> Folded:
    """Return a folded layer in the new coordinates of the stream, and of latents."""
    pieces = table(form).layer
    ring, there = Rounded(), {name: array for name, array in vars(folded).items() if array is not None}
    maps = {"stream": stream, **inside}
    plain = {kind: x if x.matrix is None else replace(x, matrix=value_of(x.matrix)) for kind, x in maps.items()}
    bases = {**plain.pop("stream").bases(ring), **plain}
    changed = {name: moved(pieces[name], array, bases, ring) for name, array in there.items()}
    return Folded(**vars(folded) | changed)


@dataclass(frozen=True, eq=False)
class FoldedParts:
    """A layer that is folded in floats where it is asked for, some of its heads or neurons at a time.

    Attributes:
        block: a `whole` one.
        form: of it.
        cuts: its parts.
        stream: into whose coordinates it is brought, if into others than its own.
        inside: how latents are turned then, by their spaces.
    """

    block: Block
    form: CheckpointForm
    cuts: list[Cut]
    stream: StreamMap | None = None
    inside: Mapping[str, StreamMap] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many neurons it has."""
        return len(self.block.up)

    def part(self, cut: Cut, orders: dict[str, Places] | None = None) -> Folded:
        """Return a part, heads and neurons in another order."""
        found = seen(fold(cut.of(self.block, self.form, orders), self.form), self.form)
        return found if self.stream is None else carried(found, self.form, self.stream, self.inside)

    def heads(self) -> Iterator[Folded]:
        """Yield all heads, some groups at a time."""
        yield from (self.part(replace(cut, neurons=None)) for cut in self.cuts if cut.groups is not None)

    def neurons(self) -> Iterator[Folded]:
        """Yield all neurons, some at a time."""
        yield from (self.part(replace(cut, groups=None)) for cut in self.cuts if cut.neurons is not None)

    def router(self) -> Floats:
        """Return the router of experts, whatever vector was added to all of its rows."""
        found = value_of(self.part(Cut(None, slice(0, 1), first=True)).router)
        return np.asarray(found - found.mean(axis=0))

    def some_neurons(self, places: Places) -> Folded:
        """Return some neurons, by their places."""
        some = Cut(None, slice(0, len(places)), first=False)
        return self.part(some, {"neurons": places})
