"""The gauge of one layer, guessed: heads and neurons matched, matrices and scales fitted, nice numbers near them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightning_sym.checkpoints import fits
from lightning_sym.checkpoints.bases import Operators, StreamMap, moved
from lightning_sym.checkpoints.equations import LayerGauge
from lightning_sym.checkpoints.exact_rings import Floats, Ratio
from lightning_sym.checkpoints.folded import Folded, fold
from lightning_sym.checkpoints.matching import as_complex, match_heads, match_neurons
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import stored_ratios
from lightning_sym.checkpoints.pieces import LAYER


def floats(array: Any) -> Floats:
    """What floats make of a stored array or of a `Ratio`."""
    return array.floats if isinstance(array, Ratio) else np.asarray(array, dtype=np.float64)


def seen(folded: Folded, form: CheckpointForm) -> Folded:
    """A folded layer as a norm sees the stream: with LayerNorm, readers and writers without their part along ones."""
    if form.norm == "rms":
        return folded
    changed = {}
    for name, array in vars(folded).items():
        if array is not None and (axis := LAYER[name].place("stream")) is not None:
            changed[name] = array - array.mean(axis=axis, keepdims=True)
    return Folded(**vars(folded) | changed)


def carried(folded: Folded, stream: StreamMap) -> Folded:
    """A folded layer in the new coordinates of the stream."""
    ring, there = Operators(floats), {name: array for name, array in vars(folded).items() if array is not None}
    changed = {name: moved(LAYER[name], array, stream.bases(ring), ring) for name, array in there.items()}
    return Folded(**vars(folded) | changed)


def folded_pair(first: Block, second: Block, form: CheckpointForm, stream: StreamMap) -> tuple[Folded, Folded]:
    """Both layers folded in floats, from `whole` blocks: the first in the coordinates of the second."""
    return carried(seen(fold(first, floats), form), stream), seen(fold(second, floats), form)


def identity_gauge(form: CheckpointForm, groups: int, gated: bool) -> LayerGauge:
    """The gauge that changes nothing."""
    one = Ratio(np.broadcast_to(np.eye(form.head_width), (groups, form.head_width, form.head_width)), 1)
    parts: dict[str, Any] = {"values": one, "values_inverse": one}
    if form.theta is None:
        parts |= {"queries": one, "queries_inverse": one}
    else:
        still = Ratio(np.broadcast_to([1.0, 0.0], (groups, form.head_width // 2, 2)), 1)
        parts |= {"turns": still, "turns_inverse": still}
    if gated:
        parts |= {"ups": Ratio(np.ones(form.inner), 1), "ups_inverse": Ratio(np.ones(form.inner), 1)}
    return LayerGauge(np.arange(form.heads), np.arange(groups), np.arange(form.inner), **parts)


def fit_gauge(old: Folded, new: Folded, form: CheckpointForm, groups: int) -> LayerGauge:
    """The gauge that fits best.

    Args:
        old, new: a `folded_pair`.
        form: of the second.
        groups: key and value heads of both.
    """
    order, heads = match_heads(old, new, form, groups)
    neurons = match_neurons(old, new) if len(old.up) == len(new.up) else np.arange(len(new.up))
    parts: dict[str, Any] = {"heads": heads, "groups": order, "neurons": neurons}
    ratio = form.heads // groups
    weights = tuple(_weight(x) for x in (new.value, new.output))
    made = []
    for group in range(groups):
        mine, theirs = slice(group * ratio, (group + 1) * ratio), heads[group * ratio : (group + 1) * ratio]
        left, right = (np.concatenate(list(x)) for x in (old.output[theirs], new.output[mine]))
        made.append(fits.gauge_matrix(old.value[order[group]], new.value[group], left, right, (weights[0], weights[1])))
    parts["values"], parts["values_inverse"] = _stacked(made)
    parts |= _query_key(old, new, parts, form, groups)
    if new.gate is not None:
        parts |= _ups(old, new, neurons)
    return LayerGauge(**parts)


def _weight(array: Floats) -> float:
    """That of the equations of a tensor: one over its mean square."""
    mean = float(np.mean(array * array))
    return 1 / mean if mean > 0 else 1.0


def _query_key(old: Folded, new: Folded, parts: dict[str, Any], form: CheckpointForm, groups: int) -> dict[str, Any]:
    ratio = form.heads // groups
    weight = (_weight(new.query), _weight(new.key))
    made, found, middle = [], [], []
    for group in range(groups):
        mine, theirs = slice(group * ratio, (group + 1) * ratio), parts["heads"][group * ratio : (group + 1) * ratio]
        queries = [np.concatenate(list(x), axis=-1) for x in (old.query[theirs], new.query[mine])]
        keys = old.key[parts["groups"][group]], new.key[group]
        if form.theta is None:
            made.append(fits.gauge_matrix(queries[0], queries[1], keys[0].T, keys[1].T, weight))
            continue
        q, p, k, m = (as_complex(x[None])[0] for x in (*queries, *keys))
        found.append(fits.turns(q, p, k, m, weight))
        middle.append((q, p, k, m))
    if form.theta is None:
        queries_, inverse = _stacked(made)
        return {"queries": queries_, "queries_inverse": inverse}

    def pairs(z: Any) -> Floats:
        return np.stack([z.real, z.imag], axis=-1)

    def both() -> list[tuple[Any, Any]]:
        return [(np.hstack([q, m.conj()]), np.hstack([p, k.conj()])) for q, p, k, m in middle]

    def counted() -> Floats:
        return _flat(pairs(np.stack([fits.common_ratio(*each) for each in both()])))

    def stored() -> tuple[Any, Any] | None:
        found = stored_ratios(*(np.concatenate(side) for side in zip(*both(), strict=True)))
        return None if found is None else (found[0].reshape(groups, -1, 2), found[1].reshape(groups, -1, 2))

    @np.errstate(over="ignore", invalid="ignore")
    def off(z: Floats, inverse: Floats) -> Floats:
        numbers = z[..., 0] + 1j * z[..., 1], inverse[..., 0] + 1j * inverse[..., 1]
        found = np.zeros(z.shape[:-1])
        for group, (q, p, k, m) in enumerate(middle):
            for by, old_rows, new_rows in ((numbers[0], q, p), (numbers[1], k, m)):
                rest = np.abs(new_rows - by[group][:, None] * old_rows).max(axis=1)
                found[group] = np.maximum(found[group], rest / np.maximum(np.abs(new_rows).max(axis=1), 1e-300))
        return np.repeat(found[..., None], 2, axis=-1)

    def inverse_turn(z: Floats) -> Floats:
        return np.asarray(z / (z * z).sum(axis=-1, keepdims=True))

    z = np.stack(found)
    turns, over = fits.nice_scales([lambda: _flat(pairs(z)), counted], inverse_turn, off, stored)
    return {"turns": turns, "turns_inverse": over}


def _flat(turns: Floats) -> Floats:
    """Without real or imaginary parts that are but noise."""
    size = np.hypot(turns[..., :1], turns[..., 1:])
    return np.where(np.abs(turns) < 1e-9 * size, 0, turns)


def _ups(old: Folded, new: Folded, neurons: Any) -> dict[str, Any]:
    weight = (_weight(new.up), _weight(new.down))
    up, down = old.up[neurons], old.down[:, neurons]

    both = np.hstack([up, new.down.T]), np.hstack([new.up, down.T])

    def counted() -> Floats:
        return np.asarray(fits.common_ratio(*both))

    @np.errstate(over="ignore", invalid="ignore")
    def off(c: Floats, inverse: Floats) -> Floats:
        above = np.abs(new.up - c[:, None] * up).max(axis=1) / np.maximum(np.abs(new.up).max(axis=1), 1e-300)
        below = np.abs(new.down - inverse * down).max(axis=0) / np.maximum(np.abs(new.down).max(axis=0), 1e-300)
        return np.asarray(np.maximum(above, below))

    c = fits.scales(up, new.up, down, new.down, weight)
    ups, over = fits.nice_scales([lambda: c, counted], np.reciprocal, off, lambda: stored_ratios(*both))
    return {"ups": ups, "ups_inverse": over}


def _stacked(made: list[tuple[Floats, Ratio | None, Ratio | None]]) -> tuple[Any, Any]:
    """Matrices of all groups with their inverses: as nice numbers if all are."""
    known = [(g, h) for _, g, h in made if g is not None and h is not None]
    if len(known) == len(made):
        exact = _over_one([g for g, _ in known]), _over_one([h for _, h in known])
        if exact[0] is not None and exact[1] is not None:
            return exact
    matrices = np.stack([floats(whole if g is None else g) for whole, g, _ in made])
    return matrices, np.stack([np.linalg.pinv(m) if (h := fits.inverse_of(m)) is None else h for m in matrices])


def _over_one(parts: list[Ratio]) -> Ratio | None:
    if any(np.ndim(part.denominator) for part in parts):
        low = [np.broadcast_to(part.denominator, part.numerators.shape) for part in parts]
        whole = [[int(x) for x in part.numerators.ravel()] for part in parts]
        return Ratio(np.array(whole, dtype=object).reshape(len(parts), *parts[0].numerators.shape), np.stack(low))
    common = int(np.lcm.reduce([part.denominator for part in parts]))
    numerators = np.stack([part.numerators * (common // part.denominator) for part in parts])
    return Ratio(numerators, common) if np.abs(numerators).max(initial=0) < 2**52 else None
