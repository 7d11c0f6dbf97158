"""What is special at given weights: symmetries that most models lack, each seen over the rationals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.configurations import alive
from lightning_sym.checkpoints.exact_arrays import to_objects
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.exact.rational import rank
from lightning_sym.whole_models.groups import equal_gains, equal_pairs
from lightning_sym.whole_models.images import Integers, LayerImage, integers

MOST_LISTED = 8
"""So many neurons, heads or coordinates of one kind are named."""


MOST_EXACT = 4096
"""Entries of a map of a head up to which its rank is found over the rationals."""


@dataclass(frozen=True)
class SpecialWeights:
    """A coincidence of weights, with what it allows.

    Attributes:
        what: such as `dead neurons`.
        layer: from 0; `None` for the ends.
        places: which neurons, heads or coordinates, from 0; of many the first ones.
        count: how many there are.
        allows: the symmetry that it brings.
    """

    what: str
    layer: int | None
    places: tuple[int, ...]
    count: int
    allows: str

    def __str__(self) -> str:
        where = "" if self.layer is None else f", layer {self.layer}"
        more = f" and {self.count - len(self.places):,} more" if self.count > len(self.places) else ""
        listed = f": {', '.join(map(str, self.places))}{more}" if self.places else ""
        return f"{self.what}{where}{listed}; {self.allows}"


def _named(what: str, layer: int | None, places: Iterable[int], allows: str) -> Iterator[SpecialWeights]:
    """Yield one of a kind, if there are places."""
    found = [int(place) for place in places]
    if found:
        yield SpecialWeights(what, layer, tuple(found[:MOST_LISTED]), len(found), allows)


def special_ends(checkpoint: Checkpoint, ends: Ends) -> Iterator[SpecialWeights]:
    """Yield what is special before and behind the layers."""
    form = checkpoint.form
    yield from _named(
        "final gains of 0", None, np.nonzero(np.asarray(ends.final_gain) == 0)[0], "the unembedding does not read these"
    )
    if form.tied and (equal := equal_gains(checkpoint)):
        turned = "the stream may be turned inside each set" + " (with LayerNorm if ones stay)" * (form.norm == "layer")
        yield from _named("equal final gains, coordinates a set", None, equal, turned)
        others = np.nonzero(np.asarray(ends.final_gain) != np.median(np.asarray(ends.final_gain, dtype=np.float64)))[0]
        if form.norm == "layer" and len(others) == 1:
            said = "it is free: multiples of ones, added to rows of the embedding, take it up"
            yield from _named("a final gain that alone differs from all others", None, others, said)
    if form.vocabulary <= form.width:
        why = "token ids alone see the first layer on so few vectors that readers may change off them"
        yield SpecialWeights("no more token ids than coordinates of the stream", None, (), form.vocabulary, why)


def special_layer(layer: int, block: Block, form: CheckpointForm, image: LayerImage) -> Iterator[SpecialWeights]:
    """Yield what is special in a layer."""
    read = "columns of what reads it are free"
    free = {"norm1_gain": read, "norm2_gain": read} | dict.fromkeys(
        ("query_norm_gain", "key_norm_gain"), "the scores do not see this row of queries and keys but by their lengths"
    )
    for name, allows in free.items():
        if (gain := getattr(block, name)) is not None:
            yield from _named(f"{name} of 0", layer, np.nonzero(np.asarray(gain) == 0)[0], allows)
    dead = np.nonzero(~np.asarray(alive(block)))[0]
    yield from _named("dead neurons", layer, dead, "what they read, or what they write, is free")
    mixed = "columns and factors may be mixed" if block.gate is not None else "only the sum of their columns is seen"
    for places in _equal_gates(block, image):
        yield from _named("neurons with one gate", layer, places, mixed)
    for places in _equal_gates(block, image, opposite=True):
        yield from _named("neurons with opposite gates", layer, places, "no symmetry is known that this brings")
    for places in _equal_heads(block, form, image):
        yield from _named("heads with equal queries and keys", layer, places, "only the sum of what they write is seen")
    if form.head_norms:
        turned = "the angle of each group is free at these frequencies"
        yield from _named("equal gains on both rows of a frequency", layer, equal_pairs(block), turned)
    for name, other in FREED.items():
        short = [number for number in range(len(getattr(block, name))) if f"{name} {number}" in image.short]
        less = [number for number in short if _is_short(block, form, name, number)]
        yield from _named(
            f"{name} of a rank below the head's width", layer, less, f"{other} are free in what it does not use"
        )


FREED = {"query": "keys", "key": "queries", "value": "outputs", "output": "values"}
"""What a map of a head is multiplied with."""


def _equal_gates(block: Block, image: LayerImage, *, opposite: bool = False) -> Iterator[tuple[int, ...]]:
    """Yield sets of neurons whose gates, biases included, are equal entry by entry, or equal up to a sign."""
    name = "gate" if block.gate is not None else "up"
    rows, bias = (getattr(block, part) for part in (name, f"{name}_bias"))
    whole = np.asarray(rows) if bias is None else np.concatenate([rows, np.asarray(bias)[:, None]], axis=1)
    if not opposite:
        yield from _equal(integers(image.gates), lambda number: [whole[number]])
        return
    signs = np.where(whole[np.arange(len(whole)), (whole != 0).argmax(axis=1)] < 0, -1, 1)
    for places in _equal(integers(image.gates * signs[:, None]), lambda number: [whole[number] * signs[number]]):
        if len(set(signs[list(places)])) > 1:
            yield places


def _equal_heads(block: Block, form: CheckpointForm, image: LayerImage) -> Iterator[tuple[int, ...]]:
    """Yield sets of heads whose forms are equal; large ones, and those behind norms, if all entries are."""
    share, pairs = form.heads // form.groups, (("query", "query_bias"), ("key", "key_bias"))

    def parts(head: int) -> list[npt.NDArray[np.generic]]:
        maps = []
        for (name, bias), number in zip(pairs, (head, head // share), strict=True):
            rows = [np.asarray(getattr(block, name)[number])]
            if getattr(block, bias) is not None and (name == "query" or form.theta is not None):
                rows.append(np.asarray(getattr(block, bias)[number])[:, None])
            maps.append(np.concatenate(rows, axis=1))
        if form.head_norms or maps[0].size > MOST_EXACT:
            return maps
        query, key = map(to_objects, maps)
        if form.theta is None:
            return [query.T @ key]
        (q, s), (k, m) = (np.split(part[..., None], 2) for part in (query, key))
        return [q @ k.mT + s @ m.mT, q @ m.mT - s @ k.mT]

    yield from _equal(image.forms, parts)


def _equal(images: Integers, parts: Callable[[int], list[npt.NDArray[np.generic]]]) -> Iterator[tuple[int, ...]]:
    """Yield sets of numbers whose parts are equal; only those with one image are compared, with the first of them."""
    sets = defaultdict(list)
    for number, values in enumerate(images):
        sets[values.tobytes()].append(number)
    for first, *others in (places for places in sets.values() if len(places) > 1):
        own = parts(first)
        alike = [other for other in others if all(map(np.array_equal, own, parts(other)))]
        if alike:
            yield (first, *alike)


def _is_short(block: Block, form: CheckpointForm, name: str, number: int) -> bool:
    """Return whether the rank of a head's map, with its bias, is below its width over the rationals."""
    parts = [np.asarray(getattr(block, name)[number])]
    if name == "query" and block.query_bias is not None:
        parts.append(np.asarray(block.query_bias[number])[:, None])
    if parts[0].size > MOST_EXACT:  # of larger maps only rows of zeros are seen
        seen = np.concatenate([part != 0 for part in parts], axis=1)
        return bool((~seen.any(axis=0 if name == "output" else 1)).any())
    return rank(np.concatenate([to_objects(part) for part in parts], axis=1)) < form.head_width
