"""Equal instances are one instance: what they are compared by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.errors import ProgramError
from proofs_check.claim import Part

_VALUES = {bool, int, float, Fraction, str, type(None)}
"""Types of what is its own value, as most things are."""


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
    if type(instance) in _VALUES:
        return instance  # type: ignore[no-any-return]
    if isinstance(instance, np.ndarray):
        return "matrix", instance.shape, tuple(map(value_of, instance.ravel().tolist()))
    if is_dataclass(instance) and not isinstance(instance, type):
        return type(instance), tuple(value_of(getattr(instance, f.name)) for f in fields(instance))
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
    """What tells an instance, of this value, from the others of all parts of a claim.

    A network, or weights, are the same in whichever part they stand. A number means something else in each part, unless
    both parts say that it is the same.
    """
    says_what_it_is = is_dataclass(instance) or hasattr(instance, "_fields")
    return value if says_what_it_is else (part.instance or part.name, value)
