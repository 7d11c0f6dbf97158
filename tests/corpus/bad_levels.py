"""Certificates by levels, one thing changed: the good one, and places with what is put there."""

from __future__ import annotations

from typing import Any

from networks_with_a_form import SIDE_BY_SIDE

BAD_LEVELS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "levels_of_a_reader": ("levels", (("first.K2", [[1, 1]]), ("second", SIDE_BY_SIDE | {"K1.2": [[1, 1]]}))),
    "levels_of_a_reading_query": ("levels", (("first.Q2", [[1, 1]]), ("second", SIDE_BY_SIDE | {"Q1.2": [[1, 1]]}))),
    "levels_of_values_that_read": (
        "levels", (("first.V2", [[0, 0], [3, 1]]), ("second", SIDE_BY_SIDE | {"V1.2": [[0, 0], [3, 1]]})),
    ),
    "levels_of_two_networks": ("levels", (("first.V2.1", [2, 0]),)),
    "levels_that_leave_out": ("levels", (("proof.first.1.0", None), ("proof.second.0.1", None))),
    "levels_that_are_missing": ("levels", (("proof.second", [[1]]),)),
    "levels_from_zero": ("levels", (("proof.first.0.0", 0),)),
    "levels_without_skip": ("levels", (("form.skip", False),)),
    "levels_for_different": ("levels", (("kind", "different"),)),
    "through_another_function": ("through", (("proof.networks.0.weights", lambda w: w | {"V1.1": [[0, 0], [2, 0]]}),)),
    "through_to_another_function": ("through", (("second", SIDE_BY_SIDE | {"V1.2": [[0, 0], [4, 0]]}),)),
    "through_nothing": ("through", (("proof.networks", []),)),
    "through_by_trust": ("through", (("proof.networks.0.proof", {"by": "merging"}),)),
    "through_for_different": ("through", (("kind", "different"),)),
}  # fmt: skip
