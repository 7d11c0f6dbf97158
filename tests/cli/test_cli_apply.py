"""`apply`: what `same --output` writes makes the second checkpoint of the first, in the first's types, or nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command import run
from safetensors.numpy import load_file

from lightning_sym import LayerSymmetry, Symmetry, open_checkpoint, save_checkpoint, save_symmetry
from lightning_sym.testing import small_checkpoint

ROOT = Path(__file__).parents[2]
FOLDER = "examples/checkpoints"


def assert_equal(first: str | Path, second: str | Path) -> None:
    """The same form, types and numbers; a zero may have another sign."""
    one, two = open_checkpoint(first), open_checkpoint(second)
    assert (one.form, one.types) == (two.form, two.types)
    for (name, array), (_, there) in zip(one.ends().present(), two.ends().present(), strict=True):
        assert np.array_equal(array, there), name
    for layer in range(one.form.layers):
        for (name, array), (_, there) in zip(one.block(layer).present(), two.block(layer).present(), strict=True):
            assert np.array_equal(array, there), name


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def symmetry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "symmetry.json")
    assert run(capsys, "same", f"{FOLDER}/model", f"{FOLDER}/rewritten", "--output", path)[0] == 0
    return path


def test_the_second_is_written(symmetry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "copy"
    code, out, err = run(capsys, "apply", symmetry, f"{FOLDER}/model", "-o", str(target))
    assert (code, err) == (0, "")
    assert out == f"{open_checkpoint(target)}\n"
    assert_equal(target, f"{FOLDER}/rewritten")
    assert sorted(path.name for path in target.iterdir()) == ["config.json", "model.safetensors"]


def test_several_files(symmetry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("apply", symmetry, f"{FOLDER}/model", "-o", str(tmp_path / "copy"), "--shard-size", "0.00001", "--json")
    assert json.loads(run(capsys, *words)[1])["stored"] == {"F32": 27}
    names = sorted(path.name for path in tmp_path.glob("copy/model-*"))
    assert names == [f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3)]
    index = json.loads((tmp_path / "copy" / "model.safetensors.index.json").read_text(encoding="utf-8"))
    held = {name: file.name for file in tmp_path.glob("copy/model-*") for name in load_file(file)}
    assert index["weight_map"] == held
    sizes = [sum(array.nbytes for array in load_file(tmp_path / "copy" / name).values()) for name in names]
    assert index["metadata"] == {"total_size": sum(sizes)}
    assert max(sizes) <= 0.00001 * 2**30
    assert_equal(tmp_path / "copy", f"{FOLDER}/rewritten")


def test_types_are_kept_or_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path, target = str(tmp_path / "model"), str(tmp_path / "third.json"), str(tmp_path / "copy")
    save_checkpoint(small_checkpoint("llama", stored="BF16", layers=1), model)
    ups = np.full(24, Fraction(1, 3), dtype=object)
    save_symmetry(Symmetry((LayerSymmetry(ups=ups),)), path)
    code, out, err = run(capsys, "apply", path, model, "-o", target)
    assert (code, out) == (2, "")
    assert "must be floats to be stored, got fractions" in err
    assert not Path(target).exists()
    assert run(capsys, "apply", path, model, "-o", target, "--rounded")[0] == 0
    once = str(tmp_path / "once")
    assert run(capsys, "apply", path, model, "-o", once, "--stored", "BF16")[0] == 0
    first, second = (open_checkpoint(each) for each in (target, once))
    assert (first.stored("0.up"), second.stored("0.up")) == ("BF16", "BF16")
    up = open_checkpoint(model).block(0).up
    nearest = np.array([float(Fraction(x) / 3) for x in up.ravel().tolist()]).reshape(up.shape)
    assert (np.abs(second.block(0).up - nearest) <= np.abs(nearest) * 2.0**-8).all()
    assert (second.block(0).query == open_checkpoint(model).block(0).query).all()


def test_what_is_no_symmetry_is_refused(symmetry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_checkpoint(small_checkpoint("gpt2", layers=3), tmp_path / "gpt2")
    for checkpoint, said in (
        (str(tmp_path / "gpt2"), "a symmetry must have as many layers as the network, 3, got 2"),
        ("none", "none: it must be readable"),
    ):
        code, out, err = run(capsys, "apply", symmetry, checkpoint, "-o", str(tmp_path / "copy"))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err
        assert not (tmp_path / "copy").exists()
    code, _, err = run(
        capsys, "apply", symmetry, f"{FOLDER}/model", "-o", str(tmp_path / "gpt2"), "--shard-size", "1e-5"
    )
    assert (code, "must not hold other weights, got 'model.safetensors'" in err) == (2, True)
    code, _, err = run(capsys, "apply", symmetry, f"{FOLDER}/model", "-o", symmetry)
    assert (code, "must go into a directory that can be written to" in err) == (2, True)
