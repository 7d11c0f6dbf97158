"""What a search finds of two checkpoints: what was done to the stream, then layer by layer, and what is left over."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.atlas.workers import Spread
from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.comparison import FoundSymmetry
from lightning_sym.checkpoints.ends_accounts import EndsFound, compare_ends
from lightning_sym.checkpoints.found_symmetry import UNREAD, stream_words
from lightning_sym.checkpoints.identity import Identity, beyond, residuals_of, stored_types
from lightning_sym.checkpoints.layer_looked import LayerLooked, LayerWork
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.stream import Stream
from lightning_sym.checkpoints.stream_fit import stream_of, streams
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry, symmetry_memory
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.checkpoints.units import NUMBERS, Residual, form_residual, number_type, off
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_memory, unheard


class Searched:
    """What the search finds, gathered as it goes."""

    def __init__(self, first: Checkpoint, second: Checkpoint, units: float, tell: Progress) -> None:
        self.first, self.second, self.units, self.tell = first, second, units, tell
        self.spread: Spread = map
        self.unlike: list[str] = []
        self.residuals: list[Residual] = []
        self.words: list[tuple[str, ...]] = []
        self.tried: list[str] = []
        self.exact, self.equal, self.fitted = True, True, False
        self.stream: Stream | None = None
        self.parts: dict[str, Any] = {}
        self.layers: list[LayerSymmetry] = []
        self.why_not, self._bytes = "", 0
        self.searched: tuple[Stream, EndsFound] | None = None

    def compare(self) -> None:
        """Search the stream, then compare everything."""
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
        """Return what was done to the stream: it explains both ends, or else most of them and of the first layer."""
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
        """Return what stands before and behind the layers, compared."""
        self.tell("embedding and unembedding", 1, self.second.form.layers + 2)
        pair = ends_of(self.first, Walker.COMPARISON, coded=True), ends_of(self.second, Walker.COMPARISON, coded=True)
        stored = stored_types(self.first, self.second, None)
        return compare_ends(*pair, (self.first.form, self.second.form), stream, stored, self.units)

    def under(self, stream: Stream, ends: EndsFound, *, exactly: bool = False, layers: int | None = None) -> None:
        """Compare the ends, then layer by layer, even where an end is off, with what was done to the stream.

        Args:
            stream: that.
            ends: as they were compared.
            exactly: nothing more is compared once something is not equal.
            layers: so many of them, if not all.
        """
        form = self.second.form
        self._begin(stream)
        self._numbers(stream.map)
        self.fitted |= not stream.map.exact
        self.exact &= ends.exact
        self.equal &= ends.equal
        self.residuals += residuals_of(self.first, self.second, None, ends.tensors, exact=ends.exact)
        self.parts |= ends.parts
        self.why_not = self.why_not or (ends.unread and f"{ends.unread} {UNREAD}") or ends.why_not
        if exactly and not (self.exact and self.equal):
            return
        work = LayerWork(self.first, self.second, stream, self.units)
        for looked in self.spread(work, range(form.layers if layers is None else layers)):
            self._take_layer(looked)
            self.tell(f"layer {looked.layer}", looked.layer + 3, form.layers + 2)
            if exactly and not (self.exact and self.equal):
                return

    def residuals_in_order(self) -> tuple[Residual, ...]:
        """Return the residuals, what is off most first."""
        return tuple(sorted(self.residuals, key=lambda each: -each.units))

    def description(self) -> FoundSymmetry | None:
        """Return what was done, in words; `None` where nothing was compared."""
        if self.stream is None:
            return None
        return FoundSymmetry(not self.fitted, stream_words(self.stream.map, self.second.form), tuple(self.words))

    def take(self, nothing: Identity) -> None:
        """Take it that nothing was done to the first checkpoint but to round it, if that."""
        form = self.second.form
        self._begin(stream_as_it_is(self.first, self.second))
        self.words, self.residuals = [()] * form.layers, list(nothing.residuals)
        self.equal, self.fitted = nothing.same, False
        self.layers = [LayerSymmetry()] * form.layers

    def _begin(self, stream: Stream) -> None:
        """Take it that this was done to the stream, and nothing else yet."""
        old, new = self.first.form, self.second.form
        self.stream, self.layers, self.why_not, self._bytes = stream, [], "", 0
        self.parts = {
            name: getattr(new, name) for name in ("groups", "tied") if getattr(old, name) != getattr(new, name)
        }
        self._count(symmetry_memory(new))

    def _count(self, size: int) -> None:
        """Count bytes of the symmetry's numbers; too many are not written down."""
        self._bytes += size
        try:
            require_memory(self._bytes, DEFAULT_MEMORY, "all of it")
        except TooLarge as error:
            self.why_not = self.why_not or str(error)

    def _numbers(self, stream: StreamMap) -> None:
        """Note numbers that are off: the epsilon of the norms has to follow the scale of the stream, others stay."""
        old, form, stored = self.first.form, self.second.form, number_type(self.first, self.second)
        expected = replace(old, epsilon=old.epsilon * stream.scale**2)
        for name in NUMBERS:
            if getattr(expected, name) != getattr(form, name):
                residual = form_residual(name, expected, form, stored)
                self.residuals += [residual] if residual is not None and residual.units else []

    def numbers(self, *, exact: bool) -> Symmetry | None:
        """Return what was found as numbers; exactly, only if it was applied to the first and gave the second.

        `None` where it cannot be written down: `why_not` says why.
        """
        if self.stream is None:
            raise TypeError("nothing is asked as numbers that was not compared")
        self.tell("the symmetry as numbers", len(self.layers), len(self.layers) + 1)
        try:
            symmetry = replace(self.stream.symmetry, layers=tuple(self.layers), **self.parts)
            form = apply(symmetry, self.first, exact=exact).form
        except (BadInput, TooLarge) as error:
            self.why_not = self.why_not or str(error)
            return None
        wanted = self.second.form  # whether its frequencies are the same is told by a residual
        if exact and replace(form, context=wanted.context, family=wanted.family, scaling=wanted.scaling) != wanted:
            self.why_not = self.why_not or "it makes another form of network"
        return None if self.why_not else symmetry

    def _take_layer(self, looked: LayerLooked) -> None:
        """Keep what was found in a layer of both."""
        counts, layer = looked.counts, looked.layer
        if counts[0] != counts[1]:
            self.tried.append(f"layer {layer}: {counts[0]} and {counts[1]} neurons of the MLP do something")
        self.words.append(looked.words)
        self.exact &= looked.exact
        self.equal &= looked.equal
        self.fitted |= looked.fitted
        self.residuals += looked.residuals
        self._count(looked.idle)
        self.why_not = self.why_not or looked.why_not
        self.layers.append(looked.symmetry)


def stream_as_it_is(first: Checkpoint, second: Checkpoint) -> Stream:
    """Return the stream to which nothing is done."""
    return stream_of(StreamMap(Fraction(1), order=np.arange(second.form.width), exact=True), first, second)


def rounded_at_most(found: Searched, nothing: Identity) -> Searched:
    """Return what is found where each number is the first's, or that one rounded: nothing else is searched.

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
