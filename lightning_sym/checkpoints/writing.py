"""Writing a checkpoint as a folder of the form that the `transformers` library reads, one layer at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy.typing as npt

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.layout import ModelFamily, Place, by_tensor, join, tensor_shape
from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm, Pieces
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.safetensors_writing import INDEX, WrittenTensor, in_files, index_of, write_safetensors
from lightning_sym.checkpoints.stored_types import ON_DISK, to_disk
from lightning_sym.errors import BadInput
from lightning_sym.limits import Progress, require_integer, unheard
from lightning_sym.network.readers.exact_json import ExactNumbers, parse, said
from lightning_sym.whole_files import replacing

CONFIG, ADAPTER = "config.json", "adapter_config.json"


def save_checkpoint(
    checkpoint: Checkpoint,
    folder: str | os.PathLike[str],
    stored: str | None = None,
    *,
    rounded: bool = False,
    shard_size: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a checkpoint as `config.json` and `model.safetensors`, all of it or nothing.

    Args:
        checkpoint: of a family that is read; its blocks have the same pieces.
        folder: a new one, or one without other weights; files of these names are replaced.
        stored: `F16`, `BF16`, `F32` or `F64`, to which all numbers are rounded, to nearest even. Without it each piece
            keeps the type it is stored in, and a number that is not of that type is refused.
        rounded: then numbers are rounded to the type that their piece is stored in, to nearest even.
        shard_size: bytes of tensors in a file; what has more is written as several, with
            `model.safetensors.index.json`.
        progress: is told of each layer.

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
    if shard_size is not None:
        require_integer(shard_size, "shard_size", 1)
    if not hasattr(checkpoint, "form") or not hasattr(checkpoint, "block"):
        raise BadInput(f"checkpoint must be a Checkpoint (open_checkpoint reads one), got {shown(checkpoint)}")
    form = checkpoint.form
    require_integer(form.layers, "the number of layers", 1)
    if form.family not in FAMILIES:
        raise BadInput(f"the family must be one of {', '.join(FAMILIES)}, got {shown(form.family)}")
    family, parts = FAMILIES[form.family], _parts(checkpoint)
    config = _config(family, form, parts)
    places = family.layout.places(form, parts)
    tensors = _tensors(checkpoint, places, stored)
    config |= {"torch_dtype": _type_of_all({tensor.kind for tensor in tensors})}
    files = in_files(tensors, shard_size)
    texts = {CONFIG: _spelled(config)} | ({INDEX: index_of(files)} if len(files) > 1 else {})
    kinds = {tensor.name: tensor.kind for tensor in tensors}
    rounding = rounded or stored is not None
    numbers = _numbers(checkpoint, places, kinds, rounded=rounding, tell=progress or unheard)
    target = Path(folder)
    if not os.fspath(folder) or "\0" in os.fspath(folder):
        raise BadInput(f"folder must be a path, got {shown(os.fspath(folder))}")
    try:
        with _folder(target, {*files, *texts}), ExitStack() as whole:
            # the configuration, which stands first here, appears last: without it a folder is no checkpoint
            places_to_write = {name: whole.enter_context(replacing(target / name)) for name in (*texts, *files)}
            for name, text in texts.items():
                places_to_write[name].write_text(text, encoding="utf-8")
            for name, here in files.items():
                with places_to_write[name].open("wb") as stream:
                    write_safetensors(stream, here, numbers)
    except OSError as error:
        raise BadInput(f"{target} must be a writable folder: {error.strerror or error}") from error


@contextmanager
def _folder(folder: Path, mine: set[str]) -> Iterator[None]:
    """A folder to write into; one that was made is taken away again if nothing is written.

    Raises:
        BadInput: it holds weights beside those that are written.
    """
    made = not os.path.lexists(folder)
    if made:
        folder.mkdir()
    for other in sorted(entry.name for entry in folder.iterdir()):
        weights = other.endswith((".safetensors", ".bin", ".gguf", ".pth")) or other in (INDEX, ADAPTER)
        if weights and other not in mine:
            raise BadInput(f"{folder} must not hold other weights, got {shown(other)}")
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):  # someone else uses it meanwhile
                folder.rmdir()
        raise


def _parts(checkpoint: Checkpoint) -> frozenset[str]:
    """The pieces of a block, by the first one."""
    there = frozenset(name for name, _ in checkpoint.ends().present())
    if differ := there ^ table(checkpoint.form).ends.keys():
        raise BadInput(f"the form must say which pieces there are, they differ in {min(differ)}")
    return frozenset(name for name, _ in checkpoint.block(0).present())


def _tensors(checkpoint: Checkpoint, places: dict[str, Place], stored: str | None) -> list[WrittenTensor]:
    """What is to be written, in the order of the places, which is by layer."""
    found: list[WrittenTensor] = []
    for tensor, pieces in by_tensor(places).items():
        kinds = {stored or checkpoint.stored(piece): piece for piece in pieces}
        if len(kinds) > 1:
            raise BadInput(f"pieces of {tensor} must have one stored type, got {' and '.join(sorted(kinds))}")
        ((kind, piece),) = kinds.items()
        if kind not in ON_DISK:
            raise BadInput(f"{piece} must be stored as one of {', '.join(ON_DISK)}, got {shown(kind)}")
        found.append(WrittenTensor(tensor, kind, tensor_shape(table(checkpoint.form), pieces, places[pieces[0]])))
    return found


def _type_of_all(kinds: set[str]) -> str:
    """The type of the configuration, to which the library rounds: one that holds all of these."""
    if len(kinds) == 1:
        return {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}[min(kinds)]
    return "float64" if "F64" in kinds else "float32"


def _config(family: ModelFamily, form: CheckpointForm, parts: frozenset[str]) -> dict[str, Any]:
    """The configuration that states a form and its pieces; it is read back, and must state the same."""
    for name, number in (("epsilon", form.epsilon), ("theta", form.theta)):
        denominator = Fraction(number or 1).denominator
        while denominator % 2 == 0:
            denominator //= 2
        while denominator % 5 == 0:
            denominator //= 5
        if denominator != 1:
            raise BadInput(f"{name} must be a decimal to be written, got {said(number)}")
    config = family.write(form, frozenset(table(form)[name].added_to for name in parts))
    back, biases = family.read(Config(parse(_spelled(config).encode(), ExactNumbers())))
    for name, value in vars(form).items():
        if getattr(back, name) != value:
            raise BadInput(f"{form.family} must have {name} = {said(getattr(back, name))}, got {said(value)}")
    if missing := family.parts(form, biases) ^ parts:
        raise BadInput(f"a block of {form.family} must have its pieces and no others, they differ in {min(missing)}")
    return config


def _spelled(config: dict[str, Any]) -> str:
    lines = (f"  {json.dumps(key)}: {_decimal(value)}" for key, value in config.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _decimal(value: Any) -> str:
    """A value in JSON, fractions as exact decimals."""
    if not isinstance(value, Fraction):
        return json.dumps(value)
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    text = str((value * 10**digits).numerator)
    if digits > 30:
        return f"{text}e-{digits}"
    text = text.rjust(digits + 1, "0")
    return f"{text[: len(text) - digits]}.{text[len(text) - digits :] or '0'}"


def _numbers(
    checkpoint: Checkpoint, places: dict[str, Place], kinds: dict[str, str], *, rounded: bool, tell: Progress
) -> Iterator[npt.NDArray[Any]]:
    """The numbers of each tensor in turn, as they are stored: at most one layer is in memory."""
    at, pieces_there = "", dict[str, Array]()
    for tensor, pieces in by_tensor(places).items():
        layer = pieces[0].rpartition(".")[0]
        if layer != at or not pieces_there:
            tell(f"layer {layer}" if layer else "the embedding", int(layer or 0), checkpoint.form.layers)
            holder: Pieces = checkpoint.block(int(layer)) if layer else checkpoint.ends()
            at, pieces_there = layer, {f"{layer}.{name}" if layer else name: array for name, array in holder.present()}
            if differ := pieces_there.keys() ^ {piece for piece in places if piece.rpartition(".")[0] == layer}:
                raise BadInput(f"all blocks must have the same pieces, they differ in {min(differ)}")
        array = join(table(checkpoint.form), {piece: pieces_there[piece] for piece in pieces}, places[pieces[0]])
        try:
            yield to_disk(array, kinds[tensor], rounded=rounded)
        except BadInput as error:
            raise BadInput(f"{tensor}: {error}") from error
