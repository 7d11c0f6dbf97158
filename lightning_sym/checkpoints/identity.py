"""The identity, before any search: how far each tensor is from the first's of the same name, number by number.

Nothing is folded or fitted here, and no piece is named: whatever a checkpoint has is compared, if the comparison that
follows would know it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm
from lightning_sym.checkpoints.stream_fit import CHUNK
from lightning_sym.checkpoints.understood import CHANGEABLE, Walker, pieces_of
from lightning_sym.checkpoints.units import Residual, Worst, coarsest, number_residual, number_type, unit_at

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
        """Every number of the second is the first's, rounded."""
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
    residuals, apart = _forms(first, second)
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


def one_form(first: Checkpoint, second: Checkpoint) -> bool:
    """Whether all parts of the forms are equal but for numbers, so that the identity may explain what is equal."""
    return not _forms(first, second)[1]


def _forms(first: Checkpoint, second: Checkpoint) -> tuple[list[Residual], set[str]]:
    """The numbers of the configuration that differ, and the other parts of it that do."""
    numbers, others = [], set()
    kind = number_type(first, second)
    for name in (field.name for field in fields(first.form) if field.name not in MEANINGLESS):
        old, new = getattr(first.form, name), getattr(second.form, name, None)
        if old == new:
            continue
        if isinstance(old, Fraction) and isinstance(new, Fraction):
            numbers.append(number_residual(name, old, new, kind))
        else:
            others.add(name)
    return numbers, others


def _pieces(first: Checkpoint, second: Checkpoint, layer: int | None) -> Iterator[tuple[str, Residual | str | None]]:
    """Each piece of a layer, or of the ends, with its residual: `None` where it is equal, a word where it has none."""
    old, new = (dict(pieces_of(one, layer, Walker.COMPARISON).present()) for one in (first, second))
    for name in (*new, *(name for name in old if name not in new)):
        piece = name if layer is None else f"{layer}.{name}"
        if name not in old or name not in new or old[name].shape != new[name].shape:
            yield piece, "apart"
        elif np.array_equal(old[name], new[name]):
            yield piece, None
        else:
            yield piece, _residual(piece, old[name], new[name], first.stored(piece), second)


def _residual(piece: str, old: Any, new: Any, stored: str, second: Checkpoint) -> Residual:
    """The largest difference of a piece: of a matrix in units of its rows, of a vector in those of each entry."""
    kinds = stored, second.stored(piece)
    rows = [_matrix(piece, each) for each in (old, new)]
    worst = Worst()
    for start in range(0, len(rows[1]), CHUNK):
        before, after = (np.asarray(each[start : start + CHUNK], dtype=np.float64) for each in rows)
        size = np.abs(after).max(axis=1, keepdims=True) if after.ndim == 2 else np.maximum(abs(before), abs(after))
        unit = np.maximum(*(unit_at(size, kind) for kind in kinds))
        differs = np.asarray(rows[0][start : start + CHUNK] != rows[1][start : start + CHUNK])
        worst.add(after - before, unit, after, start, differs)
    worst.look_at_columns(coarsest(*kinds))
    return worst.residual(piece, second.called(piece), coarsest(*kinds), exact=True)


def _matrix(piece: str, array: Any) -> Any:
    """A piece as one matrix `(out, in)`, or as one vector."""
    name = piece.rpartition(".")[2]
    if name == "output":
        return array.transpose(1, 0, 2).reshape(array.shape[1], -1)
    if array.ndim == 1 or name.endswith("_bias"):
        return array.reshape(-1)
    return array.reshape(-1, array.shape[-1])


def unlike(first: CheckpointForm, second: CheckpointForm, units: float = 0.0, stored: str = "F64") -> list[str]:
    """Why no symmetry that is known leads from one form to the other; nothing if one may.

    Args:
        first, second: the forms.
        units: how far a number of them may be off to count as rounded.
        stored: the type whose units those are.
    """
    said = []
    for name in (field.name for field in fields(first) if field.name not in CHANGEABLE):
        pair: Any = getattr(first, name), getattr(second, name, None)
        near = all(isinstance(each, Fraction) for each in pair)
        near = near and number_residual(name, pair[0], pair[1], stored).units <= units
        if pair[0] != pair[1] and not near:
            said.append(f"no symmetry is known between {name} {pair[0]} and {pair[1]}")
    if first.theta is None and second.theta is None and first.context != second.context:
        said.append(f"no symmetry is known between {first.context} and {second.context} learned positions")
    if first.groups != second.groups and first.heads not in (first.groups, second.groups):
        said.append(f"no symmetry is known between {first.groups} and {second.groups} groups of keys and values")
    return said
