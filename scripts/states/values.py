"""What the library returns, as JSON: its text, its line, its formula, and its public fields, theirs too."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Set
from fractions import Fraction
from functools import cached_property
from typing import Any

Answer = dict[str, Any]


def plain(value: Any) -> Any:
    """Return the value as JSON; numbers other than integers as text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else f"{value:#x}"
    if isinstance(value, float | Fraction):
        return str(value) if isinstance(value, float) else f"{plain(value.numerator)}/{plain(value.denominator)}"
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Set):
        return sorted(map(repr, value))
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value):
        fields = (field.name for field in dataclasses.fields(value) if not field.name.startswith("_"))
        return {name: plain(getattr(value, name)) for name in fields}
    return type(value).__name__ if callable(value) or " at 0x" in repr(value) else str(value)


def result_of(value: Any) -> Any:
    """Return an answer of the library as JSON: what it prints, shows in a notebook, and holds."""
    if not dataclasses.is_dataclass(value):
        return plain(value)
    found: Answer = {"text": str(value), "line": repr(value)}
    if hasattr(value, "_repr_latex_"):
        found["latex"] = value._repr_latex_()
    properties = [
        name
        for name, kind in inspect.getmembers(type(value), lambda kind: isinstance(kind, property | cached_property))
        if not name.startswith("_")
    ]
    return found | {"fields": plain(value), "properties": {name: attempt(getattr, value, name) for name in properties}}


def attempt(ask: Callable[..., Any], *given: Any) -> Any:
    """Return what a question is answered with, or how it is refused."""
    try:
        value = ask(*given)
        return value if isinstance(value, dict) and ask is not getattr else plain(value)
    except Exception as error:  # noqa: BLE001 - an error of either state is its answer
        return {"raised": type(error).__name__, "message": str(error)}


def shortened(value: Any, longest: int) -> Any:
    """Return the value; of one with more characters how it begins, and a digest of it."""
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= longest:
        return value
    return f"{text[:300]}... ({len(text):,} characters, {hashlib.sha256(text.encode()).hexdigest()})"
