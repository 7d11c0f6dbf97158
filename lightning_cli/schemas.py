"""What answers of commands, baselines and certificates look like as JSON: JSON Schemas, which are data.

Those of answers and baselines follow from their fields, that of certificates from the forms by which the checker reads
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from lightning_cli.main import COMMANDS, module_of
from lightning_cli.writing.fields import COMMON, DRAFT, JsonAnswer, Schema, common_schema
from lightning_cli.writing.version_answer import ANSWER as VERSION
from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput
from proofs_check.checker.functions.matrices import rational_matrix
from proofs_check.checker.functions.network import FORM, Form
from proofs_check.checker.verify import (
    BRACKETS,
    INTEGER,
    KINDS,
    NETWORK,
    RATIONAL,
    SOME,
    Later,
    Network,
    Table,
    any_prime,
    odd_prime,
    rational,
)

_DESCRIPTION = (
    "The grammar of docs/certificate.md. What a schema cannot say (shapes that fit, primes, distinct keys, sizes of "
    "files) stands there."
)
_READ_BY: dict[Callable[..., object], object] = {
    any_prime: range(2, 2**22),
    odd_prime: range(3, 2**22),
    rational: Later(INTEGER, RATIONAL),
    rational_matrix: [[rational, SOME], SOME],
    Network: NETWORK,
    Form.read: FORM,
}
"""By a function that makes something of a value, the form that this has."""

_PLAIN = {bool: "boolean", str: "string", dict: "object"}


class _Definitions:
    """Schemas of forms, and what they refer to: tables of objects once each, as proofs have proofs in them."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def schema(self, form: Any) -> Schema:
        """Return the schema of a form, as `take` of the checker reads it."""
        if isinstance(form, Table):
            return self._reference(form)
        if isinstance(form, Later):
            every = [self.schema(each) for each in form.forms]
            return every[0] if len(every) == 1 else {"anyOf": every}
        if isinstance(form, tuple):
            return {"anyOf": [{"type": "null"}, self.schema(form[0])]}
        if isinstance(form, list):
            return self._array(*form)
        if isinstance(form, Mapping):
            return self.object(form)
        if isinstance(form, range):
            return {"type": "integer", "minimum": form[0], "maximum": form[-1]}
        if isinstance(form, frozenset):
            return {"enum": sorted(form)}
        if isinstance(form, re.Pattern):
            return {"type": "string", "pattern": f"^(?:{form.pattern})$"}
        return {"type": _PLAIN[form]} if form in _PLAIN else self.schema(_READ_BY[form])

    def object(self, form: Mapping[Any, Any]) -> Schema:
        """Return the schema of an object: a question mark is behind a key that may be there."""
        plain = {key: each for key, each in form.items() if isinstance(key, str)}
        patterns = {f"^(?:{key.pattern})$": self.schema(each) for key, each in form.items() if key not in plain}
        return {
            "type": "object",
            "properties": {key.removesuffix("?"): self.schema(each) for key, each in plain.items()},
            **({"patternProperties": patterns} if patterns else {}),
            "required": [key for key in plain if not key.endswith("?")],
            "additionalProperties": False,
        }

    def _array(self, form: Any, sizes: int | range = 0) -> Schema:
        found: Schema = {"type": "array", "items": self.schema(form)}
        if isinstance(sizes, range):
            found |= {"minItems": sizes[0]} | ({"maxItems": sizes[-1]} if sizes[-1] < BRACKETS else {})
        return found

    def _reference(self, objects: Table) -> Schema:
        name = re.sub(r"^an? ", "", objects.name).replace(" ", "_")
        if name not in self.found:
            self.found[name] = {}  # it may refer to itself
            self.found[name] = self.kinds(objects)
        return {"$ref": f"#/$defs/{name}"}

    def kinds(self, objects: Table) -> Schema:
        """Return the schema of all objects of a table, one for each row."""
        rows = ((word, form) for word in objects.words() for form, _ in objects.rows(word))
        return {
            "anyOf": [self.object({**objects.begin, objects.key: frozenset({word}), **form}) for word, form in rows]
        }


def certificate_schema() -> Schema:
    """Return the schema of certificates of all kinds."""
    definitions = _Definitions()
    whole = definitions.kinds(KINDS)
    return {
        "$schema": DRAFT,
        "title": "Certificate",
        "description": _DESCRIPTION,
        **whole,
        "$defs": definitions.found,
    }


def all_answers() -> Iterator[JsonAnswer]:
    """Yield each kind of answer once, command by command, and that of the program itself."""
    yield VERSION
    for name in COMMANDS:
        yield from getattr(module_of(name), "ANSWERS", ())


@cache
def _schemas() -> dict[str, Schema]:
    """Return all schemas by name: first those of answers, and of files that commands write."""
    answers = {answer.name: answer.schema() for answer in all_answers()}
    return answers | {COMMON.removesuffix(".schema.json"): common_schema(), "certificate": certificate_schema()}


def schema_names() -> list[str]:
    """Return the names that `schema` knows, in order.

    Example:
        >>> schema_names()[:3]
        ['align', 'apply', 'atlas']
    """
    return sorted(_schemas())


def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema (2020-12).

    Args:
        name: that of the answer, such as `dimension`, or `certificate`, `baseline`, `common`; what others refer to as
            `common.schema.json` is the last one.

    Raises:
        BadInput: there is no schema of this name.

    Example:
        >>> schema("sweep")["properties"]["schema"]["const"]
        'lightning-sym/sweep/1'
    """
    require_arguments(schema, locals())
    if name not in _schemas():
        raise BadInput(f"a schema must be one of {', '.join(schema_names())}, got {shown(name)}")
    found: dict[str, Any] = json.loads(json.dumps(_schemas()[name]))  # the caller's own
    return found
