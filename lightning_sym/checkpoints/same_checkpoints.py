"""Is one checkpoint a rewriting of another one? A symmetry is guessed in floats, and then put into the equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison, FoundSymmetry
from lightning_sym.checkpoints.ends_accounts import EndsFound, compare_ends
from lightning_sym.checkpoints.folded import alive, whole
from lightning_sym.checkpoints.found_symmetry import Gathered, stream_of
from lightning_sym.checkpoints.found_text import layer_words, stream_words
from lightning_sym.checkpoints.identity import (
    Identity,
    beyond,
    called_by,
    is_account,
    one_form,
    only_changed,
    stored_type,
    under_identity,
    unlike,
)
from lightning_sym.checkpoints.layer_accounts import compare_layer
from lightning_sym.checkpoints.logits import LogitComparison, compare_logits
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.prompts import prompt_of, prompts_for
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.stream_fit import streams
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.checkpoints.units import DEFAULT_UNITS, NUMBERS, Residual, Worst, form_residual, number_type
from lightning_sym.checkpoints.walk import Stream, off
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import Progress, unheard


def same_checkpoints(
    first: Checkpoint,
    second: Checkpoint,
    *,
    ids: Sequence[int] = (),
    units: float = DEFAULT_UNITS,
    progress: Progress | None = None,
) -> CheckpointComparison:
    """Compare two checkpoints: is the second what a symmetry makes of the first, exactly, or up to rounding?

    A symmetry is searched in floating point; what is said of it was computed afterwards: over the rationals where all
    its numbers are exact, else as a residual of every tensor in units in the last place. Differences of logits are
    proved with balls. It never says `SAME` of two that are not.

    Args:
        first, second: from `open_checkpoint`, or made; of one vocabulary.
        ids: token ids of the prompt for which logits are compared; without them, a few of the vocabulary.
        units: how far a tensor may be off, in units in the last place of the type it is stored in, to count as rounded.
        progress: is told of what is done.

    Raises:
        BadInput: their vocabularies differ, or an id is not in it.

    Example:
        >>> import numpy as np
        >>> from lightning_sym.testing import small_checkpoint
        >>> from lightning_sym.checkpoints.rewritings import apply
        >>> from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
        >>> one = small_checkpoint("llama")
        >>> two = apply(Symmetry((LayerSymmetry(heads=np.array([1, 0, 2, 3])), LayerSymmetry())), one)
        >>> same_checkpoints(one, two).answer
        <CheckpointAnswer.SAME: 'same'>
    """
    require_arguments(same_checkpoints, locals())
    for name, given in (("first", first), ("second", second)):
        if not isinstance(getattr(given, "form", None), CheckpointForm):
            raise BadInput(f"{name} must be a checkpoint (open_checkpoint reads one), got {shown(given)}")
    forms = first.form, second.form
    if forms[0].vocabulary != forms[1].vocabulary:
        counts = " and ".join(f"{form.vocabulary:,}" for form in forms)
        raise BadInput(f"checkpoints that are compared must have one vocabulary, got {counts} token ids")
    for one, other in ((first, second), (second, first)):
        if isinstance(one, StoredCheckpoint):
            one.require_comparable(other)
    if not 0 <= units < float("inf"):
        raise BadInput(f"units must be a finite number of at least 0, got {shown(units)}")
    prompt = prompt_of(ids, forms)
    for form in forms:
        require_form(form, Walker.COMPARISON)
    tell: Progress = progress or unheard
    numbers = number_type(first, second)
    reasons = unlike(*forms, units, numbers)
    found = _Found(first, second, units, tell)
    if not reasons:
        tell("the identity", 0, 1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # then nothing fits
            nothing = under_identity(first, second, units)
            if nothing.within(units):
                found = _rounded_at_most(found, nothing)
            else:
                found.compare()
    return _answered(found, prompt, tuple(reasons))


class _Found:
    """What the search finds, gathered as it goes."""

    def __init__(self, first: Checkpoint, second: Checkpoint, units: float, tell: Progress) -> None:
        self.first, self.second, self.units, self.tell = first, second, units, tell
        self.residuals: list[Residual] = []
        self.words: list[tuple[str, ...]] = []
        self.tried: list[str] = []
        self.exact, self.equal, self.fitted = True, True, False
        self.stream: Stream | None = None
        self.gathered: Gathered | None = None

    def compare(self) -> None:
        """The stream is searched, then everything compared."""
        form = self.second.form
        self.tell("the residual stream", 0, form.layers + 2)
        try:
            stream, filled, ends = self._best_stream()
            needed = form.width - (form.norm == "layer")
            if filled < needed:
                self.tried.append(
                    f"the embedding decides {filled:.0f} of {needed} directions of the residual stream; a turn of "
                    "the others was not searched"
                )
            self.under(stream, ends)
        except np.linalg.LinAlgError:
            self.exact = False
            self.tried.append("the weights are too large, or too far apart, for a search in floating point")

    def _best_stream(self) -> tuple[Stream, float, EndsFound]:
        """What was done to the stream: it explains both ends, or else most of them and of the first layer."""
        tried: list[tuple[int, Stream, float, EndsFound]] = []
        try:
            for found, filled in streams(self.first, self.second):
                stream = stream_of(found, self.first, self.second)
                ends = self._ends(stream)
                if not off(ends.tensors, self.units):
                    return stream, filled, ends
                trial = _Found(self.first, self.second, self.units, unheard)
                trial.under(stream, ends, layers=1)
                tried.append((len(beyond(trial.residuals, self.units)), stream, filled, ends))
        except np.linalg.LinAlgError:
            if not tried:
                raise
        return min(tried, key=lambda each: each[0])[1:]

    def _ends(self, stream: Stream) -> EndsFound:
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
        self.stream = _as_it_is(self.first, self.second)
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
        forms = self.first.form, self.second.form
        blocks = tuple(block_of(each, layer, Walker.COMPARISON) for each in (self.first, self.second))
        kept = [alive(block) for block in blocks]
        counts = [int(each.sum()) for each in kept]
        if lost := counts[0] != counts[1]:
            self.tried.append(f"layer {layer}: {counts[0]} and {counts[1]} neurons of the MLP do something")
            for each in kept:
                each[np.flatnonzero(each)[min(counts) :]] = False
            self.exact = False
        groups = max(form.groups for form in forms)
        lacking: dict[str, Any] = {
            name: None for name in BIASES if all(getattr(block, name) is None for block in blocks)
        }
        pair = (whole(b, form, groups, k) for b, form, k in zip(blocks, forms, kept, strict=True))
        first, second = (_as_read(replace(block, **lacking), raw) for block, raw in zip(pair, blocks, strict=True))
        inner = replace(forms[1], inner=len(second.up), groups=groups)
        found = compare_layer(first, second, inner, stream, lambda name: self.stored(f"{layer}.{name}"), self.units)
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


def _as_read(block: Block, raw: Block) -> Block:
    """A layer with what nobody here knows how to move as it was read."""
    return replace(block, **{name: array for name, array in raw.present() if getattr(block, name) is None})


BIASES = tuple(each.name for each in fields(Block) if each.name.endswith("_bias"))


def _as_it_is(first: Checkpoint, second: Checkpoint) -> Stream:
    """Nothing is done to the stream."""
    return stream_of(StreamMap(Fraction(1), order=np.arange(second.form.width), exact=True), first, second)


def _rounded_at_most(found: _Found, nothing: Identity) -> _Found:
    """What is found where each number is the first's, or that one rounded: nothing else is searched.

    Where all are equal, or what differs is seen by nothing, that is said instead.
    """
    found.take(nothing)
    if nothing.same:
        return found
    exact = _Found(found.first, found.second, found.units, found.tell)
    stream = _as_it_is(found.first, found.second)
    exact.under(stream, exact._ends(stream), exactly=True)
    equal = exact.exact and exact.equal and not exact.residuals
    return exact if equal and exact.numbers(exact=True) is not None else found


def _answered(found: _Found, prompt: tuple[int, ...], reasons: tuple[str, ...]) -> CheckpointComparison:
    residuals, description = found.residuals_in_order(), found.description()
    complete = description is not None and len(description.layers) == found.second.form.layers
    largest = max((each.units for each in residuals), default=0.0)
    tried: tuple[str, ...] = (*reasons, *found.tried)
    logits: LogitComparison | None = None
    symmetry = None
    if complete and found.exact and found.equal and not residuals:
        symmetry = found.numbers(exact=True)  # which is what shows it
        answer = CheckpointAnswer.UNDECIDED if symmetry is None else CheckpointAnswer.SAME
    elif complete and largest <= found.units and (residuals or not found.exact):
        answer = CheckpointAnswer.ROUNDING
    else:
        answer = CheckpointAnswer.UNDECIDED
    other, why_not = beyond(residuals, found.units), found.why_not
    if answer is CheckpointAnswer.UNDECIDED and (residuals or (not complete and one_form(found.first, found.second))):
        with np.errstate(over="ignore", invalid="ignore"):
            nothing = under_identity(found.first, found.second)
        if is_account(nothing, other, found.units):
            found.take(nothing)
            residuals, description = found.residuals_in_order(), found.description()
        else:
            residuals = only_changed(residuals, nothing, found.units)
    if answer is not CheckpointAnswer.SAME:
        context = min(found.first.form.context, found.second.form.context)
        for ids in prompts_for(prompt, (other, beyond(residuals, found.units)), context):
            logits, failed = _logits(found, ids)
            tried = (*tried, *failed)
            if logits is None or logits.apart is not None:
                break
        if answer is CheckpointAnswer.UNDECIDED and logits is not None and logits.apart is not None:
            answer = CheckpointAnswer.DIFFERENT
    made: dict[str, Any] = {"first": found.first.name, "second": found.second.name, "answer": answer}
    if answer is CheckpointAnswer.ROUNDING:
        symmetry, why_not = found.numbers(exact=False), found.why_not
    if why_not and answer in (CheckpointAnswer.ROUNDING, CheckpointAnswer.UNDECIDED):
        tried = (*tried, f"the symmetry as numbers: {why_not}")
    made |= {"symmetry": symmetry, "description": description, "residuals": residuals, "limit": found.units}
    made |= {"logits": logits, "tried": tried}
    return CheckpointComparison(**made)


def _logits(found: _Found, prompt: tuple[int, ...]) -> tuple[LogitComparison | None, tuple[str, ...]]:
    """Logits of both for a prompt, in balls; or why there are none."""
    try:
        compared = compare_logits(found.first, found.second, list(prompt), progress=found.tell)
    except TooLarge as error:
        return None, (f"logits: {error}",)
    said = f"logits of the token ids {' '.join(map(str, prompt))} are not proved apart"
    return compared, () if compared.apart is not None else (said,)
