"""One layer of each: the gauge guessed, then put into the equations, in floats and exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.equations import LayerGauge, layer_differences
from lightning_sym.checkpoints.exact_compare import Mask, all_off, exact_masks, up_to_ones
from lightning_sym.checkpoints.exact_rings import Floats, Ratio
from lightning_sym.checkpoints.folded import Folded
from lightning_sym.checkpoints.layer_fit import fit_gauge, floats, folded_pair, identity_gauge
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import READERS
from lightning_sym.checkpoints.units import (
    COLUMNS,
    DIGITS,
    bias_sizes,
    block_units,
    coarsest,
    units_of_columns,
    without_gain,
)


@dataclass(frozen=True, eq=False)
class LayerFound:
    """What was found in one layer.

    Attributes:
        gauge: the guess.
        kinds: the types whose units count, by piece.
        differences: of the second's tensors from what the symmetry makes of the first's, in the tensors' own numbers.
        masks: where they are not zero exactly; `None` if the gauge has no exact numbers.
        units: of all tensors.
        equal: all equations hold exactly; what is told of the differences has no part in it.
        moves: a value bias moves into the output bias.
    """

    gauge: LayerGauge
    kinds: Mapping[str, str]
    differences: dict[str, Floats]
    masks: dict[str, Mask] | None
    units: dict[str, Floats]
    equal: bool
    moves: bool

    def largest(self) -> float:
        """The largest difference, in units."""
        off = (np.abs(each) / self.units[name] for name, each in self.differences.items())
        return max(float(np.nan_to_num(each, nan=np.inf).max(initial=0)) for each in off)


def compare_layer(
    first: Block,
    second: Block,
    form: CheckpointForm,
    groups: int,
    stream: StreamMap,
    stored: Mapping[str, str],
    limit: float,
) -> LayerFound:
    """Compare under the gauge that does nothing, and where that is off by more than the limit, guess and compare.

    Args:
        first, second: `whole` blocks.
        form: of the second.
        groups: key and value heads of both.
        stream: what was done to the stream.
        stored: the coarser of the types that each piece is stored in.
        limit: units.
    """
    old, new = folded_pair(first, second, form, stream)
    nothing = identity_gauge(form, groups, new.gate is not None)
    found = _compare(first, second, (old, new), nothing, form, stream, stored, limit)
    if found is not None and (found.equal or found.largest() <= limit):
        return found
    found = _compare(first, second, (old, new), fit_gauge(old, new, form, groups), form, stream, stored, math.inf)
    assert found is not None  # noqa: S101 - nothing is beyond that limit
    return found


def _compare(
    first: Block,
    second: Block,
    pair: tuple[Folded, Folded],
    gauge: LayerGauge,
    form: CheckpointForm,
    stream: StreamMap,
    stored: Mapping[str, str],
    limit: float,
) -> LayerFound | None:
    """Put a gauge into the equations; `None` if floats see that something is off by more than the limit."""
    old, new = pair
    same = StreamMap(Fraction(1), order=np.arange(form.width))
    found = layer_differences(floats, old, new, gauge, same, form)
    if form.norm == "layer":
        found = up_to_ones(found)
    for name, norm in READERS.items():
        if name in found:
            found[name] = without_gain(found[name], getattr(second, name), getattr(second, f"{norm}_gain"))
    kinds = _kinds(stored, (first, second), gauge, stream)
    bits = {name: DIGITS[kind][0] for name, kind in kinds.items()}
    units = block_units(second, kinds, _carried_sizes(first, gauge, stream, form), form.norm == "layer")
    for name in found.keys() - EITHER:
        if (np.abs(found[name]) > max(limit, math.ldexp(NOISE, bits[name])) * units[name]).any():
            return None
    masks = None
    if gauge.nice() and stream.exact and not all_off(found, units, bits):
        masks = exact_masks(first, second, gauge, stream, form)
    if masks is not None:
        for name, mask in masks.items():
            found[name] = np.where(mask, found[name], 0.0)
    equal = masks is not None and not any(
        mask.any() for name, mask in masks.items() if name not in ("value_bias", "output_bias")
    )
    _without_weights(found, masks, second)
    moves = _choose_bias(found, masks, units)
    if moves:
        units["output_bias"], kinds["output_bias"] = units["moved_bias"], kinds["moved_bias"]
    _blame_norms(found, masks, second, units)
    for name, axes in COLUMNS.items():
        if name in found:
            units[name] = units_of_columns(found[name], units[name], getattr(second, name), axes, kinds[name])
    return LayerFound(gauge, kinds, found, masks, units, equal, moves)


EITHER = {"value_bias", "output_bias", "moved_bias"}
"""Differences of which the first two need not be zero where the third is."""

NOISE = 1e-10
"""What floats lose of the largest numbers is less."""


def _kinds(
    stored: Mapping[str, str], blocks: tuple[Block, Block], gauge: LayerGauge, stream: StreamMap
) -> dict[str, str]:
    """The types whose units count: of biases also those of the weights from which something comes into them.

    That is so where the bias of a norm is folded into them, where values are moved into the output bias, and where the
    numbers of the gauge or of the stream were fitted to weights.
    """
    fitted = not (gauge.nice() and stream.exact)
    found = dict(stored)
    for name, norm in READERS.items():
        if fitted or any(getattr(block, f"{norm}_bias").any() for block in blocks):
            found[f"{name}_bias"] = coarsest(stored[f"{name}_bias"], stored[name])
    for name in ("output", "down") if fitted else ():
        found[f"{name}_bias"] = coarsest(stored[f"{name}_bias"], stored[name])
    return found | {"moved_bias": coarsest(found["value_bias"], stored["output_bias"], stored["output"])}


def _carried_sizes(first: Block, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm) -> dict[str, Floats]:
    """Sizes of the terms in the first's biases, each times how much the gauge can make roundings grow."""
    sizes = bias_sizes(first)

    def mixed(matrices: Any, name: str, order: Any, of: Any = slice(None)) -> Floats:
        size = np.broadcast_to(sizes[name], getattr(first, name).shape)[order]
        found = np.asarray(np.sqrt((floats(matrices)[of] ** 2 @ size[..., None] ** 2)[..., 0]))
        return found if isinstance(matrices, Ratio) else np.broadcast_to(found.max(-1, keepdims=True), found.shape)

    of_head = np.arange(form.heads) // (form.heads // len(gauge.groups))
    if gauge.turns is not None:
        query = _turned_sizes(sizes["query_bias"][gauge.heads], gauge.turns, of_head)
        key = _turned_sizes(sizes["key_bias"][gauge.groups], gauge.turns_inverse, slice(None))
    else:
        query = mixed(gauge.queries, "query_bias", gauge.heads, of_head)
        key = mixed(gauge.queries_inverse.mT, "key_bias", gauge.groups)

    def moved(name: str) -> Floats:
        size = sizes[name] * float(stream.scale)
        return size.max(keepdims=True) if stream.order is None else size[stream.order]

    found = {
        "query_bias": query,
        "key_bias": key,
        "value_bias": mixed(gauge.values, "value_bias", gauge.groups),
        "output_bias": moved("output_bias"),
        "moved_bias": moved("moved_bias"),
        "down_bias": moved("down_bias"),
        "up_bias": sizes["up_bias"][gauge.neurons],
    }
    if gauge.ups is not None:
        found["up_bias"] = found["up_bias"] * np.abs(floats(gauge.ups))
        found["gate_bias"] = sizes["gate_bias"][gauge.neurons]
    return found


def _turned_sizes(sizes: Floats, turns: Any, of_head: Any) -> Floats:
    """Sizes of biases behind turns; of those that were fitted, the larger of the two rows of a frequency."""
    upper, lower = np.split(sizes, 2, axis=-1)
    x, y = np.moveaxis(floats(turns)[of_head], -1, 0)
    found = np.stack([np.hypot(x * upper, y * lower), np.hypot(y * upper, x * lower)])
    found = found if isinstance(turns, Ratio) else np.broadcast_to(found.max(axis=0), found.shape)
    return np.concatenate(list(found), axis=-1)


def _without_weights(found: dict[str, Floats], masks: dict[str, Mask] | None, second: Block) -> None:
    """What a wrong weight makes of the norm's bias is no difference of the map's own bias."""
    for name, norm in READERS.items():
        bias = np.asarray(getattr(second, f"{norm}_bias"), dtype=np.float64)
        if name not in found or f"{name}_bias" not in found or not bias.any() or not found[name].any():
            continue
        made = found[name] @ bias
        explained = np.abs(found[f"{name}_bias"] - made) <= PROPORTIONAL * np.abs(made)
        found[f"{name}_bias"][explained] = 0
        if masks is not None:
            masks[f"{name}_bias"] &= ~explained


def _choose_bias(found: dict[str, Floats], masks: dict[str, Mask] | None, units: dict[str, Floats]) -> bool:
    """Either the value bias goes along with the values, or it moves into the output bias: what fits better is said."""
    apart = [float((np.abs(found[name]) / units[name]).max(initial=0)) for name in ("value_bias", "output_bias")]
    together = float((np.abs(found["moved_bias"]) / units["moved_bias"]).max(initial=0))
    needed = True
    if masks is not None:
        wrong = {name: bool(masks[name].any()) for name in ("value_bias", "output_bias", "moved_bias")}
        needed = any(wrong.values())
        moves = not wrong["moved_bias"] or (wrong["value_bias"] and wrong["output_bias"] and 8 * together < max(apart))
    else:
        moves = 8 * together < max(apart)
    moved, mask = found.pop("moved_bias"), None if masks is None else masks.pop("moved_bias")
    if moves:
        found["value_bias"], found["output_bias"] = np.zeros_like(found["value_bias"]), moved
        if masks is not None:
            masks["value_bias"], masks["output_bias"] = np.zeros_like(masks["value_bias"]), mask
    return moves and needed


PROPORTIONAL = 1e-3
"""How well a column must follow another one, or biases a map, to say that a gain, or a norm's bias, is what differs."""


def _blame_norms(
    found: dict[str, Floats], masks: dict[str, Mask] | None, second: Block, units: Mapping[str, Floats]
) -> None:
    """Where the maps behind a norm differ in a whole column by one factor, it is the gain that differs.

    And where their biases differ by what they make of one vector, it is the norm's bias. What is blamed is only how the
    difference is told; the equations stay as they are, and what of an entry is left by more than a unit stays with it.
    """
    for norm in ("norm1", "norm2"):
        names = [name for name, of in READERS.items() if of == norm and name in found]
        gain = np.asarray(getattr(second, f"{norm}_gain"), dtype=np.float64)
        rows = np.concatenate([found[name].reshape(-1, len(gain)) for name in names])
        weights = np.concatenate([getattr(second, name).reshape(-1, len(gain)) for name in names]).astype(np.float64)
        off = (rows != 0).mean(axis=0) > 0.5
        blamed = np.zeros(len(gain))
        if off.any() and off.mean() < 0.5:
            for j in np.flatnonzero(off & (gain != 0)):
                factor = float(rows[:, j] @ weights[:, j]) / max(float(weights[:, j] @ weights[:, j]), 1e-300)
                rest = np.abs(rows[:, j] - factor * weights[:, j]).max(initial=0)
                if factor and rest <= PROPORTIONAL * np.abs(rows[:, j]).max(initial=0):
                    blamed[j] = gain[j] * factor
                    for name in names:
                        made = factor * np.asarray(getattr(second, name)[..., j], np.float64)
                        _less(found, masks, name, (..., j), made, units)
        found[f"{norm}_gain"] = blamed
        found[f"{norm}_bias"] = _blame_bias(
            found, masks, [name for name in names if name != "key"], second, norm, units
        )


def _blame_bias(
    found: dict[str, Floats],
    masks: dict[str, Mask] | None,
    names: list[str],
    second: Block,
    norm: str,
    units: Mapping[str, Floats],
) -> Floats:
    width = len(getattr(second, f"{norm}_gain"))
    none = np.zeros(width)
    biases = [f"{name}_bias" for name in names]
    if not np.asarray(getattr(second, f"{norm}_bias")).any() or not all(found[name].any() for name in biases):
        return none
    differences = np.concatenate([found[name].reshape(-1) for name in biases])
    weights = np.concatenate([getattr(second, name).reshape(-1, width) for name in names]).astype(np.float64)
    fitted = np.linalg.lstsq(weights, differences, rcond=1e-9)[0]
    small = np.abs(fitted) < PROPORTIONAL * np.abs(fitted).max(initial=0)
    fitted[small] = 0
    if (fitted != 0).mean() > 0.5:
        return none
    if np.linalg.norm(differences - weights @ fitted) > PROPORTIONAL * np.linalg.norm(differences):
        return none
    for name, bias in zip(names, biases, strict=True):
        _less(found, masks, bias, ..., np.asarray(getattr(second, name), np.float64) @ fitted, units)
    return np.asarray(fitted)


def _less(
    found: dict[str, Floats],
    masks: dict[str, Mask] | None,
    name: str,
    index: Any,
    made: Floats,
    units: Mapping[str, Floats],
) -> None:
    """Take what something else makes of entries out of their differences; what is left below a unit is nothing."""
    rest = found[name][index] - made
    left = np.abs(rest) > np.broadcast_to(units[name], found[name].shape)[index]
    found[name][index] = np.where(left, rest, 0)
    if masks is not None:
        masks[name][index] &= left
