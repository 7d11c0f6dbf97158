"""A checkpoint that a command wrote: what stands in it, read back, as text or JSON."""

from __future__ import annotations

from lightning_cli.writing.fields import JsonAnswer, JsonField, field, json_answer, natural


def written_checkpoint(name: str, *more: JsonField) -> JsonAnswer:
    """Return the fields of the answer of a command that writes a checkpoint, and what else it has."""
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
    )
