"""What `lightning-sym dimension --config` says of a model, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightning_cli.writing.fields import (
    TEXT,
    TRUTH,
    Field,
    JsonAnswer,
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
    Field("hidden_size", natural(1), of="width"),
    Field("heads", natural(1)),
    Field("key_value_heads", natural(1), of="groups"),
    Field("layers", natural(1)),
    Field("vocabulary", natural(1)),
    Field("head_width", natural(1)),
    Field("value_width", natural(1), of="values"),
    Field("tied", TRUTH),
    Field("mask", optional(one_of("causal", "none")), of=lambda model: MASKS[model.causal]),
)

UNTIED = in_order(Field("parameters", natural(1)), Field("dimension", natural()))

CERTIFIED = group(
    Field("lower", natural(), of="ranks.lower"),
    Field("upper", natural()),
    Field("prime", natural(1), of="ranks.prime"),
    Field("matrices", natural(1), of="ranks.matrices"),
)


def _fiber_dimension(result: ModelDimension) -> int | None:
    return None if result.value is None else result.model.parameters - result.value


MODEL = JsonAnswer(
    "config",
    "`lightning-sym dimension --config FILE --json`.",
    (
        Field("config", TEXT, "the file"),
        Field("model", READ, "what was read from it"),
        Field(
            "parameters",
            natural(1),
            "of the attention, with embedding and unembedding; what is tied or shared counts once",
            "model.parameters",
        ),
        Field("dimension", optional(natural()), "null while undecided", "value"),
        Field("lower", natural(), "a proved lower bound"),
        Field("upper", natural(), "a proved upper bound"),
        Field(
            "fiber_dimension",
            optional(natural()),
            "parameters less the dimension",
            _fiber_dimension,
        ),
        Field(
            "percent",
            TEXT.having(pattern=r"^[0-9]+\.[0-9]{2}$"),
            "the upper bound in percent of the parameters, rounded down",
            "percent",
        ),
        Field(
            "untied",
            optional(UNTIED),
            "of the model with two matrices in place of tied ones; null where they are two",
            "untied",
        ),
        Field("theorem", TEXT, "what proves the bounds"),
        Field("conditions", each(TEXT), "what the theorem asks for, with this model's numbers"),
        Field(
            "certified",
            optional(CERTIFIED),
            "bounds found by computation, null where there are none",
            lambda result: None if result.ranks is None else result,
        ),
        Field("not_computed", optional(TEXT), "why ranks were not taken", "reason"),
        Field(
            "left_out",
            by_name(each(TEXT)),
            "parts that `--attention-only` leaves out, and the keys that name them",
            "model.left_out",
        ),
    ),
    version=2,
    title="dimension --config",
)
