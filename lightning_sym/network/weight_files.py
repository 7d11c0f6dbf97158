"""Reading and writing weights: `.json` (exact), `.npz` and `.safetensors` (floats and integers, converted exactly).

The JSON form is `{"schema": "lightning-sym/weights/1", "weights": {"Q1": [["1", "-2/3"], ...], "K1": ..., ...}}`,
or the object of matrices alone; numbers are integers, decimals (1.25 is 5/4, exactly) or strings such as
`"-2/3"`. In the binary forms the arrays carry the same names. A file may say which network its weights are of:
`"form": {"normalization": "softmax", "mask": "causal", "skip": true}`, in JSON beside the matrices; in `.npz` an entry
`form`, in `.safetensors` the metadata `form`, that hold this object as text. Without it: lightning attention.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.lazy import import_extra
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.network.readers.bounds import LARGEST_ARRAYS, LARGEST_FILE, Contents, read_whole
from lightning_sym.network.readers.exact_json import LONGEST_NUMBER
from lightning_sym.network.readers.json_file import SCHEMA
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray, Plain, exact_matrix, is_plain
from lightning_sym.whole_files import in_words, replacing

__all__ = ["LONGEST_NUMBER", "load_weights", "save_weights"]

_READERS = {".json": "json", ".npz": "npz", ".safetensors": "safetensors"}

SUFFIXES = tuple(_READERS)
"""How the names of files of weights end."""


def load_weights(path: str | os.PathLike[str]) -> Weights:
    """Read weights; floats are converted exactly. They are of a lightning network unless the file says more.

    Args:
        path: a `.json`, `.npz` or `.safetensors` file with matrices `Q1, K1, V1, Q2, ...`, all of the names that
            `Architecture.weight_shapes()` prints.

    Raises:
        FileFormatError: the file is missing, truncated or not of its documented form.
        BadInput: an entry is not a finite number, or shapes do not fit.
    """
    require_arguments(load_weights, locals())
    return load_weights_and_form(path)[0]


def load_weights_and_form(path: str | os.PathLike[str]) -> tuple[Weights, NetworkForm | None]:
    """Return weights as `load_weights`, with the form that the file names, `None` where it names none."""
    file, kind = Path(path), _kind(path)
    try:
        matrices, form = _contents(file, kind)
        named = None if form is None else NetworkForm.from_json(form)
        return Weights.of(matrices, LIGHTNING_FORM if named is None else named), named
    except BadInput as error:
        raise type(error)(f"{file}: {error}") from error


def load_factors(path: str | os.PathLike[str]) -> list[ObjectArray]:
    """Read the factors `W1, W2, ...` of a product; the first one is applied to the inputs.

    Args:
        path: a file like one of weights.

    Raises:
        FileFormatError: the file is missing, truncated or not of its documented form.
        BadInput: an entry is not a finite number, or the names are others.
    """
    file, kind = Path(path), _kind(path)
    try:
        matrices, form = _contents(file, kind)
        names = [f"W{number}" for number in range(1, len(matrices) + 1)]
        if form is not None:
            raise FileFormatError("factors have no form, it must be left out")
        if set(matrices) != set(names) or not names:
            raise FileFormatError(f"factors must be named W1, W2, ..., got {', '.join(matrices)[:80] or 'none'}")
        return [exact_matrix(matrices[name], name) for name in names]
    except BadInput as error:
        raise type(error)(f"{file}: {error}") from error


def _kind(path: str | os.PathLike[str]) -> str:
    """Return the ending of a name, which says how the file is read."""
    if (kind := Path(path).suffix.lower()) not in _READERS:
        raise FileFormatError(f"weights must be a .json, .npz or .safetensors file, got {Path(path)}")
    return kind


def _contents(file: Path, kind: str) -> Contents:
    """Return the matrices of a file by name, and the form that it names."""
    module = import_module(f"lightning_sym.network.readers.{_READERS[kind]}_file")  # one kind needs no other's
    read = getattr(module, f"read_{_READERS[kind]}")
    found: Contents = read(read_whole(file, LARGEST_FILE if kind == ".json" else LARGEST_ARRAYS))
    return found


def _as_plain_array(name: str, matrix: npt.NDArray[Any]) -> Plain:
    """Return an int64 or float64 array with exactly these values; what is a plain array already stays one."""
    if is_plain(matrix):
        return np.ascontiguousarray(matrix)
    if all(x.denominator == 1 and abs(x) < 2**63 for x in matrix.ravel()):
        return matrix.astype(object).astype(np.int64)
    try:
        floats = matrix.astype(np.float64)
        exact = all(Fraction(float(f)) == x for f, x in zip(floats.ravel(), matrix.ravel(), strict=True))
    except OverflowError:
        exact = False
    if not exact:
        raise BadInput(f"{name} has entries that no int64 or float64 equals; write a .json file instead")
    return floats


def save_weights(weights: Weights, path: str | os.PathLike[str]) -> None:
    """Write weights exactly, or not at all: the file appears only when it is complete.

    Raises:
        BadInput: a binary format cannot hold an entry exactly, what is written could not be read again, or the
            ending is unknown.
        MissingExtra: `.safetensors` without the extra of that name.

    Example:
        >>> import tempfile
        >>> from lightning_sym import Architecture
        >>> w = Weights.random(Architecture((2, 1), (1,), 2), denominator=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(w, Path(folder) / "w.json")
        ...     load_weights(Path(folder) / "w.json") == w
        True
    """
    require_arguments(save_weights, locals())
    file = Path(path)
    weights.require_numbers("what is written")
    # what is not said means lightning attention
    form = None if weights.form == LIGHTNING_FORM else json.dumps(weights.form.to_json())
    if file.suffix == ".json":
        limit, named = 10**LONGEST_NUMBER, weights.numbers()
        for name, m in named.items():
            if any(abs(x.numerator) >= limit or x.denominator >= limit for x in m.ravel()):
                raise BadInput(f"{name} must have numbers of at most {LONGEST_NUMBER} digits to be written to JSON")
        # one matrix a line, so that people can read it
        matrices = (
            f'  "{name}": {json.dumps([[str(x) for x in row] for row in m.tolist()])}' for name, m in named.items()
        )
        said = "" if form is None else f' "form": {form},\n'
        text = f'{{\n "schema": "{SCHEMA}",\n{said} "weights": {{\n' + ",\n".join(matrices) + "\n }\n}"
        if len(text) >= LARGEST_FILE:
            raise BadInput(f"weights must have at most {LARGEST_FILE:,} bytes in JSON, got {len(text):,}")

        def write(target: str) -> None:
            Path(target).write_text(text + "\n", encoding="utf-8")

    elif file.suffix in (".npz", ".safetensors"):
        plain = {name: _as_plain_array(name, m) for name, m in weights.all_held.items()}
        if file.suffix == ".npz":

            def write(target: str) -> None:
                with open(target, "wb") as stream:
                    np.savez(stream, allow_pickle=False, **plain, **({} if form is None else {"form": np.array(form)}))

        else:
            safetensors = import_extra("safetensors.numpy", "safetensors", "writing .safetensors")

            def write(target: str) -> None:
                safetensors.save_file(plain, target, None if form is None else {"form": form})

    else:
        raise BadInput(f"weights must be written to .json, .npz or .safetensors, got {file}")
    with in_words("weights", path), replacing(path) as temporary:
        write(str(temporary))
