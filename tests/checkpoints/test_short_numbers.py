"""Turns and scales that lie near short numbers: they are taken for those only where this explains what there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from changed_checkpoints import rounded

from lightning_sym import same_checkpoints
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.testing import small_checkpoint


@pytest.mark.parametrize("seed", [5, 12, 25, 127])
def test_turns_near_short_ones_are_fitted(seed: int) -> None:
    one = small_checkpoint("qwen2", seed, layers=1, heads=2, groups=1, stored="BF16")
    angles = np.random.default_rng(seed).uniform(0, 6, (1, 2))
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    two = rounded(apply(Symmetry((LayerSymmetry(turns=turns),)), one, exact=False), "BF16")
    assert same_checkpoints(one, two).answer is CheckpointAnswer.ROUNDING


@pytest.mark.parametrize("windows", [(4, None), (None, 4), (5, 6)])
def test_windows_beyond_the_prompt_are_told_apart(windows: tuple[int | None, int | None]) -> None:
    one = small_checkpoint("mistral", 1)
    first, second = (replace(one, form=replace(one.form, window=each)) for each in windows)
    assert same_checkpoints(first, second).answer is CheckpointAnswer.DIFFERENT
