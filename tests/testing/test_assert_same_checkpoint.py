"""A conversion in somebody's tests: it passes where the function stayed, and names the tensor where it did not."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from lightning_sym import apply, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.errors import BadInput
from lightning_sym.testing import Mismatch, NotDecided, assert_same_checkpoint, small_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def model() -> MadeCheckpoint:
    return small_checkpoint("llama", layers=2)


@pytest.fixture(scope="module")
def folders(model: MadeCheckpoint, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The model, and itself rounded to bfloat16."""
    places = [tmp_path_factory.mktemp(name) for name in ("model", "rounded")]
    save_checkpoint(model, places[0])
    save_checkpoint(model, places[1], stored="BF16")
    return places


def changed(model: MadeCheckpoint, layer: int, **pieces: Any) -> MadeCheckpoint:
    blocks = list(model.blocks)
    blocks[layer] = replace(blocks[layer], **pieces)
    return replace(model, blocks=tuple(blocks))


def test_a_rewriting_passes_and_says_what_was_done(model: MadeCheckpoint) -> None:
    found = assert_same_checkpoint(model, apply(random_symmetry(model, seed=3), model))
    assert found.answer is CheckpointAnswer.SAME
    assert found.symmetry is not None


def test_another_function_fails_with_the_tensor(model: MadeCheckpoint) -> None:
    wrong = changed(model, 1, key=model.block(1).key[::-1])
    with pytest.raises(Mismatch, match=r"(?s)compute different functions\n.*unexplained  1\.key") as failure:
        assert_same_checkpoint(model, wrong, rounding="bf16")
    assert len(str(failure.value).splitlines()) < 25


def test_rounding_is_an_error_unless_it_is_allowed(folders: list[Path]) -> None:
    with pytest.raises(Mismatch, match=r"must compute the same function exactly\n(?s:.*)units in the last place"):
        assert_same_checkpoint(*folders)
    for allowed in ("bf16", "BF16"):
        assert assert_same_checkpoint(*folders, rounding=allowed).answer is CheckpointAnswer.ROUNDING
    for finer in ("f16", "f32"):
        with pytest.raises(Mismatch, match=f"up to rounding to '{finer}' or finer"):
            assert_same_checkpoint(*folders, rounding=finer)


def test_fewer_units_can_be_asked_for(folders: list[Path]) -> None:
    with pytest.raises((Mismatch, NotDecided)):
        assert_same_checkpoint(*folders, rounding="bf16", units=0.25)


def test_what_is_not_decided_is_no_mismatch(model: MadeCheckpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = replace(same_checkpoints(model, model), answer=CheckpointAnswer.UNDECIDED)
    monkeypatch.setattr("lightning_sym.testing.checkpoints.same_checkpoints", lambda *_, **__: undecided)
    with pytest.raises(NotDecided, match="undecided whether"):
        assert_same_checkpoint(model, model)


@pytest.mark.parametrize("rounding", ["int8", "", 16, ["bf16"]])
def test_a_type_that_is_none_is_bad_input(model: MadeCheckpoint, rounding: Any) -> None:
    with pytest.raises(BadInput, match="rounding must be one of bf16, f16, f32, f64 or None"):
        assert_same_checkpoint(model, model, rounding=rounding)


def test_folders_are_opened(folders: list[Path]) -> None:
    found = assert_same_checkpoint(str(folders[0]), open_checkpoint(folders[0]))
    assert np.isclose(found.units, 0)


@pytest.mark.parametrize(
    ("second", "exact", "code"),
    [("rewritten", "", 0), ("rounded", "", 0), ("rounded", "yes", 1), ("forgotten_bias", "", 1)],
)
def test_the_action_for_other_peoples_ci_compares(second: str, exact: str, code: int) -> None:
    action = yaml.safe_load((EXAMPLES / "ci" / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][-1]
    places = {name: str(EXAMPLES / "checkpoints" / folder) for name, folder in (("FIRST", "model"), ("SECOND", second))}
    assert step["env"].keys() == {*places, "EXACT"}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **places, "EXACT": exact, "PATH": path}
    run = subprocess.run([step["shell"], "-c", step["run"]], env=environment, capture_output=True, check=False)
    assert run.returncode == code, run.stderr


def test_the_entry_for_pre_commit_is_a_command() -> None:
    (entry,) = yaml.safe_load((EXAMPLES / "ci" / "pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    (hook,) = entry["hooks"]
    program, *words = hook["entry"].split()
    run = subprocess.run(
        [Path(sys.executable).with_name(program), *words],
        cwd=EXAMPLES / "checkpoints",
        capture_output=True,
        check=False,
    )
    assert run.returncode == 2
    assert b"converted" in run.stderr
    assert hook["additional_dependencies"] == ["lightning-sym[checkpoints,gguf]"]


def test_layouts_that_names_do_not_show(model: MadeCheckpoint, tmp_path: Path) -> None:
    save_checkpoint(model, tmp_path / "trained", layout="megatron")
    assert assert_same_checkpoint(model, tmp_path / "trained", layouts=(None, "megatron")).answer.value == "same"
    with pytest.raises(BadInput, match="the layout"):
        assert_same_checkpoint(model, tmp_path / "trained", layouts=(None, "meta"))
    with pytest.raises(BadInput, match=r"^a layout must go with a folder or a file, got 'hf' with a checkpoint$"):
        assert_same_checkpoint(model, model, layouts=("hf", None))
