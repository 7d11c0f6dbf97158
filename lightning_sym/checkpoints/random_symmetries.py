"""Random symmetries: short exact numbers in every part that a network allows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer

KINDS = ("heads", "values", "queries", "biases", "neurons", "ups", "gains", "stream", "scale", "ones")
"""Parts of a symmetry that go together: `queries` are turns with rotary positions, `gains` are folded to ones."""

_Numbers = npt.NDArray[Any]


def random_symmetry(checkpoint: Checkpoint, kinds: Iterable[str] = KINDS, seed: int = 0) -> Symmetry:
    """A symmetry of this checkpoint with something in each of these kinds that it has.

    All numbers are dyadic and short. With `gains` the stream is turned by reflections `1 - v v^T / 2`, where the final
    norm allows it, else its coordinates are permuted and change signs.

    Raises:
        BadInput: there is no such kind, or the seed is negative.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama")
        >>> random_symmetry(one, ["values", "scale"]).parts()
        ('scale', '0.values', '1.values')
    """
    require_arguments(random_symmetry, locals())
    require_checkpoint(checkpoint)
    require_integer(seed, "the seed")
    chosen = tuple(kinds)
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise BadInput(f"kinds must be of {', '.join(KINDS)}, got {unknown[0]!r}")
    random = np.random.default_rng(seed)
    form = checkpoint.form
    layers = tuple(_layer(random, form, block_of(checkpoint, i, Walker.REWRITING), chosen) for i in range(form.layers))
    parts: dict[str, Any] = {}
    if "scale" in chosen:
        parts["scale"] = Fraction(2)
    folded = "gains" in chosen and not form.tied
    if folded:
        parts["final_gain"] = np.ones(form.width)
    if "stream" in chosen:
        uniform = len(np.unique(ends_of(checkpoint, Walker.REWRITING).final_gain)) == 1
        if "gains" in chosen and (folded or uniform):
            parts["rotation"] = random_rotation(random, form.width, centred=form.norm == "layer")
        else:
            parts["order"] = random.permutation(form.width)
            size = 1 if form.norm == "layer" else form.width
            parts["signs"] = np.broadcast_to(random.choice([-1, 1], size=size), form.width)
    if "ones" in chosen and form.norm == "layer":
        if form.theta is None:
            parts["positions_shift"] = _short(random, form.context)
        if not form.tied:
            parts["embedding_shift"] = _short(random, form.vocabulary)
            if form.theta is None:
                parts["moved"] = _short(random, form.width)
    return Symmetry(layers, **parts)


def random_rotation(random: np.random.Generator, width: int, *, centred: bool) -> _Numbers:
    """A product of reflections `1 - v v^T / 2`, `v` with four entries 1 or -1; centred: two of each, ones stay ones.

    Example:
        >>> turn = random_rotation(np.random.default_rng(0), 8, centred=True)
        >>> bool((turn @ turn.T == np.eye(8)).all()), bool((turn @ np.ones(8) == 1).all())
        (True, True)
    """
    found = np.eye(width)
    for _ in range(3 if width >= 4 else 0):
        v = np.zeros(width)
        places = random.choice(width, size=4, replace=False)
        v[places] = [1, 1, -1, -1] if centred else random.choice([-1, 1], size=4)
        found = found - np.outer(found @ v, v) / 2
    return found


def _short(random: np.random.Generator, *shape: int) -> _Numbers:
    return random.integers(-4, 5, size=shape) / 4


def _gauges(random: np.random.Generator, count: int, size: int) -> _Numbers:
    """Matrices with dyadic inverses: triangular ones with powers of two on the diagonal, rows and columns permuted."""
    lower = np.tril(random.integers(-1, 2, size=(count, size, size)), -1) * (
        random.random((count, size, size)) < 1 / size
    )
    diagonal = 2.0 ** random.integers(-1, 2, size=(count, size))
    return np.asarray((lower + np.eye(size)) @ np.eye(size)[random.permutation(size)] * diagonal[:, None, :])


def _layer(random: np.random.Generator, form: CheckpointForm, block: Block, kinds: tuple[str, ...]) -> LayerSymmetry:
    parts: dict[str, Any] = {}
    heads, groups, a, inner, width = form.heads, form.groups, form.head_width, form.inner, form.width
    share = heads // groups
    if "heads" in kinds:
        inside = np.array([random.permutation(share) for _ in range(groups)])
        parts["heads"] = (random.permutation(groups)[:, None] * share + inside).reshape(-1)
    if "values" in kinds:
        parts["values"] = _gauges(random, groups, a)
    if "queries" in kinds and form.theta is None:
        parts["queries"] = _gauges(random, groups, a)
    elif "queries" in kinds:
        turns = np.array([[1, 1], [1, -1], [2, 0], [0, 1], [-1, 1], [0, -2], [2, 2]])
        parts["turns"] = turns[random.integers(len(turns), size=(groups, a // 2))].astype(np.float64)
    if "biases" in kinds:
        if form.theta is None and block.key_bias is not None:
            parts["key_bias"] = _short(random, groups, a)
        if block.value_bias is not None and block.output_bias is not None:
            parts["value_bias"] = _short(random, groups, a)
    if "neurons" in kinds:
        parts["neurons"] = random.permutation(inner)
    if "ups" in kinds and block.gate is not None:
        parts["ups"] = random.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], size=inner)
    if "gains" in kinds:
        parts["gain1"], parts["gain2"] = np.ones(width), np.ones(width)
        for number, bias in ((1, block.norm1_bias), (2, block.norm2_bias)):
            if bias is not None:
                parts[f"bias{number}"] = np.zeros(width)
    if "ones" in kinds and form.norm == "layer" and "gains" in kinds:
        parts["query_shift"], parts["up_shift"] = _short(random, heads, a), _short(random, inner)
        parts["key_shift"], parts["value_shift"] = _short(random, groups, a), _short(random, groups, a)
    if "ones" in kinds and form.norm == "layer":
        parts["output_shift"], parts["down_shift"] = _short(random, heads, a), _short(random, inner)
        for name, bias in (("output", block.output_bias), ("down", block.down_bias)):
            if bias is not None:
                parts[f"{name}_bias_shift"] = Fraction(int(random.integers(1, 9)), 4)
    return LayerSymmetry(**parts)
