"""Mistakes that move entries: rows in another order, tensors in each other's place, matrices transposed.

Each function is a row of the table in `mistakes.py`: the ways in which its mistake may have been made in a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, combinations, permutations

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.explanation import Detail
from lightning_sym.checkpoints.mistaken_scenes import (
    Arrays,
    Change,
    Map,
    Scene,
    each_by,
    exchanged,
    gains_of,
    wide,
    with_bias,
)
from lightning_sym.checkpoints.model import Array

Order = npt.NDArray[np.int64]


def half_split(rows: int, blocks: int, *, back: bool = False) -> Order:
    """Return which row stands at each place when halves of each block are interleaved, or, back, split again.

    Example:
        >>> half_split(4, 1).tolist(), half_split(6, 1, back=True).tolist()
        ([0, 2, 1, 3], [0, 2, 4, 1, 3, 5])
    """
    order = np.arange(rows).reshape(blocks, 2, -1).swapaxes(1, 2).ravel()
    return np.argsort(order) if back else order


def _reordered(mistake: str, scene: Scene, orders: Mapping[str, Order], detail: Detail) -> Change:
    """Return the rows of maps, and of their biases, in other orders."""
    pieces = tuple(piece for name in orders for piece in with_bias(scene, name))

    def moved(arrays: Arrays, back: bool) -> dict[str, Array]:
        found = {}
        for piece in pieces:
            order = orders[piece.removesuffix("_bias")]
            array = np.asarray(arrays[piece])
            rows = array.reshape(len(order), *array.shape[2:])
            found[piece] = rows[np.argsort(order) if back else order].reshape(array.shape)
        return found

    return Change(mistake, pieces, lambda a: moved(a, False), lambda a: moved(a, True), detail, hidden=True)


def _rotary(scene: Scene) -> tuple[str, str] | None:
    """Return the maps whose rows are turned by positions: of every head, and of every group."""
    if scene.form.theta is None:
        return None
    axes = {name: piece.axes for name, piece in scene.pieces.items() if piece.columns}
    kinds = {name: each[1].space.kind for name, each in axes.items() if len(each) == 3}
    turned = "rotary" if "rotary" in kinds.values() else "query-key"
    names = [name for name, kind in kinds.items() if kind == turned]
    return (names[0], names[1]) if len(names) == 2 else None


def _blocks(scene: Scene, name: str) -> tuple[int, int, list[int]]:
    """Return the rows of a map, its heads, and other numbers of blocks that tools took for these."""
    heads, width = np.shape(scene.first[name])[:2]
    form = scene.form
    others = {form.heads, form.groups, form.heads // form.groups} - {heads}
    return heads * width, heads, sorted(b for b in others if heads * width % (2 * b) == 0)


def rotary_rows(scene: Scene) -> Iterator[Change]:
    """Yield rows of queries and keys interleaved, or split where they were not interleaved."""
    if (names := _rotary(scene)) is None:
        return
    sizes = [_blocks(scene, name) for name in names]
    for back, order in ((False, "interleaved"), (True, "half-split")):
        orders = {name: half_split(rows, heads, back=back) for name, (rows, heads, _) in zip(names, sizes, strict=True)}
        yield _reordered("rotary-rows", scene, orders, {"order": order})
    rows, heads, others = sizes[0]
    for blocks in others:
        for moved in _wrong_blocks(rows, heads, blocks):
            yield _reordered("rotary-rows", scene, {names[0]: moved}, {"blocks": blocks, "should_be": heads})


def _wrong_blocks(rows: int, right: int, blocks: int) -> tuple[Order, Order]:
    """Return rows that were interleaved in other blocks than they were split in: there, or back."""
    there, back = (half_split(rows, count) for count in (blocks, right))
    return there[half_split(rows, right, back=True)], back[half_split(rows, blocks, back=True)]


def rotary_rows_k(scene: Scene) -> Iterator[Change]:
    """Yield rows of keys moved in another number of blocks than there are keys, those of queries rightly or not."""
    if (names := _rotary(scene)) is None:
        return
    query, key = names
    rows, groups, others = _blocks(scene, key)
    for blocks in others:
        detail = {"blocks": blocks, "should_be": groups}
        for order in _wrong_blocks(rows, groups, blocks):
            yield _reordered("rotary-rows-k", scene, {key: order}, detail)
        for back in (False, True):
            heads = np.shape(scene.first[query])
            both = {query: half_split(heads[0] * heads[1], heads[0], back=back)}
            if 2 * blocks == rows:  # then nothing is moved in a block
                continue
            yield _reordered(
                "rotary-rows-k", scene, both | {key: half_split(rows, blocks, back=back)},
                detail | {"order": "half-split" if back else "interleaved"},
            )  # fmt: skip


def rotary_rows_one_side(scene: Scene) -> Iterator[Change]:
    """Yield rows of queries moved and those of keys not, or those of keys alone."""
    for name in _rotary(scene) or ():
        rows, heads, _ = _blocks(scene, name)
        for back, order in ((False, "interleaved"), (True, "half-split")):
            found = {name: half_split(rows, heads, back=back)}
            yield _reordered("rotary-rows-one-side", scene, found, {"order": order})


def qkv_layout(scene: Scene) -> Iterator[Change]:
    """Yield changes between layouts of queries, keys and values in one tensor.

    They were written one behind the other and are read group by group, or turned round.
    """
    kinds = ("heads", "groups", "groups")
    readers = [name for name, piece in scene.pieces.items() if piece.reads and piece.axes[0].space.kind in kinds]
    if len(readers) != len(kinds) or [scene.pieces[n].axes[0].space.kind for n in readers] != [*kinds]:
        return
    layers = [
        (q, k, v) for q, k, v in zip(*(with_bias(scene, name) for name in readers), strict=False)
    ]  # biases that all have
    pieces = tuple(name for names in layers for name in names)

    def grouped(q: Array, k: Array, v: Array) -> Iterable[Array]:
        """Return what was written one behind the other, read group by group."""
        rows = np.concatenate([q, k, v]).reshape(len(k), -1, *q.shape[1:])
        return rows[:, :-2].reshape(q.shape), rows[:, -2], rows[:, -1]

    def concatenated(q: Array, k: Array, v: Array) -> Iterable[Array]:
        """Return what was written group by group, read one behind the other."""
        rows = np.concatenate([q.reshape(len(k), -1, *q.shape[1:]), k[:, None], v[:, None]], axis=1)
        return np.split(rows.reshape(-1, *q.shape[1:]), [len(q), len(q) + len(k)])

    def of_all(parts: Callable[..., Iterable[Array]], arrays: Arrays) -> dict[str, Array]:
        """Return the maps, and their biases, as three parts are made of three."""
        made = (zip(names, parts(*(np.asarray(arrays[name]) for name in names)), strict=True) for names in layers)
        return dict(chain.from_iterable(made))

    ways = (partial(of_all, grouped), "concatenated"), (partial(of_all, concatenated), "group by group")
    for (made, written), (undone, read) in permutations(ways):
        yield Change("qkv-layout", pieces, made, undone, {"written": written, "read": read}, hidden=True)


def _exchanged(mistake: str, scene: Scene, first: str, second: str) -> Iterator[Change]:
    """Yield two pieces of one shape in each other's place, with what is added to them, if to both, or without it."""
    every = list(zip(with_bias(scene, first), with_bias(scene, second), strict=False))
    if not every or any(np.shape(scene.first[x]) != np.shape(scene.first[y]) for x, y in every):
        return
    for pairs in (every, every[:1]) if len(every) > 1 else (every,):
        yield exchanged(mistake, pairs)


def gate_up_exchanged(scene: Scene) -> Iterator[Change]:
    """Yield the two maps into the neurons in each other's place."""
    readers = [name for name, piece in scene.pieces.items() if piece.reads and piece.axes[0].space.kind == "neurons"]
    for pair in combinations(readers, 2):
        yield from _exchanged("gate-up-exchanged", scene, *pair)


def norms_exchanged(scene: Scene) -> Iterator[Change]:
    """Yield two norms of a layer in each other's place: the gains, and the biases too."""
    for x, y in combinations(gains_of(scene), 2):
        biases = x.replace("_gain", "_bias"), y.replace("_gain", "_bias")
        for names in ([(x, y), biases], [(x, y)]) if {*biases} <= {*scene.first} else ([(x, y)],):
            yield exchanged("norms-exchanged", names)


def qk_norms_exchanged(scene: Scene) -> Iterator[Change]:
    """Yield the gains on queries and on keys in each other's place."""
    for pair in combinations(gains_of(scene, "query-key"), 2):
        yield from _exchanged("qk-norms-exchanged", scene, *pair)


def heads_one_side(scene: Scene) -> Iterator[Change]:
    """Yield heads, or groups of them, reordered in one map or bias and not in what goes with it."""
    for name in sorted(scene.off):
        if (order := _order_of_heads(scene, name)) is None:
            continue
        maps = (partial(np.take, indices=each, axis=0) for each in (order, np.argsort(order)))
        yield each_by("heads-one-side", (name,), maps, {"order": order.tolist()})


def _order_of_heads(scene: Scene, name: str) -> Order | None:
    """Return which head of the first is the nearest to each of the second, if that makes the piece and is an order."""
    if name not in scene.second or name not in scene.pieces or scene.pieces[name].axes[0].space.kind not in HEADS:
        return None
    old, new = (wide(side[name]) for side in (scene.first, scene.second))
    if old.shape != new.shape or not (np.isfinite(old).all() and np.isfinite(new).all()):
        return None
    rows, others = (each.reshape(len(each), -1) for each in (old, new))
    order = np.argmin(np.square(rows).sum(axis=1) - 2 * others @ rows.T, axis=1)
    right = np.bincount(order, minlength=len(order)).max() == 1 and scene.explains(name, old[order])
    return order if right else None


HEADS = ("heads", "groups")
"""The spaces of heads."""


def transposed_square(scene: Scene) -> Iterator[Change]:
    """Yield a square matrix transposed, one of them or all."""
    squares = [
        name
        for name, piece in scene.pieces.items()
        if len(piece.matrix_shape) == 2 and piece.matrix_shape[0] == piece.matrix_shape[1]
    ]
    pieces = scene.pieces

    def moved(names: Iterable[str]) -> Map:
        return lambda a: {n: pieces[n].of_matrix(pieces[n].as_matrix(np.asarray(a[n])).T) for n in names}

    for names in (*((name,) for name in squares), *([tuple(squares)] if len(squares) > 1 else [])):
        yield Change("transposed-square", names, moved(names), moved(names), {}, hidden=True)
