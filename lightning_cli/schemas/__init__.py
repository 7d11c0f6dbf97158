"""What answers of commands, certificates and baselines look like as JSON: JSON Schemas, which are data.

Those of answers follow from their fields, that of certificates from the forms of the checker, others stand beside this
module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from lightning_cli.main import COMMANDS, module_of
from lightning_cli.schemas.certificates import certificate_schema
from lightning_cli.writing.fields import COMMON, JsonAnswer, Schema, common_schema
from lightning_cli.writing.version_answer import ANSWER as VERSION
from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput

_END = ".schema.json"


def all_answers() -> Iterator[JsonAnswer]:
    """Yield each kind of answer once, command by command, and that of the program itself."""
    yield VERSION
    for name in COMMANDS:
        yield from getattr(module_of(name), "ANSWERS", ())


@cache
def _schemas() -> dict[str, Schema]:
    """Return all schemas by name: first those of answers, then those of files."""
    found = {answer.name: answer.schema() for answer in all_answers()} | {COMMON.removesuffix(_END): common_schema()}
    beside = (file for file in files(__name__).iterdir() if file.name.endswith(_END))
    found["certificate"] = certificate_schema()
    return found | {file.name.removesuffix(_END): json.loads(file.read_text(encoding="utf-8")) for file in beside}


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
