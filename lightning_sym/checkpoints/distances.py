"""How far one checkpoint is from another one, tensor by tensor, and by an update of which rank: a base and a fine-tune.

The distance is what is left behind the symmetry that leaves least, so that a copy in disguise is no farther. It is a
measurement in floating point: no answer of a comparison depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.bases import GAUGES
from lightning_sym.checkpoints.explanation import tensors_called
from lightning_sym.checkpoints.identity import called_by, stored_type, stored_types
from lightning_sym.checkpoints.layer_looked import layer_found
from lightning_sym.checkpoints.measured import Measured, less, measured
from lightning_sym.checkpoints.mistaken_numbers import QUARTER
from lightning_sym.checkpoints.mistaken_scenes import wide
from lightning_sym.checkpoints.model import Array, Checkpoint
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.not_moved import ends_behind
from lightning_sym.checkpoints.overlap import overlap
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.searched import Searched
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, pieces_of
from lightning_sym.checkpoints.units import DEFAULT_UNITS
from lightning_sym.display import Result, latex_words
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_WORK, Work, unheard

Left = tuple[int | None, str, Measured, Array]
"""The layer of a piece, its name, what of the second is left with its units, and the second's."""

SINGULAR = 2e-9
"""Seconds, roughly, of an entry of a matrix times its smaller side, in its singular values."""

NEARER = 0.5
"""A symmetry is told only where it leaves less than this part of what nothing leaves: fits alone take some of it."""


@dataclass(frozen=True)
class Distance:
    """How far one tensor is from what the symmetry makes of the first's.

    Attributes:
        layer: its layer, `None` outside of them.
        piece: such as `query`.
        called: what the second's files call it.
        relative: the Frobenius norm of the difference over that of the tensor.
        rank: the numerical rank of the difference of two matrices: singular values beyond it are rounding, up to the
            units asked for of the type that the tensor is stored in, root mean square; `None` for a vector, and where
            it was not computed.
        full: the largest rank that it may have.
        is_rounding: no entry is off by more than the units asked for.
    """

    layer: int | None
    piece: str
    called: str
    relative: float
    rank: int | None
    full: int
    is_rounding: bool

    @property
    def low(self) -> bool:
        """Whether the difference is an update of low rank: at most a quarter of the smaller side."""
        return self.rank is not None and not self.is_rounding and 0 < self.rank <= self.full // QUARTER


@dataclass(frozen=True, eq=False, repr=False)
class Distances(Result):
    """How far two checkpoints are apart.

    Attributes:
        first, second: their names.
        symmetry: what was done to the first before, in words: `nothing`, or what was done to the stream, and inside of
            layers what fits best.
        units: up to which what is left counts as rounding, in units in the last place.
        tensors: all of them, layer by layer.
        updates: by rank, what the files call the tensors that have an update of that low rank.
        tried: what was not compared.
    """

    first: str
    second: str
    symmetry: str
    units: float
    tensors: tuple[Distance, ...]
    updates: tuple[tuple[int, tuple[str, ...]], ...]
    tried: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[Distance, ...]:
        """The tensors that differ by more than rounding."""
        return tuple(each for each in self.tensors if not each.is_rounding)

    _sentences = (
        ("distance", "behind the symmetry that leaves least: {0.symmetry}"),
        ("", lambda found: [("update", f"rank {rank} update in {', '.join(names)}") for rank, names in found.updates]),
        ("", lambda found: [found._line_of(layer) for layer in dict.fromkeys(each.layer for each in found.tensors)]),
        ("", lambda found: [("tried", each) for each in found.tried]),
        ("unit", "ranks are numerical: what is beyond them is at most {0.units:g} units in the last place"),
    )

    def _line_of(self, layer: int | None) -> tuple[str, str]:
        """Return what changed most in a layer, or in the ends."""
        most = sorted((x for x in self.changed if x.layer == layer), key=lambda each: -each.relative)[:SHOWN]
        ranks = ["" if each.rank is None else f" (rank {each.rank} of {each.full})" for each in most]
        said = ", ".join(f"{each.piece} {each.relative:.2g}{rank}" for each, rank in zip(most, ranks, strict=True))
        return "ends" if layer is None else f"layer {layer}", said or "rounding at most"

    def _latex(self) -> str:
        return latex_words(f"{len(self.changed)} of {len(self.tensors)} tensors differ")


SHOWN = 4
"""Tensors of a layer of which the text tells; JSON has them all."""


def checkpoint_distances(
    first: Checkpoint, second: Checkpoint, *, units: float = DEFAULT_UNITS, work: float = DEFAULT_WORK
) -> Distances:
    """Measure how far each tensor of the second is from what the best symmetry makes of the first's.

    Args:
        first, second: from `open_checkpoint`, or made; of other depths they are measured as far as both go.
        units: up to which what is left counts as rounding, in units in the last place.
        work: seconds, by a rough estimate, that singular values may take.

    Raises:
        BadInput: they have other widths, vocabularies or numbers of heads.

    Example:
        >>> import numpy as np
        >>> from dataclasses import replace
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", heads=8)
        >>> block = one.blocks[1]
        >>> low = np.outer(np.arange(32), np.ones(one.form.width)).reshape(block.query.shape).astype(np.float32)
        >>> two = replace(one, blocks=(one.blocks[0], replace(block, query=block.query + low)))
        >>> found = checkpoint_distances(one, two)
        >>> found.updates, [each.piece for each in found.changed]
        (((1, ('1.query',)),), ['query'])
    """
    require_arguments(checkpoint_distances, locals())
    met = overlap(first, second, units) if first.form.vocabulary == second.form.vocabulary else None
    if met is None:
        raise BadInput("distances need two checkpoints of one width, vocabulary and number of heads")
    budget = Work(work)
    with np.errstate(all="ignore"):
        plain, said = list(_as_they_are(met.first, met.second)), "nothing"
        if any(left.value.any() for _, _, left, _ in plain):
            try:
                found, words = _behind(met.first, met.second, units)
            except (BadInput, np.linalg.LinAlgError):
                found, words = plain, said
            if _size(found) < NEARER * _size(plain):
                plain, said = found, words
        tensors = tuple(_distance(met.first, met.second, each, units, budget, met.kept) for each in plain)
    return Distances(first.name, second.name, said, units, tensors, _updates(met.first, met.second, tensors), met.said)


def _as_they_are(first: Checkpoint, second: Checkpoint) -> Iterator[Left]:
    """Yield what each piece of the second has more than the first's."""
    for layer in (None, *range(second.form.layers)):
        old, new = (dict(pieces_of(each, layer, Walker.COMPARISON).present()) for each in (first, second))
        for name, array in new.items():
            stored = stored_type(first, second, name if layer is None else f"{layer}.{name}")
            before = old.get(name, np.zeros_like(array))
            if np.shape(before) == np.shape(array):
                yield layer, name, less(measured(array, stored), measured(before, stored)), array


def _behind(first: Checkpoint, second: Checkpoint, units: float) -> tuple[list[Left], str]:
    """Return what is left behind the symmetry that is found, and what that is."""
    search = Searched(first, second, units, unheard)
    stream, _, ends = search.best_stream()
    scene = ends_behind(first, second, stream, ends, frozenset(), units, stored_types(first, second, None))
    if scene is None:
        raise BadInput("the symmetry must be one that can be applied to the ends")
    found: list[Left] = []
    for name, array in dict(ends_of(second, Walker.COMPARISON).present()).items():
        found.append((None, name, Measured(wide(array) - wide(scene.first[name]), scene.squares[name]), array))
    for layer in range(second.form.layers):
        blocks = block_of(first, layer, Walker.COMPARISON), block_of(second, layer, Walker.COMPARISON)
        forms = first.form.at(layer), second.form.at(layer)
        compared, _, _ = layer_found(blocks, forms, stream, stored_types(first, second, layer), units)
        there = dict(compared.pair.second.present())
        ways = [compared.account.left]
        if gauges := [part for _, part, _ in GAUGES if getattr(compared.account.guess.symmetry, part) is not None]:
            ways.insert(0, compared.left_out(gauges, stream))  # a fit takes a part of every difference
        accounts: list[list[Left]] = [
            [(layer, name, left[name], array) for name, array in there.items() if isinstance(left.get(name), Measured)]
            for left in ways
        ]
        found += accounts[-1] if _size(accounts[-1]) < NEARER * _size(accounts[0]) else accounts[0]
    turned = "the stream as it is" if stream.map.is_identity else "the stream turned"
    return found, f"{turned}, heads and neurons in order, bases fitted"


def _size(found: list[Left]) -> float:
    """Return the sum of the squares of the relative distances of matrices."""
    return sum(_relative(left.value, array) ** 2 for _, _, left, array in found if np.ndim(array) > 1)


def _relative(left: Floats, array: Array) -> float:
    """Return the Frobenius norm of what is left over that of all."""
    size, whole = (float(np.linalg.norm(np.asarray(each, dtype=np.float64))) for each in (left, array))
    return size / whole if whole else float(size > 0)


def _distance(
    first: Checkpoint, second: Checkpoint, found: Left, units: float, work: Work, kept: Mapping[int, int]
) -> Distance:
    """Return the distance of one piece, with its rank where there is work for that."""
    layer, name, left, array = found
    piece = table(second.form)[name]
    called = called_by(first, second, name if layer is None else f"{layer}.{name}")
    relative = _relative(left.value, array)
    rank, full = None, 0
    if piece.columns:
        matrix = piece.as_matrix(left.value)
        full = min(matrix.shape)
        cost = SINGULAR * matrix.size * full
        if not matrix.any():
            rank = 0
        elif np.isfinite(matrix).all() and work.allows(cost):
            work.spent += cost
            rank = numerical_rank(matrix, float(np.broadcast_to(left.square, left.value.shape).sum()), units)
    near = not left.beyond(units).any()
    return Distance(layer if layer is None else kept.get(layer, layer), name, called, relative, rank, full, near)


def numerical_rank(matrix: Floats, square: float, units: float) -> int:
    """Return how many singular values are beyond rounding.

    Args:
        matrix: any.
        square: the sum of the squares of the units of its entries.
        units: up to which what is beyond the rank counts as rounding, root mean square.

    Example:
        >>> import numpy as np
        >>> numerical_rank(np.diag([1.0, 0.5, 1e-9]), 9 * 1e-12, 4.0)
        2
    """
    sizes = np.linalg.svd(matrix, compute_uv=False)
    tails = np.cumsum(np.square(sizes[::-1]))[::-1]
    return int((tails > units**2 * square).sum())


def _updates(
    first: Checkpoint, second: Checkpoint, tensors: tuple[Distance, ...]
) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the updates of low rank, by rank, a name for several layers."""
    by: dict[int, list[str]] = {}
    for name in dict.fromkeys(each.piece for each in tensors if each.low):
        those = [each for each in tensors if each.piece == name and each.low]
        for rank in sorted({each.rank for each in those if each.rank}):
            found = [(each.layer, name) for each in those if each.rank == rank]
            called = tensors_called(second, first, found)
            everywhere = len(found) == second.form.layers > 1
            where = " of all layers" if everywhere else ""
            by.setdefault(rank, []).extend(f"{each}{where}" for each in called)
    return tuple(sorted((rank, tuple(names)) for rank, names in by.items()))
