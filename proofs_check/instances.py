"""Equal instances are one instance: what they are compared by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from lightning_sym.errors import ProgramError
from proofs_check.claim import Part

_PLAIN = frozenset({int, str, bool, float, Fraction, type(None)})


@cache
def _fields_of(kind: type) -> tuple[str, ...] | None:
    """Names of the fields of a record."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else None


def value_of(instance: Any) -> Hashable:
    """What two instances share exactly if they are equal, matrices by their entries.

    Raises:
        ProgramError: it has none: neither a record, a matrix or a list, nor hashable.

    Example:
        >>> value_of([1, np.array([[2, 3]])]) == value_of((1, np.array([[2, 3]])))
        True
        >>> value_of(np.array([[2, 3]])) == value_of(np.array([2, 3]))
        False
    """
    kind = type(instance)
    if kind in _PLAIN:
        return instance  # type: ignore[no-any-return]
    if isinstance(instance, np.ndarray):
        entries = instance.ravel().tolist()
        return "matrix", instance.shape, tuple(entries if instance.dtype != object else map(value_of, entries))
    if not isinstance(instance, type) and (names := _fields_of(kind)) is not None:  # type: ignore[arg-type]
        return kind, tuple([value_of(getattr(instance, name)) for name in names])
    if isinstance(instance, (tuple, list)):
        return type(instance) if hasattr(instance, "_fields") else "list", tuple(map(value_of, instance))
    if isinstance(instance, Mapping):
        return "mapping", frozenset((key, value_of(value)) for key, value in instance.items())
    try:
        hash(instance)
    except TypeError as error:
        raise ProgramError(f"an instance must have a value to compare it by, got {type(instance).__name__}") from error
    return instance  # type: ignore[no-any-return]


def key_in_claim(part: Part, instance: Any, value: Hashable) -> Hashable:
    """What tells an instance, with this value, from the others of all parts of a claim.

    A network, or weights, are the same in whichever part they stand. A number means something else in each part, unless
    both parts say that it is the same.
    """
    says_what_it_is = is_dataclass(instance) or hasattr(instance, "_fields")
    return value if says_what_it_is else (part.instance or part.name, value)
