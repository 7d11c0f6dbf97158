"""What `lightning-sym check` says of the claims, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lightning_cli.writing.fields import FLOAT, JsonKind, each, field, group, json_answer, natural, one_of, optional

if TYPE_CHECKING:
    from proofs_check.baseline import Compared
    from proofs_check.claim import Claim, Part
    from proofs_check.run import ClaimResult, PartResult

HYPOTHESES = "where it is stated, where that is proved, and what is open; words with LaTeX between dollars"

SCOPES = one_of("IDENTITY", "GENERIC", "EXHAUSTIVE", "EVERY_WIDTH", "INSTANCES")

VERDICTS = one_of("HOLDS", "REFUTED", "UNDECIDED")


class PartToTell(NamedTuple):
    """A part of a claim, and what running it gave."""

    part: Part
    result: PartResult | None

    def found(self, name: str) -> Any:
        """An attribute of the result, if there is one."""
        return None if self.result is None else getattr(self.result, name)


class ClaimToTell(NamedTuple):
    """A claim, and what running it gave."""

    claim: Claim
    result: ClaimResult | None

    def found(self, name: str) -> Any:
        """An attribute of the result, if there is one."""
        return None if self.result is None else getattr(self.result, name)

    def parts(self) -> list[PartToTell]:
        """Its parts, each with its result."""
        found = {} if self.result is None else {part.name: part for part in self.result.parts}
        return [PartToTell(part, found.get(part.name)) for part in self.claim.parts]


def _verdict(told: ClaimToTell | PartToTell) -> str | None:
    verdict = told.found("verdict")
    return None if verdict is None else verdict.value


def _seconds(told: ClaimToTell) -> float | None:
    return None if told.result is None else round(told.result.seconds, 3)


def _found(name: str) -> Callable[[ClaimToTell | PartToTell], Any]:
    return lambda told: told.found(name)


PART = group(
    field("name", str, "what is shown", "part.name"),
    field("scope", SCOPES, "how far it reaches", "part.scope.name"),
    field("expected", VERDICTS, of="part.expected.value"),
    field("verdict", optional(VERDICTS), of=_verdict),
    field("instance", str, "what one instance is", "part.instance"),
    field("instances", optional(natural()), of=_found("instances")),
    field("witness", optional(str), "where the statement fails, or is undecided", _found("witness")),
    field("findings", [str], "what was found out about the hypotheses", lambda told: told.found("findings") or ()),
    field("tallies", [str], "what was counted", lambda told: told.found("tallies") or ()),
    field(
        "examples",
        {str: str},
        "the first, second and last instance, in short",
        lambda told: dict(told.found("examples") or {}),
    ),
)

CLAIM = group(
    field("id", str, of="claim.id"),
    field("source", str, "where it stands in the paper", "claim.source"),
    field(
        "statement",
        str,
        "the title: what it is about in one line; what is stated is in `latex` and `hypotheses`",
        "claim.title",
    ),
    field("latex", str, "the statement", "claim.statement"),
    field("hypotheses", str, HYPOTHESES, "claim.hypotheses"),
    field("verdict", optional(VERDICTS), of=_verdict),
    field("expected", VERDICTS, of="claim.expected.value"),
    field("instances", optional(natural()), of=_found("instances")),
    field("seconds", optional(FLOAT.having(minimum=0)), of=_seconds),
    field("error", optional(str), "of the program", _found("error")),
    field("parts", each(PART, 1), of=ClaimToTell.parts),
)

COMPARED = ("claim", "part", "scope", "verdict", "instances", "witness", "findings", "tallies")

EITHER = JsonKind({"type": ["string", "integer", "null"]})

DIFFERENCE = group(
    field("claim", str),
    field("part", str, "its name; empty where the claim as a whole is meant"),
    field("what", one_of(*COMPARED), "claim and part: one that is gone"),
    field("before", EITHER),
    field("now", EITHER),
)

BASELINE = group(
    field("compared", natural(), "claims that stand in both"),
    field("differences", [DIFFERENCE]),
    field("notes", [str], "what could not be compared, and why"),
)

CHECK = json_answer(
    "check",
    field("claims", each(CLAIM, 1), "the claims, in the paper's order, with their parts"),
    field("baseline", optional(BASELINE), "with `--baseline`: how the run differs from the file; else null"),
    said="`lightning-sym check --json`. With `--list` everything that running would give is null.",
)


def check_document(
    claims: Sequence[Claim], results: dict[str, ClaimResult], compared: Compared | None = None
) -> dict[str, Any]:
    """The JSON of claims with their results; a claim without one has null for what running it would give."""
    return CHECK.document(claims=[ClaimToTell(claim, results.get(claim.id)) for claim in claims], baseline=compared)
