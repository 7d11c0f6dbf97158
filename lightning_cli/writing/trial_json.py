"""What an atlas says about a formula, in JSON answers."""

from __future__ import annotations

from typing import Any

from lightning_cli.options import architecture_json


def trial_json(trial: Any) -> dict[str, Any]:
    """The trial of a formula, with its smallest counterexample."""
    found = trial.counterexample
    return {
        "formula": trial.formula,
        "agree": trial.agree,
        "refuted": trial.refuted,
        "undecided": trial.undecided,
        "without": trial.without,
        "counterexample": None
        if found is None
        else {
            "architecture": architecture_json(found.architecture),
            "dimension": found.dimension,
            "lower": found.lower,
            "upper": found.upper,
            "value": trial.value,
        },
    }
