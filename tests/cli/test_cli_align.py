"""`canonical` of checkpoints and `align`: what is written, the symmetry that makes it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import run

from lightning_sym import apply, open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("folders")
    one = small_checkpoint("llama", layers=1, inner=6, vocabulary=20)
    save_checkpoint(one, here / "model", "BF16")
    read = open_checkpoint(here / "model")
    save_checkpoint(apply(random_symmetry(read, ["neurons", "heads", "ups", "stream"]), read), here / "other", "F64")
    return here


@pytest.fixture(autouse=True)
def _there(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders)


def test_exact_files_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("model", "other"):
        code, out, err = run(capsys, "canonical", name, "-o", f"c-{name}", "--exact", "--stored", "F64")
        assert (code, err) == (0, "")
        assert out.startswith(f"checkpoint  c-{name}\n")
        assert "\nform        orders, signs, powers of two and gains, exactly\nproof" in out
    files = [Path(f"c-{name}/model.safetensors").read_bytes() for name in ("model", "other")]
    assert files[0] == files[1]
    assert Path("c-model/config.json").read_bytes() == Path("c-other/config.json").read_bytes()
    assert json.loads(run(capsys, "same", "model", "c-other", "--json")[1])["answer"] == "same"


def test_the_symmetry_makes_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("canonical", "model", "-o", "whole", "--symmetry", "whole.json", "--json")
    told = json.loads(run(capsys, *words)[1])
    assert (told["exact"], told["stored"], told["symmetry"], told["left"]) == (False, {"F32": 12}, "whole.json", [])
    assert 0 < told["closest"] < 1
    assert run(capsys, "apply", "whole.json", "model", "-o", "again", "--rounded", "--stored", "F32")[0] == 0
    assert Path("whole/model.safetensors").read_bytes() == Path("again/model.safetensors").read_bytes()
    assert json.loads(run(capsys, "same", "model", "whole", "--json")[1])["answer"] == "rounding"


def test_align(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("align", "other", "--to", "model", "-o", "near", "--symmetry", "near.json", "--json")
    told = json.loads(run(capsys, *words)[1])
    assert (told["after"], told["symmetry"]) == (0, "near.json")
    assert told["before"] > 0.5
    assert {piece["piece"] for piece in told["pieces"]} >= {"embedding", "0.query", "0.norm1_gain"}
    near, model = (open_checkpoint(name) for name in ("near", "model"))
    assert np.array_equal(near.block(0).down, model.block(0).down)
    assert near.stored("0.down") == "F64"
    code, out, err = run(capsys, "align", "other", "--to", "model", "-o", "orders", "--orders")
    assert (code, err) == (0, "")
    assert "numbers     as they were, moved, perhaps with other signs\n" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("canonical", "model"), "-o must name a folder for the checkpoint that is written"),
        (("canonical", "model", "-o", "x", "--hash"), "--hash must go with a file of weights, got a checkpoint"),
        (("canonical", "model", "-o", "x", "--tokens", "3"), "--tokens must go with a file of weights, got"),
        (
            ("canonical", "w.json", "--exact"),
            "--exact must go with a checkpoint (folder, .gguf), got a file of weights",
        ),
        (("canonical", "w.json", "-o", "x.txt"), "weights must be written to .json, .npz or .safetensors, got 'x.txt'"),
        (("canonical", "nothing"), "nothing: there is no such file or folder"),
        (("align", "model", "--to", "small", "-o", "x"), "the first must be like the second: no symmetry is known"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_refused(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.json").write_text("{}")
    if not Path("small").exists():
        save_checkpoint(small_checkpoint("llama", layers=2, vocabulary=20, inner=6), "small")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}"), err
    assert not Path("x").exists()
