"""What answers of commands, certificates and baselines look like as JSON: JSON Schemas, which are data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput

_END = ".schema.json"


@cache
def _texts() -> dict[str, str]:
    """Return all schemas by name, as text."""
    found = (file for file in files(__name__).iterdir() if file.name.endswith(_END))
    return {file.name.removesuffix(_END): file.read_text(encoding="utf-8") for file in found}


def schema_names() -> list[str]:
    """The names that `schema` knows, in order.

    Example:
        >>> schema_names()[:3]
        ['atlas', 'baseline', 'canonical']
    """
    return sorted(_texts())


def schema(name: str) -> dict[str, Any]:
    """A JSON Schema (2020-12).

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
    texts = _texts()
    if name not in texts:
        raise BadInput(f"a schema must be one of {', '.join(schema_names())}, got {shown(name)}")
    found: dict[str, Any] = json.loads(texts[name])
    return found
