"""What `lightning-sym figure` says in JSON: the table beside a picture, and Figure 3 number by number."""

from __future__ import annotations

from typing import Any

from lightning_cli.writing.fields import (
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    constant,
    each,
    group,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import ANY_MATRIX, STATUS

PICTURE = JsonAnswer(
    "picture",
    "`lightning-sym figure NAME --json`, all but Figure 3.",
    (
        JsonField("figure", one_of("1", "dimensions", "fiber", "roots", "singular"), "its name", "name"),
        JsonField("title", TEXT, "what is shown, one line"),
        JsonField("caption", TEXT, "what of it is exact"),
        JsonField("columns", each(TEXT), "names of the columns of the table"),
        JsonField("rows", ANY_MATRIX, "the table: exact numbers, matrices and words"),
        JsonField("output", optional(TEXT), "the picture that was drawn, null if none was asked for"),
    ),
)

POINT = group(
    JsonField("width", natural(1)),
    JsonField("parameters", natural(1), of="estimated.architecture.parameter_count"),
    JsonField("estimated", optional(natural()), of="estimated.value"),
    JsonField("lower", natural(), of="estimated.lower"),
    JsonField("upper", natural(), of="estimated.upper"),
    JsonField("status", STATUS, of="estimated.status.value"),
    JsonField("expected", natural()),
    JsonField("agrees", optional(TRUTH)),
)


def _fixed(word: str, value: Any, meaning: str) -> JsonField:
    """A field that has one value."""
    return JsonField(word, constant(value), meaning, lambda told: value)


FIGURE_3 = JsonAnswer(
    "figure",
    "`lightning-sym figure 3 --json`.",
    (
        _fixed("figure", 3, "the number in the paper"),
        _fixed("layers", 2, "l"),
        _fixed("attention_ranks", [2, 2], "a_1, a_2"),
        _fixed("tokens", 3, "t"),
        _fixed("normalization", "softmax", "of the scores"),
        JsonField("points", each(POINT, 1), "one a width: certified, and by Eq. 16", "numbers"),
        JsonField("output", optional(TEXT), "the picture that was written"),
    ),
)

ANSWERS = (PICTURE, FIGURE_3)
