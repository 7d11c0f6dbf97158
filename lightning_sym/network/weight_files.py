"""Reading and writing weights: `.json` (exact), `.npz` and `.safetensors` (floats and integers, converted exactly).

The JSON form is `{"schema": "lightning-sym/weights/1", "weights": {"Q1": [["1", "-2/3"], ...], "K1": ..., ...}}`,
or the object of matrices alone; numbers are integers or strings such as
`"-2/3"`. In the binary forms the arrays carry the same names. A file may say which network its weights are of:
`"form": {"normalization": "softmax", "mask": "causal", "skip": true}`, in JSON beside the matrices; in `.npz` an entry
`form`, in `.safetensors` the metadata `form`, that hold this object as text. Without it: lightning attention.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, FileFormatError, MissingExtra
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.whole_files import replacing

SCHEMA = "lightning-sym/weights/1"

LARGEST_FILE = 2**28
"""Bytes of a file, decompressed, that are read; an archive that says it holds more is refused unread."""

LONGEST_NUMBER = 4000
"""Decimal digits of a numerator or denominator in a JSON file: below the limit of Python's own conversion."""
_NUMBER = re.compile(rf"-?[0-9]{{1,{LONGEST_NUMBER}}}(/[0-9]{{1,{LONGEST_NUMBER}}})?")


def _not_a_float(text: str) -> NoReturn:
    rule = f'integers, or strings such as "-2/3", of at most {LONGEST_NUMBER} digits'
    raise FileFormatError(f"JSON weights must be {rule}, got {text[:40]}")


def _integer(text: str) -> int:
    return int(text) if len(text) <= LONGEST_NUMBER else _not_a_float(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise FileFormatError(
            f"JSON keys must not repeat, got {next(k for k in keys if keys.count(k) > 1)[:40]!r} twice"
        )
    return result


Contents = tuple[dict[str, Any], object]
"""Matrices by name, and the form as a JSON value, `None` where the file names none."""


def _form_value(path: Path, text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: the form must be JSON: {str(error)[:80] or type(error).__name__}") from error


def _from_json(path: Path) -> Contents:
    try:
        document = json.loads(
            path.read_text(encoding="utf-8"),
            object_pairs_hook=_unique,
            parse_float=_not_a_float,
            parse_int=_integer,
            parse_constant=_not_a_float,
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileFormatError):
            raise FileFormatError(f"{path}: {error}") from error
        raise FileFormatError(f"{path} must be JSON: {str(error) or type(error).__name__}") from error
    if not isinstance(document, dict):
        raise FileFormatError(f'{path} must be an object of matrices, {{"Q1": [[1, "-2/3"]], "K1": ..., "V1": ...}}')
    form = document.pop("form", None)
    weights: Any = document  # the matrices alone will do
    if "schema" in document or "weights" in document:
        if document.get("schema", SCHEMA) != SCHEMA:
            raise FileFormatError(f'{path} must have the schema "{SCHEMA}", got {str(document["schema"])[:60]!r}')
        weights = document.get("weights")
    if not isinstance(weights, dict):
        raise FileFormatError(f'{path} must have an object "weights" of matrices')

    def number(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not _NUMBER.fullmatch(value):
            _not_a_float(repr(value))
        top, _, low = value.partition("/")
        if low and int(low) == 0:
            raise FileFormatError(f"{path}: a denominator must not be zero, got {value[:40]!r}")
        return Fraction(int(top), int(low or 1))

    for name, rows in weights.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise FileFormatError(f"{path}: {name} must be a list of rows")
    return {name: [[number(x) for x in row] for row in rows] for name, rows in weights.items()}, form


_BAD_ARCHIVE = (
    ValueError, TypeError, KeyError, EOFError, OverflowError, MemoryError, RuntimeError, NotImplementedError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What NumPy and zipfile raise for archives that are damaged, encrypted, or not what their headers say."""


def _from_npz(path: Path) -> Contents:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST_FILE:
                raise FileFormatError(f"{path} must hold at most {LARGEST_FILE:,} bytes decompressed")
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        text = found.pop("form", None)
        if text is not None and (text.dtype.kind != "U" or text.ndim):
            raise FileFormatError(f"{path}: the form must be one text")
        return found, None if text is None else _form_value(path, str(text))
    except _BAD_ARCHIVE as error:
        if isinstance(error, BadInput):
            raise
        reason = str(error).split(". If you trust")[0]  # no advice to load it unsafely
        raise FileFormatError(f"{path} must be an .npz archive of plain arrays: {reason}") from error


_SAFETENSORS_TYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
        "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    }.items()
}  # fmt: skip


def _from_safetensors(path: Path) -> Contents:
    try:
        import safetensors
    except ImportError as error:
        raise MissingExtra("reading .safetensors needs the extra: pip install lightning-sym[safetensors]") from error
    try:
        tensors = safetensors.deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    except (safetensors.SafetensorError, ValueError) as error:
        raise FileFormatError(f"{path} must be a safetensors file: {error}") from error
    result: dict[str, Any] = {}
    for name, tensor in tensors:
        kind, shape, data = tensor["dtype"], tensor["shape"], bytes(tensor["data"])
        if kind == "BF16":  # the upper half of a float32
            halves = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
            result[name] = halves.view(np.float32).reshape(shape)
        elif kind in _SAFETENSORS_TYPES:
            result[name] = np.frombuffer(data, dtype=_SAFETENSORS_TYPES[kind]).reshape(shape)
        else:
            raise FileFormatError(f"{path}: {name} must hold integers or floats, got {kind}")
    with safetensors.safe_open(path, framework="numpy") as opened:
        text = (opened.metadata() or {}).get("form")
    return result, None if text is None else _form_value(path, text)


def load_weights(path: str | os.PathLike[str]) -> Weights:
    """Read weights; floats are converted exactly. They are of a lightning network unless the file says more.

    Args:
        path: a `.json`, `.npz` or `.safetensors` file with matrices `Q1, K1, V1, Q2, ...`, all of the names that
            `Architecture.weight_shapes()` prints.

    Raises:
        FileFormatError: the file is missing, truncated or not of its documented form.
        BadInput: an entry is not a finite number, or shapes do not fit.
        MissingExtra: `.safetensors` without the extra of that name.
    """
    return load_weights_and_form(path)[0]


def load_weights_and_form(path: str | os.PathLike[str]) -> tuple[Weights, NetworkForm | None]:
    """As `load_weights`, with the form that the file names, `None` where it names none."""
    file = Path(path)
    readers: dict[str, Callable[[Path], Contents]] = {
        ".json": _from_json, ".npz": _from_npz, ".safetensors": _from_safetensors,
    }  # fmt: skip
    if file.suffix not in readers:
        raise FileFormatError(f"weights must be a .json, .npz or .safetensors file, got {file}")
    try:
        if file.exists() and not file.is_file():
            raise FileFormatError(f"{file} must be a readable regular file")
        if file.stat().st_size > LARGEST_FILE:
            raise FileFormatError(f"{file} must have at most {LARGEST_FILE:,} bytes, got {file.stat().st_size:,}")
        matrices, form = readers[file.suffix](file)
    except OSError as error:
        raise FileFormatError(f"{file} must be a readable file: {error.strerror or error}") from error
    try:
        named = None if form is None else NetworkForm.from_json(form)
        return Weights.of(matrices, LIGHTNING_FORM if named is None else named), named
    except BadInput as error:
        raise type(error)(f"{file}: {error}") from error


def _as_plain_array(name: str, matrix: ObjectArray) -> npt.NDArray[Any]:
    """An int64 or float64 array with exactly these values."""
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
        BadInput: a binary format cannot hold an entry exactly, or the ending is unknown.
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
    file = Path(path)
    named = weights.named()
    # what is not said means lightning attention
    form = None if weights.form == LIGHTNING_FORM else json.dumps(weights.form.to_json())
    if file.suffix == ".json":
        limit = 10**LONGEST_NUMBER
        for name, m in named.items():
            if any(abs(x.numerator) >= limit or x.denominator >= limit for x in m.ravel()):
                raise BadInput(f"{name} must have numbers of at most {LONGEST_NUMBER} digits to be written to JSON")
        # one matrix a line, so that people can read it
        matrices = (
            f'  "{name}": {json.dumps([[str(x) for x in row] for row in m.tolist()])}' for name, m in named.items()
        )
        said = "" if form is None else f' "form": {form},\n'
        text = f'{{\n "schema": "{SCHEMA}",\n{said} "weights": {{\n' + ",\n".join(matrices) + "\n }\n}"

        def write(target: str) -> None:
            Path(target).write_text(text + "\n", encoding="utf-8")

    elif file.suffix in (".npz", ".safetensors"):
        plain = {name: _as_plain_array(name, m) for name, m in named.items()}
        if file.suffix == ".npz":

            def write(target: str) -> None:
                with open(target, "wb") as stream:
                    np.savez(stream, allow_pickle=False, **plain, **({} if form is None else {"form": np.array(form)}))

        else:
            try:
                from safetensors.numpy import save_file
            except ImportError as error:
                raise MissingExtra(
                    "writing .safetensors needs the extra: pip install lightning-sym[safetensors]"
                ) from error

            def write(target: str) -> None:
                save_file(plain, target, None if form is None else {"form": form})

    else:
        raise BadInput(f"weights must be written to .json, .npz or .safetensors, got {file}")
    try:
        with replacing(file) as temporary:
            write(str(temporary))
    except OSError as error:
        raise BadInput(f"{file} must be in a writable folder: {error.strerror}") from error
