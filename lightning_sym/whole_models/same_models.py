"""Two checkpoints compared, and what the theorem about whole models says where no symmetry and no logits decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.same_checkpoints import numbers_of, same_checkpoints
from lightning_sym.checkpoints.units import DEFAULT_UNITS
from lightning_sym.limits import DEFAULT_WORK, Progress
from lightning_sym.whole_models.apart import apart_by_theorem

ALWAYS = 2**22
"""Numbers of a model up to which the theorem is asked where logits are proved apart already."""


def same_models(
    first: Checkpoint,
    second: Checkpoint,
    *,
    ids: Sequence[int] = (),
    units: float = DEFAULT_UNITS,
    work: float = DEFAULT_WORK,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> CheckpointComparison:
    """`same_checkpoints`, where *undecided* becomes *different* if the theorem about whole models shows it.

    The theorem is about prompts of real combinations of token embeddings; it is not asked where token ids are given.
    Of models of a few million numbers it is told beside logits that are apart.

    Args:
        first, second: from `open_checkpoint`, or made.
        ids: token ids of the prompt for which logits are compared.
        units: how far a tensor may be off, in units in the last place of the type it is stored in.
        work: seconds, by a rough estimate, of the search for known mistakes, and of the conditions of the theorem.
        scheduler: the address of a Dask scheduler whose workers look at the layers.
        progress: is told of what is done.

    Raises:
        BadInput: an id is in none of their vocabularies, or no scheduler with workers is at the address.
        MissingExtra: a scheduler is named, and Dask is not installed.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one, two = (small_checkpoint("llama", seed=seed) for seed in (1, 2))
        >>> same_models(one, two).theorem.what
        'what the unembedding makes of the stream'
    """
    require_arguments(same_models, locals())
    found = same_checkpoints(first, second, ids=ids, units=units, work=work, scheduler=scheduler, progress=progress)
    large = numbers_of(first.form) > ALWAYS
    if ids or found.answer not in {CheckpointAnswer.UNDECIDED, *(() if large else (CheckpointAnswer.DIFFERENT,))}:
        return found
    theorem = apart_by_theorem(first, second, work=work, progress=progress)
    return found if theorem is None else replace(found, answer=CheckpointAnswer.DIFFERENT, theorem=theorem)
