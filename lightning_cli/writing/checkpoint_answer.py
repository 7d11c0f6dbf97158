"""Two checkpoints compared by `lightning-sym same`: the answer, as text or JSON."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes

if TYPE_CHECKING:
    from lightning_sym.checkpoints.comparison import CheckpointComparison
    from lightning_sym.checkpoints.logits import LogitComparison

SCHEMA = "lightning-sym/same-checkpoints/1"

COLOURS = {"same": "green", "rounding": "green", "different": "red", "undecided": "yellow"}


def is_checkpoint(path: str) -> bool:
    """A folder, or a .gguf file; everything else is a file of exact weights.

    Raises:
        BadInput: there is nothing of this name.
    """
    if not os.path.exists(path):
        from lightning_sym.errors import BadInput

        raise BadInput(f"{path}: there is no such file or folder")
    return os.path.isdir(path) or path.lower().endswith(".gguf")


def as_document(result: CheckpointComparison, output: str | None = None) -> dict[str, Any]:
    """The answer as JSON; a difference that has no finite number of units is null."""
    found = result.description
    return {
        "schema": SCHEMA,
        "first": result.first,
        "second": result.second,
        "answer": result.answer.value,
        "complete": False,
        "symmetry": None
        if found is None
        else {"exact": found.exact, "stream": found.stream, "layers": [list(done) for done in found.layers]},
        "output": output,
        "units": _finite(result.units),
        "limit": result.limit,
        "residuals": [
            {
                "tensor": each.called,
                "piece": each.piece,
                "units": _finite(each.units),
                "stored": each.stored,
                "entry": None if each.entry is None else list(each.entry),
                "difference": _finite(each.difference),
                "differing": each.differing,
                "explained": each.units <= result.limit,
            }
            for each in result.residuals
        ],
        "logits": None if result.logits is None else _logits(result.logits),
        "tried": list(result.tried),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _logits(found: LogitComparison) -> dict[str, Any]:
    apart = found.apart
    return {
        "ids": [list(prompt) for prompt in found.prompts],
        "bound": str(found.bound),
        "apart": None
        if apart is None
        else {
            "ids": list(apart.prompt),
            "token": apart.token,
            "first": dict(zip(("midpoint", "radius"), apart.first.written(), strict=True)),
            "second": dict(zip(("midpoint", "radius"), apart.second.written(), strict=True)),
        },
    }


def compare(
    first: str,
    second: str,
    ids: tuple[int, ...],
    units: float,
    exact: bool,
    as_json: bool,
    output: str | None = None,
) -> int:
    """Open both, compare them, write the answer, and the symmetry, if there is one, into a file.

    Returns:
        What the process exits with: 0 for the same and, unless `exact`, for the same up to rounding.
    """
    from lightning_cli.writing.output import progress_bar, write_answer, write_json
    from lightning_sym.checkpoints.comparison import CheckpointAnswer
    from lightning_sym.checkpoints.folders import open_checkpoint
    from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
    from lightning_sym.checkpoints.symmetry_files import require_output, save_symmetry

    with progress_bar() as progress:
        opened = open_checkpoint(first), open_checkpoint(second)
        if output is not None:
            require_output(output, opened[1].form)
        result = same_checkpoints(*opened, ids=ids, units=units, progress=progress)
    written = None
    if output is not None and result.symmetry is not None:
        save_symmetry(result.symmetry, output)
        written = output
    if as_json:
        write_json(as_document(result, written))
    else:
        write_answer(result, answer=COLOURS[result.answer.value])
        if output is not None:
            click.echo(f"symmetry: {written or 'none to be written'}", err=True)
    return {
        CheckpointAnswer.SAME: exit_codes.AS_EXPECTED,
        CheckpointAnswer.ROUNDING: exit_codes.NOT_AS_EXPECTED if exact else exit_codes.AS_EXPECTED,
        CheckpointAnswer.DIFFERENT: exit_codes.NOT_AS_EXPECTED,
        CheckpointAnswer.UNDECIDED: exit_codes.UNDECIDED,
    }[result.answer]
