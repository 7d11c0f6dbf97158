"""What leaves least of one checkpoint beside another one: of the stream, then of each half of each layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isqrt, sqrt
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.coded import CHUNK
from lightning_sym.checkpoints.exact_rings import Floats
from lightning_sym.checkpoints.found_symmetry import stream_of
from lightning_sym.checkpoints.layer_fit import ORDERS, fitted
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Pieces
from lightning_sym.checkpoints.pieces import HALVES, LAYER
from lightning_sym.checkpoints.rewritings import Rewritten, apply
from lightning_sym.checkpoints.stream_fit import streams
from lightning_sym.checkpoints.symmetry import LayerSymmetry
from lightning_sym.checkpoints.symmetry_sizes import KINDS, allowed
from lightning_sym.checkpoints.understood import Walker, pieces_of
from lightning_sym.checkpoints.walk import gain_to_be_had
from lightning_sym.errors import BadInput

OF_HALF = {
    half.norm[-1]: frozenset((*half.norms, *half.maps, *(f"{name}_bias" for name in half.maps)))
    for half in HALVES.values()
}
"""By the number of its norm, the pieces of a half of a layer."""

OF_MLP = frozenset(("neurons", "ups", "gain2", "bias2", *(f"{name}_shift" for name in OF_HALF["2"])))
"""The parts of a symmetry that belong to the second one."""


BIASES = {"bias1": "query_bias", "bias2": "up_bias", "value_bias": "output_bias", "key_bias": "key_bias"}
"""By biases that may be another network's, what must be there to take up the difference."""


@dataclass(frozen=True, eq=False)
class FoundStream:
    """What is done to the stream, and the first checkpoint under that."""

    map: StreamMap
    prepared: Rewritten


def best_stream(first: Checkpoint, second: Checkpoint, orders: bool) -> FoundStream:
    """What is done to the stream, and the gain of the final norm, that leaves least of both ends."""
    theirs: Any = pieces_of(second, None, Walker.REWRITING)
    scale, width = scale_between(first.form.epsilon, second.form.epsilon), first.form.width
    identity = StreamMap(scale, order=np.arange(width), exact=True)
    gain = {} if first.form.tied or orders else {"final_gain": gain_to_be_had(np.asarray(theirs.final_gain))}
    best: tuple[float, FoundStream] | None = None
    for guess in (identity, *_fitted_streams(first, second, scale)):
        if orders and guess.matrix is not None:
            continue
        for had in ({}, gain):
            parts = stream_of(guess, first, second).symmetry
            try:
                made = apply(replace(parts, layers=(LayerSymmetry(),) * first.form.layers, **had), first, exact=False)
                off = sum_of(squares_of(made.ends(), theirs).values())
            except BadInput:  # this rotation mixes different gains
                continue
            if best is None or off < best[0]:
                best = off, FoundStream(guess, made)
    if best is None:
        raise TypeError("doing nothing is always possible")
    found = best[1]
    if orders or not (more := _added_to_ends(found.prepared.ends(), theirs, second.form)):
        return found
    made = apply(replace(found.prepared.symmetry, **more), first, exact=False)
    return FoundStream(found.map, made) if sum_of(squares_of(made.ends(), theirs).values()) < best[0] else found


def _added_to_ends(made: Pieces, theirs: Pieces, form: CheckpointForm) -> dict[str, Any]:
    """What is added to rows of embedding and positions, so that both are nearest to the second's."""
    found, there = dict[str, Any](), dict(theirs.present())
    less = {name: np.asarray(there[name], dtype=np.float64) - array for name, array in made.present()}
    if "positions" in less and allowed("moved", form):
        found["moved"] = less["embedding"].mean(axis=0)
        less |= {"embedding": less["embedding"] - found["moved"], "positions": less["positions"] + found["moved"]}
    for name in ("embedding", "positions"):
        shift = f"{name}_shift"
        if name in less and allowed(shift, form) and not (form.tied and name == "embedding"):
            found[shift] = less[name].mean(axis=1)
    return found


def _fitted_streams(first: Checkpoint, second: Checkpoint, scale: Fraction) -> Iterator[StreamMap]:
    """What may have been done to the stream, of the scale that the epsilons have."""
    try:
        for guess, _ in streams(first, second):
            yield replace(guess, scale=scale)
    except np.linalg.LinAlgError:  # weights are too large, or too far apart
        return


def scale_between(first: Fraction, second: Fraction) -> Fraction:
    """The scale of the stream by which one epsilon becomes the other, 1 where there is none.

    Example:
        >>> scale_between(Fraction(1, 10**6), Fraction(4, 10**6)), scale_between(Fraction(1, 10**6), Fraction(1, 10**5))
        (Fraction(2, 1), Fraction(1, 1))
    """
    if first <= 0 or second <= 0:
        return Fraction(1)
    square = second / first
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else Fraction(1)


def best_layer(found: FoundStream, second: Checkpoint, layer: int, orders: bool) -> LayerSymmetry:
    """What is done inside a layer, each half by itself: what leaves least of it."""
    theirs: Any = pieces_of(second, layer, Walker.REWRITING)
    mine: Any = pieces_of(found.prepared.original, layer, Walker.REWRITING)
    try:
        guess = fitted(mine, theirs, second.form, found.map).symmetry
    except np.linalg.LinAlgError:  # weights are too large, or too far apart
        guess = LayerSymmetry()
    if orders:
        guess = LayerSymmetry(**{name: getattr(guess, name) for name in ORDERS})
    gains = {f"gain{number}": gain_to_be_had(np.asarray(getattr(theirs, f"norm{number}_gain"))) for number in (1, 2)}
    ways = ({},) if orders else ({}, gains, gains | _biases(mine, theirs, second.form))
    best: dict[str, tuple[float, LayerSymmetry]] = {}
    for inside in (LayerSymmetry(), guess):
        for had in ways:
            for symmetry, made in _tried(found.prepared, layer, replace(inside, **had), None if orders else theirs):
                squares = squares_of(made, theirs)
                for number, names in OF_HALF.items():
                    off = sum_of(squares[name] for name in names & squares.keys())
                    if number not in best or off < best[number][0]:
                        best[number] = off, symmetry
    parts = {name: part for name, part in best["1"][1].named() if name not in OF_MLP}
    return LayerSymmetry(**parts, **{name: part for name, part in best["2"][1].named() if name in OF_MLP})


def _tried(
    prepared: Rewritten, layer: int, symmetry: LayerSymmetry, theirs: Pieces | None
) -> Iterator[tuple[LayerSymmetry, Pieces]]:
    """A layer under a symmetry of it, if it is one, and with what LayerNorm allows along ones, if that is asked for."""
    try:
        made = _with_layer(prepared, layer, symmetry)
    except BadInput:  # the rotation mixes different gains
        return
    yield symmetry, made
    if theirs is not None and prepared.form.norm == "layer":
        for _ in range(2):  # biases take up what maps have lost
            parts = {name: part + _or_zero(getattr(symmetry, name)) for name, part in _along_ones(made, theirs).items()}
            symmetry = replace(symmetry, **parts)
            made = _with_layer(prepared, layer, symmetry)
        yield symmetry, made


def _or_zero(part: Any) -> Any:
    """A part of a symmetry as numbers."""
    return 0.0 if part is None else part


def _along_ones(made: Pieces, theirs: Pieces) -> dict[str, Any]:
    """What is added along the vector of ones, so that what maps read and write is nearest to the second's."""
    found, there = dict[str, Any](), dict(theirs.present())
    for name, array in made.present():
        piece = LAYER[name]
        axis = piece.place("stream")
        if axis is None or f"{name}_shift" not in KINDS:
            continue
        less = np.asarray(there[name], dtype=np.float64) - array
        direction = 1 / np.asarray(getattr(made, f"{piece.norm}_gain")) if piece.norm else np.ones(less.shape[axis])
        shift = np.tensordot(less, direction, axes=(axis, 0)) / np.vdot(direction, direction)
        found[f"{name}_shift"] = shift if np.shape(shift) else float(shift)
    return found


def _biases(mine: Block, theirs: Block, form: CheckpointForm) -> dict[str, Any]:
    """The biases of the second that a symmetry may give the first, where another one takes up what they lose."""
    found: dict[str, Any] = {}
    for name, taken in BIASES.items():
        piece = name.replace("bias1", "norm1_bias").replace("bias2", "norm2_bias")
        there = all(getattr(block, each) is not None for block in (mine, theirs) for each in (piece, taken))
        if there and allowed(name, form):
            found[name] = np.asarray(getattr(theirs, piece))
    return found


def _with_layer(prepared: Rewritten, layer: int, symmetry: LayerSymmetry) -> Pieces:
    """A layer under a symmetry of it."""
    layers = (symmetry,) * prepared.form.layers  # of which this one alone is looked at
    return replace(prepared, symmetry=replace(prepared.symmetry, layers=layers)).block(layer)


def squares_of(made: Pieces, theirs: Pieces) -> dict[str, tuple[float, float]]:
    """By piece, the square of the distance, and of the length of the second checkpoint's; some rows at a time."""
    found, there = dict[str, tuple[float, float]](), dict(made.present())
    for name, new in theirs.present():
        if (old := there.get(name)) is None:
            raise BadInput(f"both must have the same pieces, one has no {name}")
        apart = whole = 0.0
        for start in range(0, len(new), CHUNK):
            some = np.asarray(new[start : start + CHUNK], dtype=np.float64)
            apart += _square(some - np.asarray(old[start : start + CHUNK], dtype=np.float64))
            whole += _square(some)
        found[name] = apart, whole
    return found


def _square(array: Floats) -> float:
    return float(np.vdot(array, array))


def relative(square: float, whole: float) -> float:
    """A distance over a length."""
    return sqrt(square / whole) if whole > 0 else inf if square > 0 else 0.0


def sum_of(squares: Iterable[tuple[float, float]]) -> float:
    """Squares of distances, of all pieces together."""
    return sum(apart for apart, _ in squares)
