"""Symmetries applied: the same function with other weights. Propositions 1 to 12 of docs/checkpoints.md prove them.

A checkpoint is rewritten when it is asked for: some heads or neurons of a layer, or some rows of an embedding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from numbers import Rational
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.changes import EndsChange, LayerChange, biases_moved, unsigned
from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.configurations import (
    Configurations,
    has_equal_experts,
    kept_neurons,
    require_neurons,
    with_idle,
)
from lightning_sym.checkpoints.edited import View
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Rounded
from lightning_sym.checkpoints.layer_parts import Cut, cuts_of, orders_of
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, require_checkpoint
from lightning_sym.checkpoints.stream import StreamAction
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require, require_symmetry
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form

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
            forms, old = self.configurations, ends_of(self.original, Walker.REWRITING, coded=True)
            change = EndsChange(self.ring, self.stream, forms.between, self.symmetry, forms.untied(old))
            return forms.retied(change.made(later=True), exact=isinstance(self.ring, Exact))
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
            change = LayerChange(self.ring, self.stream, layer, form, inner, places if idle else ...)
            found = change.made(found)
            if cut.first and cut.groups is not None and (had := symmetry.attention_bias) is not None:
                found = biases_moved(found, self.ring, had, where)
            merged = forms.merged(found, exact=isinstance(self.ring, Exact), where=where)
            made = with_idle(symmetry, merged, places, where)
            yield cut, replace(made, **{name: unsigned(array) for name, array in made.present()})


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
    require_symmetry(symmetry, forms.between)
    ring: Arithmetic = Exact() if exact else Rounded()
    return Rewritten(checkpoint, forms.new, symmetry, ring, StreamAction(symmetry, forms.between, ring), forms)
