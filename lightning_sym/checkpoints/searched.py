"""What a search finds of two checkpoints: what was done to the stream, then layer by layer, and what is left over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.comparison import FoundSymmetry
from lightning_sym.checkpoints.ends_accounts import EndsFound, compare_ends
from lightning_sym.checkpoints.folded import alive, whole
from lightning_sym.checkpoints.found_symmetry import Gathered, stream_of
from lightning_sym.checkpoints.found_text import layer_words, stream_words
from lightning_sym.checkpoints.identity import Identity, beyond, called_by, stored_type
from lightning_sym.checkpoints.layer_accounts import LayerFound, compare_layer, off_at_best
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.stream_fit import streams
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of
from lightning_sym.checkpoints.units import NUMBERS, Residual, Worst, form_residual, number_type
from lightning_sym.checkpoints.walk import Stream, off
from lightning_sym.limits import Progress, unheard


class Searched:
    """What the search finds, gathered as it goes."""

    def __init__(self, first: Checkpoint, second: Checkpoint, units: float, tell: Progress) -> None:
        self.first, self.second, self.units, self.tell = first, second, units, tell
        self.residuals: list[Residual] = []
        self.words: list[tuple[str, ...]] = []
        self.tried: list[str] = []
        self.exact, self.equal, self.fitted = True, True, False
        self.stream: Stream | None = None
        self.gathered: Gathered | None = None
        self.searched: tuple[Stream, EndsFound] | None = None

    def compare(self) -> None:
        """The stream is searched, then everything compared."""
        form = self.second.form
        self.tell("the residual stream", 0, form.layers + 2)
        try:
            stream, filled, ends = self.best_stream()
            needed = form.width - (form.norm == "layer")
            if filled < needed:
                self.tried.append(
                    f"the embedding decides {filled:.0f} of {needed} directions of the residual stream; a turn of "
                    "the others was not searched"
                )
            self.searched = stream, ends
            self.under(stream, ends)
        except np.linalg.LinAlgError:
            self.exact = False
            self.tried.append("the weights are too large, or too far apart, for a search in floating point")

    def best_stream(self) -> tuple[Stream, float, EndsFound]:
        """What was done to the stream: it explains both ends, or else most of them and of the first layer."""
        tried: list[tuple[int, Stream, float, EndsFound]] = []
        try:
            for found, filled in streams(self.first, self.second):
                stream = stream_of(found, self.first, self.second)
                ends = self.compared_ends(stream)
                if not off(ends.tensors, self.units):
                    return stream, filled, ends
                trial = Searched(self.first, self.second, self.units, unheard)
                trial.under(stream, ends, layers=1)
                tried.append((len(beyond(trial.residuals, self.units)), stream, filled, ends))
        except np.linalg.LinAlgError:
            if not tried:
                raise
        return min(tried, key=lambda each: each[0])[1:]

    def compared_ends(self, stream: Stream) -> EndsFound:
        """What stands before and behind the layers, compared."""
        self.tell("embedding and unembedding", 1, self.second.form.layers + 2)
        pair = ends_of(self.first, Walker.COMPARISON), ends_of(self.second, Walker.COMPARISON)
        return compare_ends(*pair, (self.first.form, self.second.form), stream, self.stored, self.units)

    def under(self, stream: Stream, ends: EndsFound, exactly: bool = False, layers: int | None = None) -> None:
        """The ends, then layer by layer, even where an end is off, with what was done to the stream.

        Args:
            stream: that.
            ends: as they were compared.
            exactly: nothing more is compared once something is not equal.
            layers: so many of them, if not all.
        """
        form = self.second.form
        self.stream = stream
        self._numbers(stream.map)
        self.fitted |= not stream.exact
        self.exact &= ends.exact
        self.equal &= ends.equal
        for piece, worst in ends.tensors.items():
            self._add(piece, worst, ends.exact)
        self.gathered = Gathered(stream, self.first, self.second)
        self.gathered.add_ends(ends)
        for layer in range(form.layers if layers is None else layers):
            if exactly and not (self.exact and self.equal):
                return
            self.tell(f"layer {layer}", layer + 2, form.layers + 2)
            self._layer(layer, stream)

    def residuals_in_order(self) -> tuple[Residual, ...]:
        """What is off most comes first."""
        return tuple(sorted(self.residuals, key=lambda each: -each.units))

    def description(self) -> FoundSymmetry | None:
        """What was done, in words; `None` where nothing was compared."""
        if self.stream is None:
            return None
        return FoundSymmetry(not self.fitted, stream_words(self.stream.map, self.second.form), tuple(self.words))

    def take(self, nothing: Identity) -> None:
        """Nothing was done to the first but to round it, if that."""
        form = self.second.form
        self.stream = stream_as_it_is(self.first, self.second)
        self.words, self.residuals = [()] * form.layers, list(nothing.residuals)
        self.equal, self.fitted = nothing.same, False
        self.gathered = Gathered(self.stream, self.first, self.second, layers=[LayerSymmetry()] * form.layers)

    def _numbers(self, stream: StreamMap) -> None:
        """The epsilon of the norms has to follow the scale of the stream, other numbers stay."""
        old, form, stored = self.first.form, self.second.form, number_type(self.first, self.second)
        expected = replace(old, epsilon=old.epsilon * stream.scale**2)
        for name in NUMBERS:
            if getattr(expected, name) != getattr(form, name):
                residual = form_residual(name, expected, form, stored)
                self.residuals += [residual] if residual is not None and residual.units else []

    def numbers(self, exact: bool) -> Symmetry | None:
        """What was found as numbers; exactly, only if it was applied to the first and gave the second."""
        if self.gathered is None:
            raise TypeError("nothing is asked as numbers that was not compared")
        self.tell("the symmetry as numbers", len(self.gathered.layers), len(self.gathered.layers) + 1)
        return self.gathered.made(exact)

    @property
    def why_not(self) -> str:
        """Why the symmetry cannot be written down, in one line."""
        return "" if self.gathered is None else self.gathered.why_not

    def stored(self, piece: str) -> str:
        """The coarser of the types that a tensor is stored in."""
        return stored_type(self.first, self.second, piece)

    def _add(self, piece: str, worst: Worst, exact: bool) -> None:
        """Tell of a piece that differs."""
        if worst.units > 0 or worst.differing:
            called, stored = called_by(self.first, self.second, piece), self.stored(piece)
            self.residuals.append(worst.residual(piece, called, stored, self.second.form, exact))

    def _layer(self, layer: int, stream: Stream) -> None:
        """A layer of both, with equally many groups and neurons."""
        forms = self.first.form.at(layer), self.second.form.at(layer)
        blocks = tuple(block_of(each, layer, Walker.COMPARISON) for each in (self.first, self.second))
        found, kept, counts = layer_found(
            (blocks[0], blocks[1]), forms, stream, lambda name: self.stored(f"{layer}.{name}"), self.units
        )
        if lost := counts[0] != counts[1]:
            self.tried.append(f"layer {layer}: {counts[0]} and {counts[1]} neurons of the MLP do something")
            self.exact = False
        self.words.append(layer_words(found.symmetry, found.guess.words.values(), forms[0].groups != forms[1].groups))
        self.exact &= found.exact
        self.equal &= found.equal
        self.fitted |= bool(found.guess.fitted)
        for name, worst in found.tensors.items():
            if lost and name in ("down", "up", "gate"):
                worst.units = float("inf")
            self._add(f"{layer}.{name}", worst, found.exact)
        if self.gathered is not None:
            self.gathered.add_layer(found, blocks, kept)  # type: ignore[arg-type]


def layer_found(
    blocks: tuple[Block, Block],
    forms: tuple[CheckpointForm, CheckpointForm],
    stream: Stream,
    stored: Callable[[str], str],
    units: float,
) -> tuple[LayerFound, list[Any], list[int]]:
    """A layer of both compared, keys and values written out, neurons that do nothing left out.

    Where more neurons do something in one of them, its last ones are left out too.

    Args:
        blocks: the layer of both.
        forms: of both.
        stream: what was done to the stream.
        stored: by piece, the coarser of the types that it is stored in.
        units: up to which a difference counts as rounding.

    Returns:
        What was found, of both which neurons were compared, and how many do something.
    """
    first, second, form, kept, counts = _alike(blocks, forms)
    return compare_layer(first, second, form, stream, stored, units), kept, counts


def layer_off(
    blocks: tuple[Block, Block],
    forms: tuple[CheckpointForm, CheckpointForm],
    stream: Stream,
    stored: Callable[[str], str],
    units: float,
) -> frozenset[str]:
    """The pieces that no symmetry of `layer_found` explains, in units alone, for the many that are tried."""
    first, second, form, _, counts = _alike(blocks, forms)
    found = off_at_best(first, second, form, stream, stored, units)
    return found | ({"down"} if counts[0] != counts[1] else set())


def _alike(
    blocks: tuple[Block, Block], forms: tuple[CheckpointForm, CheckpointForm]
) -> tuple[Block, Block, CheckpointForm, list[Any], list[int]]:
    """The layer of both with equally many groups and neurons, its form, and what `layer_found` says of neurons."""
    kept = [alive(block) for block in blocks]
    counts = [int(each.sum()) for each in kept]
    for each in kept:
        each[np.flatnonzero(each)[min(counts) :]] = False
    groups = max(form.groups for form in forms)
    lacking: dict[str, Any] = {name: None for name in BIASES if all(getattr(block, name) is None for block in blocks)}
    pair = (whole(b, form, groups, k) for b, form, k in zip(blocks, forms, kept, strict=True))
    first, second = (_as_read(replace(block, **lacking), raw) for block, raw in zip(pair, blocks, strict=True))
    return first, second, replace(forms[1], inner=len(second.up), groups=groups), kept, counts


def _as_read(block: Block, raw: Block) -> Block:
    """A layer with what nobody here knows how to move as it was read."""
    return replace(block, **{name: array for name, array in raw.present() if getattr(block, name) is None})


BIASES = tuple(each.name for each in fields(Block) if each.name.endswith("_bias"))


def stream_as_it_is(first: Checkpoint, second: Checkpoint) -> Stream:
    """Nothing is done to the stream."""
    return stream_of(StreamMap(Fraction(1), order=np.arange(second.form.width), exact=True), first, second)


def rounded_at_most(found: Searched, nothing: Identity) -> Searched:
    """What is found where each number is the first's, or that one rounded: nothing else is searched.

    Where all are equal, or what differs is seen by nothing, that is said instead.
    """
    found.take(nothing)
    if nothing.same:
        return found
    exact = Searched(found.first, found.second, found.units, found.tell)
    stream = stream_as_it_is(found.first, found.second)
    exact.under(stream, exact.compared_ends(stream), exactly=True)
    equal = exact.exact and exact.equal and not exact.residuals
    return exact if equal and exact.numbers(exact=True) is not None else found
