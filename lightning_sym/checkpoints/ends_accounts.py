"""What stands before and behind the layers, of both, under what was done to the stream; some rows at a time.

Every row of the embedding may have lost what every row of the positions has in excess; with LayerNorm each row may
have moved along the vector of ones. Both are read off the differences, and what is left is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.changes import EndsChange
from lightning_sym.checkpoints.coded import rows_at_once
from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.left_over import LeftOver
from lightning_sym.checkpoints.measured import Measured, measured, measured_pieces, value_of
from lightning_sym.checkpoints.measuring import Measuring, Ring
from lightning_sym.checkpoints.model import CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import SHAPELESS
from lightning_sym.checkpoints.stream import BRIEF, EXACT, Stream, StreamAction
from lightning_sym.checkpoints.symmetry import Symmetry
from lightning_sym.checkpoints.understood import Walker, require_pieces
from lightning_sym.checkpoints.units import Worst, exact_is_told, off
from lightning_sym.checkpoints.walk import (
    Differences,
    Settled,
    common,
    differences,
    differing,
    drop_unread,
    gain_to_be_had,
    gain_ways,
    shift_reader,
    shift_writer,
    sum_of_quotients,
)
from lightning_sym.errors import BadInput, TooLarge

FEW = 3
"""Rows from which a common shift is told, where it is exact."""


@dataclass(frozen=True, eq=False)
class EndsPair:
    """The ends of both, tied only where both are.

    Attributes:
        first, second: the ends.
        form: of the second, tied as they are here.
        stream: what is done to the stream.
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
    """

    first: Ends
    second: Ends
    form: CheckpointForm
    stream: Stream
    stored: Mapping[str, str]
    limit: float

    @property
    def step(self) -> int:
        """How many rows are looked at together."""
        return rows_at_once(self.second.embedding)

    def rows(self, start: int) -> tuple[Ends, Ends, CheckpointForm, set[str]]:
        """Return some rows of both, their form, and the pieces that have such rows."""
        parts, there = [], {"final_gain", "final_bias"} if start == 0 else set[str]()
        for ends in (self.first, self.second):
            tall = {name: getattr(ends, name) for name in TALL if getattr(ends, name) is not None}
            there |= {name for name, array in tall.items() if start < len(array)}
            at = slice(start, start + self.step)  # of what is shorter the first row
            some = {name: np.asarray(array[at if start < len(array) else slice(1)]) for name, array in tall.items()}
            parts.append(replace(ends, **some))
        places = 0 if parts[1].positions is None else len(parts[1].positions)
        return *parts, replace(self.form, layers=0, vocabulary=len(parts[1].embedding), context=places), there  # type: ignore[return-value]


TALL = tuple(name for name, piece in SHAPELESS.ends.items() if piece.columns)
"""The pieces that have a row for each token id, or place."""


@dataclass(eq=False)
class EndsFound:
    """What was found outside the layers.

    Attributes:
        tensors: how far each piece is off.
        exact: they were compared exactly.
        parts: of the symmetry, by name.
        unread: a piece with numbers that nothing depends on, and that are others, or none.
        why_not: why it cannot be written down, in one line.
    """

    tensors: dict[str, Worst]
    exact: bool
    parts: dict[str, object] = field(default_factory=dict)
    unread: str = ""
    why_not: str = ""

    @property
    def equal(self) -> bool:
        """Nothing differs."""
        return self.exact and not any(worst.differing for worst in self.tensors.values())


def compare_ends(
    first: Ends, second: Ends, forms: tuple[CheckpointForm, CheckpointForm], stream: Stream,
    stored: Mapping[str, str], limit: float,
) -> EndsFound:  # fmt: skip
    """Compare under a stream map, the final norm carried along or with the gain of the second, what explains more."""
    tied = forms[0].tied and forms[1].tied
    old, new = (
        ends if tied or ends.unembedding is not None else replace(ends, unembedding=ends.embedding)
        for ends in (first, second)
    )
    pair = EndsPair(old, new, replace(forms[1], tied=tied), stream, stored, limit)
    mine, theirs = (measured(ends.final_gain, stored["final_gain"]) for ends in (old, new))
    ways, why_not = gain_ways(stream.measured, mine, theirs, limit, "the final norm")
    if old.final_bias is not None and False in ways and (mine == 0).any():  # such a bias is nowhere behind other gains
        ways = (False,)
    tried = []
    for had in (True in ways and False not in ways,) if tied else ways:
        tried.append((_compared(pair, had=had), had))
        if not off(tried[-1][0].tensors, limit):
            break
    found = min(tried, key=lambda each: (off(each[0].tensors, limit), each[1]))[0]
    found.why_not = found.why_not or why_not
    return found


def _compared(pair: EndsPair, *, had: bool) -> EndsFound:
    """Return all rows, exactly where that is possible."""
    if pair.stream.map.exact:
        try:
            return _Walk(pair, had=had, exactly=True).found()
        except (BadInput, TooLarge, _Dense):
            pass
    return _Walk(pair, had=had, exactly=False).found()


class _Dense(Exception):
    """Nearly everything differs by more than floats lose: nothing is equal exactly."""


class _Walk:
    """All rows of the ends, one after another."""

    def __init__(self, pair: EndsPair, *, had: bool, exactly: bool) -> None:
        self.pair, self.had, self.exactly = pair, had, exactly
        self.shift: dict[bool, Any] = {}
        self.told = {exactly: LeftOver(pair.stored, pair.limit) for exactly in (False, True)}

    def found(self) -> EndsFound:
        """Return what they have in common, and what is left of each piece."""
        longest = max(
            len(getattr(self.pair.second, name)) for name in TALL if getattr(self.pair.second, name) is not None
        )
        for start in range(0, longest, self.pair.step):
            self._some(start)
        told, exactly = self.told[False], self.told[True]
        exact = self.exactly and exact_is_told(exactly.tensors, told.tensors, self.pair.limit)
        parts: dict[str, Any] = dict(self.told[exact].numbers())
        if (moved := self.shift.get(exact)) is not None:
            parts["moved"] = moved
        parts = {name: value_of(x) if isinstance(x, Measured) else x for name, x in parts.items()}
        parts = {name: part for name, part in parts.items() if np.asarray(part != 0).any()}
        if self.had and not self.pair.form.tied:
            parts["final_gain"] = np.asarray(self.pair.second.final_gain)
        unread, why_not = told.unread or exactly.unread, "" if exact else told.why_not
        return EndsFound(self.told[exact].tensors, exact, parts, unread, why_not)

    def _some(self, start: int) -> None:
        first, second, form, there = self.pair.rows(start)
        both = measured_pieces(first, self.pair.stored), measured_pieces(second, self.pair.stored)
        left = self._settled(*both, form, Measuring(), self.pair.stream.measured, start)
        where = dict.fromkeys((*there, *(f"{name}_shift" for name in there)), (0, start))
        self.told[False].add(left, where, vars(second))
        if self.exactly:
            differs = differing(left.left["embedding"], self.pair.stored["embedding"])
            if start == 0 and differs.mean() > 0.5:
                raise _Dense
            ring = BRIEF if differs.any() else EXACT
            exactly = self._settled(first, second, form, ring, self.pair.stream.exactly[ring], start)
            self.told[True].add(exactly, where, vars(second), lambda: left)

    def _settled(
        self, first: Ends, second: Ends, form: CheckpointForm, ring: Ring, stream: StreamAction, start: int
    ) -> Settled:
        """Return some rows, rewritten, less those of the second, and less what additive symmetries take up."""
        asked = Symmetry((), final_gain=gain_to_be_had(second.final_gain) if self.had else None)
        made = EndsChange(ring, stream, form, asked, first).made()
        require_pieces(made, form, "the ends", Walker.COMPARISON)
        found = Settled(differences(ring, made, second))
        exactly = isinstance(ring, Exact)
        if second.positions is not None and not form.tied:
            if start == 0:
                self.shift[exactly] = self._moved(found.left, ring, form)
            if (moved := self.shift[exactly]) is not None:
                found.left["embedding"] = ring.plus(found.left["embedding"], -moved)
                found.left["positions"] = ring.plus(found.left["positions"], moved)
        if form.tied and self.had:
            found.left["final_gain"] = self._mixed_gains(first, second)
        readers = [name for name in ("unembedding",) if name in found.left]
        drop_unread(found, readers, made.final_gain, made.final_bias, second.final_gain, second.final_bias)
        if form.norm == "layer":
            for name in ("embedding", "positions"):
                if name in found.left and (name == "positions" or free_rows(self.pair.second, form)):
                    shift_writer(ring, found, name, 1)
            if readers and not (made.final_gain == 0).any():
                self._shift_unembedding(found, made, ring)
        return found

    def _mixed_gains(self, first: Ends, second: Ends) -> Measured:
        """Return rows of what must be zero where the unembedding is tied: `diag(g') R - R diag(g)`, by their lengths.

        Raises:
            BadInput: it is asked exactly.
        """
        gain: object = second.final_gain
        if not isinstance(gain, Measured):
            raise BadInput("the rotation must not mix different gains of the final norm where the unembedding is tied")
        rotation, scale = value_of(self.pair.stream.symmetry.rotation), float(self.pair.stream.symmetry.scale)
        rows = rotation * (scale * gain.value[:, None] - value_of(first.final_gain))
        return Measured(np.linalg.norm(rows, axis=1), gain.square * scale**2)

    def _moved(self, left: Differences, ring: Ring, form: CheckpointForm) -> Any:
        """Return what all rows of the embedding have in excess and those of the positions lack; `None`: nothing."""
        if isinstance(ring, Exact):
            few = left["embedding"][:FEW]
            few = ring.plus(few, -few[:, :1]) if form.norm == "layer" else few
            return common(ring, few, 0)[0]
        excesses = {}
        for name, sign in (("embedding", 1), ("positions", -1)):
            excess = left[name] if sign > 0 else -left[name]
            if form.norm == "layer":  # rows may have moved along ones: what is in common has mean 0
                share = np.full((form.width, form.width), 1 / form.width)
                excess = ring.plus(excess, -ring.product(excess, share))
            excesses[name] = excess
        told = sorted(
            (ring.common(excess, 0)[0] for excess in excesses.values()), key=lambda each: float(each.square.max())
        )

        def unexplained(guess: object) -> float:
            rest = (Measured(each.value - value_of(guess), each.square) for each in excesses.values())
            return sum(float(each.beyond(self.pair.limit).any(axis=1).mean()) for each in rest)

        best = min([np.zeros(form.width), *told], key=unexplained)
        return best if isinstance(best, Measured) else None

    def _shift_unembedding(self, found: Settled, made: Ends, ring: Ring) -> None:
        """Take out the multiple of ones in the unembedding times the gain, which a LayerNorm does not see.

        Beside a bias only where the sum of its quotients by the gain is 0.
        """
        if made.final_bias is not None:
            total = sum_of_quotients(ring, made.final_bias, made.final_gain)
            if isinstance(total, Measured) and (total != 0).any():
                limit = self.pair.limit
                if total.beyond(limit).any() or not found.left["unembedding"].beyond(limit).any():
                    return
                found.why_not = "rows of the unembedding moved along the vector of ones, and not exactly"
            elif (total != 0).any():
                return
        shift_reader(ring, found, "unembedding", made.final_gain)


def free_rows(second: Ends, form: CheckpointForm) -> bool:
    """Return whether multiples of ones may be added to rows of the embedding, with LayerNorm: tied only sometimes."""
    if not form.tied:
        return True
    gain, bias = second.final_gain, second.final_bias
    return bool((gain == gain[0]).all()) and (bias is None or math.fsum(map(float, bias)) == 0)
