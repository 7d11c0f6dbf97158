"""Writing a checkpoint as a folder of the form that the `transformers` library reads, one layer at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.layout import ModelFamily, Place, by_tensor, join, tensor_shape
from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm, Pieces
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_types import ON_DISK, to_disk
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer
from lightning_sym.network.readers.exact_json import ExactNumbers, parse, said
from lightning_sym.whole_files import replacing

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
ADAPTER = "adapter_config.json"


def save_checkpoint(checkpoint: Checkpoint, folder: str | os.PathLike[str], stored: str | None = None) -> None:
    """Write a checkpoint as `config.json` and `model.safetensors`, both whole or neither.

    Args:
        checkpoint: of a family that is read; its blocks have the same pieces.
        folder: a new one, or one without other weights; those two files are replaced.
        stored: `F16`, `BF16`, `F32` or `F64`, to which all numbers are rounded, to nearest even. Without it each piece
            keeps the type it is stored in, and a number that is not of that type is refused.

    Raises:
        BadInput: the family cannot say what the checkpoint is, a number does not fit, or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> from lightning_sym import open_checkpoint, save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(small_checkpoint("llama"), folder, stored="BF16")
        ...     open_checkpoint(folder).stored("0.query")
        'BF16'
    """
    require_arguments(save_checkpoint, locals())
    if stored is not None and stored not in ON_DISK:
        raise BadInput(f"the stored type must be one of {', '.join(ON_DISK)}, got {shown(stored)}")
    if not hasattr(checkpoint, "form") or not hasattr(checkpoint, "block"):
        raise BadInput(f"checkpoint must be a Checkpoint (open_checkpoint reads one), got {shown(checkpoint)}")
    form = checkpoint.form
    require_integer(form.layers, "the number of layers", 1)
    if form.family not in FAMILIES:
        raise BadInput(f"the family must be one of {', '.join(FAMILIES)}, got {shown(form.family)}")
    family, parts = FAMILIES[form.family], _parts(checkpoint)
    config = _config(family, form, parts)
    places = family.layout.places(form, parts)
    kinds = _kinds(checkpoint, places, stored)
    config |= {"torch_dtype": _type_of_all(set(kinds.values()))}
    target = Path(folder)
    if not os.fspath(folder) or "\0" in os.fspath(folder):
        raise BadInput(f"folder must be a path, got {shown(os.fspath(folder))}")
    try:
        made = _prepare(target)
        try:
            with replacing(target / WEIGHTS) as weights, replacing(target / CONFIG) as text:
                text.write_text(_spelled(config), encoding="utf-8")
                with weights.open("wb") as stream:
                    _write(stream, checkpoint, places, kinds, rounded=stored is not None)
        except BaseException:
            if made and not any(target.iterdir()):
                target.rmdir()
            raise
    except OSError as error:
        raise BadInput(f"{target} must be a writable folder: {error.strerror or error}") from error


def _prepare(folder: Path) -> bool:
    """Make the folder if it is not there, and say whether it was made; refuse one with weights of other files."""
    try:
        folder.mkdir()
    except FileExistsError:
        for other in sorted(entry.name for entry in folder.iterdir()):
            weights = other.endswith((".safetensors", ".bin")) or other in (INDEX, ADAPTER)
            if weights and other != WEIGHTS:
                raise BadInput(f"{folder} must not hold other weights, got {shown(other)}") from None
        return False
    return True


def _parts(checkpoint: Checkpoint) -> frozenset[str]:
    """The pieces of a block, by the first one."""
    there = frozenset(name for name, _ in checkpoint.ends().present())
    if differ := there ^ table(checkpoint.form).ends.keys():
        raise BadInput(f"the form must say which pieces there are, they differ in {min(differ)}")
    return frozenset(name for name, _ in checkpoint.block(0).present())


def _kinds(checkpoint: Checkpoint, places: dict[str, Place], stored: str | None) -> dict[str, str]:
    """By tensor, the type it is written in."""
    found: dict[str, str] = {}
    for piece, place in places.items():
        kind = stored or checkpoint.stored(piece)
        if found.setdefault(place.tensor, kind) != kind:
            raise BadInput(f"pieces of {place.tensor} must have one stored type, got {found[place.tensor]} and {kind}")
        if kind not in ON_DISK:
            raise BadInput(f"{piece} must be stored as one of {', '.join(ON_DISK)}, got {shown(kind)}")
    return found


def _type_of_all(kinds: set[str]) -> str:
    """The type of the configuration, to which the library rounds: one that holds all of these."""
    if len(kinds) == 1:
        return {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}[min(kinds)]
    return "float64" if "F64" in kinds else "float32"


def _config(family: ModelFamily, form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    """The configuration that states a form and its pieces; it is read back, and must state the same."""
    for name, number in (("epsilon", form.epsilon), ("theta", form.theta)):
        _require_decimal(name, Fraction(number or 1))
    config = family.write(form, frozenset(table(form)[name].added_to for name in parts))
    back, biases = family.read(Config(parse(_spelled(config).encode(), ExactNumbers())))
    for name, value in vars(form).items():
        if getattr(back, name) != value:
            raise BadInput(f"{form.family} must have {name} = {said(getattr(back, name))}, got {said(value)}")
    if missing := family.parts(form, biases) ^ parts:
        raise BadInput(f"a block of {form.family} must have its pieces and no others, they differ in {min(missing)}")
    return config


def _require_decimal(name: str, number: Fraction) -> None:
    """Refuse a number that no decimal is."""
    denominator = number.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        raise BadInput(f"{name} must be a decimal to be written, got {said(number)}")


def _spelled(config: dict[str, Any]) -> str:
    lines = (f"  {json.dumps(key)}: {_decimal(key, value)}" for key, value in config.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _decimal(key: str, value: Any) -> str:
    """The value of a key in JSON, fractions as exact decimals."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_decimal(name, each)}" for name, each in value.items()) + "}"
    if not isinstance(value, Fraction):
        return json.dumps(value)
    _require_decimal(key, value)
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    text = str((value * 10**digits).numerator)
    if digits > 30:
        return f"{text}e-{digits}"
    text = text.rjust(digits + 1, "0")
    return f"{text[: len(text) - digits]}.{text[len(text) - digits :] or '0'}"


def _write(
    stream: BinaryIO, checkpoint: Checkpoint, places: dict[str, Place], kinds: dict[str, str], *, rounded: bool
) -> None:
    form, held = checkpoint.form, by_tensor(places)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor, pieces in held.items():
        shape, begin = tensor_shape(table(form), pieces, places[pieces[0]]), end
        end += prod(shape) * ON_DISK[kinds[tensor]].itemsize
        header[tensor] = {"dtype": kinds[tensor], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    for tensor, array in _tensors(checkpoint, places, held):
        try:
            raw: npt.NDArray[Any] = to_disk(array, kinds[tensor], rounded=rounded)
        except BadInput as error:
            raise BadInput(f"{tensor}: {error}") from error
        stream.write(raw.tobytes())


def _tensors(
    checkpoint: Checkpoint, places: dict[str, Place], held: dict[str, list[str]]
) -> Iterator[tuple[str, Array]]:
    """The tensors in the order of the places, which is by layer: at most one layer is in memory."""
    at, pieces_there = "", dict[str, Array]()
    for tensor, pieces in held.items():
        layer = pieces[0].rpartition(".")[0]
        if layer != at or not pieces_there:
            holder: Pieces = checkpoint.block(int(layer)) if layer else checkpoint.ends()
            at, pieces_there = layer, {f"{layer}.{name}" if layer else name: array for name, array in holder.present()}
            if differ := pieces_there.keys() ^ {piece for piece in places if piece.rpartition(".")[0] == layer}:
                raise BadInput(f"all blocks must have the same pieces, they differ in {min(differ)}")
        yield tensor, join(table(checkpoint.form), {piece: pieces_there[piece] for piece in pieces}, places[pieces[0]])
