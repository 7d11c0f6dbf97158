"""Symmetries in JSON, exact: rows of integers and fractions. `docs/reference/checkpoints.md` says what stands there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.exact_arrays import narrow
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry, Part, Symmetry, symmetry_memory
from lightning_sym.checkpoints.symmetry_sizes import require_sizes
from lightning_sym.display import spelled
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.whole_files import in_words, replacing, require_writable

SCHEMA = "lightning-sym/symmetry/1"
ORDERS = {name for name, kind in KINDS.items() if kind.integers}
"""Parts whose entries are integers."""
NUMBERS = {"groups", "tied"} | {name for name, kind in KINDS.items() if not kind.shape}
"""Parts that are one number."""
LARGEST_FILE = 2**30
BYTES_A_NUMBER = 160
"""Of an entry while it is read: its text, the fraction, its place in a list."""


def require_output(path: str | os.PathLike[str], form: CheckpointForm, memory: int = DEFAULT_MEMORY) -> None:
    """Refuse a file that could not be written, and a symmetry that would not fit, before the work.

    Raises:
        BadInput: there is no such folder, or it cannot be written to.
        TooLarge: the numbers of the symmetry need more memory.
    """
    require_memory(symmetry_memory(form), memory, "the symmetry as numbers")
    with in_words("a symmetry", path):
        require_writable(path)


def save_symmetry(symmetry: Symmetry, path: str | os.PathLike[str]) -> None:
    """Write a symmetry to a JSON file, exactly, or not at all, row by row.

    Raises:
        BadInput: it cannot be written there.

    Example:
        >>> import tempfile
        >>> from lightning_sym import LayerSymmetry
        >>> symmetry = Symmetry((LayerSymmetry(heads=np.array([1, 0])),), scale=Fraction(3, 2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_symmetry(symmetry, Path(folder) / "symmetry.json")
        ...     load_symmetry(Path(folder) / "symmetry.json") == symmetry
        True
    """
    require_arguments(save_symmetry, locals())
    with in_words("a symmetry", path), replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(_document(symmetry))


def _document(symmetry: Symmetry) -> Iterator[str]:
    yield f'{{\n "schema": {json.dumps(SCHEMA)}'
    for name, part in symmetry.named():
        yield f",\n {json.dumps(name)}: "
        yield from _written(part)
    yield ',\n "layers": ['
    for number, layer in enumerate(symmetry.layers):
        yield ",\n  {" if number else "\n  {"
        for place, (name, part) in enumerate(layer.named()):
            yield f"{',' if place else ''}\n   {json.dumps(name)}: "
            yield from _written(part)
        yield "}"
    yield "\n ]\n}\n"


def _written(part: Part | Fraction | float) -> Iterator[str]:
    """Yield a number, or an array row by row."""
    array = np.asarray(part)
    if not array.ndim:
        yield json.dumps(part if isinstance(part, bool | int) else _entry(part))
    elif array.ndim == 1:
        yield json.dumps([_entry(x) for x in array.tolist()])
    else:
        yield "["
        for place, row in enumerate(array):
            yield ",\n    " if place else ""
            yield from _written(row)
        yield "]"


def _entry(number: Any) -> int | str:
    """Return a number, of any field of rational ones, as JSON has it."""
    if isinstance(number, float):
        top, low = number.as_integer_ratio()
    else:
        top, low = int(number.numerator), int(number.denominator)
    if low == 1 and abs(top) < 2**53:
        return top
    return spelled(top) if low == 1 else f"{spelled(top)}/{spelled(low)}"


def load_symmetry(path: str | os.PathLike[str], memory: int = DEFAULT_MEMORY) -> Symmetry:
    """Return the symmetry of a JSON file, its sizes agreeing; whether it is one of a network, `apply` finds out.

    Args:
        path: as `save_symmetry` or `lightning-sym same --output` wrote it.
        memory: bytes that may be used.

    Raises:
        FileFormatError: the file cannot be read, is not of its documented form, or has a part that is too long or short
            beside another one.
        TooLarge: it needs more memory.
    """
    require_arguments(load_symmetry, locals())
    name = shown(os.fspath(path))[1:-1]
    try:
        size = Path(path).stat().st_size
        if size > LARGEST_FILE:
            raise FileFormatError(f"{name}: it must have at most {LARGEST_FILE:,} bytes, got {size:,}")
        require_memory(size + BYTES_A_NUMBER * (size // 2), memory, f"the numbers of {name}")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        reason = error.strerror if isinstance(error, OSError) else "it must be UTF-8"
        raise FileFormatError(f"{name}: it must be a readable file: {reason}") from error
    try:
        return _read(json.loads(text, parse_float=_refused, parse_constant=_refused, object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        said = error if isinstance(error, BadInput) else "it must be JSON"
        raise FileFormatError(f"{name}: {said}") from error


def _refused(text: str) -> NoReturn:
    raise FileFormatError(f'numbers must be integers or strings such as "-2/3", got {shown(text)}')


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileFormatError("keys must not repeat")
    return found


def _read(found: object) -> Symmetry:
    if not isinstance(found, dict) or found.pop("schema", None) != SCHEMA:
        raise FileFormatError(f'it must be an object with the schema "{SCHEMA}"')
    layers = found.pop("layers", None)
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        raise FileFormatError("layers must be a list of objects")
    made = tuple(_with_parts(LayerSymmetry(), layer, f"layer {i}: ") for i, layer in enumerate(layers))
    symmetry = _with_parts(Symmetry(made), found, "")
    require_sizes(symmetry)
    return symmetry


S = TypeVar("S", LayerSymmetry, Symmetry)


def _with_parts(nothing: S, found: dict[str, object], where: str) -> S:
    """Return a symmetry that does nothing with the parts that were found."""
    known = {field.name for field in fields(nothing)} - {"layers"}
    if unknown := sorted(found.keys() - known):
        raise FileFormatError(f"{where}there is no part called {shown(unknown[0])}")
    return nothing.having({name: _part(part, name, where + name) for name, part in found.items()})


def _part(part: object, name: str, what: str) -> Part | Fraction | float:
    if name == "tied" and isinstance(part, bool):
        return part
    if name in NUMBERS:
        number = _number(part, what)
        if name in ("tied", "groups") and (name == "tied" or number.denominator != 1):
            raise FileFormatError(f"{what} must be {'true or false' if name == 'tied' else 'an integer'}, got {part!a}")
        return int(number) if name == "groups" else number
    if not isinstance(part, list):
        raise FileFormatError(f"{what} must be a list, got {shown(part)}")
    shape: list[int] = []
    level: object = part
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else None
    if len(shape) > 3 or 0 in shape:
        raise FileFormatError(f"{what} must be one list, or lists in lists, none of them empty")
    flat = list(_flat(part, tuple(shape), what))
    if name in ORDERS:
        if not all(isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**53 for x in flat):
            raise FileFormatError(f"{what} must be a list of integers")
        return np.array(flat, dtype=np.int64).reshape(shape)
    return narrow(np.array([_number(x, what) for x in flat], dtype=object).reshape(shape))


def _flat(part: object, shape: tuple[int, ...], what: str) -> Iterator[object]:
    if not shape:
        yield part
        return
    if not isinstance(part, list) or len(part) != shape[0]:
        raise FileFormatError(f"{what} must have rows of one length")
    for row in part:
        yield from _flat(row, shape[1:], what)


LONGEST = 4000
"""Digits of a numerator or denominator that is read."""


def _number(number: object, what: str) -> Fraction:
    if isinstance(number, int) and not isinstance(number, bool):
        return Fraction(number)
    if isinstance(number, str):
        top, _, low = number.partition("/")
        digits = [top.removeprefix("-"), low or "1"]
        if all(d.isascii() and d.isdigit() and len(d) <= LONGEST for d in digits) and int(digits[1]):
            return Fraction(int(top), int(digits[1]))
    raise FileFormatError(f'{what}: a number must be an integer or a string such as "-2/3", got {shown(number)}')
