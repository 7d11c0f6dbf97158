"""Is one checkpoint a rewriting of another one? A symmetry is guessed in floats, and then put into the equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.blame import beyond, called_by, is_account, only_changed, stored_type
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison, FoundSymmetry
from lightning_sym.checkpoints.ends_compare import EndsFound, compare_ends
from lightning_sym.checkpoints.folded import alive, whole
from lightning_sym.checkpoints.found_symmetry import Gathered, add_ends, add_layer
from lightning_sym.checkpoints.found_text import layer_words, stream_words
from lightning_sym.checkpoints.identity import Identity, one_form, under_identity, unlike
from lightning_sym.checkpoints.layer_compare import LayerFound
from lightning_sym.checkpoints.logits import LogitComparison, compare_logits
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.prompts import prompt_of, prompts_for
from lightning_sym.checkpoints.stream_fit import streams
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_files import symmetry_memory
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.checkpoints.unfolded import told_ends, told_layer
from lightning_sym.checkpoints.units import DEFAULT_UNITS, Residual, entry_of, number_residual, number_type, unit_at
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
        self.stream: StreamMap | None = None
        self.gathered: Gathered | None = None
        self.unwritten = ""

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

    def _best_stream(self) -> tuple[StreamMap, float, EndsFound]:
        """What was done to the stream: it explains both ends, or else most of them and of the first layer."""
        tried: list[tuple[int, StreamMap, float, EndsFound]] = []
        try:
            for stream, filled in streams(self.first, self.second):
                ends = self._ends(stream)
                if all(worst.units <= self.units for worst in ends.tensors.values()):
                    return stream, filled, ends
                trial = _Found(self.first, self.second, self.units, unheard)
                trial.under(stream, ends, layers=1)
                tried.append((len(beyond(trial.residuals, self.units)), stream, filled, ends))
        except np.linalg.LinAlgError:
            if not tried:
                raise
        return min(tried, key=lambda each: each[0])[1:]

    def _ends(self, stream: StreamMap) -> EndsFound:
        """What stands before and behind the layers, compared."""
        self.tell("embedding and unembedding", 1, self.second.form.layers + 2)
        pair = ends_of(self.first, Walker.COMPARISON), ends_of(self.second, Walker.COMPARISON)
        found = compare_ends(*pair, self.second.form, stream, self.stored, lambda done, total: None)
        return told_ends(found, *pair, self.second.form, stream, self.stored, self.units)

    def under(self, stream: StreamMap, ends: EndsFound, exactly: bool = False, layers: int | None = None) -> None:
        """The ends, then layer by layer, even where an end is off, with what was done to the stream.

        Args:
            stream: that.
            ends: as they were compared.
            exactly: nothing more is compared once something is not equal.
            layers: so many of them, if not all.
        """
        form = self.second.form
        steps = form.layers + 2
        self.stream = stream
        self._numbers(stream)
        self.fitted |= not stream.exact
        self._add_ends(ends)
        self.gathered = Gathered(self.stream, self.first.form, form)
        self.gathered.add(Gathered.take, symmetry_memory(form))
        pair = ends_of(self.first, Walker.COMPARISON), ends_of(self.second, Walker.COMPARISON)
        self.gathered.add(add_ends, ends, *pair)
        for layer in range(form.layers if layers is None else layers):
            if exactly and not (self.exact and self.equal):
                return
            self.tell(f"layer {layer}", layer + 2, steps)
            self._layer(layer)

    def residuals_in_order(self) -> tuple[Residual, ...]:
        """What is off most comes first."""
        return tuple(sorted(self.residuals, key=lambda each: -each.units))

    def description(self) -> FoundSymmetry | None:
        """What was done, in words; `None` where nothing was compared."""
        if self.stream is None:
            return None
        return FoundSymmetry(not self.fitted, stream_words(self.stream, self.second.form), tuple(self.words))

    def take(self, nothing: Identity) -> None:
        """Nothing was done to the first but to round it, if that."""
        form = self.second.form
        self.stream = StreamMap(Fraction(1), order=np.arange(form.width), exact=True)
        self.words, self.residuals = [()] * form.layers, list(nothing.residuals)
        self.equal, self.fitted = nothing.same, False
        self.gathered = Gathered(self.stream, self.first.form, form, layers=[LayerSymmetry()] * form.layers)

    def _numbers(self, stream: StreamMap) -> None:
        """The epsilon of the norms has to follow the scale of the stream, other numbers stay."""
        old, form, stored = self.first.form, self.second.form, number_type(self.first, self.second)
        expected = {"epsilon": (old.epsilon * stream.scale**2, form.epsilon), "theta": (old.theta, form.theta)}
        for name, (before, after) in expected.items():
            if before is not None and after is not None and before != after:
                self.residuals.append(number_residual(name, before, after, stored))

    def numbers(self, exact: bool) -> Symmetry | None:
        """What was found as numbers; exactly, only if it was applied to the first and gave the second."""
        if self.gathered is None:
            raise TypeError("nothing is asked as numbers that was not compared")
        self.tell("the symmetry as numbers", len(self.gathered.layers), len(self.gathered.layers) + 1)
        found = self.gathered.made(self.first, self.second, exact)
        self.unwritten = self.gathered.why_not
        return found

    def stored(self, piece: str) -> str:
        """The coarser of the types that a tensor is stored in."""
        return stored_type(self.first, self.second, piece)

    def _add(
        self, piece: str, units: float, entry: Any, difference: float, count: int | None, value: float, kind: str = ""
    ) -> None:
        called, stored = called_by(self.first, self.second, piece), kind or self.stored(piece)
        self.residuals.append(Residual.of(piece, called, units, stored, entry, difference, count, value))

    def _add_ends(self, ends: EndsFound) -> None:
        self.exact &= ends.exact
        self.equal &= ends.equal
        for piece, worst in ends.tensors.items():
            if worst.units > 0 or worst.differing:
                count = worst.differing if ends.exact else None
                self._add(piece, worst.units, worst.entry, worst.difference, count, worst.value)

    def _layer(self, layer: int) -> None:
        form, old = self.second.form, self.first.form
        blocks = tuple(block_of(each, layer, Walker.COMPARISON) for each in (self.first, self.second))
        kept = [alive(block) for block in blocks]
        counts = [int(each.sum()) for each in kept]
        if counts[0] != counts[1]:
            self.tried.append(f"layer {layer}: {counts[0]} and {counts[1]} neurons of the MLP do something")
            few = min(counts)
            for each in kept:
                each[np.flatnonzero(each)[few:]] = False
            self.exact = False
        groups = max(old.groups, form.groups)
        first, second = (whole(b, f, groups, k) for b, f, k in zip(blocks, (old, form), kept, strict=True))
        if self.stream is None:
            raise TypeError("the stream is fitted before the layers")
        inner = replace(form, inner=len(second.up), groups=groups)
        kinds = {each.name: self.stored(f"{layer}.{each.name}") for each in fields(second)}
        found = told_layer(first, second, inner, groups, self.stream, kinds, self.units)
        self.words.append(layer_words(found, inner, first, second, self.stream, old.groups != form.groups))
        self.exact &= found.masks is not None
        self.equal &= found.equal
        self.fitted |= not found.gauge.nice()
        if self.gathered is not None:
            self.gathered.add(add_layer, found, blocks, (first, second), kept)
        self._add_layer(layer, found, inner, second, counts[0] != counts[1])

    def _add_layer(self, layer: int, found: LayerFound, form: CheckpointForm, second: Block, lost: bool) -> None:
        for name, differences in found.differences.items():
            units = found.units[name]
            if name.endswith(("_gain", "_bias")):  # zeros on one side have no unit of their own
                units = np.maximum(units, unit_at(getattr(second, name) - differences, found.kinds[name]))
            off = np.abs(differences) / units
            mask = None if found.masks is None else found.masks.get(name)
            count = (
                None if found.masks is None else int(mask.sum()) if mask is not None else int((differences != 0).sum())
            )
            largest = float(np.nan_to_num(off, nan=np.inf).max(initial=0))
            if lost and name in ("down", "up", "gate"):
                largest = float("inf")
            if largest > 0 or count:
                index = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
                value = float(getattr(second, name)[index])
                place, kind = entry_of(name, index, form), found.kinds[name]
                self._add(f"{layer}.{name}", largest, place, float(differences[index]), count, value, kind)


def _rounded_at_most(found: _Found, nothing: Identity) -> _Found:
    """What is found where each number is the first's, or that one rounded: nothing else is searched.

    Where all are equal, or what differs is seen by nothing, that is said instead.
    """
    found.take(nothing)
    if nothing.same:
        return found
    exact = _Found(found.first, found.second, found.units, found.tell)
    stream = StreamMap(Fraction(1), order=np.arange(found.second.form.width), exact=True)
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
    other = beyond(residuals, found.units)
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
        symmetry = found.numbers(exact=False)
    if found.unwritten:
        tried = (*tried, f"the symmetry as numbers: {found.unwritten}")
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
