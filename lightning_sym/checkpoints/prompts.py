"""Token ids whose logits are compared: those asked for, a few of the vocabulary, and rows that are known to differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.units import Residual
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer

PROMPT = 4
"""Token ids read where nobody says which."""

LONGEST = 64
"""Tokens of a prompt that is made to show a difference of one position."""


def prompt_of(ids: Sequence[int], forms: tuple[CheckpointForm, ...]) -> tuple[int, ...]:
    """The token ids asked for, or a few spread over the vocabulary.

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
    """The prompt with as many tokens as it takes to see that windows differ, if these are few.

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
    """The prompt asked for, and those that read the rows of the embedding and of the positions that differ most.

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
