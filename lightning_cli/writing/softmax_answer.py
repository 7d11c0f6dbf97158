"""What `recover` says of softmax networks, as JSON: weights from a jet, or from the answers of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning_cli.writing.fields import field, group, json_answer, natural, one_of, optional
from lightning_cli.writing.shared_fields import ANY_MATRIX, ARCHITECTURE, SPELLED_MATRIX, SPELLED_NUMBER, TRIED

if TYPE_CHECKING:
    from lightning_sym.varieties.softmax_recovery import SoftmaxRecovery


def _virtual(found: SoftmaxRecovery) -> dict[str, Any]:
    """Return the virtual weights that are determined, by name."""
    value = {} if found.value is None else {"V": found.value}
    return {f"A{i}": a for i, a in enumerate(found.attention, 1)} | value


ASSUMPTIONS = "what the answer rests on beside the answers of a program, a line each"

ANSWER = json_answer(
    "recover-softmax",
    field("architecture", ARCHITECTURE, "the network"),
    field(
        "answer",
        one_of("weights", "none", "undecided"),
        "whether some network of the shape has this jet, or gives these answers",
        "answer.value",
    ),
    field(
        "weights",
        optional({str: ANY_MATRIX}),
        "matrices by name, as in a file of weights; with a radius, their middles",
        "matrices",
    ),
    field(
        "radius",
        optional(SPELLED_NUMBER),
        "each entry of a virtual weight is within this of the true one; null where they are exact",
    ),
    field("virtual_weights", {str: SPELLED_MATRIX}, "A1, A2, ..., as far as they are determined, and V", _virtual),
    field("reasons", [str], "what fails, a line each"),
    field("assumptions", [str], ASSUMPTIONS),
    field("queries", natural(), "how many were asked"),
    field("digits", optional(natural(1)), "behind the point in each number of an answer; null without queries"),
    field("checked", str, "what was compared in the end"),
    TRIED,
    said="`lightning-sym recover --json` of a jet, and `lightning-sym recover --ask --json`.",
    title="recover of a jet, recover --ask",
)

NODES = group(field("size", natural(1)), field("places", natural()))

PLAN = json_answer(
    "query-plan",
    field("architecture", ARCHITECTURE, "the network"),
    field("queries", natural(1), "how many will be asked at most"),
    field("digits", natural(1), "behind the point in each number of an answer"),
    field("bound", SPELLED_NUMBER, "of the entries of the virtual attention matrices"),
    field("denominators", optional(natural(1)), "a bound of the denominators of all virtual weights; null for balls"),
    field(
        "nodes", [NODES], "of each layer: how many points of a line, and the power of ten that they are multiples of"
    ),
    field("assumptions", [str], "what the answer will rest on, a line each"),
    said="`lightning-sym recover --ask --plan --json`.",
    title="recover --ask --plan",
)
