"""Is one checkpoint a rewriting of another one? A symmetry is guessed in floats, and then put into the equations.

Logits are compared for the token ids that are asked for, a few of the vocabulary, and rows that are known to differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.atlas.workers import spread_over
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison, FoundSymmetry
from lightning_sym.checkpoints.diagnosis import diagnose
from lightning_sym.checkpoints.edited import Edited, reduced_pair
from lightning_sym.checkpoints.explaining import MOST
from lightning_sym.checkpoints.explanation import Detail, Explained, tensors_called
from lightning_sym.checkpoints.identity import (
    beyond,
    called_by,
    forms_apart,
    is_account,
    only_changed,
    stored_type,
    under_identity,
    unlike,
)
from lightning_sym.checkpoints.logits import LogitComparison, compare_logits
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.overlap import Overlap, overlap
from lightning_sym.checkpoints.pieces import SHAPELESS, table
from lightning_sym.checkpoints.searched import Searched, rounded_at_most
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.understood import Walker, ends_of, require_form
from lightning_sym.checkpoints.units import DEFAULT_UNITS, NUMBERS, Residual, number_type
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer, unheard


def same_checkpoints(
    first: Checkpoint,
    second: Checkpoint,
    *,
    ids: Sequence[int] = (),
    units: float = DEFAULT_UNITS,
    work: float = DEFAULT_WORK,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> CheckpointComparison:
    """Compare two checkpoints: is the second what a symmetry makes of the first, exactly, or up to rounding?

    A symmetry is searched in floating point; what is said of it was computed afterwards: over the rationals where all
    its numbers are exact, else as a residual of every tensor in units in the last place. Differences of logits are
    proved with balls. It never says `SAME` of two that are not.

    Args:
        first, second: from `open_checkpoint`, or made; with other numbers of token ids they are `DIFFERENT`, and are
            compared as far as both go.
        ids: token ids of the prompt for which logits are compared; without them, a few of the vocabulary.
        units: how far a tensor may be off, in units in the last place of the type it is stored in, to count as rounded.
        work: seconds, by a rough estimate, that the search for known mistakes may take where the two are not the same.
        scheduler: the address of a Dask scheduler whose workers look at the layers, from files at the same paths.
        progress: is told of what is done.

    Raises:
        BadInput: an id is in none of their vocabularies, or no scheduler with workers is at the address.
        MissingExtra: a scheduler is named, and Dask is not installed.

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
        require_checkpoint(given, name)
    forms = first.form, second.form
    for one, other in ((first, second), (second, first)):
        if isinstance(one, StoredCheckpoint):
            one.require_comparable(other)
    if not 0 <= units < float("inf"):
        raise BadInput(f"units must be a finite number of at least 0, got {shown(units)}")
    for form in forms:
        require_form(form, Walker.COMPARISON)
    if forms[0].vocabulary != forms[1].vocabulary:
        asked = {"ids": ids, "units": units, "work": work, "scheduler": scheduler, "progress": progress}
        return _of_fewer_ids(first, second, **asked)
    prompt = prompt_of(ids, forms)
    tell: Progress = progress or unheard
    found = _searched(first, second, units, tell, scheduler)
    left = None if _explained_by_symmetry(found) else reduced_pair(first, second)
    if left is not None:
        met = _searched(left[0], left[1], units, tell, scheduler)
        if _explained_by_symmetry(met):
            return replace(_answered(met, prompt, work, ids=ids), reduced=left[2])
    return _answered(found, prompt, work, ids=ids)


def _searched(
    first: Checkpoint, second: Checkpoint, units: float, tell: Progress, scheduler: str | None = None
) -> Searched:
    """Return what is found of two checkpoints of one form: the identity first, then every symmetry."""
    found = Searched(first, second, units, tell)
    found.unlike = unlike(first.form, second.form, units, number_type(first, second))
    if found.unlike:
        return found
    tell("the identity", 0, 1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # then nothing fits
        nothing = under_identity(first, second, units)
        if nothing.within(units):
            return rounded_at_most(found, nothing)
        with nullcontext(map) if scheduler is None else spread_over(scheduler) as found.spread:
            found.compare()
    return found


def _complete(found: Searched) -> bool:
    """Return whether every layer was compared."""
    return len(found.words) == found.second.form.layers and found.stream is not None


def _explained_by_symmetry(found: Searched) -> bool:
    """Return whether what was found explains everything, up to rounding."""
    return _complete(found) and not beyond(found.residuals, found.units) and (bool(found.residuals) or found.equal)


def _of_fewer_ids(first: Checkpoint, second: Checkpoint, **asked: Any) -> CheckpointComparison:
    """Return the comparison of two with other numbers of token ids: as far as both go, and that they differ."""
    counts = [checkpoint.form.vocabulary for checkpoint in (first, second)]
    found = same_checkpoints(*(Edited.with_rows(each, min(counts)) for each in (first, second)), **asked)
    there = [
        name
        for name, _ in ends_of(second, Walker.COMPARISON).present()
        if SHAPELESS.ends[name].axes[0].space.kind == "token ids"
    ]
    more = tuple(
        Residual(name, called_by(first, second, name), float("inf"), stored_type(first, second, name)) for name in there
    )
    rest = {each.piece: each for each in (*found.residuals, *more)}
    explained = found.explained
    if found.answer not in UNEXPLAINED or (explained and len(explained) < MOST):
        checked = "rounding" if found.answer is CheckpointAnswer.ROUNDING else "exactly"
        checked = str(explained[0].detail["checked"]) if explained else checked
        detail: Detail = {"first": counts[0], "second": counts[1], "checked": checked}
        tensors = tensors_called(second, first, [(None, name) for name in there])
        explained = (Explained("vocabulary-padded", tensors, (), detail), *explained)
    said = f"token ids: {counts[0]:,} and {counts[1]:,}; compared are the first {min(counts):,}"
    order = tuple(sorted(rest.values(), key=lambda each: -each.units))
    different = replace(found, answer=CheckpointAnswer.DIFFERENT, symmetry=None, explained=explained)
    return replace(different, first=first.name, second=second.name, residuals=order, tried=(said, *found.tried))


UNEXPLAINED = (CheckpointAnswer.DIFFERENT, CheckpointAnswer.UNDECIDED)
"""Answers behind which known mistakes are searched."""


LOGITS = 2**28
"""Numbers of a checkpoint up to which logits are bounded where nobody asks for them, and they decide nothing."""


def numbers_of(form: CheckpointForm) -> int:
    """Return how many numbers the matrices of a checkpoint have.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> numbers_of(small_checkpoint("llama").form)
        5120
    """
    layer, ends = (
        sum(prod(piece.shape) for piece in pieces.values() if piece.columns)
        for pieces in (table(form).layer, table(form).ends)
    )
    return form.layers * layer + ends


def _answered(
    found: Searched, prompt: tuple[int, ...], work: float, *, ids: Sequence[int] = ()
) -> CheckpointComparison:
    """Return the answer that follows from what was found; `ids` are those that were asked for."""
    residuals, description = found.residuals_in_order(), found.description()
    complete = _complete(found)
    largest = max((each.units for each in residuals), default=0.0)
    tried: tuple[str, ...] = (*found.unlike, *found.tried)
    logits: LogitComparison | None = None
    symmetry = None
    if complete and found.exact and found.equal and not residuals:
        symmetry = found.numbers(exact=True)  # which is what shows it
        answer = CheckpointAnswer.UNDECIDED if symmetry is None else CheckpointAnswer.SAME
    elif complete and largest <= found.units and (residuals or not found.exact):
        answer = CheckpointAnswer.ROUNDING
    else:
        answer = CheckpointAnswer.UNDECIDED
    why_not, met, within = found.why_not, Overlap(found.first, found.second), found
    named = [beyond(residuals, found.units)]
    cut = overlap(found.first, found.second, found.units) if found.unlike else None
    if cut is not None:
        met, within = cut, _searched(cut.first, cut.second, found.units, found.tell)
        residuals, description = _accounted(within)
        renamed = (replace(each, piece=met.piece(each.piece)) for each in residuals)
        numbers, _ = forms_apart(found.first, found.second)
        residuals = (*(each for each in numbers if each.piece != "epsilon"), *renamed)  # that follows the stream
        tried = (*tried, *within.tried, *met.said)
    elif answer is CheckpointAnswer.UNDECIDED and (
        residuals or (not complete and not forms_apart(found.first, found.second)[1])
    ):
        residuals, description = _accounted(found)
    named.append(beyond(residuals, found.units))
    if answer is CheckpointAnswer.ROUNDING and not len(ids) and numbers_of(found.second.form) > LOGITS:
        tried = (*tried, f"logits: of more than {LOGITS:,} numbers they are bounded where token ids are given")
    elif answer is not CheckpointAnswer.SAME:
        context = min(found.first.form.context, found.second.form.context)
        prompts = prompts_for(prompt, (named[0], named[1]), context)
        for read in (*prompts, *past_windows(prompt, (found.first.form, found.second.form))):
            logits, failed = _logits(found, read)
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
    if answer in UNEXPLAINED and (cut is not None or (residuals and not found.unlike)):
        diagnosis = diagnose(met, within, found.units, Work(work))
        made |= {"explained": diagnosis.explained, "tried": (*tried, *diagnosis.tried)}
        kept = tuple(each for each in residuals if each.units <= found.units or each.piece in NUMBERS)
        if diagnosis.residuals and len(kept) + len(diagnosis.residuals) < len(residuals):  # fewer explain it
            every = {each.piece: each for each in (*kept, *diagnosis.residuals)}.values()
            made["residuals"] = tuple(sorted(every, key=lambda each: -each.units))
    return CheckpointComparison(**made)


def _accounted(found: Searched) -> tuple[tuple[Residual, ...], FoundSymmetry | None]:
    """Return what differs, and what was done: nothing, where that explains no less than what was found."""
    residuals = found.residuals_in_order()
    if _explained_by_symmetry(found):
        return residuals, found.description()
    with np.errstate(over="ignore", invalid="ignore"):
        nothing = under_identity(found.first, found.second)
    if is_account(nothing, beyond(residuals, found.units), found.units):
        found.take(nothing)
        return found.residuals_in_order(), found.description()
    return only_changed(residuals, nothing, found.units), found.description()


def _logits(found: Searched, prompt: tuple[int, ...]) -> tuple[LogitComparison | None, tuple[str, ...]]:
    """Return the logits of both for a prompt, compared in balls, or `None`; and what is to be said of them."""
    try:
        compared = compare_logits(found.first, found.second, list(prompt), progress=found.tell)
    except TooLarge as error:
        return None, (f"logits: {error}",)
    said = f"logits of the token ids {' '.join(map(str, prompt))} are not proved apart"
    return compared, () if compared.apart is not None else (said,)


PROMPT = 4
"""Token ids read where nobody says which."""

LONGEST = 64
"""Tokens of a prompt that is made to show a difference of one position."""


def prompt_of(ids: Sequence[int], forms: tuple[CheckpointForm, ...]) -> tuple[int, ...]:
    """Return the token ids asked for, or a few spread over the vocabulary.

    Raises:
        BadInput: an id is not in the vocabulary, or they are more than the context.
    """
    vocabulary, context = forms[0].vocabulary, min(form.context for form in forms)
    if not len(ids):
        count = min(PROMPT, context, vocabulary)
        return tuple((7 + i * (vocabulary // count)) % vocabulary for i in range(count))
    for each in ids:
        require_integer(each, "a token id", 0, vocabulary - 1)
    if len(ids) > context:
        raise BadInput(f"a prompt must have at most {context} token ids, got {len(ids)}")
    return tuple(int(each) for each in ids)


def past_windows(prompt: tuple[int, ...], forms: tuple[CheckpointForm, ...]) -> list[tuple[int, ...]]:
    """Return the prompt with as many tokens as it takes to see that windows differ, if these are few.

    Example:
        >>> from dataclasses import replace
        >>> from lightning_sym.testing import small_checkpoint
        >>> form = small_checkpoint("mistral").form
        >>> past_windows((7, 3), (form, replace(form, window=3)))
        [(7, 3, 7, 3)]
    """
    windows = {(form.window, form.local) for form in forms}
    count = min((window for window, _ in windows if window is not None), default=0) + 1
    few = count <= min(LONGEST, *(form.context for form in forms))
    if len(windows) == 1 or count <= len(prompt) or not few:
        return []
    return [(prompt * (count // len(prompt) + 1))[:count]]


def prompts_for(
    prompt: tuple[int, ...], differing: Iterable[Sequence[Residual]], context: int
) -> list[tuple[int, ...]]:
    """Return the prompt asked for, and those that read the rows of the embedding and of the positions that differ most.

    Args:
        prompt: that.
        differing: tensors that differ, in one account or several.
        context: the largest number of tokens.
    """
    found = [prompt]
    for residuals in differing:
        off = {each.piece: each.entry[0] for each in residuals if each.entry}
        longer = list(prompt)
        if (row := off.get("embedding", prompt[0])) not in prompt:
            longer = [row, *prompt][:context]
        if (place := off.get("positions", 0)) < LONGEST:
            longer += [prompt[-1]] * (place + 1 - len(longer))
        found += [tuple(longer)] if tuple(longer) not in found else []
    return found
