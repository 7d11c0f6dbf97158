"""What a wrong `rounding` could rest on: a difference that is told otherwise, divided away, or explained too well.

Each pair computes different functions, which balls prove, and is off by far more than roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import rounded

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_rotation, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint

Pair = tuple[MadeCheckpoint, MadeCheckpoint]


def stored(array: Any, kind: str) -> Any:
    """The numbers that a type holds next to these."""
    return from_disk(to_disk(np.asarray(array, np.float64), kind, rounded=True), kind)


def ends(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(one, outer=replace(one.outer, **pieces))


def block(one: MadeCheckpoint, **pieces: Any) -> MadeCheckpoint:
    return replace(one, blocks=(replace(one.blocks[0], **pieces), *one.blocks[1:]))


def a_constant_on_a_reader(name: str, by: float) -> Pair:
    """A reader may be moved along the inverse of the gain, not along ones."""
    one = small_checkpoint("gpt2", 0)
    return one, block(one, **{name: (getattr(one.blocks[0], name) + np.float32(by)).astype(np.float32)})


def a_column_of_the_unembedding(family: str) -> Pair:
    """A column that is small beside its rows, and read by a large gain; one honest rounding elsewhere."""
    source = np.random.default_rng(0)
    one = small_checkpoint(family, 2, tied=False, stored="BF16")
    outer: Any = one.outer
    rows, gain, embedding = (x.copy() for x in (outer.unembedding, outer.final_gain, outer.embedding))
    gain[1], rows[:, 1] = 4096, rows[:, 1] / 4096
    one = ends(one, unembedding=rows, final_gain=gain)
    other = rows.copy()
    other[:, 1] = stored(source.standard_normal(len(rows)) / 4096, "BF16")
    embedding[0, 0] *= 1 + 2.0**-7
    return one, ends(one, unembedding=other, embedding=stored(embedding, "BF16"))


def a_gain_that_became_zero(family: str, power: int) -> Pair:
    """All other gains are large, and the weights behind them small."""
    one, at = small_checkpoint(family, 3, stored="BF16"), np.arange(16) == 1
    gain = np.where(at, 1, 2.0**power).astype(np.float32)
    small = np.where(at, 1, 2.0**-power).astype(np.float32)
    names = [name for name in ("query", "key", "value") if getattr(one.blocks[0], name) is not None]
    one = block(one, norm1_gain=gain, **{name: getattr(one.blocks[0], name) * small for name in names})
    return one, block(one, norm1_gain=np.where(at, 0, gain).astype(np.float32))


def an_entry_beside_a_gain() -> Pair:
    """A gain that was rounded explains its column, but not an entry of it that is something else."""
    one = small_checkpoint("llama", 4)
    first: Any = one.blocks[0]
    up, down, gate = first.up.copy(), first.down.copy(), first.gate.copy()
    up[0, 1], down[:, 0] = 2**20, down[:, 0] * 2.0**-40
    up[3] *= 2.0**-10
    up[3, 1], down[:, 3] = 2.0**-10, down[:, 3] * 2.0**12
    one = block(one, up=up, down=down)
    by = 1 + 3 * 2.0**-23
    other, turned = up.copy(), gate.copy()
    other[:, 1], turned[:, 1] = stored(up[:, 1] * by, "F32"), stored(gate[:, 1] * by, "F32")
    other[3, 1] += 2.0**-13
    return one, block(one, up=other, gate=turned)


def an_entry_beside_its_row_and_column(family: str) -> Pair:
    """Both have an entry that is far larger; the column that the large row writes is small."""
    one = small_checkpoint(family, 4)
    first: Any = one.blocks[0]
    up, down = first.up.copy(), first.down.copy()
    up[3, 5], up[7, 1], up[3, 1], down[:, 7] = 2.0**20, 2.0**20, 1, down[:, 7] * 2.0**-22
    one = block(one, up=up, down=down)
    up = up.copy()
    up[3, 1] += 2.0**-3
    return one, block(one, up=up)


def a_bias_that_a_gauge_mixes() -> Pair:
    """A fitted gauge that is nearly the identity, and a bias with one large entry."""
    one = small_checkpoint("gpt2", 2, stored="F32")
    first: Any = one.blocks[0]
    bias = first.value_bias.copy()
    bias[0, 0] = 2.0**12
    one = block(one, value_bias=bias)
    gauges = np.eye(4) + 1e-3 * np.random.default_rng(0).standard_normal((one.form.groups, 4, 4))
    two = rounded(apply(Symmetry((LayerSymmetry(values=gauges), LayerSymmetry())), one, exact=False))
    moved: Any = two.blocks[0].value_bias
    moved = moved.copy()
    moved[0, 2] += 2.0**-9
    return one, block(two, value_bias=moved)


def a_bias_that_an_exact_rotation_turns() -> Pair:
    """One entry of it is large, and reaches four others."""
    one = small_checkpoint("gpt2", 1, tied=False, stored="F32")
    first: Any = one.blocks[0]
    bias = first.output_bias.copy()
    bias[2] = 2.0**12
    one = block(one, output_bias=bias)
    two = rounded(apply(random_symmetry(one, ("stream", "gains"), 3), one))
    turned: Any = two.blocks[0].output_bias
    turned = turned.copy()
    turned[int(np.abs(turned).argmin())] += 3 * 2.0**-11
    return one, block(two, output_bias=turned)


def a_row_beside_a_large_one(stored: Any) -> Pair:
    """What positions may have lost to the embedding is told by all rows, not by how large one of them is."""
    one = small_checkpoint("gpt2", 1, tied=False, stored=stored)
    outer: Any = one.outer
    positions, embedding = outer.positions.copy(), outer.embedding.copy()
    positions[5, 3] = 2.0**22
    embedding[7, 3] += 2.0**-5
    return ends(one, positions=positions), ends(one, positions=positions, embedding=embedding)


def a_tied_gain_that_a_rotation_mixes() -> Pair:
    """The unembedding turns with the embedding, but its norm has other gains for each coordinate."""
    one = small_checkpoint("llama", 1, tied=False, stored="F32")
    one = ends(one, unembedding=one.outer.embedding)
    ones = np.ones(16)
    turn = random_rotation(np.random.default_rng(1), 16, centred=False)
    folded = LayerSymmetry(gain1=ones, gain2=ones)
    two = rounded(apply(Symmetry((folded, folded), rotation=turn, final_gain=ones), one))

    def tied(each: MadeCheckpoint, gain: Any) -> MadeCheckpoint:
        return ends(replace(each, form=replace(each.form, tied=True)), unembedding=None, final_gain=gain)

    gain = one.outer.final_gain
    return tied(one, gain), tied(two, np.roll(gain, 1))


def pairs() -> Iterator[tuple[str, Callable[[], Pair]]]:
    for name in ("query", "key", "value", "up"):
        for by in (0.125, 3.0):
            yield (
                f"{name} moved by {by}",
                lambda name=name, by=by: a_constant_on_a_reader(name, by),  # type: ignore[misc]
            )
    for family in ("llama", "gpt2"):
        yield f"a column, {family}", lambda family=family: a_column_of_the_unembedding(family)  # type: ignore[misc]
        for power in (4, 8, 20):
            yield (
                f"a gain of 0, {family}, {power}",
                lambda family=family, power=power: a_gain_that_became_zero(family, power),  # type: ignore[misc]
            )
        yield f"an entry, {family}", lambda family=family: an_entry_beside_its_row_and_column(family)  # type: ignore[misc]
    yield "an entry beside a gain", an_entry_beside_a_gain
    yield "a bias in a gauge", a_bias_that_a_gauge_mixes
    yield "a bias in a rotation", a_bias_that_an_exact_rotation_turns
    yield "a row beside a large one", lambda: a_row_beside_a_large_one("F32")
    yield "a tied gain in a rotation", a_tied_gain_that_a_rotation_mixes


PAIRS = dict(pairs())


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_no_rounding_is_different_and_named(name: str) -> None:
    pair = PAIRS[name]()
    for first, second in (pair, pair[::-1]):
        found = same_checkpoints(first, second)
        assert found.answer is CheckpointAnswer.DIFFERENT, str(found)
        assert any(each.units > found.limit for each in found.residuals), "no tensor is named"
