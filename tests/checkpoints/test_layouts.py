"""Layouts: each writes what its program means, reads it back byte for byte, and refuses the rest by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from test_reading_checkpoints import arrays, assert_equal

from lightning_sym import BadInput, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.gguf_file import read_gguf
from lightning_sym.checkpoints.layouts import LAYOUTS
from lightning_sym.checkpoints.stored_types import WrittenTensor
from lightning_sym.checkpoints.torch_file import read_torch_file, write_torch
from lightning_sym.testing import small_checkpoint

PAIRS = [(family, layout) for family in FAMILIES for layout, row in LAYOUTS.items() if row.spellings(FAMILIES[family])]
H, G, A, D = 4, 2, 4, 16
LAYER, BEFORE = "model.layers.1.", "decoder.layers.1."


def target(folder: Path, layout: str) -> Path:
    return folder / (f"{layout}.gguf" if layout == "gguf" else layout)


def written(folder: Path, layout: str, family: str = "llama", **more: Any) -> tuple[Any, dict[str, Any]]:
    """A small checkpoint, and the tensors that a layout makes of it."""
    made = small_checkpoint(family, **more)
    save_checkpoint(made, target(folder, layout), layout=layout)
    if layout == "meta":
        found = read_torch_file(folder / "meta" / "consolidated.00.pth")
        return made, {name: np.array(tensor.read()) for name, tensor in found.items()}
    return made, load_file(folder / layout / "model.safetensors")


CANNOT_SAY = {
    ("smollm3", "gguf", "BF16"): "smollm3 in GGUF files must have unturned = null",
    ("smollm3", "gguf", "F32"): "smollm3 in GGUF files must have unturned = null",
    ("gemma", "gguf", "F32"): "numbers must be of the type F32",  # 1 + w, where folders have w
}
CANNOT_SAY |= {(family, "gguf", "F32"): CANNOT_SAY["gemma", "gguf", "F32"] for family in ("gemma2", "gemma3_text")}
"""What a layout cannot hold exactly, and is refused."""

IMPLIED: dict[str, dict[str, Any]] = {
    "qwen3_moe": {"norm_topk_prob": True}, "gemma2": {"query_pre_attn_scalar": 6},
    "gemma3_text": {"query_pre_attn_scalar": 6},
}  # fmt: skip
"""By family, what its GGUF files mean without saying so, and folders may say otherwise."""


@pytest.mark.parametrize("family", IMPLIED)
def test_what_a_gguf_file_leaves_unsaid_is_refused_where_it_is_otherwise(family: str, tmp_path: Path) -> None:
    said = "normed_choice = true" if family == "qwen3_moe" else "score_width = null, got 256"
    with pytest.raises(BadInput, match=said):
        save_checkpoint(small_checkpoint(family), tmp_path / "new.gguf", layout="gguf")


def test_experts_of_a_gguf_file_are_one_tensor(tmp_path: Path) -> None:
    """Each with the expert first, `down` with its columns; in folders each expert has tensors of its own."""
    made = small_checkpoint("mixtral", inner=8, stored="F32")
    save_checkpoint(made, tmp_path / "new.gguf", layout="gguf", rounded=True)
    found, block = read_gguf(tmp_path / "new.gguf").tensors, made.block(1)
    assert block.gate is not None
    assert np.array_equal(found["blk.1.ffn_gate_exps.weight"].read(), block.gate.reshape(3, 8, D))
    down = np.stack([block.down[:, 8 * expert : 8 * expert + 8] for expert in range(3)])
    assert np.array_equal(found["blk.1.ffn_down_exps.weight"].read(), down)
    save_checkpoint(made, tmp_path / "folder")
    apart = load_file(tmp_path / "folder" / "model.safetensors")
    assert np.array_equal(apart["model.layers.1.block_sparse_moe.experts.2.w2.weight"], down[2])
    assert np.array_equal(apart["model.layers.1.block_sparse_moe.experts.1.w3.weight"], block.up[8:16])
    assert open_checkpoint(tmp_path / "new.gguf").form.family == "mixtral"


@pytest.mark.parametrize(("family", "layout", "stored"), CANNOT_SAY)
def test_what_a_layout_cannot_hold_is_refused(family: str, layout: str, stored: Any, tmp_path: Path) -> None:
    made = small_checkpoint(family, stored=stored, tied=False, head_width=6, config=IMPLIED.get(family))
    with pytest.raises(BadInput, match=CANNOT_SAY[family, layout, stored]):
        save_checkpoint(made, target(tmp_path, layout), layout=layout)
    assert not any(tmp_path.iterdir())


ROUND_TRIPS = [(*pair, stored) for pair in PAIRS for stored in ("BF16", "F32") if (*pair, stored) not in CANNOT_SAY]


@pytest.mark.parametrize(("family", "layout", "stored"), ROUND_TRIPS)
def test_there_and_back_byte_for_byte(family: str, layout: str, stored: Any, tmp_path: Path) -> None:
    for tied in (False, True) if stored == "BF16" else (False,):
        folder = tmp_path / str(tied)
        folder.mkdir()
        made = small_checkpoint(family, stored=stored, tied=tied, head_width=6, config=IMPLIED.get(family))
        save_checkpoint(made, folder / "one")
        save_checkpoint(open_checkpoint(folder / "one"), target(folder, layout), layout=layout)
        there = open_checkpoint(target(folder, layout))
        assert there.layout == layout or (layout == "mlx" and family != "gpt2")  # whose names are those of hf
        again = None if layout != "gguf" else stored  # there vectors are float32, which the type holds
        save_checkpoint(there, folder / "two", stored=again)
        one, two = ((folder / name / "model.safetensors").read_bytes() for name in ("one", "two"))
        assert one == two


def by_group(block: Any) -> Any:
    """Queries, key and value of each group, one group after the other."""
    share = H // G
    rows = [
        part
        for group in range(G)
        for part in (*block.query[share * group : share * (group + 1)], block.key[group], block.value[group])
    ]
    return np.concatenate(rows)


def halves_mixed(heads: Any) -> Any:
    """Rows of each head: first of the first half, first of the second half, and so on."""
    return np.concatenate([np.stack([head[: A // 2], head[A // 2 :]], axis=1).reshape(A, D) for head in heads])


def test_fused_names(tmp_path: Path) -> None:
    made, found = written(tmp_path, "fused")
    block = made.block(1)
    flat = [part.reshape(-1, D) for part in (block.query, block.key, block.value)]
    assert np.array_equal(found[f"{LAYER}self_attn.qkv_proj.weight"], np.concatenate(flat))
    assert np.array_equal(found[f"{LAYER}mlp.gate_up_proj.weight"], np.concatenate([block.gate, block.up]))
    assert len(found) == 3 + 2 * 6
    made, found = written(tmp_path, "fused-by-group")
    assert np.array_equal(found[f"{LAYER}self_attn.query_key_value.weight"], by_group(made.block(1)))


def test_megatron(tmp_path: Path) -> None:
    made, found = written(tmp_path, "megatron")
    block = made.block(1)
    assert np.array_equal(found[f"{BEFORE}self_attention.linear_qkv.weight"], by_group(block))
    assert np.array_equal(found[f"{BEFORE}mlp.linear_fc1.weight"], np.concatenate([block.gate, block.up]))
    assert np.array_equal(found[f"{BEFORE}mlp.linear_fc1.layer_norm_weight"], block.norm2_gain)
    assert np.array_equal(found[f"{BEFORE}self_attention.linear_proj.weight"], np.concatenate(block.output, axis=1))
    assert np.array_equal(found["output_layer.weight"], made.ends().unembedding)
    made, found = written(tmp_path, "megatron-legacy", "gpt2")
    before = "language_model.encoder.layers.1."
    assert np.array_equal(found[f"{before}mlp.dense_h_to_4h.bias"], made.block(1).up_bias)
    one = made.block(1)
    heads = [part for head in range(H) for part in (one.query[head], one.key[head], one.value[head])]
    assert np.array_equal(found[f"{before}self_attention.query_key_value.weight"], np.concatenate(heads))
    assert np.array_equal(found["language_model.embedding.position_embeddings.weight"], made.ends().positions)


def test_both_spellings_of_megatron_are_read(tmp_path: Path) -> None:
    for layout, pairs in {
        "megatron": {"self_attention.linear_qkv.layer_norm_": "input_layernorm.",
                     "mlp.linear_fc1.layer_norm_": "pre_mlp_layernorm."},
        "megatron-legacy": {"input_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm",
                            "final_norm": "final_layernorm"},
    }.items():  # fmt: skip
        made, found = written(tmp_path, layout)
        renamed = {}
        for name, array in found.items():
            for old, new in pairs.items():
                name = name.replace(old, new)
            renamed[name] = array
        assert renamed.keys() != found.keys()
        save_file(renamed, tmp_path / layout / "model.safetensors")
        assert_equal(made, open_checkpoint(tmp_path / layout))


def test_mlx_turns_what_gpt2_stores_turned(tmp_path: Path) -> None:
    made, found = written(tmp_path, "mlx", "gpt2", tied=True)
    assert np.array_equal(found["model.h.1.mlp.c_fc.weight"], made.block(1).up)
    assert found["model.h.1.attn.c_attn.weight"].shape == (3 * D, D)


def test_meta(tmp_path: Path) -> None:
    made, found = written(tmp_path, "meta")
    block = made.block(1)
    assert np.array_equal(found["layers.1.attention.wq.weight"], halves_mixed(block.query))
    assert np.array_equal(found["layers.1.attention.wk.weight"], halves_mixed(block.key))
    assert np.array_equal(found["layers.1.attention.wv.weight"], np.concatenate(block.value))
    assert np.array_equal(found["layers.1.feed_forward.w3.weight"], block.up)
    params = json.loads((tmp_path / "meta" / "params.json").read_text(encoding="utf-8"))
    assert params == {
        "dim": D, "hidden_dim": 24, "n_heads": H, "n_kv_heads": G, "n_layers": 2, "norm_eps": 1e-5,
        "rope_theta": 10000.0, "vocab_size": 40,
    }  # fmt: skip
    assert open_checkpoint(tmp_path / "meta").form.context == 2048  # as nothing is said


def test_params_as_meta_writes_them(tmp_path: Path) -> None:
    made, _ = written(tmp_path, "meta")
    path = tmp_path / "meta" / "params.json"
    plain = {"dim": D, "n_heads": H, "n_kv_heads": G, "n_layers": 2, "norm_eps": 1e-5, "multiple_of": 256}
    path.write_text(json.dumps(plain | {"vocab_size": -1, "ffn_dim_multiplier": 1.3}), encoding="utf-8")
    read = open_checkpoint(tmp_path / "meta")
    assert (read.form.inner, read.form.vocabulary) == (24, 40)
    assert same_checkpoints(made, read).answer.value == "same"
    for more, said in (({"use_scaled_rope": True}, "use_scaled_rope must be false"), ({"moe": 1}, "got 'moe' = 1")):
        path.write_text(json.dumps(plain | more), encoding="utf-8")
        with pytest.raises(BadInput, match=said):
            open_checkpoint(tmp_path / "meta")


def test_frequencies_in_metas_files_say_nothing(tmp_path: Path) -> None:
    made, found = written(tmp_path, "meta")
    found["rope.freqs"] = np.zeros(2, np.float32)
    tensors = [WrittenTensor(name, "F32", array.shape) for name, array in found.items()]
    with (tmp_path / "meta" / "consolidated.00.pth").open("wb") as stream:
        write_torch(stream, tensors, iter(list(found.values())), "consolidated")
    assert np.array_equal(open_checkpoint(tmp_path / "meta").block(1).query, made.block(1).query)


@pytest.mark.parametrize("axis", [0, 1])
def test_shards_of_meta(axis: int, tmp_path: Path) -> None:
    made, whole = written(tmp_path, "meta")
    path = tmp_path / "meta" / "params.json"
    params = json.loads(path.read_text(encoding="utf-8")) | {"vocab_size": -1}
    del params["hidden_dim"]
    path.write_text(json.dumps(params), encoding="utf-8")
    axes = {"wo": 1, "w2": 1, "tok_embeddings": axis}  # newer files split the embedding by rows, older ones by columns
    for number in range(2):
        parts = {
            name: array if array.ndim == 1 else np.split(array, 2, axes.get(name.split(".")[-2], 0))[number]
            for name, array in whole.items()
        }
        with (tmp_path / "meta" / f"consolidated.{number:02}.pth").open("wb") as stream:
            tensors = [WrittenTensor(name, "F32", part.shape) for name, part in parts.items()]
            write_torch(stream, tensors, iter(list(parts.values())), "consolidated")
    assert_equal(replace(made, form=replace(made.form, context=2048)), open_checkpoint(tmp_path / "meta"))


def test_a_wrong_order_is_seen(tmp_path: Path) -> None:
    made, _ = written(tmp_path, "fused")
    assert same_checkpoints(made, open_checkpoint(tmp_path / "fused")).answer.value == "same"
    wrong = open_checkpoint(tmp_path / "fused", layout="fused-by-group")
    assert not np.array_equal(wrong.block(1).key, made.block(1).key)
    assert np.array_equal(wrong.block(1).up, made.block(1).up)
    assert same_checkpoints(made, wrong).answer.value == "different"


@pytest.mark.parametrize("layout", ["megatron", "megatron-legacy"])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_shards_are_joined(family: str, layout: str, tmp_path: Path) -> None:
    made, whole = written(tmp_path, layout, family)
    folder = tmp_path / layout
    (folder / "model.safetensors").unlink()
    halves: list[dict[str, Any]] = [{}, {}]
    for name, array in whole.items():
        split = "norm" not in name and "position" not in name
        split &= name.split(".")[-2] not in ("linear_proj", "linear_fc2", "dense", "dense_4h_to_h") or array.ndim == 2
        parts = [array, array]
        if split and name.split(".")[-2] in ("linear_proj", "linear_fc2", "dense", "dense_4h_to_h"):
            parts = np.split(array, 2, axis=1)
        elif split and name.split(".")[-2] in ("linear_fc1", "dense_h_to_4h") and family == "llama":
            gate, up = np.split(array, 2)
            parts = [np.concatenate(pair) for pair in zip(np.split(gate, 2), np.split(up, 2), strict=True)]
        elif split:
            parts = np.split(array, 2)
        for half, part in zip(halves, parts, strict=True):
            half[f"model.{name}"] = np.ascontiguousarray(part)
    for number, half in enumerate(halves):
        (folder / f"mp_rank_{number:02}").mkdir()
        save_file(half, folder / f"mp_rank_{number:02}" / "model.safetensors")
    assert_equal(made, open_checkpoint(folder))
    norm = next(name for name in halves[1] if "norm" in name)
    save_file(halves[1] | {norm: halves[1][norm] + 1}, folder / "mp_rank_01" / "model.safetensors")
    with pytest.raises(BadInput, match="must be the same in all shards"):
        [*arrays(open_checkpoint(folder))]
    (folder / "mp_rank_01").rename(folder / "mp_rank_02")
    with pytest.raises(BadInput, match="all shards must be there, number 1 is missing beside mp_rank_02"):
        open_checkpoint(folder)


def test_what_has_no_name_is_refused(tmp_path: Path) -> None:
    for family, layout, said in (
        ("qwen2", "meta", "qwen2 must have names in the layout, got meta; it has hf, fused"),
        ("gpt2", "fused", "gpt2 must have names in the layout, got fused"),
        ("llama", "none", "the layout must be one of hf, fused,"),
    ):
        with pytest.raises(BadInput, match=said):
            save_checkpoint(small_checkpoint(family), tmp_path / "new", layout=layout)
    with pytest.raises(BadInput, match="none is known of down_bias"):
        save_checkpoint(small_checkpoint("llama", biases=True), tmp_path / "new", layout="meta")
    with pytest.raises(BadInput, match="in GGUF files must have its pieces, they differ in"):
        save_checkpoint(small_checkpoint("llama", biases=True), tmp_path / "new.gguf", layout="gguf")
    with pytest.raises(BadInput, match="shard_size must go with safetensors"):
        save_checkpoint(small_checkpoint("llama"), tmp_path / "new", layout="meta", shard_size=1000)
    assert not list(tmp_path.iterdir())
    save_checkpoint(small_checkpoint("llama"), tmp_path / "hf")
    for layout, said in (
        ("meta", "the layout meta is one of `params.json`"),
        ("megatron", "all tensors must be there"),
    ):
        with pytest.raises(BadInput, match=said):
            open_checkpoint(tmp_path / "hf", layout=layout)
