"""Weights in JSON: integers, decimals and strings such as `"-2/3"`, all exact."""

from __future__ import annotations

from typing import Any

from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import Allowance, Contents, require_form, require_names, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse

SCHEMA = "lightning-sym/weights/1"

_KEYS = ("schema", "weights", "form")


def read_json(content: bytes) -> Contents:
    """Return the matrices of a JSON file, in an object of their own or under `"weights"`.

    Raises:
        FileFormatError: it is not of its documented form.
        TooLarge: it holds too many entries.
    """
    numbers = ExactNumbers()
    return contents_of(parse(content, numbers), numbers)


def contents_of(document: object, numbers: ExactNumbers) -> Contents:
    """Return the matrices of a value of JSON whose numbers are read already, as `read_json` has them of a file.

    Raises:
        FileFormatError, TooLarge: as there.
    """
    matrices, form = _parts(document)
    require_names(matrices)
    allowance = Allowance()
    for name, rows in matrices.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise FileFormatError(f"{name} must be a list of rows, got {shown(rows)}")
        allowance.take(sum(map(len, rows)))
        for i, row in enumerate(rows):  # in place: never all of them twice
            row[:] = [_entry(x, numbers, name, i, j) for j, x in enumerate(row)]
    return Contents(matrices, form)


def _parts(document: object) -> tuple[dict[str, Any], object]:
    if not isinstance(document, dict):
        example = '{"Q1": [[1, "-2/3"]], "K1": ..., "V1": ...}'
        raise FileFormatError(f"it must be an object of matrices, {example}, got {shown(document)}")
    form = require_form(document["form"]) if "form" in document else None
    if "schema" not in document and "weights" not in document:  # the matrices alone will do
        return {name: value for name, value in document.items() if name != "form"}, form
    if document.get("schema", SCHEMA) != SCHEMA:
        raise FileFormatError(f'it must have the schema "{SCHEMA}", got {shown(document["schema"])}')
    for key in document:
        if key not in _KEYS:
            raise FileFormatError(f"beside the weights there must be nothing but a schema and a form, got {shown(key)}")
    if not isinstance(document.get("weights"), dict):
        raise FileFormatError(f'there must be an object "weights" of matrices, got {shown(document.get("weights"))}')
    return document["weights"], form


def _entry(value: object, numbers: ExactNumbers, name: str, row: int, column: int) -> object:
    if isinstance(value, str):
        return numbers.number(value)
    if value is None or isinstance(value, (bool, list, dict)):
        raise FileFormatError(f"{name}[{row}, {column}] must be an integer, a fraction or a float, got {shown(value)}")
    return value
