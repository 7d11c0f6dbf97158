"""Values of the options of a network: rational numbers as people give them, and how they are typed again."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):  # most networks have no numbers in their options
    from lightning_sym.network.readers import exact_json

Number = Fraction | float | str
"""A rational number as people give it; it becomes a `Fraction`."""

_MOST_DIGITS = 100


def number(value: object, what: str) -> Fraction:
    """Return a rational number, as people and files give it.

    Raises:
        BadInput: it is none.

    Example:
        >>> number("3/5", "a cosine"), number(1e-5, "epsilon") == Fraction(1e-5)
        (Fraction(3, 5), True)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
        raise BadInput(f"{what} must be a rational number, got {shown(value)}")
    try:
        found = Fraction(exact_json.ExactNumbers().number(value) if isinstance(value, str) else value)
    except (FileFormatError, ValueError, OverflowError):  # text that is none, NaN, infinity
        found = None
    if found is None or max(abs(found.numerator), found.denominator) >= 10**_MOST_DIGITS:
        raise BadInput(f"{what} must be a rational number of at most {_MOST_DIGITS} digits, got {shown(value)}")
    return found


def as_typed(value: Any) -> str:
    """Return a dataclass as it would be typed: only what was said, what has no place in the order of arguments last."""
    listed = sorted(fields(value), key=lambda f: f.kw_only is True)
    said = [f"{f.name}={_typed(getattr(value, f.name))}" for f in listed if getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(said)})"


def _typed(value: object) -> str:
    """Return a value as it would be typed; fractions are text, which is read as such."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"'{value}'"
    if isinstance(value, tuple):
        return f"({', '.join(map(_typed, value))}{',' * (len(value) == 1)})"
    return repr(value)
