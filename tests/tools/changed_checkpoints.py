"""Checkpoints rounded to a type, with single weights moved, and wrongly rewritten: pairs not to be called the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, Ends, MadeCheckpoint
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry


def rounded(checkpoint: Checkpoint, stored: str = "F32") -> MadeCheckpoint:
    """The checkpoint in memory, every number rounded to nearest."""

    def pieces(found: Any) -> Any:
        kept = {}
        for name, array in found.present():
            numbers = np.array([float(x) for x in array.ravel()]).reshape(array.shape)
            kept[name] = from_disk(to_disk(numbers, stored, rounded=True), stored)
        return replace(found, **kept)

    blocks = tuple(pieces(checkpoint.block(i)) for i in range(checkpoint.form.layers))
    return MadeCheckpoint(checkpoint.form, pieces(checkpoint.ends()), blocks, "rounded", stored)


def changed(checkpoint: MadeCheckpoint, layer: int | None, **pieces: Any) -> MadeCheckpoint:
    """Other arrays in a layer, or outside."""
    if layer is None:
        return replace(checkpoint, outer=replace(checkpoint.outer, **pieces))
    blocks = list(checkpoint.blocks)
    blocks[layer] = replace(blocks[layer], **pieces)
    return replace(checkpoint, blocks=tuple(blocks))


def places(checkpoint: MadeCheckpoint, seed: int) -> Iterator[tuple[int | None, str, tuple[int, ...]]]:
    """One entry that is not zero of every array: the layer, the piece, the index."""
    random = np.random.default_rng(seed)
    layer = checkpoint.form.layers - 1
    for where, found, kind in ((layer, checkpoint.blocks[layer], Block), (None, checkpoint.outer, Ends)):
        for field in fields(kind):
            array = getattr(found, field.name)
            if array is not None and array.any():
                there = np.argwhere(array)
                yield where, field.name, tuple(int(i) for i in there[random.integers(len(there))])


def moved(checkpoint: MadeCheckpoint, layer: int | None, piece: str, index: tuple[int, ...]) -> MadeCheckpoint:
    """One weight moved to the next number of float32."""
    array = np.array(getattr(checkpoint.outer if layer is None else checkpoint.blocks[layer], piece), dtype=np.float32)
    array[index] = np.nextafter(array[index], np.float32(np.inf))
    return changed(checkpoint, layer, **{piece: array})


def wild_symmetry(checkpoint: Checkpoint, seed: int, by: float = 4.0) -> Symmetry:
    """A symmetry without any nice number: rotations, gauges of condition `by`, turns and scales."""
    random = np.random.default_rng(seed)
    form = checkpoint.form

    def orthogonal(size: int) -> Any:
        return np.linalg.qr(random.standard_normal((size, size)))[0]

    def gauges(count: int, size: int) -> Any:
        sizes = np.diag(np.geomspace(1, by, size))
        return np.stack([orthogonal(size) @ sizes @ orthogonal(size) for _ in range(count)])

    def layer() -> LayerSymmetry:
        one, none = np.ones(form.width), np.zeros(form.width)
        parts: dict[str, Any] = {"values": gauges(form.groups, form.head_width), "gain1": one, "gain2": one}
        parts["neurons"] = random.permutation(form.inner)
        if form.norm == "layer":
            parts |= {"bias1": none, "bias2": none}
        if form.theta is None:
            parts["queries"] = gauges(form.groups, form.head_width)
        else:
            angle = random.uniform(0, 6, (form.groups, form.head_width // 2))
            size = np.exp(random.standard_normal(angle.shape) / 2)
            parts["turns"] = np.stack([size * np.cos(angle), size * np.sin(angle)], axis=-1)
            parts["ups"] = np.exp(random.standard_normal(form.inner) / 2)
        return LayerSymmetry(**parts)

    rotation = orthogonal(form.width)
    if form.norm == "layer":  # the vector of ones stays
        basis = np.linalg.qr(np.column_stack([np.ones(form.width), random.standard_normal((form.width,) * 2)]))[0]
        inner = np.eye(form.width)
        inner[1:, 1:] = orthogonal(form.width - 1)
        rotation = basis @ inner @ basis.T
    return Symmetry(tuple(layer() for _ in range(form.layers)), rotation=rotation, final_gain=np.ones(form.width))


def forgotten(
    first: MadeCheckpoint, second: MadeCheckpoint, symmetry: Symmetry
) -> Iterator[tuple[str, MadeCheckpoint]]:
    """Rewritings of `first` by the symmetry, of which `second` is the right one, each with one thing wrong."""
    block, form, share = second.blocks[-1], first.form, first.form.heads // first.form.groups
    last = form.layers - 1
    for name in ("query_bias", "value_bias", "output_bias", "down_bias", "up_bias"):
        if getattr(block, name) is not None:
            yield f"{name} forgotten", changed(second, last, **{name: getattr(first.blocks[-1], name)})
    yield "values without outputs", changed(second, last, value=block.value[::-1].copy())
    yield "neurons without their outputs", changed(second, last, down=block.down[:, ::-1].copy())
    yield "outputs of other heads", changed(second, last, output=block.output[::-1].copy())
    if form.theta is None:
        return
    layers = symmetry.layers
    turns = layers[-1].turns
    assert turns is not None  # for the type checker
    bent = replace(symmetry, layers=(*layers[:-1], replace(layers[-1], turns=turns * np.array([1, -1]))))
    yield (
        "keys turned by the conjugate",
        changed(second, last, key=rounded(apply(bent, first, exact=False)).blocks[-1].key),
    )
    gauge = np.linalg.qr(np.random.default_rng(1).standard_normal((form.head_width,) * 2))[0]
    yield "a gauge that positions forbid", changed(second, last, query=gauge @ block.query, key=gauge @ block.key)
    pairs = block.query.copy(), block.key.copy()
    for each in pairs:
        each[:, 0::2], each[:, 1::2] = -each[:, 1::2].copy(), each[:, 0::2].copy()
    yield "pairs of neighbours turned", changed(second, last, query=pairs[0], key=pairs[1])
    yield "another group", changed(second, last, key=block.key[::-1].copy(), value=block.value[::-1].copy())
    order = np.arange(form.heads)
    order[[share - 1, share]] = order[[share, share - 1]]
    crossed = {"query": block.query[order], "output": block.output[order]}
    if block.query_bias is not None:
        crossed["query_bias"] = block.query_bias[order]
    yield "a query head in another group", changed(second, last, **crossed)
