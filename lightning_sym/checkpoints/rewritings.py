"""Symmetries applied: the same function with other weights. Propositions 1 to 12 of docs/checkpoints.md prove them.

A checkpoint is rewritten when it is asked for: some heads or neurons of a layer, or some rows of an embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from numbers import Rational
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
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
from lightning_sym.checkpoints.coded import RowsLater, slices
from lightning_sym.checkpoints.configurations import (
    Configurations,
    has_equal_experts,
    kept_neurons,
    require_neurons,
    with_idle,
)
from lightning_sym.checkpoints.edited import View
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Numbers, Rounded
from lightning_sym.checkpoints.layer_parts import Cut, cuts_of, orders_of
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, require_checkpoint
from lightning_sym.checkpoints.piece_table import LATENTS, CheckpointPiece, Half
from lightning_sym.checkpoints.pieces import LENGTH, table
from lightning_sym.checkpoints.stream import Reading, StreamAction, require
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require_numbers, require_sizes
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.errors import BadInput

LATENT_PARTS = {space: part for space, part, kind in GAUGES if kind is StreamMap}
"""By the space of latents, the part of a symmetry that turns them."""
WIDER = {"F16": "F32", "BF16": "F32"}
"""Of the types that are no longer than half of another one, which that is; of the others it is `F64`."""


@dataclass(frozen=True, eq=False)
class Rewritten(View):
    """A checkpoint under a symmetry; its arrays are float64, or `Fraction` where an exact number is no float64.

    Attributes:
        form: as before, but for the epsilon, and what the symmetry says of groups, neurons and the tie.
        symmetry: what is done to it.
        ring: exact or rounded.
        stream: what is done to the stream.
        configurations: the forms before, in between and after.
        like: whose types its pieces are stored in, an unembedding that was tied in the embedding's; `None`: `F64`.
        wider: each is the next wider type, `F32` or `F64`, which holds products of two numbers.
    """

    form: CheckpointForm
    symmetry: Symmetry
    ring: Arithmetic
    stream: StreamAction
    configurations: Configurations
    like: Checkpoint | None = None
    wider: bool = False

    @property
    def name(self) -> str:
        """How answers call it."""
        return f"{self.original.name}, rewritten"

    def stored(self, piece: str) -> str:
        """Return the type of a piece: `F64`, whatever the original's, or that of another one's piece.

        Example:
            >>> from lightning_sym.testing import small_checkpoint
            >>> one = small_checkpoint("llama", layers=1, stored="BF16")
            >>> moved = apply(Symmetry((LayerSymmetry(),)), one)
            >>> moved.stored("0.query"), replace(moved, like=one).stored("0.query")
            ('F64', 'BF16')
        """
        if self.like is None:
            return "F64"
        kind = self.like.stored("embedding" if piece == "unembedding" and self.like.form.tied else piece)
        return WIDER.get(kind, "F64") if self.wider else kind

    def ends(self) -> Ends:
        """Return embedding, positions, final norm and unembedding."""
        later: Ends = self.coded(None)
        made = {name: [array[some] for some in slices(array)] for name, array in later.present()}
        return replace(
            later,
            **{
                name: self.ring.numbers(parts[0] if len(parts) == 1 else np.concatenate(parts))
                for name, parts in made.items()
            },
        )

    def coded(self, layer: int | None) -> Any:
        """Return a layer, or for `None` the ends, of which some rows are rewritten where they are asked for."""
        if layer is None:
            return _ends(self, ends_of(self.original, Walker.REWRITING, coded=True))
        form = self.configurations.between
        return next(self.parts(layer, [Cut(slice(0, form.groups), slice(0, form.inner), first=True)]))[1]

    def parts(self, layer: int, cuts: list[Cut] | None = None) -> Iterator[tuple[Cut, Block]]:
        """Yield a layer in parts, counted as in the new checkpoint, of which one is in memory at a time.

        Args:
            layer: from 0.
            cuts: the parts; `None`: small ones, or one where groups are merged or neurons that do nothing added.
        """
        forms, where, symmetry = self.configurations, f"layer {layer}: ", self.symmetry.layers[layer]
        old = forms.written_out(block_of(self.original, layer, Walker.REWRITING, coded=True))
        places, order = kept_neurons(symmetry, old, where)
        orders = orders_of(symmetry, forms.between) | ({} if symmetry.neurons is None else {"neurons": order})
        experts = orders.get("experts", np.arange(0))
        kept = (experts == np.arange(len(experts))).all() or not has_equal_experts(old, forms.between)
        require(kept, f"{where}neurons must keep experts in their order where two have equal rows of the router")
        idle = symmetry.neurons is not None and len(order) < forms.new.inner
        alone = idle or forms.between.groups != forms.new.groups
        for cut in cuts or cuts_of(old, forms.between, alone=alone):
            found, form = cut.of(old, forms.between, orders), cut.form(forms.between)
            inner = cut.inner(symmetry, forms.between)
            change = LayerChange(self, layer, form, inner, places if idle else slice(None))
            inside = change.bases()
            for half in table(form).halves.values():
                found = replace(found, **dict(change.half(found, half, inside)))
            if cut.first and cut.groups is not None and (had := symmetry.attention_bias) is not None:
                found = _biases_moved(found, self.ring, had, where)
            merged = forms.merged(found, exact=isinstance(self.ring, Exact), where=where)
            made = with_idle(symmetry, merged, places, where)
            yield cut, replace(made, **{name: _unsigned(array) for name, array in made.present()})


def layer_under(prepared: Rewritten, layer: int, symmetry: LayerSymmetry) -> Rewritten:
    """Return a checkpoint of which one layer is looked at, under another symmetry of it; nothing of the others."""
    layers = (symmetry,) * prepared.form.layers
    return replace(prepared, symmetry=replace(prepared.symmetry, layers=layers))


def apply(symmetry: Symmetry, checkpoint: Checkpoint, *, exact: bool = True) -> Rewritten:
    """Return the checkpoint that a symmetry makes of another one: other weights, the same logits.

    Args:
        symmetry: what to do.
        checkpoint: what to do it to.
        exact: over the rationals; else in float64, where the result is a rounding and no rotation is asked whether it
            is orthogonal.

    Raises:
        BadInput: it is no symmetry of this network; the message says which part, and what must be true. What depends
            on a layer, a piece in it that a rewriting does not know too, is said when that layer is asked for.
        TooLarge: exact numbers that are no floats of 64 bits, and too many of them.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("gpt2")
        >>> two = apply(Symmetry((LayerSymmetry(heads=np.array([1, 0, 2, 3])), LayerSymmetry())), one)
        >>> bool((two.block(0).query[0] == one.block(0).query[1]).all())
        True
    """
    require_arguments(apply, locals())
    require_checkpoint(checkpoint)
    require_form(checkpoint.form, Walker.REWRITING)
    count = len(symmetry.layers)
    layers = checkpoint.form.layers
    require(count == layers, f"a symmetry must have as many layers as the network, {layers}, got {count}")
    scale: Any = symmetry.scale
    real = issubclass(type(scale), (Rational, float))
    require(real and 0 < scale < inf, f"scale must be positive, got {shown(scale)}")
    for number, layer in enumerate(symmetry.layers):
        require_neurons(layer, checkpoint.form.inner, f"layer {number}: ")
    forms = Configurations.of(symmetry, checkpoint.form)
    for part in symmetry.parts():
        _require_allowed(part, forms.between)
    require_sizes(symmetry, forms.between)
    for number, layer in enumerate(symmetry.layers):
        require_numbers(layer, forms.between, f"layer {number}: ")
    ring: Arithmetic = Exact() if exact else Rounded()
    return Rewritten(checkpoint, forms.new, symmetry, ring, StreamAction(symmetry, forms.between, ring), forms)


def _require_allowed(part: str, form: CheckpointForm) -> None:
    """Refuse by name what is no symmetry of this kind of network."""
    layer, _, name = part.rpartition(".")
    form = form.at(int(layer)) if layer else form
    for need in () if name in ("groups", "tied") else KINDS[name].needs:
        require(need.holds(form), f"{part}: {need.otherwise}")


def _unsigned(array: Any) -> Any:
    """Return the numbers with 0 for -0, so that equal numbers are equal bytes."""
    return array + 0 if isinstance(array, np.ndarray) else array


def _shifted(ring: Arithmetic, array: Numbers, shift: object | None) -> Numbers:
    """Return the array plus a shift that broadcasts, if there is one."""
    return array if shift is None else ring.plus(array, ring.numbers(shift))


@dataclass(frozen=True, eq=False)
class LayerChange:
    """What a symmetry does to a part of a layer of a checkpoint, behind all orders.

    Attributes:
        new: the checkpoint.
        number: of the layer.
        form: of the part.
        symmetry: what is done to it.
        places: of the new neurons that are old ones.
    """

    new: Rewritten
    number: int
    form: CheckpointForm
    symmetry: LayerSymmetry
    places: Places | slice

    def part(self, name: str) -> Any:
        """Return a part of the symmetry, of neurons only those that are old ones; `None` where there is none."""
        found = getattr(self.symmetry, name, None)
        return np.asarray(found)[self.places] if found is not None and KINDS[name].shape[:1] == ("m",) else found

    def bases(self) -> dict[str, Basis]:
        """Return what is done to the spaces inside of the layer."""
        ring, form = self.new.ring, self.form
        gauges = {name: kind.of(part, ring) for _, name, kind in GAUGES if (part := self.part(name)) is not None}
        found: dict[str, Basis] = {space: gauges[name] for space, name, _ in GAUGES if name in gauges}
        if {"turns", "queries"} & gauges.keys() and 0 < (turned := form.at(self.number).turned) < form.head_width:
            found["query-key"] = TurnedAndNot(turned, gauges.get("turns"), gauges.get("queries"))
        if form.head_norms is not None and "turns" in gauges:
            factors = gauges.get("gain_factors", gauges.get("row_factors"))
            found["query-key"] = SignsBesideGains(gauges["turns"], factors)
        return found

    def half(self, block: Block, half: Half, inside: Bases) -> Iterator[tuple[str, Any]]:
        """Yield the norm of one half of the layer, and its maps with their biases; `inside` as of `bases`."""
        ring, stream, where, number = self.new.ring, self.new.stream, f"layer {self.number}: ", half.number
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
        for piece, added_piece in half.affine():
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
        ring = self.new.ring
        wide = piece.as_matrix(weight)
        through = ring.product(wide, np.repeat(lost, piece.shape[0] // len(lost), axis=0).reshape(-1, 1))[:, 0]
        if bias is not None:
            return ring.plus(bias, through)
        what = f"{piece.name}s have no bias in this network that could take up the difference"
        require((through == 0).all(), f"layer {self.number}: value_bias: {what}")
        return None


def _biases_moved(block: Block, ring: Arithmetic, had: object, where: str) -> Block:
    """Return the layer with this bias of the outputs, and the rest of it in that of the MLP beside them."""
    outputs, mlp = block.output_bias, block.down_bias
    if outputs is None or mlp is None:
        raise BadInput(f"{where}attention_bias: outputs and MLP must have biases")
    wanted = ring.numbers(had)
    return replace(block, output_bias=wanted, down_bias=ring.plus(mlp, ring.plus(outputs, -wanted)))


def _ends(new: Rewritten, original: Ends) -> Ends:
    """Return what stands before and behind the layers; rows of embeddings are rewritten where they are asked for."""
    ring, asked, forms, bases = new.ring, new.symmetry, new.configurations, new.stream.bases()
    form, old, pieces = forms.between, forms.untied(original), table(forms.between).ends
    norm = Reading(new.stream, old.final_gain, old.final_bias, asked.final_gain, None, "the final norm")
    length = {kind: basis for kind, basis in bases.items() if kind == LENGTH.kind}  # c E R^T reads c^-1 diag(g') n
    found: dict[str, Any] = dict.fromkeys(vars(old))
    for name, array in (("final_gain", norm.gain), ("final_bias", norm.bias)):
        found[name] = None if array is None else _unsigned(moved(pieces[name], array, length, ring))
    if asked.embedding_shift is not None and form.tied:
        what = "embedding_shift: tied, the gains of the final norm must be equal, and the sum of its bias 0"
        gain, bias = found["final_gain"], found["final_bias"]
        total = 0 if bias is None else sum(ring.numbers(bias).tolist())
        require((gain == gain[0]).all() and total == 0, what)
    more = {} if asked.moved is None else {"embedding": asked.moved, "positions": -ring.numbers(asked.moved)}

    def change(piece: CheckpointPiece, rows: Numbers, shift: Numbers | None) -> Any:
        if piece.norm:
            return _unsigned(norm.map(rows, None, shift, "the unembedding")[0])
        array = _shifted(ring, moved(piece, rows, bases, ring), more.get(piece.name))
        return _unsigned(_shifted(ring, array, None if shift is None else shift[:, None]))

    def rows_of(piece: CheckpointPiece) -> Callable[[slice], Any]:
        rows, shift = getattr(old, piece.name), getattr(asked, f"{piece.name}_shift", None)
        return lambda some: change(piece, ring.numbers(rows[some]), None if shift is None else np.asarray(shift)[some])

    for name, piece in pieces.items():
        if found[name] is None:
            found[name] = RowsLater(getattr(old, name).shape, rows_of(piece))
    return forms.retied(type(old)(**found), exact=isinstance(ring, Exact))
