"""What `lightning-sym dimension --config` says of a model, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightning_sym.dimension.transformers import ModelDimension

SCHEMA = "lightning-sym/config/2"


def as_document(file: str, result: ModelDimension) -> dict[str, Any]:
    """The answer as JSON."""
    model, ranks, value, untied = result.model, result.ranks, result.value, result.untied
    return {
        "schema": SCHEMA,
        "config": file,
        "model": {
            "hidden_size": model.width,
            "heads": model.heads,
            "key_value_heads": model.groups,
            "layers": model.layers,
            "vocabulary": model.vocabulary,
            "head_width": model.head_width,
            "value_width": model.values,
            "tied": model.tied,
            "mask": {True: "causal", False: "none", None: None}[model.causal],
        },
        "parameters": model.parameters,
        "dimension": value,
        "lower": result.lower,
        "upper": result.upper,
        "fiber_dimension": None if value is None else model.parameters - value,
        "percent": result.percent,
        "untied": None if untied is None else {"parameters": untied[0], "dimension": untied[1]},
        "theorem": result.theorem,
        "conditions": list(result.conditions),
        "certified": None
        if ranks is None
        else {"lower": ranks.lower, "upper": result.upper, "prime": ranks.prime, "matrices": ranks.matrices},
        "not_computed": result.reason,
        "left_out": model.left_out,
    }
