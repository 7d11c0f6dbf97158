"""What `lightning-sym check` says of the claims, and the steps of the blackboard, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from lightning_cli.writing.fields import (
    FLOAT,
    JsonAnswer,
    JsonKind,
    constant,
    each,
    either,
    field,
    group,
    in_order,
    json_answer,
    natural,
    one_of,
    optional,
)
from lightning_cli.writing.shared_fields import ANY_MATRIX
from lightning_sym.lazy import lazy_imports
from lightning_sym.version import __version__

with lazy_imports(__name__):
    from proofs_check.blackboard import step

if TYPE_CHECKING:
    from proofs_check.baseline import Compared
    from proofs_check.claim import Claim, Part
    from proofs_check.run import ClaimResult, PartResult

HYPOTHESES = "where it is stated, where that is proved, and what is open; words with LaTeX between dollars"

SCOPES = one_of("IDENTITY", "GENERIC", "EXHAUSTIVE", "EVERY_WIDTH", "INSTANCES")

VERDICTS = one_of("HOLDS", "REFUTED", "UNDECIDED")


class Told(NamedTuple):
    """A claim, or a part of one, and what running it gave, if it ran."""

    stated: Claim | Part
    result: ClaimResult | PartResult | None


def _place_of_attribute(name: str, empty: object = None) -> Callable[[Told], Any]:
    """Return where an attribute of the result is; what is `empty` stands for none."""
    return lambda told: empty if told.result is None else attrgetter(name)(told.result)


def _verdict(told: Told) -> str | None:
    """Return the verdict; there is none before it ran, and where the program failed."""
    return None if told.result is None or told.result.verdict is None else told.result.verdict.value


def _parts(told: Told) -> list[Told]:
    """Return the parts of a claim, each with its result."""
    found = {part.name: part for part in _place_of_attribute("parts", ())(told)}
    return [Told(part, found.get(part.name)) for part in told.stated.parts]  # type: ignore[union-attr]


PART = group(
    field("name", str, "what is shown", "stated.name"),
    field("scope", SCOPES, "how far it reaches", "stated.scope.name"),
    field("expected", VERDICTS, of="stated.expected.value"),
    field("verdict", optional(VERDICTS), of=_verdict),
    field("instance", str, "what one instance is", "stated.instance"),
    field("instances", optional(natural()), of=_place_of_attribute("instances")),
    field("witness", optional(str), "where the statement fails, or is undecided", _place_of_attribute("witness")),
    field("findings", [str], "what was found out about the hypotheses", _place_of_attribute("findings", ())),
    field("tallies", [str], "what was counted", _place_of_attribute("tallies", ())),
    field(
        "examples",
        {str: str},
        "the first, second and last instance, in short",
        _place_of_attribute("examples", {}),
    ),
)

CLAIM = group(
    field("id", str, of="stated.id"),
    field("source", str, "where it stands in the paper", "stated.source"),
    field(
        "statement",
        str,
        "the title: what it is about in one line; what is stated is in `latex` and `hypotheses`",
        "stated.title",
    ),
    field("latex", str, "the statement", "stated.statement"),
    field("hypotheses", str, HYPOTHESES, "stated.hypotheses"),
    field("verdict", optional(VERDICTS), of=_verdict),
    field("expected", VERDICTS, of="stated.expected.value"),
    field("instances", optional(natural()), of=_place_of_attribute("instances")),
    field(
        "seconds",
        optional(FLOAT.having(minimum=0)),
        of=lambda told: None if told.result is None else round(told.result.seconds, 3),
    ),
    field("error", optional(str), "of the program", _place_of_attribute("error")),
    field("parts", each(PART, 1), of=_parts),
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

KEPT_PART = group(
    field("scope", SCOPES, of="scope.name"),
    field("verdict", VERDICTS, of="verdict.value"),
    field("instances", natural(1)),
    field("witness", optional(str), "where the statement fails, or is undecided"),
    field("findings", [str]),
    field("tallies", [str]),
)

KEPT_CLAIM = group(
    field("verdict", VERDICTS, of=lambda result: result.verdict and result.verdict.value),  # none where it failed
    field("instances", natural(1), "different ones, of all parts together"),
    field("parts", {str: KEPT_PART}, "by name", lambda result: {part.name: part for part in result.parts}),
)

KEPT_RUN = JsonAnswer(
    "baseline",
    "The file that `lightning-sym check --write-baseline FILE` writes and `--baseline FILE` reads.",
    (
        field("version", str, "of the program that wrote it"),
        field("size", one_of("quick", "full"), "of the instances"),
        field("claims", {str: KEPT_CLAIM}, "by id, what was found"),
    ),
)
"""What is kept of a run: nothing that depends on the machine."""

CHECK = json_answer(
    "check",
    field("claims", each(CLAIM, 1), "the claims, in the paper's order, with their parts"),
    field("baseline", optional(BASELINE), "with `--baseline`: how the run differs from the file; else null"),
    said="`lightning-sym check --json`. With `--list` everything that running would give is null.",
)


def check_document(
    claims: Sequence[Claim], results: dict[str, ClaimResult], compared: Compared | None = None
) -> dict[str, object]:
    """Return the JSON of claims with their results; without one what running it would give is null."""
    return CHECK.document(claims=[Told(claim, results.get(claim.id)) for claim in claims], baseline=compared)


def kept_run(results: Mapping[str, ClaimResult], *, quick: bool) -> dict[str, object]:
    """Return what is kept of a run in which every claim ran to its end; claims end in any order."""
    size = "quick" if quick else "full"
    return KEPT_RUN.document(version=__version__, size=size, claims=dict(sorted(results.items())))


# ---- steps of the blackboard


def _number(value: step.Number) -> str:
    """Return `3/2`, or `2*x^2*y - r`, which computer algebra systems read."""
    if isinstance(value, Fraction):
        return str(value)
    text = ""
    for exponents, c in value.terms:
        factors = [n + (f"^{e}" if e > 1 else "") for n, e in zip(value.variables, exponents, strict=True) if e]
        size = [str(abs(c))] if abs(c) != 1 or not factors else []
        sign = (" - " if text else "-") if c < 0 else (" + " if text else "")
        text += sign + "*".join(size + factors)
    return text or "0"


def _shown_document(shown: step.Shown) -> object:
    """Return a thing on the board as JSON."""
    value = shown.value
    if isinstance(value, step.ShownMatrix):
        rows = [[_number(entry) for entry in row] for row in value.rows]
        return MATRIX.written((shown.label, "matrix", rows, value.row_labels, value.column_labels))
    kind = "formula" if isinstance(value, str) else "number" if isinstance(value, Fraction) else "polynomial"
    said = value if isinstance(value, str) else _number(value)
    return VALUE.written((shown.label, kind, said))


MATRIX = in_order(
    field("label", str),
    field("kind", constant("matrix")),
    field("rows", ANY_MATRIX),
    field("row_labels", [str]),
    field("column_labels", [str]),
)

VALUE = in_order(field("label", str), field("kind", one_of("formula", "number", "polynomial")), field("value", str))

STEP = group(
    field("heading", str),
    field("prose", str),
    field("shown", [either(MATRIX, VALUE, written=_shown_document)]),
    field("answer", [in_order(field("label", str), field("words", str))]),
)
