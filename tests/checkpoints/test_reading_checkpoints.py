"""What is read is what was written, in every family, type and number of files; and computes what the names say."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_checkpoints import gpt2_logits, llama_logits, logits
from safetensors.numpy import load_file, save_file

from lightning_sym import BadInput, open_checkpoint, save_checkpoint
from lightning_sym.checkpoints.families import FAMILIES as KNOWN
from lightning_sym.checkpoints.layout import Place
from lightning_sym.checkpoints.model import Array, Checkpoint
from lightning_sym.checkpoints.stored_types import from_disk, to_disk
from lightning_sym.testing import small_checkpoint

FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
TYPES = ("F16", "BF16", "F32", "F64")
IDS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 35])


Table = dict[str, Place]
Change = Callable[[Table], Table]


def arrays(checkpoint: Checkpoint) -> Iterator[tuple[str, Array]]:
    """Every piece, by name."""
    yield from checkpoint.ends().present()
    for layer in range(checkpoint.form.layers):
        yield from ((f"{layer}.{name}", array) for name, array in checkpoint.block(layer).present())


def assert_equal(first: Checkpoint, second: Checkpoint) -> None:
    """The same form, and the same bits under the same names."""
    assert first.form == second.form
    for (name, array), (other, there) in zip(arrays(first), arrays(second), strict=True):
        assert name == other
        assert array.dtype == there.dtype
        assert array.tobytes() == there.tobytes(), name


def in_shards(folder: Path, shards: int) -> None:
    """Spread the tensors of a folder over several files."""
    tensors = list(load_file(folder / "model.safetensors").items())
    (folder / "model.safetensors").unlink()
    index: dict[str, str] = {}
    for number in range(shards):
        name = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        here = dict(tensors[number::shards])
        save_file(here, folder / name, {"format": "pt"})
        index |= dict.fromkeys(here, name)
    document = {"metadata": {"total_size": 1}, "weight_map": index}
    (folder / "model.safetensors.index.json").write_text(json.dumps(document), encoding="utf-8")


def config_of(folder: Path) -> dict[str, Any]:
    """The configuration of a folder."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def change_config(folder: Path, **keys: Any) -> None:
    """Set keys of the configuration; those that are `...` are taken out."""
    config = {key: value for key, value in (config_of(folder) | keys).items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize("stored", TYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_read_is_what_was_written(family: str, stored: Any, tmp_path: Path) -> None:
    for tied in (False, True):
        made = small_checkpoint(family, tied=tied, biases=True, stored=stored)
        folder = tmp_path / f"{tied}"
        save_checkpoint(made, folder)
        read = open_checkpoint(folder)
        assert_equal(made, read)
        assert {read.stored(name) for name, _ in arrays(read)} == {stored}
        assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("family", FAMILIES)
def test_shards_are_one_checkpoint(family: str, tmp_path: Path) -> None:
    made = small_checkpoint(family, layers=3)
    save_checkpoint(made, tmp_path)
    in_shards(tmp_path, 4)
    assert_equal(made, open_checkpoint(tmp_path))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_pieces_compute_what_the_tensors_do(family: str, tied: bool, tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint(family, tied=tied, biases=True), tmp_path)
    tensors, config = load_file(tmp_path / "model.safetensors"), config_of(tmp_path)
    if family == "gpt2":
        plain = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        expected = gpt2_logits(plain, config, IDS)
    else:
        expected = llama_logits(tensors, config, IDS)
    found = logits(open_checkpoint(tmp_path), IDS)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def swapped(first: str, second: str) -> Change:
    names = {first: second, second: first}
    return lambda table: {names.get(piece, piece): place for piece, place in table.items()}


def straight(table: Table) -> Table:
    """Attention's weights as (out, in): the shapes still agree where three widths are stacked, and of the output."""
    return table | {"output": replace(table["output"], turned=False)}


def interleaved(table: Table) -> Table:
    return table | {piece: replace(table[piece], interleaved=True) for piece in ("query", "key")}


MUTANTS: dict[str, tuple[str, Change]] = {
    "query and key": ("gpt2", swapped("query", "key")),
    "key and value": ("gpt2", swapped("key", "value")),
    "biases": ("gpt2", swapped("query_bias", "value_bias")),
    "output straight": ("gpt2", straight),
    "norms": ("gpt2", swapped("norm1_gain", "norm2_gain")),
    "gate and up": ("llama", swapped("gate", "up")),
    "output and query": ("llama", swapped("output", "query")),
    "keys and values": ("qwen2", swapped("key", "value")),
    "their biases": ("qwen2", swapped("key_bias", "value_bias")),
    "interleaved": ("mistral", interleaved),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_table_computes_something_else(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, change = MUTANTS[mutant]
    save_checkpoint(small_checkpoint(name), tmp_path)
    expected = logits(open_checkpoint(tmp_path), IDS)
    layout = replace(KNOWN[name].layout, block=change(dict(KNOWN[name].layout.block)))
    monkeypatch.setitem(KNOWN, name, replace(KNOWN[name], layout=layout))
    assert np.abs(logits(open_checkpoint(tmp_path), IDS) - expected).max() > 1e-3


def test_the_hubs_file_of_gpt2(tmp_path: Path) -> None:
    """No prefix, causal masks beside the weights, keys of old versions."""
    made = small_checkpoint("gpt2", layers=2)
    save_checkpoint(made, tmp_path)
    tensors = {n.removeprefix("transformer."): t for n, t in load_file(tmp_path / "model.safetensors").items()}
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = np.tril(np.ones((1, 1, 16, 16), dtype=np.float32))
        tensors[f"h.{layer}.attn.masked_bias"] = np.array(-1e4, dtype=np.float32)
    save_file(tensors, tmp_path / "model.safetensors")
    change_config(
        tmp_path, n_ctx=16, summary_type="cls_index", resid_pdrop=0.1, tie_word_embeddings=..., torch_dtype=...,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}}, layer_norm_epsilon=1e-5,
    )  # fmt: skip
    read = open_checkpoint(tmp_path)
    assert_equal(made, read)
    assert read.called("1.key") == "h.1.attn.c_attn.weight"


def test_the_frequencies_of_old_files_follow_from_the_base(tmp_path: Path) -> None:
    made = small_checkpoint("llama")
    save_checkpoint(made, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = np.ones(2, dtype=np.float32)
    save_file(tensors, tmp_path / "model.safetensors")
    assert_equal(made, open_checkpoint(tmp_path))


def test_a_second_copy_of_tied_weights_must_be_one(tmp_path: Path) -> None:
    made = small_checkpoint("llama", tied=True)
    save_checkpoint(made, tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    save_file(tensors, tmp_path / "model.safetensors")
    assert_equal(made, open_checkpoint(tmp_path))
    tensors["lm_head.weight"][-1, -1] += 1
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(BadInput, match=r"lm_head.weight must be model.embed_tokens.weight, to which"):
        open_checkpoint(tmp_path)


def test_links_to_files_elsewhere_are_followed(tmp_path: Path) -> None:
    """As caches of the hub are made."""
    made = small_checkpoint("llama")
    save_checkpoint(made, tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "snapshot" / name).symlink_to(Path("..", "blobs", name))
    assert_equal(made, open_checkpoint(tmp_path / "snapshot"))


def test_one_layer_is_in_memory_at_a_time(tmp_path: Path) -> None:
    made = small_checkpoint("llama", layers=8, heads=8, head_width=16, inner=512, vocabulary=2000)
    save_checkpoint(made, tmp_path)
    whole = (tmp_path / "model.safetensors").stat().st_size
    tracemalloc.start()
    try:
        read = open_checkpoint(tmp_path)
        sums = [float(block.up.sum()) for block in map(read.block, range(8))]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < whole / 10
    assert sums == [float(block.up.sum()) for block in made.blocks]


def test_a_checkpoint_travels_and_says_what_it_is(tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("qwen2"), tmp_path)
    read = open_checkpoint(tmp_path)
    again = pickle.loads(pickle.dumps(read))  # noqa: S301 - our own
    assert_equal(read, again)
    assert eval(repr(read), {"open_checkpoint": open_checkpoint}).form == read.form  # noqa: S307 - our own line
    assert "2 of width 16, 4 heads of width 4 in 2 groups" in str(read)
    for call in (lambda: read.block(2), lambda: read.stored("2.query"), lambda: read.called("positions")):
        with pytest.raises(BadInput):
            call()


def test_bfloat16_is_rounded_once() -> None:
    bits = np.arange(0x3F00, 0x4000, dtype=np.uint16)
    exact = from_disk(bits, "BF16").astype(np.float64)
    middle = (exact[:-1] + exact[1:]) / 2
    even = np.where(bits[:-1] % 2 == 0, bits[:-1], bits[1:])
    assert np.array_equal(to_disk(middle, "BF16", rounded=True), even)
    # nearer to the middle than float32 can say: rounding twice would take the even one
    assert np.array_equal(to_disk(middle * (1 + 2**-50), "BF16", rounded=True), bits[1:])
    assert np.array_equal(to_disk(middle * (1 - 2**-50), "BF16", rounded=True), bits[:-1])
    assert np.array_equal(to_disk(-exact, "BF16"), bits | 0x8000)
