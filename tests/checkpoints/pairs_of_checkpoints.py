"""Pairs of checkpoints whose answer is known: rewritten and stored in many ways, and the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from changed_checkpoints import changed, rounded, wild_symmetry
from naive_transformer import logits

from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.testing import small_checkpoint

Stored = Literal["F16", "BF16", "F32", "F64"]
FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
STILL = tuple(kind for kind in KINDS if kind not in ("stream", "gains", "ones"))
WAYS: dict[str, tuple[str, ...]] = {kind: (kind,) for kind in KINDS} | {
    "nothing": (), "still": STILL, "folded": ("gains",), "turned": ("stream", "gains"), "all": KINDS, "wild": (),
    "centred": (),
}  # fmt: skip
"""What is done to the first; what is not wild has dyadic numbers. `centred`: all that is written to the stream."""

STORES: dict[str, tuple[Stored, Stored | None]] = {
    "exact": ("BF16", None), "few bits": ("F32", "F32"), "F32 to F32": ("F32", "F32"), "F32 to BF16": ("F32", "BF16"),
    "F32 to F16": ("F32", "F16"), "BF16 to BF16": ("BF16", "BF16"), "F16 to BF16": ("F16", "BF16"),
}  # fmt: skip
"""In what the first is stored and to what the second is rounded: to nothing, or so that nothing is lost."""


@dataclass(frozen=True)
class Pair:
    """Two checkpoints, what was done, whether nothing was lost, and what is wrong with the second, if it is."""

    name: str
    first: Checkpoint
    second: Checkpoint
    exact: bool
    wrong: str = ""


def few_bits(one: MadeCheckpoint, bits: int = 3) -> MadeCheckpoint:
    """The checkpoint with a few bits of each number."""

    def cut(pieces: Any) -> Any:
        found = {}
        for name, array in pieces.present():
            fraction, exponent = np.frexp(array)
            found[name] = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits).astype(np.float32)
        return replace(pieces, **found)

    return replace(one, outer=cut(one.outer), blocks=tuple(cut(block) for block in one.blocks), type_stored="F32")


def centred(one: MadeCheckpoint) -> MadeCheckpoint:
    """The checkpoint without the mean of what is written to the stream, in float64; LayerNorm does not see it."""

    def less_mean(array: Any, axis: int) -> Any:
        wide = np.asarray(array, dtype=np.float64)
        return wide - wide.mean(axis=axis, keepdims=True)

    blocks = tuple(
        replace(
            block, output=less_mean(block.output, 1), output_bias=less_mean(block.output_bias, 0),
            down=less_mean(block.down, 0), down_bias=less_mean(block.down_bias, 0),
        )
        for block in one.blocks
    )  # fmt: skip
    outer = replace(one.outer, positions=less_mean(one.outer.positions, 1))
    if one.outer.unembedding is not None:
        outer = replace(outer, embedding=less_mean(outer.embedding, 1))
    return replace(one, outer=outer, blocks=blocks, type_stored="F64")


NETWORKS = [(family, tied) for family in FAMILIES for tied in (False, True)]


def pairs(seeds: range, networks: list[tuple[str, bool]] = NETWORKS) -> Iterator[Pair]:
    """Rewritten ones, for each seed one of each network, way and store, where there is something to do."""
    for seed in seeds:
        for number, (family, tied) in enumerate(networks):
            for at, (way, kinds) in enumerate(WAYS.items()):
                for store, (stored, to) in STORES.items():
                    if (seed + number + at + len(store)) % 2 and way not in ("centred", "nothing"):
                        continue  # half of them
                    if (found := pair(family, tied, way, kinds, store, stored, to, seed + at)) is not None:
                        yield found


def pair(
    family: str, tied: bool, way: str, kinds: tuple[str, ...], store: str, stored: Stored, to: Stored | None, seed: int
) -> Pair | None:
    """One of them; `None` where there is nothing to do, or nothing exact can be done."""
    first = small_checkpoint(family, seed, tied=tied, stored=stored, biases=seed % 2 == 0)
    first = few_bits(first) if store == "few bits" else first
    exact = store in ("exact", "few bits")
    if (way == "centred" and family != "gpt2") or (exact and way in ("centred", "wild")):
        return None
    made: Checkpoint = first
    if way == "centred":
        made = centred(first)
    elif way != "nothing":
        symmetry = wild_symmetry(first, seed) if way == "wild" else random_symmetry(first, kinds, seed)
        if way == "wild" and (tied or stored != "F32"):
            return None
        if not symmetry.parts():
            return None
        made = apply(symmetry, first, exact=way != "wild")
    second = made if to is None else rounded(made, to)
    lost = way in ("centred", "wild") or not equal(made, second)
    return Pair(f"{family} {'tied' if tied else 'untied'} {way} {store} {seed}", first, second, not lost)


def arrays(one: Checkpoint) -> Iterator[tuple[int | None, str, Any]]:
    """All arrays: the layer, the piece, the numbers."""
    for layer in (None, *range(one.form.layers)):
        for name, array in (one.ends() if layer is None else one.block(layer)).present():
            yield layer, name, array


def equal(one: Checkpoint, two: Checkpoint) -> bool:
    """Whether all numbers of the one are those of the other."""
    return all(np.array_equal(a, b) for (_, _, a), (_, _, b) in zip(arrays(one), arrays(two), strict=True))


def wrong(right: Pair, seed: int) -> Pair | None:
    """The pair with one thing wrong in the second: the largest entry of a tensor doubled, or a tensor of the first.

    `None` where a plain forward pass does not see it, by far more than the roundings that there are.
    """
    random = np.random.default_rng(seed)
    second = right.second if isinstance(right.second, MadeCheckpoint) else rounded(right.second, "F64")
    there = list(arrays(second))
    layer, name, array = there[int(random.integers(len(there)))]
    old = {(where, piece): numbers for where, piece, numbers in arrays(right.first)}
    if seed % 3 == 0 and not np.array_equal(old[layer, name], array):
        change, what = np.array(old[layer, name], dtype=array.dtype), "forgotten"
    else:
        change, what = np.array(array), "doubled"
        change[np.unravel_index(np.abs(change).argmax(), change.shape)] *= 2
    bad = changed(second, layer, **{name: change})
    ids = [int(i) for i in random.integers(second.form.vocabulary, size=6)]
    if name == "embedding" and what == "doubled":
        ids[0] = int(np.unravel_index(np.abs(array).argmax(), array.shape)[0])
    if name == "positions" and what == "doubled":
        ids += [1] * 10
    plain, same, other = (logits(one, ids) for one in (right.first, second, bad))
    if np.abs(other - plain).max() <= 1e-6 + 3 * np.abs(same - plain).max():
        return None
    return replace(right, name=f"{right.name}, {layer} {name} {what}", second=bad, exact=False, wrong=f"{name} {what}")


def distance(first: Checkpoint, second: Checkpoint) -> float:
    """The largest difference of two numbers at one place, over the largest number of its piece."""
    assert first.form == second.form
    worst = 0.0
    pairs: list[Any] = [(first.ends(), second.ends())]
    pairs += [(first.block(layer), second.block(layer)) for layer in range(first.form.layers)]
    for old, new in pairs:
        for (name, mine), (_, theirs) in zip(old.present(), new.present(), strict=True):
            apart = np.abs(np.asarray(mine, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)).max()
            size = 1.0 if name.endswith("bias") else np.abs(np.asarray(mine, dtype=np.float64)).max()
            worst = max(worst, float(apart / max(size, 1e-300)))
    return worst
