"""Bad folders: each is refused in one line that names what is wrong, soon, and before a number is read."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from test_reading_checkpoints import change_config, in_shards

from lightning_sym import BadInput, FileFormatError, TooLarge, open_checkpoint, save_checkpoint
from lightning_sym.testing import small_checkpoint

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def refusal(path: Path) -> str:
    """The line that opening it, or reading all of it, ends with."""
    with pytest.raises(FileFormatError) as caught:
        read_all(path)
    said = str(caught.value)
    assert "\n" not in said
    assert said.isprintable()
    assert len(said) < 400
    return said


def read_all(path: Path) -> None:
    """Every number of it."""
    checkpoint = open_checkpoint(path)
    checkpoint.ends()
    for layer in range(checkpoint.form.layers):
        checkpoint.block(layer)


def with_tensors(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the tensors of a folder."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def with_header(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what the header of a file says, and not its numbers."""
    content = (folder / WEIGHTS).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    text = json.dumps(change(header) or header).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def with_index(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the map of an index."""
    in_shards(folder, 2)
    document = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    change(document["weight_map"])
    (folder / INDEX).write_text(json.dumps(document), encoding="utf-8")


def replaced(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)


def without(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    return folder / name


def nan_at(name: str, value: float = np.nan) -> Callable[[dict[str, Any]], None]:
    def change(tensors: dict[str, Any]) -> None:
        tensors[name][0, 3] = value

    return change


def many_tensors(header: dict[str, Any]) -> dict[str, Any]:
    return header | {f"x{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(100_000)}


UP, NORM = "model.layers.1.mlp.up_proj.weight", "model.norm.weight"

FOLDERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no config": (lambda f: without(f, "config.json"), "there must be a config.json in the folder"),
    "no weights": (lambda f: without(f, WEIGHTS), "there must be model.safetensors, model.safetensors.index.json or"),
    "no pickle": (lambda f: os.rename(f / WEIGHTS, f / "pytorch_model.bin"), "must be a zip as torch.save writes it"),
    "an adapter": (lambda f: replaced(f, "adapter_config.json", b"{}"), "an adapter must be merged"),
    "config no JSON": (lambda f: replaced(f, "config.json", b"{,}"), "config.json: it must be JSON"),
    "config no UTF-8": (lambda f: replaced(f, "config.json", b"\xff\xfe{}"), "config.json: it must be JSON"),
    "config a list": (lambda f: replaced(f, "config.json", b"[]"), "it must hold one JSON object"),
    "config empty": (lambda f: replaced(f, "config.json", b""), "config.json: it must be JSON"),
    "config huge": (lambda f: replaced(f, "config.json", b" " * (2**22 + 1)), "at most 4,194,304 bytes"),
    "config deep": (lambda f: replaced(f, "config.json", b"[" * 900_000), "nested so deeply"),
    "config repeats": (lambda f: replaced(f, "config.json", b'{"a": 1, "a": 1}'), "keys must not repeat"),
    "config NaN": (lambda f: change_config(f, rms_norm_eps=float("nan")), "config.json: numbers in JSON"),
    "a folder": (lambda f: (without(f, WEIGHTS).mkdir()), "it must be a readable regular file"),
    "config a folder": (lambda f: (without(f, "config.json").mkdir()), "it must be a readable regular file"),
    "a pipe": (lambda f: os.mkfifo(without(f, WEIGHTS)), "it must be a readable regular file"),
    "config a pipe": (lambda f: os.mkfifo(without(f, "config.json")), "it must be a readable regular file"),
    "a loop of links": (lambda f: without(f, WEIGHTS).symlink_to(f / WEIGHTS), "symbolic links"),
    "config a loop": (lambda f: without(f, "config.json").symlink_to("config.json"), "symbolic links"),
    "a link to nothing": (lambda f: without(f, WEIGHTS).symlink_to(f / "nothing"), "No such file"),
    "empty file": (lambda f: replaced(f, WEIGHTS, b""), "it must not be empty"),
    "five bytes": (lambda f: replaced(f, WEIGHTS, b"12345"), "it must be a safetensors file: it has 5 bytes"),
    "length a lie": (lambda f: replaced(f, WEIGHTS, b"\xff" * 64), "its header would have 18,446,744,073,709"),
    "header no JSON": (lambda f: replaced(f, WEIGHTS, struct.pack("<Q", 8) + b"{{{{{{{{"), "its header: it must be"),
    "header a list": (lambda f: replaced(f, WEIGHTS, struct.pack("<Q", 2) + b"[]"), "its header is no JSON object"),
    "cut off": (lambda f: replaced(f, WEIGHTS, (f / WEIGHTS).read_bytes()[:-1]), "the file has"),
    "too long": (lambda f: replaced(f, WEIGHTS, (f / WEIGHTS).read_bytes() + b"0"), "the file has"),
    "10^5 tensors": (lambda f: with_header(f, many_tensors), "at most 100,000 names"),
    "overlap": (lambda f: with_header(f, lambda h: h[NORM].update(data_offsets=[0, 64])), "a tensor begins at byte 0"),
    "beyond": (lambda f: with_header(f, lambda h: h[NORM].update(data_offsets=[2**40, 2**40 + 64])), "begins at byte"),
    "backwards": (lambda f: with_header(f, lambda h: h[NORM].update(data_offsets=[64, 0])), "as many bytes as its"),
    "negative": (lambda f: with_header(f, lambda h: h[NORM].update(data_offsets=[-64, 0])), "must be two sizes"),
    "shape a lie": (lambda f: with_header(f, lambda h: h[NORM].update(shape=[17])), "as many bytes as its"),
    "shape enormous": (lambda f: with_header(f, lambda h: h[NORM].update(shape=[2**63])), "at most eight sizes"),
    "a type unknown": (lambda f: with_header(f, lambda h: h[NORM].update(dtype="F4")), "a known type, got 'F4'"),
    "integers": (lambda f: with_header(f, lambda h: h[NORM].update(dtype="I32")), "must be stored as one of F16"),
    "no entry": (lambda f: with_header(f, lambda h: h.update({NORM: 7})), "must be described by dtype"),
    "one missing": (lambda f: with_tensors(f, lambda t: t.pop(UP)), f"missing are {UP}"),
    "ten missing": (lambda f: with_tensors(f, lambda t: [t.pop(n) for n in list(t) if ".1." in n]), "and 8 more"),
    "one more": (lambda f: with_tensors(f, lambda t: t.update(lora=np.zeros(3))), "be understood, got 'lora'"),
    "a bias more": (lambda f: with_tensors(f, lambda t: t.update({UP[:-6] + "bias": np.zeros(24)})), "be understood"),
    "turned": (lambda f: with_tensors(f, lambda t: t.update({UP: t[UP].T.copy()})), "must be of shape [24, 16], as"),
    "NaN": (lambda f: with_tensors(f, nan_at(UP)), f"{UP} must hold finite numbers, got nan at [0, 3]"),
    "infinite": (lambda f: with_tensors(f, nan_at(UP, -np.inf)), "must hold finite numbers, got -inf at [0, 3]"),
    "missing shard": (lambda f: with_index(f, lambda w: w.update({NORM: "model-00009.safetensors"})), "missing are"),
    "outside": (lambda f: with_index(f, lambda w: w.update({NORM: "../x.safetensors"})), "in the folder itself, got"),
    "at the root": (lambda f: with_index(f, lambda w: w.update({NORM: "/x.safetensors"})), "in the folder itself, got"),
    "index a number": (lambda f: with_index(f, lambda w: w.update({NORM: 3})), 'an object "weight_map" of names'),
    "another shard": (lambda f: with_index(f, lambda w: w.update({n: min(w.values()) for n in w})), "must be in the"),
    "index with more": (lambda f: with_index(f, lambda w: w.update(more=min(w.values()))), "'more' must be in"),
    "index no JSON": (lambda f: with_index(f, lambda w: w.update({NORM: float("nan")})), "index.json: numbers in JSON"),
    "layers": (lambda f: change_config(f, num_hidden_layers=10**5), "100,000 layers, and there are 21 tensors"),
    "more layers": (lambda f: change_config(f, num_hidden_layers=3), "missing are model.layers.2."),
    "fewer layers": (lambda f: change_config(f, num_hidden_layers=1), "every tensor must be understood"),
    "groups": (lambda f: change_config(f, num_key_value_heads=4), "must be of shape [16, 16], as configured"),
    "control characters": (
        lambda f: with_header(f, lambda h: h.update({"a\nb\x1b[31m": h.pop(NORM)})), "missing are model.norm.weight"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_a_bad_folder_is_refused(name: str, tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("llama"), tmp_path)
    spoil, expected = FOLDERS[name]
    spoil(tmp_path)
    said = refusal(tmp_path)
    assert expected in said
    assert said.startswith(f"{tmp_path}: ")


@pytest.mark.parametrize("path", ["nothing", "a\0b", "model.safetensors", "x.gguf", "loop", ""])
def test_what_is_no_checkpoint(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "loop").symlink_to("loop")
    refusal(Path(path) if path else tmp_path)


def test_a_file_shortened_meanwhile_does_not_end_the_process(tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("llama"), tmp_path)
    checkpoint = open_checkpoint(tmp_path)
    os.truncate(tmp_path / WEIGHTS, 10)
    with pytest.raises(BadInput, match="must not change while it is read"):
        checkpoint.block(0)


def test_a_layer_that_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    save_checkpoint(small_checkpoint("gpt2", stored="BF16"), tmp_path)
    needed = 4 * (2 * 16 * 24 + 4 * 16 * 16 + 24 + 9 * 16)  # bfloat16 is read as float32
    open_checkpoint(tmp_path, memory=needed).block(1)
    with pytest.raises(TooLarge, match="layer 1 must fit into"):
        open_checkpoint(tmp_path, memory=needed - 1).block(1)
    with pytest.raises(TooLarge, match="the embedding must fit into"):
        open_checkpoint(tmp_path, memory=100).ends()
