"""(P3): that halves with norms behind do not commute to first order, at one point of the sphere, in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.understood import Walker, block_of
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.whole_models.walls import in_balls

SEED = 20261129
"""Of the point."""

Balls = MidpointRadius
Moved = tuple[Balls, Balls]
"""What a half adds at a point, a column, and how that changes along vectors, a column each."""


def commuting_halves(checkpoint: Checkpoint) -> tuple[int, int] | None:
    """Two halves, from 0, whose two brackets are not shown to differ; `None` if there are none.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> commuting_halves(small_checkpoint("gemma2"))
    """
    form = checkpoint.form
    drawn = np.random.default_rng(SEED).integers(-3, 4, form.width).tolist()
    turned = Fraction(2 * sum(drawn), sum(x * x for x in drawn) or 1)
    point = Balls.of([[1 - turned * x] for x in drawn])  # a reflection of the ones, as long as the root of the width

    def moved(along: Balls) -> list[Moved]:
        blocks = (block_of(checkpoint, layer, Walker.GROUPS) for layer in range(form.layers))
        return [half(block, form, point, along) for block in blocks for half in (_attention, _mlp)]

    added = [column for column, _ in moved(point)]
    written = Balls(*(np.concatenate([getattr(x, of) for x in added], axis=1) for of in Balls.__slots__))
    tangent = written + point @ (point.mT @ written) * _number(Fraction(-1, form.width))
    found = [columns for _, columns in moved(tangent)]
    middle, radius = (np.stack([getattr(x, of) for x in found]).swapaxes(1, 2) for of in Balls.__slots__)
    apart = (np.abs(middle - middle.swapaxes(0, 1)) > 2 * (radius + radius.swapaxes(0, 1))).any(axis=2)
    np.fill_diagonal(apart, val=True)
    alike = np.argwhere(~apart)
    return (int(alike[0, 0]), int(alike[0, 1])) if len(alike) else None


def _number(number: Fraction | int) -> Balls:
    return Balls.of([[number]])


def _attention(block: Block, form: CheckpointForm, point: Balls, along: Balls) -> Moved:
    values = np.repeat(np.asarray(block.value), form.heads // form.groups, axis=0).reshape(-1, form.width)
    outputs = np.moveaxis(np.asarray(block.output), 0, 1).reshape(form.width, -1)
    added, moved = (in_balls(outputs) @ (in_balls(values) @ (_column(block.norm1_gain) * x)) for x in (point, along))
    return _normed(added, moved, block.behind1_gain, form)


def _column(gain: Any) -> Balls:
    return in_balls(np.asarray(gain)[:, None])


def _mlp(block: Block, form: CheckpointForm, point: Balls, along: Balls) -> Moved:
    """Return the half `D (z s(z)) (W y)`, `s = (1 + tanh p) / 2`, `p = z / 2` or `k (z + c z^3)`."""
    gain, down = _column(block.norm2_gain), in_balls(block.down)
    (z, turned), (factor, changed) = (
        (in_balls(part) @ (gain * point), in_balls(part) @ (gain * along)) for part in (block.gate, block.up)
    )
    new = form.activation == "gelu_new"
    scale = Balls.around(BallMatrix(arb_mat(1, 1, [(2 / arb.pi()).sqrt()]))) if new else _number(Fraction(1, 2))
    cubic, one, half = _number(Fraction(44715, 10**6) * new), _number(1), _number(Fraction(1, 2))
    bent = (scale * z * (one + cubic * z * z)).elementary("tanh")
    share, slope = (
        half * (one + bent),
        half * (one + _number(-1) * bent * bent) * scale * (one + _number(3) * cubic * z * z),
    )
    moved = (share + z * slope) * factor * turned + z * share * changed
    return _normed(down @ (z * share * factor), down @ moved, block.behind2_gain, form)


def _normed(added: Balls, moved: Balls, gain: Any, form: CheckpointForm) -> Moved:
    """Return what is behind the norm of a half."""
    each, gains = _number(Fraction(1, form.width)), _column(gain)
    over = (added.mT @ added * each + _number(form.epsilon)).elementary("rsqrt")
    return gains * added * over, gains * (
        moved * over + added @ (added.mT @ moved) * (over * over * over * each * _number(-1))
    )
