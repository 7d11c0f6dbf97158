"""One function in several configurations: tied or not, groups written out, neurons that do nothing.

`docs/checkpoints.md`, Proposition 12, proves that it is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.coded import along, are_equal, slices
from lightning_sym.checkpoints.model import Array, Block, CheckpointForm, Ends
from lightning_sym.checkpoints.piece_table import MLP
from lightning_sym.checkpoints.pieces import HALVES, LAYER, table
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require
from lightning_sym.limits import require_integer

Flags = npt.NDArray[np.bool_]
"""Of neurons: which of them."""


def whole(block: Block, form: CheckpointForm, groups: int, keep: Flags | None = None) -> Block:
    """Return a block with all its biases, zeros where the family has none, and with `groups` key and value heads.

    Args:
        block: as it was read.
        form: of its checkpoint.
        groups: a multiple of those it has; each is repeated.
        keep: which neurons; `None` for all.
    """
    found: dict[str, Array | None] = {}
    for name, piece in table(form).layer.items():
        array = getattr(block, name)
        if array is None and (piece.added_to not in found or found[piece.added_to] is not None):
            array = np.zeros(piece.shape, dtype=np.float32) if piece.added_to else None
        if array is not None and piece.place("groups") is not None and groups != form.groups:
            array = np.repeat(array, groups // form.groups, axis=0)
        if array is not None and keep is not None and not keep.all() and (place := piece.place("neurons")) is not None:
            # one neuron that does nothing, in place of none
            array = array.compress(keep, axis=place) if keep.any() else 0 * array.take([0], axis=place)
        found[name] = array
    return block.of(found)


def alive(block: Block) -> Flags:
    """Return which neurons may do something: those whose column of `down` is not zero, and whose factors are not.

    Of experts all of them count: each has as many as the others.
    """
    if block.router is not None:
        return np.ones(len(block.up), dtype=bool)
    found: dict[str, Flags] = {}
    for name, piece in HALVES[MLP].maps.items():
        place, array, factor = piece.place("neurons"), getattr(block, name), piece.added_to or name
        if place is None or array is None or (block.gate is None and HALVES[MLP].maps[factor].reads):
            continue
        others = tuple(axis for axis in range(array.ndim) if axis != place)
        there = np.concatenate([(array[along(place, some)] != 0).any(axis=others) for some in slices(array, place)])
        found[factor] = found[factor] | there if factor in found else there
    return np.asarray(np.logical_and.reduce(list(found.values())))


def has_equal_experts(block: Block, form: CheckpointForm) -> bool:
    """Return whether two experts have one score at every input: programs choose between them by their numbers."""
    if block.router is None or form.chosen == form.experts:
        return False
    rows = np.asarray(block.router)
    if block.norm2_gain is not None:
        rows = rows[:, np.asarray(block.norm2_gain) != 0]
    biases = np.zeros(len(rows)) if block.router_bias is None else np.asarray(block.router_bias)
    return len({(*row, bias) for row, bias in zip(rows.tolist(), biases.tolist(), strict=True)}) < len(rows)


SHARED = tuple(name for name, piece in LAYER.items() if piece.place("groups") is not None)
"""What a group of query heads has in common."""

IDLE = {name: axis for name, piece in LAYER.items() if (axis := piece.place("neurons")) is not None}
"""What a neuron has, and on which axis."""


@dataclass(frozen=True, eq=False)
class Configurations:
    """The form that is read, the one in which everything is rewritten, and the one to be had.

    In between keys and values are written out where one of the others has them so, and the embedding is tied only where
    both have it so.
    """

    old: CheckpointForm
    between: CheckpointForm
    new: CheckpointForm

    @classmethod
    def of(cls, symmetry: Symmetry, form: CheckpointForm) -> Configurations:
        """Return what a symmetry makes of a form.

        Raises:
            BadInput: groups do not fit, or layers have other numbers of neurons.
        """
        tied = form.tied if symmetry.tied is None else bool(symmetry.tied)
        groups = form.groups if symmetry.groups is None else symmetry.groups
        require_integer(groups, "groups", 1, form.heads)
        most, least = max(groups, form.groups), min(groups, form.groups)
        fits = form.heads % most == 0 and most % least == 0
        require(
            fits, f"groups must be a multiple or a divisor of {form.groups} that divides {form.heads}, got {groups}"
        )
        counts = {form.inner if one.neurons is None else len(np.asarray(one.neurons)) for one in symmetry.layers}
        require(len(counts) == 1, f"neurons must be as many in each layer, got {', '.join(map(str, sorted(counts)))}")
        new = replace(form, groups=groups, tied=tied, inner=counts.pop(), epsilon=form.epsilon * symmetry.scale**2)
        return cls(form, replace(new, groups=most, tied=form.tied and tied), new)

    def written_out(self, block: Block) -> Block:
        """Return the layer with its keys and values written out, one for each group in between."""
        return _changed(block, lambda array: np.repeat(array, self.between.groups // self.old.groups, axis=0))

    def merged(self, block: Block, *, exact: bool, where: str) -> Block:
        """Return one of each set of copies; exact ones must be equal."""
        share = self.between.groups // self.new.groups
        for name in SHARED if exact and share > 1 else ():
            if (array := getattr(block, name)) is not None:
                sets = np.asarray(array).reshape(self.new.groups, share, *array.shape[1:])
                what = f"{where}groups: {share} copies of {name} must be equal to be one"
                require((sets == sets[:, :1]).all(), what)
        return block if share == 1 else _changed(block, lambda array: array[::share])

    def untied(self, ends: Ends) -> Ends:
        """Return the embedding as an unembedding of its own, where it is not to be tied."""
        copied = self.old.tied and not self.between.tied
        return replace(ends, unembedding=ends.embedding) if copied else ends

    def retied(self, ends: Ends, *, exact: bool) -> Ends:
        """Return the ends without an unembedding if it is to be tied; exactly it must be the embedding."""
        if self.between.tied or not self.new.tied:
            return ends
        equal = not exact or (ends.unembedding is not None and are_equal(ends.embedding, ends.unembedding))
        require(equal, "tied: the unembedding must be the embedding, which it is not here")
        return replace(ends, unembedding=None)


def _changed(block: Block, change: Callable[[Array], Array]) -> Block:
    return block.having({name: change(array) for name in SHARED if (array := getattr(block, name)) is not None})


def require_neurons(layer: LayerSymmetry, old: int, where: str) -> None:
    """Refuse neurons that are none of the old ones, or come twice, and numbers for idle ones that are not there.

    Raises:
        BadInput: with what must be true.
    """
    if layer.neurons is None:
        given = [name for name in IDLE if getattr(layer, f"idle_{name}", None) is not None]
        require(not given, f"{where}idle_{given[0] if given else ''} must go with neurons that are -1")
        return
    try:
        numbers = np.asarray(layer.neurons)
    except ValueError:  # rows of several lengths
        numbers = np.zeros(1)
    kept = numbers[numbers != -1] if numbers.ndim == 1 and numbers.dtype.kind in "iu" else np.zeros(0)
    fits = kept.dtype.kind in "iu" and len(np.unique(kept)) == len(kept) and ((kept >= 0) & (kept < old)).all()
    require(fits, f"{where}neurons must be different ones of 0..{old - 1}, or -1")


def kept_neurons(layer: LayerSymmetry, block: Block, where: str) -> tuple[Places, Places]:
    """Return the places of new neurons that are old ones, and which those are; what is left out must do nothing.

    Both are empty where neurons stay, and nobody asks.
    """
    if layer.neurons is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    numbers = np.asarray(layer.neurons, dtype=np.int64)
    places = np.flatnonzero(numbers >= 0)
    lost = np.ones(len(block.up), dtype=bool)
    lost[numbers[places]] = False
    if lost.any():
        require(not alive(block)[lost].any(), f"{where}neurons that are left out must do nothing")
    return places, numbers[places]


def with_idle(layer: LayerSymmetry, block: Block, places: Places, where: str) -> Block:
    """Return the MLP of a block with neurons that do nothing at their places.

    Raises:
        BadInput: one of them does something.
    """
    count = 0 if layer.neurons is None else len(np.asarray(layer.neurons)) - len(places)
    if not count:
        return block
    idle, made = dict[str, Array](), dict[str, Array]()
    for name, axis in IDLE.items():
        given, array = getattr(layer, f"idle_{name}", None), getattr(block, name)
        require(given is None or array is not None, f"{where}idle_{name}: there is no {name} in this network")
        if array is not None:
            shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
            idle[name] = np.zeros(shape) if given is None else np.asarray(given)
    require(not alive(block.having(idle)).any(), f"{where}neurons that are -1 must do nothing")
    rest = np.flatnonzero(np.asarray(layer.neurons) < 0)
    for name, numbers in idle.items():
        array, axis = getattr(block, name), IDLE[name]
        shape = (*array.shape[:axis], len(places) + count, *array.shape[axis + 1 :])
        made[name] = np.zeros(shape, dtype=np.result_type(array, numbers))
        for where_they_are, part in ((places, array), (rest, numbers)):
            made[name][along(axis, where_they_are)] = part
    return block.having(made)
