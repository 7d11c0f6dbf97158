"""The member of one checkpoint's orbit that is nearest to another checkpoint, as far as a search finds it.

Heads and neurons are matched (Hungarian), the stream is turned (Procrustes), the rest is fitted. Each half of a layer
keeps what leaves least of it, or what it was. It is a symmetry: the function is that of the first checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, sqrt
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.coded import slices
from lightning_sym.checkpoints.found_symmetry import ORDERS
from lightning_sym.checkpoints.identity import stored_types, unlike
from lightning_sym.checkpoints.layer_fit import fitted
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, Pieces, require_checkpoint
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.pieces import LAYER, NUMBERS, OF_HALF
from lightning_sym.checkpoints.rewritings import Rewritten, apply, layer_under
from lightning_sym.checkpoints.stream_fit import stream_of, streams
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry, Symmetry, allowed
from lightning_sym.checkpoints.understood import Walker, block_of, pieces_of, require_form, require_whole
from lightning_sym.checkpoints.walk import gain_to_be_had
from lightning_sym.display import Result
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, Progress, unheard
from lightning_sym.rings.arrays import rational_root

OF_MLP = frozenset(("neurons", "ups", "gain2", "bias2", *(f"{name}_shift" for name in OF_HALF[2])))
"""The parts of a symmetry that belong to the second one."""

BIASES = {
    "bias1": "query_bias", "bias2": "up_bias", "value_bias": "output_bias", "key_bias": "key_bias",
    "attention_bias": "down_bias",
}  # fmt: skip
"""By biases that may be another network's, what must be there to take up the difference."""


@dataclass(frozen=True, eq=False)
class FoundStream:
    """What is done to the stream, and the first checkpoint under that."""

    map: StreamMap
    prepared: Rewritten


def best_stream(first: Checkpoint, second: Checkpoint, *, orders: bool) -> FoundStream:
    """Return what is done to the stream, and the gain of the final norm, that leaves least of both ends."""
    theirs: Any = pieces_of(second, None, Walker.REWRITING)
    scale, width = _scale_between(first.form.epsilon, second.form.epsilon), first.form.width
    identity = StreamMap(scale, order=np.arange(width), exact=True)
    gain = {} if first.form.tied or orders else {"final_gain": gain_to_be_had(np.asarray(theirs.final_gain))}
    best: tuple[float, FoundStream] | None = None
    for guess in (identity, *_fitted_streams(first, second, scale)):
        if orders and guess.matrix is not None:
            continue
        for had in ({}, gain):
            parts = stream_of(guess, first, second).symmetry
            try:
                layers = (LayerSymmetry(),) * first.form.layers
                made = apply(parts.having({"layers": layers, **had}), first, exact=False)
                off = sum_of(squares_of(made.ends(), theirs).values())
            except BadInput:  # this rotation mixes different gains
                continue
            if best is None or off < best[0]:
                best = off, FoundStream(guess, made)
    if best is None:
        raise TypeError("doing nothing is always possible")
    found = best[1]
    if orders or not (more := added_to_ends(found.prepared.ends(), theirs, second.form)):
        return found
    made = apply(found.prepared.symmetry.having(more), first, exact=False)
    return FoundStream(found.map, made) if sum_of(squares_of(made.ends(), theirs).values()) < best[0] else found


def added_to_ends(made: Ends, theirs: Pieces | None, form: CheckpointForm) -> dict[str, Floats]:
    """Return what is added to rows of embedding, positions and unembedding, to be nearest to the second's, or 0."""
    found, there = dict[str, Floats](), dict(theirs.present()) if theirs else {}
    less = {name: np.asarray(there.get(name, 0), dtype=np.float64) - array for name, array in made.present()}
    if "positions" in less and allowed("moved", form):
        found["moved"] = less["embedding"].mean(axis=0)
        less |= {"embedding": less["embedding"] - found["moved"], "positions": less["positions"] + found["moved"]}
    for name in ("embedding", "positions"):
        shift = f"{name}_shift"
        if name in less and allowed(shift, form) and not (form.tied and name == "embedding"):
            found[shift] = less[name].mean(axis=1)
    if allowed("unembedding_shift", form) and np.all(made.final_gain) and not np.any(made.final_bias):
        direction = 1 / np.asarray(made.final_gain)
        found["unembedding_shift"] = less["unembedding"] @ direction / (direction @ direction)
    return found


def _fitted_streams(first: Checkpoint, second: Checkpoint, scale: Fraction) -> Iterator[StreamMap]:
    """Yield what may have been done to the stream, of the scale that the epsilons have."""
    try:
        for guess, _ in streams(first, second):
            yield replace(guess, scale=scale)
    except np.linalg.LinAlgError:  # weights are too large, or too far apart
        return


def _scale_between(first: Fraction, second: Fraction) -> Fraction:
    """Return the scale of the stream by which one epsilon becomes the other, 1 where there is none."""
    if first <= 0 or second <= 0:
        return Fraction(1)
    return rational_root(second / first) or Fraction(1)


def best_layer(found: FoundStream, second: Checkpoint, layer: int, *, orders: bool) -> LayerSymmetry:
    """Return what is done inside a layer, each half by itself: what leaves least of it."""
    form, theirs = second.form.at(layer), block_of(second, layer, Walker.REWRITING)
    mine = block_of(found.prepared.original, layer, Walker.REWRITING)
    try:
        stored = stored_types(found.prepared.original, second, layer)
        guess = fitted(mine, theirs, form, found.map, stored).symmetry
    except np.linalg.LinAlgError:  # weights are too large, or too far apart
        guess = LayerSymmetry()
    if orders:
        guess = LayerSymmetry(**{name: getattr(guess, name) for name in ORDERS})
    had = {f"gain{number}": getattr(theirs, f"norm{number}_gain") for number in NUMBERS}
    gains = {name: gain_to_be_had(np.asarray(gain)) for name, gain in had.items() if gain is not None}
    ways = ({},) if orders else ({}, gains, gains | _biases(mine, theirs, form))
    best: dict[int, tuple[float, LayerSymmetry]] = {}
    for inside in (LayerSymmetry(), guess):
        for had in ways:
            for symmetry, made in _tried(found.prepared, layer, inside.having(had), None if orders else theirs):
                squares = squares_of(made, theirs)
                for number, names in OF_HALF.items():
                    off = sum_of(squares[name] for name in names & squares.keys())
                    if number not in best or off < best[number][0]:
                        best[number] = off, symmetry
    parts = {name: part for name, part in best[1][1].named() if name not in OF_MLP}
    both = LayerSymmetry().having(parts | {name: part for name, part in best[2][1].named() if name in OF_MLP})
    if orders or "attention_bias" not in _biases(mine, theirs, form):
        return both
    moved: Any = layer_under(found.prepared, layer, both).block(layer)  # outputs, and the MLP beside them, share it
    outputs, mlp = (np.asarray(getattr(theirs, name)) - getattr(moved, name) for name in ("output_bias", "down_bias"))
    return replace(both, attention_bias=moved.output_bias + (outputs - mlp) / 2)


def _tried(
    prepared: Rewritten, layer: int, symmetry: LayerSymmetry, theirs: Pieces | None
) -> Iterator[tuple[LayerSymmetry, Pieces]]:
    """Yield a layer under a symmetry of it, if it is one, and with what LayerNorm allows along ones, if asked for."""
    try:
        made = layer_under(prepared, layer, symmetry).block(layer)
    except BadInput:  # the rotation mixes different gains
        return
    yield symmetry, made
    if theirs is not None and prepared.form.norm == "layer":
        for _ in range(2):  # biases take up what maps have lost
            more, had = along_ones(made, theirs), dict(symmetry.named())
            symmetry = replace(symmetry, **{name: part + had.get(name, 0.0) for name, part in more.items()})
            made = layer_under(prepared, layer, symmetry).block(layer)
        yield symmetry, made


def along_ones(made: Pieces, theirs: Pieces | None) -> dict[str, Any]:
    """Return what is added along the vector of ones, so that what maps read and write is nearest to theirs, or 0."""
    found, there = dict[str, Any](), dict(theirs.present()) if theirs else {}
    for name, array in made.present():
        piece = LAYER[name]
        axis = piece.place("stream")
        if axis is None or f"{name}_shift" not in KINDS:
            continue
        less = np.asarray(there.get(name, 0), dtype=np.float64) - array
        direction = 1 / np.asarray(getattr(made, f"{piece.norm}_gain")) if piece.norm else np.ones(less.shape[axis])
        shift = np.tensordot(less, direction, axes=(axis, 0)) / np.vdot(direction, direction)
        found[f"{name}_shift"] = shift if np.shape(shift) else float(shift)
    return found


def _biases(mine: Block, theirs: Block, form: CheckpointForm) -> dict[str, Floats]:
    """Return the biases of the second that a symmetry may give the first, where another one takes up what they lose."""
    found: dict[str, Floats] = {}
    for name, taken in BIASES.items():
        piece = name.replace("bias1", "norm1_bias").replace("bias2", "norm2_bias").replace("attention", "output")
        there = all(getattr(block, each) is not None for block in (mine, theirs) for each in (piece, taken))
        if there and allowed(name, form):
            found[name] = np.asarray(getattr(theirs, piece))[..., form.turned if name == "key_bias" else 0 :]
    return found


def squares_of(made: Pieces, theirs: Pieces) -> dict[str, tuple[float, float]]:
    """Return by piece the squared distance, and the squared length of the second's piece; some rows at a time."""
    found, there = dict[str, tuple[float, float]](), dict(made.present())
    for name, new in theirs.present():
        if (old := there.get(name)) is None:
            raise BadInput(f"both must have the same pieces, one has no {name}")
        apart = whole = 0.0
        for rows in slices(new):
            some = np.asarray(new[rows], dtype=np.float64)
            less = some - np.asarray(old[rows], dtype=np.float64)
            apart, whole = apart + float(np.vdot(less, less)), whole + float(np.vdot(some, some))
        found[name] = apart, whole
    return found


def relative(square: float, whole: float) -> float:
    """Return a distance over a length."""
    return sqrt(square / whole) if whole > 0 else inf if square > 0 else 0.0


def sum_of(squares: Iterable[tuple[float, float]]) -> float:
    """Return squares of distances, of all pieces together."""
    return sum(apart for apart, _ in squares)


SHOWN = 8
"""Tensors of which the text tells; JSON has them all."""

KEPT = frozenset(("heads", "neurons", "order", "signs"))
"""Parts that change no number but for its sign."""


@dataclass(frozen=True)
class AlignedPiece:
    """How far a piece is from the second checkpoint's, over the length of that one.

    Attributes:
        piece: such as `3.query`.
        called: what the second checkpoint's files call it.
        before: as it was; infinite where only one of them is 0.
        after: as the symmetry makes it.
    """

    piece: str
    called: str
    before: float
    after: float

    def __str__(self) -> str:
        return f"{self.called} ({self.piece}): {self.before:.3g} before, {self.after:.3g} after"


@dataclass(frozen=True, eq=False, repr=False)
class Aligned(Result):
    """The nearest member that was found of the orbit of a checkpoint.

    Attributes:
        checkpoint: it, rewritten layer by layer when it is asked for.
        symmetry: what makes it of the first checkpoint.
        exact: it only moves numbers and changes signs, so that each number is one of the first checkpoint's.
        pieces: how far each is from the second checkpoint's, before and after.
        before: of all pieces together, the distance over the length of the second checkpoint.
        after: likewise.
    """

    checkpoint: Rewritten
    symmetry: Symmetry
    exact: bool
    pieces: tuple[AlignedPiece, ...]
    before: float
    after: float

    _sentences = (
        ("distance", "{0.before:.3g} before, {0.after:.3g} after, of the length of all weights"),
        ("done", lambda a: ", ".join(dict.fromkeys(p.rpartition(".")[2] for p in a.symmetry.parts())) or "nothing"),
        (
            "numbers",
            lambda a: (
                "as they were, moved, perhaps with other signs" if a.exact else "in float64, rounded when written"
            ),
        ),
        ("farthest", lambda a: map(str, sorted(a.pieces, key=lambda each: -each.after)[:SHOWN])),
    )
    _in_words = "{0.before:.3g} before, {0.after:.3g} after"


def align(
    first: Checkpoint, second: Checkpoint, *, orders: bool = False, memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Aligned:  # fmt: skip
    """Find the member of the first checkpoint's orbit that is nearest to the second.

    It is the nearest of those that were looked at, with no proof that there is no nearer one.

    Args:
        first: what is rewritten.
        second: of the same sizes, and as tied.
        orders: whether only orders and signs may change.
        memory: bytes that a layer, or the embedding, of both, with what is made of it, may take.
        progress: is told of each layer.

    Raises:
        BadInput: no symmetry is known that leads from a network like the first to one like the second.
        TooLarge: they would not fit.

    Example:
        >>> from lightning_sym.checkpoints.random_symmetries import random_symmetry
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> found = align(one, apply(random_symmetry(one, ["neurons", "heads"]), one))
        >>> found.exact, found.before > 0.2, found.after
        (True, True, 0.0)
    """
    require_arguments(align, locals())
    for name, given in (("first", first), ("second", second)):
        require_checkpoint(given, name)
        require_form(given.form, Walker.REWRITING)
    _require_alike(first, second)
    require_whole(first.form, memory, "two checkpoints in line, a whole layer or the embeddings of both,")
    tell: Progress = progress or unheard
    tell("the residual stream", 0, first.form.layers + 1)
    found = best_stream(first, second, orders=orders)
    layers = list[LayerSymmetry]()
    for layer in range(first.form.layers):
        tell(f"layer {layer}", layer + 1, first.form.layers + 1)
        layers.append(best_layer(found, second, layer, orders=orders))
    symmetry = replace(found.prepared.symmetry, layers=tuple(layers))
    result = _measured(first, second, symmetry)
    if result.after <= result.before:
        return result
    return _measured(first, second, Symmetry((LayerSymmetry(),) * first.form.layers))


def _measured(first: Checkpoint, second: Checkpoint, symmetry: Symmetry) -> Aligned:
    """Return how far all pieces of the first are from the second's, as they are and under a symmetry."""
    made = apply(symmetry, first, exact=False)
    pieces, sums = list[AlignedPiece](), np.zeros(3)
    for where in (None, *range(first.form.layers)):
        theirs = pieces_of(second, where, Walker.REWRITING)
        old, new = (squares_of(pieces_of(each, where, Walker.REWRITING), theirs) for each in (first, made))
        for name, (apart, whole) in new.items():
            piece = name if where is None else f"{where}.{name}"
            sums += (old[name][0], apart, whole)
            pair = (relative(square, whole) for square in (old[name][0], apart))
            pieces.append(AlignedPiece(piece, second.called(piece), *pair))
    exact = {part.rpartition(".")[2] for part in symmetry.parts()} <= KEPT
    before, after = (relative(square, sums[2]) for square in sums[:2])
    return Aligned(apply(symmetry, first, exact=exact), symmetry, exact, tuple(pieces), before, after)


def _require_alike(first: Checkpoint, second: Checkpoint) -> None:
    forms = first.form, second.form
    if forms[0].vocabulary != forms[1].vocabulary:
        raise BadInput(f"both must have the same token ids, got {forms[0].vocabulary:,} and {forms[1].vocabulary:,}")
    for reason in unlike(*forms, inf):
        raise BadInput(f"the first must be like the second: {reason}")
    for name in ("groups", "inner", "tied"):
        old, new = (getattr(form, name) for form in forms)
        if old != new:
            raise BadInput(f"the first must be like the second, {name} are {old} and {new}")
