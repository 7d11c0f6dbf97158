"""Which files a folder may have: one GGUF file, shards, torch files, and layouts asked for by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from test_layouts import A, G, halves_mixed, written
from test_reading_checkpoints import assert_equal, change_config

from lightning_sym import BadInput, open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.layouts import LAYOUTS, Files
from lightning_sym.checkpoints.stored_types import WrittenTensor
from lightning_sym.checkpoints.torch_file import write_torch
from lightning_sym.testing import small_checkpoint


def test_a_folder_with_one_gguf_file(tmp_path: Path) -> None:
    made = small_checkpoint("llama")
    save_checkpoint(made, tmp_path / "a.gguf", layout="gguf")
    assert np.array_equal(open_checkpoint(tmp_path).block(1).query, made.block(1).query)
    save_checkpoint(made, tmp_path / "b.gguf", layout="gguf")
    with pytest.raises(BadInput, match=r"there must be one \.gguf file in a folder without config\.json, got 2"):
        open_checkpoint(tmp_path)


def test_gguf_files_say_what_the_packages_reader_reads(tmp_path: Path) -> None:
    import gguf

    made = small_checkpoint("llama", stored="F16")
    save_checkpoint(made, tmp_path / "a.gguf", layout="gguf")
    reader = gguf.GGUFReader(tmp_path / "a.gguf")
    values = {name: field.contents() for name, field in reader.fields.items()}
    assert (values["general.architecture"], values["llama.attention.head_count_kv"]) == ("llama", G)
    assert values["llama.rope.dimension_count"] == values["llama.attention.key_length"] == A
    assert np.float32(values["llama.attention.layer_norm_rms_epsilon"]) == np.float32(1e-5)
    found = {tensor.name: tensor for tensor in reader.tensors}
    assert np.array_equal(found["blk.1.attn_k.weight"].data, halves_mixed(made.block(1).key))
    assert found["blk.1.attn_norm.weight"].data.dtype == np.float32


def test_every_layout_of_folders_can_be_asked_for_by_name(tmp_path: Path) -> None:
    for layout, row in LAYOUTS.items():
        if row.files is Files.FOLDER:
            made, _ = written(tmp_path, layout)
            assert_equal(made, open_checkpoint(tmp_path / layout, layout=layout))
    change_config(tmp_path / "fused", num_hidden_layers=100)
    with pytest.raises(BadInput, match="there must be 100 layers"):
        open_checkpoint(tmp_path / "fused")


def test_pytorch_model_bin_whole_and_in_several_files(tmp_path: Path) -> None:
    made = small_checkpoint("qwen2")
    save_checkpoint(made, tmp_path)
    arrays = list(load_file(tmp_path / "model.safetensors").items())
    (tmp_path / "model.safetensors").unlink()
    index: dict[str, str] = {}
    for number, part in enumerate((arrays, arrays[::2], arrays[1::2])):
        tensors = [WrittenTensor(name, "F32", array.shape) for name, array in part]
        file = f"pytorch_model-{number}.bin" if number else "pytorch_model.bin"
        with (tmp_path / file).open("wb") as stream:
            write_torch(stream, tensors, iter([array for _, array in part]), "archive")
        index |= {name: file for name, _ in part}
    assert_equal(made, open_checkpoint(tmp_path))
    (tmp_path / "pytorch_model.bin").unlink()
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": index}), encoding="utf-8")
    assert_equal(made, open_checkpoint(tmp_path))
