"""What a symmetry does to the pieces of a layer, behind all orders, and to those of the ends: over any ring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import EllipsisType
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import (
    GAUGES,
    Bases,
    Basis,
    Places,
    SignsBesideGains,
    StreamMap,
    TurnedAndNot,
    moved,
    one_number,
)
from lightning_sym.checkpoints.coded import RowsLater
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Numbers
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.piece_table import LATENTS, CheckpointPiece, Half
from lightning_sym.checkpoints.pieces import LENGTH, table
from lightning_sym.checkpoints.stream import StreamAction
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry, Part, Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require
from lightning_sym.errors import BadInput

LATENT_PARTS = {space: part for space, part, kind in GAUGES if kind is StreamMap}
"""By the space of latents, the part of a symmetry that turns them."""


class Reading:
    """A norm and what it does to the maps that read it: `W (g n + b) + w` stays what it is.

    Args:
        stream: the change of the stream.
        gain, bias: of the norm.
        new_gain, new_bias: to be had; `None`: carried along.
        what: the norm's name, for errors.
    """

    def __init__(
        self,
        stream: StreamAction,
        gain: Numbers,
        bias: Numbers | None,
        new_gain: Part | None = None,
        new_bias: Part | None = None,
        what: str = "norm",
    ) -> None:
        self.stream, self.ring = stream, stream.ring
        ring = self.ring
        self.old_gain, self.old_bias = ring.numbers(gain), None if bias is None else ring.numbers(bias)
        self.folded = new_gain is not None
        if self.folded:
            self.gain = ring.numbers(new_gain)
            require((self.gain != 0).all(), f"the gain of {what} to be had must not be 0 anywhere")
        else:
            carried = stream.carried(self.old_gain)
            if carried is None:
                raise BadInput(f"the rotation must not mix different gains of {what}; give the gain to be had by it")
            self.gain = carried
        self.moves_bias = new_bias is not None
        self.bias = None
        if self.old_bias is None:
            require(not self.moves_bias, f"{what} must have a bias for one to be had")
        elif self.moves_bias:
            self.bias = ring.numbers(new_bias)
        elif self.folded:
            zero = (self.old_gain == 0).any()
            require(not zero, f"{what} has gains that are 0, so that its bias to be had must be given")
            self.bias = ring.times(self.gain, stream.read(ring.over(self.old_bias, self.old_gain)))
        else:
            self.bias = stream.read(self.old_bias)

    def map(
        self, weight: Numbers, bias: Numbers | None, shift: Part | None = None, what: str = "map"
    ) -> tuple[Numbers, Numbers | None]:
        """Return a map that reads the norm, `(..., d)`, and its bias `(...,)`, in the ring; shift `u` along ones."""
        ring, old = self.ring, weight
        if self.folded:
            new = ring.over(self.stream.read(ring.times(old, self.old_gain)), self.gain)
        else:
            new = self.stream.read(old)
        more: list[Numbers] = []
        if self.moves_bias and self.old_bias is not None and self.bias is not None:
            before, after = applied(ring, old, self.old_bias), applied(ring, new, self.bias)
            if bias is not None:
                more += [before, -after]
            else:
                require((before == after).all(), f"{what} has no bias that could take up that of its norm")
        if shift is not None:
            direction = ring.numbers(shift)
            new = ring.plus(new, ring.over(direction[..., None], self.gain))
            if self.bias is not None:
                total = applied(ring, ring.over(self.bias, self.gain)[None], np.ones(len(self.gain)))
                if bias is not None:
                    more.append(-ring.times(direction, total))
                else:
                    require((total == 0).all(), f"{what} has no bias, so that sum(bias / gain) of its norm must be 0")
        for term in more:
            bias = ring.plus(bias, term) if bias is not None else None
        return new, bias


def applied(ring: Arithmetic, weight: Numbers, vector: Numbers) -> Numbers:
    """Return a map `(..., d)` times a vector."""
    return ring.product(weight.reshape(-1, weight.shape[-1]), vector[:, None]).reshape(weight.shape[:-1])


def unsigned(array: Any) -> Any:
    """Return the numbers with 0 for -0, so that equal numbers are equal bytes."""
    return array + 0 if isinstance(array, np.ndarray) else array


@dataclass(frozen=True, eq=False)
class LayerChange:
    """What a symmetry does to a part of a layer of a checkpoint, behind all orders.

    Attributes:
        ring: in which it is done.
        stream: what is done to the stream.
        number: of the layer.
        form: of the part.
        symmetry: what is done to it.
        places: of the new neurons that are old ones.
    """

    ring: Arithmetic
    stream: StreamAction
    number: int
    form: CheckpointForm
    symmetry: LayerSymmetry
    places: Places | EllipsisType = ...

    def made(self, found: Block) -> Block:
        """Return the part under the symmetry; nothing is asked of numbers that `apply` refuses."""
        inside = self.bases()
        for half in table(self.form).halves.values():
            found = replace(found, **dict(self.half(found, half, inside)))
        return found

    def part(self, name: str) -> Any:
        """Return a part of the symmetry, of neurons only those that are old ones; `None` where there is none."""
        found = getattr(self.symmetry, name, None)
        return np.asarray(found)[self.places] if found is not None and KINDS[name].shape[:1] == ("m",) else found

    def bases(self) -> dict[str, Basis]:
        """Return what is done to the spaces inside of the layer."""
        form = self.form
        gauges = {name: kind.of(part, self.ring) for _, name, kind in GAUGES if (part := self.part(name)) is not None}
        found: dict[str, Basis] = {space: gauges[name] for space, name, _ in GAUGES if name in gauges}
        if {"turns", "queries"} & gauges.keys() and 0 < (turned := form.at(self.number).turned) < form.head_width:
            found["query-key"] = TurnedAndNot(turned, gauges.get("turns"), gauges.get("queries"))
        if form.head_norms is not None and "turns" in gauges:
            factors = gauges.get("gain_factors", gauges.get("row_factors"))
            found["query-key"] = SignsBesideGains(gauges["turns"], factors)
        return found

    def half(self, block: Block, half: Half, inside: Bases) -> Iterator[tuple[str, Any]]:
        """Yield the norm of one half of the layer, and its maps with their biases; `inside` as of `bases`."""
        ring, stream, where, number = self.ring, self.stream, f"layer {self.number}: ", half.number
        everywhere, lost = {**inside, **stream.bases()}, dict[str, Numbers]()
        latent = LATENTS.get(half.norm)
        behind = {kind: each for kind, each in everywhere.items() if kind in {*inside, LENGTH.kind} - {latent}}
        norm: Any = None
        if half.norms:
            if latent is not None:
                turned = Symmetry((), rotation=self.part(LATENT_PARTS[latent]))
                stream = StreamAction(turned, replace(self.form, width=len(half.norm_of(block)[0])), ring)
            had = self.part(f"gain{number}"), self.part(f"bias{number}")
            norm = Reading(stream, *half.norm_of(block), *had, what=f"{where}norm {number}")
            yield from zip(half.norms, (norm.gain, norm.bias), strict=False)
        for piece, added_piece in half.affine:
            name, bases = piece.name, behind if piece.norm else everywhere
            weight: Any = getattr(block, name)
            added: Any = getattr(block, f"{name}_bias", None)
            shift, added_shift, wanted = (self.part(f"{name}{each}") for each in ("_shift", "_bias_shift", "_bias"))
            to_all = name == "router"  # to all of its rows one vector, others add its multiples along ones
            if weight is None:  # it is in another part
                continue
            weight = moved(piece, ring.numbers(weight), bases, ring)
            if added_piece is not None and added is not None:
                added = moved(added_piece, ring.numbers(added), bases, ring)
            if piece.norm:
                weight, added = norm.map(weight, added, None if to_all else shift, f"{where}{name}")
            if wanted is not None and added_piece is not None:
                require(added is not None, f"{where}{name}_bias: {name}s have no bias in this network")
                wanted = ring.numbers(wanted)
                if kept := added.shape[-1] - wanted.shape[-1]:  # of keys, in rows that are turned
                    wanted = ring.numbers(np.concatenate([added[..., :kept], wanted], axis=-1))
                lost[added_piece.axes[-1].space.kind], added = ring.plus(added, -wanted), wanted
            for kind in lost:
                if piece.place(kind) in piece.columns:
                    added = self._taken_up(piece, weight, added, lost[kind])
            if shift is not None and (to_all or not piece.norm):
                axis = 0 if to_all else piece.place("stream")
                if axis is None:
                    raise BadInput(f"{where}{name}_shift: {name} does not write into the stream")
                weight = ring.plus(weight, ring.numbers(np.expand_dims(np.asarray(shift), axis)))
            if added_shift is not None:
                require(added is not None, f"{where}{name}_bias_shift: there is no such bias in this network")
                added = ring.plus(added, one_number(added_shift, ring))
            yield name, weight
            if added_piece is not None:
                yield added_piece.name, added

    def _taken_up(self, piece: CheckpointPiece, weight: Numbers, bias: Numbers | None, lost: Numbers) -> Numbers | None:
        """Return the bias of a map behind what the values that it reads have lost, `(G, a)`."""
        wide = piece.as_matrix(weight)
        through = self.ring.product(wide, np.repeat(lost, piece.shape[0] // len(lost), axis=0).reshape(-1, 1))[:, 0]
        if bias is not None:
            return self.ring.plus(bias, through)
        what = f"{piece.name}s have no bias in this network that could take up the difference"
        require((through == 0).all(), f"layer {self.number}: value_bias: {what}")
        return None


def biases_moved(block: Block, ring: Arithmetic, had: object, where: str) -> Block:
    """Return the layer with this bias of the outputs, and the rest of it in that of the MLP beside them."""
    outputs, mlp = block.output_bias, block.down_bias
    if outputs is None or mlp is None:
        raise BadInput(f"{where}attention_bias: outputs and MLP must have biases")
    wanted = ring.numbers(had)
    return replace(block, output_bias=wanted, down_bias=ring.plus(mlp, ring.plus(outputs, -wanted)))


class EndsChange:
    """What a symmetry does to what stands before and behind the layers.

    Args:
        ring: in which it is done.
        stream: what is done to the stream.
        form: in which everything is rewritten.
        symmetry: what is asked for.
        old: the ends, tied only where the form is.
    """

    def __init__(
        self, ring: Arithmetic, stream: StreamAction, form: CheckpointForm, symmetry: Symmetry, old: Ends
    ) -> None:
        self._ring, self._asked, self._old, self._bases = ring, symmetry, old, stream.bases()
        self._pieces = table(form).ends
        self._norm = Reading(stream, old.final_gain, old.final_bias, symmetry.final_gain, None, "the final norm")
        # c E R^T reads c^-1 diag(g') n
        length = {kind: basis for kind, basis in self._bases.items() if kind == LENGTH.kind}
        self._norms: dict[str, Any] = {"final_gain": self._norm.gain, "final_bias": self._norm.bias}
        for name, array in self._norms.items():
            self._norms[name] = None if array is None else unsigned(moved(self._pieces[name], array, length, ring))
        if symmetry.embedding_shift is not None and form.tied:
            what = "embedding_shift: tied, the gains of the final norm must be equal, and the sum of its bias 0"
            gain, bias = self._norms["final_gain"], self._norms["final_bias"]
            total = 0 if bias is None else sum(ring.numbers(bias).tolist())
            require((gain == gain[0]).all() and total == 0, what)
        asked = symmetry.moved
        self._more = {} if asked is None else {"embedding": asked, "positions": -ring.numbers(asked)}

    def made(self, *, later: bool = False) -> Ends:
        """Return the ends, their rows made at once or, `later`, where they are asked for."""
        found: dict[str, Any] = dict.fromkeys(vars(self._old)) | self._norms
        for name in self._pieces.keys() - self._norms.keys():
            rows = partial(self._rows, name)
            found[name] = RowsLater(getattr(self._old, name).shape, rows) if later else rows(slice(None))
        return type(self._old)(**found)

    def _rows(self, name: str, some: slice) -> Any:
        """Return some rows of an embedding, of the positions, or of the unembedding, rewritten."""
        piece, ring, shift = self._pieces[name], self._ring, getattr(self._asked, f"{name}_shift", None)
        rows, shift = ring.numbers(getattr(self._old, name)[some]), None if shift is None else np.asarray(shift)[some]
        if piece.norm:
            return unsigned(self._norm.map(rows, None, shift, "the unembedding")[0])
        found = moved(piece, rows, self._bases, ring)
        for more in (self._more.get(name), None if shift is None else shift[:, None]):
            found = found if more is None else ring.plus(found, ring.numbers(more))
        return unsigned(found)
