"""What `lightning-sym dimension --config` says of a model, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightning_cli.writing.fields import (
    TEXT,
    TRUTH,
    JsonAnswer,
    JsonField,
    by_name,
    each,
    group,
    in_order,
    natural,
    one_of,
    optional,
)

if TYPE_CHECKING:
    from lightning_sym.dimension.transformers import ModelDimension


MASKS = {True: "causal", False: "none", None: None}

READ = group(
    JsonField("hidden_size", natural(1), of="width"),
    JsonField("heads", natural(1)),
    JsonField("key_value_heads", natural(1), of="groups"),
    JsonField("layers", natural(1)),
    JsonField("vocabulary", natural(1)),
    JsonField("head_width", natural(1)),
    JsonField("value_width", natural(1), of="values"),
    JsonField("tied", TRUTH),
    JsonField("mask", optional(one_of("causal", "none")), of=lambda model: MASKS[model.causal]),
)

UNTIED = in_order(JsonField("parameters", natural(1)), JsonField("dimension", natural()))

CERTIFIED = group(
    JsonField("lower", natural(), of="ranks.lower"),
    JsonField("upper", natural()),
    JsonField("prime", natural(1), of="ranks.prime"),
    JsonField("matrices", natural(1), of="ranks.matrices"),
)


def _fiber_dimension(result: ModelDimension) -> int | None:
    return None if result.value is None else result.model.parameters - result.value


MODEL = JsonAnswer(
    "config",
    "`lightning-sym dimension --config FILE --json`.",
    (
        JsonField("config", TEXT, "the file"),
        JsonField("model", READ, "what was read from it"),
        JsonField(
            "parameters",
            natural(1),
            "of the attention, with embedding and unembedding; what is tied or shared counts once",
            "model.parameters",
        ),
        JsonField("dimension", optional(natural()), "null while undecided", "value"),
        JsonField("lower", natural(), "a proved lower bound"),
        JsonField("upper", natural(), "a proved upper bound"),
        JsonField(
            "fiber_dimension",
            optional(natural()),
            "parameters less the dimension",
            _fiber_dimension,
        ),
        JsonField(
            "percent",
            TEXT.having(pattern=r"^[0-9]+\.[0-9]{2}$"),
            "the upper bound in percent of the parameters, rounded down",
            "percent",
        ),
        JsonField(
            "untied",
            optional(UNTIED),
            "of the model with two matrices in place of tied ones; null where they are two",
            "untied",
        ),
        JsonField("theorem", TEXT, "what proves the bounds"),
        JsonField("conditions", each(TEXT), "what the theorem asks for, with this model's numbers"),
        JsonField(
            "certified",
            optional(CERTIFIED),
            "bounds found by computation, null where there are none",
            lambda result: None if result.ranks is None else result,
        ),
        JsonField("not_computed", optional(TEXT), "why ranks were not taken", "reason"),
        JsonField(
            "left_out",
            by_name(each(TEXT)),
            "parts that `--attention-only` leaves out, and the keys that name them",
            "model.left_out",
        ),
    ),
    version=2,
    title="dimension --config",
)
