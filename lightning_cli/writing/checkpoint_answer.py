"""What commands say of checkpoints, as text or JSON: of two that were compared, and of one that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightning_cli.writing.fields import (
    FINITE,
    SPELLED,
    JsonAnswer,
    JsonField,
    JsonKind,
    field,
    group,
    in_order,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.output import HasLines, write_answer, write_json

if TYPE_CHECKING:
    from lightning_sym.checkpoints.comparison import CheckpointComparison
    from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
    from lightning_sym.display import Lines

HOLDS = {"same": True, "rounding": True, "different": False, "undecided": None}
"""What each answer means, of weights or of checkpoints; unless it is asked for exactly."""

SYMMETRY = group(
    field("exact", bool, "whether all its numbers are exact; else they are fitted floats"),
    field("stream", str, "what was done to the residual stream, in words"),
    field("layers", [[str]], "what was done in each layer, in words"),
)


RESIDUAL = in_order(
    field("tensor", str, "what the second checkpoint's files call it"),
    field("piece", str, "what it is, such as 3.query"),
    field("units", FINITE, "its largest difference"),
    field("stored", str, "the type whose units these are; of a type with blocks, such as Q8_0, steps of its codes"),
    field("entry", optional([natural()]), "where: row and column of the matrix (out, in), or the place in a vector"),
    field("difference", FINITE, "the entry less what the symmetry makes of the first checkpoint"),
    field("differing", optional(natural()), "how many entries differ, where that is known exactly"),
    field("explained", bool, "whether it counts as rounding"),
    field("blocks", str, "of a quantised tensor, which blocks hold a code that is not the nearest; else empty"),
)


def _residuals(result: CheckpointComparison) -> list[tuple[object, ...]]:
    return [
        (r.called, r.piece, r.units, r.stored, r.entry, r.difference, r.differing, r.units <= result.limit, r.blocks)
        for r in result.residuals
    ]


BALL = in_order(field("midpoint", str), field("radius", str))

APART = group(
    field("ids", [natural()], "the token ids read", "prompt"),
    field("token", natural(), "the token id whose logits these are"),
    field("first", BALL, "of the first checkpoint", lambda apart: apart.first.written()),
    field("second", BALL, "of the second checkpoint", lambda apart: apart.second.written()),
)

LOGITS = group(
    field("ids", [[natural()]], "the prompts", "prompts"),
    field("bound", SPELLED, "no logit differs by more, an exact number"),
    field("apart", optional(APART), "logits that are proved to differ"),
)


EXPLAINED = group(
    field("mistake", str, "its identifier, such as rotary-rows"),
    field(
        "tensors",
        [str],
        "what the second checkpoint's files call the tensors that it changed, * for the number of a layer; none where "
        "it is a mistake of the configuration",
    ),
    field("layers", [natural()], "the layers in which it was made"),
    field(
        "detail",
        {str: JsonKind({}, lambda value: value)},
        "what else there is to say of it; checked: whether made on the first, with a symmetry, it gives the second "
        "exactly, or up to rounding",
    ),
)


REDUCED = group(
    field("what", str, "neurons-duplicated or layer-repeated-noop"),
    field("side", one_of("first", "second"), "of which checkpoint"),
    field("layer", natural(), "in which layer, or which layer"),
    field("neurons", [in_order(field("neuron", natural()), field("merged_into", natural()))], "those that were merged"),
)


DISTANCE = group(
    field("layer", optional(natural()), "null outside of the layers"),
    field("tensor", str, "what the second checkpoint's files call it", "called"),
    field("piece", str, "what it is, such as query"),
    field("relative", FINITE, "the Frobenius norm of the difference over that of the tensor"),
    field("rank", optional(natural()), "the numerical rank of the difference of two matrices"),
    field("full", natural(), "the largest rank that it may have; 0 of a vector"),
    field("low_rank", bool, "whether it is at most a quarter of that", "low"),
)

DISTANCES = group(
    field("symmetry", str, "what was done to the first checkpoint before, in words"),
    field("units", float, "what is beyond a rank is at most so many units in the last place, root mean square"),
    field(
        "updates",
        [in_order(field("rank", natural(1)), field("tensors", [str]))],
        "updates of low rank, * for the number of a layer",
    ),
    field("tensors", [DISTANCE], "every tensor, layer by layer"),
)


THEOREM = group(
    field("layer", optional(natural()), "where they differ, from 0; null before and behind the layers"),
    field("what", str, "the invariant of the second that the first has not"),
    field("inputs", str, "on which inputs the functions differ"),
    field("proof", str, "where it is proved"),
)


CHECKPOINTS = json_answer(
    "same-checkpoints",
    field("first", str, "the first checkpoint"),
    field("second", str, "the second checkpoint"),
    field(
        "answer",
        one_of("same", "rounding", "different", "undecided"),
        "whether the second is a rewriting of the first",
        "answer.value",
    ),
    field(
        "complete",
        bool,
        "whether the list of symmetries is known to be complete for networks of this kind",
        lambda told: False,
    ),
    field(
        "symmetry",
        optional(SYMMETRY),
        "what was done to the first checkpoint, as far as it was found; null where the forms allow no comparison",
        "description",
    ),
    field(
        "output", optional(str), "the file that the symmetry was written into, as numbers; null where none was written"
    ),
    field(
        "units",
        FINITE,
        "the largest difference, in units in the last place of the stored type; null if it has no finite number",
    ),
    field("limit", float, "units up to which a difference counts as rounding"),
    field(
        "residuals",
        [RESIDUAL],
        "tensors that are not exactly what the symmetry makes of the first checkpoint's, the largest difference first",
        _residuals,
    ),
    field("quantised", [str], "types with blocks in which one side is a quantisation of the other"),
    field("logits", optional(LOGITS), "logits of both for a prompt, compared in balls"),
    field("tried", [str], "what was not compared, or did not succeed, and why"),
    field(
        "explained",
        [EXPLAINED],
        "different or undecided: the known mistakes that, with a symmetry, make the second of the first; none where "
        "nothing explains it",
    ),
    field(
        "reduced",
        [REDUCED],
        "what was left out before the two were compared, as it is there twice or does nothing; the symmetry leads from "
        "what is left of the first to what is left of the second",
    ),
    field("distances", optional(DISTANCES), "how far each tensor is, measured; null where that was not asked"),
    field("picture", optional(str), "the picture of the distances that was drawn"),
    field(
        "ids_moved",
        optional(natural()),
        "how many token ids of the second its tokenizer has elsewhere than the first's; null without tokenizers",
    ),
    field(
        "theorem",
        optional(THEOREM),
        "different: what shows it by the theorem about whole models; null where it shows nothing or was not asked, as "
        "with ids",
    ),
    version=2,
    said="`lightning-sym same --json` of two checkpoints.",
)


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
