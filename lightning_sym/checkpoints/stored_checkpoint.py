"""A checkpoint in files: its numbers are read when they are asked for, and no number may be infinite or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from lightning_sym.checkpoints.adapter import Adapter
from lightning_sym.checkpoints.block_types import Grid
from lightning_sym.checkpoints.coded import NOT_FINITE, NUMBERS, Coded
from lightning_sym.checkpoints.layout import Place, by_tensor, cut
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, CheckpointForm, Ends, P, Pieces
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.stored_types import StoredTensor
from lightning_sym.checkpoints.units import LESS_ONE
from lightning_sym.display import Lines, text_table
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.limits import require_integer, require_memory
from lightning_sym.network.readers.bounds import shown

NUMBERS_OF_A_GRID = 20
"""Floats of 64 bits for each entry of a quantised tensor, while its codes are looked at."""


class StoredCheckpoint:
    """A checkpoint that lies in files, as `open_checkpoint` gives it; they must not change while it is used.

    Args:
        path: a folder or a file.
        form: what was read from its configuration.
        places: of all pieces.
        tensors: at least those of the places, of their shapes.
        memory: bytes that a layer, or the ends, may take.
        again: opens it again, in another process.
        numbers: the type in which the file holds the numbers of its configuration.
        layout: how its pieces are named and ordered.
        adapter: what is added to its weights when they are read.
    """

    def __init__(
        self,
        path: Path,
        form: CheckpointForm,
        places: Mapping[str, Place],
        tensors: Mapping[str, StoredTensor],
        memory: int,
        again: Callable[[str, int], StoredCheckpoint],
        numbers: str = "F64",
        layout: str = "hf",
        adapter: Adapter | None = None,
    ) -> None:
        self._path, self.form, self._places, self._tensors = path, form, places, tensors
        self._memory, self._again, self._numbers = memory, again, numbers
        self._held, self.layout, self.adapter = by_tensor(places), layout, adapter

    @property
    def name(self) -> str:
        """Its path, as it was given, in one line."""
        path = str(self._path) + (f" with {self.adapter.path}" if self.adapter else "")
        return path if path.isprintable() else ascii(path)[1:-1]

    def ends(self) -> Ends:
        """Return embedding, positions, final norm and unembedding.

        Raises:
            FileFormatError: a number is not finite.
            TooLarge: they would take more memory than allowed.
        """
        return self._pieces(Ends, None)

    def block(self, layer: int) -> Block:
        """Return layer `layer`, from 0.

        Raises:
            FileFormatError: a number is not finite.
            TooLarge: it would take more memory than allowed.
            BadInput: there is no such layer.
        """
        return self._pieces(Block, layer)

    def coded(self, layer: int | None) -> Pieces:
        """Return a layer, or the ends for `None`, to look at some entries at a time: bfloat16 is `Coded`, as it lies.

        Raises:
            FileFormatError, TooLarge, BadInput: as for `block` and `ends`.
        """
        return self._pieces(Ends if layer is None else Block, layer, coded=True)

    def stored(self, piece: str) -> str:
        """Return the type a piece is stored in; of the types of GGUF files with blocks, the smallest float above it.

        A gain of which the file has what it is more than 1 has the units of that number, `BF16 less one`: those of
        `BF16` at 1 would be far larger. In `F32 less one` it has no smaller units than in `F32`, in which programs add
        the 1.

        Of `epsilon` it is `F64` only where the file holds it so, and all tensors are.
        """
        if piece == "epsilon":
            wide = all(self._tensors[name].holds == "F64" for name in self._held)
            return self._numbers if wide else "F32"
        held = self.held(piece)
        return held + LESS_ONE if self._place(piece).less and held in ("F16", "BF16", "F32") else held

    def held(self, piece: str) -> str:
        """Return the type that holds the numbers of the tensor of a piece, whatever they are less."""
        return str(self._tensors[self._place(piece).tensor].holds)

    def grid(self, piece: str) -> Grid | None:
        """Return the values around those of a quantised piece's codes; `None` where it is not quantised.

        Raises:
            TooLarge: they would take more memory than allowed.
        """
        place = self._places.get(piece)
        if self.adapter is not None and self.adapter.adapts(piece):
            return None  # its numbers are no longer those of the codes
        if place is None or self._tensors[place.tensor].holds == self._tensors[place.tensor].kind:
            return None
        tensor = self._tensors[place.tensor]
        needed = NUMBERS_OF_A_GRID * 8 * prod(tensor.shape)
        require_memory(needed, self._memory, f"{self.name}: what codes of {place.tensor} mean")
        if (found := tensor.grid()) is None:
            return None
        return found.each(lambda array: cut(table(self.form), piece, self._held[place.tensor], place, array))

    def reach(self, piece: str) -> Array | None:
        """Return the size of the larger summand of each entry of a piece to which an adapter adds.

        A summand that was rounded by itself is off by a share of this size.

        `None` where nothing is added.
        """
        if self.adapter is None or not self.adapter.adapts(piece):
            return None
        place = self._place(piece)
        plain = cut(table(self.form), piece, self._held[place.tensor], place, self._finite(place.tensor))
        base = np.asarray(plain, dtype=np.float64)
        return np.maximum(np.abs(base), np.abs(self.adapter.added(piece, plain) - base))

    def require_comparable(self, other: Checkpoint) -> None:
        """Refuse float64 beside an adapter: its sums are rounded to float64, and would be called equal to it.

        Raises:
            BadInput: the other one stores a piece so that the adapter adds to.
        """
        for piece in self._places if self.adapter is not None else ():
            if self.adapter is not None and self.adapter.adapts(piece) and other.stored(piece) == "F64":
                raise BadInput(f"weights beside an adapter must be stored in F16, BF16 or F32, got F64 in {piece}")

    def called(self, piece: str) -> str:
        """Return the tensor that holds a piece."""
        return self._place(piece).tensor

    def _place(self, piece: str) -> Place:
        if piece not in self._places:
            raise BadInput(f"{self.name} must have the piece that is asked for, got {shown(piece)}")
        return self._places[piece]

    def _pieces(self, kind: type[P], layer: int | None, *, coded: bool = False) -> P:
        if layer is not None:
            require_integer(layer, "the layer", 0, self.form.layers - 1)
        before = "" if layer is None else f"{layer}."
        tensors = {self._places[p].tensor for p in (before + f.name for f in fields(kind)) if p in self._places}
        as_they_lie = {name for name in tensors if coded and self._is_coded(name)}
        needed = sum(self._tensors[name].bytes_read for name in tensors - as_they_lie)
        require_memory(needed, self._memory, f"{self.name}: {'the embedding' if layer is None else f'layer {layer}'}")
        read: dict[str, Array] = {}
        found: dict[str, Array] = {}
        for field in fields(kind):
            piece = before + field.name
            if (place := self._places.get(piece)) is None:
                continue
            if place.tensor not in read:
                read[place.tensor] = self._finite(place.tensor, coded=place.tensor in as_they_lie)
            array = cut(table(self.form), piece, self._held[place.tensor], place, read[place.tensor])
            if place.tensor in as_they_lie:
                found[field.name] = cast("Array", Coded(array.view(np.uint16)))  # which is used as one of floats is
            else:
                found[field.name] = array if self.adapter is None else self.adapter.added(piece, array)
        return kind.of(found)

    def _is_coded(self, tensor: str) -> bool:
        """Return whether a tensor is bfloat16 in a file, and its pieces are its numbers, neither more nor less."""
        less = any(self._places[piece].less for piece in self._held[tensor])
        return self._tensors[tensor].codes() is not None and self.adapter is None and not less

    def _finite(self, tensor: str, *, coded: bool = False) -> Array:
        """Return the numbers of a tensor, or its codes, all of them of finite numbers."""
        try:
            array: Any = self._tensors[tensor].codes() if coded else self._tensors[tensor].read()
        except BadInput as error:
            raise type(error)(f"{self.name}: {error}") from error
        flat = array.reshape(-1)
        for begin in range(0, flat.size, NUMBERS):
            some = flat[begin : begin + NUMBERS]
            finite = (some & NOT_FINITE) != NOT_FINITE if coded else np.isfinite(some)
            if not finite.all():
                first = begin + int(np.argmin(finite))
                place = [int(i) for i in np.unravel_index(first, array.shape)]
                found = f"{(Coded(flat) if coded else flat)[first]} at {place}"
                raise FileFormatError(f"{self.name}: {tensor} must hold finite numbers, got {found}")
        return np.asarray(array)

    @property
    def types(self) -> dict[str, int]:
        """How many tensors are stored in each type."""
        return dict(sorted(Counter(self._tensors[name].kind for name in self._held).items()))

    def lines(self) -> Lines:
        """Return what it is, line by line: label and text."""
        form = self.form
        positions = "learned" if form.theta is None else f"rotary, base {form.theta}"
        said = f"{form.layers} of width {form.width:,}, {form.heads} heads of width {form.head_width}"
        return [
            ("checkpoint", self.name),
            ("family", form.family),
            *([] if self.layout in ("hf", "gguf") else [("layout", self.layout)]),
            ("layers", f"{said} in {form.groups} groups, {form.inner:,} neurons ({form.activation})"),
            ("tokens", f"{form.vocabulary:,} ids, {'tied' if form.tied else 'not tied'}, context {form.context:,}"),
            ("norm", f"{'LayerNorm' if form.norm == 'layer' else 'RMSNorm'}, epsilon {float(form.epsilon):g}"),
            ("positions", positions),
            ("stored", ", ".join(f"{count} tensors {kind}" for kind, count in self.types.items())),
        ]

    def __str__(self) -> str:
        return text_table(self.lines())

    def __repr__(self) -> str:
        return f"open_checkpoint({str(self._path)!r})"

    def __reduce__(self) -> tuple[Callable[[str, int], StoredCheckpoint], tuple[str, int]]:
        return self._again, (str(self._path), self._memory)
