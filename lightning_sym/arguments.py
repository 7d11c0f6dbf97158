"""What a public function is given: of the kind that it says, or refused in one line before anything else happens."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import Any, Union, get_args, get_origin, get_type_hints

from lightning_sym.errors import BadInput

_WORDS: dict[object, str] = {
    "Architecture": "an Architecture",
    "Weights": "Weights (load_weights reads a file)",
    "NetworkForm": "a NetworkForm",
    "NoneType": "None",
    "PathLike": "a path",
    "bool": "true or false",
    "dict": "a dictionary",
    "float": "a number",
    "str": "text",
    Callable: "a function",
    Iterable: "a list",
    Mapping: "a mapping",
    Sequence: "a list",
    os.PathLike: "a path",
}


def require_arguments(function: Callable[..., object], given: Mapping[str, object]) -> None:
    """Compare what a function is given with its annotations: classes, mappings, lists, functions, paths, numbers.

    Integers, and what is inside of lists and mappings, are left to those who know what they must be.

    Args:
        function: it has annotations.
        given: its arguments by name, as `locals()` has them in its first line.

    Raises:
        BadInput: one is of another kind; the message names it, and what it must be.

    Example:
        >>> def double(numbers: Iterable[int]) -> list[int]:
        ...     require_arguments(double, locals())
        ...     return [2 * n for n in numbers]
        >>> double(3)
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: numbers must be a list, got 3
    """
    for name, kinds in _kinds(function).items():
        if type(given[name]) not in kinds and not any(_is_of(given[name], kind) for kind in kinds):
            words = dict.fromkeys(_WORDS.get(k, _WORDS.get(getattr(k, "__name__", ""), k.__name__)) for k in kinds)
            if "text" in words and "a path" in words:
                del words["text"]
            raise BadInput(f"{name} must be {' or '.join(words)}, got {shown(given[name])}")


def shown(value: object) -> str:
    """Return a value in a message: one short line.

    Example:
        >>> shown("x" * 100)
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = " ".join(ascii(value).split())
    except (ValueError, RecursionError):  # an integer of too many digits, a list too many lists deep
        text = f"a long {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:52]}..."


@cache
def _kinds(function: Callable[..., object]) -> dict[str, tuple[type, ...]]:
    """Return by parameter the kinds that it may be of; parameters that may be anything are left out."""
    found = {}
    for name, hint in get_type_hints(function).items():
        parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        kinds = tuple(get_origin(part) or part for part in parts)
        asked = (isinstance(kind, type) and kind not in (Any, int, object) for kind in kinds)
        if name != "return" and all(asked) and not any(getattr(kind, "_is_protocol", False) for kind in kinds):
            found[name] = kinds
    return found


def _is_of(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if kind in (Iterable, Sequence) and (isinstance(value, (str, bytes, Mapping)) or getattr(value, "ndim", 1) == 0):
        return False  # an array without axes has all methods of a list and none of the length
    if kind is Sequence:  # arrays are sequences in all but name
        return isinstance(value, kind) or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))
    return isinstance(value, kind)
