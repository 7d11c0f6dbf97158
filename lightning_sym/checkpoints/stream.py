"""What a symmetry does to the residual stream, and to the norms and maps that read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.bases import Bases, StreamMap
from lightning_sym.checkpoints.exact_arrays import Arithmetic, Exact, Numbers
from lightning_sym.checkpoints.measured import Fitted
from lightning_sym.checkpoints.measuring import Measuring
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import Part, Symmetry
from lightning_sym.errors import BadInput


def require(holds: object, what: str) -> None:
    """Refuse what is no symmetry.

    Raises:
        BadInput: with what must be true.
    """
    if not holds:
        raise BadInput(what)


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

    def carried(self, gain: Numbers) -> Numbers | None:
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


class Reading:
    """A norm and what it does to the maps that read it: `W (g n + b) + w` stays what it is.

    Args:
        stream: the change of the stream.
        gain, bias: of the norm.
        new_gain, new_bias: to be had; `None`: carried along.
        what: the norm's name, for errors.
    """

    def __init__(
        self,
        stream: StreamAction,
        gain: Numbers,
        bias: Numbers | None,
        new_gain: Part | None = None,
        new_bias: Part | None = None,
        what: str = "norm",
    ) -> None:
        self.stream, self.ring = stream, stream.ring
        ring = self.ring
        self.old_gain, self.old_bias = ring.numbers(gain), None if bias is None else ring.numbers(bias)
        self.folded = new_gain is not None
        if self.folded:
            self.gain = ring.numbers(new_gain)
            require((self.gain != 0).all(), f"the gain of {what} to be had must not be 0 anywhere")
        else:
            carried = stream.carried(self.old_gain)
            if carried is None:
                raise BadInput(f"the rotation must not mix different gains of {what}; give the gain to be had by it")
            self.gain = carried
        self.moves_bias = new_bias is not None
        self.bias = None
        if self.old_bias is None:
            require(not self.moves_bias, f"{what} must have a bias for one to be had")
        elif self.moves_bias:
            self.bias = ring.numbers(new_bias)
        elif self.folded:
            zero = (self.old_gain == 0).any()
            require(not zero, f"{what} has gains that are 0, so that its bias to be had must be given")
            self.bias = ring.times(self.gain, stream.read(ring.over(self.old_bias, self.old_gain)))
        else:
            self.bias = stream.read(self.old_bias)

    def map(
        self, weight: Numbers, bias: Numbers | None, shift: Part | None = None, what: str = "map"
    ) -> tuple[Numbers, Numbers | None]:
        """Return a map that reads the norm, `(..., d)`, and its bias `(...,)`, in the ring; shift `u` along ones."""
        ring, old = self.ring, weight
        if self.folded:
            new = ring.over(self.stream.read(ring.times(old, self.old_gain)), self.gain)
        else:
            new = self.stream.read(old)
        more: list[Numbers] = []
        if self.moves_bias and self.old_bias is not None and self.bias is not None:
            before, after = applied(ring, old, self.old_bias), applied(ring, new, self.bias)
            if bias is not None:
                more += [before, -after]
            else:
                require((before == after).all(), f"{what} has no bias that could take up that of its norm")
        if shift is not None:
            direction = ring.numbers(shift)
            new = ring.plus(new, ring.over(direction[..., None], self.gain))
            if self.bias is not None:
                total = applied(ring, ring.over(self.bias, self.gain)[None], np.ones(len(self.gain)))
                if bias is not None:
                    more.append(-ring.times(direction, total))
                else:
                    require((total == 0).all(), f"{what} has no bias, so that sum(bias / gain) of its norm must be 0")
        for term in more:
            bias = ring.plus(bias, term) if bias is not None else None
        return new, bias


def applied(ring: Arithmetic, weight: Numbers, vector: Numbers) -> Numbers:
    """Return a map `(..., d)` times a vector."""
    return ring.product(weight.reshape(-1, weight.shape[-1]), vector[:, None]).reshape(weight.shape[:-1])


def require_shape(what: str, array: npt.ArrayLike, shape: tuple[int, ...]) -> None:
    """Refuse another shape.

    Raises:
        BadInput: with both.
    """
    found = np.shape(array)
    require(found == shape, f"{what} must have shape {shape}, got {found}")


def require_order(what: str, order: npt.ArrayLike, size: int) -> None:
    """Refuse what is no permutation.

    Raises:
        BadInput: it is none of `0..size-1`.
    """
    require_shape(what, order, (size,))
    numbers = np.asarray(order)
    fits = numbers.dtype.kind in "iu" and np.array_equal(np.sort(numbers), np.arange(size))
    require(fits, f"{what} must be a permutation of 0..{size - 1}")
