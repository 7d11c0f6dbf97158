"""The identity, before any search: how far each tensor is from the first's of the same name, number by number.

In which units that is told: of the type that it is stored in; where one side is a quantisation of the other's, in steps
of its codes; where an adapter was added, no finer than those of its summands.

Nothing is rewritten here, and no piece is named: whatever a checkpoint has is compared. Doing nothing is an account of
what differs as well. A tensor that is the first's, byte for byte, is explained by it, and is named only where most of
the others are not as they were: something was done to them that was not done to this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from lightning_sym.checkpoints.coded import are_equal, slices
from lightning_sym.checkpoints.measured import less, measured
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.understood import CHANGEABLE, Walker, pieces_of
from lightning_sym.checkpoints.units import Residual, Worst, coarsest, entry_of, form_residual, number_type, unit_at
from lightning_sym.errors import BadInput, TooLarge


def quantised_residual(
    sides: tuple[Checkpoint, Checkpoint], piece: str, arrays: tuple[Array, Array], plain: Residual
) -> Residual:
    """Return how far a piece is from the other side's, in steps of its codes, where one side alone is quantised.

    Each code must be the nearest to the other side's number for scale and shift of its block, up to the rounding of
    these; beyond the last code none is nearer, and steps are counted there too. Where one is not, the residual is what
    it was, and says in how many blocks.

    Args:
        sides: the two checkpoints.
        piece: such as `3.query`.
        arrays: that of each.
        plain: the residual in units in the last place.
    """
    try:
        grids = [side.grid(piece) if isinstance(side, StoredCheckpoint) else None for side in sides]
    except TooLarge as error:
        return replace(plain, blocks=f"codes were not looked at: {error}")
    here = next((place for place, grid in enumerate(grids) if grid is not None), None)
    grid = None if here is None else grids[here]
    if here is None or grid is None or None not in grids:
        return plain
    values, wanted = (np.asarray(arrays[place], dtype=np.float64) for place in (here, 1 - here))
    right = grid.nearest(values, wanted)
    if not right.all():
        wrong = np.unique(grid.block[~right])
        count = f"{len(wrong):,} of {len(np.unique(grid.block)):,} blocks of {grid.kind}"
        return replace(plain, blocks=f"{count} hold codes that are not the nearest, first number {wrong[0]:,}")
    worst = Worst()
    step = np.where(grid.step > 0, grid.step, np.inf)
    difference = np.asarray(arrays[1], dtype=np.float64) - np.asarray(arrays[0], dtype=np.float64)
    worst.add(difference, step, np.asarray(arrays[1]), mask=difference != 0)
    found = replace(plain, units=worst.units, stored=grid.kind, difference=worst.difference, own=None)
    return found if worst.entry is None else replace(found, entry=entry_of(piece, worst.entry, sides[1].form))


def reach_of(sides: tuple[Checkpoint, Checkpoint], piece: str) -> Array | None:
    """Return by entry of a piece the size of the larger summand, where an adapter adds; else `None`."""
    for side in sides:
        if isinstance(side, StoredCheckpoint) and (found := side.reach(piece)) is not None:
            return found
    return None


MEANINGLESS = frozenset(("family", "context"))
"""Parts of a form that say nothing about the function; learned positions have the context in their shape."""


@dataclass(frozen=True)
class Identity:
    """How far two checkpoints are apart if nothing is done to the first.

    Attributes:
        residuals: of the pieces and numbers of the form that are not equal.
        equal: the pieces whose numbers are equal, all of them.
        apart: pieces that only one side has, or that have two shapes, and parts of the form that differ and are no
            numbers: with one of them the identity is no symmetry.
        complete: everything was looked at; else it stopped at what is beyond the limit.
    """

    residuals: tuple[Residual, ...]
    equal: frozenset[str]
    apart: frozenset[str]
    complete: bool

    @property
    def same(self) -> bool:
        """The second is the first, number for number."""
        return self.complete and not self.residuals and not self.apart

    def within(self, units: float) -> bool:
        """Return whether every number of the second is the first's, rounded."""
        return self.complete and not self.apart and all(each.units <= units for each in self.residuals)


def under_identity(first: Checkpoint, second: Checkpoint, limit: float = float("inf")) -> Identity:
    """Compare each piece with the first's of its name, one layer at a time.

    Args:
        first, second: of any forms.
        limit: units; behind a layer, or the ends, with a tensor that is further off, nothing more is read.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> found = under_identity(small_checkpoint("gpt2", 1), small_checkpoint("gpt2", 1))
        >>> found.same, len(found.equal)
        (True, 36)
    """
    residuals, apart = forms_apart(first, second)
    equal: set[str] = set()
    layers = range(min(first.form.layers, second.form.layers))
    for where in (None, *layers):
        if limit < float("inf") and (apart or any(each.units > limit for each in residuals)):
            return Identity(tuple(residuals), frozenset(equal), frozenset(apart), complete=False)
        for piece, residual in _pieces(first, second, where):
            if residual is None:
                equal.add(piece)
            elif isinstance(residual, Residual):
                residuals.append(residual)
            else:
                apart.add(piece)
    return Identity(tuple(residuals), frozenset(equal), frozenset(apart), complete=True)


def forms_apart(first: Checkpoint, second: Checkpoint) -> tuple[list[Residual], set[str]]:
    """Return the numbers of the configuration that differ, and the other parts of it that do."""
    numbers, others = [], set()
    kind = number_type(first, second)
    for name in (field.name for field in fields(first.form) if field.name not in MEANINGLESS):
        old, new = getattr(first.form, name), getattr(second.form, name, None)
        if old == new:
            continue
        residual = form_residual(name, first.form, second.form, kind)
        if residual is None:
            others.add(name)
        elif residual.units:
            numbers.append(residual)
    return numbers, others


def _pieces(first: Checkpoint, second: Checkpoint, layer: int | None) -> Iterator[tuple[str, Residual | str | None]]:
    """Yield each piece of a layer, or of the ends, with its residual: `None` where equal, a word where it has none."""
    old, new = (dict(pieces_of(one, layer, Walker.COMPARISON, coded=True).present()) for one in (first, second))
    for name in (*new, *(name for name in old if name not in new)):
        piece = name if layer is None else f"{layer}.{name}"
        if name not in old or name not in new or old[name].shape != new[name].shape:
            yield piece, "apart"
        elif are_equal(old[name], new[name]):
            yield piece, None
        else:
            stored, reach = stored_type(first, second, piece), reach_of((first, second), piece)
            worst = Worst()
            for some in slices(new[name]):
                before, after = (np.asarray(array[name][some]) for array in (old, new))
                left = less(measured(after, stored), measured(before, stored))
                # no finer than those of the summands: programs round each to the stored type
                units = left.units if reach is None else np.maximum(left.units, unit_at(reach[some], stored))
                worst.add(left.value, units, after, some.start, np.asarray(before != after))
            plain = worst.residual(piece, second.called(piece), stored, second.form, exact=True)
            yield piece, quantised_residual((first, second), piece, (old[name], new[name]), plain)


def unlike(first: CheckpointForm, second: CheckpointForm, units: float = 0.0, stored: str = "F64") -> list[str]:
    """Return why no symmetry that is known leads from one form to the other; nothing if one may.

    Args:
        first, second: the forms.
        units: how far a number of them may be off to count as rounded.
        stored: the type whose units those are.
    """
    said = []
    for name in (field.name for field in fields(first) if field.name not in CHANGEABLE):
        pair = getattr(first, name), getattr(second, name, None)
        residual = None if pair[0] == pair[1] else form_residual(name, first, second, stored)
        near = residual is not None and residual.units <= units
        if pair[0] != pair[1] and not near:
            said.append(f"no symmetry is known between {name} {pair[0]} and {pair[1]}")
    if first.theta is None and second.theta is None and first.context != second.context:
        said.append(f"no symmetry is known between {first.context} and {second.context} learned positions")
    if first.experts is not None and first.inner != second.inner:
        said.append(f"no symmetry is known between {first.inner} and {second.inner} neurons of experts")
    if first.groups != second.groups and first.heads not in (first.groups, second.groups):
        said.append(f"no symmetry is known between {first.groups} and {second.groups} groups of keys and values")
    return said


def beyond(residuals: Iterable[Residual], units: float) -> tuple[Residual, ...]:
    """Return those that no rounding explains."""
    return tuple(each for each in residuals if each.units > units)


def is_account(nothing: Identity, named: Sequence[Residual], units: float) -> bool:
    """Return whether the identity explains a pair better than what was found.

    Args:
        nothing: what differs under the identity.
        named: what no symmetry that was found explains.
        units: up to which a difference counts as rounding.
    """
    off = beyond(nothing.residuals, units)
    if nothing.apart or not off:
        return False
    wrong = {each.piece for each in off}
    right = {*nothing.equal, *(each.piece for each in nothing.residuals)} - wrong
    named_wrongly = any(each.piece in right for each in named)
    mostly_equal = len(right) >= len(wrong) and len(off) <= 2 * len(named)
    return not named or len(off) <= len(named) or (named_wrongly and mostly_equal)


def only_changed(residuals: Sequence[Residual], nothing: Identity, units: float) -> tuple[Residual, ...]:
    """Return what is named, without tensors that are as they were, unless nothing else would be named."""
    kept = tuple(each for each in residuals if each.units <= units or each.piece not in nothing.equal)
    return kept if beyond(kept, units) else tuple(residuals)


def stored_type(first: Checkpoint, second: Checkpoint, piece: str) -> str:
    """Return the coarser of the types that a tensor is stored in."""
    kinds = []
    for checkpoint in (first, second):
        try:
            kinds.append(checkpoint.stored(piece))
        except BadInput:  # this one has no such tensor
            continue
    return coarsest(*kinds) if kinds else "F32"


def stored_types(first: Checkpoint, second: Checkpoint, layer: int | None) -> dict[str, str]:
    """Return the coarser of the types that each piece of a layer, or of the ends, is stored in, if it is there.

    That of a bias which neither has is asked for as well: what norms add is folded into one.
    """
    before, tables = "" if layer is None else f"{layer}.", [table(each.form) for each in (first, second)]
    names = {each.name for each in fields(Ends if layer is None else Block)}.union(*(each.names for each in tables))
    return {name: stored_type(first, second, before + name) for name in names}


def residuals_of(
    first: Checkpoint, second: Checkpoint, layer: int | None, tensors: Mapping[str, Worst], *, exact: bool
) -> list[Residual]:
    """Return what is told of the pieces of a layer, or of the ends, that differ."""
    told, before = [], "" if layer is None else f"{layer}."
    for name, worst in tensors.items():
        if worst.units > 0 or worst.differing:
            called, stored = called_by(first, second, before + name), stored_type(first, second, before + name)
            told.append(worst.residual(before + name, called, stored, second.form, exact=exact))
    return told


def called_by(first: Checkpoint, second: Checkpoint, piece: str) -> str:
    """Return what the files of the second, or else of the first, call a tensor."""
    for checkpoint in (second, first):
        try:
            return checkpoint.called(piece)
        except BadInput:
            continue
    return piece
