"""Equal instances are one instance: what they are compared by; and how far the instances of a part reach."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from lightning_sym.errors import ProgramError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from proofs_check.claim import Part

_PLAIN = frozenset({int, str, bool, float, Fraction, type(None)})


@cache
def _fields_of(kind: type) -> tuple[str, ...] | None:
    """Return names of the fields of a record."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else None


def value_of(instance: object) -> Hashable:
    """Return what two instances share exactly if they are equal, matrices by their entries.

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
        return instance
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
    return instance


def key_in_claim(part: Part, instance: object, value: Hashable) -> Hashable:
    """Return what tells an instance, with this value, from the others of all parts of a claim.

    A network, or weights, are the same in whichever part they stand. A number means something else in each part, unless
    both parts say that it is the same.
    """
    says_what_it_is = is_dataclass(instance) or hasattr(instance, "_fields")
    return value if says_what_it_is else (part.instance or part.name, value)


_SIZES = {
    "p": "p", "d": "d", "d_out": "d'", "a": "a", "alpha": "alpha", "width": "widths", "widths": "widths",
    "depth": "layers", "heads": "heads", "tokens": "tokens",
}  # fmt: skip
"""Fields of instances that are sizes, and what they are called."""


def _sizes(instance: object, names: str) -> Iterator[tuple[str, int]]:
    """Yield every size that an instance has, with its name; `names` are those of the numbers of a plain tuple."""
    if isinstance(instance, Weights):
        instance = instance.architecture(tokens=1)
        yield from (size for size in _sizes(instance, "") if size[0] != "tokens")
    elif isinstance(instance, Architecture):
        yield from (("widths", width) for width in instance.widths)
        yield from (("layers", instance.depth), ("tokens", instance.tokens), ("heads", instance.heads))
    elif is_dataclass(instance) or hasattr(instance, "_fields"):
        for name in _fields_of(type(instance)) or instance._fields:  # type: ignore[arg-type]
            value = getattr(instance, name)
            numbers = value if isinstance(value, tuple) and name in _SIZES else (value,)
            plain = [n for n in numbers if type(n) is int]
            yield from ((_SIZES[name], n) for n in plain if name in _SIZES)
            if not plain:
                yield from _sizes(value, "")
    else:
        values = instance if isinstance(instance, tuple) else (instance,)
        called = re.split(", | and ", names.removeprefix("all weights with "))
        for name, value in zip(called if len(called) == len(values) else [""] * len(values), values, strict=True):
            if type(value) is int and name:
                yield name.removeprefix("number of ").removeprefix("the "), value
            elif isinstance(value, tuple) or is_dataclass(value):
                yield from _sizes(value, "")


def reach(part: Part, quick: bool = False) -> str:
    """Say how many instances a part has and between which sizes, as they are and not as somebody wrote them down.

    Example:
        >>> from proofs_check.registry import claim_by_id
        >>> reach(claim_by_id("figure-3").parts[0])
        '8 instances: widths 3 to 10, layers 2, tokens 3, heads 1'
    """
    seen, found = set(), defaultdict[str, set[int]](set)
    for instance in part.instances(quick=quick):
        value = value_of(instance)
        if value not in seen:
            seen.add(value)
            for name, size in _sizes(instance, part.instance):
                found[name].add(size)
    sizes = [f"{name} {min(n)}" + (f" to {max(n)}" if len(n) > 1 else "") for name, n in found.items()]
    count = "1 instance" if len(seen) == 1 else f"{len(seen):,} instances"
    return f"{count}: {', '.join(sizes)}" if sizes else count
