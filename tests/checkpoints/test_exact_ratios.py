"""An exact pair is the same, whatever its numbers are: thirds among binary ones, ratios of long stored numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from test_found_symmetries import require_made

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.nice_numbers import nice
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint

THIRD = Fraction(1, 3)
TURNS = ((THIRD, 0), (Fraction(3, 5), Fraction(4, 5)), (Fraction(5, 3), 0), (0, -THIRD), (1, 0), (Fraction(1, 105), 0))
LONG = (Fraction(1025, 3), 0)


def multiples(one: MadeCheckpoint, of: int) -> MadeCheckpoint:
    """The checkpoint with short numbers that can be divided."""

    def cut(pieces: Any) -> Any:
        found = {}
        for name, array in pieces.present():
            short = (np.rint(np.asarray(array, np.float64) * 4) * of / 256).astype(np.float32)
            found[name] = np.ones_like(array) if name.endswith("gain") else short
        return replace(pieces, **found)

    return replace(one, outer=cut(one.outer), blocks=tuple(map(cut, one.blocks)))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_turns_by_fractions(family: str, seed: int, stored: bool) -> None:
    one, random = multiples(small_checkpoint(family, seed), 105), np.random.default_rng(seed)
    shape, pool = (one.form.groups, one.form.head_width // 2), TURNS if stored else (*TURNS, LONG)

    def layer() -> LayerSymmetry:
        turns = [[pool[i] for i in row] for row in random.integers(len(pool), size=shape)]
        return LayerSymmetry(turns=np.vectorize(Fraction, otypes=[object])(np.array(turns, dtype=object)))

    exact = apply(Symmetry((layer(), layer())), one)
    two = rounded(exact) if stored else exact
    for name, array in exact.block(0).present():
        assert (np.asarray(array) == getattr(two.block(0), name)).all()
    require_made(one, two)
    require_made(two, one)


def scales(random: np.random.Generator, *shape: int) -> Any:
    """Odd numbers of sixteen bits."""
    return np.ldexp(random.integers(2**14, 2**15, size=shape) * 2.0 + 1, -24)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_scales_that_changed_places(family: str, seed: int) -> None:
    """Short numbers times long scales, as they come out of quantized files: the gauge is the ratio of two scales."""
    one, random = small_checkpoint(family, seed), np.random.default_rng(seed)
    form, block = one.form, one.blocks[1]
    share, a = form.heads // form.groups, form.head_width

    def short(array: Any) -> Any:
        return np.rint(np.asarray(array, np.float64) * 40)

    pairs = []
    sizes = {name: (scales(random, *shape), scales(random, *shape)) for name, shape in {
        "ups": (form.inner,), "scores": (form.groups, a if form.theta is None else a // 2), "values": (form.groups, a)
    }.items()}  # fmt: skip
    for first, second in ((0, 1), (1, 0)):
        ups, scores, values = ((both[first], both[second]) for both in sizes.values())
        scores = tuple(x if form.theta is None else np.tile(x, 2) for x in scores)  # type: ignore[assignment]
        parts = {
            "query": short(block.query) * scores[0].repeat(share, 0)[..., None],
            "key": short(block.key) * scores[1][..., None],
            "value": short(block.value) * values[0][..., None],
            "output": short(block.output) * values[1].repeat(share, 0)[:, None, :],
        }
        if block.gate is not None:
            parts |= {"up": short(block.up) * ups[0][:, None], "down": short(block.down) * ups[1]}
        for name in ("query_bias", "key_bias", "value_bias"):
            if getattr(block, name) is not None:
                parts[name] = 0 * getattr(block, name)
        for name, array in parts.items():
            assert (array.astype(np.float32) == array).all(), name
        parts |= {f"norm{number}_bias": 0 * block.norm1_gain for number in (1, 2)} if form.norm == "layer" else {}
        pairs.append(changed(one, 1, **{name: array.astype(np.float32) for name, array in parts.items()}))
    require_made(*pairs)
    require_made(*pairs[::-1])
    wrong = np.array(pairs[1].blocks[1].value)
    wrong[0, 1, 2] = np.nextafter(wrong[0, 1, 2], np.float32(9))
    assert same_checkpoints(pairs[0], changed(pairs[1], 1, value=wrong)).answer is CheckpointAnswer.ROUNDING


@pytest.mark.parametrize("noise", [0, 1e-15, 1e-12])
def test_the_simplest_numbers_are_found(noise: float) -> None:
    numbers = [
        Fraction(1, 3),
        Fraction(5, 7),
        Fraction(-3, 1024),
        Fraction(2**20 + 1, 2**20),
        Fraction(40),
        Fraction(0),
    ]
    random = np.random.default_rng(0)
    array = np.array([float(x) for x in numbers]) * (1 + noise * random.uniform(-1, 1, size=len(numbers)))
    found = nice(array, apiece=True)
    assert found is not None
    low = np.broadcast_to(found.denominator, array.shape)
    assert [Fraction(int(x), int(y)) for x, y in zip(found.numerators, low, strict=True)] == numbers


def test_numbers_by_chance_are_not_simple() -> None:
    random = np.random.default_rng(0)
    assert sum(nice(random.standard_normal(1), apiece=True) is not None for _ in range(400)) < 4
    assert all(nice(random.standard_normal(2), apiece=True) is None for _ in range(400))
