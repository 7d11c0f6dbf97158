"""The one walk: a checkpoint rewritten, less another one, piece by piece and entry by entry, in any ring.

What is left of each piece is told in units (`Measuring`), or compared without any tolerance (`Exact`). On the way
additive parts of a symmetry are read off the differences: what only moves a bias, and multiples of the vector of ones.
Equal pieces are the witness that the symmetry makes the second checkpoint of the first, and with that, that both have
one function (docs/checkpoints.md, Propositions 1 to 12).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.changes import LayerChange, applied
from lightning_sym.checkpoints.measured import E, Measured, less, value_of
from lightning_sym.checkpoints.measuring import Measuring, Ring, TurnedRows
from lightning_sym.checkpoints.model import Block, CheckpointForm, Pieces
from lightning_sym.checkpoints.pieces import HALVES, LAYER, STREAM_NORMS, table
from lightning_sym.checkpoints.stream import StreamAction
from lightning_sym.checkpoints.symmetry import LayerSymmetry, allowed
from lightning_sym.checkpoints.understood import Walker, require_pieces
from lightning_sym.checkpoints.units import Worst, digits_of

Differences = dict[str, Any]
"""By piece, what the second has more than what was made, in the numbers of a ring."""

CHOICES = {
    "bias1": {"norm1_bias"}, "bias2": {"norm2_bias"}, "value_bias": {"value_bias", "output_bias"},
    "ones1": {"query_bias", "value_bias"}, "ones2": {"up_bias"},
}  # fmt: skip
"""Biases that may be those of the second, or tell how far their maps moved along ones, and the pieces that tell so."""

WRITERS = {
    name: place
    for half in HALVES.values()
    for name, piece in half.maps.items()
    if not piece.norm and (place := piece.place("stream")) is not None
}
"""What is written to the stream, and on which axis."""


@dataclass(eq=False)
class Settled:
    """What of the differences additive symmetries take up.

    Attributes:
        left: what they do not.
        parts: of those symmetries, by name.
        unread: a piece with numbers that nothing depends on, and that are others, or none.
        why_not: why those symmetries cannot be written down, in one line.
    """

    left: Differences
    parts: dict[str, Any] = field(default_factory=dict)
    unread: str = ""
    why_not: str = ""


def differences(ring: Ring, made: Pieces, second: Pieces) -> Differences:
    """Return each piece of the second, less what was made."""
    old = dict(made.present())
    found = {}
    for name, array in second.present():
        new = ring.numbers(array)
        found[name] = ring.less(new, old[name]) if isinstance(ring, Measuring) else ring.plus(new, -old[name])
    return found


def common(ring: Ring, array: Any, axis: int) -> Any:
    """Return what the entries along an axis have in common; exactly, of three of them the one that two of them are.

    Example:
        >>> from lightning_sym.checkpoints.stream import EXACT
        >>> common(EXACT, np.array([1.0, 2.0, 1.0, 5.0]), 0).tolist()
        [1.0]
    """
    if isinstance(ring, Measuring):
        return ring.common(array, axis)
    entries = np.moveaxis(array, axis, 0)
    a, b, c = (entries[i % len(entries)] for i in range(3))
    return np.expand_dims(np.where((a == b) | (a == c), a, np.where(b == c, b, a)), axis)


class LayerWalk:
    """A layer of both under one gauge of the first, norms carried along or with the gains of the second.

    Args:
        first, second: the layer, with equally many groups and neurons, and the same biases.
        form: of both.
        stream: what is done to the stream.
        symmetry: what is done inside the layer.
        gains: the norms that have the gains of the second.
        ring: in which they are compared, of which `first` and `second` have numbers.
    """

    def __init__(
        self, first: Block, second: Block, form: CheckpointForm, stream: StreamAction, symmetry: LayerSymmetry,
        gains: frozenset[int], ring: Ring,
    ) -> None:  # fmt: skip
        self.ring, self.second, self.form = ring, second, form
        self.readers = {
            half.number: tuple(name for name, piece in half.maps.items() if piece.norm)
            for half in table(form).halves.values()
        }
        had: dict[str, object] = {}
        for number in gains:
            had[f"gain{number}"] = gain_to_be_had(getattr(second, f"norm{number}_gain"))
            if number in STREAM_NORMS and (value_of(getattr(first, f"norm{number}_gain")) == 0).any():
                had[f"bias{number}"] = getattr(second, f"norm{number}_bias")
        if second.key_bias is not None and allowed("key_bias", form):
            had["key_bias"] = second.key_bias[..., form.turned :]
        self.made = LayerChange(ring, stream, 0, form, symmetry.having(had)).made(first)
        require_pieces(self.made, form, "the layer", Walker.COMPARISON)
        self.found = Settled(differences(ring, self.made, second), had)

    def settle(self, choices: frozenset[str]) -> Settled:
        """Return the differences behind all additive symmetries.

        Args:
            choices: which of `bias1`, `bias2`, `value_bias` were moved, and whether biases tell how far what reads a
                norm moved along ones (`ones1`, `ones2`), as it was changed otherwise too.
        """
        found = Settled(dict(self.found.left), dict(self.found.parts))
        for number, readers in self.readers.items():
            there = [name for name in readers if name in found.left]
            if f"bias{number}" in choices:
                self._move_norm_bias(found, number, there)
            self._settle_readers(found, number, there, by_biases=f"ones{number}" in choices)
        if "router" in found.left:  # softmax does not see what all of its rows have in common
            shift_writer(self.ring, found, "router", 0)
        if self.form.norm == "layer":
            self._shift_writers(found, biases=False)
        if "value_bias" in choices and "value_bias" in found.left:  # not so in a part without heads
            self._move_values(found)
        if self.form.parallel is not None and {"output_bias", "down_bias"} <= found.left.keys():
            lost = found.left["output_bias"]  # only the sum of both is seen
            if (lost != 0).any():
                found.left["down_bias"] = self.ring.plus(found.left["down_bias"], lost)
                found.left["output_bias"] = filled(lost, True)
                found.parts["attention_bias"] = self.second.output_bias
        if self.form.norm == "layer":
            self._shift_writers(found, biases=True)
        return found

    def _shift_writers(self, found: Settled, *, biases: bool) -> None:
        """Take out multiples of ones in what is written, which a LayerNorm does not see."""
        for name, axis in WRITERS.items():
            if bool(LAYER[name].added_to) is biases and name in found.left:
                shift_writer(self.ring, found, name, axis)

    def _move_norm_bias(self, found: Settled, number: int, readers: list[str]) -> None:
        """Give the norm the bias of the second: what it lost is in the biases of its readers."""
        bias = f"norm{number}_bias"
        lost = found.left[bias]
        for name in readers:
            self._add_to_bias(found, name, applied(self.ring, getattr(self.made, name), lost))
        found.left[bias] = filled(lost, True)
        found.parts[f"bias{number}"] = getattr(self.second, bias)

    def _add_to_bias(self, found: Settled, name: str, more: Any) -> None:
        """Add a difference to a map's bias, or, where it has none, tell it of the map."""
        bias = f"{name}_bias"
        if bias in found.parts:  # of keys, seen in rows alone that rotary positions turn
            more = filled(more, np.arange(more.shape[-1]) >= self.form.turned)
        found.left[bias] = self.ring.plus(found.left[bias], more) if bias in found.left else more

    def _settle_readers(self, found: Settled, number: int, readers: list[str], *, by_biases: bool) -> None:
        """Settle what reads a norm, without columns behind gains of 0, and without what a LayerNorm does not see."""
        gain, bias = (getattr(self.made, f"norm{number}_{part}", None) for part in ("gain", "bias"))
        if gain is None:
            return
        bias = found.parts.get(f"bias{number}", bias)  # told as a difference, or had
        theirs = (getattr(self.second, f"norm{number}_{part}", None) for part in ("gain", "bias"))
        drop_unread(found, readers, gain, bias, *theirs)
        if self.form.norm == "rms" or (gain == 0).any():
            return
        total = None if bias is None else sum_of_quotients(self.ring, bias, gain)
        for name in readers:
            moved, own = None, f"{name}_bias"
            if by_biases and total is not None and own in found.left and own not in found.parts and (total != 0).all():
                moved = -self.ring.over(found.left[own], total)[..., None]
            shift = shift_reader(self.ring, found, name, gain, moved)
            if total is not None:
                self._add_to_bias(found, name, self.ring.times(shift, total))

    def _move_values(self, found: Settled) -> None:
        """Give the values the bias of the second: what they lost goes through the outputs into their bias."""
        share = self.form.heads // self.form.groups
        lost = np.repeat(found.left["value_bias"], share, axis=0)
        wide = self.made.output.swapaxes(0, 1).reshape(self.form.width, -1)
        through = self.ring.product(wide, lost.reshape(-1, 1))[:, 0]
        found.left["output_bias"] = self.ring.plus(found.left["output_bias"], through)
        found.left["value_bias"] = filled(found.left["value_bias"], True)
        found.parts["value_bias"] = self.second.value_bias


def shift_writer(ring: Ring, found: Settled, name: str, axis: int) -> None:
    """Take the multiple of ones out of what is written to the stream, or of rows of an embedding."""
    shift = common(ring, found.left[name], axis)
    found.left[name] = ring.plus(found.left[name], -shift)
    found.parts[f"{name}_shift"] = np.squeeze(shift, axis)


def shift_reader(ring: Ring, found: Settled, name: str, gain: Any, moved: Any = None) -> Any:
    """Take the multiple of ones, if it is not known, out of a map times the gain of its norm; it is returned."""
    shift = common(ring, ring.times(found.left[name], gain), -1) if moved is None else moved
    found.left[name] = ring.plus(found.left[name], -ring.over(shift, gain))
    found.parts[f"{name}_shift"] = shift[..., 0]
    return shift[..., 0]


def sum_of_quotients(ring: Ring, bias: Any, gain: Any) -> Any:
    """Return the sum of a norm's biases over its gains, `(1,)`: what a bias loses where a map moves along ones."""
    return ring.product(ring.over(ring.numbers(bias), gain)[None], np.ones((len(gain), 1)))[:, 0]


def drop_unread(found: Settled, readers: Iterable[str], *norms: object) -> None:
    """Leave out columns that nothing depends on: those behind gains that are 0, beside biases that are, of both."""
    unread = np.logical_and.reduce([np.asarray(part == 0, dtype=bool) for part in norms if part is not None])
    for name in readers if unread.any() else ():
        if (found.left[name][..., unread] != 0).any():
            found.unread, found.left[name] = name, filled(found.left[name], unread)


def gain_ways(
    stream: StreamAction, old: Measured, new: Measured, limit: float, what: str
) -> tuple[tuple[bool, ...], str]:
    """Return whether a norm has the gains of the second, what is likelier first; and why it cannot, in one line.

    Args:
        stream: what is done to the stream, in units.
        old, new: gains of both, with units.
        limit: units.
        what: the norm's name.
    """
    carried = stream.carried(old)
    if carried is not None and np.array_equal(carried.value, new.value):
        return (False,), ""
    if (new == 0).any():
        return (carried is None,), f"gains of {what} are 0 in the second checkpoint, and not those of the first, moved"
    if carried is None:
        return (True,), ""
    near = not less(new, carried).beyond(limit).any()
    return (not near, near), ""


def gain_to_be_had(gain: E) -> E:
    """Return a gain of the second, with 1 in place of 0, which no other gain becomes."""
    return filled(gain, gain == 0, 1)


def filled(array: E, places: npt.NDArray[np.bool_] | bool, number: int = 0) -> E:
    """Return an array with a number at some places; units stay.

    Example:
        >>> filled(np.array([2.0, 3.0]), np.array([True, False])).tolist()
        [0.0, 3.0]
    """
    if isinstance(array, Measured):
        return Measured(np.where(places, number, array.value), array.square)
    return np.where(places, number, array)


NOISE = 1e-10
"""What floats lose of the largest numbers is less."""


def differing(left: Measured, stored: str) -> npt.NDArray[np.bool_]:
    """Return where a piece of this type differs by far more than floats lose: it is not equal exactly."""
    return left.beyond(NOISE * 2.0 ** digits_of(stored)[0])


def look_at(worst: Worst, units: Measured, exactly: Any, entries: Any, axis: int = 0, start: int = 0) -> None:
    """Look at some entries of a piece: at what is left in units, or at what is left `exactly`, if that is known.

    `entries` are those of the second, `None` where it has none; `start` says where the first stands along an axis.
    """
    if exactly is None and isinstance(units, TurnedRows):
        for left, at in units.largest(worst):
            worst.add(left.value, left.units, value_of(entries[at]), start, None, axis, at)
        return
    values, mask = units.value, None
    if exactly is not None:
        values, mask = value_of(exactly), np.asarray(exactly != 0, dtype=bool)
    worst.add(values, units.units, np.zeros(units.shape) if entries is None else value_of(entries), start, mask, axis)
