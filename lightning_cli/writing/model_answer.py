"""What `lightning-sym dimension --config` says of a model, as JSON and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning_cli import options

if TYPE_CHECKING:
    from lightning_sym.dimension.certify import CertifiedDimension
    from lightning_sym.network.model_config import Model

SCHEMA = "lightning-sym/config/1"


def percent(part: int, whole: int) -> str:
    """`part / whole` in percent, two digits, cut and not rounded: a proper part never shows as 100.

    Example:
        >>> percent(999999, 1000000)
        '99.99'
    """
    hundredths = 10000 * part // whole
    return f"{hundredths // 100}.{hundredths % 100:02}"


def as_document(file: str, model: Model, results: list[CertifiedDimension]) -> dict[str, Any]:
    """The answer as JSON; parameters, dimension and fiber are those of the model with untied embeddings."""
    from lightning_sym.dimension.transformers import dimension_bound, formula_at

    bound = dimension_bound(model)
    return {
        "schema": SCHEMA,
        "config": file,
        "model": {
            "hidden_size": model.width,
            "heads": model.heads,
            "layers": model.layers,
            "vocabulary": model.vocabulary,
            "head_width": model.head_width,
            "mask": {True: "causal", False: "none", None: None}[model.causal],
        },
        "parameters": model.parameters,
        "parameters_tied": model.own_parameters if model.tied else None,
        "dimension": {"value": bound, "upper_bound": "theorem", "equality": "formula, not proved"},
        "fiber_dimension": {"value": model.parameters - bound, "lower_bound": "theorem"},
        "percent": percent(bound, model.parameters),
        "left_out": model.left_out,
        "certified": [
            {
                "architecture": options.architecture_json(result.architecture),
                "parameters": result.architecture.parameter_count,
                "dimension": result.value,
                "lower": result.lower,
                "upper": result.upper,
                "status": result.status.value,
                "formula": formula_at(result.architecture),
                "agrees": None if result.value is None else result.value == formula_at(result.architecture),
            }
            for result in results
        ],
    }


def print_answer(document: dict[str, Any], results: list[CertifiedDimension]) -> None:
    """The answer as a table."""
    from rich.markup import escape

    from lightning_cli.writing.output import answer_table, console

    table = answer_table()
    model = document["model"]
    mask = {"causal": "causal", "none": "no mask", None: "mask not named (the count is the same)"}[model["mask"]]
    table.add_row(
        "model",
        f"embedding {model['vocabulary']:,} -> {model['hidden_size']:,}, {model['layers']:,} residual layers of "
        f"{model['heads']:,} softmax heads of width {model['head_width']:,}, an unembedding of its own, {mask}",
    )
    table.add_row("parameters", f"{document['parameters']:,}")
    if (tied := document["parameters_tied"]) is not None:
        table.add_row("", f"{tied:,} with tied embeddings; all else here is about the untied model, two matrices")
    table.add_row("dimension", f"{document['dimension']['value']:,}  {document['percent']} % of the parameters")
    table.add_row("generic fiber", f"dimension {document['fiber_dimension']['value']:,}")
    table.add_row("theorem", "the dimension is at most this number, the fiber at least this large")
    table.add_row(
        "not proved", "that the number is reached at this size: a formula, for real inputs, two or more tokens"
    )
    for result, entry in zip(results, document["certified"], strict=True):
        found = f"between {result.lower} and {result.upper}" if result.value is None else str(result.value)
        verdict = {True: "[green]agrees[/green]", False: "[red]differs[/red]", None: "[yellow]undecided[/yellow]"}
        said = f"{found} of {entry['parameters']}, formula {entry['formula']}: {verdict[entry['agrees']]}"
        table.add_row("certified" if result.value is not None else "undecided", f"{said}  ({result.architecture})")
    for part, keys in document["left_out"].items():
        table.add_row("left out", escape(f"{part} ({', '.join(keys)})"))
    console().print(table)
