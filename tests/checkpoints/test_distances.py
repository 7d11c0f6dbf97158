"""How far a fine-tune is from its base: in which tensors, by which rank, in disguise as well; and its picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded
from command import run

from lightning_sym import BadInput, apply, save_checkpoint
from lightning_sym.checkpoints.distances import Distances, checkpoint_distances, numerical_rank
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint

BASE = small_checkpoint("llama", 5, heads=8, groups=4, inner=48)


def tuned(rank: int, size: float = 0.1) -> MadeCheckpoint:
    """An update of a rank in queries and values of all layers, and one of full rank in the last `up`."""
    random, one = np.random.default_rng(0), BASE
    for layer, block in enumerate(BASE.blocks):
        for name in ("query", "value"):
            array = getattr(block, name)
            low = random.normal(size=(array.shape[0] * array.shape[1], rank)) @ random.normal(size=(rank, 32))
            one = changed(one, layer, **{name: (array + size * low.reshape(array.shape)).astype(np.float32)})
    up = BASE.blocks[1].up
    return changed(one, 1, up=(up + size * random.normal(size=up.shape)).astype(np.float32))


TUNED = tuned(2)


def told(found: Distances) -> set[tuple[int | None, str, int | None]]:
    return {(each.layer, each.piece, each.rank) for each in found.changed}


WANTED = {(n, name, 2) for n in (0, 1) for name in ("query", "value")} | {(1, "up", 32)}


def test_an_update_of_low_rank_is_told_with_its_tensors() -> None:
    found = checkpoint_distances(BASE, TUNED)
    assert told(found) == WANTED
    assert found.updates == ((2, ("*.query of all layers", "*.value of all layers")),)
    for each in found.tensors:
        held = (one.outer if each.layer is None else one.blocks[each.layer] for one in (BASE, TUNED))
        old, new = (np.asarray(getattr(one, each.piece), dtype=np.float64) for one in held)
        plain = float(np.linalg.norm(new - old) / np.linalg.norm(new))
        assert abs(each.relative - plain) <= 1e-9 * (1 + plain)
    assert "rank 2 update in *.query of all layers" in str(found)
    assert found.symmetry == "nothing"


@pytest.mark.parametrize("kinds", [("heads", "neurons", "stream"), ("stream", "heads", "gains")])
def test_a_fine_tune_in_disguise_is_as_far(kinds: tuple[str, ...]) -> None:
    """Only rounding is added: each tensor has the distance that it has from the base as it is."""
    hidden = rounded(apply(random_symmetry(BASE, kinds, 3), TUNED), "F32")
    found = checkpoint_distances(BASE, hidden)
    assert told(found) == WANTED
    assert found.symmetry != "nothing"


@pytest.mark.parametrize("rank", [1, 4])
def test_ranks_are_those_of_the_update(rank: int) -> None:
    assert {each.rank for each in checkpoint_distances(BASE, tuned(rank)).tensors if each.low} == {rank}


def test_nothing_is_far_where_all_was_rounded_or_rewritten() -> None:
    for two in (BASE, rounded(BASE, "BF16"), rounded(apply(random_symmetry(BASE, ("heads", "stream"), 2), BASE))):
        assert checkpoint_distances(BASE, two).changed == ()


def test_other_depths_are_measured_as_far_as_both_go() -> None:
    deep = small_checkpoint("llama", 5, layers=3)
    less = Edited.with_layers(deep, (0, 2))
    found = checkpoint_distances(deep, less)
    assert (found.changed, len(found.tried)) == ((), 1)
    with pytest.raises(BadInput, match="one width, vocabulary and number of heads"):
        checkpoint_distances(deep, BASE)


def test_without_work_no_rank_is_told() -> None:
    found = checkpoint_distances(BASE, TUNED, work=1e-12)
    assert {each.rank for each in found.changed} == {None}
    assert found.updates == ()
    assert numerical_rank(np.eye(3), 1.0, 4.0) == 0


def test_the_command_tells_and_draws_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, one in (("base", BASE), ("tuned", TUNED)):
        save_checkpoint(replace(one, type_stored="F32"), tmp_path / name, "F32")
    words = ("same", str(tmp_path / "base"), str(tmp_path / "tuned"))
    code, out, err = run(capsys, *words, "--distances", "--picture", str(tmp_path / "it.svg"))
    assert code == 1
    assert "rank 2 update in model.layers.*.self_attn.q_proj.weight of all layers" in " ".join(out.split())
    assert err.endswith(f"picture: {tmp_path / 'it.svg'}\n")
    drawn = (tmp_path / "it.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {said} -->" in drawn for said in ("query", "value", "up"))
    _, out, _ = run(capsys, *words, "--distances", "--json")
    found: dict[str, Any] = json.loads(out)["distances"]
    assert [each["rank"] for each in found["updates"]] == [2]
    assert {(each["layer"], each["piece"], each["rank"]) for each in found["tensors"] if each["low_rank"]} == {
        (n, name, 2) for n in (0, 1) for name in ("query", "value")
    }
    _, out, _ = run(capsys, *words, "--json")
    assert (json.loads(out)["distances"], json.loads(out)["picture"]) == (None, None)
