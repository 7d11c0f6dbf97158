"""Moves of the rewriting playground: each setting of its controls is a symmetry, and `apply` carries it out.

The page moves tensors by itself; tests compare it with what is made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import CheckpointForm, MadeCheckpoint
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.rings.arrays import ObjectArray

Settings = Mapping[str, Any]
"""By move how far it is from rest: angles in eighths of the tangent of their half, factors as powers of two, orders as
steps; `turn` and `gains` are of the whole network, the others have one number a layer."""

OF_LAYERS = ("heads", "rotary", "scores", "values", "neurons", "ups")


def at_rest(form: CheckpointForm) -> dict[str, object]:
    """Return the settings at which nothing has moved."""
    return {"turn": 0, "gains": 0} | {name: [0] * form.layers for name in OF_LAYERS}


def cosine_and_sine(eighths: int) -> tuple[Fraction, Fraction]:
    """Return a rational point of the circle: the tangent of half its angle is `eighths / 8`.

    Example:
        >>> cosine_and_sine(4), cosine_and_sine(8)
        ((Fraction(3, 5), Fraction(4, 5)), (Fraction(0, 1), Fraction(1, 1)))
    """
    below = 64 + eighths**2
    return Fraction(64 - eighths**2, below), Fraction(16 * eighths, below)


def pair_turn(size: int, eighths: int) -> ObjectArray:
    """Return the matrix that turns coordinate `i` towards `i + size/2`, all pairs by one angle."""
    c, s = cosine_and_sine(eighths)
    half, found = size // 2, np.full((size, size), Fraction(0), dtype=object)
    for i in range(half):
        found[i, i] = found[i + half, i + half] = c
        found[i, i + half], found[i + half, i] = -s, s
    return found


def head_order(form: CheckpointForm, steps: int) -> npt.NDArray[np.int64]:
    """Return an order of heads that keeps groups together: groups go round, and behind each round heads inside."""
    share = form.heads // form.groups
    group, inside = np.arange(form.groups) + steps % form.groups, np.arange(share) + steps // form.groups
    return ((group % form.groups)[:, None] * share + inside % share).ravel()


def symmetry_of(form: CheckpointForm, settings: Settings) -> Symmetry:
    """Return the symmetry that the settings are; before the stream is turned all gains are folded."""
    folded = np.ones(form.width) if settings["gains"] or settings["turn"] else None
    turn = pair_turn(form.width, settings["turn"]) if settings["turn"] else None
    layers = (_layer(form, {name: settings[name][layer] for name in OF_LAYERS}, folded) for layer in range(form.layers))
    return Symmetry(tuple(layers), final_gain=folded, rotation=turn)


def _layer(form: CheckpointForm, at: Mapping[str, int], folded: npt.NDArray[np.float64] | None) -> LayerSymmetry:
    turns = np.empty((form.groups, form.head_width // 2, 2), dtype=object)
    turns[:] = [x * Fraction(2) ** at["scores"] for x in cosine_and_sine(at["rotary"])]
    return LayerSymmetry(
        heads=head_order(form, at["heads"]),
        turns=turns,
        values=np.stack([pair_turn(form.head_width, at["values"])] * form.groups),
        neurons=np.roll(np.arange(form.inner), -at["neurons"]),
        ups=np.full(form.inner, Fraction(2) ** at["ups"], dtype=object),
        gain1=folded,
        gain2=folded,
    )


def moved(model: MadeCheckpoint, settings: Settings) -> MadeCheckpoint:
    """Return the model at some settings: other numbers, the same logits."""
    made = apply(symmetry_of(model.form, settings), model)
    return replace(model, outer=made.ends(), blocks=tuple(made.block(layer) for layer in range(model.form.layers)))


def exact(array: npt.NDArray[np.floating | np.object_]) -> ObjectArray:
    """Return an array with its numbers as fractions."""
    return np.array([Fraction(x) for x in array.ravel().tolist()], dtype=object).reshape(array.shape)


def _stored(array: Any) -> Any:
    """Return an array of exact numbers as floats, where each of them is one."""
    floats = array.astype(np.float64)
    return floats if (exact(floats) == array).all() else exact(array)


def array_of(model: MadeCheckpoint, piece: str) -> Any:
    """Return the array of a piece such as `embedding` or `1.query`."""
    layer, _, name = piece.rpartition(".")
    return getattr(model.block(int(layer)) if layer else model.ends(), name)


def with_arrays(model: MadeCheckpoint, arrays: Mapping[str, object]) -> MadeCheckpoint:
    """Return the model with other arrays for some pieces."""
    outer, blocks = model.outer, list(model.blocks)
    for piece, array in arrays.items():
        layer, _, name = piece.rpartition(".")
        if layer:
            blocks[int(layer)] = replace(blocks[int(layer)], **{name: _stored(array)})
        else:
            outer = replace(outer, **{name: _stored(array)})
    return replace(model, outer=outer, blocks=tuple(blocks))
