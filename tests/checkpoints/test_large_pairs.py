"""Large pairs: other machines look at layers, though one of them dies; logits only where they are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dask_cluster import cluster

from lightning_sym import apply, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.atlas.workers import spread_over
from lightning_sym.checkpoints import same_checkpoints as large
from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint


def test_a_worker_that_dies_costs_its_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightning_sym.atlas.workers._PATIENCE", 1.0)
    one = small_checkpoint("llama", layers=6, inner=6, tied=False)
    save_checkpoint(one, tmp_path / "model")
    save_checkpoint(apply(random_symmetry(one, seed=3), one), tmp_path / "other", "F64")
    pair = open_checkpoint(tmp_path / "model"), open_checkpoint(tmp_path / "other")
    here, told = same_checkpoints(*pair), list[str]()
    begun = tmp_path / "begun"
    with cluster(tmp_path) as there:

        def progress(stage: str, done: int, total: int) -> None:
            told.append(stage)
            if stage == "layer 0":
                there.workers[0].kill()

        found = same_checkpoints(*pair, scheduler=there.address, progress=progress)
        assert (str(found), found.symmetry) == (str(here), here.symmetry)
        assert [stage for stage in told if stage.startswith("layer")] == [f"layer {number}" for number in range(6)]

        def ended_once(number: int) -> int:
            if number == 2 and not begun.exists():
                begun.touch()
                os._exit(1)
            return 10 * number

        assert there.workers[1].poll() is None
        with pytest.raises(BadInput, match="must be left to work"), spread_over(there.address) as spread:
            list(spread(ended_once, range(4)))  # nobody is left
        assert begun.exists()


def test_logits_of_large_ones_are_bounded_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small_checkpoint("llama", layers=1, tied=False, stored="F32")
    form = canonical_checkpoint(one).checkpoint
    assert same_checkpoints(one, form).logits is not None
    monkeypatch.setattr(large, "LOGITS", 3000)
    found = same_checkpoints(one, form)
    assert (found.answer, found.logits) == (CheckpointAnswer.ROUNDING, None)
    assert found.tried[0].startswith("logits: of more than 3,000 numbers they are bounded where token ids are given")
    asked = same_checkpoints(one, form, ids=[1, 2])
    assert asked.logits is not None
    other = same_checkpoints(one, small_checkpoint("llama", 1, layers=1, tied=False), work=0.01)
    assert other.answer is CheckpointAnswer.DIFFERENT
    assert other.logits is not None
