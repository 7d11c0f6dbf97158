"""Steps of the blackboard in JSON: headings, prose, exact matrices, numbers and formulas."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lightning_cli.writing.fields import constant, either, field, group, in_order, one_of
from lightning_cli.writing.shared_fields import ANY_MATRIX
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from proofs_check.blackboard import step


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


def _shown_document(shown: step.Shown) -> dict[str, Any]:
    """Return a thing on the board as JSON."""
    value = shown.value
    if isinstance(value, step.ShownMatrix):
        rows = [[_number(entry) for entry in row] for row in value.rows]
        return MATRIX.written((shown.label, "matrix", rows, value.row_labels, value.column_labels))  # type: ignore[no-any-return]
    kind = "formula" if isinstance(value, str) else "number" if isinstance(value, Fraction) else "polynomial"
    said = value if isinstance(value, str) else _number(value)
    return VALUE.written((shown.label, kind, said))  # type: ignore[no-any-return]


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
