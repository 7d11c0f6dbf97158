"""`convert`: another layout, exactly; and `same`, `circuits`, `apply` look through layouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run

from lightning_cli.options import LAYOUTS
from lightning_sym import LayerSymmetry, Symmetry, open_checkpoint, save_checkpoint, save_symmetry
from lightning_sym.checkpoints import layouts
from lightning_sym.testing import small_checkpoint


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    save_checkpoint(small_checkpoint("llama", stored="BF16"), "model")
    return "model"


def test_the_option_has_all_layouts() -> None:
    assert tuple(layouts.LAYOUTS) == LAYOUTS


@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_and_back(layout: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = "there.gguf" if layout == "gguf" else "there"
    code, said, err = run(capsys, "convert", model, "--layout", layout, "-o", out)
    assert (code, err) == (0, "")
    rounded = "rounded     epsilon of the norms, to float32\n" * (layout == "gguf")
    assert said == f"{open_checkpoint(out, layout=layout)}\n{rounded}"
    assert run(capsys, "same", model, out)[0] == 0
    words = ("--from", layout, "--layout", "hf", "-o", "back", "--stored", "BF16", "--json")
    document = json.loads(run(capsys, "convert", out, *words)[1])
    assert (document["layout"], document["rounded"]) == ("hf", [])
    assert Path("back/model.safetensors").read_bytes() == Path("model/model.safetensors").read_bytes()


def test_layouts_that_names_do_not_show(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "convert", model, "--layout", "fused", "-o", "fused")[0] == 0
    assert run(capsys, "same", model, "fused", "--json")[0] == 0
    code, out, _ = run(capsys, "same", model, "fused", "--layout-b", "fused-by-group", "--json")
    assert (code, json.loads(out)["answer"]) == (1, "different")
    code, out, _ = run(capsys, "same", "fused", model, "--layout-a", "fused-by-group", "--json")
    assert (code, json.loads(out)["answer"]) == (1, "different")
    prints = [
        run(capsys, "circuits", "fused", "--fingerprint", *more)[1] for more in ((), ("--layout", "fused-by-group"))
    ]
    assert prints[0] != prints[1]
    save_symmetry(Symmetry((LayerSymmetry(), LayerSymmetry())), "s.json")
    assert run(capsys, "apply", "s.json", "fused", "-o", "copy", "--layout", "fused-by-group")[0] == 0
    assert run(capsys, "same", "copy", "fused", "--layout-b", "fused-by-group")[0] == 0


def test_what_is_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ((model, "--layout", "gguf", "-o", "none/a.gguf"), "there is no such folder"),
        ((model, "--layout", "gguf", "-o", "new"), "must be written into a .gguf file, got 'new'"),
        ((model, "--layout", "hf", "-o", "new.gguf"), "a folder, whose name does not end in .gguf, got 'new.gguf'"),
        ((model, "--layout", "meta", "-o", model), "must not hold other weights, got 'config.json'"),
        ((model, "--layout", "hf", "-o", model, "--shard-size", "1e-6"), "other weights, got 'model.safetensors'"),
        ((model, "--layout", "meta", "-o", "new", "--shard-size", "1"), "shard_size must go with safetensors"),
        ((model, "--layout", "hf", "--from", "megatron", "-o", "new"), "all tensors must be there"),
        (("nothing", "--layout", "hf", "-o", "new"), "nothing: it must be readable"),
    ):
        code, out, err = run(capsys, "convert", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert said in err
    assert sorted(path.name for path in Path().iterdir()) == ["model"]
