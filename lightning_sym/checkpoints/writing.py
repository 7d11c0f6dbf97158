"""Writing a checkpoint as a folder of the form that the `transformers` library reads, one layer at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.config_writing import spelled, stated, stated_as_params, type_of_all
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folder_files import ADAPTER, CONFIG, INDEX, PARAMS, in_files, index_of, write_safetensors
from lightning_sym.checkpoints.gguf_writing import gguf_values, write_gguf
from lightning_sym.checkpoints.layer_parts import SHARED, parts_of
from lightning_sym.checkpoints.layout import (
    ModelFamily,
    Place,
    by_experts,
    by_tensor,
    expert_shape,
    join,
    plus_number,
    tensor_shape,
)
from lightning_sym.checkpoints.layouts import Files, LayoutRow, layout_row
from lightning_sym.checkpoints.model import Array, Checkpoint, CheckpointForm, Pieces, require_checkpoint
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.rewritings import Rewritten
from lightning_sym.checkpoints.stored_types import ON_DISK, Numbers, Stored, WrittenTensor, to_disk
from lightning_sym.checkpoints.torch_file import write_torch
from lightning_sym.checkpoints.understood import Walker, ends_of, unchecked_pieces
from lightning_sym.checkpoints.units import LESS_ONE
from lightning_sym.errors import BadInput
from lightning_sym.limits import Progress, require_integer, unheard
from lightning_sym.whole_files import replacing

META_WEIGHTS = "consolidated.00.pth"


def save_checkpoint(
    checkpoint: Checkpoint,
    folder: str | os.PathLike[str],
    stored: str | None = None,
    *,
    layout: str = "hf",
    rounded: bool = False,
    shard_size: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a checkpoint as `config.json` and `model.safetensors`, or in another layout, all of it or nothing.

    Args:
        checkpoint: of a family that is read; its blocks have the same pieces.
        folder: a new one, or one without other weights; files of these names are replaced. For `gguf`, the file.
        stored: `F16`, `BF16`, `F32` or `F64`, to which all numbers are rounded, to nearest even. Without it each piece
            keeps the type it is stored in, and a number that is not of that type is refused.
        layout: how pieces are named and ordered, and in which files: `hf`, `fused`, `fused-by-group`, `mlx`,
            `megatron`, `megatron-legacy`, `meta` or `gguf`.
        rounded: then numbers are rounded to the type that their piece is stored in, to nearest even.
        shard_size: bytes of tensors in a file; what has more is written as several, with
            `model.safetensors.index.json`.
        progress: is told of each layer.

    Raises:
        BadInput: family or layout cannot say what the checkpoint is, a number does not fit, or the folder cannot be
            written.
        MissingExtra: `gguf` without the extra of that name.

    Example:
        >>> import tempfile
        >>> from lightning_sym import open_checkpoint, save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(small_checkpoint("llama"), folder, stored="BF16", layout="meta")
        ...     open_checkpoint(folder).stored("0.query"), open_checkpoint(folder).called("0.query")
        ('BF16', 'layers.0.attention.wq.weight')
    """
    require_arguments(save_checkpoint, locals())
    row = layout_row(layout)
    if stored is not None and stored not in ON_DISK:
        raise BadInput(f"the stored type must be one of {', '.join(ON_DISK)}, got {shown(stored)}")
    if shard_size is not None:
        require_integer(shard_size, "shard_size", 1)
        if row.files is not Files.FOLDER:
            raise BadInput(f"shard_size must go with safetensors, the layout {layout} is {row.files.value}")
    require_checkpoint(checkpoint)
    if not os.fspath(folder) or "\0" in os.fspath(folder):
        raise BadInput(f"folder must be a path, got {shown(os.fspath(folder))}")
    require_integer(checkpoint.form.layers, "the number of layers", 1)
    if checkpoint.form.family not in FAMILIES:
        raise BadInput(f"the family must be one of {', '.join(FAMILIES)}, got {shown(checkpoint.form.family)}")
    plan = _Plan.of(checkpoint, row, stored)
    if (Path(folder).suffix.lower() == ".gguf") != (row.files is Files.GGUF):
        kind = "a .gguf file" if row.files is Files.GGUF else "a folder, whose name does not end in .gguf"
        raise BadInput(f"the layout {layout} must be written into {kind}, got {shown(os.fspath(folder))}")
    kinds = {tensor.name: tensor.kind for tensor in plan.tensors}
    rounding = rounded or stored is not None
    numbers = _Numbers(checkpoint, plan.places, kinds, rounding).of_tensors(progress or unheard)
    target = Path(folder)
    try:
        if row.files is Files.GGUF:
            values = gguf_values(plan.family, plan.form, plan.parts, plan.config, plan.shapes)
            with replacing(target) as file:
                write_gguf(file, values, plan.tensors, numbers)
        else:
            _write_folder(target, plan, numbers, shard_size)
    except OSError as error:
        where = "file" if row.files is Files.GGUF else "folder"
        raise BadInput(f"{target} must be a writable {where}: {error.strerror or error}") from error


@dataclass(frozen=True)
class _Plan:
    """What is to be written.

    Attributes:
        row: the layout.
        family: that of the checkpoint.
        form: likewise.
        parts: the pieces of a layer.
        config: the keys of `config.json`.
        places: of all pieces.
        tensors: in the order of the places, which is by layer.
    """

    row: LayoutRow
    family: ModelFamily
    form: CheckpointForm
    parts: frozenset[str]
    config: dict[str, object]
    places: dict[str, Place]
    tensors: list[WrittenTensor]

    @classmethod
    def of(cls, checkpoint: Checkpoint, row: LayoutRow, stored: str | None) -> _Plan:
        """Return what a layout makes of a checkpoint.

        Raises:
            BadInput: family or layout cannot say what it is.
        """
        form = checkpoint.form
        family, parts = FAMILIES[form.family], _parts(checkpoint)
        config = stated(family, form, parts)
        places = row.spellings_for(family)[0].places(form, parts)
        tensors = _tensors(checkpoint, places, stored, row)
        config |= {"torch_dtype": type_of_all({tensor.kind for tensor in tensors})}
        return cls(row, family, form, parts, config, places, tensors)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Those of the tensors, by their names."""
        return {tensor.name: tensor.shape for tensor in self.tensors}


def _write_folder(target: Path, plan: _Plan, numbers: Numbers, shard_size: int | None) -> None:
    """Write a folder: its configuration, and one file of tensors or several."""
    if plan.row.files is Files.META:
        files = {META_WEIGHTS: plan.tensors}
        texts = {PARAMS: spelled(stated_as_params(plan.form, plan.parts, plan.config, plan.shapes))}
    else:
        files = in_files(plan.tensors, shard_size)
        texts = {CONFIG: spelled(plan.config)} | ({INDEX: index_of(files)} if len(files) > 1 else {})
    with _folder(target, {*files, *texts}), ExitStack() as whole:
        # the configuration, which stands first here, appears last: without it a folder is no checkpoint
        at = {name: whole.enter_context(replacing(target / name)) for name in (*texts, *files)}
        for name, text in texts.items():
            at[name].write_text(text, encoding="utf-8")
        for name, here in files.items():
            with at[name].open("wb") as stream:
                if plan.row.files is Files.META:
                    write_torch(stream, here, numbers, name.removesuffix(".pth"))
                else:
                    write_safetensors(stream, here, numbers, plan.row.program)


@contextmanager
def _folder(folder: Path, mine: set[str]) -> Iterator[None]:
    """Yield a folder to write into; one that was made is taken away again if nothing is written.

    Raises:
        BadInput: it holds weights beside those that are written, or a configuration that would be read in their place.
    """
    made = not os.path.lexists(folder)
    if made:
        folder.mkdir()
    for other in sorted(entry.name for entry in folder.iterdir()):
        weights = other.endswith((".safetensors", ".bin", ".gguf", ".pth")) or other in (CONFIG, INDEX, ADAPTER)
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
    """Return the pieces of a block, by the first one."""
    there = frozenset(name for name, _ in unchecked_pieces(checkpoint, None, coded=True).present())
    if differ := there ^ table(checkpoint.form).ends.keys():
        raise BadInput(f"the form must say which pieces there are, they differ in {min(differ)}")
    while isinstance(checkpoint, Rewritten):  # which has the pieces of what it is made of
        checkpoint = checkpoint.original
    return frozenset(name for name, _ in unchecked_pieces(checkpoint, 0, coded=True).present())


def _kind(checkpoint: Checkpoint, piece: str, place: Place) -> str:
    """Return the type that a piece is to be stored in.

    Of what a file has less a number that is the type of that file, where it holds all that is to be written; else, and
    where the new file has the piece whole, it is `F32`.
    """
    kind = checkpoint.stored(piece)
    if (narrow := kind.removesuffix(LESS_ONE)) == kind or not place.less:
        return kind if narrow == kind else "F32"
    layer, _, name = piece.rpartition(".")
    if layer:
        norms: Pieces = next(block for _, block in parts_of(checkpoint, int(layer), Walker.REWRITING, [SHARED]))
    else:
        norms = ends_of(checkpoint, Walker.REWRITING, coded=True)
    try:
        to_disk(plus_number(getattr(norms, name), -place.less), narrow)
    except BadInput:
        return "F32"
    return narrow


def _tensors(
    checkpoint: Checkpoint, places: dict[str, Place], stored: str | None, row: LayoutRow
) -> list[WrittenTensor]:
    """Return what is to be written, in the order of the places, which is by layer."""
    found: list[WrittenTensor] = []
    for tensor, pieces in by_tensor(places).items():
        kinds = {stored or _kind(checkpoint, piece, places[piece]): piece for piece in pieces}
        if len(kinds) > 1:
            raise BadInput(f"pieces of {tensor} must have one stored type, got {' and '.join(sorted(kinds))}")
        ((kind, piece),) = kinds.items()
        if kind not in ON_DISK:
            raise BadInput(f"{piece} must be stored as one of {', '.join(ON_DISK)}, got {shown(kind)}")
        shape = tensor_shape(table(checkpoint.form), pieces, places[pieces[0]])
        if row.files is Files.GGUF and len(shape) == 1 and kind != "F64":
            kind = "F32"  # which holds it; llama.cpp reads no other vectors
        names = places[pieces[0]].names(checkpoint.form)
        if names != [tensor]:
            shape = expert_shape(table(checkpoint.form)[piece], shape, len(names))
        found += [WrittenTensor(name, kind, shape) for name in names]
    return found


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a checkpoint, as they are stored.

    Attributes:
        checkpoint: it.
        places: of its pieces.
        kinds: the type of each tensor.
        rounded: whether numbers may change.
    """

    checkpoint: Checkpoint
    places: dict[str, Place]
    kinds: dict[str, str]
    rounded: bool

    def of_tensors(self, tell: Progress) -> Numbers:
        """Yield those of each tensor in turn, some rows after others; of embeddings some are in memory, or a layer."""
        form, at, there = self.checkpoint.form, "", dict[str, Stored]()
        ends = dict(ends_of(self.checkpoint, Walker.REWRITING, coded=True).present())
        tell("the embedding", 0, form.layers)
        for pieces in by_tensor(self.places).values():
            layer, place = pieces[0].rpartition(".")[0], self.places[pieces[0]]
            if not layer:
                yield self._rows(pieces[0], ends[pieces[0]], place)
                continue
            if layer != at:
                tell(f"layer {layer}", int(layer), form.layers)
                there.clear()  # before the next one is there
                at, there = layer, self._layer(int(layer))
            array = join(table(form), {piece: there[piece] for piece in pieces}, self.places)
            if "*" not in place.tensor:
                yield [array]
                continue
            for matrix in by_experts(table(form)[pieces[0]], array, form.experts or 1):
                yield [matrix]

    def _rows(self, piece: str, array: Array, place: Place) -> Iterator[Stored]:
        """Yield what stands before and behind the layers, some rows at a time."""
        if place.skipped:
            yield np.zeros((place.skipped, *array.shape[1:]), ON_DISK[self._kind(place)])
        for some in slices(array):
            yield self._stored(piece, array[some])

    def _layer(self, layer: int) -> dict[str, Stored]:
        """Return the pieces of a layer, part by part."""
        found, form = dict[str, Stored](), self.checkpoint.form
        wanted = {piece for piece in self.places if piece.rpartition(".")[0] == str(layer)}
        for cut, block in parts_of(self.checkpoint, layer, Walker.REWRITING):
            for name, array in block.present():
                piece, (axis, start) = f"{layer}.{name}", cut.start(name, form)
                if piece in wanted and piece not in found:
                    found[piece] = np.empty(table(form)[name].shape, ON_DISK[self._kind(self.places[piece])])
                if piece in wanted and cut.has(name):
                    part = slice(start, start + array.shape[axis])
                    found[piece][(*(slice(None),) * axis, part)] = self._stored(piece, array)
                elif piece not in wanted:
                    raise BadInput(f"all blocks must have the same pieces, they differ in {piece}")
        if lost := wanted - found.keys():
            raise BadInput(f"all blocks must have the same pieces, they differ in {min(lost)}")
        return found

    def _kind(self, place: Place) -> str:
        """Return the type of the tensor, or of those of all experts, at a place."""
        return self.kinds[place.names(self.checkpoint.form)[0]]

    def _stored(self, piece: str, array: Array) -> Stored:
        """Return numbers of a piece, less what its place says."""
        place = self.places[piece]
        try:
            return to_disk(plus_number(np.asarray(array), -place.less), self._kind(place), rounded=self.rounded)
        except BadInput as error:
            raise BadInput(f"{place.tensor}: {error}") from error
