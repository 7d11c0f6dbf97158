"""Random symmetries: short exact numbers in every part that a network allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.configurations import has_equal_experts
from lightning_sym.checkpoints.layer_norm_families import LAYER_NORM
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.symmetry import KINDS as PARTS
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry, sizes_of
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer

KINDS = ("heads", "values", "queries", "biases", "neurons", "ups", "gains", "stream", "scale", "ones")
"""Parts of a symmetry that go together: `queries` are turns with rotary positions, `gains` are folded to ones."""

FOLDED = ("query_shift", "up_shift", "key_shift", "value_shift")
"""Shifts of maps that read a norm: short numbers where its gain is folded."""

_Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]


def random_symmetry(checkpoint: Checkpoint, kinds: Iterable[str] = KINDS, seed: int = 0) -> Symmetry:
    """Return a symmetry of this checkpoint with something in each of these kinds that it has.

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
    blocks = ((form.at(i), block_of(checkpoint, i, Walker.REWRITING)) for i in range(form.layers))
    layers = tuple(_layer(random, each, block, chosen) for each, block in blocks)
    parts: dict[str, object] = {}
    older = LAYER_NORM.get(form.family)
    if "scale" in chosen and (older is None or "epsilon" in older.keys):  # else no file can state another epsilon
        parts["scale"] = Fraction(2)
    folded = "gains" in chosen and not form.tied
    if folded:
        parts["final_gain"] = np.ones(form.width)
    if "stream" in chosen:
        uniform = len(np.unique(ends_of(checkpoint, Walker.REWRITING).final_gain)) == 1
        if "gains" in chosen and (folded or uniform) and form.norms_behind is None:
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
    return Symmetry(layers).having(parts)


def random_rotation(random: np.random.Generator, width: int, *, centred: bool) -> _Numbers:
    """Return a product of reflections `1 - v v^T / 2`, `v` with four entries 1 or -1; centred: two of each.

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


def _gauges(random: np.random.Generator, count: int, size: int, _: int) -> _Numbers:
    """Return matrices with dyadic inverses: triangular, powers of two on the diagonal, rows and columns permuted."""
    lower = np.tril(random.integers(-1, 2, size=(count, size, size)), -1) * (
        random.random((count, size, size)) < 1 / size
    )
    diagonal = 2.0 ** random.integers(-1, 2, size=(count, size))
    return np.asarray((lower + np.eye(size)) @ np.eye(size)[random.permutation(size)] * diagonal[:, None, :])


def _heads(random: np.random.Generator, heads: int, groups: int) -> _Numbers:
    """Return an order that keeps the heads of a group together."""
    share = heads // groups
    inside = np.array([random.permutation(share) for _ in range(groups)])
    return np.asarray((random.permutation(groups)[:, None] * share + inside).reshape(-1))


def _turns(random: np.random.Generator, *shape: int) -> _Numbers:
    turns = np.array([[1, 1], [1, -1], [2, 0], [0, 1], [-1, 1], [0, -2], [2, 2]])
    return np.asarray(turns[random.integers(len(turns), size=shape[:-1])].astype(np.float64))


def _latents(random: np.random.Generator, size: int, _: int) -> _Numbers:
    """Return reflections behind an order with signs."""
    order = np.eye(size)[random.permutation(size)] * random.choice([-1.0, 1.0], size=size)
    return np.asarray(random_rotation(random, size, centred=False) @ order)


def _row_factors(random: np.random.Generator, groups: int, rows: int, width: int) -> _Numbers:
    """Return `c` of each group and frequency for rows of its queries, `1/c` for its keys, each with its own sign."""
    c = np.tile(2.0 ** random.integers(-1, 2, size=(groups, 1, width // 2)), 2)
    factors = np.concatenate([*[c] * (rows - 1), 1 / c], axis=1)
    return np.asarray(factors * random.choice([-1, 1], size=(groups, rows, width)))


LAYER: tuple[tuple[str, Callable[..., _Numbers | Fraction], Mapping[str, tuple[str, ...]]], ...] = (
    ("heads", _heads, {"heads": ()}),
    ("values", _gauges, {"values": ()}),
    ("queries", _gauges, {"queries": ()}),
    ("queries", _turns, {"turns": ()}),
    ("queries", _turns, {"shared_turns": ()}),
    ("queries", lambda random, *shape: _row_factors(random, 1, *shape)[0], {"gain_factors": ()}),
    ("queries", _row_factors, {"row_factors": ()}),
    ("biases", _short, {"key_bias": ("key_bias",), "value_bias": ("value_bias", "output_bias")}),
    ("biases", _short, {"attention_bias": ("output_bias", "down_bias")}),
    ("neurons", _heads, {"neurons": ()}),
    ("ups", lambda random, size: random.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], size=size), {"ups": ()}),
    ("gains", lambda _, size: np.ones(size), {"gain1": ("norm1_gain",), "gain2": ("norm2_gain",)}),
    (
        "gains",
        lambda _, size: np.zeros(size),
        {"bias1": ("norm1_bias", "query_bias"), "bias2": ("norm2_bias", "up_bias")},
    ),
    ("gains", lambda random, size: random.choice([-1.0, 1.0], size=size), {"behind1": (), "behind2": ()}),
    ("gains", lambda _, size: np.ones(size), {"gain3": (), "gain4": ()}),
    ("gains", _latents, {"latents": (), "query_latents": ()}),
    ("ones", _short, {name: (f"{name[:-6]}_bias",) for name in FOLDED} | {"output_shift": (), "down_shift": ()}),
    ("ones", _short, {"router_shift": ("router",)}),
    (
        "ones",
        lambda random: Fraction(int(random.integers(1, 9)), 4),
        {"output_bias_shift": ("output_bias",), "down_bias_shift": ("down_bias",)},
    ),
)
"""By kind, how its parts are drawn, and by part the pieces that must be there; in the order of drawing."""


def _layer(random: np.random.Generator, form: CheckpointForm, block: Block, kinds: tuple[str, ...]) -> LayerSymmetry:
    sizes, parts = sizes_of(form) | {"E": form.experts or 1}, dict[str, _Numbers | Fraction]()
    for kind, draw, names in LAYER:
        for name, pieces in names.items() if kind in kinds else ():
            there = all(getattr(block, piece) is not None for piece in pieces)
            allowed = all(need.holds(form) for need in PARTS[name].needs) and not (form.head_norms and name == "turns")
            if there and allowed and (name not in FOLDED or "gains" in kinds):
                sets = {"heads": ("H", "G"), "neurons": ("m", "E")}
                parts[name] = draw(random, *(sizes[letter] for letter in sets.get(name, PARTS[name].shape)))
    if form.head_norms and form.turned and "queries" in kinds:  # beside them frequencies change signs alone
        parts["turns"] = random.spawn(1)[0].choice([-1, 1], size=(form.groups, form.turned // 2, 1)) * np.array([1, 0])
    if "neurons" in parts and has_equal_experts(block, form):  # then these stay where they are
        parts["neurons"] = np.sort(np.asarray(parts["neurons"]).reshape(form.experts or 1, -1), axis=0).reshape(-1)
    if "ups" in parts and not form.has_gate:
        parts["ups"] = np.abs(np.asarray(parts["ups"]))
    return LayerSymmetry().having(parts)
