"""What `lightning-sym dimension --config` says of a model, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightning_cli.writing.fields import TEXT, field, group, in_order, json_answer, natural, one_of, optional
from lightning_cli.writing.shared_fields import TRIED

if TYPE_CHECKING:
    from lightning_sym.dimension.transformers import ModelDimension


MASKS = {True: "causal", False: "none", None: None}

READ = group(
    field("hidden_size", natural(1), of="width"),
    field("heads", natural(1)),
    field("key_value_heads", natural(1), of="groups"),
    field("layers", natural(1)),
    field("vocabulary", natural(1)),
    field("head_width", natural(1)),
    field("value_width", natural(1), of="values"),
    field("tied", bool),
    field("mask", optional(one_of("causal", "none")), of=lambda model: MASKS[model.causal]),
)

UNTIED = in_order(field("parameters", natural(1)), field("dimension", natural()))

CERTIFIED = group(
    field("lower", natural(), of="ranks.lower"),
    field("upper", natural()),
    field("prime", natural(1), of="ranks.prime"),
    field("matrices", natural(1), of="ranks.matrices"),
)


_WHOLE = (
    field("parameters", natural(1), "of all parts"),
    field("group", natural(), "the dimension of its known symmetries, at almost all weights"),
    field("dimension", optional(natural()), "of the set of its functions, null where it is not proved"),
    field("upper", natural(), "a proved upper bound of it"),
    field("proof", str, "what proves it, and on which inputs; or what is missing"),
)
WHOLE = group(*_WHOLE)

ATTENTION = in_order(field("parameters", natural(1)), field("dimension", natural()))

WHOLE_MODEL = json_answer(
    "whole-model",
    field("config", str, "the file"),
    *_WHOLE,
    field("reason", optional(str), "what keeps the upper bound from being the dimension; null where it is"),
    field("attention", optional(ATTENTION), "of the attention alone; null where no theorem has it"),
    said="`lightning-sym dimension --config FILE --json`, of a model with MLPs.",
    title="dimension --config, all parts",
)


def _fiber_dimension(result: ModelDimension) -> int | None:
    return None if result.value is None else result.model.parameters - result.value


MODEL = json_answer(
    "config",
    field("config", str, "the file"),
    field("model", READ, "what was read from it"),
    field(
        "parameters",
        natural(1),
        "of the attention, with embedding and unembedding; what is tied or shared counts once",
        "model.parameters",
    ),
    field("dimension", optional(natural()), "null while undecided", "value"),
    field("lower", natural(), "a proved lower bound"),
    field("upper", natural(), "a proved upper bound"),
    field("fiber_dimension", optional(natural()), "parameters less the dimension", _fiber_dimension),
    field(
        "percent",
        TEXT.having(pattern=r"^[0-9]+\.[0-9]{2}$"),
        "the upper bound in percent of the parameters, rounded down",
    ),
    field("untied", optional(UNTIED), "of the model with two matrices in place of tied ones; null where they are two"),
    field("theorem", str, "what proves the bounds"),
    field("conditions", [str], "what the theorem asks for, with this model's numbers"),
    field(
        "certified",
        optional(CERTIFIED),
        "bounds found by computation, null where there are none",
        lambda result: None if result.ranks is None else result,
    ),
    field("not_computed", optional(str), "why ranks were not taken", "reason"),
    field(
        "left_out",
        {str: [str]},
        "parts that `--attention-only` leaves out, and the keys that name them",
        "model.left_out",
    ),
    TRIED,
    field("whole", optional(WHOLE), "the whole model, all parts together; null where its parts are not known"),
    said="`lightning-sym dimension --config FILE --json`.",
    version=2,
    title="dimension --config",
)
