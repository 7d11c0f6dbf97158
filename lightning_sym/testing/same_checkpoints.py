"""That a conversion, a quantiser or a trainer left a model as it was, for other people's tests and CI."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lightning_sym.arguments import shown
from lightning_sym.checkpoints.comparison import SHOWN, CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.folders import open_checkpoint
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
from lightning_sym.checkpoints.units import DEFAULT_UNITS, DIGITS
from lightning_sym.errors import BadInput
from lightning_sym.limits import Progress
from lightning_sym.testing.failures import Mismatch, NotDecided, failure

Model = Checkpoint | str | os.PathLike[str]
"""A checkpoint, or where its files are."""


def assert_same_checkpoint(
    first: Model,
    second: Model,
    *,
    rounding: str | None = None,
    units: float = DEFAULT_UNITS,
    ids: Sequence[int] = (),
    layouts: tuple[str | None, str | None] = (None, None),
    progress: Progress | None = None,
) -> CheckpointComparison:
    """Fail unless the second checkpoint is a rewriting of the first: turned, permuted, folded, but the same function.

    Args:
        first, second: folders, `.gguf` files, or checkpoints that were opened or made.
        rounding: `None`: exactly. Else the coarsest type that tensors may have been rounded to, such as `"bf16"`.
        units: how far a tensor may be off then, in units in the last place of the type it is stored in.
        ids: token ids of a prompt whose logits are compared; of large checkpoints none are unless they decide.
        layouts: of folders and files, how their pieces are named, where the names do not show it.
        progress: is told of what is done.

    Returns:
        What was found, with the symmetry.

    Raises:
        Mismatch: another function, or the same up to a rounding that is not allowed; the message names the tensors.
        NotDecided: no symmetry was found, and no logits are proved apart.
        BadInput: they cannot be compared, or there is no such type.

    Example:
        >>> from lightning_sym import apply
        >>> from lightning_sym.checkpoints.random_symmetries import random_symmetry
        >>> from lightning_sym.testing import small_checkpoint
        >>> model = small_checkpoint("llama")
        >>> assert_same_checkpoint(model, apply(random_symmetry(model), model)).answer
        <CheckpointAnswer.SAME: 'same'>
    """
    __tracebackhide__ = True
    allowed = None if rounding is None else _allowed(rounding)
    pair = (_opened(each, layout) for each, layout in zip((first, second), layouts, strict=True))
    found = same_checkpoints(*pair, ids=ids, units=units, progress=progress)
    names = f"{found.first} and {found.second}"
    if found.answer is CheckpointAnswer.DIFFERENT:
        raise Mismatch(failure(f"{names} compute different functions", _lines(found)))
    if found.answer is CheckpointAnswer.UNDECIDED:
        raise NotDecided(failure(f"it is undecided whether {names} compute the same function", _lines(found)))
    if found.answer is CheckpointAnswer.ROUNDING:
        coarse = [each for each in found.residuals if each.stored not in (allowed or ())]
        if allowed is None or coarse:
            what = "exactly" if allowed is None else f"up to rounding to {shown(rounding)} or finer"
            raise Mismatch(failure(f"{names} must compute the same function {what}", _lines(found)))
    return found


def _opened(model: Model, layout: str | None) -> Checkpoint:
    """Return the checkpoint.

    Raises:
        BadInput: it was opened already, so that a layout says nothing of it.
    """
    if isinstance(model, (str, os.PathLike)):
        return open_checkpoint(model, layout=layout)
    if layout is not None:
        raise BadInput(f"a layout must go with a folder or a file, got {shown(layout)} with a checkpoint")
    return model


def _allowed(rounding: str) -> tuple[str, ...]:
    """Return the types that are at least as fine as this one.

    Raises:
        BadInput: there is no such type.
    """
    names = sorted(DIGITS, key=DIGITS.__getitem__)
    if str(rounding).upper() not in names:
        raise BadInput(f"rounding must be one of {', '.join(n.lower() for n in names)} or None, got {shown(rounding)}")
    return tuple(name for name in names if DIGITS[name] >= DIGITS[rounding.upper()])


def _lines(found: CheckpointComparison) -> list[tuple[str, str]]:
    """Return the lines of the answer that fit a screen, without the names and the words that a test knows already."""
    lines = [line for line in found.lines() if line[0] not in ("first", "second", "list")]
    return lines if len(lines) <= 2 * SHOWN else [*lines[: 2 * SHOWN], ("", f"and {len(lines) - 2 * SHOWN} lines more")]
