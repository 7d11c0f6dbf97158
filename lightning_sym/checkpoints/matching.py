"""Which heads and neurons of two layers belong together: a guess, by what no gauge changes.

All weights are folded and in the coordinates of the second checkpoint. Heads are matched by the inner products of their
`W_O W_V` and of the parts of their scores; neurons by their rows and columns, `up` and `down` only as a product where
they may be scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.configurations import has_equal_experts
from lightning_sym.checkpoints.fits import by_paths
from lightning_sym.checkpoints.layer_parts import Folded, FoldedParts
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.lazy import import_extra

FEW = 64
"""Heads, or neurons, up to which they are assigned here, and not by a package."""


def assigned(cost: Floats) -> Places:
    """Return for each column the row that it gets, at the least cost in all."""
    if not cost.size:
        return np.arange(cost.shape[1], dtype=np.int64)
    best = cost.argmin(axis=0)
    if len(np.unique(best)) == len(best):
        return np.asarray(best, dtype=np.int64)
    cost, order = np.nan_to_num(cost, nan=4.0), np.empty(len(best), dtype=np.int64)
    if len(cost) <= FEW:  # sooner than the package is imported
        owners = by_paths(cost)
        order[owners[owners >= 0]] = np.flatnonzero(owners >= 0)
        return order
    optimize = import_extra("scipy.optimize", "checkpoints", "matching the heads and neurons of two checkpoints")
    rows, columns = optimize.linear_sum_assignment(cost)
    order[columns] = rows
    return order


HeadParts = Callable[[], Iterable[Folded]]
"""All heads of a layer, some groups at a time."""


def match_heads(first: HeadParts, second: HeadParts, form: CheckpointForm) -> Places:
    """Return the old heads at the new places, those of a group together."""
    groups, ratio = form.groups, form.heads // form.groups
    cost = _distance(first, second, ratio, form.turned)
    inside = np.empty((groups, groups, ratio), dtype=np.int64)
    whole = np.empty((groups, groups))
    for old in range(groups):
        for new in range(groups):
            part = cost[old * ratio : (old + 1) * ratio, new * ratio : (new + 1) * ratio]
            order = assigned(part)
            inside[old, new] = order
            whole[old, new] = part[order, np.arange(ratio)].sum()
    return np.concatenate([old * ratio + inside[old, new] for new, old in enumerate(assigned(whole))])


def _distance(first: HeadParts, second: HeadParts, ratio: int, turned: int) -> Floats:
    """Return squares of distances between heads of one and of the other, over the sum of squares; of both kinds."""
    squares, products = [], []
    for x in first():
        squares.append(_squares(x, ratio, turned))
        products.append(np.concatenate([_products(x, y, ratio, turned) for y in second()], axis=2))
    others = np.concatenate([_squares(y, ratio, turned) for y in second()], axis=1)
    kinds = zip(np.concatenate(squares, axis=1), others, np.concatenate(products, axis=1), strict=True)
    return np.asarray(sum(_relative(*kind) for kind in kinds))


def _products(first: Folded, second: Folded, ratio: int, turned: int) -> Floats:
    """Return for all pairs of heads the inner products of `W_O W_V`, and those of `W_Q^T W_K`."""
    return np.stack([_value_products(first, second, ratio), _score_products(first, second, ratio, turned)])


def _squares(part: Folded, ratio: int, turned: int) -> Floats:
    """Return the same of each head with itself, those of one group at a time."""
    found = []
    for group in range(len(part.key)):
        heads = slice(group * ratio, (group + 1) * ratio)
        one = Folded(
            query=part.query[heads], output=part.output[heads],
            key=part.key[group : group + 1], value=part.value[group : group + 1],
        )  # fmt: skip
        found.append(np.diagonal(_products(one, one, ratio, turned), axis1=1, axis2=2))
    return np.concatenate(found, axis=1)


def _relative(first: Floats, second: Floats, products: Floats) -> Floats:
    """Return `|x - y|^2 / (|x|^2 + |y|^2)` for all pairs, from squares and inner products; 0 for two zeros."""
    total = first[:, None] + second[None, :]
    return np.asarray(np.divide(total - 2 * products, total, out=np.zeros_like(total), where=total > 0))


def _grams(first: Floats, second: Floats) -> Floats:
    """Return for blocks of rows `(n, a, d)` all products of row with row, `(n, n', a, a)`."""
    n, a, d = first.shape
    product = first.reshape(-1, d) @ second.reshape(-1, d).T
    return product.reshape(n, a, len(second), a).transpose(0, 2, 1, 3)


def _value_products(first: Folded, second: Folded, ratio: int) -> Floats:
    """Return the inner products of all `W_O W_V`."""
    value = _grams(first.value, second.value).repeat(ratio, 0).repeat(ratio, 1)
    output = _grams(first.output.transpose(0, 2, 1), second.output.transpose(0, 2, 1))
    return np.asarray((value * output).sum(axis=(2, 3)))


def _score_products(first: Folded, second: Folded, ratio: int, turned: int) -> Floats:
    """Return the inner products of all `W_Q^T W_K`; rows that rotary positions turn count by frequencies."""
    found = _turned_scores(first, second, ratio, turned) if turned else 0.0
    if turned < first.key.shape[1]:
        keys, queries = (
            _grams(*(each[:, turned:] for each in pair))
            for pair in ((first.key, second.key), (first.query, second.query))
        )
        found = found + (keys.repeat(ratio, 0).repeat(ratio, 1) * queries).sum(axis=(2, 3))
    return np.asarray(found)


def as_complex(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.complexfloating]:
    """Return rows `(n, a, k)` as `(n, a/2, k)`: row `j` and row `j + a/2` belong to one frequency."""
    half = rows.shape[1] // 2
    return np.asarray(rows[:, :half] + 1j * rows[:, half:])


def _turned_scores(first: Folded, second: Folded, ratio: int, turned: int) -> Floats:
    """Return the same of the first rows, summed over frequencies: what rotary positions keep apart."""

    def products(x: Floats, y: Floats) -> npt.NDArray[np.complexfloating]:
        both = as_complex(x[:, :turned]).transpose(1, 0, 2), as_complex(y[:, :turned]).conj().transpose(1, 2, 0)
        return both[0] @ both[1]

    key = products(first.key, second.key).repeat(ratio, 1).repeat(ratio, 2)
    return np.asarray((products(first.query, second.query) * key.conj()).real.sum(axis=0))


PAIRS = 2**18
"""Pairs of neurons that are all compared; of more, sketches are."""

SKETCH, AT_ONCE = 48, 2**20
"""Numbers that stand for what a neuron reads, and for what it does; and pairs that are compared at a time."""


def match_neurons(first: FoldedParts, second: FoldedParts, *, scaled: bool, experts: int = 1) -> Places:
    """Return the old neuron at each new place.

    Args:
        first, second: layers.
        scaled: what neurons read may be rescaled against what they write.
        experts: in how many parts they are, which stay together: these are matched first, by what routes to them and
            by the sums of the sketches of their neurons.

    Of many neurons sketches are compared, random projections, which are equal where the neurons are; those that are
    nearest to more than one, copies and dead ones for example, are compared as they are.
    """
    if first.count != second.count:
        return np.arange(second.count, dtype=np.int64)
    size = second.count // experts
    small = size * size <= PAIRS
    sketches = [() if small and experts == 1 else _sketches(side.neurons(), scaled=scaled) for side in (first, second)]
    found = []
    for new, old in enumerate(_match_experts((first, second), sketches, experts) if experts > 1 else [0]):
        places = [np.arange(at * size, (at + 1) * size, dtype=np.int64) for at in (old, new)]
        if small:
            best = np.arange(size, dtype=np.int64)
            left, open_places = best, best
        else:
            near: Any = [
                tuple(x[at * size :][:size] for x in each) for each, at in zip(sketches, (old, new), strict=True)
            ]
            best = _nearest(*near)
            taken = np.bincount(best, minlength=size)
            left, open_places = np.flatnonzero(taken != 1), np.flatnonzero(taken[best] != 1)
        if len(open_places):
            some = (first.some_neurons(places[0][left]), second.some_neurons(places[1][open_places]))
            cost = _neuron_distances(*map(_read_and_written, some), scaled=scaled)
            best = best.copy()
            best[open_places] = left[assigned(cost)]
        found.append(places[0][best])
    return np.concatenate(found)


def _match_experts(sides: tuple[FoldedParts, FoldedParts], sketches: list[Any], experts: int) -> Places:
    """Return the old expert at each new place: that with its number, where numbers decide which of them is read."""
    if has_equal_experts(sides[0].block, sides[0].form):
        return np.arange(experts, dtype=np.int64)
    signs = [[x.reshape(experts, -1, x.shape[-1]).sum(axis=1) for x in each] for each in sketches]
    pairs = [tuple(side.router() for side in sides), *zip(*signs, strict=True)]
    squares: Any = sum(_relative((old * old).sum(axis=1), (new * new).sum(axis=1), old @ new.T) for old, new in pairs)
    return assigned(squares)


Neurons = dict[str, Floats]
"""What neurons read and write, a row each: `up` and `down`, and `gate` where there is one, with their biases."""


def _read_and_written(x: Folded) -> Neurons:
    """Return what the neurons of a layer read and write."""

    def reading(name: str) -> Floats:
        return np.column_stack([getattr(x, name), getattr(x, f"{name}_bias")]).astype(np.float64)

    found = {"up": reading("up"), "down": x.down.T.astype(np.float64)}
    return found if x.gate is None else found | {"gate": reading("gate")}


def _neuron_distances(old: Neurons, new: Neurons, *, scaled: bool) -> Floats:
    """Return all distances; where `up` and `down` may be scaled against each other they count as a product."""
    products = {name: rows @ new[name].T for name, rows in old.items()}
    squares = [{name: (rows * rows).sum(axis=1) for name, rows in each.items()} for each in (old, new)]
    up, down, *gate = (_SketchDistance(squares[0][name], squares[1][name], products[name]) for name in old)
    if not scaled:
        return _relative(*up) + _relative(*down)
    both = _SketchDistance(up.first * down.first, up.second * down.second, up.products * down.products)
    return _relative(*both) + (_relative(*gate[0]) if gate else 0.0)


class _SketchDistance(NamedTuple):
    """What distances of all pairs are made of: squares of each side, and inner products."""

    first: Floats
    second: Floats
    products: Floats


def _sketches(parts: Iterable[Folded], *, scaled: bool) -> tuple[Floats, Floats]:
    """Return two sketches of each neuron, which stand for the two distances of `_neuron_distances`."""
    found, signs = list[tuple[Floats, Floats]](), Neurons()
    for rows in map(_read_and_written, parts):
        if not signs:
            random = np.random.default_rng(0)
            signs = {name: random.standard_normal((array.shape[1], SKETCH)) for name, array in rows.items()}
        made = {name: array @ signs[name] for name, array in rows.items()}
        up, down = made["up"], made["down"]
        found.append((up * down, made.get("gate", up[:, :0])) if scaled else (up, down))
    first, second = zip(*found, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _nearest(old: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> Places:
    """Return the old neuron whose sketches are nearest to those of each new one, some of these at a time."""
    squares = [(one * one).sum(axis=1) for one in old]
    best = np.empty(len(new[0]), dtype=np.int64)
    step = max(1, AT_ONCE // len(old[0]))
    for at in range(0, len(best), step):
        some = [one[at : at + step] for one in new]
        costs = [
            _relative(square, (part * part).sum(axis=1), one @ part.T)
            for square, one, part in zip(squares, old, some, strict=True)
        ]
        best[at : at + step] = (costs[0] + costs[1]).argmin(axis=0)
    return best
