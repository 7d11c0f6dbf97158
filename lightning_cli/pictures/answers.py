"""What `lightning-sym figure` says in JSON: the table beside a picture, and Figure 3 number by number."""

from __future__ import annotations

from lightning_cli.writing.fields import JsonField, constant, each, field, group, json_answer, natural, one_of, optional
from lightning_cli.writing.shared_fields import ANY_MATRIX, STATUS

PICTURE = json_answer(
    "picture",
    field("figure", one_of("1", "dimensions", "fiber", "roots", "singular"), "its name", "name"),
    field("title", str, "what is shown, one line"),
    field("caption", str, "what of it is exact"),
    field("columns", [str], "names of the columns of the table"),
    field("rows", ANY_MATRIX, "the table: exact numbers, matrices and words"),
    field("output", optional(str), "the picture that was drawn, null if none was asked for"),
    said="`lightning-sym figure NAME --json`, all but Figure 3.",
)

POINT = group(
    field("width", natural(1)),
    field("parameters", natural(1), of="estimated.architecture.parameter_count"),
    field("estimated", optional(natural()), of="estimated.value"),
    field("lower", natural(), of="estimated.lower"),
    field("upper", natural(), of="estimated.upper"),
    field("status", STATUS, of="estimated.status.value"),
    field("expected", natural()),
    field("agrees", optional(bool)),
)


def _fixed(word: str, value: object, meaning: str) -> JsonField:
    """Return a field that has one value."""
    return field(word, constant(value), meaning, lambda told: value)


FIGURE_3 = json_answer(
    "figure",
    _fixed("figure", 3, "the number in the paper"),
    _fixed("layers", 2, "l"),
    _fixed("attention_ranks", [2, 2], "a_1, a_2"),
    _fixed("tokens", 3, "t"),
    _fixed("normalization", "softmax", "of the scores"),
    field("points", each(POINT, 1), "one a width: certified, and by Eq. 16", "numbers"),
    field("output", optional(str), "the picture that was written"),
    said="`lightning-sym figure 3 --json`.",
)

ANSWERS = (PICTURE, FIGURE_3)
