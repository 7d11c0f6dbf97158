"""What a symmetry does to the residual stream: in a ring, and in those in which two checkpoints are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lightning_sym.checkpoints.bases import Bases, StreamMap
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Numbers
from lightning_sym.checkpoints.measured import E, Fitted
from lightning_sym.checkpoints.measuring import Measuring
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import Symmetry
from lightning_sym.checkpoints.symmetry_sizes import require, require_order, require_shape


class StreamAction:
    """`x -> c R x` as a symmetry says it, in a ring: a basis of the stream (`bases.py`), and its length.

    Raises:
        BadInput: it is no symmetry of the norms.
    """

    def __init__(self, symmetry: Symmetry, form: CheckpointForm, ring: Arithmetic) -> None:
        self.ring, self.width = ring, form.width
        width = form.width
        require(symmetry.scale > 0, f"scale must be positive, got {symmetry.scale}")
        order = signs = matrix = None
        if symmetry.rotation is not None:
            alone = symmetry.order is None and symmetry.signs is None
            require(alone, "a symmetry must have a rotation or order and signs, got both")
            require_shape("rotation", symmetry.rotation, (width, width))
            matrix = ring.numbers(symmetry.rotation)
        if symmetry.order is not None:
            require_order("order", symmetry.order, width)
            order = np.asarray(symmetry.order, dtype=np.int64)
        if symmetry.signs is not None:
            require_shape("signs", symmetry.signs, (width,))
            signs = np.asarray(symmetry.signs, dtype=np.float64)
            require((np.abs(signs) == 1).all(), "signs must be 1 or -1")
            signs = None if (signs == 1).all() else signs
        self.map = StreamMap(symmetry.scale, order, signs, matrix)
        self._require_symmetry(centred=form.norm == "layer")

    def _require_symmetry(self, *, centred: bool) -> None:
        """Demand that `R` is orthogonal, if exact, and with LayerNorm keeps the vector of ones up to its sign."""
        what = "with LayerNorm a rotation must keep the vector of ones, up to its sign"
        signs, matrix = self.map.signs, self.map.matrix
        if signs is not None and centred:
            require(len(set(signs.tolist())) == 1, what)
        if matrix is None or not isinstance(self.ring, Exact):
            return
        square = self.ring.product(matrix, matrix.T)
        one = np.eye(len(matrix), dtype=object)
        require((square == one).all(), "a rotation must be orthogonal, over the rationals: R R^T = 1")
        if centred:
            image = self.ring.product(matrix, np.ones((len(matrix), 1)))
            require((image == 1).all() or (image == -1).all(), what)

    def bases(self) -> Bases:
        """Return the bases: `R`, and the length of what is written into the stream."""
        return self.map.bases(self.ring)

    def read(self, array: Numbers) -> Numbers:
        """Return a map that reads the stream, `(..., d)`, or a vector of it: times `R^T`."""
        return self.map.turned(array, array.ndim - 1, array.ndim, self.ring)

    def carried(self, gain: E) -> E | None:
        """Return the gain `g'` with `R diag(g) = diag(g') R`; `None` if there is none, as `R` mixes different gains."""
        if self.map.matrix is None:
            return gain if self.map.order is None else gain[self.map.order]
        mixed = self.map.matrix != 0
        first = gain[mixed.argmax(axis=1)]
        return first if bool(((first[:, None] == gain[None, :]) | ~mixed).all()) else None


EXACT, BRIEF = Exact(), Exact(2 * 10**4)
"""Over the rationals: where all may be equal, and where something differs, so that there is only to be counted."""


@dataclass(frozen=True, eq=False)
class Stream:
    """What is done to the residual stream, as a symmetry, and in the two rings.

    Attributes:
        symmetry: its parts for the stream.
        form: of the second checkpoint.
        map: the same as it was guessed.
        fits: its rotation, if that was fitted, and how well rows of the embedding tell it.
    """

    symmetry: Symmetry
    form: CheckpointForm
    map: StreamMap
    fits: tuple[tuple[object, Fitted], ...] = ()

    def __reduce__(self) -> tuple[type[Stream], tuple[object, ...]]:
        """Return what another process needs of it; what it does in the rings of this one is made anew there."""
        return type(self), (self.symmetry, self.form, self.map, self.fits)

    @cached_property
    def measured(self) -> StreamAction:
        """In floats."""
        return StreamAction(self.symmetry, self.form, Measuring(self.fits))

    @cached_property
    def exactly(self) -> dict[Exact, StreamAction]:
        """Over the rationals, in the two rings of it.

        Raises:
            BadInput: it is not orthogonal.
            TooLarge: that was not seen.
        """
        return {ring: StreamAction(self.symmetry, self.form, ring) for ring in (EXACT, BRIEF)}
