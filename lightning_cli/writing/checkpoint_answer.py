"""Two checkpoints compared by `lightning-sym same`: the answer, as text or JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes
from lightning_cli.writing.fields import (
    FINITE,
    FLOAT,
    SPELLED,
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    each,
    group,
    in_order,
    natural,
    one_of,
    optional,
)

if TYPE_CHECKING:
    from lightning_sym.checkpoints.comparison import CheckpointComparison

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


SYMMETRY = group(
    JsonField("exact", TRUTH, "whether all its numbers are exact; else they are fitted floats"),
    JsonField("stream", TEXT, "what was done to the residual stream, in words"),
    JsonField("layers", each(each(TEXT)), "what was done in each layer, in words"),
)


RESIDUAL = in_order(
    JsonField("tensor", TEXT, "what the second checkpoint's files call it"),
    JsonField("piece", TEXT, "what it is, such as 3.query"),
    JsonField("units", FINITE, "its largest difference"),
    JsonField("stored", one_of("F16", "BF16", "F32", "F64"), "the type whose units these are"),
    JsonField(
        "entry",
        optional(each(natural())),
        "where: row and column of the matrix (out, in), or the place in a vector",
    ),
    JsonField("difference", FINITE, "the entry less what the symmetry makes of the first checkpoint"),
    JsonField("differing", optional(natural()), "how many entries differ, where that is known exactly"),
    JsonField("explained", TRUTH, "whether it counts as rounding"),
)


def _residuals(result: CheckpointComparison) -> list[tuple[Any, ...]]:
    return [
        (r.called, r.piece, r.units, r.stored, r.entry, r.difference, r.differing, r.units <= result.limit)
        for r in result.residuals
    ]


BALL = in_order(JsonField("midpoint", TEXT), JsonField("radius", TEXT))

APART = group(
    JsonField("ids", each(natural()), "the token ids read", "prompt"),
    JsonField("token", natural(), "the token id whose logits these are"),
    JsonField("first", BALL, "of the first checkpoint", lambda apart: apart.first.written()),
    JsonField("second", BALL, "of the second checkpoint", lambda apart: apart.second.written()),
)

LOGITS = group(
    JsonField("ids", each(each(natural())), "the prompts", "prompts"),
    JsonField("bound", SPELLED, "no logit differs by more, an exact number"),
    JsonField("apart", optional(APART), "logits that are proved to differ"),
)


CHECKPOINTS = JsonAnswer(
    "same-checkpoints",
    "`lightning-sym same --json` of two checkpoints.",
    (
        JsonField("first", TEXT, "the first checkpoint"),
        JsonField("second", TEXT, "the second checkpoint"),
        JsonField(
            "answer",
            one_of("same", "rounding", "different", "undecided"),
            "whether the second is a rewriting of the first",
            "answer.value",
        ),
        JsonField(
            "complete",
            TRUTH,
            "whether the list of symmetries is known to be complete for networks of this kind",
            lambda told: False,
        ),
        JsonField(
            "symmetry",
            optional(SYMMETRY),
            "what was done to the first checkpoint, as far as it was found; null where the forms allow no comparison",
            "description",
        ),
        JsonField(
            "output",
            optional(TEXT),
            "the file that the symmetry was written into, as numbers; null where none was written",
        ),
        JsonField(
            "units",
            FINITE,
            "the largest difference, in units in the last place of the stored type; null if it has no finite number",
            "units",
        ),
        JsonField("limit", FLOAT, "units up to which a difference counts as rounding"),
        JsonField(
            "residuals",
            each(RESIDUAL),
            "tensors that are not exactly what the symmetry makes of the first checkpoint's, the largest difference "
            "first",
            _residuals,
        ),
        JsonField("logits", optional(LOGITS), "logits of both for a prompt, compared in balls"),
        JsonField("tried", each(TEXT), "what was not compared, or did not succeed, and why"),
    ),
)


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
        write_json(CHECKPOINTS.document(result, output=written))
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
