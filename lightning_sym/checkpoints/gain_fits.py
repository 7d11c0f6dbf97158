"""What gains of queries and keys were multiplied with, as those of both layers say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from lightning_sym.checkpoints import fits
from lightning_sym.checkpoints.layer_parts import Folded
from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio
from lightning_sym.checkpoints.symmetry import Part
from lightning_sym.checkpoints.units import DEFAULT_UNITS, unit_at


def gain_factors(old: Folded, new: Folded, stored: Mapping[str, str]) -> dict[str, Ratio]:
    """Return what gains of queries and keys were multiplied with, as the one that tells it best says it.

    Args:
        old, new: the layer of both.
        stored: by piece, the coarser of the types that it is stored in.
    """
    pairs = [(getattr(old, name), getattr(new, name)) for name in HEADS]
    found = _factors(pairs, [stored[name] for name in HEADS])
    return {} if found is None else {"gain_factors": found}


HEADS = ("query_norm_gain", "key_norm_gain")
"""Gains of heads."""


def row_factors(old: Folded, new: Folded, ratio: int, stored: Mapping[str, str]) -> dict[str, Ratio]:
    """Return the same of gains for each row, group by group."""
    made = []
    kinds = [stored["query_row_gain"]] * ratio + [stored["key_row_gain"]]
    for group in range(len(new.key_row_gain)):
        mine = range(group * ratio, (group + 1) * ratio)
        queries = [(old.query_row_gain[head], new.query_row_gain[head]) for head in mine]
        made.append(_factors([*queries, (old.key_row_gain[group], new.key_row_gain[group])], kinds))
    if any(each is None for each in made):
        return {}
    there = [each for each in made if each is not None]
    return {"row_factors": Ratio(np.stack([x.numerators for x in there]), np.stack([x.denominator for x in there]))}


def _factors(pairs: list[tuple[Floats, Floats]], kinds: list[str]) -> Ratio | None:
    """Return factors of gains, a row each, the last those of keys, or `None` if a gain is 0; signs are those of all.

    Args:
        pairs: old and new gains, those of keys last.
        kinds: the type that each pair is stored in.
    """
    if any((each == 0).any() for pair in pairs for each in pair):
        return None
    half = len(pairs[0][0]) // 2
    keys = len(pairs) - 1
    told = [pair if place < keys else pair[::-1] for place, pair in enumerate(pairs)]  # keys have the inverse
    doubts = [
        unit_at(old, kind) / np.abs(old) + unit_at(new, kind) / np.abs(new)
        for (old, new), kind in zip(pairs, kinds, strict=True)
    ]
    columns = [np.abs(np.concatenate([pair[side].reshape(2, half) for pair in told])).T for side in (0, 1)]
    sizes = [
        _size(*each) for each in zip(*columns, np.concatenate([x.reshape(2, half) for x in doubts]).T, strict=True)
    ]
    signs = [(np.sign(by) * np.sign(to)).astype(int).tolist() for by, to in pairs]
    rows = fits.gain_factors(sizes, signs)
    parts = ([[getattr(x, part) for x in row] for row in rows] for part in ("numerator", "denominator"))
    return Ratio(*(np.array(each, dtype=object) for each in parts))


def _size(old: Floats, new: Floats, doubts: Floats) -> Fraction:
    """Return the power of two that all gains tell up to some units, else the ratio of two that is nearest to others.

    Gains near 1 that are stored less one are known better than others, so that no ratio of others is good enough: of
    all ratios the one is taken from which none is off by much in its own doubt. Of gains that do not tell what the
    first do nothing is asked, as they may be wrong.
    """
    said = new / old
    alike = np.abs(said / said[0] - 1) <= DEFAULT_UNITS * (doubts + doubts[0])
    apart = np.abs(said[:, None] / said - 1) / doubts[:, None]  # of each, from the ratio of each
    best = int(np.where(alike, apart[alike].max(axis=0), np.inf).argmin())
    near = float(2.0 ** np.round(np.log2(said[best])))
    off, rest = (float((np.abs(said / size - 1) / doubts).max()) for size in (near, said[best]))
    if off <= max(1, min(rest, DEFAULT_UNITS)):  # gains some units off may tell no ratio as well as this one
        return Fraction(near)
    return Fraction(float(new[best])) / Fraction(float(old[best]))


def planes_of(keys: Array) -> Floats:
    """Return the two rows of each frequency of each group side by side, `(G, a / 2, 2 d)`, in float64."""
    groups, rows, width = keys.shape
    planes = np.asarray(keys, dtype=np.float64).reshape(groups, 2, rows // 2, width)
    return planes.swapaxes(1, 2).reshape(groups, rows // 2, 2 * width)


def positive_gains(
    block: Block, form: CheckpointForm, size: Callable[[Floats, Floats], Floats], signs_of: Callable[[Floats], Floats]
) -> dict[str, Part]:
    """Return what makes gains on queries and keys positive, and the signs of frequencies that keys have then.

    Args:
        block: a layer.
        form: of the network, as this layer has it.
        size: gives by what a frequency's gains of queries are multiplied, those of keys divided; it is asked with the
            gains of both that stand together, a row a frequency.
        signs_of: gives the sign of each row, by which a row is known.
    """
    name, groups = ("row", form.groups) if form.head_norms == "width" else ("norm", 1)
    sides = (np.asarray(getattr(block, f"{side}_{name}_gain"), dtype=np.float64) for side in ("query", "key"))
    made = []
    for queries, keys in zip(*(side.reshape(groups, -1, form.head_width) for side in sides), strict=True):
        planes = (side.reshape(-1, form.head_width // 2).T for side in (queries, keys))
        signs = np.where(np.concatenate([queries, keys]) < 0, -1, 1)
        made.append(fits.gain_factors([Fraction(each) for each in size(*planes).tolist()], signs.tolist()))
    told = planes_of(block.key * np.where(np.asarray(getattr(block, f"key_{name}_gain")) < 0, -1, 1)[..., None])
    frequencies = signs_of(told.reshape(-1, told.shape[-1])).reshape(told.shape[:2])
    factors = {"row_factors": np.array(made)} if name == "row" else {"gain_factors": np.array(made[0])}
    return {**factors, "turns": np.stack([frequencies, 0 * frequencies], axis=-1)}
