"""A checkpoint that a command wrote: what stands in it, read back, as text or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightning_cli.writing.fields import JsonAnswer, JsonField, field, json_answer, natural
from lightning_cli.writing.output import HasLines, write_answer, write_json
from lightning_sym.display import Lines

if TYPE_CHECKING:
    from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint


def written_checkpoint(name: str, *more: JsonField, said: str = "") -> JsonAnswer:
    """Return the fields of the answer of a command that writes a checkpoint, and says more of it."""
    return json_answer(
        name,
        field("checkpoint", str, "what was written", "name"),
        field("family", str, "what the configuration calls it", "form.family"),
        field("layout", str, "how its pieces are named and ordered"),
        field("layers", natural(1), "how many there are", "form.layers"),
        field("width", natural(1), "of the residual stream", "form.width"),
        field("vocabulary", natural(1), "token ids", "form.vocabulary"),
        field("tied", bool, "whether the unembedding is the embedding", "form.tied"),
        field("stored", {str: natural(1)}, "how many tensors are stored in each type", "types"),
        *more,
        said=said,
    )


class _Joined:
    """Text of several answers, one behind the other."""

    def __init__(self, *told: HasLines) -> None:
        self._told = told

    def lines(self) -> Lines:
        """Return those of all of them."""
        return [line for each in self._told for line in each.lines()]


def write_written(
    answer: JsonAnswer, written: StoredCheckpoint, found: HasLines, *, as_json: bool, **given: object
) -> None:
    """Write what stands in a checkpoint that was written, read back, and how it was found.

    Args:
        answer: the fields.
        written: the checkpoint.
        found: what more is said of it.
        as_json: whether JSON is asked for.
        given: values of fields that do not stand in what was written.
    """
    if as_json:
        write_json(answer.document(written, **given))
    else:
        write_answer(_Joined(written, found))
